//! The stack that a station's file describes: a graph, because several protocols stand on AX.25.
//!
//! ```text
//!   agw  programs  served   programs that connect; programs at call signs; other stations
//!    |      |        ftp    and the disk, where a folder is served
//!    |      |       merged, xstp, ip, resolve
//!   ax25                    links and unnumbered frames
//!   hub                     programs that speak KISS
//!   tncs
//! ```

use std::cell::{Ref, RefMut};
use std::sync::Arc;
use std::time::Duration;

use stackwright::agw::{self, Agw, AgwRoute, PortAccess};
use stackwright::ax25::header::{DigipeaterPath, pid};
use stackwright::ax25::{self, AirRules, AirRulesConfig, Ax25, Beacon, Route};
use stackwright::compose::Over;
use stackwright::compose::graph::Builder;
use stackwright::compress::{Compress, RuleSet};
use stackwright::contract::{Address, CallSign, Context, Nothing, Participant};
use stackwright::dsr;
use stackwright::ftp::server::{self, Anonymous, Rights};
use stackwright::ftp::{self, Server};
use stackwright::kiss::{self, ChannelAccess, Hub, HubConfig};
use stackwright::merged::{self, Merged};
use stackwright::wire::Pool;
use stackwright::xstp;
use stackwright_drivers::files::{Disk, DiskOptions, Root};
use stackwright_drivers::line::LineCalls;
use stackwright_drivers::programs::{ProgramAt, Programs};
use stackwright_drivers::tcp::Tcp;
use stackwright_drivers::{Driver, Readiness};
use stackwright_parts::{Part as _, Stack};

use super::file::{
    Encryption, FolderEntry, KissPlace, PeerEntry, ProgramEntry, StationFile, TncEntry,
};
use super::host;
use super::log::Acting;
use super::served::Served;
use super::tncs::{PortTnc, Tncs};
use crate::line::LineAddress;
use crate::problem::Problem;
use crate::stacks::{self, Message};

/// The names of nodes.
const AGW: &str = "agw";
const HUB: &str = "hub";
const TNCS: &str = "tncs";
pub(super) const AX25: &str = "ax25";
const SERVED: &str = "served";
const PROGRAMS: &str = "programs";

/// The lanes of the adapters: from the left, as the graph counts them.
pub(super) mod lane {
    pub(super) const AGW: usize = 0;
    pub(super) const HUB: usize = 1;
    pub(super) const LINE: usize = 2; // and 3 for a second TNC
    pub(super) const PROGRAMS: usize = 4;
    pub(crate) const TUN: usize = 5;

    /// Returns the disk's, where a folder is served: to the right of all others.
    pub(super) const fn disk(has_tun: bool) -> usize {
        if has_tun { TUN + 1 } else { TUN }
    }
}

/// A station that is about to start.
pub(super) struct Setup {
    pub(super) driver: Driver,
    pub(super) stack: Stack<Nothing>,
    pub(super) acting: Acting,
}

impl Setup {
    pub(super) fn of(file: &StationFile) -> Result<Self, Problem> {
        let (driver, pool) = (Driver::new(fastrand::u64(..))?, stacks::pool());
        let acting = Acting::default();
        let known = known(file);
        let tcp = |lane| Tcp::<Message>::new(driver.registry(), lane, pool.clone()).boxed();
        let links = Ax25::<Message>::sharing(links(file, &known), pool.clone());
        let hub = Hub::<Message>::new(shared(file), pool.clone()).showing_programs();
        let tncs = open(file, &driver, &pool, acting.clone())?;
        let graph = Builder::new()
            .node(AGW, Agw::<Message>::new(programs(file, known)).boxed())
            .over("agw programs")
            .over(AX25)
            .over(AX25)
            .top(AGW)
            .node("agw programs", tcp(lane::AGW))
            .node(AX25, links.boxed())
            .over(HUB)
            .node(HUB, hub.boxed())
            .over("kiss programs")
            .over(TNCS)
            .protocol(TNCS, tncs);
        let graph = match &file.kiss {
            Some(KissPlace::Terminal(link)) => {
                let line = LineAddress::Pty { link: link.clone() };
                let line = line.open(&driver, lane::HUB, pool.clone())?;
                let calls = LineCalls::<Message>::default();
                graph.protocol("kiss programs", Over::new(calls, line))
            }
            Some(KissPlace::Address(_)) | None => graph.node("kiss programs", tcp(lane::HUB)),
        };
        let at_calls = Programs::<Message>::new(
            at_calls(file),
            driver.registry(),
            lane::PROGRAMS,
            pool.clone(),
        );
        let graph = graph.protocol(PROGRAMS, at_calls).over(AX25).top(PROGRAMS);
        let graph = if file.is_host() { host::add(graph, file, &driver, &pool)? } else { graph };
        let graph = match &file.folder {
            Some(folder) => serving(graph, file, folder, &driver, pool)?,
            None => graph,
        };
        let stack = graph.build().expect("the rule book refuses no station");
        Ok(Setup { driver, stack, acting })
    }
}

