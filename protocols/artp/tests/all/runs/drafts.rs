//! Messages that are written where they leave from.

mod together;

use std::ops::Range;

use stackwright_compose::Over;
use stackwright_contract::ask::{
    Ask, Counters, Longest, NothingBelow, Peer, Question, Reserve, RoundTrip, ask,
    ask_behind_header,
};
use stackwright_contract::services::{
    Batch, Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::{
    Context, Duration, Facts, Handle, IndicationTo, Outlet, Protocol, RequestTo,
};
use stackwright_wire::{Leaf, Message as _};

use crate::runs::talk::{LENGTH, M, MUCH, NAME, Said, Side, Talk, octets};

/// A conversation whose window takes several messages.
fn warm() -> Talk {
    let mut talk = Talk::new(true, None);
    for side in [0, 1, 0] {
        talk.speak(side);
    }
    talk.sides[1].ask(&talk.cx, DatagramsRequest::Credit { association: NAME, credit: MUCH });
    // Until the window is wide.
    for _ in 0..50 {
        talk.sides[0].say(&talk.cx, &[0; LENGTH]);
        for side in [0, 1, 0, 1] {
            talk.cx.set_now(talk.cx.now() + Duration::from_millis(1));
            talk.speak(side);
        }
    }
    talk
}

/// Memory for one message, laid out as it leaves.
fn reserve(talk: &Talk) -> M {
    talk.sides[0].reserve(LENGTH, 1).expect("it knows how its packets lie").into_octets()
}

/// Where the octets lie that were sent.
fn places(said: &mut Said) -> Vec<Range<*const u8>> {
    let mut left = Vec::new();
    for asked in said.down.drain(..) {
        if let DatagramsRequest::Send { batch: messages, .. } = asked {
            for leaf in messages.into_octets().leaves() {
                let Leaf::Octets(octets) = leaf else { panic!("they are in memory") };
                left.push(octets.as_ptr_range());
            }
        }
    }
    left
}

/// The octets of messages that lie as they leave are not copied: each leaves from the block in
/// which it was written.
#[test]
fn what_is_written_in_place_leaves_from_there() {
    let mut talk = warm();
    let blocks: Vec<*const u8> = (1..=3)
        .map(|octet| {
            let mut message = reserve(&talk);
            let Side { layer, said } = &mut talk.sides[0];
            let mut first: *const u8 = std::ptr::null();
            for (_, piece) in message.segments_mut() {
                piece.fill(octet);
                if first.is_null() {
                    first = piece.as_ptr();
                }
            }
            let send = DatagramsRequest::Send {
                association: NAME,
                batch: message.into(),
                properties: MessageProperties::default(),
            };
            layer.handle_request(&talk.cx, send, said);
            first
        })
        .collect();
    let Side { layer, said } = &mut talk.sides[0];
    layer.handle_timeout(&talk.cx, said);
    layer.flush(&talk.cx, said);
    let mut left = Vec::new();
    for asked in said.down.drain(..) {
        if let DatagramsRequest::Send { batch: messages, .. } = asked {
            for leaf in messages.into_octets().leaves() {
                let Leaf::Octets(octets) = leaf else { panic!("they are in memory") };
                left.push(octets.as_ptr_range());
            }
        }
    }
    assert_eq!(left.len(), blocks.len(), "one piece for each message");
    for (block, left) in blocks.iter().zip(&left) {
        assert!(left.contains(block), "{block:?} lies in {left:?}");
    }
}

/// Puts four octets before each message.
struct Prefix;

impl Protocol for Prefix {
    const FACTS: Facts = Facts { header_room: 4, ..Facts::named("prefix") };
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        _: &Context,
        mut word: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        if let DatagramsRequest::Send { batch: messages, .. } = &mut word {
            messages.single_mut().push_front(4).copy_from_slice(b"head");
        }
        out.request(word);
    }

    fn handle_indication(
        &mut self,
        _: &Context,
        word: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        out.indicate(word);
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Self::Uses>) {
        ask_behind_header::<M, _>(4, about, question, below);
    }
}

