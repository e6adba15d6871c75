//! What travels, and how much of it.

use stackwright_contract::Protocol;
use stackwright_contract::services::{Credit, DatagramsRequest as Ask, MessageProperties};
use stackwright_drivers::udp::{LONGEST, SEND_ROOM};
use stackwright_wire::{BufferTree, Message};

use crate::udp::side::{
    AMPLE, BOTH, Side, arrival, delivered, hear, message, name, opened, rooms, stranger,
};

#[test]
fn datagrams_both_ways_over_both_families_active_and_passive() {
    for local in BOTH {
        for (mut side, association, peer, at) in [arrival(local, AMPLE), opened(local)] {
            side.send(association, b"question");
            side.send(association, b"another");
            side.turn(0);
            assert_eq!(hear(&peer), (b"question".to_vec(), at));
            assert_eq!(hear(&peer), (b"another".to_vec(), at));
            side.heard.0.clear();
            peer.send_to(b"answer", at).unwrap();
            peer.send_to(b"and one more", at).unwrap();
            side.hears(association, &[b"answer", b"and one more"]);
            assert_eq!(side.dropped(), 0);
        }
    }
}

#[test]
fn an_empty_datagram_is_a_message() {
    for (mut side, association, peer, at) in [arrival("127.0.0.1:0", AMPLE), opened("127.0.0.1:0")]
    {
        side.heard.0.clear();
        side.send(association, b"");
        side.turn(0);
        assert_eq!(hear(&peer).0, b"");
        assert_eq!(rooms(&side.heard.0, association), [Credit { octets: 0, messages: 1 }]);
        peer.send_to(b"", at).unwrap();
        side.hears(association, &[b""]);
    }
}

#[test]
fn the_longest_datagram_travels_both_ways_and_ropes_are_gathered() {
    for local in BOTH {
        let (mut side, association, peer, at) = arrival(local, AMPLE);
        let long: Vec<u8> = (0..LONGEST).map(|n| (n % 251) as u8).collect();
        side.heard.0.clear();
        peer.send_to(&long, at).unwrap();
        side.hears(association, &[&long]);
        for pieces in [2, 16, 17, 100] {
            let mut rope = BufferTree::default();
            for piece in long.chunks(LONGEST.div_ceil(pieces)) {
                rope.join(message(piece));
            }
            side.ask(Ask::Send {
                association,
                batch: rope.into(),
                properties: MessageProperties::default(),
            });
            side.turn(0);
            assert!(hear(&peer).0 == long, "{pieces} pieces");
        }
    }
}

#[test]
#[should_panic = "a block of the UDP adapter has 65536 octets at least"]
fn blocks_that_would_cut_a_datagram_are_refused() {
    Side::with_blocks(2048);
}

/// The socket is given fewer blocks then, and the kernel tells of what lies there only once.
#[test]
fn many_at_once_come_whole_after_many_that_came_alone() {
    let (mut side, association, peer, at) = arrival("127.0.0.1:0", AMPLE);
    for _alone in 0..20 {
        side.heard.0.clear();
        peer.send_to(b"alone", at).unwrap();
        side.hears(association, &[b"alone"]);
    }
    for many in [2, 3, 4, 30] {
        side.heard.0.clear();
        let sent: Vec<_> = (0..many).map(|number: u8| vec![number; 9]).collect();
        sent.iter().for_each(|octets| assert_eq!(peer.send_to(octets, at).unwrap(), 9));
        side.hears(association, &sent.iter().map(Vec::as_slice).collect::<Vec<_>>());
    }
    assert_eq!(side.dropped(), 0);
}

/// Datagrams that lie one behind the other in the socket and in the queue, equally long but for the
/// last one of each message.
#[test]
fn what_travels_together_comes_one_by_one_and_in_order() {
    for local in BOTH {
        let (mut here, mut there) = (Side::new(), Side::new());
        let at = there.listen(local);
        there.expect(name(1), AMPLE);
        here.ask(Ask::Open { association: name(5), remote: at.into(), credit: AMPLE, local: None });
        let lengths = [1429, 1429, 1429, 1426, 0, 0, 7, 7, 7, 8, 1, 60_000, 60_000, 1429, 1429];
        let sent: Vec<_> =
            (0..6u8).flat_map(|round| lengths.map(|length| vec![round; length])).collect();
        for octets in &sent {
            here.send(name(5), octets);
        }
        while here.udp.wants_flush() {
            here.turn(0);
            there.turn(0);
            let credit = Credit { octets: 1 << 20, messages: 300 };
            there.ask(Ask::Credit { association: name(1), credit });
        }
        let count = sent.len();
        let came = there.until(|told| {
            let came = delivered(told, name(1));
            (came.len() == count).then_some(came)
        });
        assert!(came == sent, "over {local}");
        assert_eq!(here.dropped() + there.dropped(), 0);
    }
}

