//! What messages say of congestion: to whom it comes, and on what it leaves.

use stackwright_contract::Protocol as _;
use stackwright_contract::services::{Batch, DatagramsIndication, Ecn, MessageProperties};
use stackwright_wire::Message as _;

use crate::layer::scene::{Apart, M, NONE, ROOM, Scene, packet};

#[test]
fn what_came_is_known_where_it_is_popped_and_what_is_borne_stays_until_it_is_said_otherwise() {
    let (mut scene, lower) = Scene::<Apart>::opened(2, ROOM);
    scene.comes_bearing(lower, 1, b"mark", Ecn::Ect);
    assert_eq!(scene.said(), ["send on 1: mark, may be marked"]);
    scene.room_below(lower, 9);
    scene.say(1, b"x", 0);
    scene.comes(lower, 1, b"s2");
    scene.say(2, b"y", 0);
    let said = scene.said();
    assert_eq!(said[0], "send on 1: x, may be marked");
    assert_eq!(
        said[2..4],
        ["several on 1: 0, 1, may be marked", "send on 2: y"],
        "each association for itself"
    );
    for (ecn, expected) in [(Ecn::Ce, "send on 1: m, marked"), (Ecn::NotEct, "send on 1: m")] {
        scene.comes_bearing(lower, 1, b"m", ecn);
        assert_eq!(scene.said(), [expected]);
    }
}

#[test]
fn a_batch_says_it_to_whomever_its_messages_are_for() {
    let (mut scene, lower) = Scene::<Apart>::opened(2, ROOM);
    let packets = [packet(1, b"m1"), packet(1, b"m2"), packet(2, b"m3")].concat();
    let messages = Batch::new(M::with_headroom(0, &packets), packets.len() / 3);
    let properties = MessageProperties { ecn: Ecn::Ce, ..MessageProperties::default() };
    let told = DatagramsIndication::Delivered { association: lower, batch: messages, properties };
    scene.layer.handle_indication(&scene.cx, told, &mut scene.ends);
    assert_eq!(
        scene.said(),
        ["1: m1", "1: m2", "2: m3"].map(|said| format!("send on {said}, marked"))
    );
}

#[test]
fn what_waits_for_room_leaves_with_what_it_was_sent_with() {
    let (mut scene, lower) = Scene::<Apart>::opened(1, NONE);
    for ecn in [Ecn::Ect, Ecn::NotEct, Ecn::Ce] {
        scene.comes_bearing(lower, 1, b"m", ecn);
    }
    scene.room_below(lower, 3);
    let expected = ["send on 1: m, may be marked", "send on 1: m", "send on 1: m, marked"];
    assert_eq!(scene.said(), expected);
}
