//! What the rule book has to know of a protocol.

use core::ops::BitOr;

/// A set of promises about what a service carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Guarantees(u16);

impl Guarantees {
    /// No promise.
    pub const ABSENT: Self = Guarantees(0);
    /// What is sent arrives, or the end of the association says that it did not.
    pub const RELIABLE: Self = Guarantees(1);
    /// In the order in which it was sent; in a group, of each sender.
    pub const ORDERED: Self = Guarantees(1 << 1);
    /// At most once.
    pub const ONCE: Self = Guarantees(1 << 2);
    /// Altered octets are noticed and not delivered.
    pub const CHECKED: Self = Guarantees(1 << 3);
    /// Expedited octets reach a peer that reads slowly.
    pub const EXPEDITED: Self = Guarantees(1 << 4);
    /// A region of a file is sent without being read into memory.
    pub const REGIONS: Self = Guarantees(1 << 5);
    /// A created file appears under its name whole, or not at all.
    pub const WHOLE_FILES: Self = Guarantees(1 << 6);
    /// `Left` is told when a frame was transmitted, not when it was handed on.
    pub const SENT: Self = Guarantees(1 << 7);
    /// Each message goes by the rules of the phase that was [entered](crate::Command::Phase) before
    /// it was sent.
    pub const PHASES: Self = Guarantees(1 << 8);

    /// Members are told, in one order, who they are.
    pub const VIEWS: Self = Guarantees(1 << 9);
    /// Whoever goes from one view to the next has delivered the same messages in between.
    pub const SYNCHRONY: Self = Guarantees(1 << 10);
    /// No message comes before what its sender had delivered when it sent it.
    pub const CAUSAL: Self = Guarantees(1 << 11);
    /// All members deliver in one order.
    pub const TOTAL: Self = Guarantees(1 << 12);
    /// What one member delivers, a quorum has.
    pub const SAFE: Self = Guarantees(1 << 13);
    /// A member that joins has the state of the others before it delivers.
    pub const STATE: Self = Guarantees(1 << 14);
    /// There is one view of each number: who is cut off from it is in none.
    pub const PRIMARY: Self = Guarantees(1 << 15);

    /// Every promise.
    pub const ALL: Self = Guarantees(u16::MAX >> (16 - Self::WORDS.len()));

    /// Each promise with the words that a refusal uses.
    pub(crate) const WORDS: [(Self, &'static str); 16] = [
        (Self::RELIABLE, "reliable delivery"),
        (Self::ORDERED, "delivery in order"),
        (Self::ONCE, "delivery at most once"),
        (Self::CHECKED, "a check for altered octets"),
        (Self::EXPEDITED, "expedited octets"),
        (Self::REGIONS, "sending regions of files"),
        (Self::WHOLE_FILES, "files that appear whole or not at all"),
        (Self::SENT, "word of when a frame was transmitted"),
        (Self::PHASES, "rules that change with the phase"),
        (Self::VIEWS, "word of who the members are"),
        (Self::SYNCHRONY, "the same messages at all who go from view to view"),
        (Self::CAUSAL, "delivery in the order of causes"),
        (Self::TOTAL, "delivery in one order at all members"),
        (Self::SAFE, "delivery of what a quorum has"),
        (Self::STATE, "the state of the others for who joins"),
        (Self::PRIMARY, "one view of each number"),
    ];

    /// Returns them as a number, for a type whose parameter they are.
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// Returns the promises of that number.
    pub const fn from_bits(bits: u16) -> Self {
        Guarantees(bits & Self::ALL.0)
    }

    /// Returns the promises that are in either set.
    pub const fn and(self, other: Self) -> Self {
        Guarantees(self.0 | other.0)
    }

    /// Returns the promises that are in both sets.
    pub const fn shared(self, other: Self) -> Self {
        Guarantees(self.0 & other.0)
    }

    /// Returns these promises without those in `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Guarantees(self.0 & !other.0)
    }

    /// Returns the promises in words, as a refusal uses them.
    pub fn words(self) -> impl Iterator<Item = &'static str> {
        Self::WORDS
            .into_iter()
            .filter(move |(promise, _)| self.has(*promise))
            .map(|(_, words)| words)
    }

    /// Returns whether all promises in `wanted` are here.
    pub const fn has(self, wanted: Self) -> bool {
        self.0 & wanted.0 == wanted.0
    }
}

impl BitOr for Guarantees {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.and(other)
    }
}

/// The facts of one protocol, or of a stack of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    /// As it stands in a refusal.
    pub name: &'static str,
    /// Needed from the layer below.
    pub needs: Guarantees,
    /// Promised by its own work.
    pub gives: Guarantees,
    /// Promised where the layer below promises it.
    pub passes: Guarantees,
    /// Octets of header that it may push before a message, at most.
    pub header_room: usize,
    /// Whether it reads or changes payload: then no region of a file may pass it.
    pub reads_payload: bool,
}

impl Facts {
    /// Returns facts that need, give and push nothing: the start of a description.
    ///
    /// ```
    /// use stackwright_contract::{Facts, Guarantees};
    /// const FACTS: Facts = Facts { needs: Guarantees::RELIABLE, ..Facts::named("mail") };
    /// assert!(!FACTS.reads_payload);
    /// ```
    pub const fn named(name: &'static str) -> Self {
        Facts {
            name,
            needs: Guarantees::ABSENT,
            gives: Guarantees::ABSENT,
            passes: Guarantees::ABSENT,
            header_room: 0,
            reads_payload: false,
        }
    }
}
