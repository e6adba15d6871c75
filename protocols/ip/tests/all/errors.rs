//! ICMP errors: those that leave, and those that arrive.

use stackwright_contract::services::{DatagramsRequest, MessageProperties};
use stackwright_contract::{Duration, Trouble};

use crate::hosts::{ENDS, Host, at, host, ip};
use crate::packets::{fragment, icmp, packet, read_icmp};

/// RFC 1122 §3.2.2, RFC 4443 §2.4 e.
#[test]
fn about_some_packets_nobody_is_told() {
    let error = icmp("10.0.0.2", "10.0.0.1", 3, 3, 0, b"");
    let [echo, error] = [(8, ""), (3, "")].map(|(kind, _)| {
        let mut packet = error.clone();
        packet[20] = kind;
        packet
    });
    // Of a host, and of a router that such a packet passes with its last hop.
    let cases: [(Vec<u8>, bool); 9] = [
        (packet("10.0.0.2", "10.0.1.2", 99, b"x"), true),
        (fragment("10.0.0.2", "10.0.1.2", 99, 7, 0, true, &[0; 8]), true),
        (fragment("10.0.0.2", "10.0.1.2", 99, 7, 8, true, &[0; 8]), false),
        (echo, true),
        (error, false),
        (packet("10.0.0.2", "10.0.1.2", 1, b""), false),
        (packet("10.0.0.255", "10.0.1.2", 99, b"x"), false),
        (packet("10.0.0.2", "10.0.0.255", 99, b"x"), false),
        (packet("10.0.0.2", "224.0.0.1", 99, b"x"), false),
    ];
    for (mut packet, is_told) in cases {
        let mut router = crate::routers::router();
        packet[8] = 1;
        if packet[9] == 1 {
            packet[16..20].copy_from_slice(&[10, 0, 1, 2]);
        }
        let packet = crate::packets::check(packet);
        router.arrive(0, &packet);
        let left = router.left();
        assert_eq!(left.len(), usize::from(is_told), "{packet:?}");
        if let [(0, hop, error)] = &left[..] {
            let (kind, code, rest, quoted) = read_icmp(error);
            assert_eq!((kind, code, rest, quoted == packet), (11, 0, 0, true));
            assert_eq!((*hop, &error[12..16]), (ip("10.0.0.2"), &[10, 0, 0, 1][..]));
        }
    }
}

#[test]
fn an_error_quotes_as_much_as_it_may_and_is_limited() {
    for ([own, peer], longest, code) in [(ENDS[0], 576, 2), (ENDS[1], 1280, 1)] {
        let mut host = host(own);
        host.arrive(0, &packet(peer, own, 99, &[7; 1400]));
        let error = host.left().remove(0).2;
        assert_eq!((error.len(), read_icmp(&error).1), (longest, code));
        for _ in 0..100 {
            host.arrive(0, &packet(peer, own, 99, b"x"));
        }
        assert_eq!(host.left().len(), 9, "ten at once to one peer");
        host.pass(Duration::from_secs(1));
        for _ in 0..100 {
            host.arrive(0, &packet(peer, own, 99, b"x"));
        }
        assert_eq!(host.left().len(), 10, "and ten a second");
    }
}

#[test]
fn a_message_that_nobody_awaits_goes_back() {
    for ([own, peer], kind, code) in [(ENDS[0], 3, 3), (ENDS[1], 1, 4)] {
        let mut host = host(own);
        let name = host.listen(at(own, 17), 1)[0];
        let came = packet(peer, own, 17, b"\x12\x34\x56\x78ports and more");
        host.arrive(0, &came);
        let returned = host.told(name).messages[0].0.clone();
        let properties = MessageProperties { returned: true, ..MessageProperties::default() };
        host.send_with(name, &returned, properties);
        let error = host.left().remove(0).2;
        let (said, its_code, _, quoted) = read_icmp(&error);
        assert_eq!((said, its_code), (kind, code));
        assert_eq!(quoted, came, "the header is as it was");
    }
}

#[test]
fn errors_are_told_to_whom_they_quote() {
    let cases4 = [
        (3, 0, Trouble::Unreachable),
        (3, 1, Trouble::Unreachable),
        (3, 2, Trouble::Refused),
        (3, 3, Trouble::Refused),
        (3, 13, Trouble::Prohibited),
        (11, 0, Trouble::TooFar),
        (12, 0, Trouble::Malformed),
    ];
    let cases6 = [
        (1, 0, Trouble::Unreachable),
        (1, 1, Trouble::Prohibited),
        (1, 4, Trouble::Refused),
        (3, 0, Trouble::TooFar),
        (4, 0, Trouble::Malformed),
        (4, 1, Trouble::Refused),
    ];
    for ([own, peer], cases) in [(ENDS[0], &cases4[..]), (ENDS[1], &cases6[..])] {
        let mut host = host(own);
        let name = host.open(at(peer, 17));
        host.send(name, b"8 octets and more");
        let sent = host.left().remove(0).2;
        for (kind, code, trouble) in cases {
            host.arrive(0, &icmp(peer, own, *kind, *code, 0, &sent));
            let (by, what, quoted) = host.told(name).reports.last().copied().expect("a report");
            assert_eq!((by, what, &quoted), (ip(peer), *trouble, b"8 octets"), "{kind}/{code}");
        }
        assert_eq!(host.told(name).ended, None, "it is a hint");
        let before = host.told(name).reports.len();
        // Redirects and source quench are not heeded; other associations, and too little.
        let other = packet(own, peer, 18, b"8 octets and more");
        let ignored = if ip(own).is_ipv4() { [4, 5] } else { [100, 137] };
        for (kind, quoted) in ignored
            .map(|kind| (kind, &sent[..]))
            .into_iter()
            .chain([(3, &other[..]), (3, &sent[..sent.len() - 10])])
        {
            host.arrive(0, &icmp(peer, own, kind, 1, 0, quoted));
        }
        assert_eq!(host.told(name).reports.len(), before);
        assert_eq!(host.dropped().len(), 4);
        assert_eq!(host.left().len(), 0, "no error about an error");
    }
}

