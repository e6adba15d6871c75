//! What a program asks for.

use alloc::vec::Vec;

use stackwright_contract::ax25::DigipeaterPath;
use stackwright_contract::services::{Credit, StreamsRequest};
use stackwright_contract::{Address, CallSign, Context, Handle};
use stackwright_wire::Message;

use crate::header::{AgwHeader, call, digipeaters};
use crate::link::{LINK_WINDOW, Link, PID};
use crate::program::Waits;
use crate::{Agw, LINKS_MOST, NAME, Out};

impl<M: Message> Agw<M> {
    /// Returns what the frame of a program has to wait for.
    pub(crate) fn must_wait(&mut self, program: Handle, header: &AgwHeader) -> Option<Waits> {
        match header.kind {
            b'D' => {
                let ends = [call(&header.from)?, call(&header.to)?];
                let length = usize::try_from(header.length).unwrap_or(usize::MAX);
                let link = self.find(program, header.port, ends).filter(|link| !link.takes(length));
                link.map(|link| Waits::Link(link.name))
            }
            b'M' | b'V' | b'K' => (!self.takes_unproto(program)).then_some(Waits::Unproto),
            _ => None,
        }
    }

    /// Obeys a program.
    pub(crate) fn obey(
        &mut self,
        cx: &Context,
        program: Handle,
        header: &AgwHeader,
        data: &[u8],
        out: Out<'_, M>,
    ) {
        let ends = || Some([call(&header.from)?, call(&header.to)?]);
        match (header.kind, ends()) {
            (b'R', _) => self.tell_version(program, out),
            (b'G', _) => self.tell_ports(program, out),
            (b'g', _) => self.tell_capabilities(cx, program, header.port, out),
            (b'X', _) => {
                let own = call(&header.from);
                let is_its = own.is_some_and(|own| self.register(own, program, out));
                if !is_its && let Some(own) = own {
                    cx.event(
                        NAME,
                        format_args!("{own} is another program's, or not the station's"),
                    );
                }
                self.tell_registered(program, header, is_its, out);
            }
            (b'x', _) => {
                if let Some(own) = call(&header.from) {
                    self.unregister(own, program, out);
                }
            }
            (b'C' | b'c' | b'v', _) => self.connect(cx, program, header, data, out),
            (b'D', Some(ends)) => match self.find(program, header.port, ends) {
                Some(link) => link.send(data, out),
                None => cx.dropped(NAME, "data for a link that there is not"),
            },
            (b'd', Some(ends)) => match self.find(program, header.port, ends) {
                Some(link) => link.end(out),
                None => cx.dropped(NAME, "the end of a link that there is not"),
            },
            (b'Y', Some(ends)) => {
                // Some programs name the peer first.
                let [one, other] = ends;
                let is_its = self.find(program, header.port, ends).is_some();
                let ends = if is_its { ends } else { [other, one] };
                let outstanding =
                    self.find(program, header.port, ends).map_or(0, Link::count_outstanding);
                self.tell_outstanding(program, header, outstanding, out);
            }
            (b'y', _) => {
                let on_port = |link: &&Link<M>| link.port == header.port;
                let of_links: u32 = self.all_links().filter(on_port).map(Link::outstanding).sum();
                let outstanding = of_links + self.count_unproto(header.port);
                self.tell_outstanding(program, header, outstanding, out);
            }
            (b'M' | b'V', Some(ends)) => self.unnumbered(cx, program, header, ends, data, out),
            (b'H', _) => self.tell_heard(program, header.port, out),
            // A password is not asked for.
            (b'P', _) => {}
            (kind @ (b'k' | b'm'), _) => self.toggle(program, kind),
            (b'K', _) => self.send_raw(cx, program, header.port, data, out),
            (b'D' | b'd' | b'Y' | b'M' | b'V', None) => {
                cx.dropped(NAME, "a frame with a malformed call sign");
            }
            _ => cx.dropped(NAME, "a frame of an unknown kind"),
        }
    }

