//! Expired messages are not sent.

use core::num::NonZeroU32;

use stackwright_contract::Instant;
use stackwright_transport::component;
use stackwright_transport::slots::Lifetime;
use stackwright_transport::words::View;

/// Does not send a message, for the first time or again, whose lifetime is over
/// ([`MessageProperties`](stackwright_contract::services::MessageProperties)). Packets carry
/// nothing of it, and the receiver does not know.
///
/// Choose it where a packet has no room for times, or clocks are not to be trusted.
///
/// ```
/// use stackwright_policies::lifetime::Deadline;
/// use stackwright_transport::rules::{Component, Property};
/// assert!(!Deadline::FACTS.needs.has(Property::TIMES));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Deadline;

impl Lifetime for Deadline {
    fn is_over(&self, view: &View, since: Instant, lifetime: Option<NonZeroU32>) -> bool {
        lifetime.is_some_and(|lifetime| {
            view.now.nanoseconds_since(since) / 1000 >= u64::from(lifetime.get())
        })
    }
}

component! {
    Deadline: "lifetime by a deadline", "sends nothing that is late",
    // Without one of these, the receiver waits for what expired.
    needs_one_of: Property::SETTLES.and(Property::FORGIVES), gives: Property::EXPIRES,
}
