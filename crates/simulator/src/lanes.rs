//! Lanes: how the lowest service of a stack connects to the world.

use std::convert::Infallible;
use std::net::IpAddr;

use stackwright_contract::words::{InLane, Outside};
use stackwright_contract::{Both, Either, Nothing, Service};

use crate::{Segment, Segments};

/// A service with lanes: adapters side by side share one station. Each that reaches the network has
/// a lane, counted from the left, and an address of its own.
pub trait Lanes<M>: Service {
    /// How many adapters reach the network; of a graph, how many may.
    const LANES: usize;
    /// Whether exactly [`LANES`](Lanes::LANES) adapters do: of a graph it is not known before it is
    /// built.
    const EXACTLY: bool = true;
    /// Makes the indication that a segment arrived for the adapter in `lane`.
    fn arrived(lane: usize, segment: Segment<M>) -> Self::Indication;
    /// Returns the lane of the adapter that made a request, and the segment that leaves.
    fn departing(request: Self::Request) -> (usize, Segment<M>);
    /// Returns the link that a name below the adapters denotes: its two addresses.
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

/// The most adapters of one graph that reach the network.
const LANES_OF_A_GRAPH: usize = 16;

impl<M, B: Lanes<M>> Lanes<M> for Outside<B> {
    const LANES: usize = LANES_OF_A_GRAPH;
    const EXACTLY: bool = false;

    fn arrived(lane: usize, segment: Segment<M>) -> Self::Indication {
        InLane { lane, word: B::arrived(0, segment) }
    }

    fn departing(request: Self::Request) -> (usize, Segment<M>) {
        let (_, segment) = B::departing(request.word);
        (request.lane, segment)
    }

    fn link(name: Self::Name) -> (IpAddr, IpAddr) {
        B::link(name.word)
    }
}
