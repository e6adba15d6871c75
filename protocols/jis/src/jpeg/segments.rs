//! The segments of a file, one after the other.

use alloc::vec::Vec;
use core::ops::Range;

use super::flaw::JpegFlaw;

pub(crate) const SOI: [u8; 2] = [0xff, 0xd8];
pub(crate) const EOI: [u8; 2] = [0xff, 0xd9];

pub(crate) const SOF0: u8 = 0xc0;
pub(crate) const SOF1: u8 = 0xc1;
pub(crate) const SOF2: u8 = 0xc2;
pub(crate) const DHT: u8 = 0xc4;
pub(crate) const SOS: u8 = 0xda;
pub(crate) const DQT: u8 = 0xdb;
pub(crate) const DRI: u8 = 0xdd;
pub(crate) const APP0: u8 = 0xe0;
pub(crate) const APP14: u8 = 0xee;

/// A segment: its marker's code, its content, and the picture data behind it, if it is SOS.
pub(crate) struct Segment<'a> {
    pub(crate) code: u8,
    pub(crate) content: &'a [u8],
    pub(crate) data: Range<usize>,
}

/// Walks over a file's segments, up to EOI.
pub(crate) struct Segments<'a> {
    file: &'a [u8],
    at: usize,
}

impl<'a> Segments<'a> {
    /// # Errors
    /// Returns a flaw where there is no SOI.
    pub(crate) fn of(file: &'a [u8]) -> Result<Self, JpegFlaw> {
        if file.starts_with(&SOI) { Ok(Segments { file, at: 2 }) } else { Err(JpegFlaw::NoJpeg) }
    }

    /// Returns the next segment; `None` at EOI or the end of the file.
    pub(crate) fn next(&mut self) -> Result<Option<Segment<'a>>, JpegFlaw> {
        let file = self.file;
        let code = loop {
            match (file.get(self.at), file.get(self.at + 1)) {
                // What stands in front of a marker is passed over, as libjpeg does with a warning;
                // so is fill (T.81, B.1.1.2).
                (None, _) | (Some(0xff), None) => return Ok(None),
                (Some(0xff), Some(0)) => self.at += 2,
                (Some(0xff), Some(code)) if *code != 0xff => break *code,
                _ => self.at += 1,
            }
        };
        match code {
            0xd9 => return Ok(None),
            0x01 | 0xd0..=0xd8 => {
                return Err(JpegFlaw::Malformed("a marker stands where none may be"));
            }
            _ => {}
        }
        let Some([high, low]) = file.get(self.at + 2..self.at + 4) else {
            return Err(JpegFlaw::Ends("a segment"));
        };
        let end = self.at + 2 + usize::from(u16::from_be_bytes([*high, *low]));
        let content = file.get(self.at + 4..end).ok_or(JpegFlaw::Ends("a segment"))?;
        let ends = if code == SOS { data_end(file, end) } else { end };
        self.at = ends;
        Ok(Some(Segment { code, content, data: end..ends }))
    }
}

/// Returns where picture data end: before the next marker that is no restart.
fn data_end(file: &[u8], begin: usize) -> usize {
    let mut at = begin;
    while let Some(octet) = file.get(at) {
        let fill = file[at..].iter().take_while(|octet| **octet == 0xff).count();
        match (octet, file.get(at + fill)) {
            (0xff, Some(0 | 0xd0..=0xd7)) => at += fill + 1,
            (0xff, _) => break,
            _ => at += 1,
        }
    }
    at
}

/// Writes a segment.
pub(crate) fn write_segment(into: &mut Vec<u8>, code: u8, content: &[u8]) {
    into.extend([0xff, code]);
    into.extend((content.len() as u16 + 2).to_be_bytes());
    into.extend_from_slice(content);
}
