//! Datagrams over frames: a test is both of the neighbours.

use stackwright_contract::services::{
    Batch, Credit, DatagramsIndication, DatagramsRequest, Ended, FramesIndication, FramesRequest,
};
use stackwright_contract::{Address, Handle, Participant, PathLimits, Protocol as _};
use stackwright_ethernet::{Config, EthernetDatagrams};
use stackwright_simulator::{LoneStack, octets_of};
use stackwright_wire::{BufferTree, Message};

type M = BufferTree;
type Stack = EthernetDatagrams<M>;
type Scene = LoneStack<Stack>;

const OWN: [u8; 6] = [2, 0, 0, 0, 0, 1];
const PEER: [u8; 6] = [2, 0, 0, 0, 0, 2];
const IPV4: u16 = 0x800;
const LISTENER: Handle = name(0);
const CREDIT: Credit = Credit { octets: 1 << 20, messages: 1 << 10 };

const fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn station(address: [u8; 6], kind: u16) -> Participant {
    Address::Hardware { address, kind }.into()
}

fn frame(to: [u8; 6], from: [u8; 6], rest: &[u8]) -> Vec<u8> {
    [&to[..], &from, rest].concat()
}

/// The port is up, takes 1514 octets, and has credit for everything.
fn up(lan: Option<u16>) -> Scene {
    let mut scene = down(lan);
    scene.up(PathLimits::of_longest(1514), CREDIT);
    assert!(matches!(scene.said.down[..], [FramesRequest::Credit { .. }]));
    scene.said.down.clear();
    scene
}

fn down(lan: Option<u16>) -> Scene {
    Scene::new(Stack::new(Config { address: OWN, lan }, 1), 1)
}

fn listen(scene: &mut Scene, names: u32) {
    scene.ask(DatagramsRequest::Listen { listener: LISTENER, local: station([0; 6], IPV4) });
    for association in (1..=names).map(name) {
        let listener = LISTENER;
        scene.ask(DatagramsRequest::Await { listener, association, credit: CREDIT });
    }
}

fn open(scene: &mut Scene, index: u32, remote: Participant) {
    let (association, credit) = (name(index), CREDIT);
    scene.ask(DatagramsRequest::Open { association, remote, local: None, credit });
}

/// Returns what was delivered above since the last call: its name, size and octets.
fn delivered(scene: &mut Scene) -> Vec<(u32, usize, Vec<u8>)> {
    scene.told(|word| match word {
        DatagramsIndication::Delivered { association, batch, .. } => {
            Some((association.index, batch.longest(), octets_of(batch.as_octets())))
        }
        _ => None,
    })
}

fn ended(scene: &mut Scene) -> Vec<(u32, Ended)> {
    scene.told(|word| match word {
        DatagramsIndication::Ended { name, why } => Some((name.index, why)),
        _ => None,
    })
}

/// Returns the credit that came back to an association since the last call.
fn returned(scene: &mut Scene) -> usize {
    let credit = |word| match word {
        DatagramsIndication::Credit { credit, .. } => Some(credit.messages),
        _ => None,
    };
    scene.told(credit).iter().sum()
}

#[test]
fn stations_arrive_as_long_as_names_wait_and_come_back_on_their_own() {
    let mut scene = up(None);
    listen(&mut scene, 1);
    scene.arrives(&frame(OWN, PEER, &[8, 0, 1, 2]));
    assert!(scene.said.up.iter().any(|word| matches!(word,
        DatagramsIndication::Opened { remote, path: PathLimits { longest: 1500, .. }, .. }
            if *remote == station(PEER, IPV4))));
    let other = [2, 0, 0, 0, 0, 3];
    scene.arrives(&frame([0xff; 6], other, &[8, 0, 9]));
    scene.arrives(&frame([0xff; 6], PEER, &[8, 0, 3]));
    assert_eq!(delivered(&mut scene), [(1, 2, vec![1, 2]), (1, 1, vec![3])]);
    assert_eq!(scene.cx.dropped_count(), 1, "nobody awaits the other");

    scene.send(name(1), M::with_headroom(0, b"hello"));
    assert_eq!(scene.sent(), [frame(PEER, OWN, b"\x08\0hello")]);
    assert_eq!(returned(&mut scene), 1);

    // A name that ends makes room for another station, and for its own.
    scene.ask(DatagramsRequest::Close { name: name(1) });
    assert_eq!(ended(&mut scene), [(1, Ended::Finished)]);
    let (listener, association, credit) = (LISTENER, name(2), CREDIT);
    scene.ask(DatagramsRequest::Await { listener, association, credit });
    scene.arrives(&frame(OWN, other, &[8, 0, 5]));
    assert_eq!(delivered(&mut scene), [(2, 1, vec![5])]);
}

