//! The digest of a file, read a share at a time.

use std::fs::File;
use std::ops::Range;

use sha2::{Digest, Sha256};
use stackwright_contract::services::Failure;

use super::octets::read_at;
use super::place::Place;
use super::root::{Root, failure};

/// How many octets are read before other files have their turn: about a millisecond.
const HASHED_AT_ONCE: u64 = 1 << 20;
/// How many octets are read by one call.
const READ_AT_ONCE: usize = 64 << 10;

/// A file that is being read for its SHA-256.
pub(super) struct Hashing {
    file: File,
    state: Sha256,
    begin: u64,
    /// The octets that are still to be read.
    left: Range<u64>,
}

impl Hashing {
    pub(super) fn begin(
        root: &Root,
        place: &Place,
        octets: Range<u64>,
        part: bool,
    ) -> Result<Self, Failure> {
        let file = if part { root.open_part(place) } else { root.open_file(place) }?;
        let (state, begin) = (Sha256::new(), octets.start);
        Ok(Hashing { file: file.into_std(), state, begin, left: octets })
    }

    /// Reads one share. Returns the digest and how many octets it is of, when that was all.
    pub(super) fn go_on(
        &mut self,
        scratch: &mut Vec<u8>,
    ) -> Result<Option<([u8; 32], u64)>, Failure> {
        scratch.resize(READ_AT_ONCE, 0);
        let share_end = self.left.start.saturating_add(HASHED_AT_ONCE).min(self.left.end);
        let mut is_end = self.left.is_empty();
        while !is_end && self.left.start < share_end {
            let most = usize::try_from(share_end - self.left.start).unwrap_or(usize::MAX);
            let octets = &mut scratch[..most.min(READ_AT_ONCE)];
            let read = read_at(&self.file, octets, self.left.start).map_err(failure)?;
            self.state.update(&octets[..read]);
            self.left.start += read as u64;
            is_end = read < octets.len() || self.left.is_empty();
        }
        let count = self.left.start - self.begin;
        Ok(is_end.then(|| (self.state.clone().finalize().into(), count)))
    }
}
