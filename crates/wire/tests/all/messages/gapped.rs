//! Gapped buffers against a list of their gaps and segments.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use stackwright_wire::{BufferTree, Message, Pool, SegmentLayout, SingleBuffer};

use crate::messages::{agree, run_steps, step};

/// Packets that lie behind each other in a block.
#[derive(Clone, Debug)]
struct Packets {
    layout: SegmentLayout,
    /// What lies before them.
    headroom: usize,
    block: Vec<u8>,
}

/// A gap and the segment behind it.
type Place = (Range<usize>, Range<usize>);

impl Packets {
    fn message<M: Message>(&self) -> M {
        let mut message = M::from_block(self.block.clone().into(), self.headroom, self.block.len());
        message.drop_gaps(&self.layout);
        message
    }

    fn places(&self) -> Vec<Place> {
        let (stride, segments) = (self.layout.stride(), self.layout.segments());
        let starts = (self.headroom..self.block.len()).step_by(stride).enumerate();
        let places = starts.map(|(place, start)| {
            let segment = start + self.layout.gap(place % segments);
            (start..segment, segment..self.block.len().min(start + stride))
        });
        let mut places: Vec<_> = places.collect();
        places[0].0.start = 0;
        places
    }

    fn octets(&self, places: &[Place]) -> Vec<u8> {
        places.iter().flat_map(|(_, segment)| &self.block[segment.clone()]).copied().collect()
    }

    /// The octets of each of its messages.
    fn messages(&self) -> Vec<Vec<u8>> {
        self.places().chunks(self.layout.segments()).map(|places| self.octets(places)).collect()
    }
}

/// Any, also those that are no gapped buffer: with short segments, or messages of several lengths.
fn packets() -> impl Strategy<Value = Packets> {
    let gaps = (0..30_usize, 0..30_usize, 0..30_usize);
    (60..160_usize, 1..6_usize, gaps, 1..20_usize, 0..40_usize, 0..40_usize).prop_map(
        |(stride, segments, (first, gap, last), count, short, headroom)| {
            let layout = SegmentLayout::new(stride, gap).in_messages(segments, first, last);
            let short = short.min(layout.octets((count - 1) % segments) - 1);
            let octets = headroom + count * stride - short;
            Packets {
                layout,
                headroom,
                block: (0..octets).map(|octet| (octet / 3) as u8).collect(),
            }
        },
    )
}

/// Whole messages of several segments that are a gapped buffer; a single one may be shorter.
fn gapped() -> impl Strategy<Value = Packets> {
    let gaps = (0..30_usize, 0..30_usize, 0..30_usize);
    (100..160_usize, 2..6_usize, gaps, 1..5_usize, 0..40_usize, 0..40_usize).prop_map(
        |(stride, segments, (first, gap, last), messages, short, headroom)| {
            let layout = SegmentLayout::new(stride, gap).in_messages(segments, first, last);
            let short = if messages == 1 { short } else { 0 };
            let octets = headroom + messages * segments * stride - short;
            Packets {
                layout,
                headroom,
                block: (0..octets).map(|octet| (octet / 3) as u8).collect(),
            }
        },
    )
}

