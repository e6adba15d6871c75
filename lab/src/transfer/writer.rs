//! What arrives, into a file, while more arrives.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::mpsc::{self, SyncSender};
use std::thread::{self, JoinHandle};

use rustix::fs::OFlags;
use stackwright::wire::{BufferTree, Leaf, Message as _};

/// How many datagrams may wait to be written.
const WAITING_MOST: usize = 256;

/// A thread that writes.
pub(super) struct Writer {
    give: SyncSender<(u64, BufferTree)>,
    thread: JoinHandle<io::Result<()>>,
}

impl Writer {
    /// For a new file, or one that is emptied.
    pub(super) fn start(path: &Path) -> io::Result<Self> {
        let mut output = Output::create(path)?;
        let (give, take) = mpsc::sync_channel::<(u64, BufferTree)>(WAITING_MOST);
        let write = move || {
            take.iter().try_for_each(|(at, message)| output.write(at, message))?;
            output.flush()
        };
        Ok(Writer { give, thread: thread::Builder::new().spawn(write)? })
    }

    /// Lets `message` be written at that place.
    pub(super) fn write(&self, at: u64, message: BufferTree) -> io::Result<()> {
        self.give.send((at, message)).map_err(|_| io::Error::other("cannot write received data"))
    }

    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.give);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the writer failed")))
    }
}

/// How many octets are written at once where they lie behind each other.
const TOGETHER: usize = 1 << 20;

/// What the disks of today want the place, the length and the memory of a direct write to be a
/// multiple of.
const SECTOR: usize = 4096;

/// A file, and what was not yet written of what lies behind each other.
///
/// What fills whole sectors goes to the disk past the page cache, where the file's system can do
/// that: of a file that is larger than the memory nothing useful would stay there, and to take
/// memory for it costs more than the disk.
struct Output {
    file: File,
    /// The same file, past the cache.
    direct: Option<File>,
    memory: Vec<u8>,
    /// Where the sectors in `memory` begin.
    first: usize,
    /// Where in the file what waits belongs.
    from: u64,
    waiting: usize,
}

impl Output {
    fn create(path: &Path) -> io::Result<Self> {
        let file = File::create(path)?;
        let direct = File::options()
            .write(true)
            .custom_flags(OFlags::DIRECT.bits().cast_signed())
            .open(path)
            .ok();
        let memory = vec![0; TOGETHER + SECTOR];
        let first = memory.as_ptr().align_offset(SECTOR);
        Ok(Output { file, direct, memory, first, from: 0, waiting: 0 })
    }

    fn write(&mut self, at: u64, message: BufferTree) -> io::Result<()> {
        if at != self.from + self.waiting as u64 {
            self.flush()?;
            self.from = at;
        }
        for leaf in message.leaves() {
            let Leaf::Octets(octets) = leaf else {
                unreachable!("what came from a network is in memory")
            };
            self.take(octets)?;
        }
        Ok(())
    }

    fn take(&mut self, mut octets: &[u8]) -> io::Result<()> {
        while !octets.is_empty() {
            // Up to where a direct write may end; what began elsewhere is shorter.
            let full = TOGETHER - (self.from % SECTOR as u64) as usize;
            let (now, later) = octets.split_at(octets.len().min(full - self.waiting));
            let free = self.first + self.waiting;
            self.memory[free..free + now.len()].copy_from_slice(now);
            self.waiting += now.len();
            octets = later;
            if self.waiting == full {
                self.flush()?;
            }
        }
        Ok(())
    }

    /// Writes what waits.
    fn flush(&mut self) -> io::Result<()> {
        let octets = &self.memory[self.first..self.first + self.waiting];
        let sectors =
            self.from.is_multiple_of(SECTOR as u64) && octets.len().is_multiple_of(SECTOR);
        match self.direct.as_ref().filter(|_| sectors) {
            // Some systems of files take the flag and not the write.
            Some(direct) if direct.write_all_at(octets, self.from).is_ok() => {}
            _ => self.file.write_all_at(octets, self.from)?,
        }
        self.from += self.waiting as u64;
        self.waiting = 0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_comes_in_any_order_and_any_length_is_in_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        let content: Vec<u8> = (0..3_000_000_u32).map(|number| ((number * 7) >> 3) as u8).collect();
        let writer = Writer::start(&path).expect("a thread");
        let mut places: Vec<_> = (0..content.len()).step_by(1000).collect();
        let half = places.len() / 2;
        places[half..].reverse();
        for at in places {
            let mut message = BufferTree::with_headroom(0, &content[at..at + 300]);
            message.join(BufferTree::with_headroom(0, &content[at + 300..at + 1000]));
            writer.write(at as u64, message).expect("taken");
        }
        writer
            .write(content.len() as u64, BufferTree::with_headroom(0, &[]))
            .expect("nothing is taken, too");
        writer.finish().expect("written");
        assert!(fs::read(&path).expect("the file") == content);
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        let writer = Writer::start(Path::new("/dev/full")).expect("a thread");
        let _ = writer.write(0, BufferTree::with_headroom(0, b"octets"));
        assert!(writer.finish().is_err());
    }
}
