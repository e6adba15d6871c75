//! PNGs.

use ::png::{BitDepth, ColorType, Compression, Encoder};
use stackwright_jis::Pixels;

/// # Errors
/// Returns a sentence of the decoder, or of the encoder.
pub(super) fn of_jpeg(jpeg: &[u8]) -> Result<Vec<u8>, String> {
    of_pixels(&Pixels::as_shown(jpeg)?, Compression::default())
}

/// # Errors
/// Returns a sentence of the encoder.
pub(super) fn of_pixels(picture: &Pixels, compression: Compression) -> Result<Vec<u8>, String> {
    let mut octets = Vec::new();
    let mut encoder = Encoder::new(&mut octets, picture.width as u32, picture.height as u32);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(compression);
    let written = encoder.write_header();
    let written = written.and_then(|mut writer| writer.write_image_data(&picture.rgb));
    written.map_err(|why| format!("it cannot be written as PNG: {why}"))?;
    Ok(octets)
}