pub(super) fn agw(stack: &Stack<Nothing>) -> Ref<'_, Agw<Message>> {
    stack.protocol(AGW).expect(IN_IT)
}

pub(super) fn stop(stack: &mut Stack<Nothing>) {
    if let Some(mut served) = stack.protocol_mut::<Served>(SERVED) {
        served.stop();
    }
    stack.protocol_mut::<Agw<Message>>(AGW).expect(IN_IT).stop();
    stack.protocol_mut::<Programs<Message>>(PROGRAMS).expect(IN_IT).stop();
}

/// Starts programs for those who called their call signs. Their environment has `CALLER`, `CALLED`,
/// and `VIA`, the digipeaters to the caller.
pub(super) fn start_programs(stack: &mut Stack<Nothing>, cx: &Context) {
    let waiting: Vec<_> = {
        let programs = stack.protocol::<Programs<Message>>(PROGRAMS).expect(IN_IT);
        programs.waiting().collect()
    };
    for (name, [called, caller]) in waiting {
        let route = match caller.address {
            Address::Station { route, .. } => {
                stack.protocol::<Ax25<Message>>(AX25).expect(IN_IT).route(route)
            }
            _ => None,
        };
        let via = route.iter().flat_map(|route| route.path.iter());
        let via = via.map(|(call, _)| call.to_string()).collect::<Vec<_>>().join(",");
        let [called, caller] = [called, caller].map(|end| end.address.to_string());
        let environment = [("CALLER", caller), ("CALLED", called), ("VIA", via)];
        let mut programs = stack.protocol_mut::<Programs<Message>>(PROGRAMS).expect(IN_IT);
        programs.start(cx, name, &environment);
    }
}

pub(super) fn hub(stack: &Stack<Nothing>) -> Ref<'_, Hub<Message>> {
    stack.protocol(HUB).expect(IN_IT)
}

pub(super) fn tncs(stack: &mut Stack<Nothing>) -> RefMut<'_, Tncs> {
    stack.protocol_mut(TNCS).expect(IN_IT)
}

const IN_IT: &str = "each station has it";

/// Adds the stack of files that other stations reach: as `get-radio`, from the other side.
fn serving(
    graph: Builder<Message, Readiness>,
    file: &StationFile,
    folder: &FolderEntry,
    driver: &Driver,
    pool: Arc<Pool<Message>>,
) -> Result<Builder<Message, Readiness>, Problem> {
    let FolderEntry { root, writable } = folder;
    let opened = Root::open(root).map_err(|why| Problem::Path { path: root.clone(), why })?;
    let options = DiskOptions { regions: false, ..stacks::server_options(*writable, true) };
    let lane = lane::disk(file.host.device.is_some());
    let disk = Disk::<Message>::new(opened, options, driver.registry(), lane, pool);
    let rights = Rights { write: *writable };
    let files = server::Config {
        sessions_most: SESSIONS_MOST,
        sessions_per_address: SESSIONS_MOST / 4,
        login_wait: PATIENCE,
        data_wait: PATIENCE,
        idle: 6 * PATIENCE,
        epoch: stacks::epoch(),
        merged: true,
        ..server::Config::new(Box::new(Anonymous(rights)))
    };
    let route = if file.host.dsr { dsr::Config::default().overhead() as usize } else { 0 };
    let packet = (file.links.longest - IPV4_HEADER - route) as u16;
    // Stations of all TNCs are waited for as long as those of the slowest.
    let rate = file.tncs.iter().map(|tnc| tnc.kiss.rate).min().expect("a station has a TNC");
    let streams = xstp::Config::radio(rate.into(), packet);
    let streams_of_one = merged::Config { associations_most: SESSIONS_MOST, ..Default::default() };
    let local = (file.host.own.address, ftp::PORT).into();
    Ok(graph
        .protocol(SERVED, Served::new(local))
        .over("ftp")
        .top(SERVED)
        .node("ftp", Server::<Message>::new(files).boxed())
        .over("merged")
        .over("disk")
        .node("merged", Merged::<Message>::new(streams_of_one).boxed())
        .over("xstp")
        .node("xstp", xstp::layer::<Message>(streams, fastrand::u64(..)).boxed())
        .over(host::IP)
        .node("disk", disk.boxed()))
}

/// Other stations at once, and how long one that is slow is waited for: others use the channel.
const SESSIONS_MOST: usize = 16;
const PATIENCE: Duration = Duration::from_secs(600);
const IPV4_HEADER: usize = 20;

/// Returns all call signs that the station itself answers for.
fn calls(file: &StationFile) -> Vec<CallSign> {
    [file.call].into_iter().chain(file.aliases.iter().copied()).collect()
}

/// Returns these call signs, and those of programs.
fn with_programs(calls: &[CallSign], file: &StationFile) -> Vec<CallSign> {
    calls.iter().copied().chain(file.programs.iter().map(|program| program.call)).collect()
}