#[test]
fn frames_for_others_and_malformed_ones_are_dropped() {
    let mut scene = up(None);
    listen(&mut scene, 4);
    let bad: [&[u8]; 7] = [
        &frame([2, 0, 0, 0, 0, 9], PEER, &[8, 0, 1]), // for another
        &frame(OWN, OWN, &[8, 0, 1]),                 // our own
        &frame(OWN, [3, 0, 0, 0, 0, 1], &[8, 0, 1]),  // from a group
        &frame(OWN, PEER, &[0, 1, 1]),                // a length
        &frame(OWN, PEER, &[0x86, 0xdd, 1]),          // nobody listens
        &frame(OWN, PEER, &[0x81, 0, 0, 7, 8, 0, 1]), // of a virtual LAN
        &frame(OWN, PEER, &[8]),                      // cut
    ];
    for frame in bad {
        scene.arrives(frame);
    }
    assert_eq!((scene.cx.dropped_count(), delivered(&mut scene)), (7, vec![]));
    // LAN 0 is a priority alone; groups are received.
    scene.arrives(&frame([0x33, 0x33, 0, 0, 0, 1], PEER, &[0x81, 0, 0xe0, 0, 8, 0, 1]));
    assert_eq!(delivered(&mut scene), [(1, 1, vec![1])]);
    // Every frame's credit came back to the device.
    assert_eq!(scene.said.down.len(), 8);
}

#[test]
fn a_virtual_lan_has_its_tag_on_every_frame() {
    let mut scene = up(Some(7));
    listen(&mut scene, 4);
    scene.arrives(&frame(OWN, PEER, &[8, 0, 1]));
    scene.arrives(&frame(OWN, PEER, &[0x81, 0, 0, 8, 8, 0, 1]));
    assert_eq!(scene.cx.dropped_count(), 2);
    scene.arrives(&frame(OWN, PEER, &[0x81, 0, 0x60, 7, 8, 0, 1]));
    assert_eq!(delivered(&mut scene), [(1, 1, vec![1])]);
    scene.send(name(1), M::with_headroom(32, b"x"));
    assert_eq!(scene.sent(), [frame(PEER, OWN, &[0x81, 0, 0, 7, 8, 0, b'x'])]);
    scene.send(name(1), M::with_headroom(0, &[0; 1497]));
    assert_eq!((scene.sent().len(), scene.cx.dropped_count()), (0, 3), "1514 less 18 is 1496");
}

#[test]
fn batches_keep_their_form_where_their_frames_have_one_header() {
    let mut scene = up(None);
    listen(&mut scene, 2);
    let other = [2, 0, 0, 0, 0, 3];
    let frames = |stations: [[u8; 6]; 3]| {
        let frames = stations.map(|from| frame(OWN, from, &[8, 0, 1, 2]));
        Batch::new(M::with_headroom(0, &frames.concat()), 16)
    };
    scene.tell(FramesIndication::Delivered { port: 0, batch: frames([PEER; 3]) });
    let together: Vec<u8> =
        delivered(&mut scene).into_iter().flat_map(|(_, _, octets)| octets).collect();
    assert_eq!(together, [1, 2, 1, 2, 1, 2]);
    scene.tell(FramesIndication::Delivered { port: 0, batch: frames([PEER, other, PEER]) });
    let apart: Vec<u32> = delivered(&mut scene).iter().map(|(name, _, _)| *name).collect();
    assert_eq!(apart, [1, 2, 1]);

    scene.send(name(1), Batch::new(M::with_headroom(0, &[1, 2, 3, 4, 5]), 2));
    let expected = [&[1, 2][..], &[3, 4], &[5]];
    assert_eq!(scene.sent(), expected.map(|part| frame(PEER, OWN, &[&[8, 0], part].concat())));
    assert_eq!(returned(&mut scene), 3);
}

