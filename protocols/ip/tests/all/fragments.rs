//! Fragments that arrive, and that leave.

use stackwright_contract::Duration;

use crate::hosts::{ENDS, Host, at, carry, host, ip};
use crate::packets::{fragment, read_icmp};

fn payload(octets: usize) -> Vec<u8> {
    (0..octets).map(|octet| (octet / 3) as u8).collect()
}

#[test]
fn a_message_of_any_length_arrives_in_fragments() {
    for [here, there] in ENDS {
        let most = if ip(here).is_ipv4() { 65_515 } else { 65_535 };
        for octets in [1480, 1481, 3000, 60_008, most] {
            let (mut one, mut other) = (host(here), host(there));
            let name = other.listen(at(there, 17), 1)[0];
            let opened = one.open(at(there, 17));
            let before = one.told(opened).credit;
            one.send(opened, &payload(octets));
            let lengths: Vec<_> = one.words.packets.iter().map(|sent| sent.2.octets()).collect();
            assert!(lengths.iter().all(|length| *length <= 1500), "{lengths:?}");
            assert_eq!(lengths.len(), octets.div_ceil(if most == 65_515 { 1480 } else { 1448 }));
            // The last overtakes the others.
            one.words.packets.rotate_right(1);
            carry(&mut [&mut one, &mut other], |from, _| (1 - from, 0));
            let told = other.told(name);
            assert!(told.messages.len() == 1 && told.messages[0].0 == payload(octets), "{octets}");
            assert_eq!((one.dropped(), other.dropped()), (vec![], vec![]));
            assert_eq!(one.told(opened).credit.messages, before.messages);
        }
        let mut one = host(here);
        let opened = one.open(at(there, 17));
        one.send(opened, &payload(most + 1));
        assert_eq!(one.dropped(), ["a message longer than any packet"]);
    }
}

#[test]
fn an_echo_of_60_000_octets_is_answered() {
    for ([here, there], kind) in [(ENDS[0], 8), (ENDS[1], 128)] {
        let (mut one, mut other) = (host(here), host(there));
        let protocol = if kind == 8 { 1 } else { 58 };
        let name = one.open(at(there, protocol));
        let mut message = vec![kind, 0, 0, 0, 0, 1, 0, 1];
        message.extend(payload(60_000));
        if protocol == 1 {
            let check = stackwright_wire::check::Internet::of(&message).to_be_bytes();
            message[2..4].copy_from_slice(&check);
        }
        one.send(name, &message);
        carry(&mut [&mut one, &mut other], |from, _| (1 - from, 0));
        assert_eq!((one.dropped(), other.dropped()), (vec![], vec![]));
        assert!(one.told(name).messages[0].0[8..] == message[8..]);
    }
}

/// Of a fragment: its offset, whether more follow, its octets.
type Part = (usize, bool, usize);

/// Has fragments of UDP arrive. Returns what was delivered.
fn arrive(host: &mut Host, ends: [&str; 2], id: u32, fragments: &[Part]) -> Vec<Vec<u8>> {
    let name = *host.listen(at(ends[0], 17), 1).first().expect("a name");
    for (offset, more, octets) in fragments {
        let part = &payload(70_000)[*offset..offset + octets];
        host.arrive(0, &fragment(ends[1], ends[0], 17, id, *offset, *more, part));
    }
    host.told(name).messages.iter().map(|told| told.0.clone()).collect()
}

#[test]
fn overlapping_fragments_are_dropped_with_all_of_their_packet() {
    const OVERLAPS: &str = "a fragment that overlaps another";
    const CONDEMNED: &str = "a fragment of a packet of which some overlapped";
    for ends in ENDS {
        let cases: [(&[Part], &[&str]); 8] = [
            // Teardrop: the second lies within the first.
            (&[(0, true, 32), (8, false, 16)], &[OVERLAPS]),
            (&[(0, true, 32), (24, true, 16), (40, false, 8)], &[OVERLAPS, CONDEMNED]),
            (&[(8, true, 32), (0, true, 16), (40, false, 8)], &[OVERLAPS, CONDEMNED]),
            // Two ends, and more behind the end.
            (&[(0, true, 16), (16, false, 16), (32, false, 16)], &[]),
            (&[(32, true, 16), (16, false, 8), (0, true, 16)], &[OVERLAPS, CONDEMNED]),
            (&[(16, false, 8), (32, true, 16), (0, true, 16)], &[OVERLAPS, CONDEMNED]),
            (&[(16, false, 16), (16, false, 8), (0, true, 16)], &[OVERLAPS, CONDEMNED]),
            // The same once more.
            (&[(0, true, 16), (0, true, 16), (16, false, 8)], &["a fragment that came before"]),
        ];
        for (number, (fragments, reasons)) in cases.iter().enumerate() {
            let mut host = host(ends[0]);
            let whole = arrive(&mut host, ends, 7, fragments);
            assert_eq!(host.dropped(), *reasons, "{fragments:?}");
            let is_whole = matches!(number, 3 | 7);
            assert_eq!(whole.len(), usize::from(is_whole), "{fragments:?}");
        }
    }
}

