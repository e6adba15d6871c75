//! The transport of images, in this process or in a server.

use std::io;
use std::net::{IpAddr, Ipv6Addr};

use stackwright::tailored::configurations::Selective;
use stackwright::tailored::{self, Named, TailoredHost};
use stackwright_drivers::Driver;
use stackwright_drivers::udp::Udp;
use stackwright_jis::body_most;
use stackwright_parts::{Reliable, selective, served};

use crate::placement::{Placement, remote};
use crate::problem::Problem;
use crate::stacks::{self, Message};

/// Makes what is below both roles, in this process or in a server, and returns the longest body of
/// an ADU that it carries in one packet.
pub(crate) fn below(
    driver: &Driver,
    address: IpAddr,
    placement: &Placement,
) -> Result<(Reliable, usize), Problem> {
    placement.check_ungranted()?;
    let Some(socket) = placement.socket("jis")? else { return Ok(transport(driver, address)?) };
    let (_, most) = transport_host(HOSTED)?;
    Ok((served(remote(socket, driver.registry(), 0, stacks::pool())), most))
}

/// A transport for others does not know whether they use IPv6, whose packets are shorter.
pub(crate) const HOSTED: IpAddr = IpAddr::V6(Ipv6Addr::UNSPECIFIED);

/// Makes the transport that the phase `image` selects, over UDP.
pub(crate) fn transport(driver: &Driver, address: IpAddr) -> io::Result<(Reliable, usize)> {
    let (host, most) = transport_host(address)?;
    let layer = tailored::layer_of(host, u64::from_ne_bytes(stacks::entropy()?));
    Ok((selective(layer, Udp::new(driver.registry(), 0, stacks::pool())), most))
}

type Host = TailoredHost<Named<Selective<Message>>>;

fn transport_host(address: IpAddr) -> io::Result<(Host, usize)> {
    let config = tailored::Config {
        packet: stacks::packet(address),
        protocol: stackwright_jis::generated::HASH,
        accepts: stackwright_jis::generated::ACCEPTS,
        ..tailored::Config::new(stacks::entropy()?)
    };
    let host = TailoredHost::new(Named::new(stackwright_jis::VALUES), config);
    let most = body_most(host.unit_most());
    Ok((host, most))
}
