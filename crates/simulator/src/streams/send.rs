//! Sends: from above to the network.

use std::collections::VecDeque;

use stackwright_contract::Context;
use stackwright_wire::Message;

use crate::Chunks;
use crate::chunks::gather;
use crate::segments::assert_octets_only;

#[derive(Debug)]
pub(crate) struct Sending<M> {
    queue: VecDeque<M>,
    /// The octets that wait.
    queued: usize,
    /// How many octets the layer above may still send.
    pub(crate) credit: usize,
    /// How many octets the peer can still hold.
    pub(crate) window: usize,
    half: Half,
}

/// This side's half of the association.
#[derive(PartialEq, Debug)]
enum Half {
    Open,
    FinishAsked,
    Finished,
}

impl<M: Message> Sending<M> {
    pub(crate) fn new(credit: usize, window: usize) -> Self {
        Sending { queue: VecDeque::new(), queued: 0, credit, window, half: Half::Open }
    }

    pub(crate) fn queued(&self) -> usize {
        self.queued
    }

    /// Takes what the layer above sends, and checks that it keeps the contract.
    pub(crate) fn push(&mut self, message: M) {
        let (octets, credit) = (message.len(), self.credit);
        assert!(
            octets <= credit,
            "a Send keeps within the room: {octets} octets came, for {credit}"
        );
        assert!(self.half == Half::Open, "a Send of {octets} octets comes after the Finish");
        assert_octets_only(&message);
        self.credit -= octets;
        self.queued += octets;
        if !message.is_empty() {
            self.queue.push_back(message);
        }
    }

    pub(crate) fn finish(&mut self) {
        if self.half == Half::Open {
            self.half = Half::FinishAsked;
        }
    }

    /// Returns the next portion that the peer can hold.
    pub(crate) fn next(&mut self, cx: &Context, chunks: Chunks) -> Option<M> {
        if self.window == 0 || self.queue.is_empty() {
            return None;
        }
        let message = gather(&mut self.queue, chunks.next(cx).min(self.window))?;
        self.queued -= message.len();
        self.window -= message.len();
        Some(message)
    }

    /// Discards what waits; returns how many octets that were.
    pub(crate) fn discard(&mut self) -> usize {
        self.queue.clear();
        std::mem::take(&mut self.queued)
    }

    /// Whether the end of octets leaves now: once, behind the last of them.
    pub(crate) fn finishes(&mut self) -> bool {
        let leaves = self.half == Half::FinishAsked && self.queue.is_empty();
        if leaves {
            self.half = Half::Finished;
        }
        leaves
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.half == Half::Finished
    }
}
