//! Routers of our own between hosts of our own.

use stackwright_contract::ask::{NothingBelow, ask};
use stackwright_contract::services::{Ecn, MessageProperties};
use stackwright_contract::{Handle, PathLimits, Trouble};
use stackwright_ip::{Config, Forwarded, IpInterface, RoutingReport};
use stackwright_wire::check::Internet;
use stackwright_wire::internet::pseudo_header;

use crate::hosts::{Host, at, carry, ip};
use crate::packets::packet;

fn router_config() -> Config {
    let interface =
        |four: &str, six: &str| IpInterface { addresses: vec![(ip(four), 24), (ip(six), 64)] };
    let interfaces =
        vec![interface("10.0.0.1", "2001:db8::1"), interface("10.0.1.1", "2001:db8:1::1")];
    Config { forwards: true, ..Config::new(interfaces) }
}

/// A router between 10.0.0.0/24 and 10.0.1.0/24, and the same of IPv6.
pub(crate) fn router() -> Host {
    Host::new(router_config())
}

fn ends(version: usize) -> [Host; 2] {
    [
        ("10.0.0.2", "10.0.0.1"),
        ("10.0.1.2", "10.0.1.1"),
        ("2001:db8::2", "2001:db8::1"),
        ("2001:db8:1::2", "2001:db8:1::1"),
    ][version * 2..version * 2 + 2]
        .iter()
        .map(|(own, router)| {
            let prefix = if version == 0 { 24 } else { 64 };
            Host::new(Config::host(ip(own), prefix).through(ip(router), 0))
        })
        .collect::<Vec<_>>()
        .try_into()
        .unwrap_or_else(|_| unreachable!("two ends"))
}

const THERE: [&str; 2] = ["10.0.1.2", "2001:db8:1::2"];

/// The wire: the hosts 0 and 2 are on the interfaces 0 and 1 of the router, 1.
fn wire(from: usize, interface: u16) -> (usize, u16) {
    match (from, interface) {
        (0, _) => (1, 0),
        (2, _) => (1, 1),
        (_, 0) => (0, 0),
        _ => (2, 0),
    }
}

#[test]
fn a_router_moves_datagrams_both_ways() {
    for (version, there) in THERE.into_iter().enumerate() {
        let ([mut one, mut other], mut router) = (ends(version), router());
        let name = other.listen(at(there, 17), 1)[0];
        let opened = one.open(at(there, 17));
        for octets in [1, 100, 1400, 5000] {
            let message = vec![octets as u8; octets];
            let marked = MessageProperties { ecn: Ecn::Ce, ..MessageProperties::default() };
            one.send_with(opened, &message, marked);
            carry(&mut [&mut one, &mut router, &mut other], wire);
            let (came, properties) =
                other.words.told[&name].messages.last().cloned().expect("it came");
            assert_eq!((came == message, properties.ecn), (true, Ecn::Ce));
            other.send(name, &came);
            carry(&mut [&mut one, &mut router, &mut other], wire);
            assert_eq!(one.told(opened).messages.last().map(|told| told.0.len()), Some(octets));
        }
        for host in [&one, &router, &other] {
            assert_eq!(host.dropped(), [""; 0]);
        }
    }
}

