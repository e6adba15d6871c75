//! The pixels of a picture, and how far they are from those of another.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::jpeg::orientation::orientation;
use crate::jpeg::{JpegLayout, rewrite};

/// A picture of red, green and blue.
pub struct Pixels {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Three octets a pixel, row by row.
    pub rgb: Vec<u8>,
}

impl Pixels {
    /// Decodes a JPEG.
    ///
    /// # Errors
    /// Returns a sentence where it is not baseline, or the decoder refuses it.
    pub fn of(jpeg: &[u8]) -> Result<Self, String> {
        let layout = JpegLayout::of(jpeg).map_err(|flaw| flaw.to_string())?;
        // zune-jpeg up to 0.5.16 decodes scans of single components to wrong colours, or loses
        // rows of them, and reports success.
        let in_one_scan;
        let jpeg = if layout.scans.len() > 1 {
            in_one_scan = rewrite::baseline(jpeg).map_err(|flaw| flaw.to_string())?;
            &in_one_scan
        } else {
            jpeg
        };
        let options = DecoderOptions::default()
            .jpeg_set_out_colorspace(ColorSpace::RGB)
            .set_max_width(1 << 16)
            .set_max_height(1 << 16);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(jpeg), options);
        let rgb = decoder.decode().map_err(|why| format!("it cannot be decoded: {why}"))?;
        let (width, height) = decoder.dimensions().ok_or("it has no size")?;
        Ok(Pixels { width, height, rgb })
    }

    /// Decodes a JPEG, and turns it as its camera was held.
    ///
    /// # Errors
    /// Returns a sentence as [`Pixels::of`] does.
    pub fn as_shown(jpeg: &[u8]) -> Result<Self, String> {
        Ok(Pixels::of(jpeg)?.turned(orientation(jpeg)))
    }

    /// Turns it: the orientation says where its first row and column are (Exif 2.32, 4.6.4).
    fn turned(self, orientation: u8) -> Self {
        if orientation == 1 {
            return self;
        }
        let [right, bottom] = [self.width - 1, self.height - 1];
        let from = |x: usize, y: usize| match orientation {
            2 => [right - x, y],
            3 => [right - x, bottom - y],
            4 => [x, bottom - y],
            5 => [y, x],
            6 => [y, bottom - x],
            7 => [right - y, bottom - x],
            8 => [right - y, x],
            _ => [x, y],
        };
        let lies = orientation >= 5;
        let (width, height) =
            if lies { (self.height, self.width) } else { (self.width, self.height) };
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let pixel = |(x, y)| {
            let [x, y] = from(x, y);
            &self.rgb[3 * (y * self.width + x)..][..3]
        };
        let rgb = places.flat_map(pixel).copied().collect();
        Pixels { width, height, rgb }
    }

    /// Returns the peak signal-to-noise ratio in decibels, over all octets; infinity where both are
    /// equal.
    pub fn psnr(&self, original: &Pixels) -> f64 {
        let square = |(one, other): (&u8, &u8)| u64::from(one.abs_diff(*other)).pow(2);
        let sum: u64 = self.rgb.iter().zip(&original.rgb).map(square).sum();
        let mean = sum as f64 / self.rgb.len() as f64;
        10.0 * (255.0 * 255.0 / mean).log10()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(rgb: [u8; 6]) -> Pixels {
        Pixels { width: 2, height: 1, rgb: rgb.into() }
    }

    #[test]
    fn psnr_is_that_of_the_mean_square() {
        let original = pixels([10, 20, 30, 40, 50, 60]);
        assert_eq!(original.psnr(&original), f64::INFINITY);
        let by_one = pixels([11, 19, 31, 39, 51, 59]).psnr(&original);
        assert!((by_one - 20.0 * 255_f64.log10()).abs() < 1e-9, "{by_one}");
        assert_eq!(pixels([0; 6]).psnr(&pixels([255; 6])), 0.0);
        // A single difference of six has the mean square of six differences of √6.
        let one = pixels([16, 20, 30, 40, 50, 60]).psnr(&original);
        assert!((by_one - one - 10.0 * 6_f64.log10()).abs() < 1e-9, "{one}");
    }
}
