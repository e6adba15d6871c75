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
    /// How the ports access the channel, for programs that ask; what is not said of one is told as
    /// Direwolf does.
    pub access: Vec<PortAccess>,
    /// Further call signs with which the station transmits: those of programs of KISS.
    pub others: Vec<CallSign>,
}

/// How a port accesses the channel, in the units of KISS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PortAccess {
    /// The key-up (TXDELAY), in units of 10 ms.
    pub tx_delay: u8,
    /// The tail (TXTAIL), in units of 10 ms.
    pub tx_tail: u8,
    /// The probability with which a free slot is used (P), in units of 1/256, less one.
    pub persistence: u8,
    /// The time of a slot (SlotTime), in units of 10 ms.
    pub slot_time: u8,
    /// The most frames that leave before an acknowledgement (MAXFRAME).
    pub window: u8,
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
            access: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Returns whether a call sign is one of the station's.
    pub(crate) fn owns(&self, call: CallSign) -> bool {
        self.calls.contains(&call) || self.others.contains(&call)
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
