//! MODE B: blocks with headers (RFC 959 §3.4.2).
//!
//! ```text
//!   descriptor   count          data
//! ├────────────┼───────┬──────┼──────── … ┤
//!      8 bits     16 bits, big-endian
//! ```
//!
//! The descriptor is a sum: 128 a record ends with the block, 64 the file does, 32 its data may
//! have errors, 16 its data is a restart marker and no part of the file.

use alloc::vec::Vec;

use super::Damage;

const RECORD: u8 = 128;
const FILE: u8 = 64;
const SUSPECT: u8 = 32;
const MARKER: u8 = 16;
const LF: u8 = b'\n';

/// The longest restart marker, in octets. Markers are file offsets and the like.
const MARKER_MOST: u16 = 64;

/// Appends `octets` to `out` in blocks.
pub(super) fn encode(octets: &[u8], out: &mut Vec<u8>) {
    for data in octets.chunks(u16::MAX.into()) {
        block(0, data, out);
    }
}

/// Appends `octets` to `out` in blocks, with the end of a record in place of each LF.
pub(super) fn encode_records(octets: &[u8], out: &mut Vec<u8>) {
    for line in octets.split_inclusive(|octet| *octet == LF) {
        let Some(mut text) = line.strip_suffix(&[LF]) else {
            encode(line, out);
            continue;
        };
        while let Some((data, rest)) = text.split_at_checked(u16::MAX.into()) {
            block(0, data, out);
            text = rest;
        }
        block(RECORD, text, out);
    }
}

/// Appends the end of the file to `out`.
pub(super) fn finish(out: &mut Vec<u8>) {
    block(FILE, &[], out);
}

fn block(descriptor: u8, data: &[u8], out: &mut Vec<u8>) {
    out.push(descriptor);
    out.extend_from_slice(&(data.len() as u16).to_be_bytes());
    out.extend_from_slice(data);
}

/// A part of what arrives in blocks.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Part<'a> {
    /// Octets of the file.
    Octets(&'a [u8]),
    /// A record ends here.
    EndOfRecord,
    /// The file ends here.
    EndOfFile,
    /// The sender can restart here, under this name.
    Marker(Vec<u8>),
}

/// Takes blocks apart.
#[derive(Default, Debug)]
pub(super) struct Decoder {
    /// The octets of an incomplete header.
    header: Vec<u8>,
    /// What the current block still tells at its end.
    descriptor: u8,
    /// How many octets of the current block are missing.
    missing: u16,
    marker: Vec<u8>,
    suspect: bool,
}

impl Decoder {
    /// Takes octets off the front of `octets` and returns the part of the file that they make;
    /// `None` where they are too few for one.
    ///
    /// # Errors
    /// [`Damage::Block`] where a header has bits without meaning, or a marker is too long or is no
    /// text.
    pub(super) fn next<'a>(&mut self, octets: &mut &'a [u8]) -> Result<Option<Part<'a>>, Damage> {
        loop {
            if self.missing > 0 {
                if octets.is_empty() {
                    return Ok(None);
                }
                let data = take(octets, self.missing.into());
                self.missing -= data.len() as u16;
                if self.descriptor & MARKER == 0 {
                    return Ok(Some(Part::Octets(data)));
                }
                self.marker.extend_from_slice(data);
            } else if self.ends(MARKER) {
                // It reaches a reply.
                if !self.marker.iter().all(u8::is_ascii_graphic) {
                    return Err(Damage::Block);
                }
                return Ok(Some(Part::Marker(core::mem::take(&mut self.marker))));
            } else if self.ends(RECORD) {
                return Ok(Some(Part::EndOfRecord));
            } else if self.ends(FILE) {
                return Ok(Some(Part::EndOfFile));
            } else {
                let lacks = 3 - self.header.len();
                self.header.extend_from_slice(take(octets, lacks));
                let [descriptor, high, low] = self.header[..] else { return Ok(None) };
                self.header.clear();
                self.begin(descriptor, u16::from_be_bytes([high, low]))?;
            }
        }
    }

    /// Returns whether there is a part to take without further octets.
    pub(super) fn holds(&self) -> bool {
        self.missing == 0 && self.descriptor & (MARKER | RECORD | FILE) != 0
    }

    /// Returns whether the sender marked data as possibly in error, since the last call.
    pub(super) fn take_suspect(&mut self) -> bool {
        core::mem::take(&mut self.suspect)
    }

    fn begin(&mut self, descriptor: u8, count: u16) -> Result<(), Damage> {
        let is_marker = descriptor & MARKER != 0;
        if descriptor & !(RECORD | FILE | SUSPECT | MARKER) != 0
            || is_marker && !(1..=MARKER_MOST).contains(&count)
        {
            return Err(Damage::Block);
        }
        self.suspect |= descriptor & SUSPECT != 0;
        (self.descriptor, self.missing) = (descriptor, count);
        Ok(())
    }

    /// Returns whether the block that is complete has `bit` set, once.
    fn ends(&mut self, bit: u8) -> bool {
        let ends = self.descriptor & bit != 0;
        self.descriptor &= !bit;
        ends
    }
}

fn take<'a>(octets: &mut &'a [u8], most: usize) -> &'a [u8] {
    let (taken, rest) = octets.split_at(most.min(octets.len()));
    *octets = rest;
    taken
}
