//! `perf serve`: the side that counts, and answers.

use std::collections::{HashMap, HashSet};
use std::mem;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stackwright::contract::Handle;
use stackwright::contract::services::Ended;
use stackwright_endpoint::Error;

use super::arguments::Serve;
use super::cores;
use super::guest::{self, Guest};
use super::one_way;
use super::options::{self, Given};
use super::outcome::times;
use super::place::Place;
use super::processor;
use super::shown;
use super::transport::{Endpoint, Make, endpoint, no_way};
use super::words::Report;
use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::report::say;

pub(super) fn run(serve: &Serve) -> Result<(), Problem> {
    let place = Place::parse(&serve.url)?;
    options::check(&Given::Serve(serve), &place)?;
    place.transport.check(&place, &serve.tuning, &serve.placement)?;
    let interrupted = interrupts()?;
    let told = Told { json: serve.json, intervals: serve.intervals, place: &place };
    let make = Make::new(&place, &serve.tuning, &serve.placement)?;
    let (address, config) = (place.address, endpoint(&serve.tuning));
    if serve.cores > 1 {
        return cores::serve(serve.cores, &told, config, &make, &interrupted);
    }
    let endpoint =
        Endpoint::bind(address, config, make.stacks()).map_err(|error| unheard(address, error))?;
    told.serving(endpoint.local().unwrap_or(address));
    attend(&endpoint, Some(&told), &interrupted).map(drop)
}

/// What one thread has served.
#[derive(Clone, Copy, Default)]
pub(super) struct Served {
    guests: u64,
    octets: u64,
    messages: u64,
    /// All that it took of the processor.
    processor: Duration,
}

impl Served {
    fn add(&mut self, other: Served) {
        self.guests += other.guests;
        self.octets += other.octets;
        self.messages += other.messages;
        self.processor += other.processor;
    }

    fn guest(&mut self, Report { octets, messages, .. }: Report) {
        self.add(Served { guests: 1, octets, messages, processor: Duration::ZERO });
    }

    fn json(&self) -> Value {
        let Served { guests, octets, messages, processor } = self;
        json!({ "guests": guests, "octets": octets, "messages": messages, "processor": processor.as_secs_f64() })
    }
}

/// How often all guests are looked at; and those that wait for a report, or for credit.
const LOOK: Duration = Duration::from_millis(500);
const LOOK_PENDING: Duration = Duration::from_millis(20);

/// Serves all who come, until `stop`, and tells of them.
pub(super) fn attend(
    endpoint: &Endpoint,
    told: Option<&Told<'_>>,
    stop: &AtomicBool,
) -> Result<Served, Problem> {
    let mut served = Served::default();
    let mut guests: HashMap<Handle, Guest> = HashMap::new();
    // Those that time matters to, and when all were last looked at: where messages may be lost,
    // nothing tells that a guest is gone.
    let (mut pending, mut looked) = (HashSet::new(), Instant::now());
    while !stop.load(Ordering::Relaxed) {
        let wait = if pending.is_empty() { LOOK } else { LOOK_PENDING };
        match endpoint.wait(Some(wait)) {
            Ok(_) => {}
            Err(Error::System(why)) => return Err(why.into()),
            Err(why) => return Err(std::io::Error::other(why).into()),
        }
        while endpoint.arrived() > 0
            && let Ok(association) = endpoint.try_accept()
        {
            guests.insert(association.name(), Guest::new(association));
        }
        let mut turn = |name: Handle, pending: &mut HashSet<Handle>| {
            let Some(guest) = guests.get_mut(&name) else { return };
            // A transaction that only asks for a report counts nothing.
            if let Some(counted) = guest.turn()
                && (counted.sent, counted.report.messages) != (0, 0)
                && let Some(told) = told
            {
                told.measured(guest.remote(), counted);
            }
            if let Some((there, message)) = guest.take_report() {
                one_way::report(endpoint, there, message);
            }
            if guest.is_pending() {
                pending.insert(name);
            }
            if guest.is_gone() {
                pending.remove(&name);
                served.guest(guest.counted());
                guests.remove(&name);
            }
        };
        while let Some(name) = endpoint.take_changed() {
            turn(name, &mut pending);
        }
        for name in mem::take(&mut pending) {
            turn(name, &mut pending);
        }
        if looked.elapsed() >= LOOK {
            looked = Instant::now();
            // A listener in a server ends with it.
            match (endpoint.try_accept(), endpoint.local()) {
                (Ok(association), _) => {
                    guests.insert(association.name(), Guest::new(association));
                }
                (Err(why @ Error::Ended(_)), Some(address)) => return Err(unheard(address, why)),
                (Err(_), _) => {}
            }
            guests.retain(|_, guest| {
                let stays = !guest.is_gone();
                if !stays {
                    served.guest(guest.counted());
                }
                stays
            });
            if let Some(told) = told.filter(|told| told.intervals && !guests.is_empty()) {
                let mut sum = served;
                guests.values().for_each(|guest| sum.guest(guest.counted()));
                told.counting(&sum);
            }
        }
    }
    guests.values().for_each(|guest| served.guest(guest.counted()));
    served.processor = processor();
    Ok(served)
}

