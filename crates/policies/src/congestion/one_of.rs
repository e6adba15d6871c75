//! A congestion window, chosen while the program runs.

use alloc::boxed::Box;
use core::num::NonZeroU64;

use stackwright_transport::slots::Congestion;
use stackwright_transport::words::{Opening, View};
use stackwright_transport::{Acknowledged, component};

use super::{Aimd, Bbr, Cubic, NewReno};

/// Keeps a window with one of these policies, chosen while the program runs, without a box: for a
/// transport whose policies are otherwise known to the compiler, and that leaves this one to its
/// user.
///
/// It asks no inquiries: a judge that does ([`Probing`](super::Probing)) does not fit it.
///
/// ```
/// use stackwright_policies::congestion::{Absent, Aimd, OneOf};
/// use stackwright_transport::slots::Congestion;
/// assert_eq!(OneOf::Aimd(Aimd::new(1000)).window(), 3000);
/// assert_eq!(OneOf::Own(Box::new(Absent)).window(), u64::MAX);
/// ```
pub enum OneOf {
    /// Additive increase, multiplicative decrease.
    Aimd(Aimd),
    /// TCP's classical control.
    NewReno(NewReno),
    /// The control of most TCP implementations.
    Cubic(Cubic),
    /// A model of the path; in a box, since it is larger than the others.
    Bbr(Box<Bbr>),
    /// A judge of the application's own.
    Own(Box<dyn Congestion>),
}

macro_rules! each {
    ($this:ident, $policy:ident => $answer:expr) => {
        match $this {
            OneOf::Aimd($policy) => $answer,
            OneOf::NewReno($policy) => $answer,
            OneOf::Cubic($policy) => $answer,
            OneOf::Bbr($policy) => $answer,
            OneOf::Own($policy) => $answer,
        }
    };
}

impl Congestion for OneOf {
    #[inline]
    fn window(&self) -> u64 {
        each!(self, policy => policy.window())
    }

    #[inline]
    fn on_sent(&mut self, view: &View) {
        each!(self, policy => policy.on_sent(view));
    }

    #[inline]
    fn on_acknowledged(&mut self, view: &View, acknowledged: &Acknowledged) {
        each!(self, policy => policy.on_acknowledged(view, acknowledged));
    }

    fn on_lost(&mut self, view: &View, octets: u64) {
        each!(self, policy => policy.on_lost(view, octets));
    }

    fn on_marked(&mut self, view: &View, packets: u32) {
        each!(self, policy => policy.on_marked(view, packets));
    }

    fn on_marks_refuted(&mut self, view: &View, window: u64) {
        each!(self, policy => policy.on_marks_refuted(view, window));
    }

    #[inline]
    fn heeds_marks(&self) -> bool {
        each!(self, policy => policy.heeds_marks())
    }

    fn on_opened(&mut self, view: &View, opening: &Opening) {
        each!(self, policy => policy.on_opened(view, opening));
    }

    fn on_timeout(&mut self, view: &View) {
        each!(self, policy => policy.on_timeout(view));
    }

    fn on_spurious(&mut self, view: &View) {
        each!(self, policy => policy.on_spurious(view));
    }

    #[inline]
    fn pace(&self) -> Option<NonZeroU64> {
        each!(self, policy => policy.pace())
    }
}

component! {
    OneOf: "congestion by a window of choice", "grows and shrinks its window as its user has chosen",
    needs: Property::REPORTS, gives: Property::PACES,
}
