//! Routes in lines and rings, with links that come and go.

use stackwright_dsr::Config;
use stackwright_simulator::seeds;

use crate::hosts::{Hosts, number};

fn in_line(count: usize, seed: u64) -> Hosts {
    let mut hosts = Hosts::new(count, seed, &Config::default());
    hosts.air.line(false);
    hosts
}

/// The header of DSR in a packet of the test: its options.
fn options(packet: &[u8]) -> Option<&[u8]> {
    (packet[9] == 48).then(|| &packet[24..])
}

#[test]
fn direct_neighbours_have_no_octet_of_it_in_their_packets() {
    let mut hosts = in_line(2, 1);
    for _ in 0..50 {
        hosts.send(0, 1);
        hosts.send(1, 0);
        hosts.run(40);
    }
    assert_eq!(hosts.came.len(), 100);
    let data = hosts.air.sent.iter().filter(|(.., packet)| number(packet).is_some());
    assert!(data.clone().all(|(.., packet)| packet.len() == 40 && packet[9] == 17));
    // A request and its reply; then a question and its answer each 160 ms at most, from both.
    let own = hosts.air.sent.len() - data.count();
    assert!(own > 4 && own <= 2 + 2 * 2 * 2000 / 160, "{own}");
}

#[test]
fn a_line_relays_by_a_source_route() {
    let mut hosts = in_line(4, 2);
    let first = hosts.send(0, 3);
    hosts.run(2_000);
    assert!(hosts.came.contains(&first), "it waited for its route");
    hosts.air.sent.clear();
    hosts.send(0, 3);
    hosts.send(3, 0); // the target knows the way back
    hosts.run(1_000);
    assert_eq!(hosts.came.len(), 3);
    let data: Vec<_> =
        hosts.air.sent.iter().filter(|(.., packet)| number(packet).is_some()).collect();
    assert_eq!(data.len(), 6, "three hops each way");
    assert_eq!(hosts.air.sent.iter().filter(|(_, next, _)| next.is_broadcast()).count(), 0);
    let (_, _, packet) = data.iter().find(|(from, ..)| *from == 0).expect("from the first");
    let options = options(packet).expect("a header of DSR");
    assert_eq!(options[..12], [96, 10, 0, 2, 10, 0, 0, 2, 10, 0, 0, 3]);
}

#[test]
fn a_lost_link_is_told_and_packets_are_salvaged() {
    for returns in [false, true] {
        // A ring of six: from 0 to 3 by 1 and 2, or by 5 and 4; 1 knows both.
        let mut hosts = Hosts::new(6, 3, &Config::default());
        hosts.air.returns = returns;
        hosts.air.line(true);
        for (from, to) in [(0, 2), (1, 3), (0, 3), (1, 4), (1, 5)] {
            hosts.send(from, to);
            hosts.run(3_000);
        }
        let before = hosts.came.len();
        assert_eq!(before, 5);
        let used = |hosts: &Hosts, one: usize| {
            let packet = |(from, _, packet): &&(usize, _, Vec<u8>)| {
                *from == one && number(packet) == Some(2)
            };
            hosts.air.sent.iter().any(|sent| packet(&sent))
        };
        let near = if used(&hosts, 1) { 1 } else { 5 };
        let far = if near == 1 { 2 } else { 4 };
        hosts.air.join(far, 3, false);
        for _ in 0..6 {
            hosts.send(0, 3);
            hosts.run(1_500);
        }
        hosts.run(60_000);
        let (came, lost) = (hosts.came.len() - before, hosts.air.lost.len());
        assert!(came >= 5, "{came} of 6 came, with {lost} losses; {returns}");
        let is_error = |(from, _, packet): &&(usize, _, Vec<u8>)| {
            *from == far && options(packet).is_some_and(|options| options[0] == 3)
        };
        assert!(hosts.air.sent.iter().any(|sent| is_error(&sent)), "the end of the link tells");
        assert!(hosts.air.is_idle());
    }
}