#[test]
fn a_router_takes_a_hop_and_keeps_the_check_right() {
    let mut router = router();
    router.arrive(0, &packet("10.0.0.2", "10.0.1.2", 99, b"on its way"));
    let left = router.left();
    let [(1, hop, on)] = &left[..] else { panic!("{left:?}") };
    assert_eq!((*hop, on[8], Internet::of(&on[..20])), (ip("10.0.1.2"), 63, 0));
    router.arrive(0, &packet("2001:db8::2", "2001:db8:1::2", 99, b"on its way"));
    assert_eq!(router.left()[0].2[7], 63);
    let mut last = packet("2001:db8::2", "2001:db8:1::2", 99, b"x");
    last[7] = 1;
    router.arrive(0, &last);
    const NOBODY: Handle = Handle { index: 0, generation: 0 };
    let forwarded = RoutingReport { packets: 2, octets: 20 + 40 + 2 * 10 };
    assert_eq!(ask(&router.ip, NOBODY, Forwarded, &NothingBelow), Some(forwarded));
    assert_eq!(crate::packets::read_icmp(&router.left()[0].2), (3, 0, 0, last));
    for (packet, reason) in [
        (packet("10.0.0.2", "10.9.0.2", 99, b"x"), "a packet to where no route leads"),
        (
            packet("10.0.1.7", "10.0.1.2", 99, b"x"),
            "a packet whose source is not where it came from",
        ),
        (
            packet("10.8.0.2", "10.0.1.2", 99, b"x"),
            "a packet whose source is not where it came from",
        ),
        (
            packet("169.254.0.2", "10.0.1.2", 99, b"x"),
            "a packet between addresses that are not forwarded",
        ),
        (
            packet("fe80::2", "2001:db8:1::2", 99, b"x"),
            "a packet between addresses that are not forwarded",
        ),
    ] {
        router.dropped();
        router.arrive(0, &packet);
        assert_eq!(router.dropped(), [reason]);
        let told = router.left();
        assert_eq!(told.len(), usize::from(reason == "a packet to where no route leads"));
    }
}

/// The second link is narrow: the first host learns what it takes, and IPv4 without DF is cut.
#[test]
fn a_narrow_link_is_found() {
    for (version, header) in [(0, 20), (1, 40)] {
        let ([mut one, mut other], mut router) = (ends(version), router());
        let narrow = if version == 0 { 700 } else { 1280 };
        router.set_longest(1, narrow);
        let name = other.listen(at(THERE[version], 6), 1)[0];
        let opened = one.open(at(THERE[version], 6));
        one.send(opened, &vec![1; 1500 - header]);
        carry(&mut [&mut one, &mut router, &mut other], wire);
        let longest = narrow - header;
        assert_eq!(one.told(opened).changes.last().map(|path| path.longest), Some(longest as u32));
        let report = Trouble::TooLong { longest: longest as u32 };
        assert_eq!(one.told(opened).reports.last().map(|report| report.1), Some(report));
        one.send(opened, &vec![2; longest]);
        carry(&mut [&mut one, &mut router, &mut other], wire);
        assert_eq!(other.told(name).messages.len(), 1);
    }
    let mut router = router();
    router.set_longest(1, 700);
    let mut long = packet("10.0.0.2", "10.0.1.2", 17, &[3; 1400]);
    (long[4], long[6]) = (1, 0);
    router.arrive(0, &crate::packets::check(long));
    let left = router.left();
    let lengths: Vec<_> = left.iter().map(|(_, _, packet)| packet.len()).collect();
    assert_eq!(lengths, [700, 700, 60]);
    let mut host = Host::new(Config::host(ip("10.0.1.2"), 24).through(ip("10.0.1.1"), 0));
    let name = host.listen(at("0.0.0.0", 17), 1)[0];
    left.iter().rev().for_each(|(_, _, packet)| host.arrive(0, packet));
    assert_eq!(host.told(name).messages[0].0, [3; 1400]);
}

#[test]
fn what_came_together_leaves_together() {
    use stackwright_contract::services::Batch;
    use stackwright_wire::{BufferTree, Message as _};
    let mut router = router();
    let packets: Vec<_> =
        (0..9).map(|octet| packet("10.0.0.2", "10.0.1.2", 17, &[octet; 1000])).collect();
    let batch = |packets: &[Vec<u8>]| {
        Batch::new(BufferTree::with_headroom(32, &packets.concat()), packets[0].len())
    };
    router.arrive_batch(0, batch(&packets));
    assert_eq!(router.words.packets.len(), 1);
    for (packet, (_, _, on)) in packets.iter().zip(router.left()) {
        assert_eq!((on[8], Internet::of(&on[..20]), &on[20..]), (63, 0, &packet[20..]));
    }
    // One of them to another host, or with its last hop: each is handled alone.
    for (at, octet) in [(19, 9), (8, 1)] {
        let mut mixed = packets.clone();
        mixed[4][at] = octet;
        mixed[4] = crate::packets::check(mixed[4].clone());
        router.arrive_batch(0, batch(&mixed));
        assert_eq!(router.left().len(), 9, "eight, and one elsewhere or an error");
    }
}

