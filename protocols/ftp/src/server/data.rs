//! The opening and the end of data associations.

use alloc::format;
use core::mem;
use core::net::SocketAddr;

use stackwright_contract::services::{Credit, Ended, StreamsRequest};
use stackwright_contract::{CommandError, Context, Duration, Handle, Participant, Secure};
use stackwright_wire::Message;

use super::secure::secure_data;
use super::state::{
    DATA_CREDIT, Data, EARLY_CREDIT, File, Link, PeerHalf, Ports, Stream, Transfer,
};
use super::timers::LINGER;
use super::{Indication, Out, Server, SessionReuse, Trouble};
use crate::{NAME, address};

/// How many ports of the configured ones are tried, where they are taken.
const PORTS_TRIED: u16 = 64;
/// How long the right client has behind one that did not resume its session.
const RIGHT_ONE: Duration = Duration::from_secs(2);

impl<M: Message> Server<M> {
    /// Handles PASV and EPSV: listens on the address to which the client came, on any port or one
    /// of those that are configured.
    pub(super) fn go_passive(
        &mut self,
        cx: &Context,
        session: Handle,
        extended: bool,
        out: Out<'_, M>,
    ) {
        self.forget_data(cx, session, out);
        let ports = match &self.config.passive_ports {
            None => Ports { next: 0, left: 1 },
            Some(range) => {
                let count = range.end().saturating_sub(*range.start()).saturating_add(1);
                // Anywhere in the range: what a stranger can guess is not the next one (RFC 2577
                // §8).
                let next = range.start() + cx.random(count.into()) as u16;
                Ports { next, left: count.min(PORTS_TRIED) }
            }
        };
        self.listen_for_data(session, extended, ports, out);
    }

    /// Listens on the first of `ports`.
    fn listen_for_data(
        &mut self,
        session: Handle,
        extended: bool,
        Ports { next, left }: Ports,
        out: Out<'_, M>,
    ) {
        let after = match &self.config.passive_ports {
            Some(range) if next >= *range.end() => *range.start(),
            _ => next.saturating_add(1),
        };
        let Some(state) = self.sessions.get_mut(session) else { return };
        // With its scope: an IPv6 address may be valid on one link only (RFC 4007 §6).
        let mut local = state.control.local;
        local.set_port(next);
        let listener = self.streams.name(Stream::DataListener { session });
        let ports = Ports { next: after, left: left.saturating_sub(1) };
        state.data = Data::Listening { listener, extended, ports };
        Self::ask_streams(out, StreamsRequest::Listen { listener, local: local.into() });
    }

    /// Tells the client the address of the listener.
    pub(super) fn data_listener_ready(
        &mut self,
        cx: &Context,
        session: Handle,
        listener: Handle,
        local: Participant,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Data::Listening { listener: expected, extended, .. } = state.data else { return };
        if expected != listener {
            return;
        }
        let text = match local.internet() {
            Some(SocketAddr::V4(mut address)) if !extended => {
                address.set_ip(self.config.public_address.unwrap_or(*address.ip()));
                (227, format!("Entering Passive Mode ({}).", address::format_port(address)))
            }
            Some(address) => {
                (229, format!("Entering Extended Passive Mode (|||{}|)", address.port()))
            }
            None => (425, "There is no Internet address to listen on.".into()),
        };
        self.await_data(session, listener, out);
        self.answer(cx, session, text.0, &text.1);
        self.obeyed(cx, session, out);
    }

    fn await_data(&mut self, session: Handle, listener: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let association = self.streams.name(Stream::Data { session });
        state.data = Data::Awaited { listener, association };
        Self::ask_streams(
            out,
            StreamsRequest::Await { listener, association, credit: Credit::of_octets(DATA_CREDIT) },
        );
        secure_data(state, association, out);
    }

    /// Handles the failure of a listener.
    pub(super) fn data_listener_ended(
        &mut self,
        cx: &Context,
        session: Handle,
        listener: Handle,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if let Data::Listening { listener: expected, extended, ports } = state.data
            && expected == listener
        {
            if ports.left > 0 {
                return self.listen_for_data(session, extended, ports, out);
            }
            state.data = Data::Absent;
            self.reply(cx, session, 425, "No port to listen on is free.");
            self.obeyed(cx, session, out);
        }
    }

