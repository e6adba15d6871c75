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

/// Delegates methods to the judge that was chosen.
macro_rules! delegate {
    ($(
        $(#[$inline:meta])? $this:ident: $Me:ty => fn $f:ident($($a:ident: $t:ty),*) $(-> $r:ty)?;
    )*) => { $(
        $(#[$inline])?
        fn $f($this: $Me $(, $a: $t)*) $(-> $r)? {
            match $this {
                OneOf::Aimd(policy) => policy.$f($($a),*),
                OneOf::NewReno(policy) => policy.$f($($a),*),
                OneOf::Cubic(policy) => policy.$f($($a),*),
                OneOf::Bbr(policy) => policy.$f($($a),*),
                OneOf::Own(policy) => policy.$f($($a),*),
            }
        }
    )* };
}

impl Congestion for OneOf {
    delegate! {
        #[inline] self: &Self => fn window() -> u64;
        #[inline] self: &mut Self => fn on_sent(view: &View);
        #[inline] self: &mut Self => fn on_acknowledged(view: &View, acknowledged: &Acknowledged);
        self: &mut Self => fn on_lost(view: &View, octets: u64);
        self: &mut Self => fn on_marked(view: &View, packets: u32);
        self: &mut Self => fn on_marks_refuted(view: &View, window: u64);
        #[inline] self: &Self => fn heeds_marks() -> bool;
        self: &mut Self => fn on_opened(view: &View, opening: &Opening);
        self: &mut Self => fn on_timeout(view: &View);
        self: &mut Self => fn on_spurious(view: &View);
        #[inline] self: &Self => fn pace() -> Option<NonZeroU64>;
    }
}

component! {
    OneOf: "congestion by a window of choice", "grows and shrinks its window as its user has chosen",
    needs: Property::REPORTS, gives: Property::PACES,
}
