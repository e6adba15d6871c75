//! What a station answers.

use alloc::vec::Vec;
use core::net::IpAddr;

use stackwright_wire::BufferTree;

use stackwright_contract::Address;

use super::*;
use crate::format::CHECK;

type M = BufferTree;

const CROWD: Crowd = Crowd { half_open: 0, gives_way: false };

fn at(seconds: u64) -> Context {
    let cx = Context::new(1);
    cx.set_now(Instant::from_nanoseconds(seconds * 1_000_000_000));
    cx
}

fn station(last: u8) -> Participant {
    Address::InternetProtocol { host: IpAddr::from([10, 0, 0, last]), protocol: 6 }.into()
}

/// The listener's station, and its peer.
fn ends() -> (Participant, Participant) {
    (station(1), station(2))
}

/// The key of what arrives there.
const KEY: TcpKey = TcpKey { own: 80, peer: 40_000 };

/// Returns a segment with a right check to the listener.
fn segment(header: Header, data: &[u8]) -> M {
    let mut octets = vec![0; Header::LENGTH];
    put(header, &mut octets);
    octets.extend_from_slice(data);
    let (local, remote) = ends();
    let at = check_at(hosts_sum(local, remote, PROTOCOL), octets.len(), false);
    Internet::new().seal(&mut octets, None::<&M>, Some(at));
    M::with_headroom(0, &octets)
}

fn from_peer() -> Header {
    silent(TcpKey { own: KEY.peer, peer: KEY.own })
}

fn host() -> TcpHost<M> {
    TcpHost::new(Config::new([7; 16]))
}

/// Returns the header of an answer whose check is right.
fn read(mut answer: M) -> Header {
    let header = TcpHost::<M>::header(&mut answer).expect("a segment");
    let (local, remote) = ends();
    let at = check_at(hosts_sum(local, remote, PROTOCOL), answer.len(), false);
    assert_eq!(Internet::new().verify(&answer, Some(at)), Ok(()));
    assert_eq!((header.source_port, header.destination_port), (KEY.own, KEY.peer));
    header
}

fn unawaited(packet: &mut M) -> Option<M> {
    host().unawaited(&at(1), ends(), &KEY, packet, Unexpected::NoListener)
}

/// RFC 9293 §3.10.7.1.
#[test]
fn a_segment_of_no_connection_is_reset_with_numbers_that_its_sender_believes() {
    let with_ack =
        Header { ack: true, acknowledgment_number: 0xffff_fff0, sequence_number: 5, ..from_peer() };
    let without = Header { syn: true, fin: true, sequence_number: u32::MAX, ..from_peer() };
    for data in [&b""[..], b"odd", b"even"] {
        let mut packet = segment(with_ack.clone(), data);
        let answer = unawaited(&mut packet);
        let reset = read(answer.expect("a reset"));
        assert_eq!((reset.rst, reset.ack, reset.sequence_number), (true, false, 0xffff_fff0));
        let mut packet = segment(without.clone(), data);
        let answer = unawaited(&mut packet);
        let reset = read(answer.expect("a reset"));
        assert_eq!((reset.rst, reset.ack, reset.sequence_number), (true, true, 0));
        assert_eq!(reset.acknowledgment_number, 1 + data.len() as u32);
    }
    let mut reset = segment(Header { rst: true, ..with_ack }, b"");
    assert!(unawaited(&mut reset).is_none());
}

/// RFC 9293 §3.10.7.2.
#[test]
fn only_a_request_whose_check_is_right_is_welcome() {
    let arrival = |mut packet: M| host().arrival(&at(1), ends(), &KEY, &mut packet, CROWD);
    let syn = Header { syn: true, sequence_number: 9, ..from_peer() };
    assert!(matches!(arrival(segment(syn.clone(), b"")), Arrival::Welcome));
    let mut octets = Vec::new();
    segment(syn.clone(), b"").append_to(&mut octets);
    octets[4] ^= 1;
    assert!(matches!(arrival(M::with_headroom(0, &octets)), Arrival::Ignored(_)));
    // The kernel leaves the check of what it sends to a device that completes it.
    let (local, remote) = ends();
    let sum = check_at(hosts_sum(local, remote, PROTOCOL), octets.len(), true).plus;
    octets[CHECK..CHECK + 2].copy_from_slice(&sum.to_be_bytes());
    assert!(matches!(arrival(M::with_headroom(0, &octets)), Arrival::Welcome));
    for (ack, rst) in [(true, false), (false, true), (true, true)] {
        let other = arrival(segment(Header { ack, rst, ..syn.clone() }, b""));
        match rst {
            true => assert!(matches!(other, Arrival::Ignored(_))),
            false => {
                assert!(matches!(other, Arrival::Answered(reset) if read(reset.share()).rst))
            }
        }
    }
}