/// Returns a TCP packet whose check holds the sum of the pseudo-header alone, or is complete.
fn tcp(payload: &[u8], complete: bool) -> Vec<u8> {
    let mut segment = vec![0; 20];
    segment[..4].copy_from_slice(&[0, 80, 1, 2]);
    segment[4..8].copy_from_slice(&(u32::MAX - 99).to_be_bytes());
    (segment[12], segment[13]) = (5 << 4, 0x99); // CWR, ACK, PSH, FIN
    segment.extend(payload);
    let [source, destination] = [ip("10.0.0.2"), ip("10.0.1.2")];
    let sum = pseudo_header(source, destination, 6, segment.len() as u32);
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    if complete {
        let check = Internet::of(&segment);
        segment[16..18].copy_from_slice(&check.to_be_bytes());
    }
    packet("10.0.0.2", "10.0.1.2", 6, &segment)
}

#[test]
fn a_check_that_a_kernel_left_open_is_completed_where_nobody_below_does_it() {
    for (from, to) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut router = router();
        router.set_path(0, PathLimits { checks: from, ..PathLimits::of_longest(1500) });
        router.set_path(1, PathLimits { checks: to, ..PathLimits::of_longest(1500) });
        for complete in [true, false] {
            router.arrive(0, &tcp(b"data", complete));
            let left = router.left().remove(0).2;
            let is_complete = left[20..] == tcp(b"data", true)[20..];
            assert_eq!(is_complete, complete || from && !to, "{from} {to} {complete}");
        }
    }
}

#[test]
fn a_super_packet_is_segmented_for_a_link_that_takes_less() {
    for checks in [true, false] {
        let mut router = router();
        router.set_path(0, PathLimits { checks: true, ..PathLimits::of_longest(1500) });
        router.set_path(1, PathLimits { checks, ..PathLimits::of_longest(1000) });
        let payload: Vec<u8> = (0..20_000u32).map(|octet| octet as u8).collect();
        router.arrive(0, &tcp(&payload, false));
        assert_eq!(router.dropped(), [""; 0]);
        assert_eq!(router.words.packets.len(), 1, "they stay together");
        let (mut came, left) = (Vec::<u8>::new(), router.left());
        for (place, (_, _, packet)) in left.iter().enumerate() {
            assert!(packet.len() <= 1000 && Internet::of(&packet[..20]) == 0);
            assert_eq!(packet[8], 63);
            let number = u32::from_be_bytes([packet[24], packet[25], packet[26], packet[27]]);
            assert_eq!(number.wrapping_add(100) as usize, came.len());
            let sum = pseudo_header(ip("10.0.0.2"), ip("10.0.1.2"), 6, packet.len() as u32 - 20);
            let check = [packet[36], packet[37]];
            assert_eq!(check == sum.to_be_bytes(), checks);
            if !checks {
                let mut check = Internet::new();
                check.add(&sum.to_be_bytes());
                check.add(&packet[20..]);
                assert_eq!(check.value(), 0);
            }
            let flags = [(0, 0x90), (left.len() - 1, 0x19)];
            let flags = flags.iter().find(|flags| flags.0 == place).map_or(0x10, |flags| flags.1);
            assert_eq!(packet[33], flags, "{place}");
            came.extend(&packet[40..]);
        }
        assert!(came == payload);
    }
}

#[test]
fn an_interface_that_was_down_is_used_again() {
    let [mut one, _] = ends(0);
    one.set_path(0, PathLimits { checks: true, ..PathLimits::of_longest(1500) });
    let opened = one.open(at("10.0.1.2", 17));
    assert!(one.told(opened).opened.is_some_and(|told| told.2.checks), "they are for all above");
    one.set_down(0);
    one.send(opened, b"lost");
    assert_eq!(one.dropped(), ["a message for an interface that is down"]);
    one.set_up(0);
    one.send(opened, b"found");
    assert_eq!(one.left().len(), 1);
    assert_eq!(one.told(opened).ended, None);
}
