//! The layout of chunks. All numbers are big-endian.

use stackwright_wire::{FieldValue, Header};

/// The header of each chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct ChunkHeader {
    /// What the chunk is.
    #[bits(8)]
    pub kind: ChunkKind,
    /// The stream that it belongs to: even where the side that opened the association opened it,
    /// else odd; each is larger than those before it.
    pub stream: u16,
    /// The length of the content, in octets, at most [`CHUNK_MOST`].
    pub octets: u16,
}

/// The most octets of a chunk's content: what is urgent waits no longer.
pub const CHUNK_MOST: usize = 16 << 10;

/// What a chunk is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChunkKind {
    /// Opens a stream; [`OpenChunk`] follows. Data may follow at once.
    Open = 0,
    /// Octets of the stream.
    Data = 1,
    /// How many more octets may be sent; a [`ChunkNumber`] follows.
    Credit = 2,
    /// Its sender has sent all of its half.
    Finish = 3,
    /// The stream is over for both sides; the code follows, a [`ChunkNumber`].
    Abort = 4,
    /// Answers an Open: there will be no such stream; the code follows.
    Refuse = 5,
}

/// The content of [`ChunkKind::Open`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct OpenChunk {
    /// The port from which its sender opens the stream.
    pub source_port: u16,
    /// The port of the listener.
    pub destination_port: u16,
    /// How many octets its sender takes, at least [`CREDIT_FIRST`](crate::CREDIT_FIRST).
    pub credit: u32,
}

/// The content of chunks that say a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct ChunkNumber {
    /// Octets of credit, or a code.
    pub number: u32,
}

impl ChunkKind {
    /// Returns the length of its content, where that is always the same.
    pub(crate) const fn content(self) -> Option<usize> {
        match self {
            ChunkKind::Open => Some(OpenChunk::LENGTH),
            ChunkKind::Data => None,
            ChunkKind::Credit | ChunkKind::Abort | ChunkKind::Refuse => Some(ChunkNumber::LENGTH),
            ChunkKind::Finish => Some(0),
        }
    }
}

impl FieldValue for ChunkKind {
    fn from_bits(bits: u64) -> Option<Self> {
        use ChunkKind::*;
        [Open, Data, Credit, Finish, Abort, Refuse].into_iter().find(|kind| *kind as u64 == bits)
    }

    fn to_bits(&self) -> u64 {
        *self as u64
    }
}