    /// Handles an open data association: the transfer that waits for it may begin.
    pub(super) fn data_opened(
        &mut self,
        cx: &Context,
        session: Handle,
        association: Handle,
        remote: Participant,
        credit: usize,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let peer = state.control.peer.ip();
        let mut listening = None;
        if let Data::Opening { .. } = state.data {
            state.data = Data::Absent;
        } else if let Data::Awaited { listener, association: expected } = state.data {
            debug_assert_eq!(expected, association);
            // Another host came first: it must not get the file (RFC 2577 §3).
            if remote.internet().is_none_or(|remote| remote.ip().to_canonical() != peer) {
                cx.dropped(NAME, "a data connection from a third party");
                self.reset(cx, association, out);
                return self.await_data(session, listener, out);
            }
            listening = Some(listener);
        }
        let link = Link::new(association, credit);
        let Some(state) = self.sessions.get_mut(session) else { return };
        if state.protection.data {
            state.data = Data::Securing { listener: listening, link };
            return;
        }
        self.data_arrived(cx, session, listening, link, out);
    }

    /// Handles a data association that was opened beside a control association, from the same port:
    /// it is the next transfer's of that session, in place of what was arranged before.
    pub(super) fn data_came_beside(
        &mut self,
        cx: &Context,
        association: Handle,
        peer: SocketAddr,
        credit: usize,
        out: Out<'_, M>,
    ) {
        let session = self.streams.iter().find_map(|(_, stream)| match stream {
            Stream::Control { session } => {
                let state = self.sessions.get(*session)?;
                (state.control.peer == peer && !state.protection.data).then_some(*session)
            }
            _ => None,
        });
        let Some(session) = session else {
            cx.dropped(NAME, "a data connection that is nobody's");
            return self.reset(cx, association, out);
        };
        self.forget_data(cx, session, out);
        if let Some(stream) = self.streams.get_mut(association) {
            *stream = Stream::Data { session };
        }
        let withheld = DATA_CREDIT - EARLY_CREDIT;
        self.data_arrived(
            cx,
            session,
            None,
            Link { withheld, ..Link::new(association, credit) },
            out,
        );
    }

    /// Handles the answer to the command to secure a data association. A client that does not
    /// resume the session of the control association, although an earlier one did, is another one:
    /// it must neither get the file nor keep the right one from it.
    pub(super) fn data_secured(
        &mut self,
        cx: &Context,
        session: Handle,
        association: Handle,
        outcome: Result<u32, CommandError>,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if !matches!(&state.data, Data::Securing { link, .. } if link.association == association) {
            return;
        }
        let Data::Securing { listener, link } = mem::replace(&mut state.data, Data::Absent) else {
            return;
        };
        let resumes = state.protection.resumes;
        let is_refused = match (self.config.session_reuse, outcome) {
            (SessionReuse::Off, _) | (_, Err(_)) => false,
            (SessionReuse::Prefer, Ok(how)) => resumes && how == Secure::FULL,
            (SessionReuse::Require, Ok(how)) => how != Secure::RESUMED,
        };
        match (outcome, listener) {
            (Ok(_), listener) if is_refused => {
                cx.dropped(NAME, "a data connection that does not resume the session");
                out.indicate(Indication::DataRefused { peer: state.control.peer.into() });
                // The client is to see that TLS works, and the reply why that is not enough.
                self.abandon(cx, association);
                Self::ask_streams(out, StreamsRequest::Close { name: association });
                match listener {
                    // It is known to resume, and may still come: soon, where a transfer waits.
                    Some(listener) if resumes => {
                        self.await_data(session, listener, out);
                        self.hurry(cx, session);
                    }
                    listener => {
                        self.unlisten(cx, listener, out);
                        self.no_data(cx, session, Trouble::NotResumed, out);
                    }
                }
            }
            (Ok(how), listener) => {
                state.protection.resumes |= how == Secure::RESUMED;
                self.data_arrived(cx, session, listener, link, out);
            }
            // It ends by itself, behind an alert: the client may still come.
            (Err(CommandError::Insecure { .. }), Some(listener)) => {
                self.abandon(cx, association);
                self.await_data(session, listener, out);
            }
            // Or no layer below can do so.
            (Err(why), listener) => {
                self.abandon(cx, association);
                if !matches!(why, CommandError::Insecure { .. }) {
                    Self::ask_streams(out, StreamsRequest::Abort { association, code: 0 });
                }
                self.unlisten(cx, listener, out);
                self.no_data(cx, session, Trouble::Data(Ended::Aborted), out);
            }
        }
    }

