//! A server that takes over from another one, with the sockets at which programs ask (unix(7),
//! `SCM_RIGHTS`).
//!
//! ```text
//!   successor                              predecessor
//!       connects                  ──────►
//!                                 ◄──────  the names of its sockets, and the sockets
//!       serves, as the other does
//!       "ready 30"                ──────►  accepts no programs; those it has may go on for 30 s
//!       "over"                    ──────►  need not accept any again
//! ```
//!
//! Both accept from one queue, so that nobody is refused in between. A successor that is killed
//! does not say that it is over: the predecessor then accepts programs again.

use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::granted::PATIENCE;

/// Sockets that are handed over at most, and octets of their names.
const SOCKETS_MOST: usize = 64;
const NAMES_MOST: usize = 16 << 10;
/// Octets of the longest line of a successor.
const SAID_MOST: usize = 32;

/// Sockets by their names.
pub type NamedSockets = Vec<(String, OwnedFd)>;

/// The server that this one takes over from. When it is dropped, the other one is told that it is
/// over.
#[derive(Debug)]
pub struct Predecessor(UnixStream);

impl Predecessor {
    /// Asks the server at this path for its sockets; returns nothing where there is none.
    ///
    /// # Errors
    /// The server's: it does not answer, as long as another one takes over.
    pub fn ask(path: &Path) -> io::Result<Option<(Self, NamedSockets)>> {
        let server = match UnixStream::connect(path) {
            Ok(server) => server,
            Err(why)
                if matches!(why.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
            {
                return Ok(None);
            }
            Err(why) => return Err(why),
        };
        server.set_read_timeout(Some(PATIENCE))?;
        let mut names = vec![0; NAMES_MOST];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_MOST))];
        let mut came = RecvAncillaryBuffer::new(&mut space);
        let into = &mut [IoSliceMut::new(&mut names)];
        let octets = recvmsg(&server, into, &mut came, RecvFlags::CMSG_CLOEXEC)?.bytes;
        if octets == 0 {
            return Ok(None); // it has ended
        }
        let sockets = came.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(descriptors) => Some(descriptors),
            _ => None,
        });
        let sockets: Vec<_> = sockets.flatten().collect();
        let names = std::str::from_utf8(&names[..octets]).map_err(io::Error::other)?;
        let names: Vec<_> = names.lines().map(str::to_owned).collect();
        if names.len() != sockets.len() {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(Some((Predecessor(server), names.into_iter().zip(sockets).collect())))
    }

    /// Tells it to accept no more programs, and that those it has may go on for so long.
    pub fn retire(&mut self, grace: Duration) {
        // One that has ended need not hear it.
        let _ = self.0.write_all(format!("ready {}\n", grace.as_secs()).as_bytes());
    }
}

impl Drop for Predecessor {
    fn drop(&mut self) {
        let _ = self.0.write_all(b"over\n"); // it may have ended
    }
}

/// A server's side: it lets another one take over.
#[derive(Debug)]
pub struct HandoverHost {
    listener: UnixListener,
    sockets: NamedSockets,
    successor: Option<Successor>,
    is_over: bool,
}

#[derive(Debug)]
struct Successor {
    line: UnixStream,
    said: Vec<u8>,
    is_ready: bool,
}

/// What a successor has said, or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Succession {
    /// It serves; programs that this server has may go on for so long.
    Ready(Duration),
    /// It was ready, and is gone: this server has to go on.
    Gone,
}

impl HandoverHost {
    /// Makes a server that hands over these sockets, by their names, to one that asks here.
    pub fn new(listener: OwnedFd, sockets: NamedSockets) -> Self {
        HandoverHost { listener: listener.into(), sockets, successor: None, is_over: false }
    }

    /// Waits for a successor, or for its next word, for at most `wait`.
    ///
    /// # Errors
    /// The operating system's.
    pub fn turn(&mut self, wait: Duration) -> io::Result<Option<Succession>> {
        let descriptor = match &self.successor {
            Some(successor) => successor.line.as_fd(),
            None => self.listener.as_fd(),
        };
        let heard = if self.is_over { PollFlags::empty() } else { PollFlags::IN };
        let mut polled = [PollFd::from_borrowed_fd(descriptor, heard)];
        let polled = &mut polled[usize::from(self.is_over)..];
        let time = Timespec::try_from(wait).map_err(io::Error::other)?;
        match poll(polled, Some(&time)) {
            Ok(0) | Err(Errno::INTR) => return Ok(None),
            Ok(_) => {}
            Err(why) => return Err(why.into()),
        }
        let Some(successor) = &mut self.successor else {
            match self.listener.accept() {
                Ok((line, _)) => self.hand_over(line),
                // The next look would find the same.
                Err(why) if why.kind() != ErrorKind::WouldBlock => thread::sleep(wait),
                Err(_) => {}
            }
            return Ok(None);
        };
        let was_ready = successor.is_ready;
        Ok(match successor.next_word() {
            Word::None => None,
            Word::Ready(grace) => Some(Succession::Ready(grace)),
            Word::Over => {
                (self.successor, self.is_over) = (None, was_ready);
                None
            }
            Word::Gone => {
                self.successor = None;
                was_ready.then_some(Succession::Gone)
            }
        })
    }