pub(super) fn unheard(address: SocketAddr, error: Error) -> Problem {
    match error {
        Error::Ended(Ended::Unreachable) if address.ip().is_multicast() => {
            no_way(address.to_string())
        }
        Error::Ended(why) => Problem::Listen { address, why },
        Error::System(why) => why.into(),
        Error::NotYet
        | Error::TooLong { .. }
        | Error::Late
        | Error::NeverExpires
        | Error::Empty
        | Error::Command(_) => Problem::Listen { address, why: Ended::Unavailable },
    }
}

/// Tells a person, or a program, what is measured.
pub(super) struct Told<'a> {
    json: bool,
    /// Whether what has come so far is told.
    intervals: bool,
    pub(super) place: &'a Place,
}

impl Told<'_> {
    pub(super) fn serving(&self, address: SocketAddr) {
        let url = Place { address, ..self.place.clone() }.url();
        if self.json {
            return say!("{}", json!({ "event": "serving", "url": url }));
        }
        say!("Measuring at {url}. Press Ctrl-C to stop. From another terminal:");
        say!("  stackwright perf run {url}");
        if !address.ip().is_loopback() {
            let there = url.rsplit('/').next().unwrap_or(&url);
            say!("  Other machines can reach {there} and use this server.");
        }
    }

    /// What has come so far, of which a program may make a rate however the measurement ends.
    fn counting(&self, so_far: &Served) {
        let Served { octets, messages, .. } = so_far;
        say!("{}", json!({ "event": "counting", "octets": octets, "messages": messages }));
    }

    pub(super) fn measured(&self, remote: Option<SocketAddr>, counted: guest::Counted) {
        let guest::Counted { report, sent } = counted;
        let Report { octets, messages, took, processor, copied } = report;
        let remote = remote.map(|remote| remote.to_string());
        let (took, processor) = (Duration::from_nanos(took), Duration::from_nanos(processor));
        if self.json {
            let (seconds, processor) = (took.as_secs_f64(), processor.as_secs_f64());
            return say!(
                "{}",
                json!({ "event": "measured", "peer": remote, "octets": octets, "messages": messages,
                        "sent": sent, "seconds": seconds, "processor_receiver": processor,
                        "copies_receiver": times(copied, octets) })
            );
        }
        let (amount, rate) = (shown::amount(octets), shown::rate(octets, took));
        // A host without a port has no socket address.
        let peer = remote.as_deref().unwrap_or("a client");
        let of = if sent > messages { format!(" of {sent}") } else { String::new() };
        say!("{peer}: {amount} in {messages}{of} messages, {:.2} s ({rate})", took.as_secs_f64());
    }

    /// What each thread has served, and all of them.
    pub(super) fn served(&self, cores: &[Served]) {
        let mut sum = Served::default();
        cores.iter().for_each(|core| sum.add(*core));
        if self.json {
            let cores: Vec<_> = cores.iter().map(Served::json).collect();
            let mut all = sum.json();
            (all["event"], all["cores"]) = ("served".into(), cores.into());
            return say!("{all}");
        }
        let tell = |who: &str, Served { guests, octets, messages, processor }: &Served| {
            let (amount, processor) = (shown::amount(*octets), shown::short(*processor));
            say!(
                "{who}: {guests} clients, {amount} in {messages} messages, {processor} of the processor"
            );
        };
        (1..)
            .zip(cores)
            .for_each(|(number, core): (u32, _)| tell(&format!("thread {number}"), core));
        tell("together", &sum);
    }
}