proptest! {
    /// It is a message like others, whatever is done to it.
    #[test]
    fn a_gapped_buffer_is_a_message(packets in packets(), steps in vec(step(), 0..20)) {
        let model = packets.octets(&packets.places());
        run_steps::<BufferTree>(&steps, packets.message(), model.clone());
        run_steps::<SingleBuffer>(&steps, packets.message(), model);
    }

    #[test]
    fn gaps_are_written_where_nobody_else_holds_the_block(
        packets in gapped(),
        (passed, before) in (0..700_usize, 0..60_usize),
        splits in vec((any::<bool>(), 0..300_usize), 0..6),
    ) {
        let (mut message, mut places) = (packets.message::<BufferTree>(), packets.places());
        let mut left = passed.min(message.len() - 1);
        message.advance(left);
        while left > 0 {
            let (gap, segment) = &mut places[0];
            let octets = left.min(segment.len());
            (gap.end, segment.start, left) = (gap.end + octets, segment.start + octets, left - octets);
            if segment.start == segment.end {
                places.remove(0);
            }
        }
        if places.len() == 1 {
            let only = places[0].1.clone();
            places[0].0 = only.start..only.start; // it is contiguous
        }
        let twin = message.share();
        prop_assert_eq!(message.segments_mut().len(), 0, "somebody else holds the block");
        drop(twin);

        // Split off in any way, each gap and each segment is lent once.
        let mut block = packets.block.clone();
        let mut segments = message.segments_mut();
        prop_assert_eq!(segments.len(), places.len());
        let all = places[places.len() - 1].1.end - places[0].0.start;
        prop_assert_eq!(segments.octets_with_gaps(), all);
        let mut lent = Vec::new();
        for (by_octets, most) in splits {
            let octets = |places: &[Place]| places.iter().map(|(_, segment)| segment.len()).sum::<usize>();
            let left = octets(&places) - octets(&lent);
            let head = if by_octets { segments.split_to(most) } else { segments.split_segments(most % 7) };
            let (count, mut got) = (head.len(), 0);
            for (place, (gap, segment)) in head.enumerate() {
                got += segment.len();
                // What was cut within a segment goes on without a gap.
                let whole = &places[lent.len()];
                let is_begun = gap.is_empty() && segment.len() < whole.1.len();
                prop_assert!(is_begun || gap == &block[whole.0.clone()], "gap {} of {}", place, count);
                gap.fill(0xaa);
                segment.iter_mut().for_each(|octet| *octet ^= 0xff);
                let end = places[lent.len()].1.start + segment.len();
                let (rest, gap) = (end..whole.1.end, whole.0.clone());
                block[gap].fill(0xaa);
                block[whole.1.start..end].iter_mut().for_each(|octet| *octet ^= 0xff);
                let begun = whole.1.start..end;
                let at = lent.len();
                if !rest.is_empty() {
                    places.insert(at + 1, (end..end, rest));
                    places[at].1 = begun;
                }
                lent.push(places[at].clone());
            }
            if by_octets {
                prop_assert_eq!(got, most.min(left));
            } else {
                prop_assert!(count == most % 7 || segments.len() == 0);
            }
        }
        prop_assert_eq!(segments.len(), places.len() - lent.len());
        for (gap, segment) in segments {
            let place = &places[lent.len()];
            prop_assert_eq!((&*gap, &*segment), (&block[place.0.clone()], &block[place.1.clone()]));
            gap.fill(0xaa);
            block[place.0.clone()].fill(0xaa);
            lent.push(place.clone());
        }
        prop_assert_eq!(&lent, &places);
        let model: Vec<u8> =
            places.iter().flat_map(|(_, segment)| &block[segment.clone()]).copied().collect();
        agree(&message, &model);

        // It leaves with its gaps in one piece.
        let mut segments = message.segments_mut();
        let places: Vec<_> = segments.by_ref().map(|(gap, segment)| (gap.len(), segment.len())).collect();
        if places.len() == 1 {
            prop_assert!(message.with_gaps(0, 1).is_none(), "it is contiguous");
            return Ok(());
        }
        let before = before.min(places[0].0);
        let (mut end, start) = (lent[0].1.start, lent[0].1.start - before);
        for count in 1..=places.len() {
            end += if count > 1 { places[count - 1].0 } else { 0 } + places[count - 1].1;
            let whole = message.with_gaps(before, count).expect("it has as many");
            agree(&whole, &block[start..end]);
            prop_assert_eq!(whole.leaves().count(), 1);
        }
        prop_assert!(message.with_gaps(places[0].0 + 1, 1).is_none(), "more than is before it");
        prop_assert!(message.with_gaps(0, places.len() + 1).is_none());
        prop_assert!(message.with_gaps(0, 0).is_none());
    }
}

/// The messages of `octets` octets that it holds, as they are lent to be read.
fn read<M: Message>(message: &M, octets: usize) -> Vec<Vec<u8>> {
    message
        .messages(octets)
        .map(|pieces| pieces.flat_map(|piece| piece.to_vec()).collect())
        .collect()
}

