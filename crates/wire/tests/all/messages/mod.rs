//! Both kinds of message against a plain vector, under whatever is done to them.

mod gapped;

use proptest::collection::vec;
use proptest::prelude::*;
use stackwright_wire::{BufferTree, Leaf, Message, Pool, Region, SegmentLayout, SingleBuffer};
use std::mem;
use std::sync::Arc;

/// Something done to a message. Numbers are reduced to what the message has, so that every one of
/// them is allowed.
#[derive(Clone, Debug)]
enum Step {
    Push(Vec<u8>),
    Advance(usize),
    Front(usize),
    Truncate(usize),
    /// Splits, and goes on with the first part or with the rest.
    Split(usize, bool),
    /// Splits and joins again, so that pieces which share a block lie beside each other.
    SplitAndJoin(usize),
    /// Joins a new message behind.
    Join(usize, Vec<u8>),
    /// Puts a new message in front.
    JoinTo(usize, Vec<u8>),
    /// Loses what stands before its segments, behind the first so many octets.
    DropGaps(usize, SegmentLayout),
    /// Splits, and keeps the first part alive while the rest gets headers.
    PushOntoTheRest(usize, Vec<u8>),
    /// Takes the same octets once more, and puts a header before one of the two.
    Share(Vec<u8>, bool),
    /// Gets a header, is shared while it has it, and loses it again, as a packet that is sent once
    /// more.
    Resend(Vec<u8>, bool),
    /// Is altered in place, while somebody else holds the same octets, or nobody does.
    Alter(u8, bool),
    /// Goes on as a copy in a block of a pool, which gets the memory of the original.
    CopyInto(usize),
    /// Goes on as a copy in a block of a pool that is a message without octets first.
    Refill(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let octets = || vec(any::<u8>(), 0..20);
    let number = || 0..60_usize;
    prop_oneof![
        octets().prop_map(Step::Push),
        vec(any::<u8>(), 250..600).prop_map(Step::Push),
        number().prop_map(Step::Advance),
        number().prop_map(Step::Front),
        number().prop_map(Step::Truncate),
        (number(), any::<bool>()).prop_map(|(at, first)| Step::Split(at, first)),
        number().prop_map(Step::SplitAndJoin),
        (number(), octets()).prop_map(|(room, octets)| Step::Join(room, octets)),
        (number(), octets()).prop_map(|(room, octets)| Step::JoinTo(room, octets)),
        (number(), layout()).prop_map(|(at, layout)| Step::DropGaps(at, layout)),
        (number(), octets()).prop_map(|(at, octets)| Step::PushOntoTheRest(at, octets)),
        (octets(), any::<bool>()).prop_map(|(octets, first)| Step::Share(octets, first)),
        (octets(), any::<bool>()).prop_map(|(octets, kept)| Step::Resend(octets, kept)),
        (any::<u8>(), any::<bool>()).prop_map(|(with, shared)| Step::Alter(with, shared)),
        number().prop_map(Step::CopyInto),
        number().prop_map(Step::Refill),
    ]
}

fn layout() -> impl Strategy<Value = SegmentLayout> {
    (1..200_usize, 1..9_usize, 0..30_usize, 0..30_usize, 0..30_usize).prop_map(
        |(stride, segments, first, gap, last)| {
            let [first, gap, last] = [first, gap, last].map(|gap| gap.min(stride - 1));
            SegmentLayout::new(stride, gap).in_messages(segments, first, last)
        },
    )
}

fn push<M: Message>(message: &mut M, model: &mut Vec<u8>, octets: &[u8]) {
    message.push_front(octets.len()).copy_from_slice(octets);
    model.splice(..0, octets.iter().copied());
}

/// Does one step to a message and to its model.
fn take<M: Message>(step: &Step, pool: &Pool<M>, message: &mut M, model: &mut Vec<u8>) {
    let within = |number: usize| number.min(model.len());
    match step {
        Step::Push(octets) => push(message, model, octets),
        Step::Advance(octets) => {
            let octets = within(*octets);
            message.advance(octets);
            model.drain(..octets);
        }
        Step::Front(octets) => assert_eq!(message.front(*octets), model.get(..*octets)),
        Step::Truncate(octets) => {
            message.truncate(*octets);
            model.truncate(*octets);
        }
        Step::Split(at, first) => {
            let at = within(*at);
            let head = message.split_to(at);
            let tail = model.split_off(at);
            if *first {
                agree(message, &tail);
                *message = head;
            } else {
                agree(&head, model);
                *model = tail;
            }
        }
        Step::SplitAndJoin(at) => {
            let mut head = message.split_to(within(*at));
            mem::swap(message, &mut head);
            message.join(head);
        }
        Step::Join(room, octets) => {
            message.join(M::with_headroom(*room, octets));
            model.extend(octets);
        }
        Step::JoinTo(room, octets) => {
            let rest = mem::replace(message, M::with_headroom(*room, octets));
            message.join(rest);
            model.splice(..0, octets.iter().copied());
        }
        Step::DropGaps(at, layout) => {
            let head = message.split_to(within(*at));
            let packets = model.split_off(within(*at));
            let last = packets.len() % layout.stride();
            let gap_of = |place: usize| layout.gap(place % layout.segments());
            if last < gap_of(packets.len() / layout.stride()) {
                message.truncate(packets.len() - last); // the last one is shorter than its gap
            }
            for (place, packet) in packets[..message.len()].chunks(layout.stride()).enumerate() {
                model.extend(&packet[gap_of(place)..]);
            }
            message.drop_gaps(layout);
            let rest = mem::replace(message, head);
            message.join(rest);
        }
        Step::PushOntoTheRest(at, octets) => {
            let head = message.split_to(within(*at));
            let mut tail = model.split_off(within(*at));
            push(message, &mut tail, octets);
            agree(&head, model);
            *model = tail;
        }
        Step::Share(octets, first) => {
            let mut twin = message.share();
            let mut longer = model.clone();
            push(if *first { &mut *message } else { &mut twin }, &mut longer, octets);
            agree(if *first { &twin } else { message }, model);
            if *first {
                *model = longer;
            } else {
                agree(&twin, &longer);
            }
        }
        Step::Resend(octets, kept) => {
            let packet = message.behind(octets);
            agree(message, model);
            let packet = if *kept { Some(packet) } else { None };
            push(message, model, octets);
            if let Some(packet) = packet {
                agree(&packet, model);
                packet.reclaim(pool);
            }
        }
        Step::Alter(with, shared) => {
            let twin = if *shared { Some(message.share()) } else { None };
            let before = model.clone();
            if let Some(octets) = message.unshared() {
                assert_eq!(octets.len(), model.len());
                octets.iter_mut().for_each(|octet| *octet ^= with);
                model.iter_mut().for_each(|octet| *octet ^= with);
            }
            if let Some(twin) = twin {
                agree(&twin, &before);
            }
        }
        Step::CopyInto(headroom) => {
            let copy = message.copy_into(pool, *headroom);
            assert!(copy.leaves().count() <= 1, "a copy is in one piece");
            mem::replace(message, copy).reclaim(pool);
        }
        Step::Refill(at) => {
            let block = pool.take();
            let at = (*at).min(block.len());
            let mut copy = M::from_block(block, at, at);
            agree(&copy, &[]);
            push(&mut copy, &mut Vec::new(), model);
            mem::replace(message, copy).reclaim(pool);
        }
    }
    agree(message, model);
}

fn agree<M: Message>(message: &M, model: &[u8]) {
    let mut octets = Vec::new();
    for leaf in message.leaves() {
        let Leaf::Octets(piece) = leaf else { panic!("no region was put in") };
        assert!(!piece.is_empty(), "no piece is empty");
        octets.extend_from_slice(piece);
    }
    assert_eq!(octets, model);
    assert_eq!((message.len(), message.is_empty()), (model.len(), model.is_empty()));
    let mut copy = vec![0; model.len() + 1];
    assert_eq!(message.copy_to(&mut copy), model.len());
    assert_eq!(&copy[..model.len()], model);
    let mut appended = vec![7];
    message.append_to(&mut appended);
    assert_eq!(&appended[1..], model);
}

fn run<M: Message>(steps: &[Step], headroom: usize, payload: &[u8]) {
    run_steps(steps, M::with_headroom(headroom, payload), payload.to_vec());
}

fn run_steps<M: Message>(steps: &[Step], mut message: M, mut model: Vec<u8>) {
    // Some messages are longer than its blocks, some shorter.
    let pool = Pool::new(128, 2);
    agree(&message, &model);
    for step in steps {
        take(step, &pool, &mut message, &mut model);
    }
}

proptest! {
    #[test]
    fn both_kinds_agree_with_a_vector(
        headroom in 0..80_usize, payload in vec(any::<u8>(), 0..120), steps in vec(step(), 0..40),
    ) {
        run::<SingleBuffer>(&steps, headroom, &payload);
        run::<BufferTree>(&steps, headroom, &payload);
    }
}

fn region(length: usize) -> Region {
    Region { source: Arc::new("a file"), offset: 1000, length }
}

fn shape(message: &BufferTree) -> Vec<String> {
    let words = message.leaves().map(|leaf| match leaf {
        Leaf::Octets(octets) => format!("{octets:?}"),
        Leaf::Region(region) => format!("{region:?}"),
    });
    words.collect()
}

#[test]
fn what_one_holds_in_one_piece_is_altered_in_place() {
    let mut message = BufferTree::with_headroom(8, &[1; 100]);
    assert!(message.unshared().is_some());
    let twin = message.share();
    assert!(message.unshared().is_none(), "somebody else holds it");
    drop(twin);
    assert_eq!(message.unshared().map(|octets| octets.len()), Some(100));
    message.join(BufferTree::with_headroom(0, &[2; 100]));
    assert!(message.unshared().is_none(), "it lies in two pieces");
    message.advance(100);
    assert!(message.unshared().is_some());
    let mut file = BufferTree::from_region(region(10)).expect("a rope holds regions");
    assert!(file.unshared().is_none(), "it lies in a file");
}

/// A region is cut and moved like octets, and never read.
#[test]
fn regions() {
    let mut message = BufferTree::from_region(region(100)).expect("a buffer tree holds regions");
    message.push_front(2).copy_from_slice(&[7, 8]);
    assert_eq!((message.len(), message.front(2).map(<[u8]>::to_vec)), (102, Some(vec![7, 8])));
    assert_eq!(message.front(3), None, "the third octet is still in the file");
    let head = message.split_to(12);
    assert_eq!(shape(&head), ["[7, 8]", "Region(1000..+10)"]);
    assert_eq!(shape(&message), ["Region(1010..+90)"]);
    message.advance(5);
    message.truncate(20);
    assert_eq!(shape(&message), ["Region(1015..+20)"]);
    assert_eq!(message.front(0), Some(&[][..]), "nothing is asked of the file");
    message.push_front(0);
    assert_eq!(shape(&message), ["Region(1015..+20)"]);
    assert_eq!(head.copy_to(&mut [0; 12]), 2);
    assert!(SingleBuffer::from_region(region(3)).is_err_and(|back| back.length == 3));
}

#[test]
#[should_panic(expected = "a region of a file is not in memory")]
fn a_region_is_not_copied() {
    let mut message = BufferTree::from_region(region(5)).expect("a buffer tree holds regions");
    message.push_front(3);
    let _ = message.copy_into(&Pool::new(64, 1), 0);
}

/// What has no octets any more keeps no file open.
#[test]
fn a_region_that_is_used_up_is_let_go() {
    let whole = region(5);
    let taken: [fn(&mut BufferTree); 2] =
        [|message| message.advance(5), |message| message.truncate(0)];
    for take in taken {
        let mut message =
            BufferTree::from_region(whole.clone()).expect("a buffer tree holds regions");
        take(&mut message);
        assert_eq!((message.len(), Arc::strong_count(&whole.source)), (0, 1));
    }
    let none = BufferTree::from_region(Region { length: 0, ..whole.clone() });
    assert_eq!((none.map(|none| none.len()).ok(), Arc::strong_count(&whole.source)), (Some(0), 1));
}

/// A message is moved from layer to layer, and in a graph within a word. A rope has two pieces in
/// place, or a header of up to 39 octets and a piece.
#[test]
#[cfg(target_pointer_width = "64")]
fn messages_are_small() {
    assert_eq!(size_of::<SingleBuffer>(), 32);
    assert_eq!(size_of::<BufferTree>(), 80);
}

#[test]
fn a_rope_of_single_octets_is_held_in_few_pieces() {
    let mut rope = BufferTree::with_headroom(0, b"first");
    for n in 0..10_000u32 {
        rope.join(BufferTree::with_headroom(0, &[n as u8]));
    }
    assert_eq!(rope.len(), 10_005);
    assert!(rope.leaves().count() < 30, "{} pieces", rope.leaves().count());
    let mut octets = vec![0; 10_005];
    assert_eq!(rope.copy_to(&mut octets), 10_005);
    assert!(octets[5..].iter().enumerate().all(|(n, octet)| *octet == n as u8));
}
