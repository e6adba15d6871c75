//! Replies and data from below, each passed to its session.

use stackwright_contract::services::{Credit, Ended, Failure, StreamsIndication, StreamsRequest};
use stackwright_contract::{Context, Handle};
use stackwright_wire::{Leaf, Message};

use super::state::{Data, Step, Stream};
use super::{Client, Out};
use crate::NAME;
use crate::reply::{Reply, ReplyKind};

impl<M: Message> Client<M> {
    pub(super) fn hear(&mut self, cx: &Context, indication: StreamsIndication<M>, out: Out<'_, M>) {
        let name = indication.name();
        let Some(stream) = self.streams.get(name).copied() else {
            return cx.dropped(NAME, "a word for a name that has ended");
        };
        match (stream, indication) {
            (_, StreamsIndication::Ended { why, .. }) => {
                self.streams.forget(name);
                match stream {
                    Stream::Control { session } => self.session_ended(cx, session, why, out),
                    Stream::DataListener { session } => {
                        self.session_job_failed(cx, session, Failure::Broken, out)
                    }
                    Stream::Data { session } => self.data_ended(cx, session, name, why, out),
                    Stream::Lingering { .. } => {}
                }
            }
            (Stream::Lingering { .. }, _) => {}

            (
                Stream::Control { session },
                StreamsIndication::Opened {
                    local,
                    remote,
                    credit: Credit { octets: credit, .. },
                    ..
                },
            ) => {
                if let Some(state) = self.sessions.get_mut(session) {
                    state.ends = local.internet().zip(remote.internet());
                    (state.credit, state.credit_most) = (credit, credit);
                    state.step = Step::Greeting;
                    self.touch(cx, session);
                }
            }
            (
                Stream::Control { session },
                StreamsIndication::Credit { credit: Credit { octets: credit, .. }, .. },
            ) => {
                if let Some(state) = self.sessions.get_mut(session) {
                    state.credit += credit;
                    super::send::flush(state, out);
                }
            }
            (Stream::Control { session }, StreamsIndication::Delivered { batch, .. }) => {
                let message = batch.into_octets();
                self.replies_delivered(cx, session, &message, out);
                let length = message.len();
                if self.sessions.get(session).is_some() {
                    out.request(StreamsRequest::Credit {
                        association: name,
                        credit: Credit::of_octets(length),
                    });
                }
            }
            // The server has ended; what it did not finish is lost.
            (Stream::Control { session }, StreamsIndication::Finished { .. }) => {
                self.drop_session(cx, session, Failure::Lost, out)
            }

            (Stream::DataListener { session }, StreamsIndication::Listening { local, .. }) => {
                self.listener_ready(cx, session, local, out);
            }
            (
                Stream::Data { session },
                StreamsIndication::Opened { remote, credit: Credit { octets: credit, .. }, .. },
            ) => {
                self.data_opened(cx, session, name, remote, credit, out);
            }
            (
                Stream::Data { session },
                StreamsIndication::Credit { credit: Credit { octets: more, .. }, .. },
            ) => {
                if let Some(state) = self.sessions.get_mut(session)
                    && let Data::Open { credit, .. } = &mut state.data
                {
                    *credit += more;
                    self.touch(cx, session);
                    self.send_file(cx, session, out);
                }
            }
            (Stream::Data { session }, StreamsIndication::Delivered { batch, .. }) => {
                let message = batch.into_octets();
                self.data_delivered(cx, session, name, message, out);
            }
            (Stream::Data { session }, StreamsIndication::Finished { .. }) => {
                self.data_finished(cx, session, out)
            }
            _ => cx.dropped(NAME, "a word that does not fit its name"),
        }
    }

    fn replies_delivered(&mut self, cx: &Context, session: Handle, message: &M, out: Out<'_, M>) {
        for leaf in message.leaves() {
            let Leaf::Octets(mut octets) = leaf else { continue };
            while !octets.is_empty() {
                let Some(state) = self.sessions.get_mut(session) else { return };
                let (heard, taken) = state.replies.feed(octets);
                octets = &octets[taken..];
                match heard {
                    Ok(None) => {}
                    Ok(Some(reply)) => {
                        cx.event(NAME, format_args!("◂ {} {}", reply.code, reply.text));
                        self.touch(cx, session);
                        self.replied(cx, session, &reply, out);
                    }
                    Err(wrong) => {
                        cx.event(NAME, format_args!("◂ what the server says is not FTP: {wrong}"));
                        return self.drop_session(cx, session, Failure::Broken, out);
                    }
                }
            }
        }
    }