    /// Waits not much longer for a data association: the one that came may have been the client's.
    fn hurry(&mut self, cx: &Context, session: Handle) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if state.transfer().is_some_and(|transfer| transfer.link.is_none()) {
            state.deadline = state.deadline.min(cx.now() + RIGHT_ONE);
            self.look_at(session);
        }
    }

    fn unlisten(&mut self, cx: &Context, listener: Option<Handle>, out: Out<'_, M>) {
        if let Some(name) = listener {
            self.abandon(cx, name);
            Self::ask_streams(out, StreamsRequest::Close { name });
        }
    }

    /// Gives a data association to the transfer that waits for it, or keeps it for the next one.
    fn data_arrived(
        &mut self,
        cx: &Context,
        session: Handle,
        listener: Option<Handle>,
        link: Link<M>,
        out: Out<'_, M>,
    ) {
        self.unlisten(cx, listener, out);
        let Some(state) = self.sessions.get_mut(session) else { return };
        match state.transfer() {
            Some(transfer) if transfer.link.is_none() => {
                transfer.link = Some(link);
                state.data = Data::Absent;
                self.touch(cx, session);
                self.pump(cx, session, out);
            }
            _ => state.data = Data::Arrived(link),
        }
    }

    /// Requests the data association of a transfer: one that is open already, one that will come,
    /// or one that the server opens.
    pub(super) fn want_data(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        match mem::replace(&mut state.data, Data::Absent) {
            Data::Arrived(link) => {
                let (association, more) = (link.association, link.withheld);
                if let Some(transfer) = state.transfer() {
                    transfer.link = Some(Link { kept: false, withheld: 0, ..link });
                }
                if more > 0 {
                    let credit = Credit::of_octets(more);
                    Self::ask_streams(out, StreamsRequest::Credit { association, credit });
                }
                self.pump(cx, session, out);
            }
            // It came while the disk was still opening the file.
            Data::Absent => self.pump(cx, session, out),
            Data::Target(target) => {
                let mut local = state.control.local;
                local.set_port(0);
                let association = self.streams.name(Stream::Data { session });
                state.data = Data::Opening { association };
                Self::ask_streams(
                    out,
                    StreamsRequest::Open {
                        association,
                        remote: target.into(),
                        local: Some(local.into()),
                        credit: Credit::of_octets(DATA_CREDIT),
                    },
                );
                secure_data(state, association, out);
            }
            awaited => state.data = awaited,
        }
    }

    /// Handles the end of a data association.
    pub(super) fn data_ended(
        &mut self,
        cx: &Context,
        session: Handle,
        association: Handle,
        why: Ended,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if let Some(link) = state.link().filter(|link| link.association == association)
            && link.half == PeerHalf::Finished
            && !link.finished
        {
            // All octets are here. Of an upload nothing else counts, and it may not have begun.
            link.half = PeerHalf::Over;
        }
        match &state.data {
            Data::Arrived(link) if link.association == association => {
                if link.half != PeerHalf::Over {
                    state.data = Data::Absent;
                }
                return;
            }
            Data::Awaited { association: expected, .. } if *expected == association => {
                self.forget_data(cx, session, out); // no association can arrive any more
            }
            Data::Securing { link, .. } if link.association == association => {
                self.forget_data(cx, session, out);
            }
            Data::Opening { association: expected } if *expected == association => {
                state.data = Data::Absent;
            }
            _ => {}
        }
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Some(transfer) = state.transfer() else { return };
        let code_and_text = match (&transfer.link, why) {
            (None, _) => return self.no_data(cx, session, Trouble::Data(why), out),
            (Some(link), _) if link.association != association => return,
            // All octets are here, and only the file's name is awaited.
            (Some(_), _) if matches!(transfer.file, File::Keeping(_) | File::Parting(_)) => {
                transfer.link = None;
                return;
            }
            (Some(link), _) if link.half == PeerHalf::Over && transfer.stores() => return,
            (Some(link), Ended::Finished) if link.finished => {
                return self.succeed(cx, session, out);
            }
            (Some(_), Ended::SourceShort) => (451, "The file became shorter while it was sent."),
            (Some(_), _) => (426, "The data connection was closed."),
        };
        transfer.link = None;
        self.fail(cx, session, Trouble::Data(why), code_and_text, out);
    }

    /// Fails the transfer, if there is one, that waits for a data association which does not come.
    fn no_data(&mut self, cx: &Context, session: Handle, trouble: Trouble, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if let Some(Transfer { link: None, .. }) = state.transfer() {
            let reply = match trouble {
                Trouble::NotResumed => (522, "The data connection has to resume the TLS session."),
                _ => (425, "The data connection could not be opened."),
            };
            self.fail(cx, session, trouble, reply, out);
        }
    }

    /// Abandons whatever was arranged for the next data association.
    pub(super) fn forget_data(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        match mem::replace(&mut state.data, Data::Absent) {
            Data::Absent | Data::Target(_) => {}
            Data::Opening { association } => self.reset(cx, association, out),
            Data::Securing { listener, link } => {
                self.unlisten(cx, listener, out);
                self.reset(cx, link.association, out);
            }
            Data::Listening { listener, .. } => self.unlisten(cx, Some(listener), out),
            Data::Awaited { listener, association } => {
                self.abandon(cx, association);
                self.unlisten(cx, Some(listener), out);
            }
            // All that was sent on it has still to arrive.
            Data::Arrived(link) if link.kept => self.part_data(cx, session, &link, out),
            Data::Arrived(link) => self.reset(cx, link.association, out),
        }
    }

    /// Resets an association, if it has not ended, and expects nothing but its end.
    pub(super) fn reset(&mut self, cx: &Context, association: Handle, out: Out<'_, M>) {
        if self.streams.get(association).is_some() {
            self.abandon(cx, association);
            Self::ask_streams(out, StreamsRequest::Abort { association, code: 0 });
        }
    }

    /// Expects nothing but the end of this association or listener.
    pub(super) fn abandon(&mut self, cx: &Context, name: Handle) {
        let until = cx.now() + LINGER;
        if let Some(stream) = self.streams.get_mut(name) {
            let earlier = mem::replace(stream, Stream::Lingering { until });
            self.lingering += usize::from(!matches!(earlier, Stream::Lingering { .. }));
            self.watch(until);
        }
    }

    /// Leaves an association on which all was sent, and which the kernel has, to be closed by the
    /// peer. One such association a session is enough; of all, as many as there may be sessions.
    pub(super) fn linger(
        &mut self,
        cx: &Context,
        session: Handle,
        association: Handle,
        out: Out<'_, M>,
    ) {
        self.abandon(cx, association);
        let Some(state) = self.sessions.get_mut(session) else { return };
        if let Some(earlier) = state.lingering.replace(association)
            && self.streams.get(earlier).is_some()
        {
            Self::ask_streams(out, StreamsRequest::Abort { association: earlier, code: 0 });
        }
        if self.lingering > self.config.sessions_most {
            let lingering = self.streams.iter().filter_map(|(name, stream)| match stream {
                Stream::Lingering { until } => Some((*until, name)),
                _ => None,
            });
            if let Some((_, association)) = lingering.min_by_key(|(until, _)| *until) {
                Self::ask_streams(out, StreamsRequest::Abort { association, code: 0 });
            }
        }
    }
}
