//! A folder read in pieces: memory does not grow with the folder.

use std::collections::VecDeque;
use std::io::ErrorKind;

use cap_std::fs::{Dir, ReadDir};
use stackwright_contract::services::{Failure, FileKind, FolderEntry, Status};

use super::place::{Place, is_name, is_temporary};
use super::root::{Root, failure, status};

/// How many entries are in one answer.
const ENTRIES_AT_ONCE: usize = 256;
/// Folders of at most this many entries are listed in the order of their names; larger ones in the
/// order of the disk.
const SORTED_MOST: usize = 4096;

/// A folder that is being listed.
pub(super) struct Listing {
    folder: Dir,
    /// `None` if all names were read.
    stream: Option<ReadDir>,
    begun: bool,
    /// Names that were read and not yet delivered.
    names: VecDeque<String>,
}

impl Listing {
    pub(super) fn open(root: &Root, place: &Place) -> Result<Self, Failure> {
        let folder = root.open_folder(place.path())?;
        Ok(Listing {
            stream: Some(folder.entries().map_err(failure)?),
            folder,
            begun: false,
            names: VecDeque::new(),
        })
    }

    /// Returns the next entries, none at the end; and the names that were left out, because no path
    /// leads to them or nothing can be learnt of them.
    pub(super) fn next(&mut self) -> Result<(Vec<FolderEntry>, Vec<String>), Failure> {
        let mut entries = Vec::new();
        let mut left_out = Vec::new();
        // An answer without entries means the end: where all of a piece have vanished, the next
        // piece is the answer.
        while entries.is_empty() {
            if self.names.is_empty() {
                self.read(&mut left_out)?;
            }
            if self.names.is_empty() {
                break;
            }
            let count = self.names.len().min(ENTRIES_AT_ONCE);
            for name in self.names.drain(..count) {
                let metadata = match self.folder.symlink_metadata(&name) {
                    Ok(metadata) => metadata,
                    // Removed since its name was read.
                    Err(error) if error.kind() == ErrorKind::NotFound => continue,
                    Err(_) => {
                        left_out.push(name);
                        continue;
                    }
                };
                let status = status(&metadata);
                entries.push(if metadata.is_symlink() {
                    let target = target(&self.folder, &name);
                    let status = Status { kind: FileKind::Link, ..status };
                    FolderEntry { name, status, target }
                } else {
                    FolderEntry::new(name, status)
                });
            }
        }
        Ok((entries, left_out))
    }

    /// Reads names: as many as can be sorted the first time, one answer's worth later.
    fn read(&mut self, left_out: &mut Vec<String>) -> Result<(), Failure> {
        let first = !std::mem::replace(&mut self.begun, true);
        // One more than can be sorted, to learn whether there are more.
        let most = if first { SORTED_MOST + 1 } else { ENTRIES_AT_ONCE };
        while self.names.len() < most {
            let Some(entry) = self.stream.as_mut().and_then(Iterator::next) else {
                self.stream = None;
                break;
            };
            // A name that is not UTF-8 is left out: changed letters would lead to nothing, or to
            // another file.
            match entry.map_err(failure)?.file_name().into_string() {
                Ok(name) if is_temporary(&name) => {}
                Ok(name) if is_name(&name) => self.names.push_back(name),
                Ok(name) => left_out.push(name),
                Err(name) => left_out.push(name.to_string_lossy().into_owned()),
            }
        }
        if first && self.stream.is_none() {
            self.names.make_contiguous().sort_unstable();
        }
        Ok(())
    }
}

/// Returns where a link leads to, in words that can be told.
fn target(folder: &Dir, name: &str) -> Option<String> {
    let target = folder.read_link_contents(name).ok()?.into_os_string().into_string();
    target.ok().filter(|target| !target.chars().any(char::is_control))
}
