//! How a file describes XSTP.

use core::num::NonZeroU64;

use stackwright_contract::described::{Described, Parameter, ParameterKind};
use stackwright_wire::Message;

use crate::config::{BURST_MOST, Config, PACKET_LEAST};
use crate::{XstpLayer, layer};

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "packet",
        ParameterKind::Number,
        "the octets of the longest packet, header included",
    ),
    Parameter::new(
        "window",
        ParameterKind::Number,
        "how many packets may be on their way, at most",
    ),
    Parameter::new("rate", ParameterKind::Number, "the bits per second of a radio channel"),
    Parameter::new(
        "burst",
        ParameterKind::Number,
        "how many packets leave each time its transmitter is keyed",
    ),
];

/// Returns the description: the parameters that a file may set, and how XSTP is made of them.
pub const fn described<M: Message>() -> Described<XstpLayer<M>> {
    Described {
        parameters: PARAMETERS,
        make: |table, seed| {
            let packet = table.within("packet", u64::from(PACKET_LEAST)..=65_515)?;
            let burst = table.within("burst", 1..=BURST_MOST.into())?.map(|packets| packets as u8);
            let mut config = Config::new();
            if let Some(rate) = table.within("rate", 100..=u64::MAX)?.and_then(NonZeroU64::new) {
                let packet = packet.map_or(config.packet, |octets| octets as u16);
                config = match burst {
                    Some(burst) => Config::bursts(rate, packet, burst),
                    None => Config::radio(rate, packet),
                };
            } else if let Some(octets) = packet {
                config.packet = octets as u16;
            }
            if let Some(packets) = table.within("window", 1..=254)? {
                config.window = packets as u8;
            }
            Ok(layer(config, seed))
        },
    }
}
