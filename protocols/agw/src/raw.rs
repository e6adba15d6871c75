//! Raw frames and monitoring: `k`, `K` and `m`. All frames of every port are heard here, also while
//! no program wants them: how a link counts was said when it was opened.

use alloc::vec::Vec;

use stackwright_contract::ax25::Addresses;
use stackwright_contract::services::{Credit, DatagramsRequest};
use stackwright_contract::{Context, Handle, Participant};
use stackwright_wire::Message;

use crate::header::{AgwHeader, written};
use crate::heard::DAY;
use crate::monitor::Monitored;
use crate::program::Program;
use crate::unproto::DatagramName;
use crate::{Agw, NAME, Out};

/// What AX.25 may deliver of one port at once. It comes back with each frame.
const AT_ONCE: Credit = Credit { octets: 1 << 16, messages: 64 };

impl<M: Message> Agw<M> {
    /// Each of the two requests turns on what is off, and off what is on.
    pub(crate) fn toggle(&mut self, program: Handle, kind: u8) {
        let Some(there) = self.programs.get_mut(program) else { return };
        let wants = if kind == b'k' { &mut there.wants_raw } else { &mut there.monitors };
        *wants = !*wants;
    }

    fn all_programs(&self) -> impl Iterator<Item = (Handle, &Program<M>)> {
        self.programs.iter().filter(|(_, program)| !program.ends)
    }

    /// Hears every port.
    pub(crate) fn hear_ports(&mut self, out: Out<'_, M>) {
        for port in 0..self.config.ports.len() as u8 {
            let association = self.datagrams.name(DatagramName::Heard { port });
            let remote = Participant::OTHER_END.through(port.into());
            let (local, credit) = (None, AT_ONCE);
            Self::ask_unproto(out, DatagramsRequest::Open { association, remote, local, credit });
        }
    }

    /// A frame was on a port. A program that is slow to read misses it.
    pub(crate) fn on_heard(&mut self, cx: &Context, port: u8, frame: &M, out: Out<'_, M>) {
        let mut octets = alloc::vec![0; frame.len()];
        frame.copy_to(&mut octets);
        let Ok((addresses, at)) = Addresses::decode(&octets) else { return };
        let modulus = self.heard.links.hear(port, &addresses, &octets[at..]);
        let Addresses { source, destination, path, .. } = addresses;
        // What a digipeater repeats was received, whosever it is.
        let is_repeated = path.iter().any(|(_, repeated)| repeated);
        let is_own = !is_repeated && self.config.owns(source);
        if !is_own {
            self.heard.note(port, &addresses, octets.len(), cx.now());
        }
        let (from, to) = (written(source), written(destination));
        let header = AgwHeader { port, from, to, ..AgwHeader::of(b'K') };
        let programs: Vec<_> = self
            .all_programs()
            .filter(|(_, program)| !program.is_slow())
            .map(|(name, program)| (name, program.wants_raw, program.monitors))
            .collect();
        for (name, wants_raw, monitors) in programs {
            // What the station itself transmits was not received.
            if wants_raw && !is_own {
                let raw = [&[port << 4], &octets[..]].concat();
                self.tell(name, header, &raw, out);
            }
            if let Some(monitored) = Monitored::of(&octets[at..], modulus).filter(|_| monitors) {
                let time = self.time_of(cx.now()) % DAY;
                let text = monitored.text(port, &addresses, time);
                let (kind, pid) = (monitored.kind(is_own), monitored.pid);
                self.tell(name, AgwHeader { kind, pid, ..header }, &text, out);
            }
        }
    }

    /// Sends a raw frame: behind one octet, of which AGWPE and Direwolf make no use.
    pub(crate) fn send_raw(
        &mut self,
        cx: &Context,
        program: Handle,
        port: u8,
        data: &[u8],
        out: Out<'_, M>,
    ) {
        let frame = data.get(1..).unwrap_or_default();
        let Ok((Addresses { source, .. }, _)) = Addresses::decode(frame) else {
            cx.event(NAME, format_args!("not transmitted: a raw frame with malformed addresses"));
            return cx.dropped(NAME, "a raw frame whose addresses are malformed");
        };
        let refuse = |why| Self::not_transmitted(cx, source, format_args!("{why}"));
        let owner = self.registration(source);
        if owner.is_some_and(|owner| owner.program != program) {
            return refuse("another program has registered the call sign");
        }
        if usize::from(port) >= self.config.ports.len() {
            return refuse("the station has no such port");
        }
        self.send_whole(program, (port, source), frame, out);
    }
}
