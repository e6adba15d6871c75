//! UDP over IP of our own: two hosts on a link without addresses.

mod host;

use stackwright_contract::services::{Ecn, Ended};
use stackwright_contract::{Participant, Trouble};

use host::{Host, Link, Told, own, place};

#[test]
fn a_datagram_arrives_and_is_answered_at_its_port() {
    for version in [4, 6] {
        let mut link = Link::new(version, true);
        link.b.listen(0, own(version, 2, 53));
        link.b.expect(0, 1);
        link.a.open(5, place(version, 2, 53), None);
        link.settle();
        link.a.send(5, b"question", Ecn::Ect);
        link.settle();
        let [Told::Opened(1, local, remote), Told::Delivered(1, question, ecn)] =
            &link.b.told.split_off(1)[..]
        else {
            panic!("{:?}", link.b.told)
        };
        assert_eq!(
            (*local, &question[..], *ecn),
            (place(version, 2, 53), &b"question"[..], Ecn::Ect)
        );
        let port = remote.internet().expect("it has a port").port();
        assert_eq!(*remote, place(version, 1, port));
        assert!(port >= 49_152, "it is ephemeral");
        link.a.told.clear();
        link.b.send(1, b"answer", Ecn::NotEct);
        link.settle();
        assert_eq!(link.a.told, [Told::Delivered(5, b"answer".into(), Ecn::NotEct)]);
    }
}

#[test]
fn a_port_that_nobody_listens_at_is_refused_by_icmp() {
    for version in [4, 6] {
        let mut link = Link::new(version, true);
        link.b.listen(0, own(version, 2, 53));
        link.a.open(5, place(version, 2, 54), None);
        link.settle();
        link.a.told.clear();
        link.a.send(5, b"is anybody there?", Ecn::NotEct);
        link.settle();
        assert_eq!(link.a.told, [Told::Reported(5, Trouble::Refused)]);
        // Somebody listens there, and has no name for it now.
        link.a.open(6, place(version, 2, 53), None);
        link.settle();
        link.a.told.clear();
        link.a.send(6, b"is anybody there?", Ecn::NotEct);
        link.settle();
        assert_eq!(link.a.told, []);
    }
}

#[test]
fn what_is_altered_is_dropped_and_told_to_nobody() {
    for version in [4, 6] {
        let mut link = Link::new(version, false);
        link.b.listen(0, own(version, 2, 53));
        link.b.expect(0, 1);
        link.a.open(5, place(version, 2, 53), None);
        link.settle();
        link.a.told.clear();
        link.b.told.clear();
        for place in [0, 7, 3] {
            link.alter = Some(place);
            link.a.send(5, b"question", Ecn::NotEct);
            link.settle();
        }
        assert_eq!((&link.a.told[..], &link.b.told[..]), (&[][..], &[][..]));
        link.alter = None;
        link.a.send(5, b"question", Ecn::NotEct);
        link.settle();
        assert_eq!(link.b.told.len(), 2, "{:?}", link.b.told);
    }
}

#[test]
fn ports_are_chosen_or_taken() {
    let mut link = Link::new(4, true);
    let port = |at: Participant| at.internet().map(|at| at.port());
    link.a.listen(0, own(4, 1, 53));
    link.a.listen(1, own(4, 1, 53));
    link.a.listen(2, own(4, 1, 0));
    link.a.open(3, place(4, 2, 99), Some(own(4, 1, 7)));
    link.a.open(4, place(4, 2, 99), Some(own(4, 1, 7)));
    link.a.open(5, place(4, 2, 98), Some(own(4, 1, 7)));
    link.settle();
    let told = &link.a.told;
    assert!(told.contains(&Told::Ended(1, Ended::Unavailable)), "{told:?}");
    assert!(told.contains(&Told::Ended(4, Ended::Unavailable)), "{told:?}");
    let listens = |name| {
        told.iter().find_map(|told| match told {
            Told::Listening(listener, at) if *listener == name => port(*at),
            Told::Opened(association, at, _) if *association == name => port(*at),
            _ => None,
        })
    };
    assert_eq!(listens(0), Some(53));
    assert!(listens(2).is_some_and(|port| port >= 49_152));
    assert_eq!([listens(3), listens(5)], [Some(7); 2]);
}

#[test]
fn credit_comes_back_and_a_message_is_no_longer_than_a_datagram() {
    let mut link = Link::new(4, true);
    link.b.listen(0, own(4, 2, 53));
    link.b.expect(0, 1);
    link.a.open(5, place(4, 2, 53), None);
    link.settle();
    let first = link.a.credit;
    for _ in 0..1000 {
        link.a.send(5, &[7; 1000], Ecn::NotEct);
        link.settle();
    }
    assert_eq!(link.a.credit, first);
    assert_eq!(link.a.longest, 1500 - 20 - 8);
}

#[test]
fn a_listener_of_one_address_goes_before_one_of_any() {
    let mut link = Link::new(4, true);
    link.b.listen(0, own(4, 0, 53));
    link.b.expect(0, 1);
    link.b.listen(2, own(4, 2, 53));
    link.b.expect(2, 3);
    link.a.open(5, place(4, 2, 53), None);
    link.a.open(6, place(4, 2, 53), None);
    link.settle();
    link.a.send(5, b"one", Ecn::NotEct);
    link.settle();
    let opened = |host: &Host| {
        host.told
            .iter()
            .filter_map(|told| match told {
                Told::Opened(name, ..) => Some(*name),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(opened(&link.b), [3]);
}
