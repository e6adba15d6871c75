//! The configuration.

use alloc::string::String;
use alloc::vec::Vec;

use stackwright_contract::{CallSign, Duration, Participant};

/// The configuration of an [`Agw`](crate::Agw).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Where programs find it; `None`: nowhere.
    pub local: Option<Participant>,
    /// The call signs that programs may register: those of the AX.25 below.
    pub calls: Vec<CallSign>,
    /// The names of the ports of the TNC, counted from 0; programs show them.
    pub ports: Vec<String>,
    /// The routes of the AX.25 below.
    pub routes: Vec<AgwRoute>,
    /// Stations that are reached by one of these routes where a program names no digipeaters.
    pub peers: Vec<(CallSign, u16)>,
    /// The time when the clock of the stack was at its start, from any midnight: the time of day
    /// in what is monitored.
    pub day: Duration,
    /// The rates on the air of the ports, in bit/s, for programs that ask.
    pub rates: Vec<u32>,
}

/// A route of the AX.25 below.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AgwRoute {
    /// The port of the TNC.
    pub port: u8,
    /// The digipeaters, in order.
    pub path: Vec<CallSign>,
    /// Its number, as in [`Address::Station`](stackwright_contract::Address::Station).
    pub number: u16,
}

impl Config {
    /// Returns a server at `local` for one call sign and one port.
    pub fn at(local: impl Into<Participant>, call: CallSign) -> Self {
        Config {
            local: Some(local.into()),
            calls: Vec::from([call]),
            ports: Vec::from([String::from("radio")]),
            routes: Vec::new(),
            peers: Vec::new(),
            day: Duration::ZERO,
            rates: Vec::from([1200]),
        }
    }

    /// Returns the number of the route through these digipeaters.
    pub(crate) fn route(&self, port: u8, path: &[CallSign]) -> Option<u16> {
        let is = |route: &&AgwRoute| route.port == port && route.path == path;
        let configured = self.routes.iter().find(is).map(|route| route.number);
        configured.or_else(|| (port == 0 && path.is_empty()).then_some(0))
    }

    /// Returns the number of the route to a station where a program names no digipeaters.
    pub(crate) fn route_to(&self, port: u8, peer: CallSign) -> Option<u16> {
        let there = |number| self.routes.iter().any(|r| r.number == number && r.port == port);
        let is = |(call, number): &&(CallSign, u16)| *call == peer && there(*number);
        let known = self.peers.iter().find(is).map(|(_, number)| *number);
        known.or_else(|| self.route(port, &[]))
    }
}
