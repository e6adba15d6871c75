//! A station: one stack with its application, as the world sees it.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;

use stackwright_contract::{
    Context, IndicationOf, Instant, Outlet, Protocol, RequestOf, RequestTo, Service, hand_down,
};

use crate::{Application, Asks, Lanes, Segment};

/// The most batches of one station at one point in time. Credit bounds them far below.
const TURNS_MOST: usize = 10_000;

/// The rounds in which an application and its stack may answer each other without a pause. A round
/// is all requests that were queued when it began, as at a joint: a backlog may take millions.
const ROUNDS_MOST: usize = 1 << 23;

/// Identifies a station whose stack is a `P` and whose application is an `A`.
pub struct StationId<P, A> {
    pub(crate) index: usize,
    pub(crate) kind: PhantomData<fn() -> (P, A)>,
}

impl<P, A> Clone for StationId<P, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P, A> Copy for StationId<P, A> {}

impl<P, A> PartialEq for StationId<P, A> {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}

impl<P, A> Eq for StationId<P, A> {}

impl<P, A> fmt::Debug for StationId<P, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StationId({})", self.index)
    }
}

/// What leaves a station in a batch: lanes and segments.
pub(crate) type Departures<M> = Vec<(usize, Segment<M>)>;

/// A station of any kind.
pub(crate) trait Station<M> {
    /// Runs one batch, as `Protocol` describes it: what arrived, then what has become due, until
    /// nothing is due.
    fn batch(
        &mut self,
        now: Instant,
        arrivals: &mut Vec<(usize, Segment<M>)>,
        departures: &mut Departures<M>,
    );
    fn next_deadline(&self) -> Option<Instant>;
    fn context(&self) -> &Context;
    fn as_any(&self) -> &dyn Any;
    fn as_any_mut(&mut self) -> &mut dyn Any;
}

pub(crate) struct Hosted<P: Protocol, A> {
    pub(crate) cx: Context,
    pub(crate) stack: P,
    pub(crate) application: A,
    asks: Asks<P>,
}

impl<P: Protocol, A: Application<P>> Hosted<P, A> {
    pub(crate) fn new(seed: u64, stack: P, application: A) -> Self {
        Hosted { cx: Context::new(seed), stack, application, asks: Asks::<P>::new() }
    }

    /// Queues a request of the application for the next batch.
    pub(crate) fn ask(&mut self, request: RequestTo<P>) {
        self.asks.push_back(request);
    }

    /// Makes the requests of the application, and those with which it answers their indications.
    fn settle<M>(&mut self, departures: &mut Departures<M>)
    where
        P::Uses: Lanes<M>,
    {
        for _round in 0..ROUNDS_MOST {
            if self.asks.is_empty() {
                return;
            }
            for _word in 0..self.asks.len() {
                let Some(request) = self.asks.pop_front() else { break };
                let Hosted { cx, stack, application, asks } = self;
                hand_down(
                    stack,
                    true,
                    cx,
                    request,
                    &mut Doors { cx, application, asks, departures },
                );
            }
        }
        panic!("`{}` and its application answer each other without end", P::FACTS.name);
    }
}

impl<M, P, A> Station<M> for Hosted<P, A>
where
    P: Protocol<Uses: Lanes<M>> + 'static,
    A: Application<P> + 'static,
{
    fn batch(
        &mut self,
        now: Instant,
        arrivals: &mut Vec<(usize, Segment<M>)>,
        departures: &mut Departures<M>,
    ) {
        self.cx.set_now(now);
        self.settle(departures);
        for (lane, segment) in arrivals.drain(..) {
            let Hosted { cx, stack, application, asks } = self;
            let indication = P::Uses::arrived(lane, segment);
            stack.handle_indication(
                cx,
                indication,
                &mut Doors { cx, application, asks, departures },
            );
            self.settle(departures);
        }
        for _turn in 0..TURNS_MOST {
            let due = self.stack.next_deadline().is_some_and(|deadline| deadline <= now);
            if due {
                let Hosted { cx, stack, application, asks } = self;
                stack.handle_timeout(cx, &mut Doors { cx, application, asks, departures });
                self.settle(departures);
            }
            if self.stack.wants_flush() {
                let Hosted { cx, stack, application, asks } = self;
                stack.flush(cx, &mut Doors { cx, application, asks, departures });
                self.settle(departures);
            } else if !due {
                return;
            }
        }
        panic!("`{}` always has something to do at once, and time does not pass", P::FACTS.name);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.stack.next_deadline()
    }

    fn context(&self) -> &Context {
        &self.cx
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}

/// The two outer ends of a stack: the application above, the network below.
struct Doors<'a, M, P: Protocol, A> {
    cx: &'a Context,
    application: &'a mut A,
    asks: &'a mut Asks<P>,
    departures: &'a mut Departures<M>,
}

impl<M, P, A> Outlet<P> for Doors<'_, M, P, A>
where
    P: Protocol<Uses: Lanes<M>>,
    A: Application<P>,
{
    /// An application takes one message at a time.
    fn indicate(&mut self, mut indication: IndicationOf<P>) {
        while let Some(first) = P::Provides::split_indication(&mut indication) {
            self.application.hear(self.cx, first, self.asks);
        }
        self.application.hear(self.cx, indication, self.asks);
    }

    fn request(&mut self, request: RequestOf<P>) {
        self.departures.push(P::Uses::departing(request));
    }
}
