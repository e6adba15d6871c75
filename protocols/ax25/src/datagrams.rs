//! The face of datagrams: UI frames, which nobody acknowledges.

use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, Ended, MessageProperties,
};
use stackwright_contract::{Address, CallSign, Context, Either, Handle, Participant, PathLimits};
use stackwright_wire::Message;

use crate::config::Route;
use crate::header::{Addresses, ControlField, Role, Unnumbered};
use crate::send::{Queued, Reply, Unacknowledged};
use crate::{Ax25, NAME, Out};

/// UI frames of one association that may wait for the TNC.
const WAITING_MOST: usize = 8;

/// What an open name of datagrams stands for. A listener has the frames to its call sign, of its
/// protocol, from stations for which there is no association.
pub(crate) enum Datagram {
    /// Frames to and from a station.
    Open {
        local: CallSign,
        remote: CallSign,
        pid: u8,
        route: Route,
        /// Upward.
        credit: Credit,
    },
    /// Whole frames on a port.
    Raw {
        port: u8,
        /// Upward.
        credit: Credit,
    },
}

impl<M: Message> Ax25<M> {
    pub(crate) fn tell_datagrams(out: Out<'_, M>, indication: DatagramsIndication<M>) {
        out.indicate(Either::Right(indication));
    }

    fn end_datagrams(&mut self, cx: &Context, name: Handle, why: Ended, out: Out<'_, M>) {
        if !self.datagrams.lives(name) {
            return cx.dropped(NAME, "a word for a name that has ended");
        }
        self.raw.retain(|other| *other != name);
        self.datagrams.end(name, why).for_each(|word| Self::tell_datagrams(out, word));
    }

    pub(crate) fn on_datagrams(
        &mut self,
        cx: &Context,
        request: DatagramsRequest<M>,
        out: Out<'_, M>,
    ) {
        match request {
            DatagramsRequest::Listen { listener, local } => {
                let (local, pid) = match local.address {
                    // Any call: UI frames for all have one that nobody owns.
                    Address::Station { call, pid, .. } => (call, pid),
                    _ => (self.config.call, crate::header::pid::NONE),
                };
                self.datagrams.listen(listener, (local, pid));
                let local = Address::Station { call: local, pid, route: 0 }.into();
                Self::tell_datagrams(out, DatagramsIndication::Listening { listener, local });
            }
            DatagramsRequest::Await { listener, association, credit } => {
                let refused = self.datagrams.expect(listener, association, credit);
                refused.into_iter().for_each(|word| Self::tell_datagrams(out, word));
            }
            DatagramsRequest::Open { association, remote, local, credit } => {
                match self.open_datagrams(remote, local, credit) {
                    Ok(open) => {
                        if let Datagram::Raw { .. } = open {
                            self.raw.push(association);
                        }
                        self.datagrams.open(association, open);
                        self.datagrams_opened(association, out);
                    }
                    Err(why) => Self::tell_datagrams(
                        out,
                        DatagramsIndication::Ended { name: association, why },
                    ),
                }
            }
            DatagramsRequest::Send { association, batch, properties: _ } => {
                self.send_ui(cx, association, batch.into_single(), out);
            }
            DatagramsRequest::Credit { association, credit: more } => {
                if let Some(Datagram::Open { credit, .. } | Datagram::Raw { credit, .. }) =
                    self.datagrams.get_mut(association)
                {
                    *credit += more;
                }
            }
            DatagramsRequest::Control { association, .. } => {
                if self.datagrams.lives(association) {
                    let unknown = DatagramsIndication::unknown_command(association);
                    Self::tell_datagrams(out, unknown);
                }
            }
            // There is no half close; what was sent leaves whether or not its name lives.
            DatagramsRequest::Finish { .. } => {}
            DatagramsRequest::Abort { association, .. } => {
                self.end_datagrams(cx, association, Ended::Aborted, out);
            }
            DatagramsRequest::Close { name } => {
                self.end_datagrams(cx, name, Ended::Finished, out);
            }
        }
    }

