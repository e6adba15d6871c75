//! A name waits for a peer until the layer above knows that one came; and listeners differ in their
//! own addresses, as the answers to strangers do.

use std::net::IpAddr;

use stackwright_base::{
    Below, Features, Hooks, Origin, Place, Unexpected, events, opening, session,
};
use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Credit, Datagrams, Ended, MessageProperties,
};
use stackwright_contract::{Address, Context, Facts, Handle, Participant, PathLimits, Trouble};
use stackwright_wire::{Header, Message, SingleBuffer};

use crate::streams::{Scene, name, place};

type M = SingleBuffer;

const ROOM: Credit = Credit { octets: 100, messages: 7 };

/// Ports over hosts. A peer is in when it says `y`, and out when it says `n`.
struct Hesitant;

#[derive(Header)]
struct Ports {
    /// Of the sender.
    peer: u8,
    /// Of the receiver.
    own: u8,
}

fn host(last: u8) -> Participant {
    Address::InternetProtocol { host: IpAddr::from([10, 0, 0, last]), protocol: 99 }.into()
}

impl Hooks for Hesitant {
    type Features = Features<M, session::Present, events::Absent, opening::ActivePassive>;
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;
    type Header = Ports;
    type Key = (u8, u8);
    type PassiveKey = u8;
    type Association = (u8, u8);
    type Timer = ();
    const FACTS: Facts = Facts { header_room: 2, ..Facts::named("hesitant") };
    const REFUSES: bool = true;
    const AWAITS: usize = 2;

    fn open(
        &mut self,
        _: &Context,
        _: Handle,
        local: Option<Participant>,
        _: Participant,
    ) -> Result<Below<(u8, u8)>, Ended> {
        Ok(Below { local: local.map(|_| host(2)), remote: host(9), key: (5, 1) })
    }

    fn ends(ports: &(u8, u8), [_, peer]: [Participant; 2]) -> [Participant; 2] {
        assert_eq!(peer, host(9));
        [place(ports.1), place(ports.0)]
    }

    /// At port 1 of host 1, or at port 2 of any.
    fn listen(
        &mut self,
        _: &Context,
        local: Participant,
        is_taken: impl Fn(Participant, &u8) -> bool,
    ) -> Result<(Participant, u8), Ended> {
        let (at, port) = if local == place(1) { (host(1), 1) } else { (any(), 2) };
        if is_taken(at, &port) { Err(Ended::Unavailable) } else { Ok((at, port)) }
    }

    fn listens_at(port: &u8, _: Participant) -> Participant {
        place(*port)
    }

    fn key(ports: &Ports) -> (u8, u8) {
        (ports.peer, ports.own)
    }

    fn passive_key(ports: &Ports) -> u8 {
        ports.own
    }

    fn quoted(octets: &[u8; 8]) -> Option<(u8, u8)> {
        Some((octets[1], octets[0]))
    }

    fn refuse(
        &mut self,
        _: &Context,
        (own, peer): (Participant, Participant),
        _: &Ports,
        _: &mut M,
        why: Unexpected,
    ) -> Option<M> {
        assert_eq!(peer, host(9));
        let why = if why == Unexpected::NoListener { "nobody" } else { "full" };
        let Address::InternetProtocol { host: own, .. } = own.address else { return None };
        Some(M::with_headroom(0, format!("{why} at {own}").as_bytes()))
    }

    fn create(
        &mut self,
        _: &Context,
        _: Handle,
        key: &(u8, u8),
        _: Participant,
        _: Origin,
        _: Credit,
    ) -> (u8, u8) {
        *key
    }

    fn arrived(&mut self, _: &mut impl Place<Self>) {}

    fn push(&mut self, at: &mut impl Place<Self>, message: M, _: MessageProperties) {
        at.forward(&Ports { peer: 1, own: 5 }, message);
    }

    fn pop(&mut self, at: &mut impl Place<Self>, _: Ports, message: M) {
        match message.octets().first() {
            Some(b'y') => at.opened(),
            Some(b'n') => at.end(Ended::Reset(0)),
            _ => {}
        }
    }

