//! What programs are told.

use alloc::format;
use alloc::vec::Vec;

use stackwright_contract::services::{Ended, StreamsRequest};
use stackwright_contract::{Context, Either, Handle};
use stackwright_wire::{Header, Message};

use crate::header::{AgwHeader, written};
use crate::link::Link;
use crate::{Agw, HELD_MOST, NAME, Out, PROGRAMS_MOST, PortAccess};

/// The version that programs are told: that of AGWPE whose socket interface this is.
const VERSION: [u32; 2] = [2005, 127];

impl<M: Message> Agw<M> {
    pub(crate) fn tell(
        &mut self,
        name: Handle,
        mut header: AgwHeader,
        data: &[u8],
        out: Out<'_, M>,
    ) {
        header.length = data.len() as u32;
        let mut frame = M::with_headroom(AgwHeader::LENGTH, data);
        frame.push(&header);
        self.tell_frame(name, frame, out);
    }

    fn tell_frame(&mut self, name: Handle, frame: M, out: Out<'_, M>) {
        let Some(program) = self.programs.get_mut(name).filter(|program| !program.ends) else {
            return;
        };
        if program.unread() + frame.len() > HELD_MOST {
            // Its end is told below, and its links end with it.
            program.ends = true;
            let abort = StreamsRequest::Abort { association: name, code: 0 };
            return out.request(Either::Left(abort));
        }
        program.tell(frame, out);
    }

    pub(crate) fn tell_version(&mut self, program: Handle, out: Out<'_, M>) {
        let data: Vec<u8> = VERSION.iter().flat_map(|number| number.to_le_bytes()).collect();
        self.tell(program, AgwHeader::of(b'R'), &data, out);
    }

    pub(crate) fn tell_ports(&mut self, program: Handle, out: Out<'_, M>) {
        let ports = self.config.ports.iter().zip(1..);
        let ports: Vec<_> = ports.map(|(name, nth)| format!("Port{nth} {name};")).collect();
        let text = format!("{};{}\0", ports.len(), ports.concat());
        self.tell(program, AgwHeader::of(b'G'), text.as_bytes(), out);
    }

    /// Tells what AGWPE knows of a port; what is not known here is what Direwolf says.
    pub(crate) fn tell_capabilities(
        &mut self,
        cx: &Context,
        program: Handle,
        port: u8,
        out: Out<'_, M>,
    ) {
        let place = usize::from(port);
        // 0 is 1200 bit/s, and each step twice as much.
        let rate = self.config.rates.get(place).map_or(0, |rate| (rate / 1200).max(1).ilog2());
        let links = self.all_links().filter(|link| link.port == port && link.opened).count();
        let links = u8::try_from(links).unwrap_or(u8::MAX);
        let data = match self.config.access.get(place) {
            Some(PortAccess { tx_delay, tx_tail, persistence, slot_time, window }) => {
                // The load of the channel is not measured.
                let access = [255, *tx_delay, *tx_tail, *persistence, *slot_time, *window];
                let received = self.heard.octets(port, cx.now()).to_le_bytes();
                [&[rate as u8], &access[..], &[links], &received].concat()
            }
            None => [rate as u8, 1, 25, 4, 200, 4, 7, links, 1, 0, 0, 0].to_vec(),
        };
        self.tell(program, AgwHeader { port, ..AgwHeader::of(b'g') }, &data, out);
    }

    /// Tells a program that there is no place for it.
    pub(crate) fn tell_full(&mut self, program: Handle, out: Out<'_, M>) {
        let text = format!("*** DISCONNECTED: the station serves {PROGRAMS_MOST} programs\r\0");
        self.tell(program, AgwHeader::of(b'd'), text.as_bytes(), out);
    }

    pub(crate) fn tell_registered(
        &mut self,
        program: Handle,
        asked: &AgwHeader,
        is_its: bool,
        out: Out<'_, M>,
    ) {
        let header = AgwHeader { port: asked.port, from: asked.from, ..AgwHeader::of(b'X') };
        self.tell(program, header, &[u8::from(is_its)], out);
    }

    pub(crate) fn tell_outstanding(
        &mut self,
        program: Handle,
        asked: &AgwHeader,
        frames: u32,
        out: Out<'_, M>,
    ) {
        let AgwHeader { port, from, to, kind, .. } = *asked;
        let header = AgwHeader { port, from, to, ..AgwHeader::of(kind) };
        self.tell(program, header, &frames.to_le_bytes(), out);
    }

    /// Returns the header of what a program is told of its link, and the program.
    fn about(link: &Link<M>, kind: u8) -> Option<(Handle, AgwHeader)> {
        let header = AgwHeader {
            port: link.port,
            pid: link.pid,
            from: written(link.remote),
            to: written(link.local),
            ..AgwHeader::of(kind)
        };
        link.program.map(|program| (program, header))
    }

    pub(crate) fn tell_connected(
        &mut self,
        cx: &Context,
        name: Handle,
        is_call: bool,
        out: Out<'_, M>,
    ) {
        let Some(link) = self.links.get_mut(name) else { return };
        let Some((program, header)) = Self::about(link, b'C') else { return };
        let (local, remote) = (link.local, link.remote);
        cx.event(NAME, format_args!("{local} is connected to {remote}"));
        let preposition = if is_call { "To" } else { "With" };
        let text = format!("*** CONNECTED {preposition} Station {remote}\r\0");
        self.tell(program, header, text.as_bytes(), out);
    }

    pub(crate) fn tell_data(&mut self, name: Handle, mut octets: M, out: Out<'_, M>) {
        let Some(link) = self.links.get_mut(name) else { return };
        let Some((program, header)) = Self::about(link, b'D') else { return };
        octets.push(&AgwHeader { length: octets.len() as u32, ..header });
        self.tell_frame(program, octets, out);
    }

    pub(crate) fn tell_disconnected(
        &mut self,
        cx: &Context,
        link: &Link<M>,
        why: Ended,
        out: Out<'_, M>,
    ) {
        let Link { local, remote, .. } = *link;
        cx.event(NAME, format_args!("{local} and {remote}: {why}"));
        let Some((program, header)) = Self::about(link, b'd') else { return };
        let text = match why {
            Ended::Unreachable | Ended::Expired => {
                format!("*** DISCONNECTED RETRYOUT With {remote}\r\0")
            }
            _ => format!("*** DISCONNECTED From Station {remote}\r\0"),
        };
        self.tell(program, header, text.as_bytes(), out);
    }

    /// Tells that a call was not made.
    pub(crate) fn tell_unconnected(&mut self, program: Handle, asked: &AgwHeader, out: Out<'_, M>) {
        let AgwHeader { port, pid, from, to, .. } = *asked;
        let header = AgwHeader { port, pid, from: to, to: from, ..AgwHeader::of(b'd') };
        let end = to.iter().position(|octet| *octet == 0).unwrap_or(to.len());
        let name = core::str::from_utf8(&to[..end]).unwrap_or_default();
        let text = format!("*** DISCONNECTED From Station {name}\r\0");
        self.tell(program, header, text.as_bytes(), out);
    }
}