    fn open_datagrams(
        &self,
        remote: Participant,
        local: Option<Participant>,
        credit: Credit,
    ) -> Result<Datagram, Ended> {
        let (remote, pid, route) = match remote.address {
            Address::Station { call, pid, route } => (call, pid, route),
            Address::OtherEnd => return Self::open_raw(remote, credit),
            _ => return Err(Ended::Unreachable),
        };
        let local = match local.map(|local| local.address) {
            None => self.config.call,
            Some(Address::Station { call, .. }) if self.config.owns(call) => call,
            Some(_) => return Err(Ended::Unavailable),
        };
        let known = self.config.reached.iter().find(|(call, _)| *call == remote && route == 0);
        let route = known.map_or(route, |(_, number)| *number);
        let route = self.routes.get(route).ok_or(Ended::Unreachable)?;
        Ok(Datagram::Open { local, remote, pid, route, credit })
    }

    fn datagrams_opened(&mut self, association: Handle, out: Out<'_, M>) {
        let Some(Datagram::Open { local, remote, pid, route, .. }) =
            self.datagrams.get(association)
        else {
            return self.raw_opened(association, out);
        };
        let (pid, port, number) = (*pid, route.port, self.routes.number(*route));
        let station = |call, route| -> Participant {
            Participant::from(Address::Station { call, pid, route }).through(port.into())
        };
        let longest = self.config.longest;
        Self::tell_datagrams(
            out,
            DatagramsIndication::Opened {
                association,
                local: station(*local, 0),
                remote: station(*remote, number),
                credit: Self::waiting_most(longest),
                path: PathLimits {
                    frame_time: self.frame_time(port),
                    ..PathLimits::of_longest(longest)
                },
            },
        );
    }

    fn send_ui(&mut self, cx: &Context, association: Handle, message: M, out: Out<'_, M>) {
        let Some(Datagram::Open { local, remote, pid, route, .. }) =
            self.datagrams.get(association)
        else {
            return self.send_raw(cx, association, message, out);
        };
        let credit = Credit { octets: message.len(), messages: 1 };
        if message.len() > self.config.longest {
            cx.dropped(NAME, "a message longer than a frame");
            return Self::tell_datagrams(out, DatagramsIndication::Credit { association, credit });
        }
        // Who answers a call to all does so as itself.
        let source = if self.config.owns(*local) { *local } else { self.config.call };
        let Route { port, path } = *route;
        let role = Role::Command;
        let addresses = Addresses { destination: *remote, source, role, path };
        let control = ControlField::unnumbered(Unnumbered::Ui, false);
        let (pid, information) = (Some(*pid), Some(message));
        let queued = Queued { port, addresses, control, pid, information, timed: None };
        self.ui.push_back(Unacknowledged { frame: Reply::Own(queued), association, credit });
        self.due = true;
    }

    /// Returns what may wait of one association whose messages are at most this long.
    pub(crate) const fn waiting_most(longest: usize) -> Credit {
        Credit { octets: WAITING_MOST * longest, messages: WAITING_MOST }
    }

    /// Delivers a UI frame.
    pub(crate) fn on_ui(
        &mut self,
        cx: &Context,
        port: u8,
        addresses: &Addresses,
        pid: u8,
        message: M,
        out: Out<'_, M>,
    ) {
        let Addresses { destination, source, path, .. } = *addresses;
        let open = self.datagrams.iter().find_map(|(name, datagram)| match datagram {
            Datagram::Open { local, remote, pid: its, .. }
                if (*local, *remote, *its) == (destination, source, pid) =>
            {
                Some(name)
            }
            _ => None,
        });
        let route = Route { port, path: path.reversed() };
        let Some(name) = open.or_else(|| self.ui_arrives((destination, source, pid), route, out))
        else {
            return; // it is for another program, or another station
        };
        let Some(Datagram::Open { credit, .. }) = self.datagrams.get_mut(name) else { return };
        let cost = Credit { octets: message.len(), messages: 1 };
        if !credit.covers(cost) {
            return cx.dropped(NAME, "a UI frame without credit");
        }
        *credit -= cost;
        let (association, batch) = (name, message.into());
        let properties = MessageProperties::default();
        Self::tell_datagrams(
            out,
            DatagramsIndication::Delivered { association, batch, properties },
        );
    }

    fn ui_arrives(
        &mut self,
        (local, remote, pid): (CallSign, CallSign, u8),
        route: Route,
        out: Out<'_, M>,
    ) -> Option<Handle> {
        let here = (local, pid);
        let (listener, _) = self.datagrams.listeners().find(|(_, there)| **there == here)?;
        let (association, credit) = self.datagrams.arrive(listener)?;
        self.datagrams.open(association, Datagram::Open { local, remote, pid, route, credit });
        self.datagrams_opened(association, out);
        Some(association)
    }
}
