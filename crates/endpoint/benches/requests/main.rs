//! A request of 64 octets and its answer, the next when the answer is there: how long, whoever
//! calls, and beside what?
//!
//! `cargo bench -p stackwright-endpoint --bench requests`, and behind `--` a part of the names of
//! those that shall be measured; under `taskset -c 0` both ends share a processor. What is told is
//! the median of the rounds' medians, and the median of the rounds' ratios to UDP on the same
//! readiness loop: ours alone, or tokio's with its own sockets for those that are awaited. Who is
//! compared runs in turn.

mod ends;
mod looped;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_drivers::udp::Udp;
use stackwright_endpoint::System;
use stackwright_wire::BufferTree;

type M = BufferTree;
type Artp = Over<artp::Layer<M>, Udp<M>>;

/// Octets of a request, and of its answer.
const SIZE: usize = 64;
/// A request that begins so wants no answer: it is the last.
const LAST: u8 = 1;
/// Many short rounds: what is compared is never more than a second apart, on a machine that is now
/// fast and now slow.
const ROUNDS: usize = 45;
const EXCHANGES: usize = 4000;

/// Tells where it listens, and answers until the last request.
type Answers = fn(mpsc::Sender<SocketAddr>);
/// Asks who listens there: how long each exchange took.
type Asks = fn(SocketAddr, &mut Vec<Duration>);

/// Who is compared with: the first is for all, the second for those that are awaited.
const UDP_LOOP: &str = "UDP, the loop alone";
const UDP_TOKIO: &str = "UDP, tokio's sockets";
const AWAITED: &str = "awaited";
const CONTESTANTS: [(&str, Answers, Asks); 10] = [
    (UDP_TOKIO, ends::tokio_answers, ends::tokio_asks),
    ("UDP, blocking sockets", ends::sockets_answer, ends::sockets_ask),
    (
        UDP_LOOP,
        |say| looped::answer(System::udp::<M>, say),
        |to, took| {
            looped::ask(System::udp::<M>, to, took);
        },
    ),
    (
        "UDP, endpoint, blocking",
        |say| ends::answer(System::udp::<M>, say),
        |to, took| {
            ends::ask(System::udp::<M>, to, took);
        },
    ),
    (
        "UDP, endpoint, awaited",
        |say| ends::answer_awaited(System::udp::<M>, say),
        |to, took| {
            ends::ask_awaited(System::udp::<M>, to, took);
        },
    ),
    (
        "UDP, two threads, awaited",
        |say| ends::answer_spawned(System::udp::<M>, say),
        |to, took| {
            ends::ask_spawned(System::udp::<M>, to, took);
        },
    ),
    (
        "ARTP, the loop alone",
        |say| looped::answer(artp, say),
        |to, took| looped::ask(artp, to, took),
    ),
    (
        "ARTP, endpoint, blocking",
        |say| ends::answer(artp, say),
        |to, took| ends::ask(artp, to, took),
    ),
    (
        "ARTP, endpoint, awaited",
        |say| ends::answer_awaited(artp, say),
        |to, took| {
            ends::ask_awaited(artp, to, took);
        },
    ),
    (
        "ARTP, two threads, awaited",
        |say| ends::answer_spawned(artp, say),
        |to, took| {
            ends::ask_spawned(artp, to, took);
        },
    ),
];

fn artp(system: &System) -> Artp {
    let config = artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
    let pool = System::pool();
    let upper = artp::layer_sharing(config, system.seed(), Arc::clone(&pool));
    Over::new(upper, system.udp_with(pool))
}

/// The median of what `asks` took, in nanoseconds.
fn measure(answers: Answers, asks: Asks, took: &mut Vec<Duration>) -> u64 {
    let (say, hear) = mpsc::channel();
    let server = thread::spawn(move || answers(say));
    took.clear();
    asks(hear.recv().expect("it listens"), took);
    server.join().expect("it answers");
    median(took.iter().map(|took| took.as_nanos() as u64).collect())
}

fn median<T: Copy + PartialOrd>(mut all: Vec<T>) -> T {
    all.sort_by(|one, other| one.partial_cmp(other).expect("they are numbers"));
    all[all.len() / 2]
}

/// How long each of many exchanges takes; the first find nothing warm.
fn timed(took: &mut Vec<Duration>, mut exchange: impl FnMut()) {
    (0..100).for_each(|_| exchange());
    for _ in 0..EXCHANGES {
        let begin = Instant::now();
        exchange();
        took.push(begin.elapsed());
    }
}

fn main() {
    // Without `--bench` it is tried by `cargo test`.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { ROUNDS } else { 1 };
    let wanted =
        std::env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let chosen: Vec<_> = CONTESTANTS.iter().filter(|(name, ..)| name.contains(&wanted)).collect();
    let mut took = Vec::with_capacity(EXCHANGES);
    let mut medians = vec![Vec::new(); chosen.len()];
    for _ in 0..rounds {
        for ((_, answers, asks), medians) in chosen.iter().zip(&mut medians) {
            medians.push(measure(*answers, *asks, &mut took));
        }
    }
    println!("{:<26} {:>8} {:>8}", "", "µs", "ratio");
    let place = |wanted| chosen.iter().position(|(name, ..)| *name == wanted).unwrap_or(0);
    for ((name, ..), theirs) in chosen.iter().zip(&medians) {
        let udp = place(if name.ends_with(AWAITED) { UDP_TOKIO } else { UDP_LOOP });
        let ratios = theirs.iter().zip(&medians[udp]).map(|(it, udp)| *it as f64 / *udp as f64);
        println!(
            "{name:<26} {:>8.2} {:>8.2}",
            median(theirs.clone()) as f64 / 1e3,
            median(ratios.collect())
        );
    }
}