#[test]
fn what_the_port_has_no_credit_for_waits_and_its_credit_with_it() {
    let mut scene = down(None);
    open(&mut scene, 1, station(PEER, IPV4));
    open(&mut scene, 2, station(PEER, IPV4));
    assert_eq!(ended(&mut scene), [(2, Ended::Unavailable)], "one name a station; the first waits");
    scene.tell(FramesIndication::State { port: 0, up: true });
    scene.tell(FramesIndication::Changed { port: 0, path: PathLimits::of_longest(64) });
    let credit = Credit { octets: 32, messages: 2 };
    scene.tell(FramesIndication::Credit { port: 0, credit });
    assert!(matches!(scene.said.up.pop(), Some(DatagramsIndication::Opened { path, .. })
        if path.longest == 50));
    scene.send(name(1), Batch::new(M::with_headroom(0, &[1, 2, 3, 4, 5, 6]), 2));
    assert_eq!((scene.sent().len(), returned(&mut scene)), (2, 2));
    assert!(!scene.stack.may_exit());
    scene.tell(FramesIndication::Credit { port: 0, credit });
    assert_eq!((scene.sent().len(), returned(&mut scene)), (1, 1));
    assert!(scene.stack.may_exit());

    // What waits when the port goes down is lost; the name lives on.
    scene.send(name(1), Batch::new(M::with_headroom(0, &[1, 2, 3, 4, 5, 6]), 2));
    assert_eq!((scene.sent().len(), returned(&mut scene)), (1, 1));
    scene.tell(FramesIndication::State { port: 0, up: false });
    assert_eq!(returned(&mut scene), 2);
    scene.send(name(1), M::with_headroom(0, &[1]));
    assert_eq!((scene.sent().len(), returned(&mut scene)), (0, 1));
    scene.tell(FramesIndication::State { port: 0, up: true });
    scene.tell(FramesIndication::Credit { port: 0, credit });
    scene.send(name(1), M::with_headroom(0, &[1]));
    assert_eq!(scene.sent().len(), 1);
}

#[test]
fn no_frames_panic_it_and_no_senders_grow_it() {
    let mut scene = up(None);
    listen(&mut scene, 8);
    let mut random = fastrand::Rng::with_seed(7);
    let mut arrived = 0;
    for _ in 0..100_000 {
        let mut octets: Vec<u8> = (0..random.usize(..40)).map(|_| random.u8(..)).collect();
        if let Some(front) = octets.get_mut(..14)
            && random.bool()
        {
            front[..6].copy_from_slice(&OWN);
            front[12..].copy_from_slice(&IPV4.to_be_bytes());
        }
        scene.arrives(&octets);
        let opened =
            |word: &DatagramsIndication<M>| matches!(word, DatagramsIndication::Opened { .. });
        arrived += scene.said.up.drain(..).filter(opened).count();
        scene.said.down.clear();
    }
    assert_eq!(arrived, 8);
}

#[test]
fn a_file_may_leave_the_address_out_and_must_not_name_a_group() {
    use stackwright_contract::described::ParameterTable;
    struct Table(Option<&'static str>);
    impl ParameterTable for Table {
        fn text(&self, key: &str) -> Option<&str> {
            self.0.filter(|_| key == "address")
        }

        fn number(&self, _key: &str) -> Option<i64> {
            None
        }

        fn truth(&self, _key: &str) -> Option<bool> {
            None
        }
    }
    let local = |text, seed| {
        let stack = (stackwright_ethernet::described::<M>().make)(&Table(text), seed).ok()?;
        let mut scene = Scene::new(stack, 1);
        listen(&mut scene, 0);
        match scene.said.up.pop() {
            Some(DatagramsIndication::Listening { local, .. }) => Some(local),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(local(Some("02:00:00:00:00:01"), 1), Some(station(OWN, IPV4)));
    assert_eq!(local(Some("03:00:00:00:00:01"), 1), None);
    let random = [1, 2].map(|seed| local(None, seed).expect("an address").address);
    assert_ne!(random[0], random[1]);
    for address in random {
        assert!(matches!(address, Address::Hardware { address, .. } if address[0] & 3 == 2));
    }
}
