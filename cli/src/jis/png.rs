//! The pixels of a JPEG, and a PNG of them.

use ::png::{BitDepth, ColorType, Encoder};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// A picture of red, green and blue.
pub(super) struct Pixels {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) rgb: Vec<u8>,
}

/// # Errors
/// Returns a sentence of the decoder.
pub(super) fn pixels(jpeg: &[u8]) -> Result<Pixels, String> {
    let options = DecoderOptions::default()
        .jpeg_set_out_colorspace(ColorSpace::RGB)
        .set_max_width(1 << 16)
        .set_max_height(1 << 16);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(jpeg), options);
    let rgb = decoder.decode().map_err(|why| format!("it cannot be decoded: {why}"))?;
    let (width, height) = decoder.dimensions().ok_or("it has no size")?;
    Ok(Pixels { width, height, rgb })
}

/// # Errors
/// Returns a sentence of the decoder, or of the encoder.
pub(super) fn of_jpeg(jpeg: &[u8]) -> Result<Vec<u8>, String> {
    let Pixels { width, height, rgb } = pixels(jpeg)?;
    let mut octets = Vec::new();
    let mut encoder = Encoder::new(&mut octets, width as u32, height as u32);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    let written = encoder.write_header().and_then(|mut writer| writer.write_image_data(&rgb));
    written.map_err(|why| format!("it cannot be written as PNG: {why}"))?;
    Ok(octets)
}
