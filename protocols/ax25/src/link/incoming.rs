//! Octets that come from the peer.

use alloc::collections::VecDeque;

use stackwright_wire::Message;

use crate::header::{Modulus, pid};
use crate::segment::Reassembly;

/// Octets that may wait for credit: what a window holds. What arrives beyond it is not taken, and
/// so not acknowledged.
const WAITING_MOST: usize = 64 * 256;

/// Why the information of an I frame is not delivered, though it is acknowledged.
const OF_ANOTHER: &str = "an I frame of a protocol that nobody takes";

/// What an I frame carries.
pub(super) struct Carried<M> {
    pub(super) pid: u8,
    pub(super) information: M,
}

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
    held: VecDeque<Option<Carried<M>>>,
    /// A message whose segments are not all there. It is delivered whole, or not at all.
    segments: Reassembly<M>,
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
            segments: Reassembly::default(),
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
        self.segments.clear();
        (self.expected, self.rejected, self.requested, self.wanted) = (0, false, 0, 0);
        (self.unacknowledged, self.told_busy) = (0, false);
    }

    /// Nothing is delivered any more.
    pub(super) fn discard(&mut self) {
        self.discards = true;
        for held in self.held.iter_mut().flatten() {
            held.information = held.information.split_to(0);
        }
        self.segments.clear();
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
        let held = self.held.iter().flatten().map(|held| held.information.len());
        self.waiting.len() + self.segments.held() + held.sum::<usize>()
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
    /// credit for, or with why something is not delivered. Returns whether there was room.
    pub(super) fn take(
        &mut self,
        carried: Carried<M>,
        modulus: Modulus,
        mut deliver: impl FnMut(Result<M, &'static str>),
    ) -> bool {
        // The room of a message is reserved when it begins: its segments are bounded apart.
        if self.waiting.len() + carried.information.len() > WAITING_MOST {
            return false;
        }
        let mut next = Some(carried);
        while let Some(carried) = next {
            let bit = 1 << self.expected;
            self.requested &= !bit;
            self.wanted &= !bit;
            self.expected = modulus.add(self.expected, 1);
            self.unacknowledged = self.unacknowledged.saturating_add(1);
            match self.assemble(carried) {
                Ok(Some(octets)) => self.admit(octets, &mut deliver),
                Ok(None) => {}
                Err(why) => deliver(Err(why)),
            }
            self.held.pop_front();
            next = self.held.front_mut().and_then(Option::take);
        }
        self.rejected = false;
        true
    }

    /// Returns the octets that a frame completes. Segments are put together whatever XID said of
    /// them: some stations send them to all that answer SABME.
    fn assemble(
        &mut self,
        Carried { pid, information }: Carried<M>,
    ) -> Result<Option<M>, &'static str> {
        if self.discards {
            return Ok(None);
        }
        let whole = if pid == pid::SEGMENT {
            self.segments.take(information)?
        } else {
            // Error Z (figure C6.2): what was begun is dropped; this frame is as good as any.
            self.segments.clear();
            Some((pid, information))
        };
        match whole {
            Some((pid::NONE, octets)) => Ok(Some(octets)),
            Some(_) => Err(OF_ANOTHER),
            None => Ok(None),
        }
    }

    fn admit(&mut self, mut information: M, deliver: &mut impl FnMut(Result<M, &'static str>)) {
        if information.is_empty() {
            return;
        }
        if self.waiting.is_empty() && self.credit > 0 {
            let octets = self.credit.min(information.len());
            self.credit -= octets;
            if octets == information.len() {
                return deliver(Ok(information));
            }
            deliver(Ok(information.split_to(octets)));
        }
        if self.waiting.is_empty() {
            self.waiting = information;
        } else {
            self.waiting.join(information);
        }
    }

    /// Holds a frame that is ahead, and wants those that are missing before it.
    pub(super) fn hold(&mut self, number: u8, carried: Carried<M>, modulus: Modulus) {
        let place = usize::from(modulus.distance(self.expected, number));
        while self.held.len() <= place {
            self.held.push_back(None);
        }
        self.held[place].get_or_insert(carried);
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
