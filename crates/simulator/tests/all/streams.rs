//! Names, arrivals, ends: the rules of `Streams` one by one, on both sides of the boundary.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_contract::services::{
    Credit, Ended, StreamsIndication as Told, StreamsRequest as Ask, StreamsRequest,
};
use stackwright_contract::{Duration, Handle, Participant};
use stackwright_simulator::{
    Chunks, Conditions, Habits, Heard, Held, SimulatedStreams, StationId, World,
};
use stackwright_wire::{Message, SingleBuffer};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));

type Station = StationId<SimulatedStreams<SingleBuffer>, Heard<Told<SingleBuffer>>>;

fn name(index: u32) -> Handle {
    Handle { index, generation: 0 }
}

fn octets(octets: &[u8]) -> SingleBuffer {
    SingleBuffer::with_headroom(0, octets)
}

fn at(address: IpAddr, port: u16) -> Participant {
    SocketAddr::new(address, port).into()
}

/// Two stations, 10 ms apart.
fn two(habits: Habits) -> (World<SingleBuffer>, Station, Station) {
    let mut world = World::new(1);
    let delay = Duration::from_millis(10);
    world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
    let here = world.add(HERE, SimulatedStreams::with_habits(HERE, habits), Heard::default());
    let there = world.add(THERE, SimulatedStreams::with_habits(THERE, habits), Heard::default());
    (world, here, there)
}

/// Two stations, and an association between them: `name(1)` here, `name(1)` there.
fn joined(habits: Habits, credit: usize) -> (World<SingleBuffer>, Station, Station) {
    let (mut world, here, there) = two(habits);
    world.ask(there, Ask::Listen { listener: name(0), local: at(THERE, 21) });
    world.ask(
        there,
        Ask::Await { listener: name(0), association: name(1), credit: Credit::of_octets(credit) },
    );
    world.ask(
        here,
        Ask::Open {
            association: name(1),
            remote: at(THERE, 21),
            local: None,
            credit: Credit::of_octets(credit),
        },
    );
    world.run_for(Duration::from_secs(1));
    world.ask(there, Ask::Close { name: name(0) });
    assert_eq!(said(&mut world, here), ["opened"]);
    assert_eq!(said(&mut world, there), ["listening", "opened", "ended 0 Unlistened"]);
    (world, here, there)
}

/// What a station was told since the last question, in words.
fn said(world: &mut World<SingleBuffer>, station: Station) -> Vec<String> {
    let heard = std::mem::take(&mut world.application_mut(station).0);
    heard
        .iter()
        .filter(|told| !matches!(told, Told::Ending { .. }))
        .map(|told| match told {
            Told::Listening { .. } => "listening".into(),
            Told::Opened { .. } => "opened".into(),
            Told::Credit { credit: Credit { octets: credit, .. }, .. } => format!("room {credit}"),
            Told::Delivered { batch, .. } => format!("octets {}", batch.octets()),
            Told::Changed { path, .. } => format!("longest {}", path.longest),
            Told::Controlled { outcome, .. } => format!("{outcome:?}"),
            Told::Reported { .. } | Told::Ending { .. } => unreachable!("left out above"),
            Told::Told { notice, .. } => match *notice {},
            Told::Finished { .. } => "finished".into(),
            Told::Ended { name, why } => format!("ended {} {why:?}", name.index),
        })
        .collect()
}

fn send(length: usize) -> StreamsRequest<SingleBuffer> {
    Ask::Send {
        association: name(1),
        batch: octets(&vec![7; length]).into(),
        properties: Default::default(),
    }
}

const LARGE: Habits =
    Habits { credit: 100, buffer: 1000, chunks: Chunks::Large, pace: None, backlog: 2 };

#[test]
fn both_finish_and_both_hear_it() {
    let (mut world, here, there) = joined(LARGE, 1000);
    world.ask(here, send(100));
    world.ask(here, Ask::Finish { association: name(1) });
    world.run_for(Duration::from_secs(1));
    assert_eq!(said(&mut world, here), ["room 100"]);
    assert_eq!(said(&mut world, there), ["octets 100", "finished"]);
    world.ask(there, send(3));
    world.ask(there, Ask::Finish { association: name(1) });
    assert_eq!(said(&mut world, there), ["room 3", "ended 1 Finished"]);
    world.run_for(Duration::from_secs(1));
    assert_eq!(said(&mut world, here), ["octets 3", "finished", "ended 1 Finished"]);
}

