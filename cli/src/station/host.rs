//! The station as a host of IPv4: it answers, relays for others where its file says so, and leads
//! programs of this machine to other stations through a TUN device.
//!
//! ```text
//!   host                    nobody: it answers by itself
//!    ip ─────────┐          a router, where there is a device
//!   dsr          │          by choice
//!   resolve    point
//!   ax25        tun
//! ```

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use stackwright::compose::graph::Builder;
use stackwright::contract::services::{Datagrams, DatagramsIndication};
use stackwright::contract::{Context, Facts, Nothing, Outlet, Protocol};
use stackwright::dsr::{self, Dsr};
use stackwright::ip::{self, Ip, IpInterface, Point};
use stackwright::resolve::{self, Resolve};
use stackwright::wire::Pool;
use stackwright_drivers::tun::{Tun, TunOptions};
use stackwright_drivers::{Driver, Readiness};
use stackwright_parts::Part as _;

use super::file::{DeviceEntry, HostEntry, StationFile};
use super::setup::{AX25, lane};
use crate::problem::Problem;
use crate::stacks::Message;

/// The names of nodes.
const HOST: &str = "host";
pub(super) const IP: &str = "ip";
const DSR: &str = "dsr";
const RESOLVE: &str = "resolve";
const POINT: &str = "point";
const TUN: &str = "tun";

/// Nobody above: a host answers echoes, relays and forwards by itself.
struct Alone;

impl Protocol for Alone {
    const FACTS: Facts = Facts::named(HOST);
    type Provides = Nothing;
    type Uses = Datagrams<Message>;

    fn handle_request(&mut self, _: &Context, request: Infallible, _: &mut impl Outlet<Self>) {
        match request {}
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        _: DatagramsIndication<Message>,
        _: &mut impl Outlet<Self>,
    ) {
    }
}

/// Adds the host to the stack of a station.
pub(super) fn add(
    graph: Builder<Message, Readiness>,
    file: &StationFile,
    driver: &Driver,
    pool: &Arc<Pool<Message>>,
) -> Result<Builder<Message, Readiness>, Problem> {
    let HostEntry { own, neighbors, dsr, device, routes, .. } = &file.host;
    let hardware = |(host, call): &(_, _)| (IpAddr::V4(*host), resolve::hardware(*call));
    let neighbors = neighbors.iter().map(hardware).collect();
    let stations = resolve::Config { neighbors, ..resolve::Config::radio(file.call) };
    let networks = [Some(own), device.as_ref().map(|device| &device.own)];
    let interface = |network: &crate::inet::Network| IpInterface {
        addresses: vec![(network.address, network.length)],
    };
    let config = ip::Config {
        seed: fastrand::u64(..),
        forwards: device.is_some(),
        routes: routes.clone(),
        ..ip::Config::new(networks.into_iter().flatten().map(interface).collect())
    };
    let air = if *dsr { DSR } else { RESOLVE };
    let lowers: &[&str] = if device.is_some() { &[air, POINT] } else { &[air] };
    let mut graph = graph
        .protocol(HOST, Alone)
        .over(IP)
        .top(HOST)
        .node(IP, Ip::<Message>::new(config).boxed())
        .over_joined(lowers);
    if *dsr {
        let dsr = Dsr::<Message>::new(dsr::Config::default(), fastrand::u64(..));
        graph = graph.node(DSR, dsr.boxed()).over(RESOLVE);
    }
    let resolve = Resolve::<Message>::new(stations, fastrand::u64(..));
    graph = graph.node(RESOLVE, resolve.boxed()).over(AX25);
    if let Some(DeviceEntry { name, .. }) = device {
        // Nobody on the air completes a check, or takes apart what is longer than a frame.
        let options = TunOptions { super_packets: false, checks: false, ..TunOptions::default() };
        let registry = driver.registry();
        let tun = Tun::<Message>::open_with(name, options, &registry, lane::TUN, pool.clone());
        let tun = tun.map_err(|why| Problem::Device { device: name.clone(), why })?;
        graph =
            graph.node(POINT, Point::<Message>::default().boxed()).over(TUN).node(TUN, tun.boxed());
    }
    Ok(graph)
}
