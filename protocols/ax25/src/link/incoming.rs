//! Octets that come from the peer.

use alloc::collections::VecDeque;

use stackwright_wire::Message;

use crate::header::Modulus;

/// Octets that may wait for credit: what a window holds. What arrives beyond it is not taken, and
/// so not acknowledged.
const WAITING_MOST: usize = 64 * 256;

/// Where an I frame stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// It is the next.
    Next,
    /// Some before it are missing.
    Ahead,
    /// It was received before.
    Repeated,
}

/// The receiving half of a link.
pub(super) struct Incoming<M> {
    /// V(R): the number that is expected next.
    pub(super) expected: u8,
    /// What arrived ahead of its turn, from V(R) on; the last is never missing.
    held: VecDeque<Option<M>>,
    /// What is in order, and waits for credit.
    waiting: M,
    credit: usize,
    /// Whether REJ was sent for the gap there is.
    pub(super) rejected: bool,
    /// The numbers that were requested, a bit each.
    requested: u128,
    /// The numbers to request.
    pub(super) wanted: u128,
    /// I frames since the last acknowledgement.
    pub(super) unacknowledged: u8,
    /// Whether the peer was told to wait.
    pub(super) told_busy: bool,
    discards: bool,
}

impl<M: Message> Incoming<M> {
    pub(super) fn new(credit: usize) -> Self {
        Incoming {
            expected: 0,
            held: VecDeque::new(),
            waiting: M::with_headroom(0, &[]),
            credit,
            rejected: false,
            requested: 0,
            wanted: 0,
            unacknowledged: 0,
            told_busy: false,
            discards: false,
        }
    }

    /// Numbers begin again. What waits is delivered all the same.
    pub(super) fn reset(&mut self) {
        self.held.clear();
        (self.expected, self.rejected, self.requested, self.wanted) = (0, false, 0, 0);
        (self.unacknowledged, self.told_busy) = (0, false);
    }

    /// Nothing is delivered any more.
    pub(super) fn discard(&mut self) {
        self.discards = true;
        self.held.iter_mut().for_each(|held| {
            if let Some(held) = held {
                *held = held.split_to(0);
            }
        });
        self.waiting = M::with_headroom(0, &[]);
    }

    /// Gives credit, and returns what it suffices for.
    pub(super) fn give(&mut self, credit: usize) -> Option<M> {
        self.credit += credit;
        if self.waiting.is_empty() {
            return None;
        }
        let octets = self.credit.min(self.waiting.len());
        self.credit -= octets;
        Some(self.waiting.split_to(octets))
    }

    /// Returns whether octets wait for credit.
    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn held(&self) -> usize {
        self.waiting.len() + self.held.iter().flatten().map(Message::len).sum::<usize>()
    }

    /// Returns where a number stands. `selective`: it may be held, in half of all numbers.
    pub(super) fn standing(&self, number: u8, modulus: Modulus, selective: bool) -> Standing {
        let distance = modulus.distance(self.expected, number);
        // Without SREJ, the peer's window is at most all numbers but one.
        let most = if selective { modulus.count() / 2 } else { modulus.count() - 1 };
        match distance {
            0 => Standing::Next,
            _ if distance < most => Standing::Ahead,
            _ => Standing::Repeated,
        }
    }

    /// Takes the next frame, and those that were held behind it; calls `deliver` with what there is
    /// credit for. Returns whether there was room.
    pub(super) fn take(
        &mut self,
        information: M,
        modulus: Modulus,
        mut deliver: impl FnMut(M),
    ) -> bool {
        if self.waiting.len() + information.len() > WAITING_MOST {
            return false;
        }
        let mut next = Some(information);
        while let Some(information) = next {
            let bit = 1 << self.expected;
            self.requested &= !bit;
            self.wanted &= !bit;
            self.expected = modulus.add(self.expected, 1);
            self.unacknowledged = self.unacknowledged.saturating_add(1);
            self.admit(information, &mut deliver);
            self.held.pop_front();
            next = self.held.front_mut().and_then(Option::take);
        }
        self.rejected = false;
        true
    }

    fn admit(&mut self, mut information: M, deliver: &mut impl FnMut(M)) {
        if self.discards || information.is_empty() {
            return;
        }
        if self.waiting.is_empty() && self.credit > 0 {
            let octets = self.credit.min(information.len());
            self.credit -= octets;
            if octets == information.len() {
                return deliver(information);
            }
            deliver(information.split_to(octets));
        }
        if self.waiting.is_empty() {
            self.waiting = information;
        } else {
            self.waiting.join(information);
        }
    }

    /// Holds a frame that is ahead, and wants those that are missing before it.
    pub(super) fn hold(&mut self, number: u8, information: M, modulus: Modulus) {
        let place = usize::from(modulus.distance(self.expected, number));
        while self.held.len() <= place {
            self.held.push_back(None);
        }
        self.held[place].get_or_insert(information);
        self.requested &= !(1 << number);
        self.wanted &= !(1 << number);
        for missing in 0..place {
            let bit = 1 << modulus.add(self.expected, missing as u8);
            if self.held[missing].is_none() && self.requested & bit == 0 {
                self.wanted |= bit;
            }
        }
    }

    /// Wants everything that is missing once more.
    pub(super) fn want_all(&mut self, modulus: Modulus) {
        for (place, held) in self.held.iter().enumerate() {
            if held.is_none() {
                self.wanted |= 1 << modulus.add(self.expected, place as u8);
            }
        }
    }

    /// Takes the number to request next: those behind the first gap come first, because the request
    /// of V(R) may be the answer that ends the peer's wait.
    pub(super) fn next_wanted(&mut self, modulus: Modulus) -> Option<u8> {
        let mut places = (0..self.held.len() as u8).rev();
        let number = places.find_map(|place| {
            let number = modulus.add(self.expected, place);
            (self.wanted & 1 << number != 0).then_some(number)
        })?;
        self.wanted &= !(1 << number);
        self.requested |= 1 << number;
        Some(number)
    }
}
