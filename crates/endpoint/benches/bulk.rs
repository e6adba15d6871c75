//! Messages in one direction, as fast as they are taken: where the handles stay on one thread, and
//! where any worker of a runtime may use them. Two workers at each end want four processors.
//!
//! `cargo bench -p stackwright-endpoint --bench bulk`, and behind `--` a part of the names of those
//! that shall be measured. What is told is the median of the rounds' rates, and of their ratios to
//! the first; those that are compared run in turn.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_contract::services::MessageProperties;
use stackwright_drivers::udp::Udp;
use stackwright_endpoint::{Config, Endpoint, Flavor, System, multi_thread, task};
use stackwright_wire::{BufferTree, Message};
use tokio::runtime::Builder;

type Artp = Over<artp::Layer<BufferTree>, Udp<BufferTree>>;

/// Octets of a message.
const SIZE: usize = 8 << 10;
/// Octets of a round.
const OCTETS: usize = 256 << 20;
const ROUNDS: usize = 9;

/// Tells where it listens, and how long the messages took from the first to the last.
type Receives = fn(Sender<SocketAddr>) -> Duration;
type Sends = fn(SocketAddr);

const CONTESTANTS: [(&str, Receives, Sends); 3] = [
    (
        "ARTP, current thread",
        |say| block_on(async { receives(Endpoint::bind(any(), config(), artp).await, say).await }),
        |to| block_on(async { sends(Endpoint::new(config(), artp), to).await }),
    ),
    ("ARTP, one worker", |say| receives_on(1, say), |to| sends_on(1, to)),
    ("ARTP, two workers", |say| receives_on(2, say), |to| sends_on(2, to)),
];

fn receives_on(workers: usize, say: Sender<SocketAddr>) -> Duration {
    spawn(workers, async {
        receives(multi_thread::Endpoint::bind(any(), config(), artp).await, say).await
    })
}

fn sends_on(workers: usize, to: SocketAddr) {
    spawn(workers, async move { sends(multi_thread::Endpoint::new(config(), artp), to).await });
}

fn config() -> Config {
    Config::default()
}

fn artp(system: &System) -> Artp {
    let config = artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
    let pool = System::pool();
    let upper = artp::layer_sharing(config, system.seed(), Arc::clone(&pool));
    Over::new(upper, system.udp_with(pool))
}

fn any() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Awaits `future` in a task of a runtime of `workers` threads.
fn spawn<T: Send + 'static>(workers: usize, future: impl Future<Output = T> + Send + 'static) -> T {
    let threads = Builder::new_multi_thread().worker_threads(workers).enable_all().build().unwrap();
    threads.block_on(async { tokio::spawn(future).await.unwrap() })
}

type Made<F> = Result<task::Endpoint<Artp, F>, stackwright_endpoint::Error>;

async fn receives<F: Flavor>(endpoint: Made<F>, say: Sender<SocketAddr>) -> Duration {
    let endpoint = endpoint.unwrap();
    say.send(endpoint.local().unwrap()).unwrap();
    let association = endpoint.accept().await.unwrap();
    let mut octets = association.receive_message().await.unwrap().0.len();
    let begin = Instant::now();
    while octets < OCTETS {
        octets += association.receive_message().await.unwrap().0.len();
    }
    let took = begin.elapsed();
    let _ = association.receive().await; // the end
    took
}

async fn sends<F: Flavor>(endpoint: Made<F>, to: SocketAddr) {
    let endpoint = endpoint.unwrap();
    let association = endpoint.connect(to).await.unwrap();
    let mut left = OCTETS;
    while left > 0 {
        let mut buffer = association.reserve(SIZE, left.div_ceil(SIZE));
        let octets = buffer.remaining().min(left);
        buffer.each_mut().flatten().for_each(|piece| piece.fill(7));
        left -= octets;
        association.commit(buffer, MessageProperties::default()).await.unwrap();
    }
    association.close().await.unwrap();
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

fn main() {
    // Without `--bench` it is tried by `cargo test`.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { ROUNDS } else { 1 };
    let wanted =
        std::env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let chosen: Vec<_> = CONTESTANTS.iter().filter(|(name, ..)| name.contains(&wanted)).collect();
    let mut rates = vec![Vec::new(); chosen.len()];
    for _ in 0..rounds {
        for ((_, receives, sends), rates) in chosen.iter().zip(&mut rates) {
            let (say, hear) = mpsc::channel();
            let receiver = thread::spawn(move || receives(say));
            sends(hear.recv().expect("it listens"));
            let took = receiver.join().expect("it receives");
            rates.push(OCTETS as f64 / took.as_secs_f64());
        }
    }
    println!("{:<20} {:>8} {:>8}", "", "MB/s", "ratio");
    for ((name, ..), ours) in chosen.iter().zip(&rates) {
        let ratios = ours.iter().zip(&rates[0]).map(|(rate, first)| rate / first).collect();
        println!("{name:<20} {:>8.0} {:>8.2}", median(ours.clone()) / 1e6, median(ratios));
    }
}
