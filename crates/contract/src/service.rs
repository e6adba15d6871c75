//! A service is the vocabulary spoken across one boundary.

use core::convert::Infallible;
use core::marker::PhantomData;

/// The words spoken between two neighbours: requests go down, indications go up.
pub trait Service {
    /// Its name, as it stands in a refusal.
    const NAME: &'static str;
    /// What the upper neighbour asks.
    type Request;
    /// What the lower neighbour tells.
    type Indication;
    /// What is carried, where it can be made ready before it is sent ([`Protocol::draft`](crate::Protocol::draft)): `()` for who carries
    /// nothing.
    type Payload;
}

/// The service of a stack's outer ends that have nothing to say.
pub struct Nothing;

impl Service for Nothing {
    const NAME: &'static str = "Nothing";
    type Request = Infallible;
    type Indication = Infallible;
    type Payload = Infallible;
}

/// Two services side by side, of two lowers that do not know each other.
pub struct Both<A, B>(PhantomData<(A, B)>);

/// A word of one of two services.
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
    type Payload = Infallible;
}

/// That a service offered from below is the one expected above. It exists for its sentence: every service meets itself
/// and nothing else.
#[diagnostic::on_unimplemented(
    message = "these protocols do not meet: the lower one provides `{Self}`, the upper one uses `{Expected}`",
    label = "a wrong neighbour below",
    note = "see \"What sits on what\" in ARCHITECTURE.md"
)]
pub trait Meets<Expected> {}

impl<S: Service> Meets<S> for S {}
