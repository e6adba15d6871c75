//! How a plan has messages switch between rules.

use alloc::boxed::Box;

use stackwright_contract::ask::SendingChange;
use stackwright_contract::{Instant, PhaseRule, RuleRefusal};
use stackwright_transport::rules::Facts;
use stackwright_transport::slots::{CommandAnswer, Switching};
use stackwright_transport::words::{Epoch, EpochMark, RuleProposal, View};

use super::{InPhases, Negotiated};

/// How a [plan](crate::profile::Plan) has messages switch between rules: not at all, in phases that
/// both sides know, or as the two ends negotiate.
///
/// Choose it where a program learns while it runs whether services change while data flow. One that
/// knows it names [`InPhases`] or [`Negotiated`], or nothing.
#[derive(Clone, Debug, Default)]
pub enum PlannedSwitching {
    /// All messages go by one set of rules.
    #[default]
    Absent,
    /// In phases that both sides know.
    InPhases(InPhases),
    /// As the two ends negotiate.
    Negotiated(Box<Negotiated>),
}

/// Asks, or tells, the one that is planned.
macro_rules! planned {
    ($me:ident.$f:ident($($a:expr),*)) => {
        match $me {
            PlannedSwitching::Absent => ().$f($($a),*),
            PlannedSwitching::InPhases(phases) => phases.$f($($a),*),
            PlannedSwitching::Negotiated(rules) => rules.$f($($a),*),
        }
    };
}

impl Switching for PlannedSwitching {
    const SWITCHES: bool = true;
    const NEGOTIATES: bool = true;

    fn facts(&self) -> Option<Facts> {
        planned!(self.facts())
    }

    fn enter(&mut self, phase: u8) -> bool {
        planned!(self.enter(phase))
    }

    fn on_message(&mut self) -> Epoch {
        planned!(self.on_message())
    }

    fn may_leave(&self, view: &View, epoch: Epoch) -> bool {
        planned!(self.may_leave(view, epoch))
    }

    fn mark(&self, number: u64, epoch: Epoch) -> Option<EpochMark> {
        planned!(self.mark(number, epoch))
    }

    fn on_left(&mut self, number: u64, epoch: Epoch) {
        planned!(self.on_left(number, epoch));
    }

    fn resends(&self, epoch: Epoch, usual: Option<u16>) -> Option<u16> {
        planned!(self.resends(epoch, usual))
    }

    fn require(&mut self, view: &View, rule: PhaseRule) -> CommandAnswer {
        planned!(self.require(view, rule))
    }

    fn wish(&mut self, view: &View, rule: PhaseRule) -> CommandAnswer {
        planned!(self.wish(view, rule))
    }

    fn in_turn(&mut self, answer: CommandAnswer) -> CommandAnswer {
        planned!(self.in_turn(answer))
    }

    fn take_answer(&mut self) -> CommandAnswer {
        planned!(self.take_answer())
    }

    fn on_proposal(
        &mut self,
        view: &View,
        proposal: RuleProposal,
        learn: impl FnOnce(u8, PhaseRule) -> Result<(), RuleRefusal>,
    ) {
        planned!(self.on_proposal(view, proposal, learn));
    }

    fn rule(&self) -> Option<PhaseRule> {
        planned!(self.rule())
    }

    fn changes(&self) -> &[SendingChange] {
        planned!(self.changes())
    }

    fn proposal(&self, view: &View) -> Option<RuleProposal> {
        planned!(self.proposal(view))
    }

    fn on_proposed(&mut self, view: &View) {
        planned!(self.on_proposed(view));
    }

    fn on_time(&mut self, view: &View) {
        planned!(self.on_time(view));
    }

    fn deadline(&self) -> Instant {
        planned!(self.deadline())
    }
}