#[test]
fn fragments_that_cannot_be_are_dropped() {
    for ends in ENDS {
        let is_ipv4 = ip(ends[0]).is_ipv4();
        let last = if is_ipv4 { 65_504 } else { 65_528 };
        for (fragments, reason, at) in [
            (&[(0, true, 15)][..], "a fragment whose length is no multiple of 8", Some(4)),
            (&[(last, false, 16)], "a fragment beyond the longest packet", Some(42)),
            (&[(8, true, 0)], "a fragment of nothing", None),
        ] {
            let mut host = host(ends[0]);
            assert_eq!(arrive(&mut host, ends, 7, fragments), [[0; 0]; 0]);
            assert_eq!(host.dropped(), [reason]);
            let told: Vec<_> = host.left().iter().map(|left| read_icmp(&left.2)).collect();
            let problems: Vec<_> = told.iter().map(|told| (told.0, told.1, told.2)).collect();
            // Only IPv6 says it, and about the first alone.
            let at = at.filter(|_| !is_ipv4 && fragments[0].0 == 0);
            assert_eq!(problems, Vec::from_iter(at.map(|at| (4, 0, at))), "{reason}");
        }
    }
}

#[test]
fn a_first_fragment_has_the_whole_header_of_the_transport() {
    for [own, peer] in ENDS {
        let mut host = host(own);
        let mut tcp = [0; 40];
        tcp[12] = 10 << 4;
        for (protocol, octets, fits) in
            [(6, 8, false), (6, 32, false), (6, 40, true), (17, 8, true), (99, 8, true)]
        {
            host.arrive(0, &fragment(peer, own, protocol, octets as u32, 0, true, &tcp[..octets]));
            let reason = "a first fragment without the whole header";
            assert_eq!(host.dropped() == [reason], !fits, "{protocol}: {octets}");
        }
        host.arrive(0, &fragment(peer, own, 6, 9, 8, true, &tcp[..8]));
        assert_eq!(host.dropped(), ["a fragment within the header of TCP"]);
    }
    // The transport's header is behind further extension headers.
    let [own, peer] = ENDS[1];
    let mut host = host(own);
    host.arrive(0, &fragment(peer, own, 60, 1, 0, true, &[17, 0, 1, 4, 0, 0, 0, 0]));
    assert_eq!(host.dropped(), ["a first fragment without the whole header"]);
    let name = host.listen(at(own, 17), 1)[0];
    let mut first = vec![17, 0, 1, 4, 0, 0, 0, 0];
    first.extend(b"the head");
    host.arrive(0, &fragment(peer, own, 60, 2, 0, true, &first));
    host.arrive(0, &fragment(peer, own, 60, 2, 16, false, b"rest"));
    assert_eq!(host.told(name).messages[0].0, b"the headrest");
}

#[test]
fn an_atomic_fragment_is_whole_beside_others() {
    for ends in ENDS {
        let mut host = host(ends[0]);
        if ip(ends[0]).is_ipv6() {
            let whole =
                arrive(&mut host, ends, 7, &[(0, true, 16), (0, false, 24), (16, false, 8)]);
            assert_eq!(whole, [payload(24), payload(24)]);
        }
        // Two sources with the same identification.
        let name = host.listen(at(ends[0], 99), 2);
        let others = if ip(ends[0]).is_ipv4() {
            ["10.0.0.3", "10.0.0.4"]
        } else {
            ["2001:db8::3", "2001:db8::4"]
        };
        for source in others {
            host.arrive(
                0,
                &fragment(source, ends[0], 99, 5, 0, true, source.as_bytes()[..8].into()),
            );
        }
        for source in others {
            host.arrive(0, &fragment(source, ends[0], 99, 5, 8, false, b"!"));
        }
        assert_eq!(host.dropped(), [""; 0]);
        assert!(name.iter().all(|name| host.told(*name).messages[0].0.ends_with(b"!")));
    }
}

#[test]
fn what_does_not_become_whole_expires_and_its_sender_is_told() {
    for ([own, peer], seconds, kind) in [(ENDS[0], 30, 11), (ENDS[1], 60, 3)] {
        let mut host = host(own);
        let name = host.listen(at(own, 17), 1)[0];
        let first = fragment(peer, own, 17, 1, 0, true, &[9; 16]);
        host.arrive(0, &first);
        host.arrive(0, &fragment(peer, own, 17, 2, 16, true, &[9; 16]));
        host.pass(Duration::from_secs(seconds - 1));
        assert_eq!(host.dropped(), [""; 0]);
        host.pass(Duration::from_secs(1));
        assert_eq!(host.dropped(), ["fragments of which others did not come"; 2]);
        let left = host.left();
        assert_eq!(left.len(), 1, "only where the first has come");
        let (its, code, _, quoted) = read_icmp(&left[0].2);
        assert_eq!((its, code), (kind, 1));
        assert_eq!(quoted, first);
        host.arrive(0, &fragment(peer, own, 17, 1, 16, false, &[9; 8]));
        assert_eq!(host.told(name).messages.len(), 0, "it is too late");
    }
}

#[test]
fn congestion_marks_of_fragments_become_one() {
    use stackwright_contract::services::Ecn;
    for (marks, expected) in [
        ([2, 2], Some(Ecn::Ect)),
        ([2, 3], Some(Ecn::Ce)),
        ([3, 1], Some(Ecn::Ce)),
        ([0, 0], Some(Ecn::NotEct)),
        ([0, 2], Some(Ecn::NotEct)),
        ([0, 3], None),
    ] {
        let mut host = host("10.0.0.1");
        let name = host.listen(at("10.0.0.1", 17), 1)[0];
        for (place, mark) in marks.iter().enumerate() {
            let mut packet =
                fragment("10.0.0.2", "10.0.0.1", 17, 1, place * 8, place == 0, &[1; 8]);
            packet[1] = *mark;
            host.arrive(0, &crate::packets::check(packet));
        }
        let told = host.told(name).messages.first().map(|told| told.1.ecn);
        assert_eq!(told, expected, "{marks:?}");
    }
}