#[test]
fn an_abort_is_a_reset_over_there() {
    let (mut world, here, there) = joined(LARGE, 50);
    world.ask(here, send(100));
    world.run_for(Duration::from_secs(1));
    world.ask(here, Ask::Abort { association: name(1), code: 7 });
    assert_eq!(said(&mut world, here), ["room 100", "ended 1 Aborted"]);
    world.run_for(Duration::from_secs(1));
    assert_eq!(said(&mut world, there), ["octets 50"], "the others are before the end");
    world.ask(there, Ask::Credit { association: name(1), credit: Credit::of_octets(51) });
    world.run_for(Duration::from_secs(1));
    assert_eq!(said(&mut world, there), ["octets 50", "ended 1 Reset(7)"]);
    // Words cross: nobody minds.
    world.ask(there, send(1));
    world.ask(there, Ask::Credit { association: name(1), credit: Credit::of_octets(1) });
    world.ask(there, Ask::Abort { association: name(1), code: 0 });
    assert_eq!(world.context(there).dropped_count(), 3);
    assert!(said(&mut world, there).is_empty());
}

#[test]
fn a_close_delivers_what_was_sent_and_discards_what_arrives() {
    let (mut world, here, there) = joined(LARGE, 50);
    world.ask(there, send(80));
    world.run_for(Duration::from_secs(1));
    assert_eq!(said(&mut world, here), ["octets 50"]);
    world.ask(here, send(100));
    assert_eq!(said(&mut world, here), ["room 100"]);
    world.run_for(Duration::from_secs(1));
    world.ask(here, Ask::Close { name: name(1) });
    // What waits for credit at both ends is discarded here, and makes room for more.
    world.ask(there, Ask::Credit { association: name(1), credit: Credit::of_octets(950) });
    for _ in 0..30 {
        world.run_for(Duration::from_secs(1));
        world.ask(there, send(100));
    }
    let said_there = said(&mut world, there);
    assert!(said_there.iter().filter(|told| !told.starts_with("room")).eq([
        "octets 50",
        "octets 50",
        "finished"
    ]));
    world.ask(there, Ask::Finish { association: name(1) });
    world.run_for(Duration::from_secs(1));
    assert_eq!(said(&mut world, there), ["ended 1 Finished"]);
    assert_eq!(said(&mut world, here), ["ended 1 Finished"], "nothing but the last word");
    assert_eq!(
        (world.stack(here).held(), world.stack(there).held()),
        (Held::default(), Held::default())
    );
}

#[test]
fn a_peer_that_never_finishes_does_not_hold_what_was_closed() {
    // One peer reads and goes on sending, the other reads nothing.
    for reads in [true, false] {
        let (mut world, here, there) = joined(Habits { buffer: 60, ..LARGE }, 0);
        world.ask(here, send(100));
        assert_eq!(said(&mut world, here), ["room 60"]);
        world.ask(here, Ask::Close { name: name(1) });
        world.ask(here, Ask::Close { name: name(1) });
        assert_eq!(world.context(here).dropped_count(), 1, "it was asked before");
        if reads {
            world.ask(there, Ask::Credit { association: name(1), credit: Credit::of_octets(100) });
        }
        for _ in 0..58 {
            world.run_for(Duration::from_secs(1));
            world.ask(there, send(1));
        }
        assert!(said(&mut world, here).is_empty());
        world.run_for(Duration::from_secs(5));
        assert_eq!(said(&mut world, here), ["ended 1 Expired"]);
        if !reads {
            world.ask(there, Ask::Credit { association: name(1), credit: Credit::of_octets(100) });
        }
        assert_eq!(said(&mut world, there).last().map(String::as_str), Some("ended 1 Reset(0)"));
        world.run_for(Duration::from_secs(100));
        assert_eq!(world.next_event(), None, "and nothing is left to happen");
    }
}

