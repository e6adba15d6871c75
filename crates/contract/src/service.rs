//! A service is the vocabulary spoken across one boundary.

use core::convert::Infallible;
use core::marker::PhantomData;

use crate::Handle;

/// The words spoken between two neighbours: requests go down, indications go up.
pub trait Service {
    /// Its name, as it stands in a refusal.
    const NAME: &'static str;
    /// What the upper neighbour asks.
    type Request;
    /// What the lower neighbour tells.
    type Indication;
    /// What a word, and a [question](crate::ask), is about: the name of an association, a port, or
    /// `()` where there is only one thing to speak of.
    type Name: Copy + 'static;

    /// Returns whether a request carries several messages.
    #[inline(always)]
    fn requests_several(_request: &Self::Request) -> bool {
        false
    }

    /// Returns whether an indication carries several messages.
    #[inline(always)]
    fn indicates_several(_indication: &Self::Indication) -> bool {
        false
    }

    /// Splits the first message off a request that carries several, as a request of its own;
    /// `None`: it carries one, or none.
    #[inline]
    fn split_request(_several: &mut Self::Request) -> Option<Self::Request> {
        None
    }

    /// Splits the first message off an indication that carries several, as an indication of its
    /// own.
    #[inline]
    fn split_indication(_several: &mut Self::Indication) -> Option<Self::Indication> {
        None
    }

    /// Returns what the layer above is told in the place of a request that was dropped below it:
    /// the credit that its payload used up, and what else it waits for. Without that, the sender
    /// would stop sooner or later.
    #[inline]
    fn refund_request(_dropped: &Self::Request) -> [Option<Self::Indication>; 2] {
        [None, None]
    }

    /// Returns the request that gives back the credit of an indication that was dropped above the
    /// layer that told it.
    #[inline]
    fn refund_indication(_dropped: &Self::Indication) -> Option<Self::Request> {
        None
    }

    /// Returns the last word on a name for which no lower could be asked; `None`: the service has
    /// no such word, and the request is dropped.
    fn unreachable(_name: Handle) -> Option<Self::Indication> {
        None
    }
}

/// The service of a stack's outer ends that have nothing to say.
pub struct Nothing;

impl Service for Nothing {
    const NAME: &'static str = "Nothing";
    type Request = Infallible;
    type Indication = Infallible;
    type Name = Infallible;
}

/// Two services side by side, of two independent lowers.
pub struct Both<A, B>(PhantomData<(A, B)>);

/// A word, or a name, of one of two services.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Either<A, B> {
    /// Of the first.
    Left(A),
    /// Of the second.
    Right(B),
}

impl<A: Service, B: Service> Service for Both<A, B> {
    const NAME: &'static str = "two services side by side";
    type Request = Either<A::Request, B::Request>;
    type Indication = Either<A::Indication, B::Indication>;
    type Name = Either<A::Name, B::Name>;

    #[inline(always)]
    fn requests_several(request: &Self::Request) -> bool {
        match request {
            Either::Left(request) => A::requests_several(request),
            Either::Right(request) => B::requests_several(request),
        }
    }

    #[inline(always)]
    fn indicates_several(indication: &Self::Indication) -> bool {
        match indication {
            Either::Left(indication) => A::indicates_several(indication),
            Either::Right(indication) => B::indicates_several(indication),
        }
    }

    fn split_request(several: &mut Self::Request) -> Option<Self::Request> {
        match several {
            Either::Left(several) => A::split_request(several).map(Either::Left),
            Either::Right(several) => B::split_request(several).map(Either::Right),
        }
    }

    fn split_indication(several: &mut Self::Indication) -> Option<Self::Indication> {
        match several {
            Either::Left(several) => A::split_indication(several).map(Either::Left),
            Either::Right(several) => B::split_indication(several).map(Either::Right),
        }
    }

    fn refund_request(dropped: &Self::Request) -> [Option<Self::Indication>; 2] {
        match dropped {
            Either::Left(dropped) => A::refund_request(dropped).map(|told| told.map(Either::Left)),
            Either::Right(dropped) => {
                B::refund_request(dropped).map(|told| told.map(Either::Right))
            }
        }
    }

    fn refund_indication(dropped: &Self::Indication) -> Option<Self::Request> {
        match dropped {
            Either::Left(dropped) => A::refund_indication(dropped).map(Either::Left),
            Either::Right(dropped) => B::refund_indication(dropped).map(Either::Right),
        }
    }
}

/// Holds where a service provided from below is the one used above. It exists for its sentence:
/// every service meets itself and nothing else.
#[diagnostic::on_unimplemented(
    message = "these protocols do not meet: the lower one provides `{Self}`, the upper one uses `{Expected}`",
    label = "a wrong neighbour below",
    note = "see \"What sits on what\" in ARCHITECTURE.md"
)]
pub trait Meets<Expected> {}

impl<S: Service> Meets<S> for S {}
