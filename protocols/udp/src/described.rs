//! The description of the protocol in a file.

use stackwright_contract::described::Described;
use stackwright_wire::Message;

use crate::{Udp, layer};

/// Returns how a file describes the protocol: it has no parameters.
pub const fn described<M: Message>() -> Described<Udp<M>> {
    Described { parameters: &[], make: |_, seed| Ok(layer(seed)) }
}
