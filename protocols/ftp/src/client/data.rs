//! The opening of data associations.

use core::net::SocketAddr;

use stackwright_contract::services::{Credit, Ended, Failure, StreamsRequest};
use stackwright_contract::{Command, Context, Handle, Participant, earliest};
use stackwright_wire::Message;

use super::state::{Data, FIRST_CREDIT, Job, LISTING_CREDIT, Step, Stream, What};
use super::{Client, DataMode, Out};
use crate::reply::{Reply, ReplyKind};
use crate::{NAME, address};

impl<M: Message> Client<M> {
    /// Takes the first step of every transfer.
    pub(super) fn arrange(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let Some((local, _)) = state.ends else { return };
        match self.config.data {
            DataMode::Passive if state.only_pasv => self.say(cx, session, Step::Pasv, "PASV", out),
            DataMode::Passive => self.say(cx, session, Step::Epsv, "EPSV", out),
            DataMode::Active => {
                state.step = Step::Listening;
                let listener = self.streams.name(Stream::DataListener { session });
                state.data = Data::Awaited { listener, association: None };
                let local = SocketAddr::new(local.ip(), 0).into();
                out.request(StreamsRequest::Listen { listener, local });
            }
        }
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
        let port = match (state.step, reply.code) {
            (Step::Epsv, 229) => address::find_epsv(&reply.text),
            (Step::Pasv, 227) => address::find_port(&reply.text).map(|address| address.port()),
            (Step::Epsv, _) if reply.kind() == ReplyKind::Permanent && remote.is_ipv4() => {
                state.only_pasv = true;
                return self.say(cx, session, Step::Pasv, "PASV", out);
            }
            _ => None,
        };
        let Some(port) = port.filter(|port| *port > 0) else {
            let failure = if reply.kind() == ReplyKind::Completion {
                Failure::Broken
            } else {
                super::receive::failure(reply)
            };
            return self.session_job_failed(cx, session, failure, out);
        };
        let association = self.streams.name(Stream::Data { session });
        state.data = Data::Opening { association };
        let credit = self.first_credit(session);
        let remote = SocketAddr::new(remote.ip(), port).into();
        out.request(StreamsRequest::Open {
            association,
            remote,
            local: None,
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
            SocketAddr::V4(local) => alloc::format!("PORT {}", address::format_port(local)),
            SocketAddr::V6(_) => alloc::format!("EPRT {}", address::format_eprt(local)),
        };
        self.say(cx, session, Step::Port, &command, out);
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
            state.data = Data::Open { association, credit };
        }
        if matches!(self.job_of(session), Some((_, Job { what: What::Read(_), .. }))) {
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
        if never_open || matches!(why, Ended::Unreachable | Ended::Expired) {
            state.data = Data::Gone;
            self.touch(cx, session);
        }
    }

    /// Resets the data association, in whichever state it is.
    pub(super) fn drop_data(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let data = core::mem::replace(&mut state.data, Data::Absent);
        let association = data.association();
        if let Some(association) = association {
            self.abandon(cx, association);
        }
        match data {
            Data::Awaited { listener, .. } => {
                self.abandon(cx, listener);
                out.request(StreamsRequest::Close { name: listener });
            }
            Data::Opening { association } | Data::Open { association, .. } => {
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
