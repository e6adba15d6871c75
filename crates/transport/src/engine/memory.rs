//! Memory that associations share.

use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_wire::{Message, Pool};

use super::batch::Blocks;
use crate::limits::{Budget, Limits};
use crate::words::Report;

/// The number of batches that are written at once at most, in gapped buffers: work per write is
/// then done once for all of them. Four cost as much more in the kernel as they saved: a longer
/// burst waits in a longer queue, and in a colder cache.
pub(super) const RUNS_MOST: usize = 2;

/// The octets of the longest block of the pool that holds a packet of the engine's own.
const BLOCK_MOST: usize = 4096;

/// Memory that all associations of a transport share, so that an idle one has nearly none.
#[derive(Debug)]
pub struct Memory<M: Message> {
    /// The pool of blocks of packets. A stack has one for all its layers: a block that one of them
    /// takes, another gives back.
    pub pool: Arc<Pool<M>>,
    /// The octets to leave free before a packet, for the headers of the layers below.
    pub headroom: usize,
    pub(crate) budget: Arc<Budget>,
    pub(super) blocks: Blocks<M>,
    pub(super) header: Vec<u8>,
    pub(super) heard: Report,
    pub(super) saying: Report,
}

impl<M: Message> Memory<M> {
    /// Creates memory for packets of at most `packet` octets, with `headroom` octets free before
    /// them; at most `most` blocks are kept.
    pub fn new(packet: usize, headroom: usize, most: usize) -> Self {
        Memory::sharing(Arc::new(Pool::new(headroom + packet, most)), headroom)
    }

    /// Creates memory whose blocks come from `pool`, with `headroom` octets free before packets.
    pub fn sharing(pool: Arc<Pool<M>>, headroom: usize) -> Self {
        let blocks = Blocks::new(0);
        let (heard, saying) = (Report::default(), Report::default());
        let budget = Budget::new(Limits::NONE);
        Memory { pool, headroom, budget, blocks, header: Vec::new(), heard, saying }
    }

    /// Limits what all associations that share this memory reserve together for what their peers
    /// may make them hold.
    #[must_use]
    pub fn limited(self, limits: Limits) -> Self {
        Memory { budget: Budget::new(limits), ..self }
    }

    /// Returns how many octets of the [limit](Memory::limited) are reserved.
    pub fn reserved(&self) -> usize {
        self.budget.reserved()
    }

    /// Writes packets that [leave together](super::Association::transmit) into blocks of `octets` octets,
    /// with `headroom` before them: as many as the driver below sends in one system call.
    #[must_use]
    pub fn with_runs(self, octets: usize) -> Self {
        Memory { blocks: Blocks::new(self.headroom + octets), ..self }
    }

    /// Returns the octets of a block that holds several batches.
    pub(super) fn several_runs(&self) -> usize {
        self.blocks.octets() * RUNS_MOST
    }

    /// Makes the header that was written a packet of its own.
    pub(super) fn packet(&self) -> M {
        let (start, end) = (self.headroom, self.headroom + self.header.len());
        // A long block for a short packet would be held as long as that waits.
        let takes = (end..=BLOCK_MOST).contains(&self.pool.block());
        let block = if takes { Some(self.pool.take()) } else { self.pool.again(end) };
        let Some(mut block) = block else { return M::with_headroom(self.headroom, &self.header) };
        block[start..end].copy_from_slice(&self.header);
        M::from_block(block, start, end)
    }
}
