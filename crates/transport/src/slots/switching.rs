//! The slot for services that change while data flow: by which rules a message goes.

use stackwright_contract::ask::SendingChange;
use stackwright_contract::{CommandError, Instant};
use stackwright_contract::{PhaseRule, RuleRefusal};

use crate::rules::Facts;
use crate::words::{Epoch, EpochMark, RuleProposal, View};

/// The answer to a command; `None`: it follows.
pub type CommandAnswer = Option<Result<u32, CommandError>>;

/// By which of several sets of rules a message goes. `()` is one set, and costs nothing.
///
/// It stays the same for the life of an association. Units of two epochs are on their
/// way at most: an epoch begins only when all that was sent before the one before it is settled.
#[allow(unused_variables, reason = "a default answer looks at nothing")]
pub trait Switching: Default + Send {
    /// Whether there are several sets of rules.
    const SWITCHES: bool = false;
    /// Whether the two ends negotiate rules while data flow.
    const NEGOTIATES: bool = false;

    /// Returns its facts for the rule book; `None`: there is one set of rules.
    fn facts(&self) -> Option<Facts>;

    /// Records that messages go by the rules of `phase` from now on. Returns whether there is such
    /// a phase.
    fn enter(&mut self, phase: u8) -> bool {
        false
    }

    /// Records that the layer above sends a message; returns its epoch.
    fn on_message(&mut self) -> Epoch {
        Epoch::default()
    }

    /// Returns whether a unit of this epoch may leave for the first time: if not, what waits before
    /// it is settled first.
    fn may_leave(&self, view: &View, epoch: Epoch) -> bool {
        true
    }

    /// Returns what the packet of a unit says of its epoch.
    fn mark(&self, number: u64, epoch: Epoch) -> Option<EpochMark> {
        None
    }

    /// Records that the unit of this number left for the first time.
    fn on_left(&mut self, number: u64, epoch: Epoch) {}

    /// Returns how many times a packet of this epoch is sent again before it is abandoned, where
    /// the recovery judge would abandon it after `usual`; `None`: as often as it takes.
    fn resends(&self, epoch: Epoch, usual: Option<u16>) -> Option<u16> {
        usual
    }

    /// Has messages go by `rule` as soon as the peer accepts it.
    fn require(&mut self, view: &View, rule: PhaseRule) -> CommandAnswer {
        Some(Err(CommandError::Unknown))
    }

    /// Asks the peer to send by `rule`.
    fn wish(&mut self, view: &View, rule: PhaseRule) -> CommandAnswer {
        Some(Err(CommandError::Unknown))
    }

    /// Returns the answer to the newest command, unless it has to wait for those before it.
    fn in_turn(&mut self, answer: CommandAnswer) -> CommandAnswer {
        answer
    }

    /// Returns the next answer that waited, once.
    fn take_answer(&mut self) -> CommandAnswer {
        None
    }

    /// Handles what the peer says of a rule. `learn` has the ordering go by it, or says why not.
    fn on_proposal(
        &mut self,
        view: &View,
        proposal: RuleProposal,
        learn: impl FnOnce(u8, PhaseRule) -> Result<(), RuleRefusal>,
    ) {
    }

    /// Returns the rule of the next message, where rules are negotiated.
    fn rule(&self) -> Option<PhaseRule> {
        None
    }

    /// Returns the last changes of the rule, ten at the most.
    fn changes(&self) -> &[SendingChange] {
        &[]
    }

    /// Returns what is to be said of a rule now.
    fn proposal(&self, view: &View) -> Option<RuleProposal> {
        None
    }

    /// Records that this left.
    fn on_proposed(&mut self, view: &View) {}

    /// Records that time has passed.
    fn on_time(&mut self, view: &View) {}

    /// Returns when there is something to be said again, or it has been said often enough.
    fn deadline(&self) -> Instant {
        Instant::END
    }
}

impl Switching for () {
    fn facts(&self) -> Option<Facts> {
        None
    }
}
