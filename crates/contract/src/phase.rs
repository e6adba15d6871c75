//! The rules by which messages go, where they change while data flow.

use core::fmt;

/// The rules by which the messages of a phase go.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PhaseRule {
    /// Whether they are delivered in the order in which they were sent.
    pub ordered: bool,
    /// Whether none is delivered before all that was sent in earlier phases was, but for what was
    /// abandoned.
    pub fenced: bool,
    /// How many times a packet is sent again before it is abandoned; `None`: as often as it takes.
    pub resends: Option<u16>,
}

impl PhaseRule {
    /// The strongest rule: everything arrives, in order, behind all that was sent before.
    pub const STRONGEST: PhaseRule = PhaseRule { ordered: true, fenced: true, resends: None };

    /// Returns whether a message that asks for `other` may go by this one: it promises no less.
    ///
    /// ```
    /// use stackwright_contract::PhaseRule;
    /// let any = PhaseRule::default();
    /// let ordered = PhaseRule { ordered: true, ..any };
    /// assert!(ordered.serves(any) && !any.serves(ordered));
    /// ```
    #[must_use]
    pub fn serves(self, other: PhaseRule) -> bool {
        let tries = |rule: PhaseRule| rule.resends.map_or(u32::MAX, u32::from);
        self.ordered >= other.ordered && self.fenced >= other.fenced && tries(self) >= tries(other)
    }
}

impl fmt::Display for PhaseRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.ordered { "in order" } else { "in any order" })?;
        f.write_str(if self.fenced { ", behind a fence" } else { "" })?;
        match self.resends {
            Some(times) => write!(f, ", abandoned after {times} retransmissions"),
            None => Ok(()),
        }
    }
}

/// Why messages do not go by a rule that was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u16)]
pub enum RuleRefusal {
    /// A reason that this side does not know.
    Other = 0,
    /// The peer did not answer.
    Silent = 1,
    /// Another rule is being negotiated.
    Busy = 2,
    /// The peer may still receive messages that go by the rule that this one would replace.
    InUse = 3,
    /// The two sides are configured to abandon nothing.
    NeverAbandons = 4,
    /// It is stronger than the rule of the first phase, which counts where a peer does not answer.
    BeyondFirst = 5,
    /// The sender's application asked for more.
    TooWeak = 6,
}

impl RuleRefusal {
    /// Returns the reason of a code that a peer sent.
    #[must_use]
    pub fn of(code: u16) -> Self {
        use RuleRefusal::*;
        let all = [Silent, Busy, InUse, NeverAbandons, BeyondFirst, TooWeak];
        all.into_iter().find(|why| *why as u16 == code).unwrap_or(Other)
    }
}

impl fmt::Display for RuleRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            RuleRefusal::Other => "the other side refuses the rule, and does not say why",
            RuleRefusal::Silent => "the other side does not answer: the first phase's rule counts",
            RuleRefusal::Busy => "another rule is being negotiated: ask again when it is settled",
            RuleRefusal::InUse => "messages by the rule that it would replace may still arrive",
            RuleRefusal::NeverAbandons => "both sides are configured to abandon nothing",
            RuleRefusal::BeyondFirst => "it is stronger than the first phase's rule",
            RuleRefusal::TooWeak => "the sender's application asked for more",
        })
    }
}
