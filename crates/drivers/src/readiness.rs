//! The readiness of descriptors, as a service.

use std::convert::Infallible;

use mio::Token;
use stackwright_contract::words::{InLane, Outside};
use stackwright_contract::{Both, Either, Handle, Nothing, Service, outermost};

/// Readiness of descriptors: which can be read or written. The lowest service of a stack on a real
/// machine.
#[derive(Debug)]
pub struct Readiness;

impl Service for Readiness {
    const NAME: &'static str = "Readiness";
    type Request = Infallible;
    type Indication = Ready;
    type Name = Handle;
}

outermost!(M => Readiness);

/// Reports that a descriptor became ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ready {
    /// The name under which the adapter registered it.
    pub name: Handle,
    /// Octets, or the end, can be read.
    pub readable: bool,
    /// The peer has finished, or the association is broken: reading will come to an end.
    pub ending: bool,
    /// Urgent octets arrived: a read stops before them, though more can be read.
    pub urgent: bool,
    /// Octets can be written, or a connection attempt is over.
    pub writable: bool,
}

/// A service with lanes: adapters side by side share one poll. Each has a lane, counted from the
/// left, and registers its descriptors under [`token`]s of that lane.
pub trait Lanes: Service {
    /// The number of adapters below.
    const LANES: usize;
    /// Makes the indication that a descriptor of the adapter in `lane` is ready.
    fn ready(lane: usize, ready: Ready) -> Self::Indication;
}

impl Lanes for Readiness {
    const LANES: usize = 1;
    fn ready(_lane: usize, ready: Ready) -> Ready {
        ready
    }
}

impl<A: Lanes, B: Lanes> Lanes for Both<A, B> {
    const LANES: usize = A::LANES + B::LANES;
    fn ready(lane: usize, ready: Ready) -> Self::Indication {
        if lane < A::LANES {
            Either::Left(A::ready(lane, ready))
        } else {
            Either::Right(B::ready(lane - A::LANES, ready))
        }
    }
}

impl Lanes for Nothing {
    const LANES: usize = 0;
    fn ready(_lane: usize, _ready: Ready) -> Infallible {
        unreachable!("no adapter registers in a lane that does not exist")
    }
}

/// A graph fixes the number of its adapters when it is built: as many as a token can encode.
impl<B: Lanes> Lanes for Outside<B> {
    const LANES: usize = GRAPH_LANES;
    fn ready(lane: usize, ready: Ready) -> Self::Indication {
        InLane { lane, word: B::ready(0, ready) }
    }
}

/// Adapters of a graph; beside it there may be as many.
const GRAPH_LANES: usize = 16;
const LANE_BITS: u32 = 5;
const INDEX_BITS: u32 = 27;

/// Returns the token under which the adapter in `lane` registers `name`.
///
/// # Panics
/// If there are more than 32 lanes or 2^27 descriptors.
pub fn token(lane: usize, name: Handle) -> Token {
    assert!(lane < 1 << LANE_BITS && name.index < 1 << INDEX_BITS, "a token has room for it");
    Token((name.generation as usize) << 32 | lane << INDEX_BITS | name.index as usize)
}

/// Returns the lane and the name in a token.
pub fn lane(token: Token) -> (usize, Handle) {
    let low = token.0 as u32;
    (
        (low >> INDEX_BITS) as usize,
        Handle { index: low & ((1 << INDEX_BITS) - 1), generation: (token.0 >> 32) as u32 },
    )
}
