//! The order in which peers ended.
//!
//! A look at the descriptors tells of each socket what happened since the last look: of two whose
//! peers ended meanwhile, not which was first. A second epoll(7) that waits for ends alone lists
//! sockets in the order in which they ended (its ready list is a queue).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use mio::Token;
use mio::net::TcpStream;
use rustix::event::{Timespec, epoll};
use stackwright_contract::Handle;

use crate::readiness::{lane, token};

/// How many ends are listed at once.
const AT_ONCE: usize = 32;

pub(super) struct Ends(OwnedFd);

impl Ends {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Ends(epoll::create(epoll::CreateFlags::CLOEXEC)?))
    }

    /// Listens for the end of an open association. One that is not open yet would be listed when
    /// it opens, and keep that place.
    pub(super) fn watch(&self, stream: &TcpStream, name: Handle) -> io::Result<()> {
        let name = epoll::EventData::new_u64(token(0, name).0 as u64);
        Ok(epoll::add(&self.0, stream, name, epoll::EventFlags::RDHUP | epoll::EventFlags::ET)?)
    }

    /// Calls `ended` for each that has ended since the last call, in that order.
    pub(super) fn each(&self, mut ended: impl FnMut(Handle)) {
        const NO_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        loop {
            let mut space = [MaybeUninit::<epoll::Event>::uninit(); AT_ONCE];
            // Where it fails, an end is told when it is read.
            let Ok((events, _)) = epoll::wait(&self.0, &mut space, Some(&NO_WAIT)) else {
                return;
            };
            for event in &*events {
                ended(lane(Token(event.data.u64() as usize)).1);
            }
            if events.len() < AT_ONCE {
                return;
            }
        }
    }
}
