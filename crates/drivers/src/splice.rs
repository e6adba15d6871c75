//! Octets that go from a socket into a file by way of a pipe of the kernel, without a copy into
//! this program (splice(2)).
//!
//! ```text
//! tcp/receive   socket ──▸ pipe     references to pages
//! files/worker  pipe   ──▸ file     the only copy
//! ```
//!
//! The TCP adapter fills a pipe and delivers what is in it as a [`Region`]; the disk empties it. A
//! pipe is filled again when no part of that region is held any more.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use stackwright_wire::Region;

/// The capacity of a pipe, in octets: as much as any user may ask for. Segments that do not fill
/// their pages take more of it.
const PIPE: usize = 1 << 20;
/// The most pipes of an adapter, two descriptors each.
const PIPES_MOST: usize = 8;
/// How many octets are copied at once into a file that takes none from a pipe.
const COPIED_AT_ONCE: usize = 64 << 10;

/// The pipes of one adapter.
#[derive(Default)]
pub(crate) struct Pipes {
    made: Vec<Arc<Pipe>>,
    /// None by default, and no more than there are once the system refused one.
    most: usize,
}

impl Pipes {
    /// Makes the pipes, which are opened when they are needed.
    pub(crate) fn on_demand() -> Self {
        Pipes { made: Vec::new(), most: PIPES_MOST }
    }

