//! What a layer offers to a protocol that checks, agrees, gathers and paces: a transport.

mod batches;
mod marks;
mod scene;

use scene::{Answer, Apart, FIRST, M, NONE, Obedient, ROOM, Scene, Together, host, name, place};
use stackwright_contract::Protocol;
use stackwright_contract::services::{
    Credit, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_wire::Message;

#[test]
fn an_envelope_only_looks_and_its_check_covers_it() {
    let (mut scene, lower) = Scene::<Apart>::opened(1, ROOM);
    scene.comes(lower, 1, b"hello");
    assert_eq!(scene.said(), ["delivered 1: hello, 3"]);
    let dropped = scene.cx.dropped_count();
    for wrong in [&[1, 3, 0, b'h'][..], &[1, 3]] {
        let message = M::with_headroom(0, wrong);
        scene.tell(DatagramsIndication::Delivered {
            association: lower,
            batch: message.into(),
            properties: MessageProperties::default(),
        });
    }
    assert_eq!((scene.said().len(), scene.cx.dropped_count()), (0, dropped + 2));
}

#[test]
fn what_is_wished_reaches_the_hook_and_what_came_reaches_the_layer_above() {
    let (mut scene, lower) = Scene::<Apart>::opened(1, ROOM);
    scene.say(1, b"x", 7);
    assert_eq!(scene.said(), ["send on 1: x", "room 1: 1"]);
    scene.comes(lower, 1, b"y");
    assert_eq!(scene.said(), ["delivered 1: y, 3"]);
}

#[test]
fn an_association_knows_with_whom_it_is_and_who_began_it() {
    let (mut scene, lower) = Scene::<Apart>::opened(1, ROOM);
    scene.comes(lower, 1, b"?");
    assert_eq!(scene.said(), ["delivered 1: Asked 10.0.0.9:7, 128"]);
    let mut scene = Scene::<Apart>::new(Obedient::default());
    scene.listen(5);
    let lower = scene.opens_below(ROOM);
    scene.comes(lower, 77, b"?");
    assert_eq!(scene.said(), ["opened 5, room 2", "delivered 5: Arrived 10.0.0.9:7, 128"]);
}

#[test]
fn an_arrival_is_ignored_answered_or_welcome() {
    let mut scene = Scene::<Apart>::new(Obedient::default());
    scene.listen(5);
    let dropped = scene.cx.dropped_count();
    let lower = scene.opens_below(ROOM);
    scene.comes(lower, 77, b"ignore me");
    scene.ends();
    assert_eq!((scene.said(), scene.cx.dropped_count()), (vec!["close".to_string()], dropped + 1));
    let lower = scene.opens_below(ROOM);
    scene.comes(lower, 77, b"answer me");
    scene.ends();
    assert_eq!(scene.said(), ["send on 77: ", "close"], "one answer, and nothing stays");
    let lower = scene.opens_below(NONE);
    scene.comes(lower, 77, b"answer me");
    scene.ends();
    assert_eq!(scene.said(), ["close"], "an answer does not wait");
    assert_eq!((scene.cx.dropped_count(), scene.layer.associations()), (dropped + 2, 0));
    let lower = scene.opens_below(ROOM);
    scene.comes(lower, 77, b"hello");
    assert_eq!(scene.said(), ["opened 5, room 2", "delivered 5: hello, 3"], "the name has waited");
    assert_eq!(scene.called("opened"), [0_u8; 0], "an arrival is open from the first");
    // Now nobody waits any more, and nobody is asked.
    scene.comes(lower, 78, b"answer me");
    assert_eq!((scene.said().len(), scene.called("arrival").len()), (0, 4));
    assert_eq!(scene.cx.dropped_count(), dropped + 3);
}

#[test]
fn an_arrival_at_an_association_in_use_is_answered_on_it() {
    let (mut scene, lower) = Scene::<Apart>::opened(1, ROOM);
    scene.listen(5);
    scene.comes(lower, 77, b"answer me");
    assert_eq!(scene.said(), ["send on 77: "]);
    scene.comes(lower, 1, b"hello");
    assert_eq!(scene.said(), ["delivered 1: hello, 3"]);
}

#[test]
fn opened_is_said_when_the_protocol_says_it() {
    let mut scene = Scene::<Apart>::new(Obedient::answering(|_| Answer::NotYet));
    scene.open(1);
    assert_eq!(scene.called("opened"), [0_u8; 0]);
    let lower = scene.opens_below(ROOM);
    // This one begins where all is open below.
    scene.open(2);
    assert_eq!((scene.called("opened"), scene.said().len()), (vec![1, 2], 0));
    scene.comes(lower, 2, b"open");
    scene.comes(lower, 2, b"open");
    assert_eq!(scene.said(), ["opened 2, room 2"], "once");
    scene.comes(lower, 1, b"end");
    assert_eq!(scene.said(), ["ended 1: Finished"]);
    scene.close(2);
    scene.ends();
    assert_eq!(scene.said(), ["ended 2: Finished", "close"]);
}

/// The next message of the batch is the first of another association of the same peer: what carried
/// the last one carries it, too.
#[test]
fn an_association_that_ends_leaves_the_peer_s_next_one_its_place() {
    let mut scene = Scene::<Apart>::new(Obedient::default());
    scene.listen(5);
    let lower = scene.opens_below(ROOM);
    scene.comes(lower, 77, b"hello");
    scene.comes(lower, 77, b"end");
    scene.ask(DatagramsRequest::Await { listener: name(0), association: name(6), credit: ROOM });
    scene.comes(lower, 78, b"hello");
    scene.ends();
    assert_eq!(
        scene.said(),
        [
            "opened 5, room 2",
            "delivered 5: hello, 3",
            "ended 5: Finished",
            "opened 6, room 2",
            "delivered 6: hello, 3"
        ]
    );
}

#[test]
fn what_ends_before_it_is_open_only_ends() {
    let mut scene = Scene::<Apart>::new(Obedient::answering(|_| Answer::Never));
    scene.open(1);
    scene.opens_below(ROOM);
    scene.ends();
    assert_eq!(scene.said(), ["ended 1: Unreachable", "close"]);
}

#[test]
fn what_is_opened_at_once_is_told_of_when_the_layer_below_is() {
    let answer =
        |call: &mut scene::Call| if call.channel == 2 { Answer::NotYet } else { Answer::AtOnce };
    let mut scene = Scene::<Apart>::new(Obedient::answering(answer));
    for index in 1..=3 {
        scene.open(index);
    }
    scene.opens_below(ROOM);
    assert_eq!(scene.said(), ["opened 1, room 2", "opened 3, room 2"]);
}

#[test]
fn the_first_room_is_what_the_protocol_says() {
    let first = Credit { octets: 40, messages: 7 };
    let mut scene = Scene::<Apart>::new(Obedient::with_first_room(first));
    scene.open(1);
    scene.opens_below(NONE);
    assert_eq!(scene.said(), ["opened 1, room 7"]);
    for _ in 0..7 {
        scene.say(1, b"x", 0);
    }
}

#[test]
#[should_panic(expected = "a Send keeps within the room")]
fn and_no_more_than_it_is_sent() {
    let (mut scene, _) = Scene::<Apart>::opened(1, NONE);
    for _ in 0..=FIRST.messages {
        scene.say(1, b"x", 0);
    }
}

#[test]
fn who_joins_a_shared_endpoint_has_room_of_his_own() {
    let (mut scene, lower) = Scene::<Together>::opened(2, NONE);
    for index in [1, 2] {
        for _ in 0..FIRST.messages {
            scene.say(index, b"x", 0);
        }
    }
    scene.room_below(lower, 2 * FIRST.messages);
    assert_eq!(
        scene.said().iter().filter(|word| word.starts_with("room")).count(),
        2 * FIRST.messages
    );
}

#[test]
fn what_had_to_wait_gives_back_the_room_of_its_payload() {
    let (mut scene, lower) = Scene::<Apart>::opened(1, NONE);
    scene.say(1, b"twelve", 0);
    assert_eq!(scene.said().len(), 0);
    scene.room_below(lower, 1);
    assert_eq!(scene.said(), ["send on 1: twelve", "room 1: 6"]);
}

#[test]
fn what_is_sent_before_the_layer_below_is_open_leaves_when_it_is() {
    let mut scene = Scene::<Apart>::new(Obedient::default());
    scene.open(1);
    let credit = Credit { octets: 1, messages: 1 };
    scene.ask(DatagramsRequest::Credit { association: name(1), credit });
    assert_eq!(scene.said().len(), 0);
    scene.opens_below(ROOM);
    assert_eq!(scene.said(), ["opened 1, room 2", "send on 1: more"]);
}

#[test]
fn who_puts_something_off_is_called_once_when_the_batch_is_done() {
    let (mut scene, lower) = Scene::<Apart>::opened(3, ROOM);
    assert!(!scene.layer.wants_flush());
    for channel in [3, 1, 2, 1] {
        scene.comes(lower, channel, b"later");
    }
    assert!(scene.layer.wants_flush());
    scene.close(1);
    scene.ends();
    assert_eq!(
        scene.called("batch"),
        [3, 2],
        "in the order of their calls, and none that has ended"
    );
    assert!(!scene.layer.wants_flush());
    scene.ends();
    assert_eq!(scene.called("batch").len(), 2);
}

#[test]
fn who_puts_it_off_again_is_called_with_the_next_batch() {
    let (mut scene, lower) = Scene::<Apart>::opened(1, ROOM);
    scene.comes(lower, 1, b"again");
    for expected in [vec![1], vec![1, 1], vec![1, 1]] {
        scene.ends();
        assert_eq!(scene.called("batch"), expected);
    }
    assert!(!scene.layer.wants_flush());
}

#[test]
fn timers_come_before_what_was_put_off() {
    let (mut scene, lower) = Scene::<Apart>::opened(1, ROOM);
    scene.comes(lower, 1, b"timer");
    scene.times_out();
    scene.ends();
    assert_eq!(scene.layer.hooks().called[1..], [("expired", 1), ("batch", 1)]);
}

#[test]
fn who_wants_room_hears_of_it_once_and_in_turn() {
    let (mut scene, lower) = Scene::<Apart>::opened(3, NONE);
    for channel in [2, 1, 3] {
        scene.comes(lower, channel, b"w1");
    }
    scene.room_below(lower, 2);
    assert_eq!(scene.called("room"), [2, 1], "for the third there was none left");
    scene.room_below(lower, 1);
    assert_eq!(scene.called("room"), [2, 1, 3], "it is his turn, before those that ask again");
    scene.room_below(lower, 5);
    assert_eq!(scene.called("room"), [2, 1, 3, 2, 1, 3]);
    scene.room_below(lower, 5);
    assert_eq!(scene.called("room").len(), 6, "nobody asked again");
}

#[test]
fn who_asks_while_it_is_his_turn_hears_of_the_next_room() {
    let (mut scene, lower) = Scene::<Apart>::opened(1, NONE);
    scene.comes(lower, 1, b"w1");
    scene.room_below(lower, 9);
    assert_eq!(scene.called("room"), [1]);
    scene.room_below(lower, 1);
    assert_eq!(scene.called("room"), [1, 1]);
}

#[test]
fn what_waits_goes_before_who_wants_room_and_who_has_ended_wants_none() {
    let (mut scene, lower) = Scene::<Apart>::opened(2, NONE);
    scene.say(1, b"first", 0);
    for channel in [1, 2] {
        scene.comes(lower, channel, b"w0");
    }
    scene.close(2);
    assert_eq!(scene.said(), ["ended 2: Finished"]);
    scene.room_below(lower, 9);
    assert_eq!(scene.said(), ["send on 1: first", "room 1: 5", "send on 1: !"]);
    assert_eq!(scene.called("room"), [1]);
}

#[test]
fn the_room_below_is_what_may_be_sent_now() {
    let (mut scene, lower) = Scene::<Apart>::opened(2, Credit { octets: 20, messages: 2 });
    scene.comes(lower, 1, b"room?");
    scene.say(1, b"12345", 0);
    scene.comes(lower, 1, b"room?");
    scene.comes(lower, 2, b"room?");
    scene.say(1, b"thirteen octets", 0);
    scene.comes(lower, 2, b"room?");
    let left = Credit { octets: 12, messages: 1 };
    let rooms = &scene.layer.hooks().rooms;
    assert_eq!(
        rooms[..],
        [Credit { octets: 20, messages: 2 }, left, left, NONE],
        "none where messages wait"
    );
}

#[test]
fn a_shared_endpoint_hears_what_a_name_asked_for_that_is_over() {
    let (mut scene, lower) = Scene::<Together>::opened(2, NONE);
    scene.comes(lower, 1, b"later");
    scene.comes(lower, 1, b"w0");
    scene.close(1);
    scene.ends();
    scene.room_below(lower, 1);
    assert_eq!((scene.called("batch").len(), scene.called("room").len()), (1, 1));
}

#[test]
fn listeners_at_any_port_have_one_each_and_those_at_one_port_share_it() {
    let mut scene = Scene::<Apart>::new(Obedient::default());
    let any = std::net::SocketAddr::from(([10, 0, 0, 1], 0)).into();
    for (index, local) in [any, any, place(1), place(1)].into_iter().enumerate() {
        scene.ask(DatagramsRequest::Listen { listener: name(index as u32), local });
    }
    assert_eq!(scene.ends.listeners, 3);
}

/// Where there are no ports, the layer below tells peers apart by their host alone: it has one
/// association with each.
#[test]
fn what_is_opened_to_a_host_that_arrived_stands_on_its_association() {
    let opens =
        |remote| DatagramsRequest::Open { association: name(2), remote, credit: ROOM, local: None };
    for (remote, asked) in [(host(), 0), (place(9), 1)] {
        let mut scene = Scene::<Apart>::new(Obedient::default());
        scene.listen(5);
        let (lower, _) = scene.ends.asked.pop_front().expect("a name waits");
        scene.tell(DatagramsIndication::Opened {
            association: lower,
            local: place(1),
            remote,
            credit: ROOM,
            path: stackwright_contract::PathLimits::UNBOUNDED,
        });
        scene.comes(lower, 7, b"x");
        scene.ends.asked.clear();
        scene.ask(opens(remote));
        assert_eq!(scene.ends.asked.len(), asked, "{remote}");
        scene.said();
        if asked == 0 {
            scene.comes(lower, 1, b"y");
            assert_eq!(scene.said(), ["delivered 2: y, 3"]);
            // It stays until neither uses it.
            scene.close(5);
            assert_eq!(scene.said(), ["ended 5: Finished"]);
            scene.close(2);
            scene.ends();
            assert_eq!(scene.said(), ["ended 2: Finished", "close"]);
        }
    }
}
