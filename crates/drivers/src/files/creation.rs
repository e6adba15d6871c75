//! A file that is being written.
//!
//! It has a temporary name in the folder where it will belong, and takes its own name in one step
//! when it is complete. Whatever ends it before that, also the regular end of the program, removes
//! it. After a crash the temporary name is left over, hidden; the file's own name was never
//! touched.

use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use cap_std::fs::{Dir, OpenOptions};
use rustix::io::{Errno, pwritev};
use stackwright_contract::services::Failure;
use stackwright_wire::{Leaf, Message, Region};

use super::root::{Place, Root, failure, regular, temporary};
use crate::splice::Pipe;

/// How many pieces of a message are written by one call.
const PIECES: usize = 16;
/// How many octets are copied from the old file before other files have their turn: some
/// milliseconds.
const COPIED_AT_ONCE: u64 = 8 << 20;
/// Temporary names are random: a collision means an attack, and a few tries suffice.
const TRIES: usize = 8;

/// A file without a name of its own yet.
pub(super) struct Creation {
    file: File,
    /// The old file whose octets are still to be copied, and how many.
    source: Option<(File, u64)>,
    folder: Dir,
    temporary: String,
    name: String,
    kept: bool,
}

impl Creation {
    /// Begins a file at `place`. Before anything is written, the first `from` octets of the file
    /// that has the name now must be [copied](Creation::take_over).
    pub(super) fn begin(
        root: &Root,
        place: &Place,
        from: u64,
        random: &mut fastrand::Rng,
    ) -> Result<Self, Failure> {
        let (folder, name) = place.split().ok_or(Failure::BadName)?;
        let folder = root.open_folder(folder)?;
        // What it will replace must be a file, or nothing: neither a folder, nor a device, nor a
        // link out of the root.
        match root.metadata(place) {
            Ok(metadata) => regular(&metadata)?,
            Err(Failure::NotFound) if from == 0 => {}
            Err(why) => return Err(why),
        }
        let mut source = None;
        if from > 0 {
            let old = root.open_file(place)?.into_std();
            if old.metadata().map_err(failure)?.len() < from {
                return Err(Failure::Short);
            }
            source = Some((old, from));
        }
        let (file, temporary) = new_file(&folder, name, random)?;
        Ok(Creation { file, source, folder, temporary, name: name.to_owned(), kept: false })
    }

    /// Copies one share of the old file, and returns whether that was all. The kernel copies, and
    /// shares the blocks if the disk can.
    pub(super) fn take_over(&mut self) -> Result<bool, Failure> {
        let Some((source, left)) = &mut self.source else { return Ok(true) };
        let share = (*left).min(COPIED_AT_ONCE);
        let copied = io::copy(&mut (&*source).take(share), &mut &self.file).map_err(failure)?;
        if copied < share {
            return Err(Failure::Short); // it shrank meanwhile
        }
        *left -= share;
        if *left == 0 {
            self.source = None;
        }
        Ok(self.source.is_none())
    }

    /// Writes all of `messages`, one behind the other, beginning at `offset`. `scratch` is a buffer
    /// for regions of other files.
    pub(super) fn write<M: Message>(
        &self,
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
                    self.write_pieces(&mut pieces, &mut at)?;
                }
                Leaf::Region(region) => {
                    self.write_pieces(&mut pieces[..count], &mut at)?;
                    let mut region = region.clone();
                    while let Some(Leaf::Region(next)) =
                        leaves.next_if(|leaf| goes_on(&region, leaf))
                    {
                        region.length += next.length;
                    }
                    self.write_region(&region, &mut at, scratch)?;
                }
            }
            count = 0;
        }
        self.write_pieces(&mut pieces[..count], &mut at)
    }

    fn write_pieces(&self, mut pieces: &mut [IoSlice<'_>], at: &mut u64) -> Result<(), Failure> {
        while !pieces.is_empty() {
            match pwritev(&self.file, pieces, *at) {
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
        &self,
        region: &Region,
        at: &mut u64,
        scratch: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        if let Some(pipe) = region.source.downcast_ref::<Pipe>() {
            return pipe.pour(region.offset, region.length, &self.file, at).map_err(failure);
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
            self.file.write_all_at(octets, *at).map_err(failure)?;
            (from, left, *at) = (from + share as u64, left - share, *at + share as u64);
        }
        Ok(())
    }

    /// Gives the file its name. With `sync` it survives a loss of power from here on.
    pub(super) fn keep(mut self, sync: bool) -> Result<(), Failure> {
        let mut folder = None;
        if sync {
            self.file.sync_all().map_err(failure)?;
            // Opened before the name is given: errors should occur while the old file is still
            // there.
            folder = Some(self.folder.open(".").map_err(failure)?);
        }
        self.folder.rename(&self.temporary, &self.folder, &self.name).map_err(failure)?;
        self.kept = true;
        match folder.map_or(Ok(()), |folder| folder.sync_all()) {
            // Some file systems make their folders durable themselves and lack this call.
            Err(error) if error.kind() != ErrorKind::InvalidInput => Err(Failure::Broken),
            _ => Ok(()),
        }
    }
}

impl Drop for Creation {
    fn drop(&mut self) {
        if !self.kept {
            // A failure can no longer be reported: the name stays hidden.
            let _ = self.folder.remove_file(&self.temporary);
        }
    }
}

/// Whether `leaf` is the part of the same source that follows `region`.
fn goes_on(region: &Region, leaf: &Leaf<'_>) -> bool {
    matches!(leaf, Leaf::Region(next) if Arc::ptr_eq(&region.source, &next.source)
        && region.offset + region.length as u64 == next.offset)
}

fn new_file(
    folder: &Dir,
    name: &str,
    random: &mut fastrand::Rng,
) -> Result<(File, String), Failure> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    for _ in 0..TRIES {
        let temporary = temporary(name, random.u64(..));
        match folder.open_with(&temporary, &options) {
            Ok(file) => return Ok((file.into_std(), temporary)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failure(error)),
        }
    }
    Err(Failure::Denied)
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
