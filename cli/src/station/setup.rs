//! The stack that a station's file describes.

use stackwright::agw::{self, Agw, AgwRoute};
use stackwright::ax25::header::DigipeaterPath;
use stackwright::ax25::{self, AirRules, AirRulesConfig, Ax25, Route};
use stackwright::compose::{Beside, Over, stack};
use stackwright::contract::Protocol as _;
use stackwright::kiss::{self, Hub, HubConfig};
use stackwright_drivers::Driver;
use stackwright_drivers::tcp::Tcp;

use super::file::{Encryption, StationFile, TncEntry};
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
        let links = ax25::Config {
            aliases: file.aliases.clone(),
            version: file.version,
            peers: file.peers.iter().map(|peer| (peer.call, peer.version)).collect(),
            routes: routes.collect(),
            frame: file.frame,
            rates: rates.clone(),
            digipeat: file.digipeat,
            ..ax25::Config::new(file.call)
        };
        let programs = agw::Config {
            local: file.agw.map(Into::into),
            calls: calls.clone(),
            ports: file.tncs.iter().map(|tnc| tnc.name.clone()).collect(),
            peers: file.peers.iter().map(|peer| peer.call).zip(numbers).collect(),
            routes: known,
            rates,
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
            echo: false,
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
        let tncs = Tncs::new(first, opened.next());
        let registry = || driver.registry();
        let shared = Beside::new(Tcp::new(registry(), HUB, pool.clone()), tncs);
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

pub(super) fn tncs(stack: &mut StationStack) -> &mut Tncs {
    &mut stack.lower.right.lower.lower.right
}

/// Returns whether what was sent is on the line, or nobody is there to take it.
pub(super) fn has_sent_all(stack: &StationStack) -> bool {
    stack.lower.right.may_exit()
}
