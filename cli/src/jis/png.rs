//! The pixels of a JPEG, and a PNG of them (RFC 2083).

use miniz_oxide::deflate::compress_to_vec_zlib;
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

pub(super) fn of_jpeg(jpeg: &[u8]) -> Result<Vec<u8>, String> {
    let Pixels { width, height, rgb } = pixels(jpeg)?;
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut head = Vec::new();
    head.extend((width as u32).to_be_bytes());
    head.extend((height as u32).to_be_bytes());
    head.extend([8, 2, 0, 0, 0]); // eight bits, red, green and blue, not interlaced
    chunk(&mut png, b"IHDR", &head);
    let mut rows = Vec::with_capacity(rgb.len() + height);
    for row in rgb.chunks_exact(3 * width) {
        rows.push(1); // each octet is the difference to the pixel on its left (§6.3)
        rows.extend(row.iter().enumerate().map(|(nth, octet)| {
            octet.wrapping_sub(nth.checked_sub(3).map_or(0, |left| row[left]))
        }));
    }
    chunk(&mut png, b"IDAT", &compress_to_vec_zlib(&rows, 6));
    chunk(&mut png, b"IEND", &[]);
    Ok(png)
}

fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], content: &[u8]) {
    png.extend((content.len() as u32).to_be_bytes());
    let begin = png.len();
    png.extend_from_slice(kind);
    png.extend_from_slice(content);
    let check = crc32(&png[begin..]);
    png.extend(check.to_be_bytes());
}

/// The check of a chunk (RFC 2083, §15).
fn crc32(octets: &[u8]) -> u32 {
    !octets.iter().fold(u32::MAX, |check, octet| {
        (0..8).fold(check ^ u32::from(*octet), |check, _| {
            check >> 1 ^ if check & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_check_is_that_of_the_catalogue() {
        assert_eq!(super::crc32(b"123456789"), 0xcbf4_3926);
    }
}
