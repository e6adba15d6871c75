//! The opening of data associations.

use alloc::format;
use core::mem;
use core::net::SocketAddr;

use stackwright_contract::services::{Credit, Ended, Failure, StreamsRequest};
use stackwright_contract::{Command, Context, Handle, Participant, earliest};
use stackwright_wire::Message;

use super::state::{Data, FIRST_CREDIT, Job, LISTING_CREDIT, Read, Step, Stream, What};
use super::{Client, DataMode, Out, TlsMode};
use crate::reply::{Reply, ReplyKind};
use crate::{NAME, address};

/// The event that the octets of a file ended without close_notify, which RFC 8446 §6.1 requires and
/// not every server sends.
const UNANNOUNCED: &str =
    "the server did not announce the end of the data; the file is complete by its size";

impl<M: Message> Client<M> {
    /// Takes the first step of every transfer. Where the size counts, it is asked for in the same
    /// breath: not every server tells it when the transfer begins, and when it is over, the file
    /// may be another.
    pub(super) fn arrange(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        self.ask_modified(cx, session);
        if self.config.data == DataMode::Active {
            return self.listen(session, out);
        }
        if self.is_merged() {
            return self.open_merged(cx, session, out);
        }
        if self.arrange_ahead(cx, session, out) {
            return;
        }
        let (step, command) =
            if self.only_pasv { (Step::Pasv, "PASV") } else { (Step::Epsv, "EPSV") };
        self.say_behind_size(cx, session, step, command, out);
    }

    /// Begins a transfer whose data association is a stream beside the control stream. What a file
    /// has already decides what is sent behind it.
    fn open_merged(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let stores = matches!(self.job_of(session), Some((_, Job { what: What::Create(_), .. })));
        if stores && self.wants_size(session) {
            let path = self.path_of(session);
            return self.say_with_path(cx, session, Step::SizeBefore, "SIZE", &path, out);
        }
        self.open_beside(cx, session, out);
    }

    /// Opens the data association at the default port of the server (RFC 959 §3.2).
    pub(super) fn open_beside(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let remote = self.sessions.get(session).and_then(|state| state.ends).map(|ends| ends.1);
        let port = remote.map_or(0, |remote| remote.port().saturating_sub(1));
        self.open_data(cx, session, port, false, out);
    }

    /// Sends a command that arranges the data association, and SIZE before it where that counts.
    fn say_behind_size(
        &mut self,
        cx: &Context,
        session: Handle,
        step: Step,
        command: &str,
        out: Out<'_, M>,
    ) {
        if self.wants_size(session) {
            let size = format!("SIZE {}", self.path_of(session));
            self.say_both(cx, session, (Step::SizeBefore, &size), (step, command), out);
        } else {
            self.say(cx, session, step, command, out);
        }
    }

    /// Returns whether the size of the file has to be known before the transfer, and was not asked.
    fn wants_size(&mut self, session: Handle) -> bool {
        let Some(features) = self.sessions.get(session).map(|state| state.features) else {
            return false;
        };
        match self.job_of(session).map(|(_, job)| &mut job.what) {
            Some(What::Read(read)) => features.size && !mem::replace(&mut read.size_asked, true),
            Some(What::Create(create)) => create.there.is_none() && create.next == 0,
            _ => false,
        }
    }

    /// Listens for the server's data association.
    fn listen(&mut self, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Some((mut local, _)) = state.ends else { return };
        state.step = Step::Listening;
        let listener = self.streams.name(Stream::DataListener { session });
        state.data = Data::Awaited { listener, association: None };
        local.set_port(0); // what else there is of an address, such as its zone, stays
        out.request(StreamsRequest::Listen { listener, local: local.into() });
    }

    /// Handles the reply to EPSV or PASV. The data association goes to the server of the control
    /// association, whatever address the reply names (CVE-2020-8284: a server could otherwise have
    /// the client scan other hosts).
    pub(super) fn passive_replied(
        &mut self,
        cx: &Context,
        session: Handle,
        reply: &Reply,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Some((_, remote)) = state.ends else { return };
        let extended = state.step == Step::Epsv;
        let Some(port) = port(reply, extended) else {
            if extended && is_ipv4(remote) {
                self.only_pasv = true;
                return self.say(cx, session, Step::Pasv, "PASV", out);
            }
            let failure = if reply.kind() == ReplyKind::Completion {
                Failure::Garbled
            } else {
                super::receive::failure(reply)
            };
            return self.session_job_failed(cx, session, failure, out);
        };
        self.open_data(cx, session, port, extended, out);
    }

