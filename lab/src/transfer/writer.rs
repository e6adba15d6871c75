//! What arrives, into a file, while more arrives.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, IoSlice};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use stackwright::wire::{BufferTree, Leaf, Message as _};

/// How many datagrams may wait to be written.
const WAITING_MOST: usize = 256;

/// Of how many pieces one system call writes: the system's own bound (`IOV_MAX`).
const PIECES_MOST: usize = 1024;

/// How many octets are written by one system call, unless one datagram has more. The kernel takes memory for a file in pieces as
/// long as what is written: by 10 000 octets at a time, a file took twice the processor time.
const TOGETHER: usize = 1 << 20;

/// A thread that writes.
pub(super) struct Writer {
    give: SyncSender<(u64, BufferTree)>,
    thread: JoinHandle<io::Result<()>>,
}

impl Writer {
    pub(super) fn start(file: File) -> io::Result<Self> {
        let (give, take) = mpsc::sync_channel(WAITING_MOST);
        Ok(Writer { give, thread: thread::Builder::new().spawn(move || write_all(&file, &take))? })
    }

    /// Lets `message` be written at that place.
    pub(super) fn write(&self, at: u64, message: BufferTree) -> io::Result<()> {
        self.give.send((at, message)).map_err(|_| io::Error::other("what arrived cannot be written"))
    }

    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.give);
        self.thread.join().unwrap_or_else(|_| Err(io::Error::other("the writer has stopped")))
    }
}

/// Writes all that is given. What waits, and goes on where the one before it ends, is one call to the system.
fn write_all(file: &File, take: &Receiver<(u64, BufferTree)>) -> io::Result<()> {
    let mut next = None;
    let mut together = VecDeque::new();
    while let Some((at, message)) = next.take().or_else(|| take.recv().ok()) {
        let mut length = message.len();
        together.push_back(message);
        while length < TOGETHER {
            match take.try_recv() {
                Ok((place, message)) if place == at + length as u64 => {
                    length += message.len();
                    together.push_back(message);
                }
                other => {
                    next = other.ok();
                    break;
                }
            }
        }
        write_at(file, at, &mut together)?;
    }
    Ok(())
}

/// Writes the pieces of messages from where they came to.
fn write_at(file: &File, mut at: u64, together: &mut VecDeque<BufferTree>) -> io::Result<()> {
    while !together.is_empty() {
        let leaves = together.iter().flat_map(|message| message.leaves());
        let pieces: Vec<_> = leaves.filter_map(octets).take(PIECES_MOST).map(IoSlice::new).collect();
        let mut written = rustix::io::pwritev(file, &pieces, at)?;
        if written == 0 && pieces.iter().any(|piece| !piece.is_empty()) {
            return Err(io::ErrorKind::WriteZero.into());
        }
        at += written as u64;
        while let Some(message) = together.front_mut() {
            if written < message.len() {
                message.advance(written);
                break;
            }
            written -= message.len();
            together.pop_front();
        }
    }
    Ok(())
}

/// What came from a network is in memory.
fn octets(leaf: Leaf<'_>) -> Option<&[u8]> {
    match leaf {
        Leaf::Octets(octets) => Some(octets),
        Leaf::Region(_) => None,
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
        let content: Vec<u8> = (0..3_000_000_u32).map(|number| (number * 7 >> 3) as u8).collect();
        let writer = Writer::start(File::create(&path).expect("a file")).expect("a thread");
        let mut places: Vec<_> = (0..content.len()).step_by(1000).collect();
        let half = places.len() / 2;
        places[half..].reverse();
        for at in places {
            let mut message = BufferTree::with_headroom(0, &content[at..at + 300]);
            message.join(BufferTree::with_headroom(0, &content[at + 300..at + 1000]));
            writer.write(at as u64, message).expect("taken");
        }
        writer.write(content.len() as u64, BufferTree::with_headroom(0, &[])).expect("nothing is taken, too");
        writer.finish().expect("written");
        assert!(fs::read(&path).expect("the file") == content);
    }

    #[test]
    fn what_cannot_be_written_is_said() {
        let full = File::options().write(true).open("/dev/full").expect("a device without room");
        let writer = Writer::start(full).expect("a thread");
        let _ = writer.write(0, BufferTree::with_headroom(0, b"octets"));
        assert!(writer.finish().is_err());
    }
}