#[test]
fn a_name_that_waits_or_asks_can_be_closed() {
    let (mut world, here, there) = two(LARGE);
    world.ask(there, Ask::Listen { listener: name(0), local: at(THERE, 21) });
    world.ask(
        there,
        Ask::Await { listener: name(0), association: name(1), credit: Credit::of_octets(5) },
    );
    world.ask(there, Ask::Close { name: name(1) });
    world.ask(
        here,
        Ask::Open {
            association: name(1),
            remote: at(THERE, 21),
            local: None,
            credit: Credit::of_octets(9),
        },
    );
    world.ask(here, Ask::Close { name: name(1) });
    world.run_for(Duration::from_secs(200));
    assert_eq!(said(&mut world, here), ["ended 1 Finished"]);
    assert_eq!(said(&mut world, there), ["listening", "ended 1 Finished"]);
    assert_eq!(world.stack(there).associations(), 0, "the peer was told");
}

#[test]
fn no_room_no_octets_but_the_end_needs_none() {
    let (mut world, here, there) = joined(LARGE, 0);
    world.ask(here, send(10));
    world.ask(here, Ask::Finish { association: name(1) });
    world.run_for(Duration::from_secs(1));
    assert!(said(&mut world, there).is_empty());
    assert_eq!(world.stack(there).held().receiving, 10);
    world.ask(there, Ask::Credit { association: name(1), credit: Credit::of_octets(10) });
    assert_eq!(said(&mut world, there), ["octets 10", "finished"]);
}

#[test]
fn the_window_holds_the_sender_back() {
    let (mut world, here, there) = joined(Habits { credit: 100, buffer: 30, ..LARGE }, 0);
    world.ask(here, send(100));
    world.run_for(Duration::from_secs(1));
    assert_eq!(said(&mut world, here), ["room 30"]);
    assert_eq!(world.stack(here).held().sending, 70);
    world.ask(there, Ask::Credit { association: name(1), credit: Credit::of_octets(20) });
    world.run_for(Duration::from_secs(1));
    assert_eq!(said(&mut world, here), ["room 20"]);
    assert_eq!(said(&mut world, there), ["octets 20"]);
}

#[test]
fn an_arrival_waits_for_a_name_and_its_octets_wait_too() {
    let (mut world, here, there) = two(LARGE);
    world.ask(there, Ask::Listen { listener: name(0), local: at(THERE, 21) });
    for nth in 1..=3 {
        world.ask(
            here,
            Ask::Open {
                association: name(nth),
                remote: at(THERE, 21),
                local: None,
                credit: Credit::of_octets(9),
            },
        );
    }
    world.run_for(Duration::from_secs(1));
    let mut here_said = said(&mut world, here);
    here_said.sort();
    assert_eq!(
        here_said,
        ["ended 3 Unreachable", "opened", "opened"],
        "the backlog has two places"
    );
    world.ask(here, send(5));
    world.run_for(Duration::from_secs(1));
    assert_eq!(said(&mut world, there), ["listening"]);
    world.ask(
        there,
        Ask::Await { listener: name(0), association: name(1), credit: Credit::of_octets(5) },
    );
    assert_eq!(said(&mut world, there), ["opened", "octets 5"]);
    world.ask(
        there,
        Ask::Await { listener: name(0), association: name(2), credit: Credit::of_octets(5) },
    );
    world.ask(
        there,
        Ask::Await { listener: name(0), association: name(3), credit: Credit::of_octets(5) },
    );
    assert_eq!(said(&mut world, there), ["opened"]);
    // The third name waits still: it ends with the listener, and whoever comes later finds nobody.
    world.ask(there, Ask::Close { name: name(0) });
    assert_eq!(said(&mut world, there), ["ended 3 Unlistened", "ended 0 Unlistened"]);
    world.ask(
        there,
        Ask::Await { listener: name(0), association: name(4), credit: Credit::of_octets(5) },
    );
    assert_eq!(said(&mut world, there), ["ended 4 Unlistened"]);
}

