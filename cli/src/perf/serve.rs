//! `perf serve`: the side that counts, and answers.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use stackwright::contract::services::Ended;
use stackwright_endpoint::Error;
use stackwright_endpoint::blocking::Endpoint;

use super::arguments::Serve;
use super::guest::Guest;
use super::place::Place;
use super::shown;
use super::transport::{Make, Stack, Use};
use super::words::Report;
use crate::problem::Problem;
use crate::report::say;
use crate::transfer;

pub(super) fn run(serve: &Serve) -> Result<(), Problem> {
    let place = Place::parse(&serve.url)?;
    let interrupted = transfer::interrupts()?;
    let told = Told { json: serve.json, place: &place };
    place.transport.lend(&place, &serve.tuning, Server { serve, told, stop: &interrupted })
}

/// Serves until somebody wants it to end.
struct Server<'a, T> {
    serve: &'a Serve,
    told: T,
    stop: &'a Arc<AtomicBool>,
}

impl Use for Server<'_, Told<'_>> {
    type Result = Result<(), Problem>;

    fn with<S: Stack>(self, make: impl Make<S>) -> Self::Result {
        let Server { serve, told, stop } = self;
        let address = told.place.address;
        let config = told.place.transport.endpoint(&serve.tuning);
        let endpoint = Endpoint::bind(address, config, make).map_err(|error| unheard(address, error))?;
        told.serving(endpoint.local().unwrap_or(address));
        attend(&endpoint, |remote, report| told.measured(remote, report), stop)
    }
}

/// Serves all who come, until `stop`.
pub(super) fn attend<S: Stack>(
    endpoint: &Endpoint<S>,
    told: impl Fn(Option<SocketAddr>, Report),
    stop: &AtomicBool,
) -> Result<(), Problem> {
    let mut guests: Vec<Guest<S>> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let pending = guests.iter().any(Guest::is_pending);
        let wait = Duration::from_millis(if pending { 20 } else { 500 });
        match endpoint.wait(Some(wait)) {
            Ok(_) => {}
            Err(Error::System(why)) => return Err(why.into()),
            Err(why) => return Err(std::io::Error::other(why).into()),
        }
        while endpoint.arrived() > 0
            && let Ok(association) = endpoint.try_accept()
        {
            guests.push(Guest::new(association));
        }
        guests.retain_mut(|guest| {
            if let Some(report) = guest.turn() {
                told(guest.remote, report);
            }
            !guest.is_gone()
        });
    }
    Ok(())
}

pub(super) fn unheard(address: SocketAddr, error: Error) -> Problem {
    match error {
        Error::Ended(why) => Problem::Listen { address, why },
        Error::System(why) => why.into(),
        Error::NotYet | Error::TooLong | Error::Late => Problem::Listen { address, why: Ended::Unavailable },
    }
}

/// Tells a person, or a program, what is measured.
struct Told<'a> {
    json: bool,
    place: &'a Place,
}

impl Told<'_> {
    fn serving(&self, address: SocketAddr) {
        let url = Place { address, ..self.place.clone() }.url();
        if self.json {
            return say!("{}", json!({ "event": "serving", "url": url }));
        }
        say!("Measuring at {url}. Ctrl-C ends it. From another window:");
        say!("  stackwright perf run {url}");
        if !address.ip().is_loopback() {
            say!("  This is open to other machines: whoever reaches {address} may make this one count.");
        }
    }

    fn measured(&self, remote: Option<SocketAddr>, report: Report) {
        let Report { octets, messages, took, processor } = report;
        let remote = remote.map(|remote| remote.to_string());
        let (took, processor) = (Duration::from_nanos(took), Duration::from_nanos(processor));
        if self.json {
            let (seconds, processor) = (took.as_secs_f64(), processor.as_secs_f64());
            return say!(
                "{}",
                json!({ "event": "measured", "peer": remote, "octets": octets, "messages": messages,
                        "seconds": seconds, "processor_receiver": processor })
            );
        }
        let (amount, rate) = (shown::amount(octets), shown::rate(octets, took));
        let peer = remote.unwrap_or_default();
        say!("{peer}: {amount} in {messages} messages, {:.2} s ({rate})", took.as_secs_f64());
    }
}
