//! The stack that a station's file describes.

use std::time::Duration;

use stackwright::agw::{self, Agw, AgwRoute, PortAccess};
use stackwright::ax25::header::DigipeaterPath;
use stackwright::ax25::{self, AirRules, AirRulesConfig, Ax25, Route};
use stackwright::compose::{Beside, Over, stack};
use stackwright::contract::Protocol as _;
use stackwright::kiss::{self, ChannelAccess, Hub, HubConfig};
use stackwright_drivers::Driver;
use stackwright_drivers::tcp::Tcp;

use super::file::{Encryption, PeerEntry, StationFile, TncEntry};
use super::log::Acting;
use super::tncs::{PortTnc, Tncs};
use crate::problem::Problem;
use crate::stacks::{self, Message};

stack! {
    /// Programs share the links of a station, and its TNC.
    pub(crate) StationStack = Agw<Message> over (
        Tcp<Message> beside (Ax25<Message> over Hub<Message> over (
            Tcp<Message> beside Tncs
        ))
    )
}

/// The lanes of the adapters, from the left.
const AGW: usize = 0;
const HUB: usize = 1;
const LINE: usize = 2; // and 3 for a second TNC

/// A station that is about to start.
pub(super) struct Setup {
    pub(super) driver: Driver,
    pub(super) stack: StationStack,
    pub(super) acting: Acting,
}

impl Setup {
    pub(super) fn of(file: &StationFile) -> Result<Self, Problem> {
        let (driver, pool) = (Driver::new(fastrand::u64(..))?, stacks::pool());
        let calls: Vec<_> = [file.call].into_iter().chain(file.aliases.iter().copied()).collect();
        // The first routes are the TNCs themselves; behind them, those of stations beyond
        // digipeaters.
        let direct = (0..file.tncs.len() as u8).map(|port| (port, Vec::new()));
        let beyond = file.peers.iter().map(|peer| (peer.port, peer.via.clone()));
        let known: Vec<_> = (1..)
            .zip(direct.chain(beyond))
            .map(|(number, (port, path))| AgwRoute { port, path, number })
            .collect();
        let path = |path: &[_]| DigipeaterPath::through(path).unwrap_or(DigipeaterPath::DIRECT);
        let routes = known.iter().map(|route| Route { port: route.port, path: path(&route.path) });
        let numbers = known.iter().skip(file.tncs.len()).map(|route| route.number);
        let rates: Vec<_> = file.tncs.iter().map(|tnc| tnc.kiss.rate.get()).collect();
        let version = |peer: &PeerEntry| Some((peer.call, peer.version?));
        let links = ax25::Config {
            aliases: file.aliases.clone(),
            others: file.kiss_calls.clone(),
            peers: file.peers.iter().filter_map(version).collect(),
            routes: routes.collect(),
            rates: rates.clone(),
            links_most: agw::LINKS_MOST,
            ..file.links.clone()
        };
        let programs = agw::Config {
            local: file.agw.map(Into::into),
            calls: calls.clone(),
            ports: file.tncs.iter().map(|tnc| tnc.name.clone()).collect(),
            peers: file.peers.iter().map(|peer| peer.call).zip(numbers).collect(),
            routes: known,
            rates,
            access: file.tncs.iter().map(|tnc| port_access(&tnc.kiss, file.links.window)).collect(),
            others: file.kiss_calls.clone(),
            day: stacks::since_1970().unwrap_or_default(),
        };
        let kiss::Config { longest, mut room, .. } = kiss::Config::default();
        if file.duty.is_some() {
            // A frame that waits for its share of the time waits below: what is made later says
            // more.
            room.messages = 1;
        }
        let hub = HubConfig {
            local: file.kiss.map(Into::into),
            longest,
            ports: file.tncs.len() as u8,
            echo: file.kiss_echo,
            room,
        };
        let calls: Vec<_> = calls.into_iter().chain(file.kiss_calls.iter().copied()).collect();
        let open = |tnc: &TncEntry, lane| -> Result<PortTnc, Problem> {
            let rules = AirRulesConfig {
                calls: calls.clone(),
                transmit: file.transmit,
                identification: file.identification.clone(),
                duty: file.duty,
                rate: tnc.kiss.rate.get(),
                encryption: file.encryption == Encryption::AllowedHere,
            };
            let frames = tnc.line.clone().open(tnc.kiss.clone(), &driver, lane, pool.clone())?;
            let tnc_over = Over::new(AirRules::new(rules), frames);
            // AXUDP has one port.
            Ok(PortTnc { name: tnc.name.clone(), tnc: tnc_over, port: tnc.port })
        };
        let mut opened = Vec::new();
        for (lane, tnc) in (LINE..).zip(&file.tncs) {
            opened.push(open(tnc, lane)?);
        }
        let mut opened = opened.into_iter();
        let first = opened.next().expect("a file without a TNC is refused");
        let acting = Acting::default();
        let tncs = Tncs::new(first, opened.next(), acting.clone());
        let registry = || driver.registry();
        let shared = Beside::new(Tcp::new(registry(), HUB, pool.clone()), tncs);
        let hub = Over::new(Hub::new(hub, pool.clone()).showing_programs(), shared);
        let links = Over::new(Ax25::sharing(links, pool.clone()), hub);
        let below = Beside::new(Tcp::new(registry(), AGW, pool), links);
        let stack = Over::new(Agw::new(programs), below);
        Ok(Setup { driver, stack, acting })
    }
}

/// Returns what programs are told of a port: what the TNC was told, or else has by default.
fn port_access(kiss: &kiss::Config, window: u8) -> PortAccess {
    let ChannelAccess { tx_delay, persistence, slot_time, tx_tail, .. } = kiss.access;
    let units = |time: Option<Duration>, default| {
        time.map_or(default, |time| (time.as_millis() / 10).min(255) as u8)
    };
    PortAccess {
        tx_delay: units(tx_delay, 50),
        tx_tail: units(tx_tail, 0),
        persistence: persistence.unwrap_or(63),
        slot_time: units(slot_time, 10),
        window,
    }
}

pub(super) fn hub(stack: &StationStack) -> &Hub<Message> {
    &stack.lower.right.lower.upper
}

pub(super) fn tncs(stack: &mut StationStack) -> &mut Tncs {
    &mut stack.lower.right.lower.lower.right
}

/// Returns whether what was sent is on the line, or nobody is there to take it.
pub(super) fn has_sent_all(stack: &StationStack) -> bool {
    stack.lower.right.may_exit()
}
