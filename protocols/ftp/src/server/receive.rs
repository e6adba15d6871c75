//! Commands, data, and the disk's answers from below, each passed to its session.

use stackwright_contract::services::{Credit, Ended, Failure, FilesIndication, StreamsIndication};
use stackwright_contract::{Context, Handle};
use stackwright_wire::{Leaf, Message};

use super::commands::Answer;
use super::state::{Arrives, File, FileUse, Leaving, PeerHalf, Stream};
use super::{Indication, Out, Server};
use crate::NAME;

impl<M: Message> Server<M> {
    pub(super) fn on_streams(
        &mut self,
        cx: &Context,
        indication: StreamsIndication<M>,
        out: Out<'_, M>,
    ) {
        let name = indication.name();
        let Some(stream) = self.streams.get(name).copied() else {
            return cx.dropped(NAME, "a word for a name that has ended");
        };
        match (stream, indication) {
            (_, StreamsIndication::Ended { why, .. }) => {
                self.stream_ended(cx, stream, name, why, out)
            }
            (Stream::Lingering { .. } | Stream::Refused { .. }, _) => {}

            (Stream::Listener { arrives, .. }, StreamsIndication::Listening { local, .. }) => {
                self.listens(name, arrives, local, out);
            }
            (
                Stream::Arrival { listener },
                StreamsIndication::Opened {
                    local,
                    remote,
                    credit: Credit { octets: credit, .. },
                    ..
                },
            ) => {
                self.arrived(cx, listener, name, local, remote, credit, out);
            }
            (
                Stream::Control { session },
                StreamsIndication::Credit { credit: Credit { octets: credit, .. }, .. },
            ) => {
                self.on_reply_credit(session, credit);
                self.obey_waiting(cx, session, out);
            }
            (Stream::Control { session }, StreamsIndication::Delivered { batch, .. }) => {
                let message = batch.into_octets();
                self.lines_delivered(cx, session, &message, out);
            }
            (Stream::Control { session }, StreamsIndication::Finished { .. }) => {
                if let Some(state) = self.sessions.get_mut(session) {
                    state.control_ends();
                    state.control.half = PeerHalf::Finished;
                    self.obey_waiting(cx, session, out);
                    self.touch(cx, session);
                    self.pump(cx, session, out); // a file may have waited for that
                }
            }
            (Stream::Control { session }, StreamsIndication::Ending { .. }) => {
                if let Some(state) = self.sessions.get_mut(session) {
                    state.control_ends();
                }
            }
            (Stream::Data { session }, StreamsIndication::Ending { .. }) => {
                self.data_ending(session, name);
            }

            (Stream::Control { session }, StreamsIndication::Controlled { outcome, .. }) => {
                self.secured(cx, session, outcome, out);
            }
            (Stream::Data { session }, StreamsIndication::Controlled { outcome, .. }) => {
                self.data_secured(cx, session, name, outcome, out);
            }

            (Stream::DataListener { session }, StreamsIndication::Listening { local, .. }) => {
                self.data_listener_ready(cx, session, name, local, out);
            }
            (
                Stream::Data { session },
                StreamsIndication::Opened { remote, credit: Credit { octets: credit, .. }, .. },
            ) => {
                self.data_opened(cx, session, name, remote, credit, out);
            }
            (
                Stream::Data { session },
                StreamsIndication::Credit { credit: Credit { octets: credit, .. }, .. },
            ) => {
                self.on_data_credit(cx, session, name, credit, out);
            }
            (Stream::Data { session }, StreamsIndication::Delivered { batch, .. }) => {
                let message = batch.into_octets();
                self.data_delivered(cx, session, name, message, out);
            }
            (Stream::Data { session }, StreamsIndication::Finished { .. }) => {
                self.data_finished(cx, session, name, out);
            }
            _ => cx.dropped(NAME, "a word that does not fit its name"),
        }
    }

    fn stream_ended(
        &mut self,
        cx: &Context,
        stream: Stream,
        name: Handle,
        why: Ended,
        out: Out<'_, M>,
    ) {
        self.streams.forget(name);
        match stream {
            Stream::Listener { arrives: Arrives::Data, .. } if self.stopping => {}
            Stream::Listener { .. } => out.indicate(Indication::NotServing { why }),
            Stream::Arrival { listener } => {
                self.one_less_awaited(listener);
                // It left before it was open. Its handle is given again, unless the listener itself
                // is closing.
                if why != Ended::Unlistened {
                    self.await_clients(listener, out);
                }
            }
            Stream::Control { session } => self.control_ended(cx, session, out),
            Stream::DataListener { session } => self.data_listener_ended(cx, session, name, out),
            Stream::Data { session } => self.data_ended(cx, session, name, why, out),
            Stream::Lingering { .. } => self.lingering -= 1,
            Stream::Refused { .. } => self.refused -= 1,
        }
    }

