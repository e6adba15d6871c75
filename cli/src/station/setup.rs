//! The stack that a station's file describes.

use stackwright::agw::{self, Agw, AgwRoute};
use stackwright::ax25::header::DigipeaterPath;
use stackwright::ax25::{self, AirRules, AirRulesConfig, Ax25, Route};
use stackwright::compose::{Beside, Over, stack};
use stackwright::contract::Protocol as _;
use stackwright::kiss::{Hub, HubConfig};
use stackwright_drivers::Driver;
use stackwright_drivers::tcp::Tcp;

use super::file::{StationFile, TncEntry};
use crate::problem::Problem;
use crate::stacks::{self, Message};
use crate::tnc::TncFrames;

stack! {
    /// Programs share the links of a station, and its TNC.
    pub(crate) StationStack = Agw<Message> over (
        Tcp<Message> beside (Ax25<Message> over Hub<Message> over (
            Tcp<Message> beside (AirRules<Message> over TncFrames)
        ))
    )
}

/// The lanes of the adapters, from the left.
const AGW: usize = 0;
const HUB: usize = 1;
const LINE: usize = 2;

/// A station that is about to start.
pub(super) struct Setup {
    pub(super) driver: Driver,
    pub(super) stack: StationStack,
}

impl Setup {
    pub(super) fn of(file: &StationFile) -> Result<Self, Problem> {
        let TncEntry { line, kiss, port, name, .. } = &file.tnc;
        let rate = kiss.rate.get();
        let (driver, pool) = (Driver::new(fastrand::u64(..))?, stacks::pool());
        let calls: Vec<_> = [file.call].into_iter().chain(file.aliases.iter().copied()).collect();
        // Route 1 is the TNC's port itself; behind it, those of stations beyond digipeaters.
        let mut routes = vec![Route { port: *port, path: DigipeaterPath::DIRECT }];
        let mut known = vec![AgwRoute { port: 0, path: Vec::new(), number: 1 }];
        let mut peers = Vec::new();
        for peer in &file.peers {
            let path = DigipeaterPath::through(&peer.via).unwrap_or(DigipeaterPath::DIRECT);
            routes.push(Route { port: *port, path });
            let number = routes.len() as u16;
            known.push(AgwRoute { port: 0, path: peer.via.clone(), number });
            peers.push((peer.call, number));
        }
        let links = ax25::Config {
            aliases: file.aliases.clone(),
            version: file.version,
            peers: file.peers.iter().map(|peer| (peer.call, peer.version)).collect(),
            routes,
            frame: file.frame,
            rate,
            digipeat: file.digipeat,
            ..ax25::Config::new(file.call)
        };
        let programs = agw::Config {
            local: file.agw.map(Into::into),
            calls: calls.clone(),
            ports: vec![name.clone()],
            routes: known,
            peers,
            rate,
        };
        let longest = kiss.longest;
        let hub = HubConfig {
            local: file.kiss.map(Into::into),
            longest,
            ports: kiss.ports,
            echo: false,
            room: kiss.room,
        };
        let rules = AirRulesConfig {
            calls: calls.into_iter().chain(file.kiss_calls.iter().copied()).collect(),
            transmit: file.transmit,
            identification: file.identification.clone(),
            duty: file.duty,
            rate,
        };
        let registry = || driver.registry();
        let tnc = line.clone().open(kiss.clone(), &driver, LINE, pool.clone())?;
        let tnc = Over::new(AirRules::new(rules), tnc);
        let shared = Beside::new(Tcp::new(registry(), HUB, pool.clone()), tnc);
        let hub = Over::new(Hub::new(hub, pool.clone()), shared);
        let links = Over::new(Ax25::sharing(links, pool.clone()), hub);
        let below = Beside::new(Tcp::new(registry(), AGW, pool), links);
        let stack = Over::new(Agw::new(programs), below);
        Ok(Setup { driver, stack })
    }
}

pub(super) fn hub(stack: &StationStack) -> &Hub<Message> {
    &stack.lower.right.lower.upper
}

pub(super) fn rules(stack: &StationStack) -> &AirRules<Message> {
    &stack.lower.right.lower.lower.right.upper
}

/// Returns whether what was sent is on the line, or nobody is there to take it.
pub(super) fn has_sent_all(stack: &StationStack) -> bool {
    stack.lower.right.may_exit()
}

/// Takes the TNC out of KISS, where the file says so.
pub(super) fn leave(stack: &mut StationStack) {
    stack.lower.right.lower.lower.right.lower.leave();
}