    fn reported(
        &mut self,
        at: &mut impl Place<Self>,
        by: Participant,
        what: Trouble,
        quoted: &[u8; 8],
    ) {
        at.report(by, what, *quoted);
    }
}

fn any() -> Participant {
    Address::InternetProtocol { host: IpAddr::from([0; 4]), protocol: 99 }.into()
}

fn listen(scene: &mut Scene<Hesitant>, listener: u32, local: Participant, awaits: u32) {
    scene.ask(AssociationRequest::Listen { listener: name(listener), local });
    let (listener, association) = (name(listener), name(awaits));
    scene.ask(AssociationRequest::Await { listener, association, credit: ROOM });
}

/// Names below that wait come to their end in the order in which they were given.
fn arrives(scene: &mut Scene<Hesitant>, own: u8) -> Handle {
    let association = scene.ends.lowers.pop_front().expect("a name below");
    scene.tell(AssociationIndication::Opened {
        association,
        local: host(own),
        remote: host(9),
        credit: ROOM,
        path: PathLimits::UNBOUNDED,
    });
    association
}

#[test]
fn a_name_waits_again_when_its_peer_goes_before_it_was_told() {
    let mut scene = Scene::new(Hesitant);
    listen(&mut scene, 0, place(1), 1);
    for _ in 0..3 {
        let below = arrives(&mut scene, 1);
        assert_eq!(scene.comes(below, &[7, 1, b'?']), [""; 0]);
        assert_eq!(scene.comes(below, &[8, 1, b'?']), ["send full at 10.0.0.1"]);
        // The layer above hears nothing of it.
        assert_eq!(scene.comes(below, &[7, 1, b'n']), ["close below"]);
    }
    let below = arrives(&mut scene, 1);
    let said = scene.comes(below, &[7, 1, b'y']);
    assert!(said[0].starts_with("opened"), "{said:?}");
    assert_eq!(scene.ends.opened, Some((name(1), [place(1), place(7)])), "they have ports");
    assert_eq!(scene.comes(below, &[7, 1, b'n']), ["ended 1: Reset(0)", "close below"]);
}

#[test]
fn one_that_was_given_up_waits_no_more() {
    let mut scene = Scene::new(Hesitant);
    listen(&mut scene, 0, place(1), 1);
    let below = arrives(&mut scene, 1);
    scene.comes(below, &[7, 1, b'?']);
    let said = scene.ask(AssociationRequest::Close { name: name(1) });
    assert!(said.contains(&"ended 1: Finished".into()), "{said:?}");
}

#[test]
fn a_listener_takes_what_comes_to_its_own_address() {
    let mut scene = Scene::new(Hesitant);
    listen(&mut scene, 0, place(1), 1);
    listen(&mut scene, 2, place(2), 3);
    let again = AssociationRequest::Listen { listener: name(4), local: place(1) };
    assert_eq!(scene.ask(again), ["ended 4: Unavailable"], "the port is taken there");
    // Those that wait for the first listener come first.
    scene.ends.lowers.drain(..3);
    let below = arrives(&mut scene, 2);
    let said = scene.comes(below, &[7, 1, b'y']);
    assert_eq!(said, ["send nobody at 10.0.0.2", "close below"]);
    let below = arrives(&mut scene, 2);
    let said = scene.comes(below, &[7, 2, b'y']);
    assert!(said[0].starts_with("opened"), "{said:?}");
    assert_eq!(scene.ends.opened, Some((name(3), [place(2), place(7)])));
}

#[test]
fn trouble_is_told_to_the_association_that_it_quotes() {
    let mut scene = Scene::new(Hesitant);
    listen(&mut scene, 0, place(1), 1);
    let association = arrives(&mut scene, 1);
    scene.comes(association, &[7, 1, b'y']);
    let mut trouble = |quoted| {
        let what = Trouble::Prohibited;
        scene.tell(AssociationIndication::Reported { association, by: host(3), what, quoted })
    };
    assert_eq!(trouble([1, 7, 0, 0, 0, 0, 0, 0]), ["reported: Prohibited"]);
    assert_eq!(trouble([2, 7, 0, 0, 0, 0, 0, 0]), [""; 0], "nobody sent that");
}