#[test]
fn packets_to_nobody_come_back() {
    let mut hosts = Hosts::new(3, 4, &Config::default());
    hosts.air.join(0, 1, true);
    let to_itself = hosts.send(0, 0);
    hosts.send(0, 1);
    hosts.run(1_000);
    assert!(hosts.returned.remove(&to_itself) && hosts.came.len() == 1);
    let given: Vec<_> = (0..60).map(|_| hosts.send(0, 2)).collect();
    assert!(!hosts.air.is_idle(), "they wait");
    hosts.run(100_000);
    assert_eq!(hosts.returned.len(), given.len(), "all, those that had no room to wait too");
    assert!(hosts.air.is_idle());
    let requests =
        hosts.air.sent.iter().filter(|(from, next, _)| *from == 0 && next.is_broadcast());
    assert!((8..40).contains(&requests.count()), "the back-off doubles");
}

#[test]
fn a_station_answers_for_another_unless_it_shall_not() {
    for answers_for_others in [true, false] {
        let config = Config { answers_for_others, ..Config::default() };
        let mut hosts = Hosts::new(4, 5, &config);
        hosts.air.line(false);
        hosts.send(1, 3);
        hosts.run(3_000);
        hosts.air.sent.clear();
        hosts.send(0, 3);
        hosts.run(3_000);
        assert_eq!(hosts.came.len(), 2);
        let passed = |(from, next, _): &&(usize, std::net::Ipv4Addr, Vec<u8>)| {
            *from == 2 && next.is_broadcast()
        };
        let passed = hosts.air.sent.iter().any(|sent| passed(&sent));
        assert_eq!(passed, !answers_for_others);
    }
}

/// What a seed's stations, links and packets are like. While links come and go, each packet is
/// delivered, or returned, or the air lost it, or a station said that it dropped it; after the last
/// fault all reach each other, and nothing is left.
fn world(seed: u64) {
    let mut random = fastrand::Rng::with_seed(seed);
    let (count, ring) = (random.usize(3..=10), random.bool());
    let config = Config {
        relays: if ring { 5 } else { 9 },
        answers_for_others: random.bool(),
        asks_for_acknowledgements: true,
        rate: None,
    };
    let mut hosts = Hosts::new(count, seed, &config);
    hosts.air.line(ring);
    hosts.air.returns = random.bool();
    hosts.air.loss = if random.bool() { 0.0 } else { random.f64() * 0.3 };
    for _ in 0..random.usize(1..30) {
        let (one, other) = (random.usize(..count), random.usize(..count));
        if one != other && random.u8(..3) == 0 {
            hosts.air.join(one, other, random.bool());
        } else if one != other {
            hosts.send(one, other);
        }
        hosts.run(random.u64(..2_000));
    }
    // The last fault.
    hosts.air.loss = 0.0;
    hosts.air.line(ring);
    hosts.run(60_000);
    let dropped: usize = [
        "a packet of another station whose route broke",
        "a packet to a station that no route leads to",
        "a packet that another station shall relay",
    ]
    .map(|reason| hosts.dropped(reason))
    .iter()
    .sum();
    let lost: Vec<_> = hosts.air.lost.iter().filter_map(|packet| number(packet)).collect();
    let is_said = |number: &u32| {
        hosts.came.contains(number) || hosts.returned.contains(number) || lost.contains(number)
    };
    let silent = (0..hosts.given.len() as u32).filter(|number| !is_said(number)).count();
    assert!(silent <= dropped, "{silent} packets vanished, {dropped} were dropped");
    assert!(hosts.air.is_idle(), "nothing is left");
    for (one, other) in [(0, count - 1), (count / 2, 0)] {
        let came = (0..6).any(|_| {
            let number = hosts.send(one, other);
            hosts.run(4_000);
            hosts.came.contains(&number)
        });
        assert!(came, "{one} reaches {other} of {count}");
    }
    hosts.run(60_000);
    assert!(hosts.air.is_idle(), "nothing is left");
}

/// More links have broken than a request tells of, and a station between answers with one of them.
#[test]
fn the_target_answers_who_is_not_helped_by_others() {
    world(29_099);
}

/// What a neighbour does not take of another station's is not sent back through that one.
#[test]
fn a_salvaged_packet_that_comes_back_avoids_its_source() {
    world(80_861);
}

#[test]
fn packets_arrive_or_are_said_to_be_lost_while_links_come_and_go() {
    for seed in seeds(500) {
        if std::panic::catch_unwind(|| world(seed)).is_err() {
            panic!("SEED={seed}");
        }
    }
}
