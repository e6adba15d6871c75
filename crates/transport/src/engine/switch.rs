//! The rules by which messages go change: in phases that both sides know, or as they agree.

use stackwright_contract::ask::SendingReport;
use stackwright_contract::{CommandError, Instant};
use stackwright_contract::{PhaseRule, RuleRefusal};

use super::Association;
use crate::configuration::Configuration;
use crate::slots::{
    CommandAnswer, Congestion as _, Connection as _, Flow as _, Ordering as _, Recovery as _,
    Switching,
};
use crate::words::{Dropped, RuleAct, RuleProposal, View};

impl<C: Configuration> Association<C> {
    /// Has the messages of the layer above go by the rules of `phase` from now on. Returns whether
    /// there is such a phase.
    pub fn enter(&mut self, phase: u8) -> bool {
        self.slots.switching.enter(phase)
    }

    /// Has the messages of the layer above go by `rule`, as soon as the peer accepts it. Returns
    /// the answer, unless it [follows](Self::take_answer).
    pub fn require(&mut self, now: Instant, rule: PhaseRule) -> CommandAnswer {
        let view = self.view(now);
        match self.takes(rule) {
            Ok(()) => self.slots.switching.require(&view, rule),
            Err(why) => self.in_turn(Some(Err(CommandError::Refused(why)))),
        }
    }

    /// Asks the peer to send by `rule`. Returns the answer, unless it
    /// [follows](Self::take_answer).
    pub fn wish(&mut self, now: Instant, rule: PhaseRule) -> CommandAnswer {
        let view = self.view(now);
        self.slots.switching.wish(&view, rule)
    }

    /// Returns the answer to a command that was done, unless an answer before it is awaited: then
    /// it [follows](Self::take_answer).
    pub fn in_turn(&mut self, answer: CommandAnswer) -> CommandAnswer {
        self.slots.switching.in_turn(answer)
    }

    /// Returns the next answer to a command that was awaited, once.
    #[inline]
    pub fn take_answer(&mut self) -> CommandAnswer {
        self.slots.switching.take_answer()
    }

    /// Returns by which rule it sends, and what has changed of how it sends; `None` where nothing
    /// of it changes.
    pub fn how_it_sends(&self) -> Option<SendingReport> {
        let rule = self.slots.switching.rule();
        let parts = [self.slots.switching.changes(), self.slots.congestion.changes()];
        if rule.is_none() && parts.iter().all(|changes| changes.is_empty()) {
            return None;
        }
        let mut changes = parts.concat();
        changes.sort_by_key(|change| change.at);
        Some(SendingReport { rule, changes })
    }

    fn takes(&self, rule: PhaseRule) -> Result<(), RuleRefusal> {
        let fits = rule.resends.is_none() || self.slots.recovery.resends().is_some();
        if fits { Ok(()) } else { Err(RuleRefusal::NeverAbandons) }
    }

    /// Returns what is to be said of a rule now.
    #[inline]
    pub(super) fn proposal(&self, view: &View) -> Option<RuleProposal> {
        let may = C::Switching::NEGOTIATES && self.begun && self.slots.connection.may_send(0);
        if may { self.slots.switching.proposal(view) } else { None }
    }

    /// Handles what the peer says of a rule. What it dates is not beyond what it may have sent, or
    /// was sent.
    #[cold]
    pub(super) fn on_proposal(
        &mut self,
        view: &View,
        proposal: RuleProposal,
    ) -> Result<(), Dropped> {
        let most = match proposal.act {
            // One packet may try a window that is shut.
            RuleAct::Propose => self.slots.flow.credit(view).map_or(u64::MAX, |upto| upto + 1),
            RuleAct::Wish => view.sent_upto,
            _ => u64::MAX,
        };
        if proposal.date.0 > most {
            return Err(Dropped::BeyondWindow);
        }
        let fits = self.takes(proposal.rule);
        let slots = &mut self.slots;
        let (switching, ordering) = (&mut slots.switching, &mut slots.ordering);
        let learn = |phase, rule| match fits {
            Ok(()) if !ordering.on_rule(phase, rule) => Err(RuleRefusal::InUse),
            fits => fits,
        };
        switching.on_proposal(view, proposal, learn);
        Ok(())
    }
}