/// RFC 9293 §3.10.7.4 (TIME-WAIT), RFC 1122 §4.2.2.13, RFC 1337.
#[test]
fn a_connection_that_waits_answers_a_fin_and_gives_way_to_a_newer_request() {
    let mut host = host();
    let last = Header { ack: true, acknowledgment_number: 1000, ..silent(KEY) };
    let mut packet = vec![0; Header::LENGTH];
    put(last, &mut packet);
    let farewell = Farewell { packet: &packet, wait: 0, tells: false, stranger: false };
    host.bury(&at(1), (&KEY, station(2)), farewell);
    let mut meets = |seconds, header: Header| {
        let mut packet = segment(header, b"");
        host.arrival(&at(seconds), ends(), &KEY, &mut packet, CROWD)
    };
    let ack = Header { ack: true, sequence_number: 999, ..from_peer() };
    let fin = Header { fin: true, ..ack.clone() };
    let syn = |sequence_number| Header { syn: true, sequence_number, ..from_peer() };
    assert!(matches!(meets(2, fin), Arrival::Answered(_)));
    assert!(matches!(meets(2, syn(1000)), Arrival::Answered(_)), "an old one");
    assert!(matches!(meets(2, ack.clone()), Arrival::Ignored(_)));
    assert!(matches!(meets(2, Header { rst: true, ..ack.clone() }), Arrival::Ignored(_)));
    assert!(matches!(meets(2, syn(1001)), Arrival::Welcome));
    let after = meets(62, ack);
    assert!(matches!(after, Arrival::Answered(reset) if read(reset.share()).rst));
}

/// RFC 9293 §3.6.1 and §3.10.7.4 (TIME-WAIT), RFC 6191 §2.
#[test]
fn a_connection_that_waits_keeps_its_port_and_waits_longer_for_a_peer_that_does_not_know() {
    let mut host = host();
    let last = Header { ack: true, acknowledgment_number: 1000, ..silent(KEY) };
    let mut octets = vec![0; Header::LENGTH];
    octets.extend_from_slice(&[1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 7]);
    put(last, &mut octets);
    let farewell = Farewell { packet: &octets, wait: 0, tells: false, stranger: false };
    host.bury(&at(1), (&KEY, station(2)), farewell);
    let free = |host: &mut TcpHost<M>, seconds| {
        let remote = with_port(station(2), KEY.peer);
        let name = Handle { index: 1, generation: 0 };
        let local = Some(with_port(station(1), KEY.own));
        let key = host.open(&at(seconds), name, local, remote).expect("a port").key;
        host.free_key(key, |_| false)
    };
    assert_eq!([free(&mut host, 60), free(&mut host, 61)], [None, Some(KEY)]);
    let fin = Header { ack: true, fin: true, ..from_peer() };
    for (sequence_number, waits) in [(998, false), (999, true)] {
        let mut packet = segment(Header { sequence_number, ..fin.clone() }, b"");
        let again = host.arrival(&at(30), ends(), &KEY, &mut packet, CROWD);
        assert!(matches!(again, Arrival::Answered(_)));
        assert_eq!(free(&mut host, 61).is_none(), waits);
    }
    for (time, is_newer) in [(6, false), (8, true)] {
        let mut octets = vec![0; Header::LENGTH];
        octets.extend_from_slice(&[1, 1, 8, 10, 0, 0, 0, time, 0, 0, 0, 0]);
        put(Header { syn: true, sequence_number: 5, ..from_peer() }, &mut octets);
        let mut packet = TcpHost::<M>::sealed(octets, ends());
        let begins = host.arrival(&at(31), ends(), &KEY, &mut packet, CROWD);
        assert_eq!(matches!(begins, Arrival::Welcome), is_newer);
    }
}

