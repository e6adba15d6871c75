//! A picture in the terminal: two pixels a character.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use super::png::{Pixels, pixels};

/// Draws over what it drew before.
#[derive(Default)]
pub(super) struct Screen {
    rows: usize,
}

impl Screen {
    /// Draws a JPEG; what cannot be decoded is not drawn.
    pub(super) fn show(&mut self, jpeg: &[u8]) {
        let Ok(picture) = pixels(jpeg) else { return };
        let (columns, rows) = room();
        let (width, height) = fitted(&picture, columns, 2 * rows.saturating_sub(2));
        let mut text = String::new();
        if self.rows > 0 {
            let _ = write!(text, "\x1b[{}A", self.rows);
        }
        for row in 0..height.div_ceil(2) {
            for column in 0..width {
                let [r, g, b] = sample(&picture, column, 2 * row, width, height);
                let _ = write!(text, "\x1b[38;2;{r};{g};{b}m");
                if 2 * row + 1 < height {
                    let [r, g, b] = sample(&picture, column, 2 * row + 1, width, height);
                    let _ = write!(text, "\x1b[48;2;{r};{g};{b}m");
                }
                text.push('▀');
            }
            text.push_str("\x1b[0m\n");
        }
        self.rows = height.div_ceil(2);
        let mut out = io::stdout().lock();
        let _ = out.write_all(text.as_bytes());
        let _ = out.flush();
    }
}

/// The size of the terminal; of another target, a usual one.
fn room() -> (usize, usize) {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    size.filter(|size| size.ws_col > 0 && size.ws_row > 2)
        .map_or((80, 24), |size| (usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// The largest size that fits, in half characters.
fn fitted(picture: &Pixels, columns: usize, rows: usize) -> (usize, usize) {
    let (width, height) = (picture.width, picture.height);
    let wide = columns.min(width).min((rows * width / height).max(1)).max(1);
    (wide, (wide * height / width).clamp(1, rows.max(1)))
}

/// The mean of the pixels of a place; of large places, of sixty-four in it.
fn sample(picture: &Pixels, x: usize, y: usize, width: usize, height: usize) -> [u8; 3] {
    let span = |at: usize, of: usize, all: usize| {
        let (begin, end) = (at * all / of, ((at + 1) * all / of).max(at * all / of + 1));
        (begin..end).step_by((end - begin).div_ceil(8))
    };
    let (mut sums, mut count) = ([0_u32; 3], 0);
    for py in span(y, height, picture.height) {
        for px in span(x, width, picture.width) {
            let Some(pixel) = picture.rgb[(py * picture.width + px) * 3..].first_chunk::<3>()
            else {
                continue;
            };
            sums.iter_mut().zip(pixel).for_each(|(sum, value)| *sum += u32::from(*value));
            count += 1;
        }
    }
    sums.map(|sum| (sum / count.max(1)) as u8)
}
