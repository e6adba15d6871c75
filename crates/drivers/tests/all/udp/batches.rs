//! What crosses the boundary together, and leaves and comes so where the kernel can do that.

use stackwright_contract::services::{Batch, Credit, DatagramsRequest as Ask};
use stackwright_contract::{Handle, Protocol as _};
use stackwright_drivers::udp::{LONGEST, SEND_ROOM};
use stackwright_wire::{BufferTree, Message};

use crate::udp::side::{
    AMPLE, BOTH, Side, arrival, batches, delivered, hear, message, name, opened, rooms,
};

/// Octets of which no two datagrams are alike.
fn octets(count: usize) -> Vec<u8> {
    (0..count).map(|n| (n % 251) as u8 ^ (n / 251) as u8).collect()
}

fn apart(octets: &[u8], stride: usize) -> Vec<Vec<u8>> {
    octets.chunks(stride).map(<[u8]>::to_vec).collect()
}

/// A side that hears another, which has opened an association to it.
fn pair(local: &str, credit: Credit) -> (Side, Handle, Side, Handle) {
    let (mut here, mut there) = (Side::new(), Side::new());
    let at = there.listen(local);
    there.expect(name(1), credit);
    here.ask(Ask::Open { association: name(5), remote: at.into(), credit: AMPLE, local: None });
    (here, name(5), there, name(1))
}

#[test]
fn a_batch_leaves_as_it_is_and_comes_as_several() {
    for local in BOTH {
        let (mut here, from, mut there, to) = pair(local, AMPLE);
        let sent = octets(44 * 1400 + 7);
        for _ in 0..3 {
            here.send_several(from, &sent, 1400);
        }
        here.turn(0);
        there.until(|told| (delivered(told, to).len() == 3 * 45).then_some(()));
        let came = delivered(&there.heard.0, to);
        assert!(came.chunks(45).all(|came| came == apart(&sent, 1400)), "over {local}");
        // Where the kernel puts nothing together, each comes alone, and nobody can say more.
        assert_eq!(
            rooms(&here.heard.0, from),
            [Credit { octets: 3 * sent.len(), messages: 3 * 45 }]
        );
        assert_eq!(here.dropped() + there.dropped(), 0);
    }
}

/// How what leaves is cut is said of the socket: whatever is not cut leaves whole, before and
/// behind a batch.
#[test]
fn datagrams_between_batches_leave_as_they_are() {
    for local in BOTH {
        let (mut here, from, mut there, to) = pair(local, AMPLE);
        let mut expected = Vec::new();
        for (length, stride) in
            [(100, 100), (1500, 500), (2000, 2000), (100, 100), (1400, 700), (500, 500)]
                .into_iter()
                .chain([(LONGEST - 100, LONGEST - 100), (3300, 1000), (0, 1), (1001, 1001)])
        {
            let sent = octets(length);
            if length > stride {
                here.send_several(from, &sent, stride);
            } else {
                here.send(from, &sent);
            }
            here.turn(0);
            expected.extend(if length > 0 { apart(&sent, stride) } else { vec![Vec::new()] });
        }
        there.until(|told| (delivered(told, to).len() == expected.len()).then_some(()));
        assert!(delivered(&there.heard.0, to) == expected, "over {local}");
        assert_eq!(here.dropped() + there.dropped(), 0);
    }
}

/// Loopback hands over what was put together: there it is seen that it stays so.
#[test]
fn what_the_kernel_has_put_together_crosses_the_boundary_together() {
    let (mut here, from, mut there, to) = pair("127.0.0.1:0", AMPLE);
    here.send_several(from, &octets(40 * 1000), 1000);
    here.turn(0);
    there.until(|told| (delivered(told, to).len() == 40).then_some(()));
    assert_eq!(batches(&there.heard.0, to), [40]);
}

/// More segments than one system call takes, and more octets than one datagram holds.
#[test]
fn a_run_that_is_longer_than_what_leaves_at_once_leaves_whole() {
    for (stride, count) in [(100, 150), (1, 300), (1400, 200), (LONGEST, 3), (LONGEST / 2 + 1, 5)] {
        let (mut here, from, mut there, to) = pair("127.0.0.1:0", AMPLE);
        let sent = octets(stride * count - stride / 2);
        here.send_several(from, &sent, stride);
        here.send(from, b"behind");
        let mut expected = apart(&sent, stride);
        expected.push(b"behind".to_vec());
        while here.udp.wants_flush() {
            here.turn(0);
            there.turn(0);
            there.ask(Ask::Credit {
                association: to,
                credit: Credit { octets: 1 << 20, messages: 400 },
            });
        }
        there.until(|told| (delivered(told, to).len() == expected.len()).then_some(()));
        assert!(delivered(&there.heard.0, to) == expected, "{count} of {stride}");
        // What fills little of a block is copied out of it, one by one.
        if stride == 1400 {
            assert_eq!(
                batches(&there.heard.0, to),
                [40; 5],
                "in equal parts, where 46 might leave at once"
            );
        }
        let rooms = rooms(&here.heard.0, from);
        let back = (
            rooms.iter().map(|credit| credit.octets).sum(),
            rooms.iter().map(|credit| credit.messages).sum(),
        );
        assert_eq!(back, (sent.len() + 6, count + 1), "{count} of {stride}");
        assert_eq!(here.dropped() + there.dropped(), 0, "{count} of {stride}");
    }
}