    /// Opens the data association to a port of the server, and begins the transfer.
    pub(super) fn open_data(
        &mut self,
        cx: &Context,
        session: Handle,
        port: u16,
        extended: bool,
        out: Out<'_, M>,
    ) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Some((local, mut remote)) = state.ends else { return };
        let association = self.streams.name(Stream::Data { session });
        state.data = Data::Opening { association, extended };
        let credit = self.first_credit(session);
        remote.set_port(port);
        out.request(StreamsRequest::Open {
            association,
            remote: remote.into(),
            // By the port, a server finds the session.
            local: self.is_merged().then(|| local.into()),
            credit: Credit::of_octets(credit),
        });
        // The server accepts after it has received the command: waiting for the connection would
        // cost a round trip.
        self.ready_to_begin(cx, session, out);
    }

    /// Tells the server the address of the listener.
    pub(super) fn listener_ready(
        &mut self,
        cx: &Context,
        session: Handle,
        local: Participant,
        out: Out<'_, M>,
    ) {
        let Some(local) = local.internet() else { return };
        let command = match local {
            SocketAddr::V4(local) => format!("PORT {}", address::format_port(local)),
            SocketAddr::V6(_) => format!("EPRT {}", address::format_eprt(local)),
        };
        self.say_behind_size(cx, session, Step::Port, &command, out);
    }

    pub(super) fn port_replied(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        self.await_server(session, out);
        self.ready_to_begin(cx, session, out);
    }

    fn await_server(&mut self, session: Handle, out: Out<'_, M>) {
        let credit = self.first_credit(session);
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Data::Awaited { listener, association } = &mut state.data else { return };
        let name = self.streams.name(Stream::Data { session });
        *association = Some(name);
        out.request(StreamsRequest::Await {
            listener: *listener,
            association: name,
            credit: Credit::of_octets(credit),
        });
    }

    /// Returns the credit for what was requested already.
    fn first_credit(&mut self, session: Handle) -> usize {
        match self.job_of(session).map(|(_, job)| &mut job.what) {
            Some(What::Read(read)) => {
                // From the position on: the credit of an earlier association is not this one's.
                read.credit_to = read.next_asked.max(read.position.saturating_add(FIRST_CREDIT));
                (read.credit_to - read.position) as usize
            }
            Some(What::List(_)) => LISTING_CREDIT,
            _ => 1, // nothing is expected, and credit is never zero
        }
    }

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
        if let Data::Awaited { listener, .. } = state.data {
            let server = state.ends.map(|(_, remote)| remote.ip().to_canonical());
            if remote.internet().map(|remote| remote.ip().to_canonical()) != server {
                cx.dropped(NAME, "a data connection from somebody who is not the server");
                self.abandon(cx, association);
                out.request(StreamsRequest::Abort { association, code: 0 });
                return self.await_server(session, out);
            }
            self.abandon(cx, listener);
            out.request(StreamsRequest::Close { name: listener });
        }
        if let Some(state) = self.sessions.get_mut(session) {
            let is_ready = self.config.tls == TlsMode::Off;
            state.data = Data::Open { association, credit, is_ready };
        }
        // TLS reads payload.
        if self.secures() {
            self.secure_data(session, association, out);
        } else if let Some((_, Job { what: What::Read(Read { as_octets: false, .. }), .. })) =
            self.job_of(session)
        {
            out.request(StreamsRequest::Control { association, command: Command::Unread });
        }
        self.touch(cx, session);
        self.give_credit(session, out);
        self.send_file(cx, session, out);
    }

    /// Gives the open data association credit for all that was requested.
    pub(super) fn give_credit(&mut self, session: Handle, out: Out<'_, M>) {
        let Some(Data::Open { association, .. }) =
            self.sessions.get(session).map(|session| &session.data)
        else {
            return;
        };
        let association = *association;
        if let Some((_, Job { what: What::Read(read), .. })) = self.job_of(session)
            && read.next_asked > read.credit_to
        {
            let credit = (read.next_asked - read.credit_to) as usize;
            read.credit_to = read.next_asked;
            out.request(StreamsRequest::Credit { association, credit: Credit::of_octets(credit) });
        }
    }

    pub(super) fn data_finished(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if let Data::Open { association, .. } = state.data {
            let stores = self
                .jobs
                .get(state.job.unwrap_or(association))
                .is_some_and(|job| matches!(job.what, What::Create(_)));
            if stores {
                return; // a server need not read on until its own end
            }
            state.data = Data::Finished { association };
            out.request(StreamsRequest::Finish { association });
            cx.event(NAME, format_args!("end of data"));
            self.touch(cx, session);
            self.transfer_may_be_over(cx, session, out);
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
        if state.data.association() != Some(association) {
            return;
        }
        let whole = matches!(state.data, Data::Finished { .. }) || why == Ended::Finished;
        if whole {
            return; // both ends are finished; the final reply says the rest
        }
        if why == Ended::Truncated && self.has_size(session) {
            cx.event(NAME, format_args!("{UNANNOUNCED}"));
            if let Some(state) = self.sessions.get_mut(session) {
                state.data = Data::Finished { association };
            }
            self.touch(cx, session);
            return self.transfer_may_be_over(cx, session, out);
        }
        if self.passive_failed(cx, session, out) {
            return;
        }
        let Some(state) = self.sessions.get_mut(session) else { return };
        let never_open = matches!(state.data, Data::Opening { .. } | Data::Awaited { .. });
        // Where the server was awaited, the listener has to be closed, too.
        match state.data {
            Data::Awaited { .. } => self.drop_data(cx, session, out),
            _ => state.data = Data::Absent,
        }
        let Some(state) = self.sessions.get_mut(session) else { return };
        // The server's reply tells more than the end does, if it comes; the timeout bounds the
        // wait.
        if !matches!(state.step, Step::Begin | Step::Moving) {
            return self.session_job_failed(cx, session, Failure::Lost, out);
        }
        // A server that is gone says nothing, and where no kernel reports it, the control
        // association does not show it.
        if never_open || matches!(why, Ended::Unreachable | Ended::Exhausted | Ended::Expired) {
            state.data = Data::Gone;
            self.touch(cx, session);
        }
    }

    /// Begins the transfer in another session, with PASV, if the port that EPSV named cannot be
    /// reached: some firewalls understand only PASV. Returns whether it does.
    pub(super) fn passive_failed(
        &mut self,
        cx: &Context,
        session: Handle,
        out: Out<'_, M>,
    ) -> bool {
        let Some(state) = self.sessions.get(session) else { return false };
        let falls_back = matches!(state.data, Data::Opening { extended: true, .. })
            && matches!(state.step, Step::Rest | Step::Begin | Step::Moving | Step::Complete)
            && state.ends.is_some_and(|(_, remote)| is_ipv4(remote));
        if falls_back {
            self.only_pasv = true;
            self.start_elsewhere(cx, session, out);
        }
        falls_back
    }

    /// Resets the data association, in whichever state it is.
    pub(super) fn drop_data(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let data = mem::replace(&mut state.data, Data::Absent);
        let association = data.association();
        if let Some(association) = association {
            self.abandon(cx, association);
        }
        match data {
            Data::Awaited { listener, .. } => {
                self.abandon(cx, listener);
                out.request(StreamsRequest::Close { name: listener });
            }
            Data::Opening { association, .. } | Data::Open { association, .. } => {
                out.request(StreamsRequest::Abort { association, code: 0 });
            }
            Data::Finished { .. } | Data::Absent | Data::Gone => {}
        }
    }

    /// Expects nothing but the end of this association or listener.
    pub(super) fn abandon(&mut self, cx: &Context, name: Handle) {
        let until = cx.now() + self.config.timeout;
        if let Some(stream) = self.streams.get_mut(name) {
            *stream = Stream::Lingering { until };
            self.next = earliest(self.next, Some(until));
        }
    }
}

/// Returns the port that a reply to EPSV or PASV names.
pub(super) fn port(reply: &Reply, extended: bool) -> Option<u16> {
    let port = match (extended, reply.code) {
        (true, 229) => address::find_epsv(&reply.text),
        (false, 227) => address::find_port(&reply.text).map(|address| address.port()),
        _ => None,
    };
    port.filter(|port| *port > 0)
}

fn is_ipv4(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_ipv4()
}
