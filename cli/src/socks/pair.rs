//! A client and its server: octets pass as far as the other side takes them.

use std::collections::VecDeque;

use stackwright::contract::Handle;
use stackwright::contract::services::{Credit, StreamProperties, StreamsRequest};
use stackwright::wire::Message as _;

use crate::stacks::Message;

/// What each side may send before it was passed on, in octets.
pub(super) const ROOM: Credit = Credit::of_octets(256 << 10);

/// One of the two streams.
#[derive(Default)]
pub(super) struct Side {
    /// Its name, until its last word.
    pub(super) name: Option<Handle>,
    /// How many octets it takes.
    pub(super) room: usize,
    /// What is for it; the other side sent it within [`ROOM`].
    pub(super) waiting: VecDeque<Message>,
    /// Whether nothing follows what waits.
    pub(super) is_last: bool,
    /// Whether it was told so.
    pub(super) is_finished: bool,
}

impl Side {
    /// Sends what there is room for. Returns how many octets the other side may send for it.
    pub(super) fn pass(&mut self, mut ask: impl FnMut(StreamsRequest<Message>)) -> usize {
        let Some(association) = self.name else {
            // Nobody takes it any more.
            return self.waiting.drain(..).map(|message| message.len()).sum();
        };
        let mut passed = 0;
        while self.room > 0
            && let Some(mut message) = self.waiting.pop_front()
        {
            if message.len() > self.room {
                let first = message.split_to(self.room);
                self.waiting.push_front(std::mem::replace(&mut message, first));
            }
            self.room -= message.len();
            passed += message.len();
            let (batch, properties) = (message.into(), StreamProperties::default());
            ask(StreamsRequest::Send { association, batch, properties });
        }
        if self.is_last && self.waiting.is_empty() && !self.is_finished {
            self.is_finished = true;
            ask(StreamsRequest::Finish { association });
        }
        passed
    }
}
