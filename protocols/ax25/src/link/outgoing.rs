//! Octets on their way to the peer.

use alloc::collections::VecDeque;

use stackwright_wire::{Message, Pool};

use super::length::{Learned, Lengths};
use crate::config::Config;
use crate::header::{HEAD_MOST, Modulus};

/// Free octets before the information of an I frame: for the head, and for the heads of the layers
/// below.
pub(crate) const HEADROOM: usize = HEAD_MOST + 16;

/// Frames of a length that was never acknowledged which leave at once.
const TRY: usize = 4;

/// A frame that has its number: it was sent at least once, and is never cut again, because the peer
/// may hold it.
struct Numbered<M> {
    information: M,
    /// How often it was sent.
    times: u16,
    /// The peer asked for it.
    requested: bool,
}

/// The sending half of a link.
pub(super) struct Outgoing<M> {
    /// V(A): the number of the oldest that is not acknowledged.
    pub(super) acknowledged: u8,
    /// From V(A) on.
    frames: VecDeque<Numbered<M>>,
    /// How many of them were sent since the link was opened or reset.
    sent: usize,
    /// V(S), counted from V(A): which is sent next.
    next: usize,
    /// What has no number yet.
    queue: M,
    /// The protocol identifier of all.
    pub(super) pid: u8,
    /// The most that the peer takes before it acknowledges (k).
    pub(super) window: u8,
    /// The most frames of one transmission.
    burst_most: usize,
    pub(super) peer_busy: bool,
    /// How often it was sent from V(A) on since V(A) moved.
    pub(super) standstill: u16,
    pub(super) length: Lengths,
}

impl<M: Message> Outgoing<M> {
    pub(super) fn new(config: &Config, port: u8, learned: Learned) -> Self {
        let longest = config.longest.min(config.paclen.into());
        let frame = config.air(port, longest).as_nanos().max(1);
        Outgoing {
            acknowledged: 0,
            frames: VecDeque::new(),
            sent: 0,
            next: 0,
            queue: M::with_headroom(0, &[]),
            pid: crate::header::pid::NONE,
            window: config.window,
            burst_most: usize::try_from(config.key_up.as_nanos() / frame).unwrap_or(1).max(1),
            peer_busy: false,
            standstill: 0,
            length: Lengths::new(config, port, learned),
        }
    }

    pub(super) fn push(&mut self, octets: M) {
        if self.queue.is_empty() {
            self.queue = octets;
        } else {
            self.queue.join(octets);
        }
    }

    pub(super) fn is_drained(&self) -> bool {
        self.frames.is_empty() && self.queue.is_empty()
    }

    /// Returns whether the peer owes an acknowledgement.
    pub(super) fn is_outstanding(&self) -> bool {
        self.sent > 0
    }

    pub(super) fn held(&self) -> usize {
        self.queue.len() + self.frames.iter().map(|frame| frame.information.len()).sum::<usize>()
    }

    /// Numbers begin again. Nothing was acknowledged: frames keep their octets, and their place.
    pub(super) fn reset(&mut self) {
        (self.acknowledged, self.sent, self.next, self.standstill) = (0, 0, 0, 0);
        self.peer_busy = false;
        self.frames.iter_mut().for_each(|frame| frame.requested = false);
    }

    pub(super) fn clear(&mut self, pool: &Pool<M>) {
        self.reset();
        while let Some(frame) = self.frames.pop_front() {
            frame.information.reclaim(pool);
        }
        self.queue = M::with_headroom(0, &[]);
    }

    /// Returns whether N(R) is between V(A) and the newest number sent: not V(S), which goes back
    /// when frames are sent again while acknowledgements of the first time are on their way.
    pub(super) fn is_valid(&self, received: u8, modulus: Modulus) -> bool {
        usize::from(modulus.distance(self.acknowledged, received)) <= self.sent
    }