proptest! {
    /// Several messages are the same as if each were put together, whatever is taken from them.
    #[test]
    fn headers_of_messages_are_written_and_taken_off(
        packets in gapped(),
        header in vec(any::<u8>(), 1..4),
        (whole, more) in (0..6_usize, 0..800_usize),
    ) {
        let (mut models, count) = (packets.messages(), packets.layout.segments());
        let (octets, messages) = (models[0].len(), models.len());
        let mut message = packets.message::<BufferTree>();
        let room = packets.layout.gap(0);
        if room < header.len() {
            prop_assert!(!message.push_each(octets, &header), "there is no room before each");
            return Ok(());
        }
        prop_assert!(!message.push_each(octets + 1, &header), "they are not as long as that");
        prop_assert!(message.push_each(octets, &header), "there is room before each");
        for model in &mut models {
            model.splice(..0, header.iter().copied());
        }
        let octets = octets + header.len();
        agree(&message, &models.concat());
        prop_assert_eq!(message.segments_mut().len(), messages * count);
        let gaps: Vec<_> = message.segments_mut().map(|(gap, _)| gap.len()).collect();
        for (place, gap) in gaps.iter().enumerate().skip(1) {
            let less = if place % count == 0 { header.len() } else { 0 };
            prop_assert_eq!(gap + less, packets.layout.gap(place % count));
        }

        // They are taken off again, if each begins with it.
        let mut other = message.share();
        prop_assert!(!other.strip_each(octets + 1, &header), "they are not as long as that");
        prop_assert!(!other.strip_each(octets, &[&header[1..], &[header[0] ^ 1]].concat()));
        prop_assert!(!other.strip_each(octets, &[0; 200]), "their first segments are not as long");
        agree(&other, &models.concat());
        prop_assert!(other.strip_each(octets, &header));
        agree(&other, &packets.messages().concat());
        prop_assert!(!message.push_each(octets, b""), "somebody else holds the block");
        drop(other);

        // Message by message, and then somewhere within one.
        let whole = whole.min(messages - 1);
        for model in &models[..whole] {
            let one = message.split_to(octets);
            agree(&one, model);
            prop_assert_eq!(one.leaves().count(), count);
        }
        let (mut left, more) = (models[whole..].concat(), more.min((messages - whole) * octets - 1));
        agree(&message.split_to(more), &left[..more]);
        left.drain(..more);
        for octets in [octets, 17, left.len()] {
            let model: Vec<_> = left.chunks(octets).map(<[u8]>::to_vec).collect();
            prop_assert_eq!(read(&message, octets), model);
        }
        let mut behind = BufferTree::with_headroom(0, &[1; 70]);
        behind.join(message.share());
        let model = [&[1; 70][..], &left].concat();
        prop_assert_eq!(read(&behind, 50), model.chunks(50).map(<[u8]>::to_vec).collect::<Vec<_>>());
        drop(behind);
        if more % octets > 0 {
            let rest = octets - more % octets;
            prop_assert!(!message.push_each(octets, b""), "the first one is not whole");
            agree(&message.split_to(rest), &left[..rest]);
            agree(&message, &left[rest..]);
        }
    }

    /// What is cut off at the end is not as long as the others.
    #[test]
    fn what_is_cut_off_gets_no_header(packets in gapped(), less in 1..300_usize) {
        let (mut message, octets) = (packets.message::<BufferTree>(), packets.messages()[0].len());
        message.truncate(message.len().saturating_sub(less).max(1));
        // Nor if what is left could be divided into others.
        for count in 2..8 {
            let each = message.len() / count;
            prop_assert_eq!(message.push_each(each, b""), message.len() == octets * count);
        }
    }
}

/// Packets that were taken one by one are a gapped buffer all the same, in the block where they
/// came.
#[test]
fn packets_of_one_block_are_joined_as_one_piece() {
    let block: Vec<u8> = (0..600).map(|octet| (octet / 3) as u8).collect();
    let mut packets = BufferTree::from_block(block.clone().into(), 0, block.len());
    let mut message = packets.split_to(200);
    message.join(packets.split_to(200));
    message.join(packets);
    assert_eq!(message.leaves().count(), 1);
    message.drop_gaps(&SegmentLayout::new(200, 20));
    agree(&message, &[&block[20..200], &block[220..400], &block[420..]].concat());
    assert_eq!(message.segments_mut().map(|(gap, _)| gap.len()).collect::<Vec<_>>(), [20; 3]);
    let pool = Pool::new(600, 1);
    message.reclaim(&pool);
    assert_eq!(*pool.take(), *block, "it is the same block");
}

/// A layer takes its header off each packet of a batch, and the next one does the same.
#[test]
fn gaps_within_segments_join_the_gaps_before_them() {
    let block: Vec<u8> = (0..650).map(|octet| (octet / 3) as u8).collect();
    let mut packets = BufferTree::from_block(block.clone().into(), 50, block.len());
    packets.drop_gaps(&SegmentLayout::new(200, 20));
    let mut message = packets.split_to(180);
    message.join(packets);
    message.drop_gaps(&SegmentLayout::new(180, 30));
    agree(&message, &[&block[100..250], &block[300..450], &block[500..]].concat());
    assert_eq!(message.segments_mut().map(|(gap, _)| gap.len()).collect::<Vec<_>>(), [100, 50, 50]);
}

#[test]
fn the_rest_of_a_message_gets_no_header() {
    let mut message = BufferTree::with_headroom(0, &[7; 300]);
    message.drop_gaps(&SegmentLayout::new(100, 10).in_messages(3, 10, 10));
    message.advance(90);
    assert!(!message.push_each(180, b"header"));
}

#[test]
#[should_panic(expected = "advance within the length")]
fn a_packet_is_not_shorter_than_its_gap() {
    let mut message = BufferTree::with_headroom(0, &[7; 110]);
    message.drop_gaps(&SegmentLayout::new(100, 20));
}

#[test]
#[should_panic(expected = "a packet has a segment")]
fn a_layout_has_segments() {
    SegmentLayout::new(20, 20);
}
