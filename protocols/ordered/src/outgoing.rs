//! This side's half of a stream: octets wait for the peer's credit, and for credit below.

use alloc::collections::VecDeque;

use stackwright_wire::Message;

use crate::header::{LIGHTEST, weight};

pub(crate) struct Outgoing<M> {
    queue: VecDeque<M>,
    /// The octets that wait.
    queued: usize,
    /// How many octets the layer above may send.
    pub(crate) room: usize,
    /// Octets of the stream that have left.
    pub(crate) sent: u64,
    /// The weight of what has left; and the weight that the peer permits.
    weight: u64,
    credit: u64,
    half: Half,
}

#[derive(Clone, Copy, PartialEq)]
enum Half {
    Open,
    FinishAsked,
    FinishSent,
    /// The peer has all of it, and the end was indicated there.
    Heard,
}

impl<M: Message> Outgoing<M> {
    pub(crate) fn new(room: usize) -> Self {
        Outgoing {
            queue: VecDeque::new(),
            queued: 0,
            room,
            sent: 0,
            weight: 0,
            credit: 0,
            half: Half::Open,
        }
    }

    /// Queues octets.
    ///
    /// # Panics
    /// If the layer above breaks the contract.
    pub(crate) fn push(&mut self, message: M) {
        assert!(message.len() <= self.room, "a Send keeps within the room");
        assert!(self.half == Half::Open, "a Send comes before the Finish");
        self.room -= message.len();
        self.queued += message.len();
        if !message.is_empty() {
            self.queue.push_back(message);
        }
    }

    pub(crate) fn finish(&mut self) {
        if self.half == Half::Open {
            self.half = Half::FinishAsked;
        }
    }

    /// Raises the credit. An earlier, lower one may arrive later.
    pub(crate) fn may_reach(&mut self, credit: u64) {
        self.credit = self.credit.max(credit);
    }

    /// Returns the next piece, where the layer below takes `fits` octets now, and `whole` when it
    /// has sent what it holds.
    pub(crate) fn next(&mut self, piece: usize, fits: usize, whole: usize) -> Option<M> {
        let granted =
            usize::try_from(self.credit.saturating_sub(self.weight)).unwrap_or(usize::MAX);
        if granted < LIGHTEST {
            return None;
        }
        let wanted = self.queued.min(granted).min(piece);
        let octets = wanted.min(fits);
        // The rest of the credit below is not used for slivers: more will be returned.
        if octets == 0 || octets < wanted && octets < whole / 2 {
            return None;
        }
        let mut message = self.take(octets);
        while message.len() < octets {
            message.join(self.take(octets - message.len()));
        }
        self.queued -= octets;
        self.sent += octets as u64;
        self.weight += weight(octets);
        Some(message)
    }

    /// Takes at most `octets` octets of the first message that waits.
    fn take(&mut self, octets: usize) -> M {
        match self.queue.front_mut() {
            Some(front) if front.len() > octets => front.split_to(octets),
            _ => self.queue.pop_front().expect("as many octets wait as were counted"),
        }
    }

    /// Whether nothing but the finish is left to send.
    pub(crate) fn owes_finish(&self) -> bool {
        self.half == Half::FinishAsked && self.queue.is_empty()
    }

    pub(crate) fn finish_left(&mut self) {
        self.half = Half::FinishSent;
    }

    /// Records that the peer has received the finish; `false` if none was sent.
    pub(crate) fn heard(&mut self) -> bool {
        let sent = matches!(self.half, Half::FinishSent | Half::Heard);
        if sent {
            self.half = Half::Heard;
        }
        sent
    }

    pub(crate) fn is_heard(&self) -> bool {
        self.half == Half::Heard
    }
}
