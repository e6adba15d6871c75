//! Requests of which several are in flight, on one association.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use stackwright::compose::Over;
use stackwright::contract::services::Datagrams;
use stackwright_artp as artp;
use stackwright_drivers::ipc::Near;
use stackwright_drivers::unix::UnixStreams;
use stackwright_endpoint::{Config, Stack, System, blocking::Endpoint};
use stackwright_results::Problem;
use stackwright_wire::BufferTree;

use super::crossing::on_first;

/// Octets of a request, and of its answer.
const LENGTH: usize = 64;
/// How a request and its answer begin (`stackwright perf`).
const REQUEST: u8 = 2;
const REPLY: u8 = 3;
/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);

type Served = Over<Near<Datagrams<BufferTree>>, UnixStreams<BufferTree>>;

/// Returns how many requests a second `perf serve` at `to` answers, of which there are always
/// `flight` under way; by the stack of the server at `socket`, or else of this process.
///
/// # Errors
/// Where one is not answered.
pub(super) fn once(
    to: SocketAddr,
    socket: Option<PathBuf>,
    flight: usize,
    seconds: f64,
) -> Result<f64, Problem> {
    let time = Duration::from_secs_f64(seconds);
    let asks = thread::spawn(move || -> io::Result<f64> {
        on_first()?;
        let answered = match socket {
            None => {
                let stack = |system: &System| {
                    let (secret, epoch, pool) = (system.secret(), system.epoch(), System::pool());
                    let config = artp::Config { epoch, ..artp::Config::new(secret) };
                    let upper = artp::layer_sharing(config, system.seed(), Arc::clone(&pool));
                    Over::new(upper, system.udp_with::<BufferTree>(pool))
                };
                ask(Endpoint::new(Config::default(), stack), to, flight, time)
            }
            Some(path) => {
                let stack = |system: &System| -> Served {
                    let lines = UnixStreams::new(path, system.registry(), 0, System::pool());
                    Over::new(Near::default(), lines)
                };
                ask(Endpoint::new(Config::default(), stack), to, flight, time)
            }
        };
        answered.map_err(io::Error::other)
    });
    asks.join().expect("it does not panic").map_err(Problem::new)
}

fn ask<S: Stack>(
    endpoint: Result<Endpoint<S>, stackwright_endpoint::Error>,
    to: SocketAddr,
    flight: usize,
    time: Duration,
) -> Result<f64, stackwright_endpoint::Error> {
    let mut endpoint = endpoint?;
    endpoint.set_timeout(Some(PATIENCE));
    let association = endpoint.connect(to)?;
    let mut request = [7; LENGTH];
    request[0] = REQUEST;
    for _ in 0..flight {
        association.send(&request)?;
    }
    let (begun, mut answered) = (Instant::now(), 0.0);
    while begun.elapsed() < time {
        let (answer, _) = association.receive()?;
        if answer.first() == Some(&REPLY) {
            answered += 1.0;
            association.send(&request)?;
        }
    }
    Ok(answered / begun.elapsed().as_secs_f64())
}
