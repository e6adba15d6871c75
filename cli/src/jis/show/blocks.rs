//! Two pixels a character: the upper one is its colour, the lower one that of its background.

use std::fmt::Write as _;

use stackwright_jis::Pixels;

use super::{Room, fitted, sample};

/// Draws a picture over one of `before` rows. Returns the text, and its rows.
pub(super) fn drawn(picture: &Pixels, room: &Room, before: usize) -> (String, usize) {
    let (width, height) = fitted(picture, room.columns, 2 * room.rows);
    let mut text = String::new();
    if before > 0 {
        let _ = write!(text, "\x1b[{before}A");
    }
    for row in 0..height.div_ceil(2) {
        for column in 0..width {
            let [r, g, b] = sample(picture, column, 2 * row, width, height);
            let _ = write!(text, "\x1b[38;2;{r};{g};{b}m");
            if 2 * row + 1 < height {
                let [r, g, b] = sample(picture, column, 2 * row + 1, width, height);
                let _ = write!(text, "\x1b[48;2;{r};{g};{b}m");
            }
            text.push('▀');
        }
        text.push_str("\x1b[0m\n");
    }
    (text, height.div_ceil(2))
}
