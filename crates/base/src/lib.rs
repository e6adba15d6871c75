//! Generated bases: the product line of PIX. Every protocol with associations is built on one,
//! which already opens, listens, finds the association for a message, counts references, times out
//! and closes; its author adds what is specific to the protocol.
//!
//! | to read | for |
//! | --- | --- |
//! | [`features`] | the feature model: what may be selected, and what is refused |
//! | [`generate!`], [`Features`] | a selection as a type |
//! | [`Base`] | associations, enable objects and timers, for a protocol of any service |
//! | [`Layer`], [`Hooks`] | a whole protocol over datagrams or a stream, of which the author writes only the hooks |
//!
//! | feature | module | alternatives |
//! | --- | --- | --- |
//! | Message | [`message`] | one buffer, a rope of slices |
//! | Session | [`session`] | absent, present |
//! | Map of a session | [`map`] | chained hash, chained hash with a one-entry cache, open addressing with a cache |
//! | EventManager | [`events`] | absent, simple, delta list, timing wheel |
//! | Opening | [`opening`] | absent, active, active and passive |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
// The macro's output names this crate from outside; this makes it work in here too.
extern crate self as stackwright_base;

mod base;
mod configuration;
pub mod events;
pub mod features;
mod layer;
pub mod map;
pub mod opening;
mod ports;
pub mod session;

/// The feature Message: its alternatives are the messages themselves.
pub mod message {
    pub use stackwright_wire::{BufferTree, SingleBuffer};
}

pub use base::{Base, Subject};
pub use configuration::{Configuration, Features};
pub use layer::{
    Arrival, Below, Envelope, Hooks, Layer, MessageOf, Origin, Place, Stray, Unexpected,
};
pub use ports::{PortPair, Ports, with_port};

#[doc(hidden)]
pub use stackwright_macros::__generate;

/// Names a selection of features: reads the specification, completes it with defaults, validates it
/// and assembles the type.
///
/// `strict` before the name also refuses what builds and makes no sense. `<M>` behind it leaves
/// open how messages are held. The type is the same as one written by hand:
///
/// ```
/// use stackwright_base::{Features, events, generate, map, message, opening, session};
///
/// generate! {
///     /// The base of a server that answers any client.
///     strict pub Answering { events: Simple, map: OpenAddressing }
/// }
///
/// type ByHand = Features<
///     message::BufferTree,
///     session::Present<map::OpenAddressing>,
///     events::Simple,
///     opening::ActivePassive,
/// >;
/// # fn same<T>(_: std::marker::PhantomData<T>, _: std::marker::PhantomData<T>) {}
/// same(std::marker::PhantomData::<Answering>, std::marker::PhantomData::<ByHand>);
/// ```
#[macro_export]
macro_rules! generate {
    ($($specification:tt)*) => { $crate::__generate! { $crate $($specification)* } };
}
