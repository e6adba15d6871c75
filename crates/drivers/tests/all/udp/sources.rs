//! Where a host has several addresses, an answer leaves from the one that was asked.

use std::net::{IpAddr, SocketAddr, SocketAddrV6, UdpSocket};

use stackwright_contract::services::{
    Batch, DatagramsIndication as Told, DatagramsRequest as Ask, Ecn, MessageProperties,
};
use stackwright_contract::{Handle, Participant};
use stackwright_wire::Message as _;

use crate::namespace::{alone, ip, said, until_so};
use crate::udp::side::{AMPLE, Side, address, hear, message, name, stranger};

/// Where `association` says that it is.
fn local(side: &Side, wanted: Handle) -> Participant {
    let opened = side.heard.0.iter().find_map(|told| match told {
        Told::Opened { association, local, .. } if *association == wanted => Some(*local),
        _ => None,
    });
    opened.expect("it is open")
}

/// One peer asks each address of a listener for all of them: each has an association of its own,
/// which answers from there, alone and in batches, in one piece and in several, marked or not.
fn asked_at_each(listener: &str, peer: &str, addresses: &[SocketAddr]) {
    let mut side = Side::new();
    let port = side.listen(listener).port();
    let peer = stranger(peer);
    let at = |address: &SocketAddr| {
        let mut address = *address;
        address.set_port(port);
        address
    };
    for round in 0..2 {
        for (address, index) in addresses.iter().zip(1..) {
            if round == 0 {
                side.expect(name(index), AMPLE);
            }
            peer.send_to(b"where?", at(address)).unwrap();
            side.hears(name(index), &vec![&b"where?"[..]; round + 1]);
        }
    }
    for (address, index) in addresses.iter().zip(1..) {
        assert_eq!(local(&side, name(index)), at(address).into());
        assert_eq!(side.remote(name(index)).port(), peer.local_addr().unwrap().port());
        side.send(name(index), b"here");
        let mut pieces = message(&[1; 3000]);
        pieces.join(message(&[2; 3000]));
        side.send_batch(name(index), pieces.into());
        side.send_several(name(index), &[3; 2500], 1000);
        for ecn in [Ecn::Ect, Ecn::NotEct, Ecn::Ect, Ecn::Ect, Ecn::Ect] {
            let properties = MessageProperties { ecn, ..MessageProperties::default() };
            let batch = Batch::new(message(&[4; 20]), 10);
            side.ask(Ask::Send { association: name(index), batch, properties });
        }
        side.turn(0);
        let lengths: Vec<_> = std::iter::from_fn(|| {
            let (octets, from) = hear(&peer);
            assert_eq!(from, at(address), "{} octets", octets.len());
            Some(octets.len())
        })
        .take(15)
        .collect();
        assert_eq!(lengths[..5], [4, 6000, 1000, 1000, 500], "{address}");
        assert_eq!(lengths[5..], [10; 10]);
    }
    assert_eq!(side.dropped(), 0);
}

#[test]
fn each_address_of_a_host_answers_for_itself() {
    let addresses = ["127.0.0.1:0", "127.0.0.2:0", "127.200.3.4:0"].map(address);
    for listener in ["0.0.0.0:0", "[::]:0"] {
        asked_at_each(listener, "0.0.0.0:0", &addresses);
    }
}

/// Several addresses of one interface, and those that mean something only on it.
#[test]
fn each_address_of_ipv6_answers_for_itself() {
    alone(|| {
        for more in ["fd77::1/64", "fd77::2/64", "fe80::5/64", "fe80::6/64"] {
            ip(&format!("address add {more} dev lo nodad"));
        }
        let on_lo = |text: &str| SocketAddrV6::new(text.parse().unwrap(), 0, 0, 1).into();
        let addresses = [
            address("[::1]:0"),
            address("[fd77::2]:0"),
            address("[fd77::1]:0"),
            on_lo("fe80::6"),
            on_lo("fe80::5"),
        ];
        // The kernel routes to a new address a while later.
        let routes = || said("-6 route show table local");
        until_so(|| {
            ["fd77::1", "fd77::2", "fe80::5", "fe80::6"].iter().all(|it| routes().contains(it))
        });
        asked_at_each("[::]:0", "[::]:0", &addresses);
    });
}

/// An end that asked one address takes no answer from another: its socket is connected.
#[test]
fn who_asked_one_address_hears_only_that() {
    let mut side = Side::new();
    let asked = stranger("127.0.0.2:0");
    let (there, port) = (asked.local_addr().unwrap(), asked.local_addr().unwrap().port());
    side.ask(Ask::Open { association: name(1), remote: there.into(), credit: AMPLE, local: None });
    side.send(name(1), b"hello");
    side.turn(0);
    let (_, from) = hear(&asked);
    let another: IpAddr = [127, 0, 0, 3].into();
    UdpSocket::bind((another, port)).unwrap().send_to(b"not he", from).unwrap();
    asked.send_to(b"he", from).unwrap();
    side.hears(name(1), &[b"he"]);
}

/// An address that a host has no more: what leaves from there is lost, and nothing else is.
#[test]
fn an_address_that_is_gone_loses_its_own_datagrams() {
    alone(|| {
        ip("address add 10.77.0.1/32 dev lo");
        let mut side = Side::new();
        let port = side.listen("0.0.0.0:0").port();
        let peer = stranger("0.0.0.0:0");
        for (index, at) in [(1, "10.77.0.1:0"), (2, "127.0.0.1:0")] {
            side.expect(name(index), AMPLE);
            peer.send_to(b"hello", (address(at).ip(), port)).unwrap();
            side.hears(name(index), &[b"hello"]);
        }
        ip("address del 10.77.0.1/32 dev lo");
        side.send(name(1), b"lost");
        side.send(name(2), b"arrives");
        side.turn(0);
        assert_eq!(hear(&peer), (b"arrives".to_vec(), (address("127.0.0.1:0").ip(), port).into()));
        assert_eq!(side.dropped(), 1);
    });
}
