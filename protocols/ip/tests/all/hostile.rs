//! Octets of every kind: nothing panics, and nothing grows.

use fastrand::Rng;
use stackwright_contract::Duration;

use crate::hosts::{Host, at};
use crate::packets::{check, fragment, icmp, packet};
use crate::routers::router;

/// Alters a packet here and there, and often repairs its check.
fn alter(random: &mut Rng, mut packet: Vec<u8>) -> Vec<u8> {
    for _ in 0..random.usize(0..4) {
        let place = random.usize(0..packet.len().clamp(1, 64));
        packet.get_mut(place).into_iter().for_each(|octet| *octet = random.u8(..));
    }
    if random.bool() {
        packet.truncate(random.usize(0..=packet.len()));
    }
    let header = packet.first().map_or(0, |first| usize::from(first & 15) * 4);
    if packet.len() >= header.max(20) && header >= 20 && random.u8(..) > 20 {
        packet = check(packet);
    }
    packet
}

fn any(random: &mut Rng) -> Vec<u8> {
    let four = ["10.0.0.2", "10.0.0.1", "10.0.1.2", "10.0.0.255", "224.0.0.1", "9.9.9.9"];
    let six = ["2001:db8::2", "2001:db8::1", "2001:db8:1::2", "ff02::1", "fe80::1", "2001:db9::1"];
    let hosts = if random.bool() { four } else { six };
    let [source, destination] = [0, 1].map(|_| hosts[random.usize(0..hosts.len())]);
    let payload: Vec<u8> = (0..random.usize(0..120)).map(|_| random.u8(..)).collect();
    let protocols = [6, 17, 99, 0, 43, 44, 60, 59, 1, 58];
    let protocol = protocols[random.usize(0..protocols.len())];
    match random.u8(0..4) {
        0 => payload,
        1 => packet(source, destination, protocol, &payload),
        2 => {
            let offset = random.usize(0..8192) * 8;
            let offset = if random.bool() { offset } else { offset % 64 };
            let id = random.u32(0..4);
            fragment(source, destination, protocol, id, offset, random.bool(), &payload)
        }
        _ => {
            let quoted = packet(destination, source, protocol, &payload);
            icmp(source, destination, random.u8(0..150), random.u8(0..8), random.u32(..), &quoted)
        }
    }
}

#[test]
fn random_packets_never_panic() {
    let mut random = Rng::with_seed(7);
    for _ in 0..20 {
        let mut host = router();
        host.listen(at("0.0.0.0", 99), 50);
        host.listen(at("::", 17), 50);
        let name = host.open(at("10.0.0.2", 17));
        for _ in 0..5000 {
            let packet = any(&mut random);
            let packet = alter(&mut random, packet);
            host.arrive(random.u16(0..2), &packet);
            if random.u8(..) == 0 {
                host.pass(Duration::from_secs(random.u64(0..40)));
                host.send(name, &packet);
            }
            host.words.packets.clear();
            host.words.told.retain(|_, told| {
                told.messages.clear();
                true
            });
        }
        host.dropped();
    }
}

/// What is held of forged fragments is bounded; a packet of another source becomes whole all the
/// same, for as long as the flood leaves it.
#[test]
fn forged_fragments_hold_no_more_than_their_bound() {
    let mut host: Host = router();
    let name = host.listen(at("10.0.0.1", 17), 1)[0];
    let mut random = Rng::with_seed(3);
    let mut most = 0;
    for number in 0..100_000u32 {
        let [.., a, b] = (2 + number / 4 % 200).to_be_bytes();
        let source = format!("10.0.{a}.{b}");
        let offset = 8 * random.usize(1..8000);
        host.arrive(0, &fragment(&source, "10.0.0.1", 17, number / 4, offset, true, &[1; 1400]));
        most = most.max(host.ip.held_fragments());
    }
    assert!((1000 << 10..=1 << 20).contains(&most), "{most}");
    host.arrive(0, &fragment("10.0.0.2", "10.0.0.1", 17, 1 << 15, 0, true, &[2; 1400]));
    host.arrive(0, &fragment("10.0.0.2", "10.0.0.1", 17, 1 << 15, 1400, false, &[2; 8]));
    assert_eq!(host.told(name).messages.len(), 1);
    host.pass(Duration::from_secs(61));
    assert_eq!(host.ip.held_fragments(), 0);
    // One source alone, endlessly: it gets no more than its share.
    for number in 0..10_000 {
        let offset = 8 * (1 + number % 8000);
        host.arrive(
            0,
            &fragment("10.0.0.2", "10.0.0.1", 17, number as u32 / 8000, offset, true, &[1; 8]),
        );
        assert!(host.ip.held_fragments() <= 128 << 10);
    }
}

/// Packets of forged peers open no next hops without end.
#[test]
fn answers_to_forged_peers_are_bounded() {
    let mut host: Host = router();
    for number in 0..5000u32 {
        let [.., a, b] = number.to_be_bytes();
        host.arrive(0, &icmp(&format!("2001:db8::{a:x}:{b:x}"), "2001:db8::1", 128, 0, 1, b"x"));
        host.words.packets.clear();
    }
    assert!(host.words.hops.len() <= 256, "{}", host.words.hops.len());
}
