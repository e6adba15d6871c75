//! What is late does not leave.

use core::num::NonZeroU32;

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Lifetime;
use stackwright_transport::words::View;

/// A message whose time is over does not leave, not for the first time and not again: whose
/// lifetime was wished ([`MessageProperties`](stackwright_contract::services::MessageProperties)).
/// Nothing of it is written, and the receiver knows nothing.
///
/// Choose it where a packet has no place for times, or clocks are not to be trusted.
///
/// ```
/// use stackwright_policies::lifetime::Deadline;
/// use stackwright_transport::rules::{Component, Property};
/// assert!(!Deadline::FACTS.needs.has(Property::TIMES));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Deadline;

impl Lifetime for Deadline {
    fn is_over(&self, view: &View, since: Instant, wish: Option<NonZeroU32>) -> bool {
        wish.is_some_and(|wish| view.now.nanoseconds_since(since) / 1000 >= u64::from(wish.get()))
    }
}

component! {
    Deadline: "lifetime by a deadline", "sends nothing that is late",
    // Without one of these, the receiver waits for what expired.
    needs_one_of: Property::SETTLES.and(Property::FORGIVES), gives: Property::EXPIRES,
}
