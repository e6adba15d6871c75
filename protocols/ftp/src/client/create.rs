//! A file that is stored: octets from the application to a data association.

use core::mem;

use stackwright_contract::services::{Failure, FilesIndication, StreamsRequest};
use stackwright_contract::{Context, Handle};
use stackwright_wire::Message;

use super::state::{Create, Data, Job, Step, What};
use super::{Client, Out};
use crate::NAME;

impl<M: Message> Client<M> {
    pub(super) fn write(
        &mut self,
        cx: &Context,
        file: Handle,
        offset: u64,
        message: M,
        out: Out<'_, M>,
    ) {
        let Some(Job { session: Some(session), what: What::Create(create), .. }) =
            self.jobs.get_mut(file)
        else {
            return cx.dropped(NAME, "write: no such file");
        };
        let session = *session;
        if offset != create.next || create.closing {
            return self.session_job_failed(cx, session, Failure::Unsupported, out);
        }
        create.next = create.next.saturating_add(message.len() as u64);
        create.unsent.push_back(message); // bounded by what the application leaves unanswered
        self.send_file(cx, session, out);
    }

    /// Sends as much as there is credit for, and the end after the last octet.
    pub(super) fn send_file(&mut self, cx: &Context, session: Handle, out: Out<'_, M>) {
        let is_merged = self.is_merged();
        let Some(state) = self.sessions.get_mut(session) else { return };
        let moves = state.step == Step::Moving || state.step == Step::Begin && is_merged;
        let Some(file) = state.job.filter(|_| moves) else { return };
        let Data::Open { association, credit, is_ready: true } = &mut state.data else { return };
        let Some(Job { what: What::Create(Create { unsent, closing, finished, .. }), .. }) =
            self.jobs.get_mut(file)
        else {
            return;
        };
        let association = *association;
        let mut written = 0;
        while let Some(message) = unsent.front_mut() {
            let length = message.len().min(*credit);
            if length == 0 && !message.is_empty() {
                break;
            }
            *credit -= length;
            let whole = length == message.len();
            let part = if whole { unsent.pop_front() } else { Some(message.split_to(length)) };
            if let Some(message) = part.filter(|part| !part.is_empty()) {
                out.request(StreamsRequest::Send {
                    association,
                    batch: message.into(),
                    properties: Default::default(),
                });
            }
            written += length;
        }
        if *closing && unsent.is_empty() && !mem::replace(finished, true) {
            out.request(StreamsRequest::Finish { association });
        }
        if written > 0 {
            self.touch(cx, session);
            out.indicate(FilesIndication::Written { file, octets: written });
        }
    }
}
