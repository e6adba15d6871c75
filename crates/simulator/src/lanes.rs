//! How the lowest service of a stack meets the world.

use std::convert::Infallible;
use std::net::IpAddr;

use stackwright_contract::words::{InLane, Outside};
use stackwright_contract::{Both, Either, Nothing, Service};

use crate::{Segment, Segments};

/// Adapters side by side share one station: each that reaches the network has a lane, counted from
/// the left, and an address of its own.
pub trait Lanes<M>: Service {
    /// How many adapters reach the network; of a graph, how many may.
    const LANES: usize;
    /// Whether it is exactly so many: of a graph it is not known before it is built.
    const EXACTLY: bool = true;
    /// A segment that arrived for the adapter in `lane`.
    fn arrived(lane: usize, segment: Segment<M>) -> Self::Indication;
    /// The lane of the adapter that spoke, and the segment that leaves.
    fn departing(request: Self::Request) -> (usize, Segment<M>);
    /// Returns the link that a name below the adapters stands for: from this address to that one.
    fn link(name: Self::Name) -> (IpAddr, IpAddr);
}

impl<M> Lanes<M> for Segments<M> {
    const LANES: usize = 1;

    fn arrived(_lane: usize, segment: Segment<M>) -> Segment<M> {
        segment
    }

    fn departing(request: Segment<M>) -> (usize, Segment<M>) {
        (0, request)
    }

    fn link(name: (IpAddr, IpAddr)) -> (IpAddr, IpAddr) {
        name
    }
}

impl<M, A: Lanes<M>, B: Lanes<M>> Lanes<M> for Both<A, B> {
    const LANES: usize = A::LANES + B::LANES;
    const EXACTLY: bool = A::EXACTLY && B::EXACTLY;

    fn arrived(lane: usize, segment: Segment<M>) -> Self::Indication {
        if lane < A::LANES {
            Either::Left(A::arrived(lane, segment))
        } else {
            Either::Right(B::arrived(lane - A::LANES, segment))
        }
    }

    fn departing(request: Self::Request) -> (usize, Segment<M>) {
        match request {
            Either::Left(request) => A::departing(request),
            Either::Right(request) => {
                let (lane, segment) = B::departing(request);
                (A::LANES + lane, segment)
            }
        }
    }

    fn link(name: Self::Name) -> (IpAddr, IpAddr) {
        match name {
            Either::Left(name) => A::link(name),
            Either::Right(name) => B::link(name),
        }
    }
}

impl<M> Lanes<M> for Nothing {
    const LANES: usize = 0;

    fn arrived(_lane: usize, _segment: Segment<M>) -> Infallible {
        unreachable!("nothing is addressed to a lane that does not exist")
    }

    fn departing(request: Infallible) -> (usize, Segment<M>) {
        match request {}
    }

    fn link(name: Infallible) -> (IpAddr, IpAddr) {
        match name {}
    }
}

/// How many adapters of one graph may reach the network.
const LANES_OF_A_GRAPH: usize = 16;

impl<M> Lanes<M> for Outside<Segments<M>> {
    const LANES: usize = LANES_OF_A_GRAPH;
    const EXACTLY: bool = false;

    fn arrived(lane: usize, segment: Segment<M>) -> Self::Indication {
        InLane { lane, word: segment }
    }

    fn departing(request: Self::Request) -> (usize, Segment<M>) {
        (request.lane, request.word)
    }

    fn link(name: Self::Name) -> (IpAddr, IpAddr) {
        name.word
    }
}
