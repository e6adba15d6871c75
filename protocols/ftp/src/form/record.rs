//! STRU R in stream mode: escapes mark the ends of records and of the file (RFC 959 §3.4.1).
//!
//! | octets | meaning |
//! | --- | --- |
//! | FF 01 | end of a record |
//! | FF 02 | end of the file |
//! | FF 03 | end of a record and of the file |
//! | FF FF | the octet FF |
//!
//! A record is a line: its end stands for LF, so that no type needs another line end. What is
//! behind the last LF of a file is a record without an end.

use alloc::vec::Vec;

use super::Damage;

const ESCAPE: u8 = 0xFF;
const RECORD: u8 = 1;
const FILE: u8 = 2;
const LF: u8 = b'\n';

/// Appends `octets` to `out`, with the end of a record in place of each LF.
pub(super) fn encode(octets: &[u8], out: &mut Vec<u8>) {
    for octet in octets {
        match *octet {
            LF => out.extend_from_slice(&[ESCAPE, RECORD]),
            ESCAPE => out.extend_from_slice(&[ESCAPE, ESCAPE]),
            octet => out.push(octet),
        }
    }
}

/// Appends the end of the file to `out`.
pub(super) fn finish(out: &mut Vec<u8>) {
    out.extend_from_slice(&[ESCAPE, FILE]);
}

/// Ends lines with LF where a record ends.
#[derive(Default, Debug)]
pub(super) struct Decoder {
    escaped: bool,
    ended: bool,
}

impl Decoder {
    /// Appends `octets` to `out`, as far as the file goes. Returns how many octets it took: fewer
    /// than all where the file ends before.
    ///
    /// # Errors
    /// [`Damage::Escape`] where FF is followed by what means nothing.
    pub(super) fn feed(&mut self, octets: &[u8], out: &mut Vec<u8>) -> Result<usize, Damage> {
        for (taken, octet) in octets.iter().enumerate() {
            if self.ended {
                return Ok(taken);
            }
            match (core::mem::take(&mut self.escaped), *octet) {
                (false, ESCAPE) => self.escaped = true,
                (false, octet) => out.push(octet),
                (true, ESCAPE) => out.push(ESCAPE),
                (true, ends @ 1..=3) => {
                    if ends & RECORD != 0 {
                        out.push(LF);
                    }
                    self.ended = ends & FILE != 0;
                }
                (true, _) => return Err(Damage::Escape),
            }
        }
        Ok(octets.len())
    }

    /// Returns whether the end of the file arrived.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }
}
