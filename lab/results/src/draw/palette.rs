//! Colours that people tell apart who see fewer of them (Okabe and Ito), each with a mark of its
//! own.

use plotters::style::RGBColor;

/// The ink of axes and text. Nothing else is black: a page that is dark replaces it.
pub const INK: RGBColor = RGBColor(0, 0, 0);

/// The document's own numbers.
pub const DOCUMENT: RGBColor = RGBColor(130, 130, 130);

/// Contestants in the order of their columns; ours is the first.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(150, 130, 20),
];

/// The colour of a column.
pub fn colour(place: usize) -> RGBColor {
    COLOURS[place % COLOURS.len()]
}

/// The steps of the shades of a heat map (viridis): each is lighter than the one before, so that
/// they are told apart without any colour.
const SHADES: [[f64; 3]; 5] = [
    [68.0, 1.0, 84.0],
    [59.0, 82.0, 139.0],
    [33.0, 145.0, 140.0],
    [94.0, 201.0, 98.0],
    [253.0, 231.0, 37.0],
];
/// The texts on dark shades and on light ones; not [`INK`], which is light on a dark page.
const ON_DARK: RGBColor = RGBColor(255, 255, 255);
const ON_LIGHT: RGBColor = RGBColor(17, 17, 17);

/// The shade of a share, from 0 to 1, and the colour of text on it. Half of the shades are for
/// shares above 0.8, where the differences count.
pub(super) fn shade(share: f64) -> (RGBColor, RGBColor) {
    let steps = SHADES.len() - 1;
    let place = share.clamp(0.0, 1.0).powi(3) * steps as f64;
    let below = (place as usize).min(steps - 1);
    let part = place - below as f64;
    let mix = |channel: usize| {
        let [low, high] = [SHADES[below][channel], SHADES[below + 1][channel]];
        (low + part * (high - low)).round() as u8
    };
    let text = if place < 2.5 { ON_DARK } else { ON_LIGHT };
    (RGBColor(mix(0), mix(1), mix(2)), text)
}

/// The shape of its marks.
#[derive(Clone, Copy)]
pub(super) enum Mark {
    Disc,
    Triangle,
    Cross,
    Ring,
}

/// The mark of a column.
pub(super) fn mark(place: usize) -> Mark {
    [Mark::Disc, Mark::Triangle, Mark::Cross, Mark::Ring][place % 4]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_get_lighter() {
        let light = |share: f64| {
            let (RGBColor(red, green, blue), _) = shade(share);
            0.299 * f64::from(red) + 0.587 * f64::from(green) + 0.114 * f64::from(blue)
        };
        let shares: Vec<f64> = (0..=20).map(|step| f64::from(step) / 20.0).collect();
        assert!(shares.windows(2).all(|pair| light(pair[0]) <= light(pair[1])));
        assert!(
            [0.3, 0.5, 0.7, 0.8, 0.9, 1.0]
                .windows(2)
                .all(|pair| light(pair[0]) + 5.0 < light(pair[1]))
        );
        assert_eq!(shade(1.0).0, RGBColor(253, 231, 37));
        assert_eq!(shade(1.7), shade(1.0), "TCP may exceed a limit that is not its own");
        assert_eq!(shade(f64::NAN), shade(f64::NAN), "what is no number has a shade, too");
        assert_ne!(shade(0.2).1, shade(0.95).1, "the text is seen on both");
    }
}
