//! Peers that opened an association and have not shown that they receive what they are sent: where
//! places are short, they give way, so that forged openings lock nobody out.

use stackwright_contract::{Context, Duration, Handle, Instant, Outlet};

use super::{Hooks, Layer};

/// How long a stranger has to be silent before it gives way to a peer for which no name waits: a
/// genuine one answers within the timeout of RFC 6298 (5.7). That other peer tries again.
pub(super) const STRANGE_LEAST: Duration = Duration::from_secs(3);

impl<H: Hooks> Layer<H> {
    /// Returns when a stranger was last heard; `None`: it is none any more, or has ended.
    fn stranger_heard(&self, name: Handle) -> Option<Instant> {
        H::stranger_heard(&self.base.get(name)?.own)
    }

    /// Remembers an association that a peer opened.
    pub(super) fn enter_stranger(&mut self, name: Handle, now: Instant) {
        let capacity = self.strangers.capacity();
        if self.strangers.len() == capacity {
            let mut strangers = core::mem::take(&mut self.strangers);
            strangers.retain(|(name, _)| self.stranger_heard(*name).is_some());
            if strangers.len() > capacity / 2 {
                strangers.reserve(capacity);
            }
            self.strangers = strangers;
        }
        self.strangers.push_back((name, now));
    }

    /// Returns whether an association is a stranger's.
    pub(super) fn has_strangers(&mut self) -> bool {
        while let Some((name, _)) = self.strangers.front()
            && self.stranger_heard(*name).is_none()
        {
            self.strangers.pop_front();
        }
        !self.strangers.is_empty()
    }

    /// Ends the association of the stranger that has been silent for longest, if that is as long as
    /// this.
    pub(super) fn displace(&mut self, cx: &Context, silent: Duration, out: &mut impl Outlet<Self>) {
        for _ in 0..self.strangers.len() {
            let Some((name, known)) = self.strangers.pop_front() else { return };
            match self.stranger_heard(name) {
                None => {}
                // It has been heard since: others were not.
                Some(heard) if heard > known => self.strangers.push_back((name, heard)),
                Some(_) if known + silent > cx.now() => {
                    return self.strangers.push_front((name, known));
                }
                Some(_) => {
                    self.at(cx, name, out, |hooks, at| hooks.give_way(at));
                    return;
                }
            }
        }
    }
}
