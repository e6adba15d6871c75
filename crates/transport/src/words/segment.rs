//! A packet in words: what one says that arrived, and what one that leaves shall say.

use core::ops::{BitOr, Range};

use stackwright_contract::services::Code;

use super::{Cargo, Report, Unit};

/// What the two ends tell each other of the association itself: a set; and with an end or a refusal
/// its [code](Signals::code), which lies behind it, so that they are compared and combined as one
/// number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Signals(u64);

impl Signals {
    /// Nothing.
    pub const NONE: Signals = Signals(0);
    /// Let us have an association.
    pub const OPEN: Signals = Signals(1);
    /// Yes: the answer to `OPEN`.
    pub const ACCEPT: Signals = Signals(1 << 1);
    /// I heard your `ACCEPT`.
    pub const CONFIRM: Signals = Signals(1 << 2);
    /// No: the answer to `OPEN`.
    pub const REFUSE: Signals = Signals(1 << 3);
    /// No more data from me.
    pub const FINISH: Signals = Signals(1 << 4);
    /// I take no more.
    pub const STOP: Signals = Signals(1 << 5);
    /// I release it.
    pub const END: Signals = Signals(1 << 6);
    /// So do I: the answer to `END`.
    pub const ENDED: Signals = Signals(1 << 7);
    /// Ask once more, now: the answer to `OPEN` where one has to show first that he hears us.
    pub const AGAIN: Signals = Signals(1 << 8);
    /// With `END`: because of what was begun and not made whole, more than I hold.
    pub const OVERRUN: Signals = Signals(1 << 9);

    /// All of them, without a code.
    const ALL: u64 = u32::MAX as u64;

    /// The reason for an end or a refusal, to be said with it; 0 says nothing.
    ///
    /// ```
    /// use stackwright_transport::words::Signals;
    /// let said = Signals::END.with(Signals::because(7));
    /// assert!(said.has(Signals::END) && !said.has(Signals::because(7)));
    /// assert_eq!((said.code(), said.without(said)), (7, Signals::NONE));
    /// ```
    pub const fn because(code: Code) -> Signals {
        Signals((code as u64) << 32)
    }

    /// Returns the reason that is said with them.
    pub const fn code(self) -> Code {
        (self.0 >> 32) as Code
    }

    /// Whether one of `others` is among these.
    pub const fn has(self, others: Signals) -> bool {
        self.0 & others.0 & Signals::ALL != 0
    }

    /// These, and those.
    #[must_use]
    pub const fn with(self, others: Signals) -> Signals {
        Signals(self.0 | others.0)
    }

    /// These, but not those.
    #[must_use]
    pub const fn without(self, others: Signals) -> Signals {
        Signals(self.0 & !others.0)
    }

    /// These if `yes`, else none.
    #[must_use]
    pub const fn when(self, yes: bool) -> Signals {
        if yes { self } else { Signals::NONE }
    }
}

impl BitOr for Signals {
    type Output = Signals;

    fn bitor(self, others: Signals) -> Signals {
        self.with(others)
    }
}

/// When something was said, by the clock of the day, and for how long it is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timestamp {
    /// In microseconds since 1970.
    pub at: u64,
    /// In microseconds from then on; 0: for ever.
    pub valid: u32,
}

/// A packet that was decoded.
#[derive(Debug)]
pub struct Incoming<M> {
    /// What it carries.
    pub unit: Option<Unit<M>>,
    /// Whether it reports what its sender has received; the format has written that where it was
    /// told to.
    pub reports: bool,
    /// A question, to be answered with a report of this number.
    pub inquiry: Option<u32>,
    /// How far its sender lets us send.
    pub credit: Option<u64>,
    /// Of the association itself.
    pub signals: Signals,
    /// The number after the last one that its sender has sent, or the first one that it will send.
    pub next: Option<u64>,
    /// Its sender sends nothing again that has a lower number: what is missing there will never
    /// come.
    pub settled: Option<u64>,
    /// When it was sent.
    pub stamp: Option<Timestamp>,
    /// What is left of a packet without a unit: its memory is used again.
    pub rest: Option<M>,
}

impl<M> Incoming<M> {
    /// A packet that says nothing yet.
    pub const fn silent() -> Self {
        Incoming {
            unit: None,
            reports: false,
            inquiry: None,
            credit: None,
            signals: Signals::NONE,
            next: None,
            settled: None,
            stamp: None,
            rest: None,
        }
    }
}

/// What is to be said. A format *takes* what one packet can carry; the engine is back at once with
/// the rest.
#[derive(Debug)]
pub struct Outgoing<'a> {
    /// Data.
    pub unit: Option<Cargo<'a>>,
    /// Written by a format that says a unit in several packets: only these octets of its body stand
    /// behind this header, and the packet says nothing else. The unit is taken with its last part.
    pub part: Option<Range<usize>>,
    /// What was received.
    pub report: Option<&'a Report>,
    /// A question.
    pub inquiry: Option<u32>,
    /// How far the peer may send. It is never said alone: whoever has something to say takes it
    /// along.
    pub credit: Option<u64>,
    /// Of the association itself.
    pub signals: Signals,
    /// The stamp for data and all else that a lifetime speaks of.
    pub stamp: Timestamp,
    /// By one's own clock, now, in microseconds since 1970.
    pub clock: u64,
}
