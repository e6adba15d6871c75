//! Raw frames and monitoring: `k`, `K` and `m`. While a program wants one of them, all frames of
//! every port are heard here.

use alloc::vec::Vec;

use stackwright_contract::services::{Credit, DatagramsRequest};
use stackwright_contract::{Context, Handle, Instant, Participant};
use stackwright_wire::Message;

use crate::header::{AgwHeader, written};
use crate::monitor::{FrameAddresses, Monitored};
use crate::program::ProgramName;
use crate::unproto::DatagramName;
use crate::{Agw, NAME, Out};

/// What AX.25 may deliver of one port at once. It comes back with each frame.
const AT_ONCE: Credit = Credit { octets: 1 << 16, messages: 64 };

impl<M: Message> Agw<M> {
    /// Each of the two requests turns on what is off, and off what is on.
    pub(crate) fn toggle(&mut self, program: Handle, kind: u8, out: Out<'_, M>) {
        let Some(there) = self.program(program) else { return };
        let wants = if kind == b'k' { &mut there.wants_raw } else { &mut there.monitors };
        *wants = !*wants;
        self.hear_ports(out);
    }

    fn all_programs(&self) -> impl Iterator<Item = (Handle, &crate::program::Program<M>)> {
        self.programs.iter().filter_map(|(handle, name)| match name {
            ProgramName::Program(program) if !program.ends => Some((handle, program)),
            _ => None,
        })
    }

    /// Hears every port while a program wants that.
    pub(crate) fn hear_ports(&mut self, out: Out<'_, M>) {
        let is_wanted =
            self.all_programs().any(|(_, program)| program.wants_raw || program.monitors);
        if !is_wanted {
            for (name, datagram) in self.datagrams.iter_mut() {
                if let DatagramName::Heard { closes, .. } = datagram
                    && !core::mem::replace(closes, true)
                {
                    Self::ask_unproto(out, DatagramsRequest::Close { name });
                }
            }
            return;
        }
        for port in 0..self.config.ports.len() as u8 {
            // One that closes is opened again when it has.
            if self.datagrams.iter().any(|(_, name)| name.hears(port)) {
                continue;
            }
            let association = self.datagrams.name(DatagramName::Heard { port, closes: false });
            let remote = Participant::OTHER_END.through(port.into());
            let (local, credit) = (None, AT_ONCE);
            Self::ask_unproto(out, DatagramsRequest::Open { association, remote, local, credit });
        }
    }

    /// A frame was on a port. A program that is slow to read misses it.
    pub(crate) fn on_heard(&mut self, cx: &Context, port: u8, frame: &M, out: Out<'_, M>) {
        let mut octets = alloc::vec![0; frame.len()];
        frame.copy_to(&mut octets);
        let Some(addresses) = FrameAddresses::of(&octets) else { return };
        let is_own = !addresses.is_repeated && self.config.calls.contains(&addresses.source);
        let header = AgwHeader {
            port,
            from: written(addresses.source),
            to: written(addresses.destination),
            ..AgwHeader::of(b'K')
        };
        let raw = [&[port << 4], &octets[..]].concat();
        let monitored = Monitored::of(&octets, &addresses);
        let text = monitored.map(|monitored| {
            let time = self.config.day.as_secs() + cx.now().since(Instant::START).as_secs();
            monitored.text(port, &addresses, time % 86_400)
        });
        let programs: Vec<_> = self
            .all_programs()
            .filter(|(_, program)| !program.is_slow())
            .map(|(name, program)| (name, program.wants_raw, program.monitors))
            .collect();
        for (name, wants_raw, monitors) in programs {
            // What the station itself transmits was not received.
            if wants_raw && !is_own {
                self.tell(name, header, &raw, out);
            }
            if let (true, Some(monitored), Some(text)) = (monitors, monitored, &text)
                && let Some(kind) = monitored.kind(is_own)
            {
                self.tell(name, AgwHeader { kind, pid: monitored.pid, ..header }, text, out);
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
        let Some(addresses) = FrameAddresses::of(frame) else {
            return cx.dropped(NAME, "a raw frame whose addresses are malformed");
        };
        let owner = self.registration(addresses.source);
        if owner.is_some_and(|owner| owner.program != program) {
            return cx.dropped(NAME, "a raw frame of a call sign that is another program's");
        }
        if usize::from(port) >= self.config.ports.len() {
            return cx.dropped(NAME, "a raw frame for a port that there is not");
        }
        self.send_by(program, Participant::OTHER_END.through(port.into()), None, frame, out);
    }
}