/// RFC 6056 §3.3.3 and RFC 6528 §3.
#[test]
fn ports_and_first_numbers_are_others_for_each_destination_and_rise() {
    let mut host = host();
    let remote = |last| Participant::from(([10, 0, 0, last], 80));
    let mut port = |last| {
        let name = Handle { index: 1, generation: 0 };
        host.open(&at(1), name, None, remote(last)).expect("a port").key.own
    };
    let [first, second, other] = [port(1), port(1), port(2)];
    assert_eq!(second.wrapping_sub(first), 1);
    assert!(other.abs_diff(second) > 2, "{other} tells nothing of {second}");
    let key = TcpKey { own: 49_152, peer: 80 };
    let taken = |taken: &TcpKey| taken.own != 49_160;
    assert_eq!(host.free_key(key, taken), Some(TcpKey { own: 49_160, peer: 80 }));
    assert_eq!(host.free_key(key, |_| true), None);
    let number = |seconds, last| host.first_number(at(seconds).now(), &key, remote(last));
    assert_eq!(number(2, 1).wrapping_sub(number(1, 1)), 250_000);
    assert_ne!(number(1, 1), number(1, 2));
}

/// RFC 4987 §3.6.
#[test]
fn an_answer_that_is_forgotten_is_believed_when_it_returns_and_not_for_long() {
    let mut host = host();
    let crowd = Crowd { half_open: host.config.half_open_most, ..CROWD };
    // MSS 1400, SACK, timestamps, shift 9; and a SYN without an option.
    let options = [2, 4, 5, 120, 4, 2, 8, 10, 0, 0, 0, 7, 0, 0, 0, 0, 1, 3, 3, 9];
    for options in [&options[..], &[]] {
        let syn = Header { syn: true, sequence_number: 9, ..from_peer() };
        let mut octets = vec![0; Header::LENGTH];
        octets.extend_from_slice(options);
        put(syn, &mut octets);
        let mut packet = TcpHost::<M>::sealed(octets, ends());
        let asked = host.arrival(&at(1), ends(), &KEY, &mut packet, crowd);
        let Arrival::Answered(mut answer) = asked else { panic!("{asked:?}") };
        let answered = TcpHost::<M>::header(&mut answer).expect("a header");
        assert!(answered.syn && answered.ack && answered.acknowledgment_number == 10);
        let all = !options.is_empty();
        let offered = TcpHost::<M>::offers(&mut answer, &answered);
        assert_eq!((offered.sack, offered.times.map(|times| times.echo)), (all, all.then_some(7)));
        let ack = Header {
            ack: true,
            sequence_number: 10,
            acknowledgment_number: answered.sequence_number.wrapping_add(1),
            data_offset: 5,
            ..from_peer()
        };
        let proof = |seconds, ends, ack: &Header| {
            host.cookies.proof(at(seconds).now(), ends, (&KEY, ack), None)
        };
        let believed = [1, 70, 128, 129, 200].map(|second| proof(second, ends(), &ack).is_some());
        assert_eq!(believed, [true, true, false, false, false], "the key changes at 64 and 128");
        let Offers { takes, shift, sack, .. } = proof(1, ends(), &ack).expect("a proof").offers;
        assert_eq!(
            (takes, shift, sack),
            if all { (1360, Some(9), true) } else { (536, None, false) }
        );
        for bit in 0..32 {
            let acknowledgment_number = ack.acknowledgment_number ^ 1 << bit;
            let other = Header { acknowledgment_number, ..ack.clone() };
            assert!(proof(1, ends(), &other).is_none(), "{bit}");
        }
        let (local, _) = ends();
        assert!(proof(1, (local, station(3)), &ack).is_none(), "of another host");
        let mut packet = segment(ack, b"");
        let proven = host.arrival(&at(1), ends(), &KEY, &mut packet, crowd);
        assert!(matches!(proven, Arrival::Welcome));
        assert!(host.unawaited(&at(1), ends(), &KEY, &mut packet, Unexpected::NoName).is_none());
    }
}