    fn replied(&mut self, cx: &Context, session: Handle, reply: &Reply, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if reply.code == 421 && state.step != Step::Quitting {
            return self.drop_session(cx, session, Failure::Lost, out);
        }
        let kind = reply.kind();
        match (state.step, kind) {
            (Step::Greeting, ReplyKind::Preliminary) => {} // 120: it will be ready soon
            (Step::Greeting, ReplyKind::Completion) => {
                let user = alloc::format!("USER {}", self.config.user);
                self.say(cx, session, Step::User, &user, out);
            }
            (Step::User, ReplyKind::Intermediate) => {
                let password = alloc::format!("PASS {}", self.config.password);
                self.say(cx, session, Step::Pass, &password, out);
            }
            (Step::User | Step::Pass, ReplyKind::Completion) => {
                self.say(cx, session, Step::Type, "TYPE I", out)
            }
            (Step::Type, ReplyKind::Completion) => self.start_job(cx, session, out),
            (Step::Size, _) => self.size_replied(cx, session, reply, out),
            (Step::Epsv | Step::Pasv, _) => self.passive_replied(cx, session, reply, out),
            (Step::Port, ReplyKind::Completion) => self.port_replied(cx, session, out),
            (Step::Rest, ReplyKind::Intermediate) => self.begin(cx, session, out),
            (Step::Begin, ReplyKind::Preliminary) => {
                state.step = Step::Moving;
                self.begun(cx, session, reply, out);
            }
            (Step::Begin | Step::Moving, ReplyKind::Completion) => {
                // A server that skips 1xx has begun all the same.
                if state.step == Step::Begin {
                    self.begun(cx, session, reply, out);
                }
                if let Some(state) = self.sessions.get_mut(session) {
                    state.step = Step::Complete;
                    self.transfer_may_be_over(cx, session, out);
                }
            }
            (
                Step::Aborting(left),
                ReplyKind::Completion | ReplyKind::Transient | ReplyKind::Permanent,
            ) => {
                if left > 1 {
                    state.step = Step::Aborting(left - 1);
                } else {
                    self.aborted(cx, session, out);
                }
            }
            (Step::Aborting(_), ReplyKind::Preliminary) => {} // it crossed the ABOR
            (Step::Quitting | Step::Idle, _) => {}
            // A refused login or greeting ends the session: no other command makes sense.
            (Step::Greeting | Step::User | Step::Pass | Step::Type, _) => {
                let failure = match state.step {
                    Step::User | Step::Pass => Failure::NotLoggedIn,
                    _ => failure(reply),
                };
                self.drop_session(cx, session, failure, out);
            }
            (_, ReplyKind::Transient | ReplyKind::Permanent) => {
                self.session_job_failed(cx, session, failure(reply), out)
            }
            _ => {
                cx.event(NAME, format_args!("◂ that reply was not expected"));
                self.drop_session(cx, session, Failure::Broken, out);
            }
        }
    }

    fn session_ended(&mut self, cx: &Context, session: Handle, why: Ended, out: Out<'_, M>) {
        let failure = match self.sessions.get(session).map(|session| session.step) {
            Some(Step::Connecting) if why != Ended::Aborted => Failure::Unreachable,
            _ => Failure::Lost,
        };
        self.drop_session(cx, session, failure, out);
    }
}

/// Returns what a negative reply says about the file (RFC 959 §5.4).
pub(super) fn failure(reply: &Reply) -> Failure {
    match reply.code {
        450 | 550 => Failure::NotFound,
        452 | 552 => Failure::Full,
        553 => Failure::Denied,
        530 | 532 => Failure::NotLoggedIn,
        425 | 426 => Failure::Lost,
        500 | 502 | 504 => Failure::Unsupported,
        554 => Failure::Short,
        _ => Failure::Broken,
    }
}
