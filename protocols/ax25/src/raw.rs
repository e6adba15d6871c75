//! Whole frames on a port of the TNC, for programs that show what is on the air, or have a
//! protocol of their own: an association of datagrams with [`Participant::OTHER_END`], through the
//! port as its interface.
//!
//! It is delivered each frame that is heard there, and each that this station sends, as far as it
//! has given credit; the others it misses. What it sends goes out as it is, where its addresses are
//! well formed.

use stackwright_contract::services::{Credit, DatagramsIndication, Ended};
use stackwright_contract::{Context, Handle, Participant, PathLimits};
use stackwright_wire::Message;

use crate::datagrams::Datagram;
use crate::header::{Addresses, HEAD_MOST};
use crate::send::{Reply, Unacknowledged};
use crate::{Ax25, NAME, Out, PORTS_MOST};

impl<M: Message> Ax25<M> {
    /// Returns the longest frame.
    pub(crate) const fn raw_most(&self) -> usize {
        HEAD_MOST + self.config.longest
    }

    pub(crate) fn open_raw(remote: Participant, credit: Credit) -> Result<Datagram, Ended> {
        let port = u8::try_from(remote.interface().unwrap_or(0)).ok();
        let port = port.filter(|port| usize::from(*port) < PORTS_MOST);
        Ok(Datagram::Raw { port: port.ok_or(Ended::Unreachable)?, credit })
    }

    pub(crate) fn raw_opened(&self, association: Handle, out: Out<'_, M>) {
        let Some(Datagram::Raw { port, .. }) = self.datagrams.get(association) else { return };
        let (end, longest) = (Participant::OTHER_END.through((*port).into()), self.raw_most());
        Self::tell_datagrams(
            out,
            DatagramsIndication::Opened {
                association,
                local: end,
                remote: end,
                credit: Self::waiting_most(longest),
                path: PathLimits {
                    frame_time: self.frame_time(*port),
                    ..PathLimits::of_longest(longest)
                },
            },
        );
    }

    pub(crate) fn send_raw(
        &mut self,
        cx: &Context,
        association: Handle,
        mut frame: M,
        out: Out<'_, M>,
    ) {
        let Some(Datagram::Raw { port, .. }) = self.datagrams.get(association) else {
            return cx.dropped(NAME, "a message for a name that is not open");
        };
        let credit = Credit { octets: frame.len(), messages: 1 };
        let mut octets = [0; HEAD_MOST];
        let length = frame.copy_to(&mut octets);
        let decoded = Addresses::decode(&octets[..length]);
        match decoded {
            Ok((addresses, at)) if frame.len() > at && frame.len() <= self.raw_most() => {
                frame.advance(at);
                let frame = Reply::Given { port: *port, addresses, rest: frame };
                self.ui.push_back(Unacknowledged { frame, association, credit });
                self.due = true;
            }
            _ => {
                cx.dropped(NAME, "a raw frame that is too long, or whose addresses are malformed");
                Self::tell_datagrams(out, DatagramsIndication::Credit { association, credit });
            }
        }
    }

    /// Delivers a frame that is heard or sent on a port to those that hear all.
    pub(crate) fn hear_raw(&mut self, port: u8, frame: &M, out: Out<'_, M>) {
        let cost = Credit { octets: frame.len(), messages: 1 };
        for association in self.raw.iter().copied() {
            if let Some(Datagram::Raw { port: at, credit }) = self.datagrams.get_mut(association)
                && *at == port
                && credit.covers(cost)
            {
                *credit -= cost;
                let (batch, properties) = (frame.share().into(), Default::default());
                Self::tell_datagrams(
                    out,
                    DatagramsIndication::Delivered { association, batch, properties },
                );
            }
        }
    }
}