    /// Moves up to `limit` octets out of `socket`, without waiting. `None` if no pipe is available,
    /// or nothing was moved for a reason that only a read tells: the end, an urgent octet.
    ///
    /// # Errors
    /// Those of a read from the socket: `WouldBlock` if it has no octets.
    pub(crate) fn fill(&mut self, socket: impl AsFd, limit: usize) -> io::Result<Option<Region>> {
        let Some(mut pipe) = self.take() else { return Ok(None) };
        let moved = loop {
            match splice(&socket, None, &pipe.input, None, limit, flags()) {
                Err(Errno::INTR) => {}
                moved => break moved,
            }
        };
        if let (Ok(octets), Ok(content)) = (moved, pipe.content.get_mut()) {
            *content = 0..octets as u64;
        }
        let pipe = Arc::new(pipe);
        self.made.push(Arc::clone(&pipe));
        match moved {
            Ok(0) => Ok(None),
            Ok(length) => Ok(Some(Region { source: pipe, offset: 0, length })),
            // Not for this socket, or not in this sandbox.
            Err(Errno::INVAL | Errno::NOSYS | Errno::PERM) => {
                *self = Pipes::default();
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Closes the pipes that are not in use.
    pub(crate) fn close_free(&mut self) {
        self.made.retain(|pipe| Arc::strong_count(pipe) > 1);
    }

    /// Returns an empty pipe.
    fn take(&mut self) -> Option<Pipe> {
        // A pipe with one owner cannot get another meanwhile.
        while let Some(free) = self.made.iter().position(|pipe| Arc::strong_count(pipe) == 1) {
            match Arc::into_inner(self.made.swap_remove(free)) {
                Some(pipe) if pipe.is_empty() => return Some(pipe),
                _ => {} // its region was dropped: closed, with what is still in it
            }
        }
        if self.made.len() >= self.most {
            return None;
        }
        let pipe = Pipe::new();
        if pipe.is_err() {
            self.most = self.made.len();
        }
        pipe.ok()
    }
}

fn flags() -> SpliceFlags {
    SpliceFlags::MOVE | SpliceFlags::NONBLOCK
}

/// A pipe of the kernel: the source of a region whose octets are read once, and in order.
pub(crate) struct Pipe {
    input: OwnedFd,
    output: OwnedFd,
    /// Which octets of the region are still in it.
    content: Mutex<Range<u64>>,
}

impl Pipe {
    fn new() -> rustix::io::Result<Self> {
        let (output, input) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        fcntl_setpipe_size(&input, PIPE)?;
        Ok(Pipe { input, output, content: Mutex::new(0..0) })
    }

    fn is_empty(&self) -> bool {
        self.content.lock().is_ok_and(|content| content.is_empty())
    }

    /// Moves the octets from `offset` on, which are the next in the pipe, into `file` at `at`.
    ///
    /// # Errors
    /// Those of a write to the file; `InvalidData` where other octets are the next.
    pub(crate) fn pour(
        &self,
        offset: u64,
        length: usize,
        file: &File,
        at: &mut u64,
    ) -> io::Result<()> {
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        let end = offset + length as u64;
        if content.start != offset || content.end < end {
            return Err(io::ErrorKind::InvalidData.into());
        }
        while content.start < end {
            let left = (end - content.start) as usize;
            let moved = match splice(&self.output, None, file, Some(at), left, flags()) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(octets) => octets,
                Err(Errno::INTR) => 0,
                Err(Errno::INVAL) => self.copy(left, file, at)?,
                Err(error) => return Err(error.into()),
            };
            content.start += moved as u64;
        }
        Ok(())
    }

    /// Moves a few octets into a file of a file system that takes none from a pipe.
    fn copy(&self, left: usize, file: &File, at: &mut u64) -> io::Result<usize> {
        let mut octets = vec![0; left.min(COPIED_AT_ONCE)];
        let read = rustix::io::read(&self.output, &mut octets[..])?;
        file.write_all_at(&octets[..read], *at)?;
        *at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::time::Duration;

    use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};
    use rustix::net::{RecvFlags, recv};

    use super::*;

    /// Returns a socket in which `octets` wait.
    fn socket(octets: &[u8]) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (socket, _) = listener.accept().unwrap();
        peer.write_all(octets).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        if !octets.is_empty() {
            let mut there = vec![0; octets.len()];
            let all = RecvFlags::PEEK | RecvFlags::WAITALL;
            assert_eq!(recv(&socket, &mut there[..], all).unwrap().1, octets.len());
        }
        socket.set_nonblocking(true).unwrap();
        (socket, peer)
    }

    fn pattern(length: usize) -> Vec<u8> {
        (0..length).map(|index| (index % 251) as u8).collect()
    }

    fn pipe(region: &Region) -> &Pipe {
        region.source.downcast_ref().unwrap()
    }

    #[test]
    fn octets_are_poured_once_and_in_order() {
        let octets = pattern(30_000);
        let (socket, _peer) = socket(&octets);
        let region = Pipes::on_demand().fill(&socket, 20_000).unwrap().unwrap();
        assert_eq!((region.offset, region.length), (0, 20_000), "no more than asked");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::create(&path).unwrap();
        let (pipe, mut at) = (pipe(&region), 0);
        assert!(pipe.pour(5000, 1000, &file, &mut at).is_err(), "others come first");
        pipe.pour(0, 5000, &file, &mut at).unwrap();
        assert!(pipe.pour(0, 5000, &file, &mut at).is_err(), "they are gone");
        assert!(pipe.pour(5000, 15_001, &file, &mut at).is_err(), "there are not so many");
        pipe.pour(5000, 15_000, &file, &mut at).unwrap();
        assert_eq!(at, 20_000);
        assert!(std::fs::read(&path).unwrap() == octets[..20_000]);
    }

    #[test]
    fn a_file_that_takes_nothing_from_a_pipe_gets_copies() {
        let octets = pattern(50_000);
        let (socket, _peer) = socket(&octets);
        let region = Pipes::on_demand().fill(&socket, octets.len()).unwrap().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let file = File::options().create(true).append(true).open(&path).unwrap();
        let mut at = 0;
        let direct = splice(&pipe(&region).output, None, &file, Some(&mut at), 1, flags());
        assert_eq!(direct, Err(Errno::INVAL), "else this tests nothing");
        pipe(&region).pour(0, region.length, &file, &mut at).unwrap();
        assert_eq!(at, region.length as u64);
        assert!(std::fs::read(&path).unwrap() == octets[..region.length]);
    }

    #[test]
    fn what_a_file_does_not_take_is_an_error() {
        let (socket, _peer) = socket(&pattern(50_000));
        let region = Pipes::on_demand().fill(&socket, 50_000).unwrap().unwrap();
        let file = File::from(memfd_create("small", MemfdFlags::ALLOW_SEALING).unwrap());
        file.set_len(8192).unwrap();
        fcntl_add_seals(&file, SealFlags::GROW).unwrap();
        let why = pipe(&region).pour(0, region.length, &file, &mut 0).unwrap_err();
        assert_eq!(Errno::from_io_error(&why), Some(Errno::PERM));
        let why =
            pipe(&region).pour(8192, 1, &File::open("/dev/null").unwrap(), &mut 0).unwrap_err();
        assert_eq!(
            Errno::from_io_error(&why),
            Some(Errno::BADF),
            "what was taken is not given again"
        );
    }

    #[test]
    fn pipes_are_few_and_those_that_nobody_holds_are_filled_again() {
        let (socket, _peer) = socket(&pattern(1000));
        let mut pipes = Pipes::on_demand();
        let mut held: Vec<Region> =
            (0..PIPES_MOST).map(|_| pipes.fill(&socket, 10).unwrap().unwrap()).collect();
        assert!(pipes.fill(&socket, 10).unwrap().is_none());

        let file = tempfile::tempfile().unwrap();
        let emptied = held.remove(3);
        pipe(&emptied).pour(0, 10, &file, &mut 0).unwrap();
        drop(emptied);
        let region = pipes.fill(&socket, 10).unwrap().unwrap();
        assert_eq!(pipes.made.len(), PIPES_MOST);
        held.push(region);

        // A pipe with octets in it would deliver them with the next region.
        drop(held.remove(0));
        let region = pipes.fill(&socket, 10).unwrap().unwrap();
        let (mut at, start) = (0, 10 * (PIPES_MOST + 1));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        pipe(&region).pour(0, 10, &File::create(&path).unwrap(), &mut at).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), pattern(1000)[start..start + 10]);

        drop(region);
        pipes.close_free();
        assert_eq!(pipes.made.len(), PIPES_MOST - 1);
    }

    #[test]
    fn what_a_socket_has_not_is_told_as_a_read_tells_it() {
        let (socket, peer) = socket(b"");
        let mut pipes = Pipes::on_demand();
        assert_eq!(pipes.fill(&socket, 10).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert!(Pipes::default().fill(&socket, 10).unwrap().is_none());
        rustix::net::sockopt::set_socket_linger(&peer, Some(Duration::ZERO)).unwrap();
        drop(peer);
        let why = loop {
            match pipes.fill(&socket, 10) {
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                other => break other.unwrap_err(),
            }
        };
        assert_eq!(why.kind(), io::ErrorKind::ConnectionReset);
    }
}
