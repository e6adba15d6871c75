//! Bit errors: which bits of what is sent are altered.

use fastrand::Rng;

/// Independent bit errors: each bit is altered with the same probability.
///
/// Bits are not drawn one by one. The gap between two errors has a geometric distribution, so one
/// draw gives the next error, and a packet before it costs one subtraction.
#[derive(Clone, Debug, Default)]
pub(crate) struct BitErrors {
    /// The rate that the gap was drawn for, and how many bits pass unaltered before the next error.
    next: Option<(f64, u64)>,
}

impl BitErrors {
    /// Calls `alter` with each bit that is altered in the next `octets` sent, counted from their
    /// first.
    pub(crate) fn strike(
        &mut self,
        rate: f64,
        octets: usize,
        random: &mut Rng,
        mut alter: impl FnMut(u64),
    ) {
        if rate <= 0.0 {
            self.next = None;
            return;
        }
        let bits = 8 * octets as u64;
        let mut at = match self.next {
            Some((drawn_for, gap)) if drawn_for == rate => gap,
            _ => gap(rate, random),
        };
        while at < bits {
            alter(at);
            at = at.saturating_add(1).saturating_add(gap(rate, random));
        }
        self.next = Some((rate, at - bits));
    }
}

/// Draws how many bits pass unaltered before the next error.
fn gap(rate: f64, random: &mut Rng) -> u64 {
    if rate >= 1.0 {
        return 0;
    }
    // Above 0 and up to 1: the logarithm is finite. A cast of what is too large saturates.
    let chance = 1.0 - random.f64();
    (chance.ln() / (-rate).ln_1p()) as u64
}
