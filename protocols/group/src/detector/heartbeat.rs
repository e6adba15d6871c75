//! By its reports: a member that lives, and whose application takes what comes, reports, so nothing
//! is sent for it.

use alloc::vec::Vec;

use stackwright_contract::services::{GroupNotice, GroupOrder, Rank};
use stackwright_contract::{Duration, Facts, Guarantees, Instant};
use stackwright_wire::Message;

use crate::layer::{GroupHooks, GroupPlace};

/// The hooks of the layer.
#[derive(Debug)]
pub struct Detector {
    /// A member that is silent for this long is suspected.
    silence: Duration,
    /// The own rank, and of each member when it was heard; `None`: it is suspected.
    view: Option<(usize, Vec<Option<Instant>>)>,
    /// When silence is looked for next.
    looks: Instant,
}

impl Detector {
    /// The silence of those who name none.
    pub const SILENCE: Duration = Duration::from_millis(500);

    /// Makes the hooks. Members below have to be heard several times within `silence`.
    pub const fn new(silence: Duration) -> Self {
        Detector { silence, view: None, looks: Instant::END }
    }

    fn heard<M: Message>(&mut self, at: &mut dyn GroupPlace<M>, member: Rank) {
        let Some((_, heard)) = &mut self.view else { return };
        let Some(heard) = heard.get_mut(usize::from(member.0)) else { return };
        if heard.replace(at.cx().now()).is_none() {
            at.notice(GroupNotice::Heard(member));
        }
    }

    /// Silence is looked for four times as often as it is allowed to last.
    fn often(&self) -> Duration {
        self.silence / 4
    }
}

impl<M: Message> GroupHooks<M> for Detector {
    const FACTS: Facts = Facts {
        needs: Guarantees::RELIABLE,
        passes: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED),
        ..Facts::named("group detector")
    };

    fn order(&mut self, at: &mut dyn GroupPlace<M>, order: GroupOrder<M>) {
        if let GroupOrder::Install(view) = &order {
            let now = at.cx().now();
            let heard = || alloc::vec![Some(now); view.members.len()];
            self.view = view.me.map(|me| (usize::from(me.0), heard()));
            self.looks = now + self.often();
        }
        at.order(order);
    }

    fn notice(&mut self, at: &mut dyn GroupPlace<M>, notice: GroupNotice<M>) {
        if let GroupNotice::Held { by, .. } = &notice {
            self.heard(at, *by);
        }
        at.notice(notice);
    }

    fn ended(&mut self) {
        self.view = None;
    }

    fn timeout(&mut self, at: &mut dyn GroupPlace<M>) {
        let (now, often) = (at.cx().now(), self.often());
        let Some((me, heard)) = &mut self.view else { return };
        // Who looks late has slept, and cannot have heard anybody meanwhile.
        let slept = now.since(self.looks) > often;
        self.looks = now + often;
        for (rank, heard) in heard.iter_mut().enumerate().filter(|(rank, _)| rank != me) {
            if slept && heard.is_some() {
                *heard = Some(now);
            }
            if heard.is_some_and(|heard| now.since(heard) > self.silence) {
                *heard = None;
                at.notice(GroupNotice::Suspected(Rank(rank as u16)));
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.view.as_ref().map(|_| self.looks)
    }
}
