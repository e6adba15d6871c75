//! The descriptions of the layers in a file.

use alloc::format;
use core::net::SocketAddr;

use stackwright_contract::Duration;
use stackwright_contract::described::{Described, Parameter, ParameterKind, ParameterTable, Unfit};
use stackwright_wire::Message;

use crate::{
    CastFragments, CausalOrder, Detector, GroupSeal, Mesh, MeshConfig, MicroLayer, Nak, NakConfig,
    PartitionedViews, RingDetector, SafeDelivery, StateTransfer, TotalOrder, Views, ViewsConfig,
};

/// How long anything may take, in ms.
const TIME: core::ops::RangeInclusive<u64> = 1..=3_600_000;

const MESH: &[Parameter] = &[
    Parameter::required(
        "with",
        ParameterKind::Text,
        "addresses and ports where the other members may be, with spaces between; may be empty where \
         `multicast` finds them",
    ),
    Parameter::new(
        "multicast",
        ParameterKind::Number,
        "casts leave once for all who say, this often in ms, that they hear the group's address",
    ),
];
const NAK: &[Parameter] = &[
    Parameter::new("report", ParameterKind::Number, "a member reports at least this often, in ms"),
    Parameter::new(
        "idle",
        ParameterKind::Number,
        "with nothing new, ever more rarely, down to this often, in ms: with `group ring`",
    ),
];
const FRAGMENTS: &[Parameter] =
    &[Parameter::new("longest", ParameterKind::Number, "octets of a piece, at most")];
const SEAL: &[Parameter] = &[Parameter::required(
    "key",
    ParameterKind::Text,
    "the key of all members, as 32 hexadecimal digits",
)];
const DETECTOR: &[Parameter] = &[Parameter::new(
    "silence",
    ParameterKind::Number,
    "a member that is silent for this long is suspected, in ms",
)];
const RING: &[Parameter] = &[Parameter::new(
    "silence",
    ParameterKind::Number,
    "a member that ends is suspected after one to two and a half times this, in ms",
)];
const MEMBERSHIP: &[Parameter] = &[Parameter::new(
    "founding",
    ParameterKind::Number,
    "begin a group after hearing of none for this long, in ms (default: never)",
)];

/// Returns the description of the carrier: the parameters that a file may set.
pub const fn mesh<M: Message>() -> Described<Mesh<M>> {
    let make = |table: &dyn ParameterTable, _| {
        let mut config = MeshConfig::default();
        for text in table.text("with").unwrap_or_default().split_whitespace() {
            let is = || format!("has members such as 192.0.2.1:4370, and `{text}` stands there");
            let peer: SocketAddr = text.parse().map_err(|_| Unfit { key: "with", is: is() })?;
            config.peers.push(peer.into());
        }
        let often = time(table, "multicast")?;
        let mesh = Mesh::new(config);
        Ok(if let Some(often) = often { mesh.multicasting(often) } else { mesh })
    };
    Described { parameters: MESH, make }
}

/// Returns the description of the layer that numbers and repeats casts.
pub const fn nak<M: Message>() -> Described<MicroLayer<M, Nak<M>>> {
    let make = |table: &dyn ParameterTable, _| {
        let mut config = NakConfig::default();
        config.report = time(table, "report")?.unwrap_or(config.report);
        config.idle = time(table, "idle")?;
        Ok(MicroLayer::new(Nak::new(config)))
    };
    Described { parameters: NAK, make }
}

/// Returns the description of the layer that cuts long messages.
pub const fn fragments<M: Message>() -> Described<MicroLayer<M, CastFragments<M>>> {
    let make = |table: &dyn ParameterTable, _| {
        let longest = table.within("longest", 1..=65_000)?;
        let longest = longest.map_or(CastFragments::<M>::PIECE, |octets| octets as usize);
        Ok(MicroLayer::new(CastFragments::new(longest)))
    };
    Described { parameters: FRAGMENTS, make }
}

/// Returns the description of the layer that has causes before what follows.
pub const fn causal<M: Message>() -> Described<MicroLayer<M, CausalOrder<M>>> {
    Described { parameters: &[], make: |_, _| Ok(MicroLayer::new(CausalOrder::new())) }
}

/// Returns the description of the layer that hears who has the key.
pub const fn seal<M: Message>() -> Described<MicroLayer<M, GroupSeal>> {
    let make = |table: &dyn ParameterTable, _| {
        let text = table.text("key").unwrap_or_default();
        let is = || Unfit { key: "key", is: "has 32 hexadecimal digits".into() };
        let is_key = text.len() == 32 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let key = u128::from_str_radix(text, 16).ok().filter(|_| is_key).ok_or_else(is)?;
        Ok(MicroLayer::new(GroupSeal::new(key.to_be_bytes())))
    };
    Described { parameters: SEAL, make }
}

/// Returns the description of the layer that detects silence.
pub const fn detector<M: Message>() -> Described<MicroLayer<M, Detector>> {
    let make = |table: &dyn ParameterTable, _| {
        let silence = time(table, "silence")?.unwrap_or(Detector::SILENCE);
        Ok(MicroLayer::new(Detector::new(silence)))
    };
    Described { parameters: DETECTOR, make }
}

/// Returns the description of the layer that asks whether members live.
pub const fn ring<M: Message>() -> Described<MicroLayer<M, RingDetector>> {
    let make = |table: &dyn ParameterTable, _| {
        let silence = time(table, "silence")?.unwrap_or(RingDetector::SILENCE);
        Ok(MicroLayer::new(RingDetector::new(silence)))
    };
    Described { parameters: RING, make }
}

/// Returns the description of the layer that agrees on views.
pub const fn membership<M: Message>() -> Described<MicroLayer<M, Views<M>>> {
    let make = |table: &dyn ParameterTable, _| {
        let founding = time(table, "founding")?;
        Ok(MicroLayer::new(Views::new(ViewsConfig { founding, ..ViewsConfig::default() })))
    };
    Described { parameters: MEMBERSHIP, make }
}

/// Returns the description of the layer that agrees on views in each part of a group.
pub const fn parts<M: Message>() -> Described<MicroLayer<M, PartitionedViews<M>>> {
    let make = |table: &dyn ParameterTable, _| {
        let founding = time(table, "founding")?;
        let config = ViewsConfig { founding, ..ViewsConfig::default() };
        Ok(MicroLayer::new(PartitionedViews::new(config)))
    };
    Described { parameters: MEMBERSHIP, make }
}

/// Returns the description of the layer that delivers what a quorum has.
pub const fn safe<M: Message>() -> Described<MicroLayer<M, SafeDelivery<M>>> {
    Described { parameters: &[], make: |_, _| Ok(MicroLayer::new(SafeDelivery::new())) }
}

/// Returns the description of the layer that has one order.
pub const fn total<M: Message>() -> Described<MicroLayer<M, TotalOrder<M>>> {
    Described { parameters: &[], make: |_, _| Ok(MicroLayer::new(TotalOrder::new())) }
}

/// Returns the description of the layer that hands the state to members that join.
pub const fn state<M: Message>() -> Described<MicroLayer<M, StateTransfer<M>>> {
    Described { parameters: &[], make: |_, _| Ok(MicroLayer::new(StateTransfer::new())) }
}

fn time(table: &dyn ParameterTable, key: &'static str) -> Result<Option<Duration>, Unfit> {
    Ok(table.within(key, TIME)?.map(Duration::from_millis))
}
