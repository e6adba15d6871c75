//! What is kept of frames on their way.

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::services::Credit;
use stackwright_contract::{Duration, Instant, Outlet};
use stackwright_wire::{Block as _, Message, Pool};

use crate::Kiss;
use crate::escape::escaped_most;
use crate::frame::{OVERHEAD, write};

pub(crate) type Out<'a, M> = &'a mut dyn Outlet<Kiss<M>>;

/// Octets that wait for the credit of the line.
pub(crate) struct Outgoing<M> {
    pub(crate) octets: M,
    pub(crate) what: What,
}

/// What octets on their way to the line are.
#[derive(Clone, Copy)]
pub(crate) enum What {
    /// The frame of a port.
    Frame { port: u8, octets: usize, mark: Option<u16>, acknowledged: bool },
    /// A parameter, or a question to the TNC.
    Command,
    /// What brings the TNC into KISS: the rest waits until it is there.
    Enter,
}

/// One port of the TNC.
#[derive(Default)]
pub(crate) struct Port {
    /// What the layer above may send.
    pub(crate) credit: Credit,
    /// The frames that the TNC was handed and that have not left, the oldest first.
    pub(crate) leaving: VecDeque<Leaving>,
    /// When the last of them will have left, as far as is known.
    pub(crate) free_at: Instant,
}

/// A frame that the TNC was handed.
pub(crate) struct Leaving {
    pub(crate) octets: usize,
    pub(crate) mark: Option<u16>,
    /// The TNC says when it has left.
    pub(crate) acknowledged: bool,
    /// Its time on the air.
    pub(crate) air: Duration,
    /// When it will have left, as far as is known.
    pub(crate) at: Instant,
}

impl Leaving {
    pub(crate) fn credit(&self) -> Credit {
        Credit { octets: self.octets, messages: 1 }
    }
}

/// The memory of frames. Blocks go around between this layer and its neighbours: those of the line
/// come back through the pool, those of delivered frames are watched until nobody holds them.
pub(crate) struct Memory<M: Message> {
    pool: Arc<Pool<M>>,
    lent: Vec<M>,
}

/// How many delivered frames are watched: as many as are held above at one time, mostly.
const LENT_MOST: usize = 64;

impl<M: Message> Memory<M> {
    pub(crate) fn new(pool: Arc<Pool<M>>) -> Self {
        Memory { pool, lent: Vec::with_capacity(if M::SHARES { LENT_MOST } else { 0 }) }
    }

    /// Returns a block of `octets` octets or somewhat more.
    pub(crate) fn block(&self, octets: usize) -> M::Block {
        self.pool.again(octets).unwrap_or_else(|| M::Block::zeroed(octets))
    }

    /// Returns a copy of `octets` in a block that has room for `most`.
    pub(crate) fn frame(&mut self, octets: &[u8], most: usize) -> M {
        self.pool.regain(&mut self.lent);
        let mut block = self.block(most);
        block[..octets.len()].copy_from_slice(octets);
        let frame = M::from_block(block, 0, octets.len());
        if M::SHARES && self.lent.len() < LENT_MOST {
            self.lent.push(frame.share());
        }
        frame
    }

    /// Returns data of at most `longest` octets as it is on the line; see [`write`].
    pub(crate) fn framed(
        &self,
        longest: usize,
        port: u8,
        id: Option<u16>,
        data: &M,
        checked: bool,
    ) -> M {
        let mut block = self.block(escaped_most(longest + OVERHEAD));
        let length = write(&mut block, port, id, data, checked);
        M::from_block(block, 0, length)
    }

    pub(crate) fn reclaim(&self, message: M) {
        message.reclaim(&self.pool);
    }
}