/// What is reserved above a layer with a header leaves from where it was written, too: the header
/// is written before it, in the same block.
#[test]
fn what_is_written_above_another_header_leaves_from_where_it_lies() {
    let Talk { cx, sides: [Side { layer, mut said }, mut there], .. } = warm();
    let mut stack = Over::new(Prefix, layer);
    assert_eq!(
        ask(&stack, NAME, Longest, &NothingBelow),
        ask(&stack.lower, NAME, Longest, &NothingBelow).map(|all| all - 4)
    );
    assert!(ask(&stack, NAME, RoundTrip, &NothingBelow).is_some_and(|time| time > Duration::ZERO));
    assert_eq!(ask(&stack, NAME, Peer, &NothingBelow), None, "UDP knows it, which is not there");
    let before = ask(&stack, NAME, Counters, &NothingBelow).expect("it counts its packets");
    assert!(before.sent > before.received && before.received > 0, "{before:?}");
    let reserved =
        ask(&stack, NAME, Reserve::<M>::new(LENGTH, 9), &NothingBelow).expect("laid out below");
    assert_eq!(reserved.count(), 1, "a header of a layer above is cut with its message");
    let (mut message, mut expected) = (reserved.into_octets(), b"head".to_vec());
    assert_eq!(message.len(), LENGTH);
    let mut at = None;
    for (_, piece) in message.segments_mut() {
        piece.fill(7);
        at = at.or(Some(piece.as_ptr()));
    }
    expected.extend([7; LENGTH]);
    let (messages, properties) = (message.into(), MessageProperties::default());
    stack.handle_request(
        &cx,
        DatagramsRequest::Send { association: NAME, batch: messages, properties },
        &mut said,
    );
    stack.flush(&cx, &mut said);
    let (at, association) = (at.unwrap(), there.said.below.unwrap());
    let sent: Vec<M> = said
        .down
        .iter()
        .filter_map(|asked| match asked {
            DatagramsRequest::Send { batch: messages, .. } => Some(messages.as_octets().share()),
            _ => None,
        })
        .collect();
    let packets = said.down.iter().filter_map(|asked| match asked {
        DatagramsRequest::Send { batch: messages, .. } => Some(messages.count() as u64),
        _ => None,
    });
    let packets: u64 = packets.sum();
    assert_eq!(ask(&stack, NAME, Counters, &NothingBelow).unwrap().sent, before.sent + packets);
    let left = places(&mut said);
    assert!(left.len() == 1 && left[0].contains(&at), "{at:?} lies in {left:?}");
    for run in sent {
        // Its packets are what is received: as one batch.
        let size = run.len().div_ceil(packets as usize);
        let told = DatagramsIndication::Delivered {
            association,
            batch: Batch::new(M::with_headroom(0, &octets(&run)), size),
            properties,
        };
        there.tell(&cx, told);
    }
    assert_eq!(there.said.came.last(), Some(&expected));
}

/// What does not lie as it should by the time it leaves is copied.
#[test]
fn a_draft_that_was_cut_off_leaves_all_the_same() {
    let mut talk = Talk::new(true, None);
    for side in [0, 1, 0] {
        talk.speak(side);
    }
    let said: Vec<Vec<u8>> =
        [LENGTH - 1, LENGTH / 2, 3000, 1, 0].map(|octets| vec![octets as u8; octets]).into();
    for octets in &said {
        let mut message = reserve(&talk);
        message.segments_mut().for_each(|(_, segment)| segment.fill(octets.len() as u8));
        message.truncate(octets.len());
        talk.sides[0].send(&talk.cx, message);
    }
    assert!(talk.sides[0].reserve(1000, 1).is_none(), "one packet");
    assert!(talk.sides[0].reserve(60_000, 1).is_some());
    assert!(talk.sides[0].reserve(70_000, 1).is_none(), "several runs");
    talk.sides[1].ask(&talk.cx, DatagramsRequest::Credit { association: NAME, credit: MUCH });
    for _ in 0..100 {
        talk.cx.set_now(talk.cx.now() + Duration::from_millis(1));
        talk.speak(0);
        talk.speak(1);
    }
    let came = &talk.sides[1].said.came;
    assert!(*came == said, "{:?}", came.iter().map(Vec::len).collect::<Vec<_>>());
}

/// How many packets of a message leave at once after a second in which nothing did, where all of it
/// did before.
fn packets_after_a_rest(in_place: bool) -> usize {
    let mut talk = Talk::new(true, None);
    let say = |talk: &mut Talk| {
        if in_place {
            talk.sides[0].say_in_place(&talk.cx, 7, LENGTH);
        } else {
            talk.sides[0].say(&talk.cx, &[7; LENGTH]);
        }
        let before = talk.packets[0].len();
        talk.speak(0);
        talk.packets[0].len() - before
    };
    for side in [0, 1, 0] {
        talk.speak(side);
    }
    talk.sides[1].ask(&talk.cx, DatagramsRequest::Credit { association: NAME, credit: MUCH });
    let mut left = 0;
    for _ in 0..100 {
        left = say(&mut talk);
        for _ in 0..10 {
            talk.cx.set_now(talk.cx.now() + Duration::from_millis(1));
            talk.speak(1);
            talk.speak(0);
        }
    }
    assert!(left > 3, "the window takes a message");
    talk.cx.set_now(talk.cx.now() + Duration::from_secs(1));
    say(&mut talk)
}

#[test]
fn what_leaves_in_place_after_a_rest_is_no_more_than_what_is_copied() {
    assert_eq!([false, true].map(packets_after_a_rest), [3, 3]);
}
