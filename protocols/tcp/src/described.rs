//! How a file describes TCP.

use core::hash::Hasher as _;

use siphasher::sip::SipHasher13;
use stackwright_contract::described::{Described, Parameter, ParameterKind};
use stackwright_wire::Message;

use crate::config::{Config, SEGMENT_LEAST};
use crate::{TcpLayer, layer};

const PARAMETERS: &[Parameter] = &[
    Parameter::new(
        "segment",
        ParameterKind::Number,
        "the octets of the longest segment, header included",
    ),
    Parameter::new(
        "window",
        ParameterKind::Number,
        "how many octets may be on their way to this side, or wait to be read, at most",
    ),
    Parameter::new("sack", ParameterKind::Truth, "whether selective acknowledgements are offered"),
    Parameter::new("timestamps", ParameterKind::Truth, "whether timestamps are offered"),
];

/// Returns the description: the parameters that a file may set, and how TCP is made of them.
pub const fn described<M: Message>() -> Described<TcpLayer<M>> {
    Described {
        parameters: PARAMETERS,
        make: |table, seed| {
            let mut config = Config::new(secret(seed));
            let longest = u64::from(SEGMENT_LEAST)..=65_515;
            if let Some(octets) = table.within("segment", longest)? {
                config.segment = octets as u16;
            }
            if let Some(octets) = table.within("window", 1024..=1 << 30)? {
                config.window_most = octets as u32;
            }
            config.sack = table.truth("sack").unwrap_or(config.sack);
            config.timestamps = table.truth("timestamps").unwrap_or(config.timestamps);
            Ok(layer(config, seed))
        },
    }
}

/// Makes the secret of a station of a number that no peer knows.
fn secret(seed: u64) -> [u8; 16] {
    let half = |nth: u8| {
        let mut hasher = SipHasher13::new_with_keys(seed, u64::from(nth));
        hasher.write_u8(nth);
        hasher.finish().to_be_bytes()
    };
    let mut secret = [0; 16];
    let (first, second) = secret.split_at_mut(8);
    first.copy_from_slice(&half(0));
    second.copy_from_slice(&half(1));
    secret
}
