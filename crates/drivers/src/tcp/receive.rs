//! From the socket upward, within the credit that the upper layer gave.

use std::io::{self, ErrorKind, Read};
use std::mem::{self, MaybeUninit};

use mio::net::TcpStream;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use stackwright_contract::services::{Ended, StreamsIndication};
use stackwright_contract::{Handle, Outlet};
use stackwright_wire::{Message, Pool};

use super::gather::{Found, Gathering};
use super::send::Broken;
use super::{RECEIVE_TURN, Tcp};
use crate::readiness::Ready;
use crate::splice::Pipes;

/// The length of the first reads. Later ones take a pipe, or else whole blocks, once a read fills
/// that: a dialogue, or a file that is there as a whole, never touches the sixteen pages of a
/// block.
const FIRST_READ: usize = 4 << 10;

/// Octets of an association that come one block a turn, which is given back before the next one is
/// taken: fresh blocks are fresh pages, and cost a transfer of 1 MB more than the turns do. A
/// longer transfer earns its blocks.
const MODEST: usize = 1 << 20;

/// How many octets are read at a time of those that are discarded.
const DISCARDED: usize = 16 << 10;

pub(super) struct Receiving {
    /// Credit upward, in octets.
    pub(super) credit: usize,
    readable: bool,
    /// The peer has finished or the association is broken; octets may still precede that end.
    ending: bool,
    /// Urgent octets are among what can be read: a read stops before them.
    urgent: bool,
    /// The association broke before the peer had finished: no end that is read is one.
    cut: bool,
    /// The end was read.
    pub(super) finished: bool,
    /// What the last read found worth it.
    next: Next,
    /// The upper takes regions, too.
    pub(super) unread: bool,
    /// How many octets have arrived so far, counted up to [`MODEST`].
    came: usize,
    pub(super) gathering: Gathering,
}

/// Where the next read goes: the more octets there are, the less is done with each.
#[derive(Clone, Copy, PartialEq)]
enum Next {
    Little,
    Block,
    /// A pipe of the kernel, where there may be one.
    Pipe,
}

impl Receiving {
    pub(super) fn new(credit: usize) -> Self {
        Receiving {
            credit,
            readable: false,
            ending: false,
            cut: false,
            urgent: false,
            finished: false,
            next: Next::Little,
            unread: false,
            came: 0,
            gathering: Gathering::default(),
        }
    }

    /// The socket says so.
    pub(super) fn ready(&mut self, ready: &Ready) {
        self.readable |= ready.readable;
        self.ending |= ready.ending;
        self.urgent |= ready.urgent;
        if ready.readable {
            self.gathering.woken();
        }
    }

    /// Nothing can be sent any more: what arrived before is read to its end.
    pub(super) fn breaks(&mut self, how: Broken) {
        self.cut |= how == Broken::Midway;
        self.readable |= !mem::replace(&mut self.ending, true);
    }

    /// Whether nothing is left to read.
    pub(super) fn has_read_all(&self) -> bool {
        self.finished || !self.readable
    }

    /// Begins to gather octets that are worth it; whether it did.
    pub(super) fn gathers(&mut self, stream: &TcpStream) -> bool {
        let worth_it =
            self.unread && self.came == MODEST && !self.readable && !self.gathering.is_on();
        if worth_it {
            self.gathering.begin(stream);
        }
        worth_it && self.gathering.is_on()
    }

    /// Looks whether it is still worth it.
    pub(super) fn look(&mut self, stream: &TcpStream) -> Found {
        if self.readable {
            return Found::Flow; // it is the upper that lets them wait
        }
        let found = self.gathering.look(stream);
        self.readable = found != Found::Flow;
        if found == Found::Rest {
            self.came = 0;
        }
        found
    }

    /// Delivers up to a fair share, but tells no end that it reads; `true` where there is more.
    pub(super) fn turn<M: Message>(
        &mut self,
        stream: &mut TcpStream,
        association: Handle,
        pool: &Pool<M>,
        pipes: &mut Pipes,
        out: &mut dyn Outlet<Tcp<M>>,
    ) -> Result<bool, Ended> {
        let mut share = if self.came < MODEST { pool.block() } else { RECEIVE_TURN };
        while self.readable && !self.finished {
            if self.credit == 0 {
                // Only the end may still be told: it needs no credit.
                if !self.ending || stream.peek(&mut [0]).map_err(|_| Ended::Reset(0))? > 0 {
                    return Ok(false);
                }
                self.finish()?;
                break;
            }
            if share == 0 {
                return Ok(true);
            }
            if let Some(message) = self.read::<M>(stream, pool, pipes)? {
                share = share.saturating_sub(message.len());
                self.credit -= message.len();
                self.came = MODEST.min(self.came + message.len());
                out.indicate(StreamsIndication::Delivered {
                    association,
                    batch: message.into(),
                    properties: Default::default(),
                });
            } else if self.readable {
                self.finish()?;
            }
        }
        Ok(false)
    }

