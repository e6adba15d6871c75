//! Two roles on one association, as where each end both sends and receives.

use core::marker::PhantomData;

use stackwright_contract::{Either, Guarantees, PhaseRule};
use stackwright_wire::{Header, Message};

use crate::part::{RoleEvent, RoleOutlet, RolePart, RoleWait};

/// Two roles side by side. An ADU is of the first that knows it; both hear room and the end.
#[derive(Clone, Debug)]
pub struct PartPair<A, B>(pub A, pub B);

type Event<M, P> = RoleEvent<<P as RolePart<M>>::Adu, <P as RolePart<M>>::Input>;

impl<M: Message, A: RolePart<M>, B: RolePart<M>> RolePart<M> for PartPair<A, B> {
    type Adu = Either<Event<M, A>, Event<M, B>>;
    type Input = Either<Event<M, A>, Event<M, B>>;
    type Output = Either<A::Output, B::Output>;

    const NAME: &'static str = A::NAME;
    const NEEDS: Guarantees = A::NEEDS.and(B::NEEDS);
    const HEADER_ROOM: usize =
        if A::HEADER_ROOM > B::HEADER_ROOM { A::HEADER_ROOM } else { B::HEADER_ROOM };
    const HOLD: Option<usize> = match (A::HOLD, B::HOLD) {
        (Some(one), Some(other)) => Some(one + other),
        _ => None,
    };
    const WAITS: usize = A::WAITS + B::WAITS;
    const RULES: &'static [PhaseRule] = if A::RULES.is_empty() { B::RULES } else { A::RULES };

    fn wait(timer: usize) -> RoleWait {
        if timer < A::WAITS { A::wait(timer) } else { B::wait(timer - A::WAITS) }
    }

    fn decode(message: M) -> Result<Self::Adu, M> {
        match A::decode(message) {
            Ok(adu) => Ok(Either::Left(RoleEvent::Adu(adu))),
            Err(message) => B::decode(message).map(|adu| Either::Right(RoleEvent::Adu(adu))),
        }
    }

    fn hears(&self, event: &RoleEvent<Self::Adu, Self::Input>) -> bool {
        match event {
            RoleEvent::Adu(word) | RoleEvent::Input(word) => match word {
                Either::Left(event) => self.0.hears(event),
                Either::Right(event) => self.1.hears(event),
            },
            RoleEvent::Timer(timer) if *timer < A::WAITS => self.0.hears(&RoleEvent::Timer(*timer)),
            RoleEvent::Timer(timer) => self.1.hears(&RoleEvent::Timer(*timer - A::WAITS)),
            shared => {
                part_hears::<M, _, _, _>(&self.0, shared)
                    || part_hears::<M, _, _, _>(&self.1, shared)
            }
        }
    }

    fn step(
        &mut self,
        event: &RoleEvent<Self::Adu, Self::Input>,
        out: &mut impl RoleOutlet<M, Self::Output>,
    ) {
        let mut left = Left { out, other: PhantomData };
        match event {
            RoleEvent::Adu(Either::Left(event)) | RoleEvent::Input(Either::Left(event)) => {
                return self.0.step(event, &mut left);
            }
            RoleEvent::Timer(timer) if *timer < A::WAITS => {
                return self.0.step(&RoleEvent::Timer(*timer), &mut left);
            }
            event if part_hears::<M, _, _, _>(&self.0, event) => {
                if let Some(event) = shared(event) {
                    self.0.step(&event, &mut left);
                }
            }
            _ => {}
        }
        let mut right = Right { waits: A::WAITS, out, other: PhantomData };
        match event {
            RoleEvent::Adu(Either::Right(event)) | RoleEvent::Input(Either::Right(event)) => {
                self.1.step(event, &mut right);
            }
            RoleEvent::Timer(timer) => {
                self.1.step(&RoleEvent::Timer(*timer - A::WAITS), &mut right);
            }
            event if part_hears::<M, _, _, _>(&self.1, event) => {
                if let Some(event) = shared(event) {
                    self.1.step(&event, &mut right);
                }
            }
            _ => {}
        }
    }

    /// The association is over when either role is: what one has given up, the other cannot do.
    fn is_over(&self) -> bool {
        self.0.is_over() || self.1.is_over()
    }

    fn has_failed(&self) -> bool {
        self.0.has_failed() || self.1.has_failed()
    }
}

/// An event that both roles may hear, as one of either.
fn shared<A, I, B, J>(event: &RoleEvent<A, I>) -> Option<RoleEvent<B, J>> {
    match event {
        RoleEvent::Begin => Some(RoleEvent::Begin),
        RoleEvent::Room => Some(RoleEvent::Room),
        RoleEvent::Drained => Some(RoleEvent::Drained),
        RoleEvent::Ended => Some(RoleEvent::Ended),
        RoleEvent::Adu(_) | RoleEvent::Input(_) | RoleEvent::Timer(_) => None,
    }
}

/// Whether one of the two hears an event that both may.
fn part_hears<M, P, A, I>(part: &P, event: &RoleEvent<A, I>) -> bool
where
    M: Message,
    P: RolePart<M>,
{
    // The begin is told to each, whatever it hears.
    matches!(event, RoleEvent::Begin) || shared(event).is_some_and(|event| part.hears(&event))
}

/// The outlet of the first role.
struct Left<'a, X, O> {
    out: &'a mut X,
    other: PhantomData<O>,
}

/// The outlet of the second role, whose waits have numbers behind those of the first.
struct Right<'a, X, O> {
    waits: usize,
    out: &'a mut X,
    other: PhantomData<O>,
}

impl<M, A, B, X: RoleOutlet<M, Either<A, B>>> RoleOutlet<M, A> for Left<'_, X, B> {
    fn enter(&mut self, phase: u8) {
        self.out.enter(phase);
    }

    fn send(&mut self, head: &impl Header, body: Option<&M>) {
        self.out.send(head, body);
    }

    fn emit(&mut self, output: A) {
        self.out.emit(Either::Left(output));
    }

    fn start(&mut self, timer: usize) {
        self.out.start(timer);
    }
}

impl<M, A, B, X: RoleOutlet<M, Either<A, B>>> RoleOutlet<M, B> for Right<'_, X, A> {
    fn enter(&mut self, phase: u8) {
        self.out.enter(phase);
    }

    fn send(&mut self, head: &impl Header, body: Option<&M>) {
        self.out.send(head, body);
    }

    fn emit(&mut self, output: B) {
        self.out.emit(Either::Right(output));
    }

    fn start(&mut self, timer: usize) {
        self.out.start(timer + self.waits);
    }
}