    /// Handles the end of a control association. A file whose data association had ended before is
    /// whole, and gets its name; nothing else outlives its client.
    fn control_ended(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        state.control_ends();
        state.control.half = PeerHalf::Over;
        let stores = state.transfer().is_some_and(|transfer| transfer.stores());
        if !stores || state.control.ended_first {
            return self.forget_session(cx, session, out);
        }
        state.control.hush();
    }

    /// Takes octets of a control association; credit is given back when they are obeyed.
    fn lines_delivered(&mut self, cx: &Context, session: Handle, message: &M, out: Out<'_, M>) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let control = &mut state.control;
        // The session is leaving, or TLS begins: what arrives before it is not obeyed.
        let is_heard = control.leaving == Leaving::No && !control.secures;
        for leaf in message.leaves() {
            let Leaf::Octets(octets) = leaf else { continue };
            control.withheld += octets.len();
            if is_heard {
                control.raw.extend_from_slice(octets);
            }
        }
        control.parse();
        self.obey_waiting(cx, session, out);
    }

    pub(super) fn on_files(
        &mut self,
        cx: &Context,
        indication: FilesIndication<M>,
        out: Out<'_, M>,
    ) {
        let name = indication.name();
        let Some(use_) = self.files.get(name).cloned() else {
            return cx.dropped(NAME, "a word for a file that is closed");
        };
        match (use_, indication) {
            (FileUse::Transfer { session }, FilesIndication::Opened { size, .. }) => {
                self.file_opened(cx, session, size, out)
            }
            (FileUse::Transfer { session }, FilesIndication::Read { message, .. }) => {
                self.read(cx, session, message, out)
            }
            (FileUse::Transfer { session }, FilesIndication::Entries { entries, .. }) => {
                self.entries(cx, session, &entries, out);
            }
            (FileUse::Transfer { session }, FilesIndication::Written { octets, .. }) => {
                self.written(cx, session, octets, out)
            }
            (FileUse::Transfer { session }, FilesIndication::Closed { result, .. }) => {
                self.files.forget(name);
                self.file_closed(cx, session, result, out);
            }
            (FileUse::Recital { session }, FilesIndication::Opened { .. }) => {
                self.recital_opened(cx, session, out);
            }
            (FileUse::Recital { session }, FilesIndication::Entries { entries, .. }) => {
                self.recital_entries(cx, session, &entries, out);
            }
            (FileUse::Recital { session }, FilesIndication::Closed { result, .. }) => {
                self.files.forget(name);
                let failure = result.err().unwrap_or(Failure::Broken);
                self.recital_closed(cx, session, failure, out);
            }
            (FileUse::Question { session }, FilesIndication::Stated { result, .. }) => {
                self.files.forget(name);
                self.answered(cx, session, Answer::Stated(result), out);
            }
            (FileUse::Question { session }, FilesIndication::Digested { result, .. }) => {
                self.files.forget(name);
                self.digests -= 1;
                self.answered(cx, session, Answer::Digested(result), out);
            }
            (FileUse::Question { session }, FilesIndication::Room { result, .. }) => {
                self.files.forget(name);
                self.answered(cx, session, Answer::Room(result), out);
            }
            (FileUse::Question { session }, FilesIndication::Done { result, .. }) => {
                self.files.forget(name);
                self.answered(cx, session, Answer::Done(result), out);
            }
            (FileUse::Forgotten, FilesIndication::Digested { .. }) => {
                self.files.forget(name);
                self.digests -= 1;
            }
            (FileUse::TakenOver { by }, FilesIndication::Closed { .. }) => {
                self.files.forget(name);
                self.open_file(by, File::Awaiting(name), out);
            }
            (_, FilesIndication::Closed { .. }) => {
                self.files.forget(name);
            }
            (FileUse::TakenOver { .. } | FileUse::Forgotten, _) => {}
            _ => cx.dropped(NAME, "an answer that does not fit its question"),
        }
    }
}
