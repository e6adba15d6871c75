//! An association follows its peer to another address: another association below carries it from
//! then on.

use stackwright_contract::{Context, Handle, Outlet};

use super::{Hooks, Layer, Link, MessageOf, Stray};

impl<H: Hooks> Layer<H> {
    /// Handles a message that belongs to no association with its sender, if the protocol knows an
    /// association elsewhere that claims it, or one here by another key. Returns `None` if it does
    /// not; else the association that it is for, unless it has been dealt with.
    pub(super) fn claim(
        &mut self,
        cx: &Context,
        lower: Handle,
        header: &H::Header,
        message: &mut MessageOf<H>,
        out: &mut impl Outlet<Self>,
    ) -> Option<Option<Handle>> {
        let remote = self.lowers.association(lower)?.remote;
        match self.hooks.stray(cx, remote, header, message) {
            Stray::Unclaimed => return None,
            Stray::Ignored(reason) => cx.dropped(H::FACTS.name, reason),
            Stray::Answered(answer) => self.answer(cx, lower, answer, out),
            Stray::Moves { locator, probe } => {
                self.take_over(cx, lower, (locator, H::key(header)), probe, out);
            }
            Stray::Meant(locator) => {
                return Some(self.located(locator, |link| link.lower == lower));
            }
        }
        Some(None)
    }

    /// Returns the association of a locator. It is seldom looked for, and an index of locators
    /// would cost memory for each association.
    fn located(&self, locator: u64, is_meant: impl Fn(&Link<H>) -> bool) -> Option<Handle> {
        let found = |link: &Link<H>| is_meant(link) && H::locator(&link.own) == Some(locator);
        self.base.iter().find(|(_, link)| found(link)).map(|(name, _)| name)
    }

    /// Moves an association of `key` to the association below that its peer uses now.
    fn take_over(
        &mut self,
        cx: &Context,
        lower: Handle,
        (locator, key): (u64, H::Key),
        probe: MessageOf<H>,
        out: &mut impl Outlet<Self>,
    ) {
        let Some((name, link)) =
            self.located(locator, |_| true).and_then(|name| Some((name, self.base.get(name)?)))
        else {
            return cx.dropped(H::FACTS.name, "a move of no association");
        };
        let (left, from) = (link.lower, link.remote);
        // One that is not open waits for its association below.
        if !link.unopened.is_empty()
            || self.base.rekey(name, (Self::key_scope(lower), key)).is_err()
        {
            return cx.dropped(H::FACTS.name, "a move that is not possible");
        }
        self.answer(cx, left, probe, out);
        self.relocate(name, lower);
        self.at(cx, name, out, |hooks, at| hooks.moved(at, from));
    }

    /// Has an association carried by `lower` from now on.
    pub(super) fn relocate(&mut self, name: Handle, lower: Handle) {
        let Layer { base, lowers, .. } = self;
        let (Some(link), Some(below)) = (base.get_mut(name), lowers.association(lower)) else {
            return;
        };
        let left = core::mem::replace(&mut link.lower, lower);
        link.remote = below.remote;
        below.uses(name);
        if link.wants_room {
            below.wanting.push::<H>(name, &link.own);
        }
        if let Some(left) = lowers.association(left) {
            left.wanting.remove(name);
        }
        lowers.release(left, name);
    }
}
