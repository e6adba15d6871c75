//! Our half of a stream: octets wait for credit, and for room below.

use alloc::collections::VecDeque;

use stackwright_wire::Message;

use crate::header::{LIGHTEST, weight};

pub(crate) struct Outgoing<M> {
    queue: VecDeque<M>,
    /// In octets.
    queued: usize,
    /// How many octets the layer above may send.
    pub(crate) room: usize,
    /// Octets of the stream that have left.
    pub(crate) sent: u64,
    /// What has left weighs so much; so much the peer lets us send.
    weight: u64,
    credit: u64,
    half: Half,
}

#[derive(Clone, Copy, PartialEq)]
enum Half {
    Open,
    FinishAsked,
    FinishSent,
    /// The peer has all of it, and was told of the end.
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

    /// # Panics
    /// Where the layer above breaks the contract.
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

    /// The peer lets us send so much. What it said earlier may come later.
    pub(crate) fn may_reach(&mut self, credit: u64) {
        self.credit = self.credit.max(credit);
    }

    /// The next piece, where the layer below takes `fits` octets now, and `whole` when it has sent
    /// what it holds.
    pub(crate) fn next(&mut self, piece: usize, fits: usize, whole: usize) -> Option<M> {
        let granted =
            usize::try_from(self.credit.saturating_sub(self.weight)).unwrap_or(usize::MAX);
        if granted < LIGHTEST {
            return None;
        }
        let wanted = self.queued.min(granted).min(piece);
        let octets = wanted.min(fits);
        // Of what is left of the room below, no slivers are made: it comes back.
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

    /// Whether nothing but the finish is left to say.
    pub(crate) fn owes_finish(&self) -> bool {
        self.half == Half::FinishAsked && self.queue.is_empty()
    }

    pub(crate) fn finish_left(&mut self) {
        self.half = Half::FinishSent;
    }

    /// The peer says that it heard the finish; `false` where none was sent.
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