    /// Opens a link, or tells that it is not opened.
    fn connect(
        &mut self,
        cx: &Context,
        program: Handle,
        header: &AgwHeader,
        data: &[u8],
        out: Out<'_, M>,
    ) {
        if let Err(why) = self.try_connect(program, header, data, out) {
            self.refuse(cx, program, header, why, out);
        }
    }

    fn try_connect(
        &mut self,
        program: Handle,
        header: &AgwHeader,
        data: &[u8],
        out: Out<'_, M>,
    ) -> Result<(), &'static str> {
        let AgwHeader { port, kind, pid, .. } = *header;
        if kind == b'c' && pid != PID {
            return Err("a link carries text, PID F0");
        }
        let route = if kind == b'v' {
            let (path, _) = digipeaters(data).map_err(|_| "its digipeaters are malformed")?;
            match self.config.route(port, &path) {
                Some(route) => Some(route),
                None => return self.ask_route(program, header, &path, out),
            }
        } else {
            let peer = call(&header.to).ok_or("a call sign is malformed")?;
            self.config.route_to(port, peer)
        };
        let route = route.ok_or("the station has no such port")?;
        self.open_link(program, header, route, out)
    }

    /// Opens a link by the route of this number.
    pub(crate) fn open_link(
        &mut self,
        program: Handle,
        header: &AgwHeader,
        route: u16,
        out: Out<'_, M>,
    ) -> Result<(), &'static str> {
        let calls = call(&header.from).zip(call(&header.to));
        let (local, remote) = calls.ok_or("a call sign is malformed")?;
        if !self.has(program, local) {
            return Err("its program has not registered the call sign");
        }
        if self.find(program, header.port, [local, remote]).is_some() {
            return Err("there is a link between the two");
        }
        if self.links() >= LINKS_MOST {
            return Err("there are as many links as may be");
        }
        let is_same = |link: &&mut Link<M>| {
            (link.port, link.local, link.remote) == (header.port, local, remote)
        };
        match self.all_links_mut().find(is_same) {
            // The call sign was another program's, which has kept its link.
            Some(Link { program: Some(_), .. }) => {
                return Err("another program has a link between the two");
            }
            // One whose program is gone makes room for it.
            Some(before) => before.abort(out),
            None => {}
        }
        let link = |name| Link::new(name, program, [local, remote], header.port, PID);
        let association = self.links.open(link);
        let station = |call, route| Address::Station { call, pid: PID, route }.into();
        let (remote, local) = (station(remote, route), Some(station(local, 0)));
        let credit = Credit::of_octets(LINK_WINDOW);
        Self::ask_links(out, StreamsRequest::Open { association, remote, local, credit });
        Ok(())
    }

    /// Sends a UI frame.
    fn unnumbered(
        &mut self,
        cx: &Context,
        program: Handle,
        header: &AgwHeader,
        [local, remote]: [CallSign; 2],
        data: &[u8],
        out: Out<'_, M>,
    ) {
        let AgwHeader { port, kind, pid, .. } = *header;
        let refuse = |why| Self::not_transmitted(cx, local, format_args!("{why}"));
        if self.registration(local).is_some_and(|there| there.program != program) {
            return refuse("another program has registered the call sign");
        }
        if !self.config.calls.contains(&local) {
            return refuse("it is no call sign of this station");
        }
        if usize::from(port) >= self.config.ports.len() {
            return refuse("the station has no such port");
        }
        let (path, text) = match kind {
            b'V' => match digipeaters(data) {
                Ok(taken) => taken,
                Err(_) => return refuse("its digipeaters are malformed"),
            },
            _ => (Vec::new(), data),
        };
        // No more are read than a path has.
        let path = DigipeaterPath::through(&path).unwrap_or(DigipeaterPath::DIRECT);
        self.send_unproto(program, port, [local, remote], path, (pid, text), out);
    }
}
