//! Time. A wait that a role does not hear in its state is not armed, so nothing is ever cancelled.

use stackwright_contract::{Context, Handle, Instant, Outlet, earliest};
use stackwright_wire::Message;

use crate::association::{Association, Stage};
use crate::layer::RoleLayer;
use crate::part::{RoleEvent, RolePart};

impl<M: Message, P: RolePart<M>> Association<M, P> {
    /// The next wait that is over, and when: of several at one time, the first in the text.
    fn next_wait(&self) -> Option<(Instant, usize)> {
        if self.stage != Stage::Open || self.part.is_over() {
            return None;
        }
        let set = self.deadlines.iter().enumerate();
        let heard = set.filter_map(|(timer, deadline)| {
            let deadline = (*deadline)?;
            self.part.hears(&RoleEvent::Timer(timer)).then_some((deadline, timer))
        });
        heard.min()
    }
}

impl<M: Message, P: RolePart<M>, N: FnMut() -> P> RoleLayer<M, P, N> {
    /// When the first of all waits is over. It looks at each association, once a batch.
    pub(crate) fn earliest(&self) -> Option<Instant> {
        let waits = self.associations.iter().map(|(_, association)| association.next_wait());
        waits.fold(None, |first, wait| earliest(first, wait.map(|(deadline, _)| deadline)))
    }

    /// Lets each role hear the waits that are over, one after the other.
    pub(crate) fn expire(&mut self, cx: &Context, out: &mut dyn Outlet<Self>) {
        while let Some((name, timer)) = self.due(cx.now()) {
            if let Some(association) = self.associations.get_mut(name) {
                association.deadlines[timer] = None;
            }
            self.react(cx, name, &RoleEvent::Timer(timer), out);
        }
    }

    fn due(&self, now: Instant) -> Option<(Handle, usize)> {
        let waits = self.associations.iter().filter_map(|(name, association)| {
            association.next_wait().map(|(deadline, timer)| (deadline, name, timer))
        });
        waits.filter(|(deadline, ..)| *deadline <= now).min().map(|(_, name, timer)| (name, timer))
    }
}