#[test]
fn the_path_mtu_is_what_routers_report_for_ten_minutes() {
    for ([own, peer], kind, code, header) in [(ENDS[0], 3, 4, 20), (ENDS[1], 2, 0, 40)] {
        let mut host = host(own);
        let name = host.open(at(peer, 6));
        let payload = vec![5; 1500 - header];
        host.send(name, &payload);
        let sent = host.left().remove(0).2;
        let told = |host: &Host| {
            host.told(name).changes.last().map_or(1500 - header as u32, |path| path.longest)
        };
        // Forged: about what was never sent, or was not too long.
        let mut other = sent.clone();
        other[19] ^= 1;
        host.arrive(0, &icmp(peer, own, kind, code, 1300, &crate::packets::check(other)));
        host.arrive(0, &icmp(peer, own, kind, code, 1500, &sent));
        assert_eq!(told(&host), 1500 - header as u32);
        host.dropped();
        host.arrive(0, &icmp(peer, own, kind, code, 1300, &sent));
        assert_eq!(host.dropped(), [""; 0]);
        assert_eq!(told(&host), 1300 - header as u32);
        let what = Trouble::TooLong { longest: 1300 - header as u32 };
        assert_eq!(host.told(name).reports.last(), Some(&(ip(peer), what, [5; 8])));
        // TCP is never fragmented: what is too long now is not sent.
        host.send(name, &payload);
        assert_eq!(host.left().len(), 0);
        assert_eq!(host.dropped(), ["a message longer than the path takes"]);
        assert_eq!(host.told(name).reports.len(), 2);
        host.pass(Duration::from_secs(601));
        assert_eq!(told(&host), 1500 - header as u32);
        assert!(host.told(name).reports.len() == 2 && host.told(name).credit.octets > 0);
    }
}

#[test]
fn echo_replies_are_for_the_association_that_asked() {
    for ([own, peer], request, reply) in [(ENDS[0], 8, 0), (ENDS[1], 128, 129)] {
        let mut host = host(own);
        let protocol = if ip(own).is_ipv4() { 1 } else { 58 };
        let name = host.open(at(peer, protocol));
        // The check of ICMPv6 is written on the way.
        let asked = icmp(own, peer, request, 0, 0x0007_0001, b"ping");
        let header = asked.len() - 12;
        let mut message = asked[header..].to_vec();
        if protocol == 58 {
            message[2..4].fill(0);
        }
        host.send(name, &message);
        assert_eq!(host.left()[0].2[header..], asked[header..]);
        let answer = icmp(peer, own, reply, 0, 0x0007_0001, b"ping");
        host.arrive(0, &answer);
        assert_eq!(host.told(name).messages[0].0, answer[header..]);
        // The peer's own request is answered, and is nobody's.
        host.arrive(0, &icmp(peer, own, request, 0, 9, b"and you?"));
        assert_eq!((host.told(name).messages.len(), host.left().len()), (1, 1));
    }
}

/// What waited for a neighbour comes back: RFC 1122 §4.2.3.9 of an own packet, RFC 1812 §4.3.3.1
/// of a forwarded one.
#[test]
fn a_neighbour_that_does_not_answer_is_reported() {
    let mut host = host("10.0.0.1");
    let name = host.open(at("10.0.0.2", 6));
    host.send(name, b"SYN, perhaps");
    host.come_back();
    let report = (ip("10.0.0.1"), Trouble::Unreachable, *b"SYN, per");
    assert_eq!(host.told(name).reports, [report]);
    host.ask(DatagramsRequest::Close { name });
    for (version, [from, to]) in
        [["10.0.0.2", "10.0.1.2"], ["2001:db8::2", "2001:db8:1::2"]].into_iter().enumerate()
    {
        let mut router = crate::routers::router();
        router.arrive(0, &packet(from, to, 99, b"on its way"));
        router.come_back();
        let left = router.left();
        let [(0, hop, error)] = &left[..] else { panic!("{left:?}") };
        let (kind, code, rest, quoted) = read_icmp(error);
        let header = [20, 40][version];
        assert_eq!((*hop, kind, code, rest), (ip(from), [3, 1][version], [1, 3][version], 0));
        assert_eq!(quoted[header..], b"on its way"[..]);
    }
}
