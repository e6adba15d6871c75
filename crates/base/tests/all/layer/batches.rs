//! Messages that cross a boundary together: what becomes of them is what becomes of each by itself.

use stackwright_contract::services::{
    Batch, Credit, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::{Handle, Protocol as _};
use stackwright_wire::Message;

use crate::layer::scene::{Answer, Apart, M, NONE, Obedient, ROOM, Scene, Together, name, packet};

/// Messages of three octets behind the front, each for a channel.
type Script = [(u8, &'static [u8; 3])];

fn packets(script: &Script) -> Vec<Vec<u8>> {
    script.iter().map(|(channel, octets)| packet(*channel, *octets)).collect()
}

fn batch(packets: &[Vec<u8>]) -> Batch<M> {
    Batch::new(M::with_headroom(0, &packets.concat()), packets[0].len())
}

fn come_together(scene: &mut Scene<Apart>, lower: Handle, script: &Script) {
    tell_together(scene, lower, &packets(script));
}

fn tell_together(scene: &mut Scene<Apart>, lower: Handle, packets: &[Vec<u8>]) {
    let (messages, properties) = (batch(packets), MessageProperties::default());
    scene.tell(DatagramsIndication::Delivered { association: lower, batch: messages, properties });
}

#[test]
fn a_batch_reaches_whom_its_messages_are_for_in_order() {
    let (mut scene, lower) = Scene::<Apart>::opened(2, ROOM);
    come_together(&mut scene, lower, &[(1, b"1st"), (1, b"2nd"), (2, b"his"), (1, b"3rd")]);
    let delivered =
        ["1: 1st", "1: 2nd", "2: his", "1: 3rd"].map(|said| format!("delivered {said}, 3"));
    assert_eq!(scene.said(), delivered);
    assert_eq!(scene.layer.hooks().popped, [1, 2, 1], "once for those that follow each other");
}

#[test]
fn who_is_popped_alone_hears_of_it_too() {
    let (mut scene, lower) = Scene::<Apart>::opened(2, ROOM);
    for channel in [1, 1, 2] {
        scene.comes(lower, channel, b"x");
    }
    assert_eq!(scene.layer.hooks().popped, [1, 1, 2]);
}

#[test]
fn the_room_of_a_batch_is_given_back_in_one_word() {
    let (mut scene, lower) = Scene::<Apart>::opened(1, ROOM);
    let mut comes = |count: usize| {
        come_together(&mut scene, lower, &vec![(1, b"lll"); count]);
        scene.said()
    };
    // Not before there is enough of it.
    assert_eq!(comes(200), [""; 0]);
    assert_eq!(comes(100), ["receive 1800, 300"]);
    assert_eq!(comes(300), ["receive 1800, 300"]);
}

/// What a scene has come to, apart from how often the hook behind the last message was called.
fn outcome(scene: &mut Scene<Apart>) -> impl PartialEq + std::fmt::Debug + use<> {
    let hooks = scene.layer.hooks();
    let (called, rooms) = (hooks.called.clone(), hooks.rooms.clone());
    let lives = (scene.layer.associations(), scene.layer.names(), scene.layer.next_deadline());
    let lives = (lives, scene.layer.wants_flush());
    (scene.said(), scene.cx.dropped_count(), called, rooms, lives)
}

#[test]
fn a_batch_is_what_its_messages_are_by_themselves() {
    let broken = |script: &Script, at: usize| {
        let mut packets = packets(script);
        packets[at][2] ^= 1;
        packets
    };
    let scripts = [
        packets(&[(1, b"1st"), (2, b"2nd"), (1, b"3rd"), (2, b"4th"), (2, b"6th")]),
        // One ends where others follow for it, and for another.
        packets(&[(1, b"1st"), (1, b"end"), (1, b"3rd"), (2, b"2nd"), (1, b"5th")]),
        packets(&[(1, b"end"), (2, b"end"), (1, b"1st"), (2, b"2nd")]),
        // There is room above for four.
        packets(&[(1, b"111"), (1, b"222"), (1, b"333"), (1, b"444"), (1, b"555"), (2, b"2nd")]),
        // What nobody can read, first, last and between.
        broken(&[(1, b"1st"), (1, b"2nd"), (2, b"xyz")], 0),
        broken(&[(1, b"1st"), (1, b"2nd"), (1, b"xyz")], 1),
        broken(&[(1, b"1st"), (1, b"2nd"), (1, b"xyz")], 2),
        broken(&[(77, b"1st"), (77, b"2nd")], 0),
        // Strangers: welcome in the middle, ignored, answered, and too many.
        packets(&[(1, b"1st"), (77, b"new"), (77, b"nex"), (1, b"2nd"), (77, b"ney")]),
        packets(&[(77, b"ign"), (77, b"ign"), (77, b"new"), (78, b"nob")]),
        packets(&[(77, b"ans"), (77, b"ans"), (1, b"1st")]),
        packets(&[(77, b"new"), (77, b"end"), (77, b"nex")]),
        // What they put off, and want.
        packets(&[(1, b"lll"), (2, b"aaa"), (1, b"ttt"), (1, b"w22"), (2, b"w11"), (1, b"rrr")]),
        packets(&[(1, b"s30"), (1, b"1st"), (2, b"s90"), (1, b"s20")]),
    ];
    for (nth, script) in scripts.iter().enumerate() {
        for known in [0, 2] {
            let outcomes = [true, false].map(|together| {
                let mut scene = Scene::<Apart>::new(Obedient::answering(|_| Answer::AtOnce));
                for index in 1..=known {
                    scene.open(index);
                }
                let mut lower = (known > 0).then(|| scene.opens_below(ROOM));
                scene.listen(5);
                let lower = *lower.get_or_insert_with(|| scene.opens_below(ROOM));
                if together {
                    tell_together(&mut scene, lower, script);
                } else {
                    for octets in script {
                        let (messages, properties) =
                            (M::with_headroom(0, octets).into(), MessageProperties::default());
                        scene.tell(DatagramsIndication::Delivered {
                            association: lower,
                            batch: messages,
                            properties,
                        });
                    }
                }
                let before = outcome(&mut scene);
                scene.times_out();
                scene.ends();
                scene.room_below(lower, 3);
                (before, outcome(&mut scene))
            });
            assert_eq!(outcomes[0], outcomes[1], "script {nth}, {known} associations");
        }
    }
}

#[test]
fn a_batch_leaves_in_one_word_where_there_is_room_for_all_of_it() {
    let (mut scene, lower) = Scene::<Apart>::opened(1, ROOM);
    scene.comes(lower, 1, b"s3");
    assert_eq!(scene.said(), ["several on 1: 0, 1, 2"]);
    scene.comes(lower, 1, b"r");
    let left = Credit { octets: ROOM.octets - 3 * 4, messages: ROOM.messages - 3 };
    assert_eq!(scene.layer.hooks().rooms, [left], "it has used up its octets and its messages");
}

#[test]
fn a_batch_for_which_there_is_no_room_leaves_one_by_one_as_room_comes() {
    let (mut scene, lower) = Scene::<Apart>::opened(1, ROOM);
    scene.comes(lower, 1, b"s6");
    assert_eq!(scene.said(), ["send on 1: 0", "send on 1: 1", "send on 1: 2", "send on 1: 3"]);
    // Behind what waits, even where there would be room.
    scene.comes(lower, 1, b"s1");
    assert_eq!(scene.said().len(), 0);
    scene.room_below(lower, 1);
    assert_eq!(scene.said(), ["send on 1: 4"]);
    scene.room_below(lower, 3);
    assert_eq!(scene.said(), ["send on 1: 5", "send on 1: 0"]);
    scene.comes(lower, 1, b"s1");
    assert_eq!(scene.said(), ["send on 1: 0"]);
}

#[test]
fn octets_without_room_hold_a_batch_back_too() {
    let (mut scene, lower) = Scene::<Apart>::opened(1, Credit { octets: 11, messages: 10 });
    scene.comes(lower, 1, b"s3");
    assert_eq!(scene.said(), ["send on 1: 0", "send on 1: 1"]);
    scene.room_below(lower, 1);
    assert_eq!(scene.said(), ["send on 1: 2"]);
}

#[test]
fn what_comes_from_above_together_is_pushed_one_by_one() {
    let (mut scene, _) = Scene::<Together>::opened(1, ROOM);
    let properties = MessageProperties { priority: 7, ..MessageProperties::default() };
    let messages = Batch::new(M::with_headroom(0, b"abc"), 2);
    scene.ask(DatagramsRequest::Send { association: name(1), batch: messages, properties });
    assert_eq!(scene.said(), ["send on 1: ab", "room 1: 2", "send on 1: c", "room 1: 1"]);
}

#[test]
#[should_panic(expected = "a Send keeps within the room")]
fn and_each_takes_its_room() {
    let (mut scene, _) = Scene::<Apart>::opened(1, NONE);
    let (messages, properties) =
        (Batch::new(M::with_headroom(0, b"abc"), 1), MessageProperties::default());
    scene.ask(DatagramsRequest::Send { association: name(1), batch: messages, properties });
}
