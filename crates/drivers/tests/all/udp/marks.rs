//! What datagrams and the network say of congestion (RFC 3168), over the kernel's own headers.

use rustix::net::sockopt;
use stackwright_contract::Handle;
use stackwright_contract::services::{
    Batch, DatagramsIndication as Told, DatagramsRequest as Ask, Ecn, MessageProperties,
};
use stackwright_wire::BufferTree;

use crate::udp::side::{AMPLE, BOTH, Side, arrival, hear, message, name, opened};

const CE: u8 = 0b11;

fn send(side: &mut Side, association: Handle, octets: &[u8], ecn: Ecn) {
    let properties = MessageProperties { ecn, ..MessageProperties::default() };
    side.ask(Ask::Send { association, batch: message(octets).into(), properties });
    side.turn(0);
}

/// What was said of congestion with each datagram.
fn said(told: &[Told<BufferTree>], name: Handle) -> Vec<Ecn> {
    let of_name = told.iter().flat_map(|told| match told {
        Told::Delivered { association, batch: messages, properties } if *association == name => {
            vec![properties.ecn; messages.count()]
        }
        _ => Vec::new(),
    });
    of_name.collect()
}

#[test]
fn who_may_be_marked_says_so_and_hears_of_marks() {
    for local in BOTH {
        let (mut side, name, peer, at) = arrival(local, AMPLE);
        let (mut there, other, back, from) = opened(local);
        for (side, name, peer) in [(&mut side, name, &peer), (&mut there, other, &back)] {
            send(side, name, b"mark me", Ecn::Ect);
            assert_eq!(hear(peer).0, b"mark me", "{local}");
        }
        // A router could be no truer: the kernel writes what it would have written.
        for (peer, to) in [(&peer, at), (&back, from)] {
            let mark = |bits: u8| match to.is_ipv4() {
                true => sockopt::set_ip_tos(peer, bits),
                false => sockopt::set_ipv6_tclass(peer, bits.into()),
            };
            for bits in [CE, 0b10, 0b01, 0] {
                mark(bits).unwrap();
                peer.send_to(&[bits], to).unwrap();
            }
        }
        // ECT(1) is none that a sender here writes.
        let marks = [Ecn::Ce, Ecn::Ect, Ecn::NotEct, Ecn::NotEct];
        side.until(|told| (said(told, name).get(1..) == Some(&marks)).then_some(()));
        there.until(|told| (said(told, other) == marks).then_some(()));
    }
}

#[test]
fn a_run_says_it_with_each_of_its_datagrams_and_arrives_so() {
    for local in BOTH {
        let (mut here, mut there) = (Side::new(), Side::new());
        let at = there.listen(local);
        let (to, from) = (name(1), name(5));
        there.expect(to, AMPLE);
        here.ask(Ask::Open { association: from, remote: at.into(), credit: AMPLE, local: None });
        here.send(from, b"hello");
        here.turn(0);
        there.hears(to, &[b"hello"]);
        send(&mut there, to, b"tell me of marks", Ecn::Ect);
        let mut expected = vec![Ecn::NotEct];
        for ecn in [Ecn::Ect, Ecn::Ce, Ecn::NotEct] {
            let messages = Batch::new(message(&[7; 30 * 1000 + 1]), 1000);
            let properties = MessageProperties { ecn, ..MessageProperties::default() };
            here.ask(Ask::Send { association: from, batch: messages, properties });
            // None is put together with what says something else.
            send(&mut here, from, &[7; 1000], Ecn::Ect);
            expected.extend([vec![ecn; 31], vec![Ecn::Ect]].concat());
        }
        there.until(|told| (said(told, to).len() == expected.len()).then_some(()));
        assert_eq!(said(&there.heard.0, to), expected, "{local}");
    }
}

#[test]
fn who_does_not_heed_marks_does_not_hear_of_them() {
    let (mut side, name, peer, at) = arrival("127.0.0.1:0", AMPLE);
    sockopt::set_ip_tos(&peer, CE).unwrap();
    peer.send_to(b"marked", at).unwrap();
    side.hears(name, &[b"hello", b"marked"]);
    assert_eq!(said(&side.heard.0, name), [Ecn::NotEct; 2]);
}

/// Associations of one socket that are being opened, and those that are open, send in turns.
#[test]
fn each_datagram_says_it_for_itself_where_they_take_turns() {
    for local in BOTH {
        let (mut here, mut there) = (Side::new(), Side::new());
        let at = there.listen(local);
        let (to, from) = (name(1), name(5));
        there.expect(to, AMPLE);
        here.ask(Ask::Open { association: from, remote: at.into(), credit: AMPLE, local: None });
        here.send(from, b"hello");
        here.turn(0);
        there.hears(to, &[b"hello"]);
        send(&mut there, to, b"tell me of marks", Ecn::Ect);
        let mut expected = vec![Ecn::NotEct];
        for in_a_row in 1..5 {
            for ecn in [Ecn::Ect, Ecn::NotEct] {
                (0..in_a_row).for_each(|_| send(&mut here, from, b"one", ecn));
                expected.extend(vec![ecn; in_a_row]);
            }
        }
        there.until(|told| (said(told, to).len() == expected.len()).then_some(()));
        assert_eq!(said(&there.heard.0, to), expected, "{local}");
    }
}
