//! What each contestant shall reach on a path, and the figures that tell it.

use super::cell::Cell;
use super::simulated::Figures;
use crate::table::outcome::Column;
use crate::table::verdict::Target;

/// The bars of one path.
pub(super) struct Bars {
    cell: Cell,
    /// The least share of ARTP's own payload limit, and of TCP's.
    share: Option<f64>,
    tcp_share: Option<f64>,
}

/// Packets of which there may be more than their share, where few are sent: a lost window, the
/// packets of the handshake and of the end.
const RESENT_FEW: f64 = 12.0;
const DUPLICATES_FEW: f64 = 2.0;

impl Bars {
    /// Those of a path in the simulator.
    pub(super) fn simulated(cell: &Cell) -> Self {
        let (fast, deep) = (cell.rate() >= 1_000_000, cell.queue() >= 1.0);
        let share =
            (cell.is_lossless() && !(fast && deep)).then_some(if deep { 0.85 } else { 0.80 });
        let tcp_share = (cell.is_lossless() && fast && deep).then_some(0.90);
        Bars { cell: *cell, share, tcp_share }
    }

    /// Tells the further figures of a contestant, which is ARTP by default or by profile.
    pub(super) fn tell(&self, column: &mut Column, figures: &[Figures], default: bool) {
        let Bars { cell, share, tcp_share } = self;
        let all = |of: &dyn Fn(&Figures) -> f64| figures.iter().map(of).collect::<Vec<_>>();
        let delivered = |one: &Figures| one.delivered.max(1) as f64;
        let part = |limit: f64| all(&|one| one.goodput * 1e6 / limit);
        let least = |least: Option<f64>| least.filter(|_| default).map(Target::AtLeast);
        column.tell("share of the payload limit", "", &part(cell.limit()), least(*share));
        column.tell("share of TCP’s payload limit", "", &part(cell.tcp_limit()), least(*tcp_share));
        let ended = all(&|one| f64::from(one.ended));
        if cell.is_lossless() {
            column.tell("ended", "", &ended, Some(Target::AtLeast(1.0)));
        }
        // BBR fills a shallow queue over and over: that is told.
        let bounded = cell.is_lossless() && (default || cell.queue() >= 1.0);
        let most = |bounded: bool| bounded.then_some(Target::AtMost(1.0));
        let resent = all(&|one| one.resent as f64 / delivered(one));
        column.tell("retransmitted / delivered", "", &resent, None);
        let resent = all(&|one| one.resent as f64 / (0.10 * delivered(one) + RESENT_FEW));
        column.tell("retransmitted / allowed", "", &resent, most(bounded));
        let doubled = all(&|one| one.duplicates as f64 / delivered(one));
        column.tell("spurious / delivered", "", &doubled, None);
        let doubled = all(&|one| one.duplicates as f64 / (0.01 * delivered(one) + DUPLICATES_FEW));
        column.tell("spurious / allowed", "", &doubled, most(true));
    }
}
