//! Which stack a URL names: those of `stackwright perf`, on the same wire.

use std::net::{SocketAddr, ToSocketAddrs as _};

use stackwright_artp as artp;
use stackwright_compose::{Opaque, Over};
use stackwright_contract::services::Datagrams;
use stackwright_drivers::Readiness;
use stackwright_endpoint::System;
use stackwright_framed::Framed;
use stackwright_policies::profile::{Bounds, PolicyValues};
use stackwright_tailored::{self as tailored, Named, configurations::AnyOrder};
use stackwright_wire::BufferTree;
use stackwright_xtp::{self as xtp, services::Connection};

use crate::failure::Failure;

/// A stack that provides messages: each is a type of its own inside, and the endpoint above it is
/// compiled once.
pub(crate) type Stack = Opaque<Datagrams<BufferTree>, Readiness>;

/// Makes a stack.
pub(crate) type Make = fn(&System) -> Stack;

const STACKS: [(&str, Make); 5] = [
    ("artp", |system| {
        let config = artp::Config {
            epoch: system.epoch(),
            expires: true,
            ..artp::Config::new(system.secret())
        };
        let pool = System::pool();
        let artp = artp::layer_sharing::<BufferTree>(config, system.seed(), pool.clone());
        Opaque::new(Over::new(artp, system.udp_with(pool)))
    }),
    ("tailored", |system| {
        let bounds = Bounds { window: 4096, ..Bounds::DEFAULT };
        let values = PolicyValues { bounds, ..PolicyValues::RELIABLE };
        let (parts, config) =
            (Named::<AnyOrder<_>>::new(values), tailored::Config::new(system.secret()));
        Opaque::new(Over::new(tailored::layer(parts, config, system.seed()), system.udp()))
    }),
    ("tcp", |system| Opaque::new(Over::new(Framed::default(), system.tcp()))),
    ("udp", |system| Opaque::new(system.udp())),
    ("xtp", |system| {
        let config = xtp::Config::new(system.secret());
        let xtp = xtp::layer::<BufferTree, Connection>(config, system.seed());
        Opaque::new(Over::new(xtp, system.udp()))
    }),
];

/// Reads `scheme://host:port`; without host and port, it listens nowhere.
pub(crate) fn read(url: &str) -> Result<(Make, Option<SocketAddr>), Failure> {
    let (scheme, place) = url.split_once("://").ok_or(Failure::Invalid)?;
    let stack = STACKS.iter().find(|(name, _)| *name == scheme);
    let (_, make) = stack.ok_or(Failure::Invalid)?;
    let place = place.strip_suffix('/').unwrap_or(place);
    let place = (!place.is_empty()).then(|| address(place)).transpose()?;
    Ok((*make, place))
}

/// Reads `host:port`. A name is resolved as the system does it, which may take long.
pub(crate) fn address(text: &str) -> Result<SocketAddr, Failure> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let (host, port) = text.rsplit_once(':').ok_or(Failure::Invalid)?;
    let port: u16 = port.parse().map_err(|_| Failure::Invalid)?;
    if host.is_empty() || host.contains([':', '[', ']', '/', '@', '?', '#']) {
        return Err(Failure::Invalid);
    }
    let mut found = (host, port).to_socket_addrs().map_err(|_| Failure::Unreachable)?;
    found.next().ok_or(Failure::Unreachable)
}