/// Returns the programs at call signs.
fn at_calls(file: &StationFile) -> Vec<ProgramAt> {
    let local = |call| Address::Station { call, pid: pid::NONE, route: 0 }.into();
    let at = |program: &ProgramEntry| ProgramAt {
        local: local(program.call),
        command: program.run.clone(),
        most: program.most,
    };
    file.programs.iter().map(at).collect()
}

/// Returns the routes: the first are the TNCs themselves; behind them, those of stations beyond
/// digipeaters.
fn known(file: &StationFile) -> Vec<AgwRoute> {
    let direct = (0..file.tncs.len() as u8).map(|port| (port, Vec::new()));
    let beyond = file.peers.iter().map(|peer| (peer.port, peer.via.clone()));
    let numbered = (1..).zip(direct.chain(beyond));
    numbered.map(|(number, (port, path))| AgwRoute { port, path, number }).collect()
}

/// Returns the routes by which peers are reached.
fn numbers(file: &StationFile, known: &[AgwRoute]) -> impl Iterator<Item = (CallSign, u16)> {
    let beyond = known.iter().skip(file.tncs.len()).map(|route| route.number);
    file.peers.iter().map(|peer| peer.call).zip(beyond)
}

fn rates(file: &StationFile) -> Vec<u32> {
    file.tncs.iter().map(|tnc| tnc.kiss.rate.get()).collect()
}

fn links(file: &StationFile, known: &[AgwRoute]) -> ax25::Config {
    let path = |path: &[_]| DigipeaterPath::through(path).unwrap_or(DigipeaterPath::DIRECT);
    let routes = known.iter().map(|route| Route { port: route.port, path: path(&route.path) });
    let version = |peer: &PeerEntry| Some((peer.call, peer.version?));
    ax25::Config {
        aliases: with_programs(&file.aliases, file),
        others: file.kiss_calls.clone(),
        peers: file.peers.iter().filter_map(version).collect(),
        routes: routes.collect(),
        reached: numbers(file, known).collect(),
        rates: rates(file),
        links_most: agw::LINKS_MOST,
        ..file.links.clone()
    }
}

fn programs(file: &StationFile, known: Vec<AgwRoute>) -> agw::Config {
    agw::Config {
        local: file.agw.map(Into::into),
        calls: calls(file),
        ports: file.tncs.iter().map(|tnc| tnc.name.clone()).collect(),
        peers: numbers(file, &known).collect(),
        routes: known,
        rates: rates(file),
        access: file.tncs.iter().map(|tnc| port_access(&tnc.kiss, file.links.window)).collect(),
        others: with_programs(&file.kiss_calls, file),
        day: stacks::since_1970().unwrap_or_default(),
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

fn shared(file: &StationFile) -> HubConfig {
    let kiss::Config { longest, mut room, .. } = kiss::Config::default();
    if file.duty.is_some() {
        // A frame that waits for its share of the time waits below: what is made later says more.
        room.messages = 1;
    }
    HubConfig {
        local: file.kiss.as_ref().map(|place| match place {
            KissPlace::Address(address) => (*address).into(),
            KissPlace::Terminal(_) => Participant::OTHER_END,
        }),
        longest,
        ports: file.tncs.len() as u8,
        echo: file.kiss_echo,
        room,
    }
}

/// Opens the TNCs.
fn open(
    file: &StationFile,
    driver: &Driver,
    pool: &Arc<Pool<Message>>,
    acting: Acting,
) -> Result<Tncs, Problem> {
    let calls = with_programs(&[calls(file), file.kiss_calls.clone()].concat(), file);
    let beacons = |nth: usize, port| {
        let its = file.beacons.iter().filter(move |beacon| usize::from(beacon.port) == nth);
        its.map(move |beacon| Beacon { port, ..beacon.clone() }).collect()
    };
    let open = |(lane, tnc): (usize, &TncEntry)| -> Result<PortTnc, Problem> {
        let rules = AirRulesConfig {
            calls: calls.clone(),
            transmit: file.transmit,
            identification: file.identification.clone(),
            beacons: beacons(lane - lane::LINE, tnc.port),
            duty: file.duty,
            rate: tnc.kiss.rate.get(),
            encryption: file.encryption == Encryption::AllowedHere,
        };
        let frames = tnc.line.clone().open(tnc.kiss.clone(), driver, lane, pool.clone())?;
        let rules_of_headers =
            if file.host.compress { RuleSet::built_in() } else { RuleSet::default() };
        let compress = Compress::new(file.call, rules_of_headers);
        let tnc_over = Over::new(AirRules::new(rules), Over::new(compress, frames));
        // AXUDP has one port.
        Ok(PortTnc { name: tnc.name.clone(), tnc: tnc_over, port: tnc.port })
    };
    let opened: Result<Vec<_>, _> = (lane::LINE..).zip(&file.tncs).map(open).collect();
    let mut opened = opened?.into_iter();
    let first = opened.next().expect("a file without a TNC is refused");
    Ok(Tncs::new(first, opened.next(), acting))
}
