//! How a camera was held: which way round a picture is shown (Exif 2.32, 4.6.4, tag 0x0112).

use super::segments::Segments;

const APP1: u8 = 0xe1;
const ORIENTATION: u16 = 0x0112;
const SHORT: u16 = 3;

/// Returns what a file says of its orientation, 1 to 8; 1, as it is, where it says nothing.
pub(crate) fn orientation(file: &[u8]) -> u8 {
    let Ok(mut segments) = Segments::of(file) else { return 1 };
    while let Ok(Some(segment)) = segments.next() {
        if segment.code == APP1
            && let Some(tiff) = segment.content.strip_prefix(b"Exif\0\0")
        {
            return told(tiff).unwrap_or(1);
        }
    }
    1
}

/// Reads the first directory of a TIFF.
fn told(tiff: &[u8]) -> Option<u8> {
    let little = match tiff.first_chunk()? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let short = |at: usize| {
        let octets = *tiff.get(at..)?.first_chunk()?;
        Some(if little { u16::from_le_bytes(octets) } else { u16::from_be_bytes(octets) })
    };
    let [high, low] = if little { [6, 4] } else { [4, 6] };
    let directory = usize::from(short(high)?) << 16 | usize::from(short(low)?);
    let entries = usize::from(short(directory)?);
    let entry = |nth: usize| directory + 2 + 12 * nth;
    let found = (0..entries).map(entry).find(|at| short(*at) == Some(ORIENTATION))?;
    let value = short(found + 8).filter(|_| short(found + 2) == Some(SHORT))?;
    (1..=8).contains(&value).then_some(value as u8)
}