    /// Takes a valid N(R), and returns how many octets and frames it acknowledges.
    pub(super) fn acknowledge(
        &mut self,
        received: u8,
        modulus: Modulus,
        pool: &Pool<M>,
    ) -> (usize, usize) {
        let count = usize::from(modulus.distance(self.acknowledged, received));
        let mut octets = 0;
        for frame in self.frames.drain(..count) {
            octets += frame.information.len();
            if frame.times == 1 {
                self.length.record(frame.information.len(), false);
            }
            frame.information.reclaim(pool);
        }
        self.acknowledged = received;
        self.sent -= count;
        self.next = self.next.saturating_sub(count);
        if count > 0 {
            self.standstill = 0;
        }
        (octets, count)
    }

    /// Sends from V(A) on again.
    pub(super) fn go_back(&mut self) {
        self.frames.iter_mut().for_each(|frame| frame.requested = false);
        if self.sent == 0 || self.next == 0 {
            return; // nothing was sent, or nothing again since the last time
        }
        // Of those behind it nothing is known.
        self.note_lost(0);
        self.next = 0;
        self.standstill = self.standstill.saturating_add(1);
    }

    /// Sends one frame again. Returns whether there is one of that number.
    pub(super) fn request(&mut self, number: u8, modulus: Modulus) -> bool {
        let place = usize::from(modulus.distance(self.acknowledged, number));
        if place >= self.sent {
            return false;
        }
        if place < self.next && !self.frames[place].requested {
            self.note_lost(place);
            self.frames[place].requested = true;
            self.standstill = self.standstill.saturating_add(u16::from(place == 0));
        }
        true
    }

    fn note_lost(&mut self, place: usize) {
        let frame = &self.frames[place];
        if frame.times == 1 {
            self.length.record(frame.information.len(), true);
        }
    }

    /// Returns the place of the next frame to be sent, counted from V(A).
    pub(super) fn sendable(&self) -> Option<usize> {
        if self.peer_busy {
            return None;
        }
        let requested = self.frames.iter().take(self.next).position(|frame| frame.requested);
        let next = (self.next < self.burst()
            && (self.next < self.frames.len() || !self.queue.is_empty()))
        .then_some(self.next);
        requested.or(next)
    }

    /// Returns how many frames leave before the peer is asked what has arrived: few while their
    /// length is a try.
    pub(super) fn burst(&self) -> usize {
        let most = if self.length.is_trying() { TRY } else { self.burst_most };
        usize::from(self.window).min(most)
    }

    /// Returns whether there is anything that the peer has not acknowledged, or was not sent.
    pub(super) fn wants(&self) -> bool {
        !self.is_drained()
    }

    /// Returns the number of what is at a place that is [sendable](Self::sendable). What has none
    /// yet is cut, and gets one.
    pub(super) fn number(&mut self, place: usize, modulus: Modulus, pool: &Pool<M>) -> u8 {
        if place == self.frames.len() {
            let length = usize::from(self.length.choose(self.burst()));
            let cut = self.queue.split_to(length.min(self.queue.len()));
            let information = cut.copy_into(pool, HEADROOM);
            cut.reclaim(pool);
            self.frames.push_back(Numbered { information, times: 0, requested: false });
        }
        modulus.add(self.acknowledged, place as u8)
    }

    /// Returns whether nothing more is sendable behind this place.
    pub(super) fn is_last_sendable(&self, place: usize) -> bool {
        let requested = self.frames.iter().skip(place + 1).any(|frame| frame.requested);
        let next = self.next.max(place + 1);
        let more = next < self.burst() && (next < self.frames.len() || !self.queue.is_empty());
        !requested && !more
    }

    /// Returns the frame at a place that has a number, behind `head`, and whether it was sent
    /// before.
    pub(super) fn send(&mut self, place: usize, head: &[u8]) -> (M, bool) {
        if place == self.next {
            self.next += 1;
            self.sent = self.sent.max(self.next);
        }
        let frame = &mut self.frames[place];
        frame.times = frame.times.saturating_add(1);
        frame.requested = false;
        (frame.information.behind(head), frame.times > 1)
    }
}