/// Short pieces are copied together, few long ones leave from where they lie; neither ends with a
/// datagram.
#[test]
fn a_run_that_lies_in_pieces_is_gathered() {
    for local in BOTH {
        let (mut here, _, mut there, to) = pair(local, AMPLE);
        here.send(name(5), b"hello");
        here.turn(0);
        there.until(|told| (delivered(told, to).len() == 1).then_some(()));
        for (count, stride, piece) in [
            (10, 500, 333),
            (40, 1400, 9000),
            (44, 1400, 3000),
            (7, 1400, 2048),
            (1, 6000, 4000),
            (1, 20, 9),
        ] {
            let sent = octets(count * stride);
            let mut rope = BufferTree::default();
            for piece in sent.chunks(piece) {
                rope.join(message(piece));
            }
            // Through a socket that knows its peer, and through one that has many.
            let before = [&here, &there].map(|side| side.heard.0.len());
            here.send_batch(name(5), Batch::new(rope.share(), stride));
            there.send_batch(to, Batch::new(rope, stride));
            here.turn(0);
            there.turn(0);
            for (side, at, before) in [(&mut here, name(5), before[0]), (&mut there, to, before[1])]
            {
                side.until(|told| (delivered(&told[before..], at).len() == count).then_some(()));
                let came = delivered(&side.heard.0[before..], at);
                assert!(came == apart(&sent, stride), "{count} of {stride} over {local}");
            }
        }
        assert_eq!(here.dropped() + there.dropped(), 0);
    }
}

#[test]
fn batches_and_single_datagrams_leave_in_the_order_in_which_they_were_said() {
    let (mut side, association, peer, _) = opened("127.0.0.1:0");
    let mut expected = Vec::new();
    for (length, stride) in [(7, 7), (20, 7), (7, 7), (3, 7), (70, 7), (7, 7), (1, 1), (14, 7)] {
        let sent = octets(length);
        if length == stride {
            side.send(association, &sent);
        } else {
            side.send_several(association, &sent, stride);
        }
        expected.extend(apart(&sent, stride));
    }
    side.turn(0);
    for (nth, expected) in expected.iter().enumerate() {
        assert!(hear(&peer).0 == *expected, "datagram {nth}");
    }
}

/// Those for which there is room are delivered one by one; the others wait until the next batch,
/// and come when it brings room.
#[test]
fn where_there_is_room_for_half_of_a_run_half_of_it_comes() {
    let (mut here, from, mut there, to) =
        pair("127.0.0.1:0", Credit { octets: 1 << 20, messages: 20 });
    let sent = octets(40 * 1000);
    here.send_several(from, &sent, 1000);
    here.turn(0);
    there.until(|told| (!delivered(told, to).is_empty()).then_some(()));
    assert_eq!((delivered(&there.heard.0, to).len(), batches(&there.heard.0, to)), (20, vec![]));
    there.ask(Ask::Credit { association: to, credit: Credit { octets: 0, messages: 20 } });
    there.until(|told| (delivered(told, to).len() == 40).then_some(()));
    assert!(delivered(&there.heard.0, to) == apart(&sent, 1000));
    assert_eq!(batches(&there.heard.0, to), [20], "what was left of it is a batch");
    assert_eq!(there.dropped(), 0);
}

#[test]
fn octets_are_room_too() {
    let (mut here, from, mut there, to) =
        pair("127.0.0.1:0", Credit { octets: 4500, messages: 100 });
    here.send_several(from, &octets(10 * 1000), 1000);
    here.turn(0);
    there.until(|told| (!delivered(told, to).is_empty()).then_some(()));
    there.idle();
    assert_eq!((delivered(&there.heard.0, to).len(), batches(&there.heard.0, to)), (4, vec![]));
    assert_eq!(there.dropped(), 6, "the next batch brought no room");
}

#[test]
#[should_panic = "a Send keeps within the room"]
fn a_run_beyond_the_room_is_a_bug() {
    let (mut side, association, _peer, _) = arrival("127.0.0.1:0", AMPLE);
    side.send_several(association, &vec![0; SEND_ROOM.messages + 1], 1);
}

#[test]
#[should_panic = "a datagram has at most 65507 octets"]
fn a_run_of_what_is_longer_than_any_datagram_is_a_bug() {
    let (mut side, association, _peer, _) = arrival("127.0.0.1:0", AMPLE);
    side.send_several(association, &vec![0; LONGEST + 2], LONGEST + 1);
}
