//! Phases that both sides know.

use stackwright_contract::PhaseRule;
use stackwright_transport::component;
use stackwright_transport::rules::{Component as _, Facts};
use stackwright_transport::slots::Switching;
use stackwright_transport::words::{Epoch, EpochMark, View};

/// The rules of each phase, by number; `None`: there is no such phase.
pub type PhaseRules = [Option<PhaseRule>; Epoch::PHASES];

/// Goes by the rules of the phase that the application has entered. Both sides know the rules, so
/// nothing is negotiated and no message waits for an answer: a packet says its phase, and where a
/// phase begins. A phase that is left before all of the one before it is settled waits for that.
///
/// Choose it where an application needs one thing first and another one later, such as tables in
/// order and then pictures in any order. If all were ordered, one lost packet would stop the
/// pictures behind it.
///
/// ```
/// use stackwright_policies::switching::{InPhases, PhaseRule};
/// use stackwright_transport::slots::Switching;
/// let tables = PhaseRule { ordered: true, ..PhaseRule::default() };
/// let mut phases = InPhases::new([Some(tables), Some(PhaseRule::default()), None, None]);
/// assert!(phases.enter(1) && !phases.enter(2));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct InPhases {
    pub(super) rules: PhaseRules,
    /// The phase that was entered last.
    pub(super) entered: u8,
    /// The epoch of the newest message.
    pub(super) newest: Epoch,
    /// The last two epochs of which a unit has left, and their first numbers: the newest first.
    pub(super) begun: [(Epoch, u64); 2],
}

impl InPhases {
    /// Creates the policy with these rules.
    pub const fn new(rules: PhaseRules) -> Self {
        let first = (Epoch::FIRST, 0);
        InPhases { rules, entered: 0, newest: Epoch::FIRST, begun: [first; 2] }
    }
}

impl Switching for InPhases {
    const SWITCHES: bool = true;

    fn facts(&self) -> Option<Facts> {
        Some(Self::FACTS)
    }

    fn enter(&mut self, phase: u8) -> bool {
        let is_known = self.rules.get(usize::from(phase)).is_some_and(Option::is_some);
        // When all epochs have been, the association stays in the last one.
        let may = is_known && self.newest.next(phase).is_some();
        if may {
            self.entered = phase;
        }
        may
    }

    fn on_message(&mut self) -> Epoch {
        // A phase in which nothing is sent is none.
        if usize::from(self.entered) != self.newest.phase()
            && let Some(next) = self.newest.next(self.entered)
        {
            self.newest = next;
        }
        self.newest
    }

    fn may_leave(&self, view: &View, epoch: Epoch) -> bool {
        let [(begun, first), _] = self.begun;
        epoch == begun || first <= view.settled_upto
    }

    fn mark(&self, number: u64, epoch: Epoch) -> Option<EpochMark> {
        let begins = epoch > self.begun[0].0 || self.begun.contains(&(epoch, number));
        Some(EpochMark { bits: epoch.bits(), first: begins })
    }

    fn on_left(&mut self, number: u64, epoch: Epoch) {
        let [newest, _] = self.begun;
        if epoch > newest.0 {
            self.begun = [(epoch, number), newest];
        }
    }

    fn resends(&self, epoch: Epoch, usual: Option<u16>) -> Option<u16> {
        // A peer takes what was abandoned only where the recovery judge abandons at all.
        usual.and(self.rules[epoch.phase()].and_then(|rule| rule.resends))
    }
}

component! {
    InPhases: "switching in phases", "has messages go by the rules of their phase",
    needs: Property::EPOCHS.and(Property::COUNTS_PACKETS), gives: Property::PHASES,
    // An epoch of which nothing leaves would not be numbered as both sides number them.
    shuns: Property::EXPIRES,
}
