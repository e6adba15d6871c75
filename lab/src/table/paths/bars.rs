//! What each contestant shall reach on a path, and the figures that tell it.

use stackwright_results::outcome::Column;
use stackwright_results::verdict::Target;

use super::cell::{Cell, MESSAGE};
use super::simulated::Figures;

/// The bars of one path.
pub(super) struct Bars {
    cell: Cell,
    /// The least share of ARTP's own payload limit, and of TCP's.
    share: Option<f64>,
    tcp_share: Option<f64>,
    /// Whether what is sent again, and for nothing, is bounded.
    bounded: bool,
}

/// What may be sent again, as a part of what is delivered and as packets beside that, where few are
/// sent: a lost window, the packets of the handshake and of the end.
const RESENT: (f64, u64) = (0.10, 12);
/// The same of what is sent for nothing.
const SPURIOUS: (f64, u64) = (0.01, 2);

impl Bars {
    /// Those of a path in the simulator.
    pub(super) fn simulated(cell: &Cell) -> Self {
        let (fast, deep) = (cell.rate() >= 1_000_000, cell.queue() >= 1.0);
        let share =
            (cell.is_lossless() && !(fast && deep)).then_some(if deep { 0.85 } else { 0.80 });
        let tcp_share = (cell.is_lossless() && fast && deep).then_some(0.90);
        Bars { cell: *cell, share, tcp_share, bounded: true }
    }

    /// Those of a path on real sockets, where others are compared with.
    pub(super) fn real(cell: &Cell) -> Self {
        let tcp_share = None;
        Bars { tcp_share, ..Bars::simulated(cell) }
    }

    /// Those of a contestant that is there to be compared with.
    pub(super) fn none(cell: &Cell) -> Self {
        Bars { cell: *cell, share: None, tcp_share: None, bounded: false }
    }

    /// Tells the further figures of a contestant, which is ARTP by default or by profile.
    pub(super) fn tell(&self, column: &mut Column, figures: &[Figures], default: bool) {
        let Bars { cell, share, tcp_share, bounded } = self;
        let all = |of: &dyn Fn(&Figures) -> f64| figures.iter().map(of).collect::<Vec<_>>();
        let part = |limit: f64| all(&|one| one.goodput * 1e6 / limit);
        let least = |least: Option<f64>| least.filter(|_| default).map(Target::AtLeast);
        column.tell("share of the payload limit", "", &part(cell.limit()), least(*share));
        column.tell("share of TCP’s payload limit", "", &part(cell.tcp_limit()), least(*tcp_share));
        if cell.is_lossless() {
            let ended = all(&|one| f64::from(one.ended));
            column.tell("ended", "", &ended, bounded.then_some(Target::AtLeast(1.0)));
        }
        let mut tell = |name: &str, of: fn(&Figures) -> Option<u64>, part, few, bounded: bool| {
            let each = |allowed: &dyn Fn(f64) -> f64| -> Vec<f64> {
                let known = figures.iter().filter_map(|one| Some((one, of(one)? as f64)));
                known.map(|(one, octets)| octets / allowed(one.delivered.max(1) as f64)).collect()
            };
            let target = bounded.then_some(Target::AtMost(1.0));
            column.tell(&format!("{name} / delivered"), "", &each(&|delivered| delivered), None);
            let allowed = each(&|delivered| part * delivered + (few * MESSAGE) as f64);
            column.tell(&format!("{name} / allowed"), "", &allowed, target);
        };
        // BBR fills a shallow queue over and over: that is told.
        let deep = default || cell.queue() >= 1.0;
        let resent = *bounded && cell.is_lossless() && deep;
        tell("retransmitted", |one| one.resent, RESENT.0, RESENT.1, resent);
        tell("spurious", |one| one.duplicates, SPURIOUS.0, SPURIOUS.1, *bounded);
    }
}
