//! A packet in words: the content of one that arrived, and of one that is to leave.

use core::ops::{BitOr, Range};

use stackwright_contract::services::Code;

use super::{Cargo, Ending, EpochMark, Nanoseconds, Report, RuleProposal, Terms, Unit};

/// A set of what the two ends tell each other about the association itself; and with an end or a
/// refusal its [code](Signals::code), in the same number, so that they are compared and combined as
/// one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Signals(u64);

impl Signals {
    /// No signal.
    pub const NONE: Signals = Signals(0);
    /// Requests an association.
    pub const OPEN: Signals = Signals(1);
    /// Accepts: the answer to `OPEN`.
    pub const ACCEPT: Signals = Signals(1 << 1);
    /// Confirms that `ACCEPT` was received.
    pub const CONFIRM: Signals = Signals(1 << 2);
    /// Refuses: the answer to `OPEN`.
    pub const REFUSE: Signals = Signals(1 << 3);
    /// This side sends no more data.
    pub const FINISH: Signals = Signals(1 << 4);
    /// This side takes no more.
    pub const STOP: Signals = Signals(1 << 5);
    /// This side releases the association.
    pub const END: Signals = Signals(1 << 6);
    /// The answer to `END`: so does this side.
    pub const ENDED: Signals = Signals(1 << 7);
    /// With `END`: the peer began more incomplete messages than this side holds.
    pub const OVERRUN: Signals = Signals(1 << 8);
    /// With `END`: the layer above ends the association at once, with the code.
    pub const ABORT: Signals = Signals(1 << 9);
    /// With `END`: a message was longer than its receiver takes, which is at most as many octets as
    /// the code says.
    pub const TOO_LONG: Signals = Signals(1 << 10);
    /// With `END`: nothing was received from the peer for too long.
    pub const SILENT: Signals = Signals(1 << 11);
    /// With `END`: what the peer sends does not match its seal, again and again.
    pub const FORGED: Signals = Signals(1 << 12);
    /// Packets of this side come from another address, and the peer asks for a proof that this side
    /// receives packets there: what is in flight went to where it is lost.
    pub const MOVED: Signals = Signals(1 << 13);
    /// Not for this side, but from another member of its group: what it reports is overheard. The
    /// format says that of a packet that arrives.
    pub const OVERHEARD: Signals = Signals(1 << 14);

    /// Why an association ends.
    const REASONS: u64 = Signals::OVERRUN
        .with(Signals::ABORT)
        .with(Signals::TOO_LONG)
        .with(Signals::SILENT)
        .with(Signals::FORGED)
        .0;

    /// All of them, without a code.
    const ALL: u64 = u32::MAX as u64;

    /// Returns the `n`-th signal, of 16, that a connection policy has of its own: only that policy
    /// and the formats for it know the meaning.
    pub const fn own(n: u32) -> Signals {
        assert!(n < 16, "the code begins behind them");
        Signals(1 << (16 + n))
    }

    /// Returns the reason for an end or a refusal, to be sent with it; 0 says nothing.
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

    /// Returns the reason that is sent with them.
    pub const fn code(self) -> Code {
        (self.0 >> 32) as Code
    }

    /// Returns the end of an association, with the reason why this side ends it.
    #[must_use]
    pub const fn end(why: Ending) -> Signals {
        Signals::END.with(match why {
            Ending::Overrun => Signals::OVERRUN,
            Ending::Aborted(code) => Signals::ABORT.with(Signals::because(code)),
            Ending::TooLong(longest) => Signals::TOO_LONG.with(Signals::because(longest)),
            Ending::Silent => Signals::SILENT,
            Ending::Forged => Signals::FORGED,
            Ending::Finished | Ending::Refused(_) | Ending::Reset(_) => Signals::NONE,
        })
    }

    /// Returns how it ends for a peer that is told this end; `None`: in good order, if all that the
    /// peer sent has arrived.
    pub const fn ending(self) -> Option<Ending> {
        match self.reason().without(Signals::because(Code::MAX)) {
            Signals::OVERRUN => Some(Ending::Overrun),
            Signals::ABORT => Some(Ending::Reset(self.code())),
            Signals::TOO_LONG => Some(Ending::TooLong(self.code())),
            Signals::SILENT => Some(Ending::Silent),
            Signals::FORGED => Some(Ending::Forged),
            _ => None,
        }
    }

    /// Returns why an association ends, with the code.
    #[must_use]
    pub const fn reason(self) -> Signals {
        Signals(self.0 & (Signals::REASONS | !Signals::ALL))
    }

    /// Returns whether one of `others` is among these.
    pub const fn has(self, others: Signals) -> bool {
        self.0 & others.0 & Signals::ALL != 0
    }

