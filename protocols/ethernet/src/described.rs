//! The description of the protocol in a file.

use alloc::format;

use stackwright_base::map::{Hashing, Keyed};
use stackwright_contract::described::{Described, Parameter, ParameterKind, ParameterTable, Unfit};
use stackwright_wire::Message;
use stackwright_wire::internet::{hardware_address, is_group};

use crate::{Config, EthernetDatagrams, NAME};

const PARAMETERS: &[Parameter] = &[
    Parameter::new("address", ParameterKind::Text, "the own address, as 02:00:00:00:00:01"),
    Parameter::new("lan", ParameterKind::Number, "the virtual LAN whose tag all frames have"),
];

/// Returns the description: the parameters that a file may set. Without an address, a random one
/// is taken.
pub const fn described<M: Message>() -> Described<EthernetDatagrams<M>> {
    Described {
        parameters: PARAMETERS,
        make: |table, seed| Ok(EthernetDatagrams::new(config(table, seed)?, seed)),
    }
}

fn config(table: &dyn ParameterTable, seed: u64) -> Result<Config, Unfit> {
    let read = |text: &str| {
        let is = || format!("is a station's, such as 02:00:00:00:00:01, and `{text}` stands there");
        let address = hardware_address(text).filter(|address| !is_group(*address));
        address.ok_or_else(|| Unfit { key: "address", is: is() })
    };
    let address = table.text("address").map_or_else(|| Ok(random(seed)), read)?;
    let lan = table.within("lan", 1..=4094)?.map(|lan| lan as u16);
    Ok(Config { address, lan })
}

/// Returns a locally administered address (IEEE 802 §8.4.4) that does not tell the seed.
fn random(seed: u64) -> [u8; 6] {
    let [.., a, b, c, d, e, f] = Keyed::new(seed).hash(&NAME).to_be_bytes();
    [a & 0xfc | 2, b, c, d, e, f]
}
