//! How fast something grows, and how sure that is.

use std::fmt;

/// A straight line through points of equal distance: its rise from the first to the last, and half
/// of the interval that holds it with 95 %.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Slope {
    rise: f64,
    half: f64,
}

impl Slope {
    /// By least squares. Neighbours that are alike are counted as one: memory has steps, and a step
    /// seen twice is no second witness.
    pub(super) fn of(values: &[f64]) -> Self {
        let count = values.len() as f64;
        if values.len() < 3 {
            return Slope { rise: 0.0, half: f64::INFINITY };
        }
        let middle = (count - 1.0) / 2.0;
        let mean = values.iter().sum::<f64>() / count;
        let places = || {
            values.iter().enumerate().map(|(place, value)| (place as f64 - middle, value - mean))
        };
        let spread: f64 = places().map(|(place, _)| place * place).sum();
        let slope = places().map(|(place, value)| place * value).sum::<f64>() / spread;
        let rests: Vec<f64> = places().map(|(place, value)| value - slope * place).collect();
        let variance = rests.iter().map(|rest| rest * rest).sum::<f64>();
        // What one rest tells of the next: so much fewer of them are independent.
        let common: f64 = rests.windows(2).map(|pair| pair[0] * pair[1]).sum();
        let alike = if variance > 0.0 { (common / variance).clamp(0.0, 0.99) } else { 0.0 };
        let independent = (count * (1.0 - alike) / (1.0 + alike) - 2.0).max(1.0);
        let error = (variance / independent / spread).sqrt();
        Slope { rise: slope * (count - 1.0), half: 1.96 * error * (count - 1.0) }
    }

    /// In kB for one of `many`, if the values were octets and `many` passed between the first and
    /// the last.
    pub(super) fn scaled(self, many: f64) -> Self {
        let scale = 1e-3 / many;
        Slope { rise: self.rise * scale, half: self.half * scale }
    }
}

impl fmt::Display for Slope {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(
            out,
            "{:+.2} [{:+.2}, {:+.2}]",
            self.rise,
            self.rise - self.half,
            self.rise + self.half
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_is_told_from_what_shakes() {
        let grows: Vec<f64> =
            (0..100).map(|place| 1000.0 * f64::from(place) + f64::from(place % 3)).collect();
        let slope = Slope::of(&grows);
        assert!((slope.rise - 99_000.0).abs() < 10.0 && slope.half < 10.0, "{slope:?}");
        let shakes: Vec<f64> = (0..100).map(|place| 5000.0 + f64::from(place * 7 % 11)).collect();
        let slope = Slope::of(&shakes);
        assert!(slope.rise.abs() < slope.half, "{slope:?}");
        assert_eq!(Slope::of(&[7.0; 50]), Slope { rise: 0.0, half: 0.0 });
        assert_eq!(Slope::of(&grows).scaled(99.0).to_string().split(' ').next(), Some("+1.00"));
    }
}