    /// Returns these and `others`.
    #[must_use]
    pub const fn with(self, others: Signals) -> Signals {
        Signals(self.0 | others.0)
    }

    /// Returns these without `others`.
    #[must_use]
    pub const fn without(self, others: Signals) -> Signals {
        Signals(self.0 & !others.0)
    }

    /// Returns those that are among both, without a code.
    #[must_use]
    pub const fn shared(self, others: Signals) -> Signals {
        Signals(self.0 & others.0 & Signals::ALL)
    }

    /// Returns these if `yes`, else none.
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

/// When something was sent, in wall-clock time, and for how long it is valid.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Timestamp {
    /// The time, in microseconds since 1970.
    pub at: u64,
    /// How long from then on, in microseconds; 0: for ever.
    pub valid: u32,
}

/// A question for a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReportRequest {
    /// Its number, which the answer bears.
    pub number: u32,
    /// Whether it is answered at once.
    pub at_once: bool,
    /// Whether it is answered when the application has taken what arrived before it.
    pub when_taken: bool,
}

impl From<u32> for ReportRequest {
    /// Returns a question of this number that is answered at once.
    fn from(number: u32) -> Self {
        ReportRequest { number, at_once: true, when_taken: false }
    }
}

/// A packet that was decoded.
#[derive(Debug)]
pub struct Incoming<M> {
    /// The unit that it carries.
    pub unit: Option<Unit<M>>,
    /// Whether it reports what its sender has received; the format has written that into the report
    /// that it was given.
    pub reports: bool,
    /// An inquiry, to be answered with a report of its number.
    pub inquiry: Option<ReportRequest>,
    /// Up to which number its sender allows sending.
    pub credit: Option<u64>,
    /// The signals of the association.
    pub signals: Signals,
    /// The number after the last one that its sender has sent, or the first one that it will send.
    pub next: Option<u64>,
    /// The number below which its sender sends nothing again: what is missing there will never
    /// come.
    pub settled: Option<u64>,
    /// When it was sent.
    pub stamp: Option<Timestamp>,
    /// How long ago the packet left that it answers, as the timestamp tells that it returns (RFC
    /// 7323 §4): which copy of a unit was received is known then.
    pub echo: Option<Nanoseconds>,
    /// How fast its sender takes data.
    pub terms: Option<Terms>,
    /// The epoch of the unit, where the format carries it.
    pub mark: Option<EpochMark>,
    /// What its sender says of a rule.
    pub proposal: Option<RuleProposal>,
    /// The number behind an octet that is expedited, which may still be to come.
    pub expedited: Option<u64>,
    /// What is left of a packet without a unit: its memory is reused.
    pub rest: Option<M>,
}

impl<M> Incoming<M> {
    /// Creates a packet that says nothing yet.
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
            echo: None,
            terms: None,
            mark: None,
            proposal: None,
            expedited: None,
            rest: None,
        }
    }
}

/// What is to be sent. A format *takes* what one packet can carry; the engine returns at once with
/// the rest.
#[derive(Debug)]
pub struct Outgoing<'a> {
    /// The data.
    pub unit: Option<Cargo<'a>>,
    /// The part of the unit, set by a format that sends a unit in several packets: only these
    /// octets of its body follow this header, and beside it the packet carries no more than
    /// signals, and the last part an inquiry. The unit is taken with its last part.
    pub part: Option<Range<usize>>,
    /// The report of what was received.
    pub report: Option<&'a Report>,
    /// An inquiry.
    pub inquiry: Option<ReportRequest>,
    /// Up to which number the peer may send. It is never sent alone: any packet that leaves carries
    /// it along.
    pub credit: Option<u64>,
    /// The signals of the association.
    pub signals: Signals,
    /// How fast this side takes data.
    pub terms: Option<Terms>,
    /// The epoch of the unit, if the association switches.
    pub mark: Option<EpochMark>,
    /// What this side says of a rule.
    pub proposal: Option<RuleProposal>,
    /// How urgent the association is among others: the smaller, the more urgent; 128 is the
    /// default.
    pub priority: u8,
    /// The timestamp for data and everything else with a lifetime.
    pub stamp: Timestamp,
    /// The time of this side's clock, now, in microseconds since 1970.
    pub clock: u64,
}

impl Outgoing<'_> {
    /// Returns what says nothing but `signals`.
    pub fn signals(signals: Signals) -> Self {
        Outgoing {
            unit: None,
            part: None,
            report: None,
            inquiry: None,
            credit: None,
            signals,
            terms: None,
            mark: None,
            proposal: None,
            priority: 128,
            stamp: Timestamp::default(),
            clock: 0,
        }
    }
}
