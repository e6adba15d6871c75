//! The lowest service of every stack here, so that a transport is compiled once for the simulator
//! and for sockets.

use std::convert::Infallible;
use std::net::IpAddr;

use stackwright::contract::ask::{Ask, Question};
use stackwright_contract::{
    Batches, Context, Either, Facts, Handle, IndicationOf, Instant, NameAbove, Outlet, Protocol,
    RequestOf, RequestTo, Service, outermost,
};
use stackwright_drivers::{self as drivers, Readiness, Ready};
use stackwright_simulator::{self as simulator, Segment, Segments};

use super::M;

/// The network of a simulated world, or the descriptors of this machine.
pub(crate) struct Ground;

impl Service for Ground {
    const NAME: &'static str = "Ground";
    /// A machine's adapters request nothing.
    type Request = Segment<M>;
    type Indication = Either<Segment<M>, Ready>;
    /// The link: from this address to that one.
    type Name = (IpAddr, IpAddr);
}

outermost!(Any => Ground);

impl simulator::Lanes<M> for Ground {
    const LANES: usize = 1;

    fn arrived(_lane: usize, segment: Segment<M>) -> Self::Indication {
        Either::Left(segment)
    }

    fn departing(segment: Segment<M>) -> (usize, Segment<M>) {
        (0, segment)
    }

    fn link(name: (IpAddr, IpAddr)) -> (IpAddr, IpAddr) {
        name
    }
}

impl drivers::Lanes for Ground {
    const LANES: usize = 1;

    fn ready(_lane: usize, ready: Ready) -> Self::Indication {
        Either::Right(ready)
    }
}

/// A service of adapters that is a part of the ground.
pub(crate) trait Part: Service {
    /// Returns the indication, where it is of this part.
    fn indication(indication: Either<Segment<M>, Ready>) -> Option<Self::Indication>;
    fn request(request: Self::Request) -> Segment<M>;
    /// Returns the link that a name denotes, where it denotes one.
    fn link(name: Self::Name) -> Option<(IpAddr, IpAddr)>;
}

impl Part for Segments<M> {
    fn indication(indication: Either<Segment<M>, Ready>) -> Option<Segment<M>> {
        match indication {
            Either::Left(segment) => Some(segment),
            Either::Right(_) => None,
        }
    }

    fn request(request: Segment<M>) -> Segment<M> {
        request
    }

    fn link(name: (IpAddr, IpAddr)) -> Option<(IpAddr, IpAddr)> {
        Some(name)
    }
}

impl Part for Readiness {
    fn indication(indication: Either<Segment<M>, Ready>) -> Option<Ready> {
        match indication {
            Either::Left(_) => None,
            Either::Right(ready) => Some(ready),
        }
    }

    fn request(request: Infallible) -> Segment<M> {
        match request {}
    }

    fn link(_descriptor: Handle) -> Option<(IpAddr, IpAddr)> {
        None
    }
}

/// An adapter on the ground.
pub(crate) struct Grounded<P>(pub(crate) P);

/// The outlet of the adapter, and what is below it.
struct Below<'a, T: ?Sized>(&'a mut T);

impl<P, O> Outlet<P> for Below<'_, O>
where
    P: Protocol<Uses: Part>,
    O: Outlet<Grounded<P>>,
{
    fn indicate(&mut self, indication: IndicationOf<P>) {
        self.0.indicate(indication);
    }

    fn request(&mut self, request: RequestOf<P>) {
        self.0.request(P::Uses::request(request));
    }
}

struct Asked<'a>(&'a dyn Ask<Ground>);

impl<S: Part> Ask<S> for Asked<'_> {
    fn ask(&self, about: S::Name, question: &mut Question<'_>) {
        if let Some(link) = S::link(about) {
            self.0.ask(link, question);
        }
    }
}

impl<P: Protocol<Uses: Part>> Protocol for Grounded<P> {
    const FACTS: Facts = P::FACTS;
    const BATCHES: Batches = P::BATCHES;
    type Provides = P::Provides;
    type Uses = Ground;

    fn handle_request(&mut self, cx: &Context, request: RequestTo<P>, out: &mut impl Outlet<Self>) {
        self.0.handle_request(cx, request, &mut Below(out));
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: Either<Segment<M>, Ready>,
        out: &mut impl Outlet<Self>,
    ) {
        if let Some(indication) = P::Uses::indication(indication) {
            self.0.handle_indication(cx, indication, &mut Below(out));
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.0.handle_timeout(cx, &mut Below(out));
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.0.next_deadline()
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.0.flush(cx, &mut Below(out));
    }

    fn wants_flush(&self) -> bool {
        self.0.wants_flush()
    }

    fn may_exit(&self) -> bool {
        self.0.may_exit()
    }

    fn facts(&self) -> Facts {
        self.0.facts()
    }

    fn ask(&self, about: NameAbove<P>, question: &mut Question<'_>, below: &dyn Ask<Ground>) {
        self.0.ask(about, question, &Asked(below));
    }
}
