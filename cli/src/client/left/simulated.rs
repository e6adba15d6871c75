//! What is told of transfers over a simulated channel, beside what they then take.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZero;
use std::time::Instant;

use stackwright::compose::{Beside, Over};
use stackwright::contract::ask::PathStatistics;
use stackwright::contract::services::Credit;
use stackwright::contract::{Duration, Handle};
use stackwright::copy::{Copy, CopySide, Indication, Request};
use stackwright::ftp::server::{Anonymous, Rights};
use stackwright::ftp::{Client, PORT, Server, client, server};
use stackwright::merged::Merged;
use stackwright::wire::BufferTree;
use stackwright::xstp::{self, XstpLayer};
use stackwright_programs::content::octets;
use stackwright_simulator::{
    ChannelConditions, Heard, SimulatedDatagrams, SimulatedDisk, SimulatedHosts, Tree, World, seeds,
};

use super::{AirTime, PACKET, TimeLeft};
use crate::address::Address;
use crate::air::AirLink;

type M = BufferTree;
type Air = Over<Merged<M>, Over<XstpLayer<M>, Over<SimulatedHosts<M>, SimulatedDatagrams<M>>>>;

/// Rates in bit/s, and octets of files.
const FILES: [(u32, usize); 5] =
    [(1200, 16_000), (1200, 24_000), (1200, 32_000), (2400, 48_000), (9600, 200_000)];
const JOB: Handle = Handle { index: 0, generation: 0 };

fn host(last: u8) -> IpAddr {
    [10, 0, 0, last].into()
}

fn air(last: u8, rate: u32) -> Air {
    let below = SimulatedDatagrams::new(host(last), Credit { octets: 1 << 16, messages: 64 });
    let hosts = Over::new(SimulatedHosts::new(host(last), xstp::PROTOCOL), below);
    let rate = NonZero::new(u64::from(rate)).expect("not zero");
    let xstp = xstp::layer(xstp::Config::radio(rate, PACKET), 7);
    Over::new(Merged::new(Default::default()), Over::new(xstp, hosts))
}

fn of(rate: u32) -> AirTime {
    let address = Address::parse("x://N0BBB@h/").expect("an address");
    AirTime::of(&AirLink::read(&address, &format!("rate={rate}")).expect("a link"))
}

/// Returns the seconds that were told to be left of a transfer, each with what it then took, from
/// the second minute on.
fn transfer(seed: u64, from: CopySide, (rate, size): (u32, usize), errors: f64) -> Vec<[f64; 2]> {
    let mut world = World::new(seed);
    // A packet here has the headers of IPv4 and UDP, and is longer than a frame by 8 octets.
    let channel = ChannelConditions {
        key_up: Duration::from_millis(300),
        persistence: 0.25,
        bit_errors: errors,
        ..ChannelConditions::ideal(u64::from(rate) * 264 / 256 / 8)
    };
    world.network_mut().share(&[host(1), host(2)], channel);
    let (far, near) = (Tree::shared(), Tree::shared());
    let source = if from == CopySide::Left { &far } else { &near };
    source.borrow_mut().put("f", octets(seed, size));
    let config = server::Config::new(Box::new(Anonymous(Rights { write: true })));
    let server = Server::new(server::Config { merged: true, ..config });
    let below = Beside::new(air(1, rate), SimulatedDisk::new(far));
    let server = world.add(host(1), Over::new(server, below), Heard::default());
    let door = SocketAddr::new(host(1), PORT);
    world.ask(server, server::Request::Serve { local: door.into() });
    let client = Client::new(client::Config {
        data: client::DataMode::Merged,
        quits: false,
        timeout: Duration::from_secs(86_400),
        ..client::Config::anonymous(door)
    });
    let below = Beside::new(Over::new(client, air(2, rate)), SimulatedDisk::new(near));
    let client = world.add(host(2), Over::new(Copy::default(), below), Heard::default());
    let (source, target, checked_first) = ("f".into(), "f".into(), from == CopySide::Left);
    world.ask(client, Request::Resume { job: JOB, from, source, target, checked_first });

    let (start, mut left, mut told) = (Instant::now(), None, Vec::new());
    let end = loop {
        world.run_for(Duration::from_secs(1));
        let now = start + Duration::from_nanos(world.now().nanoseconds());
        let heard = &world.application(client).0;
        let moved = heard.iter().rev().find_map(|word| match word {
            Indication::Moved { octets, .. } => Some(*octets),
            _ => None,
        });
        match heard.last() {
            Some(Indication::Copied { .. }) => break now,
            Some(word @ Indication::Failed { .. }) => panic!("{word:?}"),
            None => continue,
            Some(_) => {}
        }
        let new = || (TimeLeft::new(of(rate), size as u64, 0, now), now);
        let (left, since) = left.get_or_insert_with(new);
        let path = world.question(client, JOB, PathStatistics).unwrap_or_default();
        let time = left.left(moved.unwrap_or(0), &path, now);
        if left.is_due(now) && now - *since >= Duration::from_secs(60) {
            told.push((now, time));
        }
    };
    let seconds = |(now, left): (Instant, Duration)| [left, end - now].map(|it| it.as_secs_f64());
    told.into_iter().map(seconds).collect()
}

/// In nine of ten transfers, all that is told from the second minute on is within a fifth of what
/// it then takes, or within 5 s. Half of them are over a channel that alters a frame in 26.
#[test]
fn what_is_left_is_right_from_the_second_minute_on() {
    let (mut runs, mut right) = (0, 0);
    for seed in seeds(2) {
        for from in [CopySide::Left, CopySide::Right] {
            for (file, errors) in FILES.iter().flat_map(|file| [(*file, 0.0), (*file, 2e-5)]) {
                let mut told = transfer(seed + 1, from, file, errors);
                assert!(told.len() >= 4, "{told:?}");
                told.retain(|[left, took]| (left - took).abs() > f64::max(took / 5.0, 5.0));
                println!("{seed} {from:?} {file:?} {errors}: wrong are {told:.0?}");
                (runs, right) = (runs + 1, right + u32::from(told.is_empty()));
            }
        }
    }
    println!("{right} of {runs}");
    assert!(right * 10 >= runs * 9, "{right} of {runs}");
}

/// As was measured: 10 KB in two and a half bursts.
#[test]
fn bursts_and_headers_count() {
    let seconds = 10_240.0 / of(1200).pace;
    assert!((80.0..=88.0).contains(&seconds), "{seconds}");
}