#[test]
fn who_waits_for_a_name_is_reset_with_the_listener() {
    let (mut world, here, there) = two(LARGE);
    world.ask(there, Ask::Listen { listener: name(0), local: at(THERE, 21) });
    world.ask(
        here,
        Ask::Open {
            association: name(1),
            remote: at(THERE, 21),
            local: None,
            credit: Credit::of_octets(9),
        },
    );
    world.run_for(Duration::from_secs(1));
    world.ask(there, Ask::Close { name: name(0) });
    world.run_for(Duration::from_secs(1));
    assert_eq!(said(&mut world, here), ["opened", "ended 1 Reset(0)"]);
    assert_eq!(said(&mut world, there), ["listening", "ended 0 Unlistened"]);
    assert_eq!(world.stack(there).associations(), 0);
}

#[test]
fn a_name_that_waits_or_asks_can_be_aborted() {
    let (mut world, here, there) = two(LARGE);
    world.ask(there, Ask::Listen { listener: name(0), local: at(THERE, 21) });
    world.ask(
        there,
        Ask::Await { listener: name(0), association: name(1), credit: Credit::of_octets(5) },
    );
    world.ask(there, Ask::Abort { association: name(1), code: 0 });
    world.ask(
        here,
        Ask::Open {
            association: name(1),
            remote: at(THERE, 21),
            local: None,
            credit: Credit::of_octets(9),
        },
    );
    world.ask(here, Ask::Abort { association: name(1), code: 0 });
    world.run_for(Duration::from_secs(200));
    assert_eq!(said(&mut world, here), ["ended 1 Aborted"]);
    world.ask(there, Ask::Close { name: name(0) });
    assert_eq!(said(&mut world, there), ["listening", "ended 1 Aborted", "ended 0 Unlistened"]);
    assert_eq!(world.next_event(), None, "and nothing is left to happen");
}

#[test]
fn ports_are_fresh_or_the_ones_that_were_asked_for() {
    let (mut world, here, there) = two(LARGE);
    let unspecified = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
    world.ask(there, Ask::Listen { listener: name(0), local: at(unspecified, 0) });
    world.ask(there, Ask::Listen { listener: name(1), local: at(THERE, 0) });
    world.ask(there, Ask::Listen { listener: name(2), local: at(THERE, 2121) });
    world.ask(there, Ask::Listen { listener: name(3), local: at(THERE, 2121) });
    world.ask(there, Ask::Listen { listener: name(4), local: at(HERE, 2122) });
    let heard = std::mem::take(&mut world.application_mut(there).0);
    let [
        Told::Listening { local: one, .. },
        Told::Listening { local: other, .. },
        Told::Listening { local: chosen, .. },
        Told::Ended { why: Ended::Unavailable, .. },
        Told::Ended { why: Ended::Unavailable, .. },
    ] = heard[..]
    else {
        panic!("{heard:?}")
    };
    let port = |participant: Participant| participant.internet().expect("an address").port();
    assert_ne!(port(one), port(other));
    assert!(port(one) >= 49_152 && port(other) >= 49_152);
    assert_eq!(chosen, at(THERE, 2121));

    // A data connection of an FTP server: from port 20, and the peer sees it.
    world.ask(
        there,
        Ask::Await { listener: name(1), association: name(5), credit: Credit::of_octets(1) },
    );
    let remote = at(THERE, port(other));
    world.ask(
        here,
        Ask::Open {
            association: name(0),
            remote,
            local: Some(at(HERE, 20)),
            credit: Credit::of_octets(1),
        },
    );
    world.ask(
        here,
        Ask::Open {
            association: name(1),
            remote,
            local: Some(at(HERE, 20)),
            credit: Credit::of_octets(1),
        },
    );
    assert_eq!(said(&mut world, here), ["ended 1 Unavailable"]);
    world.run_for(Duration::from_secs(1));
    let [
        Told::Opened {
            association, local, remote: peer, credit: Credit { octets: 100, .. }, ..
        },
    ] = world.application(there).0[..]
    else {
        panic!("{:?}", world.application(there).0)
    };
    assert_eq!((association, local, peer), (name(5), remote, at(HERE, 20)));
}

