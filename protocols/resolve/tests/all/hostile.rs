//! Floods and noise.

use std::net::Ipv4Addr;

use crate::rig::{
    ALL, Host, Ndp, OTHER, OWN, OWN4, PEER, PEER4, PEER6, arp, frame, option, packet4, request,
};

#[test]
fn a_flood_of_forged_senders_grows_nothing_and_drives_out_itself() {
    let mut host = Host::settled();
    let next = host.open(PEER4);
    host.send(next, &packet4(1));
    host.arrives(&arp(OWN, 2, (PEER, PEER4), (OWN, OWN4)));
    let mut most = (0, 0);
    for number in 0..100_000_u32 {
        let [_, a, b, c] = number.to_be_bytes();
        let (address, from) = ([2, 1, 0, a, b, c], Ipv4Addr::new(10, a, b, c));
        if number % 2 == 0 {
            host.arrives(&request(ALL, (address, from), OWN4));
        } else {
            let hosts = ((0xfe80_u128 << 112 | u128::from(number)).into(), PEER6);
            let asks = Ndp::solicitation();
            let hosts = (hosts.0, asks.hosts.1);
            let link = (asks.link.0, address);
            host.arrives(&Ndp { link, hosts, options: option(1, address), ..asks }.frame());
        }
        assert_eq!(host.sent().len(), 1 + usize::from(number == 0) * 2, "each is answered");
        host.told();
        let (neighbors, names) = host.known();
        most = (most.0.max(neighbors), most.1.max(names));
    }
    assert_eq!(most.0, 256);
    assert!(most.1 <= 512 + 3 * 17, "{most:?}");
    // The one that something is sent to is still known.
    host.send(next, &packet4(2));
    assert_eq!(host.sent(), [frame(PEER, OWN, 0x800, &packet4(2))]);
}

#[test]
fn packets_to_hosts_that_are_not_there_grow_nothing() {
    let mut host = Host::settled();
    for number in 0..2_000_u32 {
        let [_, a, b, c] = number.to_be_bytes();
        let next = host.open(Ipv4Addr::new(10, a, b, c));
        host.send(next, &packet4(1));
        host.wait(1);
        host.sent();
        assert!(host.known().0 <= 256);
    }
    host.wait(4_000);
    let credits = host.told().iter().filter(|word| word.starts_with("Credit")).count();
    assert_eq!((host.known().0, credits), (0, 2_000), "each packet's credit came back once");
}

/// `SEEDS=n` runs n times as many packets.
#[test]
fn noise_is_dropped_or_passes() {
    let times: u32 = std::env::var("SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let mut host = Host::settled();
    let next = host.open(PEER4);
    let mut random = fastrand::Rng::with_seed(3);
    let valid = [
        request(ALL, (PEER, PEER4), OWN4),
        arp(OWN, 2, (PEER, PEER4), (OWN, OWN4)),
        Ndp::solicitation().frame(),
        Ndp::advertisement(0x60, Some(OTHER)).frame(),
        frame(OWN, PEER, 0x800, &packet4(1)),
    ];
    for number in 0..times * 100_000 {
        let mut octets = valid[random.usize(..valid.len())].clone();
        for _ in 0..random.usize(..4) {
            let at = random.usize(12..octets.len());
            octets[at] = random.u8(..);
        }
        octets.truncate(random.usize(octets.len() / 2..octets.len() * 2));
        host.arrives(&octets);
        if number % 8 == 0 {
            host.send(next, &packet4(1));
            host.wait(random.u64(..200));
        }
        host.sent();
        host.told();
    }
    let (neighbors, names) = host.known();
    assert!(neighbors <= 256 && names <= 512 + 3 * 17, "{neighbors} {names}");
}
