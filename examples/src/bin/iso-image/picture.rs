//! A moving test picture in grey levels, whose pixels are sent from coarse to fine.

use std::path::Path;
use std::sync::LazyLock;
use std::{fs, io};

const WIDTH: usize = 160;
const HEIGHT: usize = 120;
pub(crate) const PIXELS: usize = WIDTH * HEIGHT;

/// The side of the squares that the first pass paints; that of each other pass is half as long.
const COARSEST: usize = 8;

/// The pixels of the first pass: with fewer there is no picture.
pub(crate) const FEWEST: usize = (WIDTH / COARSEST) * (HEIGHT / COARSEST);

/// A pixel, and the side of the square that it stands for until finer ones come.
struct Place {
    x: usize,
    y: usize,
    side: usize,
}

/// All pixels in the order in which they are sent: the first ones, however many, are the whole
/// picture.
static ORDER: LazyLock<Vec<Place>> = LazyLock::new(|| {
    let sides = [COARSEST, COARSEST / 2, COARSEST / 4, COARSEST / 8];
    let pass = |side| {
        let row = move |y| (0..WIDTH).step_by(side).map(move |x| Place { x, y, side });
        let is_new =
            move |place: &Place| side == COARSEST || !(place.x | place.y).is_multiple_of(2 * side);
        (0..HEIGHT).step_by(side).flat_map(row).filter(is_new)
    };
    sides.into_iter().flat_map(pass).collect()
});

/// What the camera sees in picture `number`: waves, and rings around a point that wanders.
fn grey(number: u32, x: usize, y: usize) -> u8 {
    let (time, x, y) = (f64::from(number) / 10.0, x as f64, y as f64);
    let centre = (80.0 + 50.0 * (time / 3.0).cos(), 60.0 + 30.0 * (time / 2.0).sin());
    let rings = ((x - centre.0).hypot(y - centre.1) / 3.0 - time).sin();
    let waves = (x / 19.0 + y / 31.0 + time / 2.0).sin();
    (128.0 + 70.0 * rings + 50.0 * waves) as u8
}

/// The pixels of picture `number`, coarse ones first.
pub(crate) fn taken(number: u32) -> Vec<u8> {
    ORDER.iter().map(|place| grey(number, place.x, place.y)).collect()
}

/// A picture as far as it has come.
pub(crate) struct Picture {
    /// Row by row.
    greys: Vec<u8>,
    /// How many pixels came.
    pub(crate) pixels: usize,
}

impl Picture {
    /// Paints pieces: pixels, each behind the place of its first in the order.
    pub(crate) fn painted(pieces: &[(usize, Vec<u8>)]) -> Self {
        let mut picture = Picture { greys: vec![128; PIXELS], pixels: 0 };
        for (first, pixels) in pieces {
            for (place, grey) in ORDER.iter().skip(*first).zip(pixels) {
                for row in place.y..place.y + place.side {
                    picture.greys[row * WIDTH + place.x..][..place.side].fill(*grey);
                }
                picture.pixels += 1;
            }
        }
        picture
    }

    /// Returns how like it is to what the camera saw: the peak signal-to-noise ratio in decibels,
    /// at most 60.
    pub(crate) fn quality(&self, number: u32) -> f64 {
        let error = |(at, shown): (usize, &u8)| {
            f64::from(grey(number, at % WIDTH, at / WIDTH).abs_diff(*shown)).powi(2)
        };
        let mean = self.greys.iter().enumerate().map(error).sum::<f64>() / PIXELS as f64;
        (20.0 * 255_f64.log10() - 10.0 * mean.log10()).min(60.0)
    }

    /// Writes it as a portable graymap (PGM).
    pub(crate) fn write(&self, file: &Path) -> io::Result<()> {
        let mut octets = format!("P5\n{WIDTH} {HEIGHT}\n255\n").into_bytes();
        octets.extend(&self.greys);
        fs::write(file, octets)
    }
}