#[test]
fn nobody_there_is_unreachable() {
    let (mut world, here, _) = two(LARGE);
    let nobody = IpAddr::V4(Ipv4Addr::new(10, 9, 9, 9));
    for (nth, remote) in
        [at(nobody, 21), at(THERE, 21), Participant::OTHER_END].into_iter().enumerate()
    {
        world.ask(
            here,
            Ask::Open {
                association: name(nth as u32),
                remote,
                local: None,
                credit: Credit::of_octets(1),
            },
        );
    }
    world.run_for(Duration::from_secs(1));
    let mut heard = said(&mut world, here);
    heard.sort();
    assert_eq!(heard, ["ended 0 Unreachable", "ended 1 Unreachable", "ended 2 Unreachable"]);
}

#[test]
fn an_attempt_that_nobody_answers_ends_at_last() {
    let (mut world, here, there) = two(LARGE);
    world.network_mut().set_link(THERE, HERE, Conditions { loss: 1.0.into(), ..Conditions::IDEAL });
    world.ask(there, Ask::Listen { listener: name(0), local: at(THERE, 21) });
    world.ask(
        here,
        Ask::Open {
            association: name(1),
            remote: at(THERE, 21),
            local: None,
            credit: Credit::of_octets(9),
        },
    );
    world.run_for(Duration::from_secs(126));
    assert!(said(&mut world, here).is_empty());
    world.run_for(Duration::from_secs(2));
    assert_eq!(said(&mut world, here), ["ended 1 Unreachable"]);
    assert_eq!(world.stack(there).associations(), 0, "the peer was told");
}

#[test]
fn an_ended_index_is_given_again() {
    let (mut world, here, _) = joined(LARGE, 10);
    world.ask(here, Ask::Abort { association: name(1), code: 0 });
    let again = Handle { index: 1, generation: 1 };
    world.ask(
        here,
        Ask::Open {
            association: again,
            remote: at(THERE, 21),
            local: None,
            credit: Credit::of_octets(9),
        },
    );
    world.ask(here, Ask::Abort { association: name(1), code: 0 });
    assert_eq!(world.context(here).dropped_count(), 1, "a word for the earlier one");
    world.run_for(Duration::from_secs(1));
    assert_eq!(said(&mut world, here), ["ended 1 Aborted", "ended 1 Unreachable"]);
}

#[test]
#[should_panic(expected = "a Send keeps within the room: 101 octets came, for 100")]
fn a_send_beyond_the_room_is_a_bug() {
    let (mut world, here, _) = joined(LARGE, 10);
    world.ask(here, send(101));
}

#[test]
#[should_panic(expected = "keeps within the room: it is not open yet")]
fn a_send_before_opened_is_a_bug() {
    let (mut world, here, _) = two(LARGE);
    world.ask(
        here,
        Ask::Open {
            association: name(1),
            remote: at(THERE, 21),
            local: None,
            credit: Credit::of_octets(9),
        },
    );
    world.ask(here, send(1));
}

#[test]
#[should_panic(expected = "comes after the Finish")]
fn a_send_after_the_finish_is_a_bug() {
    let (mut world, here, _) = joined(LARGE, 10);
    world.ask(here, Ask::Finish { association: name(1) });
    world.ask(here, send(1));
}

#[test]
#[should_panic(expected = "it is never zero")]
fn zero_credit_is_a_bug() {
    let (mut world, here, _) = joined(LARGE, 10);
    world.ask(here, Ask::Credit { association: name(1), credit: Credit::of_octets(0) });
}

#[test]
#[should_panic(expected = "a name lives until its last word")]
fn to_give_a_living_name_again_is_a_bug() {
    let (mut world, here, _) = joined(LARGE, 10);
    world.ask(
        here,
        Ask::Listen { listener: Handle { index: 1, generation: 1 }, local: at(HERE, 0) },
    );
}

#[test]
#[should_panic(expected = "a name is given once")]
fn to_give_an_ended_name_again_is_a_bug() {
    let (mut world, _, there) = joined(LARGE, 10);
    world.ask(there, Ask::Listen { listener: name(0), local: at(THERE, 0) });
}

#[test]
#[should_panic(expected = "which was never given")]
fn a_word_for_a_name_that_was_never_given_is_a_bug() {
    let (mut world, here, _) = joined(LARGE, 10);
    world.ask(here, Ask::Finish { association: name(9) });
}
