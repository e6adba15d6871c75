//! Where received octets are placed: areas of the application's.

use std::io::IoSliceMut;

use stackwright_contract::services::MessageProperties;
use stackwright_wire::Message;

/// What was placed into the areas of an application.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Placed {
    /// The octets that were placed, in the order of the areas.
    pub octets: usize,
    /// Whether the message ends with them; otherwise the areas are full, and the next call goes on
    /// with the same message.
    pub whole: bool,
    /// The properties of the message.
    pub properties: MessageProperties,
}

/// Moves octets from the front of a message into areas, with one copy. Returns their number.
pub(crate) fn place<M: Message>(message: &mut M, areas: &mut [IoSliceMut<'_>]) -> usize {
    let mut octets = 0;
    for area in areas {
        let placed = message.copy_to(area);
        message.advance(placed);
        octets += placed;
    }
    octets
}
