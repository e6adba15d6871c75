//! Octets into a file, and out of it.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use rustix::io::{Errno, pwritev};
use stackwright_contract::services::Failure;
use stackwright_wire::{Leaf, Message, Region};

use super::root::failure;
use crate::splice::Pipe;

/// How many pieces of a message are written by one call.
const PIECES: usize = 16;

/// Writes all of `messages`, one behind the other, beginning at `offset`. `scratch` is a buffer
/// for regions of other files.
pub(super) fn write<M: Message>(
    file: &File,
    offset: u64,
    messages: &[M],
    scratch: &mut Vec<u8>,
) -> Result<(), Failure> {
    // File offsets are signed numbers to the kernel.
    let end =
        messages.iter().try_fold(offset, |end, message| end.checked_add(message.len() as u64));
    if end.is_none_or(|end| end > i64::MAX as u64) {
        return Err(Failure::Full);
    }
    let mut at = offset;
    let mut pieces = [IoSlice::new(&[]); PIECES];
    let mut count = 0;
    let mut leaves = messages.iter().flat_map(Message::leaves).peekable();
    while let Some(leaf) = leaves.next() {
        match leaf {
            Leaf::Octets(octets) => {
                pieces[count] = IoSlice::new(octets);
                count += 1;
                if count < PIECES {
                    continue;
                }
                write_pieces(file, &mut pieces, &mut at)?;
            }
            Leaf::Region(region) => {
                write_pieces(file, &mut pieces[..count], &mut at)?;
                let mut region = region.clone();
                while let Some(Leaf::Region(next)) = leaves.next_if(|leaf| goes_on(&region, leaf)) {
                    region.length += next.length;
                }
                write_region(file, &region, &mut at, scratch)?;
            }
        }
        count = 0;
    }
    write_pieces(file, &mut pieces[..count], &mut at)
}

fn write_pieces(file: &File, mut pieces: &mut [IoSlice<'_>], at: &mut u64) -> Result<(), Failure> {
    while !pieces.is_empty() {
        match pwritev(file, pieces, *at) {
            Ok(0) => return Err(Failure::Broken),
            Ok(written) => {
                *at += written as u64;
                IoSlice::advance_slices(&mut pieces, written);
            }
            Err(Errno::INTR) => {}
            Err(error) => return Err(failure(error)),
        }
    }
    Ok(())
}

/// Writes a region. Regions are what a socket delivered into a pipe. Those of files are made to
/// be sent, and are written only by the rare stack that copies file to file.
fn write_region(
    file: &File,
    region: &Region,
    at: &mut u64,
    scratch: &mut Vec<u8>,
) -> Result<(), Failure> {
    if let Some(pipe) = region.source.downcast_ref::<Pipe>() {
        return pipe.pour(region.offset, region.length, file, at).map_err(failure);
    }
    let source = region.source.downcast_ref::<File>().ok_or(Failure::Unsupported)?;
    scratch.resize(64 << 10, 0);
    let (mut from, mut left) = (region.offset, region.length);
    while left > 0 {
        let share = left.min(scratch.len());
        let octets = &mut scratch[..share];
        let read = read_at(source, octets, from).map_err(failure)?;
        if read < share {
            return Err(Failure::Short);
        }
        file.write_all_at(octets, *at).map_err(failure)?;
        (from, left, *at) = (from + share as u64, left - share, *at + share as u64);
    }
    Ok(())
}

/// Whether `leaf` is the part of the same source that follows `region`.
fn goes_on(region: &Region, leaf: &Leaf<'_>) -> bool {
    matches!(leaf, Leaf::Region(next) if Arc::ptr_eq(&region.source, &next.source)
        && region.offset + region.length as u64 == next.offset)
}

/// Reads until `octets` are full or the file ends. Returns how many octets were read.
pub(super) fn read_at(file: &File, octets: &mut [u8], offset: u64) -> io::Result<usize> {
    // To the kernel, a range beyond the largest offset of a file is an error; here it is beyond the
    // end.
    let possible = usize::try_from((i64::MAX as u64).saturating_sub(offset)).unwrap_or(usize::MAX);
    let length = octets.len().min(possible);
    let mut filled = 0;
    while filled < length {
        match file.read_at(&mut octets[filled..length], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
