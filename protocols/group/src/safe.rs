//! Safe delivery: a message is delivered when a quorum of the view has it, so that the next view
//! delivers it too, whoever vanishes.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::services::{Batch, CastCounts, GroupNotice, GroupProperties, GroupView};
use stackwright_contract::{Facts, Guarantees};
use stackwright_wire::Message;

use crate::layer::{GroupHooks, GroupPlace};
use crate::membership::quorum;

/// The hooks of the layer.
pub struct SafeDelivery<M> {
    view: Option<InView<M>>,
    /// Rule 1 is left out.
    #[cfg(test)]
    pub(crate) mutant: bool,
}

struct InView<M> {
    view: Arc<GroupView>,
    /// Of each member, what it has of each sender, and whether it has the state.
    have: Vec<(bool, CastCounts)>,
    /// What a quorum has of each sender, as the first member of a large view says.
    quorum: CastCounts,
    /// Of each sender, what no quorum has as far as it is known.
    waits: Vec<VecDeque<(Batch<M>, GroupProperties)>>,
}

impl<M: Message> SafeDelivery<M> {
    /// Makes the hooks.
    pub const fn new() -> Self {
        SafeDelivery {
            view: None,
            #[cfg(test)]
            mutant: false,
        }
    }

    /// Delivers what a quorum has of a sender; `all`: what there is.
    fn rise(&mut self, at: &mut dyn GroupPlace<M>, sender: usize, all: bool) {
        #[cfg(test)]
        let all = all || self.mutant;
        let Some(InView { view, have, quorum: told, waits }) = &mut self.view else { return };
        let Some(waits) = waits.get_mut(sender) else { return };
        let told = told.get(sender).copied().unwrap_or(0);
        while let Some((_, properties)) = waits.front() {
            let has = |rank: usize| {
                let (votes, upto) = &have[rank];
                *votes && upto.get(sender).is_some_and(|upto| *upto >= properties.number)
            };
            if !all && told < properties.number && !quorum(view, true, has) {
                return;
            }
            if let Some((batch, properties)) = waits.pop_front() {
                at.deliver(batch, properties);
            }
        }
    }

    fn rise_all(&mut self, at: &mut dyn GroupPlace<M>, all: bool) {
        for sender in 0..self.view.as_ref().map_or(0, |own| own.waits.len()) {
            self.rise(at, sender, all);
        }
    }
}

impl<M: Message> Default for SafeDelivery<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Message> GroupHooks<M> for SafeDelivery<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::VIEWS.and(Guarantees::SYNCHRONY).and(Guarantees::PRIMARY),
        gives: Guarantees::SAFE,
        passes: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED)
            .and(Guarantees::VIEWS)
            .and(Guarantees::SYNCHRONY)
            .and(Guarantees::PRIMARY),
        ..Facts::named("group safe")
    };

    fn delivered(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, from: GroupProperties) {
        let sender = usize::from(from.member.0);
        if let Some(waits) = self.view.as_mut().and_then(|own| own.waits.get_mut(sender)) {
            waits.push_back((batch, from));
            self.rise(at, sender, false);
        }
    }

    fn notice(&mut self, at: &mut dyn GroupPlace<M>, notice: GroupNotice<M>) {
        match &notice {
            GroupNotice::Held { by, votes, upto } => {
                let own = self.view.as_mut().filter(|_| !upto.is_empty());
                let have = own.and_then(|own| own.have.get_mut(usize::from(by.0)));
                if let Some(have) = have {
                    *have = (*votes, upto.clone());
                    self.rise_all(at, false);
                }
            }
            GroupNotice::HeldByQuorum(upto) => {
                if let Some(own) = &mut self.view {
                    own.quorum = upto.clone();
                    self.rise_all(at, false);
                }
            }
            GroupNotice::View(view) => {
                // What is here is in the target of the view, which a quorum has: but who falls out
                // of it knows no target.
                if view.me.is_some() {
                    self.rise_all(at, true);
                }
                let rest = self.view.take().into_iter().flat_map(|own| own.waits);
                rest.flatten().for_each(|(batch, _)| at.take(batch.cost()));
                let members = view.members.len();
                self.view = view.me.map(|_| InView {
                    view: view.clone(),
                    have: alloc::vec![(false, Arc::new([]) as CastCounts); members],
                    quorum: Arc::new([]),
                    waits: (0..members).map(|_| VecDeque::new()).collect(),
                });
            }
            _ => {}
        }
        at.notice(notice);
    }

    fn ended(&mut self) {
        self.view = None;
    }
}
