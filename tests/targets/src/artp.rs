//! Two whole endpoints of ARTP.

use stackwright_artp::{Config, Layer, layer};
use stackwright_contract::services::Credit;

use crate::lower::M;
use crate::{Input, endpoints};

/// The first octets configure.
pub fn artp(octets: &[u8]) {
    let mut input = Input(octets);
    let layers = [0, 1].map(|nth| endpoint(nth, &mut input));
    endpoints::pair(layers, |_| {}, input);
}

fn endpoint(nth: u8, input: &mut Input<'_>) -> Layer<M> {
    let choices = input.octet();
    let config = Config {
        packet: 191 + u16::from(input.octet()),
        window: 1 << (choices % 8 + 2),
        longest: 1 << 18,
        expires: choices & 8 != 0,
        ranges: choices & 16 != 0,
        large: choices & 32 != 0,
        half_open_most: usize::from(choices / 64),
        send: Credit { octets: 1 << 20, messages: 64 },
        first: Some(u32::MAX - 3),
        ..Config::new([nth; 16])
    };
    layer(config, u64::from(nth))
}