#[test]
fn what_finds_no_room_is_dropped_and_counted() {
    let (mut side, association, peer, at) =
        arrival("127.0.0.1:0", Credit { octets: 15, messages: 3 });
    side.heard.0.clear();
    for length in [4, 7, 6, 0] {
        peer.send_to(&vec![9; length], at).unwrap();
    }
    side.idle();
    // Ten octets and two messages were left: seven octets came too many, and the empty one found no
    // message left.
    assert_eq!(delivered(&side.heard.0, association), [vec![9; 4], vec![9; 6]]);
    assert_eq!(side.dropped(), 2);
    side.ask(Ask::Credit { association, credit: Credit { octets: 3, messages: 0 } });
    peer.send_to(b"no", at).unwrap();
    side.idle();
    assert_eq!(side.dropped(), 3);
    side.ask(Ask::Credit { association, credit: Credit { octets: 0, messages: 1 } });
    peer.send_to(b"yes", at).unwrap();
    side.until(|told| (delivered(told, association).len() == 3).then_some(()));
    assert_eq!(side.dropped(), 3);
}

#[test]
fn room_comes_back_in_one_word_a_turn_and_adds_up() {
    let (mut side, association, _peer, _) = opened("127.0.0.1:0");
    side.heard.0.clear();
    for _ in 0..SEND_ROOM.messages {
        side.send(association, &[5; 100]);
    }
    assert!(
        rooms(&side.heard.0, association).is_empty(),
        "nothing leaves before the batch is done"
    );
    let cx = side.driver.context();
    side.udp.flush(cx, &mut side.heard);
    assert!(
        matches!(&rooms(&side.heard.0, association)[..], [Credit { messages: 1..1000, .. }]),
        "a fair share"
    );
    while side.udp.wants_flush() {
        side.udp.flush(cx, &mut side.heard);
    }
    let rooms = rooms(&side.heard.0, association);
    let all = (
        rooms.iter().map(|credit| credit.octets).sum(),
        rooms.iter().map(|credit| credit.messages).sum(),
    );
    assert_eq!(all, (SEND_ROOM.messages * 100, SEND_ROOM.messages));
}

#[test]
fn a_busy_socket_does_not_keep_the_others_waiting() {
    let (mut side, busy, _peer, _) = opened("127.0.0.1:0");
    let modest = stranger("127.0.0.1:0");
    let remote = modest.local_addr().unwrap().into();
    side.ask(Ask::Open { association: name(8), remote, credit: AMPLE, local: None });
    for _ in 0..1000 {
        side.send(busy, b"much");
    }
    side.send(name(8), b"little");
    side.heard.0.clear();
    side.udp.flush(side.driver.context(), &mut side.heard);
    assert_eq!(rooms(&side.heard.0, name(8)), [Credit { octets: 6, messages: 1 }]);
    assert!(rooms(&side.heard.0, busy)[0].messages < 1000);
    assert_eq!(hear(&modest).0, b"little");
}

#[test]
#[should_panic = "a Send keeps within the room"]
fn a_send_beyond_the_room_is_a_bug() {
    let (mut side, association, _peer, _) = opened("127.0.0.1:0");
    for _ in 0..=SEND_ROOM.messages {
        side.send(association, b"");
    }
}

#[test]
fn two_adapters_talk_to_each_other() {
    const COUNT: usize = 300;
    let (mut here, mut there) = (Side::new(), Side::new());
    let at = there.listen("[::1]:0");
    there.expect(name(1), AMPLE);
    here.ask(Ask::Open { association: name(5), remote: at.into(), credit: AMPLE, local: None });
    for number in 0..COUNT {
        here.send(name(5), &number.to_be_bytes());
        here.turn(0);
        there.turn(0);
        let echoed = there.until(|told| delivered(told, name(1)).get(number).cloned());
        there.send(name(1), &echoed);
        there.turn(0);
        here.until(|told| (delivered(told, name(5)).len() == number + 1).then_some(()));
    }
    let numbers: Vec<_> = (0..COUNT).map(|number| number.to_be_bytes().to_vec()).collect();
    assert_eq!(delivered(&here.heard.0, name(5)), numbers);
    assert_eq!(here.dropped() + there.dropped(), 0);
}

/// More datagrams lie in the socket than the upper layer has room for, and it gives the room back
/// with each that it hears.
#[test]
fn who_gives_room_back_at_once_misses_nothing() {
    const COUNT: u8 = 200;
    let (mut side, association, peer, at) =
        arrival("127.0.0.1:0", Credit { octets: 4096, messages: 3 });
    for number in 0..COUNT {
        peer.send_to(&[number; 100], at).unwrap();
    }
    // What was said before has used one.
    side.ask(Ask::Credit { association, credit: Credit { octets: 5, messages: 1 } });
    let mut answered = 1;
    let expected: Vec<_> = std::iter::once(b"hello".to_vec())
        .chain((0..COUNT).map(|number| vec![number; 100]))
        .collect();
    while side.dropped() == 0 && delivered(&side.heard.0, association).len() < expected.len() {
        side.turn(100);
        let heard = delivered(&side.heard.0, association).len();
        for _ in answered..heard {
            side.ask(Ask::Credit { association, credit: Credit { octets: 100, messages: 1 } });
        }
        answered = heard;
    }
    assert_eq!(side.dropped(), 0);
    assert!(delivered(&side.heard.0, association) == expected);
}