    fn hand_over(&mut self, line: UnixStream) {
        let names: Vec<_> = self.sockets.iter().map(|(name, _)| name.as_str()).collect();
        let names = names.join("\n");
        let sockets: Vec<_> = self.sockets.iter().map(|(_, socket)| socket.as_fd()).collect();
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(SOCKETS_MOST))];
        let mut carried = SendAncillaryBuffer::new(&mut space);
        let fits = names.len() <= NAMES_MOST
            && carried.push(SendAncillaryMessage::ScmRights(&sockets))
            && line.set_nonblocking(true).is_ok();
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let names = [IoSlice::new(names.as_bytes())];
        if fits && sendmsg(&line, &names, &mut carried, flags).is_ok() {
            self.successor = Some(Successor { line, said: Vec::new(), is_ready: false });
        }
    }
}

enum Word {
    None,
    Ready(Duration),
    Over,
    Gone,
}

impl Successor {
    fn next_word(&mut self) -> Word {
        // An octet at a time: these are two lines in the life of a server.
        let mut octet = [0];
        loop {
            match self.line.read(&mut octet) {
                Ok(1) if octet == *b"\n" => break,
                Ok(1) if self.said.len() < SAID_MOST => self.said.push(octet[0]),
                Err(why) if why.kind() == ErrorKind::WouldBlock => return Word::None,
                _ => return Word::Gone,
            }
        }
        let said = std::mem::take(&mut self.said);
        match str::from_utf8(&said) {
            Ok("over") => Word::Over,
            Ok(said) => {
                let seconds = said.strip_prefix("ready ").and_then(|it| it.parse::<u32>().ok());
                self.is_ready |= seconds.is_some();
                seconds.map_or(Word::Gone, |it| Word::Ready(Duration::from_secs(it.into())))
            }
            Err(_) => Word::Gone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unix;

    const WAIT: Duration = Duration::from_millis(5);

    fn word(host: &mut HandoverHost) -> Option<Succession> {
        (0..3).find_map(|_| host.turn(WAIT).expect("it goes on"))
    }

    #[test]
    fn a_server_goes_on_until_its_successor_is_ready_and_again_when_that_one_is_killed() {
        let folder = tempfile::tempdir().expect("a folder");
        let [path, control] = ["a", "control"].map(|name| folder.path().join(name));
        assert!(Predecessor::ask(&control).expect("it can be asked").is_none());
        let [a, listener] =
            [&path, &control].map(|path| unix::bind(path, 0o600).expect("a folder of ours"));
        let mut host = HandoverHost::new(listener, vec![("a".into(), a)]);
        // It asks in a thread, as the server answers in this one.
        let asks = |host: &mut HandoverHost| {
            let control = control.clone();
            let asks = thread::spawn(move || Predecessor::ask(&control));
            while host.successor.is_none() {
                assert_eq!(host.turn(WAIT).expect("it goes on"), None);
            }
            let asked = asks.join().expect("it asked").expect("it is answered");
            asked.expect("a server is there")
        };
        // One that ends before it is ready, or says noise, has changed nothing.
        drop(asks(&mut host));
        assert_eq!((word(&mut host), host.successor.is_none()), (None, true));
        let (mut noisy, _) = asks(&mut host);
        noisy.0.write_all(&[b'r'; 100]).expect("it is read");
        assert_eq!((word(&mut host), host.successor.is_none()), (None, true));
        // One that is killed when it was ready does not say that it is over.
        let (mut killed, sockets) = asks(&mut host);
        let names: Vec<_> = sockets.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a"]);
        killed.retire(Duration::from_secs(7));
        assert_eq!(word(&mut host), Some(Succession::Ready(Duration::from_secs(7))));
        killed.0.shutdown(std::net::Shutdown::Both).expect("it is open");
        assert_eq!(word(&mut host), Some(Succession::Gone));
        // What was handed over is the same socket.
        let [(_, a)] = <[_; 1]>::try_from(sockets).expect("one socket");
        let program = UnixStream::connect(&path).expect("it is there");
        UnixListener::from(a).accept().expect("it is accepted by the other one");
        drop((program, killed));
        let (mut next, _) = asks(&mut host);
        next.retire(Duration::ZERO);
        assert_eq!(word(&mut host), Some(Succession::Ready(Duration::ZERO)));
        drop(next);
        assert_eq!((word(&mut host), host.is_over), (None, true));
    }
}