    /// Reads up to a fair share and forgets it; `true` where there is more.
    pub(super) fn discard(&mut self, stream: &mut TcpStream) -> Result<bool, Ended> {
        let mut share = RECEIVE_TURN;
        let mut space = [0; DISCARDED];
        while self.readable && !self.finished {
            if share == 0 {
                return Ok(true);
            }
            match stream.read(&mut space) {
                Ok(0) => self.finished = true,
                Ok(octets) => {
                    share = share.saturating_sub(octets);
                    self.drained(octets, space.len());
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.nothing(&error)?;
                }
            }
        }
        Ok(false)
    }

    fn finish(&mut self) -> Result<(), Ended> {
        if self.cut {
            return Err(Ended::Reset(0));
        }
        self.finished = true;
        Ok(())
    }

    /// One read; `None` is the end while the socket is `readable`, and nothing to read otherwise.
    fn read<M: Message>(
        &mut self,
        stream: &mut TcpStream,
        pool: &Pool<M>,
        pipes: &mut Pipes,
    ) -> Result<Option<M>, Ended> {
        match self.next {
            Next::Little => return self.read_little(stream),
            // Urgent octets hide what is behind them from a pipe.
            Next::Pipe if self.unread && !self.urgent => {
                let message = self.splice(stream, pool, pipes)?;
                if message.is_some() || !self.readable {
                    return Ok(message);
                }
            }
            Next::Block | Next::Pipe => {}
        }
        let mut block = pool.take();
        let limit = self.credit.min(block.len());
        let got = loop {
            match stream.read(&mut block[..limit]) {
                Ok(octets) => break octets,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => break self.nothing(&error)?,
            }
        };
        self.drained(got, limit);
        self.next = if got == block.len() { Next::Pipe } else { Next::Block };
        if got > block.len() / 4 {
            return Ok(Some(M::from_block(block, 0, got)));
        }
        // A short read is copied: otherwise a peer could make this end hold nearly empty
        // blocks, because credit counts octets, not blocks.
        let message = (got > 0).then(|| M::with_headroom(0, &block[..got]));
        pool.give(block);
        Ok(message)
    }

    /// The same where little is expected, into memory that need not be cleared before.
    fn read_little<M: Message>(&mut self, stream: &TcpStream) -> Result<Option<M>, Ended> {
        let mut space = [MaybeUninit::uninit(); FIRST_READ];
        let limit = self.credit.min(FIRST_READ);
        let octets: &[u8] = loop {
            match rustix::net::recv(stream, &mut space[..limit], RecvFlags::empty()) {
                Ok(((octets, _), _)) => break octets,
                Err(Errno::INTR) => {}
                Err(error) => {
                    self.nothing(&error.into())?;
                    break &[];
                }
            }
        };
        self.drained(octets.len(), limit);
        if octets.len() == FIRST_READ {
            // A block that is not there yet is fresh pages, a pipe is none.
            self.next = Next::Pipe;
        }
        Ok((!octets.is_empty()).then(|| M::with_headroom(0, octets)))
    }

    /// The same without reading it. A pipe for a few octets would be a waste, of which there are
    /// eight.
    fn splice<M: Message>(
        &mut self,
        stream: &TcpStream,
        pool: &Pool<M>,
        pipes: &mut Pipes,
    ) -> Result<Option<M>, Ended> {
        match pipes.fill(stream, self.credit) {
            Ok(Some(region)) => {
                if region.length < self.credit.min(pool.block()) {
                    // Where the end is near, nothing is left but to read that.
                    self.next = if self.ending { Next::Little } else { Next::Block };
                }
                Ok(M::from_region(region).ok())
            }
            Ok(None) => Ok(None),
            Err(error) => self.nothing(&error).map(|_| None),
        }
    }

    /// Nothing was read: for now, or never again.
    fn nothing(&mut self, error: &io::Error) -> Result<usize, Ended> {
        if error.kind() != ErrorKind::WouldBlock {
            return Err(Ended::Reset(0));
        }
        self.readable = false;
        self.urgent = false;
        Ok(0)
    }

    /// A short read has drained the socket, and the next octet will be reported: no read is needed
    /// to learn that there is nothing. Unless the end was reported already, or urgent octets before
    /// which reads stop: then only reading on finds them.
    fn drained(&mut self, octets: usize, limit: usize) {
        if octets > 0 && octets < limit && !self.ending && !self.urgent {
            self.readable = false;
        }
    }
}
