//! Messages that lie apart in one block, and several of them behind each other.

use proptest::collection::vec;
use proptest::prelude::*;
use stackwright_wire::{BufferTree, Layout, Message, SingleBuffer, Strides};

use crate::agree;

proptest! {
    /// What lies apart in one block is written between, and leaves in one piece; not while somebody else holds it.
    #[test]
    fn gaps_are_written_where_nobody_else_holds_the_block(
        parts in (100..200_usize, 1..9_usize, 0..30_usize, 0..30_usize),
        last in 40..100_usize,
        headroom in 0..40_usize,
        passed in 0..110_usize,
    ) {
        let (stride, count, skip, skip_last) = parts;
        let parts = Strides { stride, count, skip, skip_last };
        let block: Vec<u8> = (0..headroom + count * stride + last).map(|octet| octet as u8).collect();
        let mut behind = BufferTree::from_block(block.clone().into(), headroom, block.len());
        let mut message = behind.split_to(stride);
        prop_assert_eq!(message.stretches().count(), 0, "it lies in one piece");
        message.join_parts(&mut behind, &parts);
        drop(behind);
        message.advance(passed);
        // Where its parts lie now.
        let mut places = vec![(0, headroom, headroom + stride)];
        for place in 1..=count {
            let start = headroom + place * stride;
            let skip = if place == count { skip_last } else { skip };
            places.push((skip, start + skip, block.len().min(start + stride)));
        }
        places[0].0 = headroom;
        let mut left = passed;
        loop {
            let (before, start, end) = &mut places[0];
            let octets = left.min(*end - *start);
            (*before, *start, left) = (*before + octets, *start + octets, left - octets);
            if start < end || places.len() == 1 {
                break;
            }
            places.remove(0);
        }
        if places.len() == 1 {
            prop_assert_eq!(message.stretches().count(), 0, "one part is one piece");
            return Ok(());
        }
        let mut next = places.iter();
        for mut stretch in message.stretches() {
            while stretch.count() > 0 {
                let (gap, part) = (stretch.first_gap(), stretch.first_part());
                let packet = stretch.split_to(1).packets().next().expect("there is one");
                let (before, start, end) = next.next().expect("no more than there are");
                prop_assert_eq!((gap, part), (*before, end - start));
                prop_assert_eq!(&*packet, &block[start - before..*end]);
                packet[..gap].fill(0xaa);
            }
        }
        prop_assert_eq!(next.count(), 0);
        for of in 1..=places.len() {
            let before = places[0].0.min(7);
            let whole = message.with_gaps(before, of).expect("it has so many");
            let mut expected = vec![0xaa; before];
            for (place, (gap, start, end)) in places[..of].iter().enumerate() {
                expected.extend(vec![0xaa; if place == 0 { 0 } else { *gap }]);
                expected.extend(&block[*start..*end]);
            }
            agree(&whole, &expected);
            prop_assert_eq!(whole.leaves().count(), 1);
            prop_assert_eq!(message.stretches().count(), 0, "somebody else holds the block");
        }
        prop_assert!(message.with_gaps(places[0].0 + 1, 1).is_none(), "more than is before it");
        prop_assert!(message.with_gaps(0, places.len() + 1).is_none());
    }
}

proptest! {
    /// Packets of one length are one stretch, whatever stands before their parts, and whoever takes some of them knows which end a message.
    #[test]
    fn packets_of_one_length_lie_in_one_stretch(
        (part, count, skip, padding) in (70..200_usize, 1..6_usize, 4..30_usize, 0..9_usize),
        (messages, headroom, uneven) in (1..6_usize, 0..40_usize, 0..4_usize),
        (passed, takes) in (0..30_usize, vec(0..9_usize, 1..6)),
    ) {
        let stride = skip + part;
        let first = skip + headroom..skip + headroom + part;
        let last = part - padding - uneven;
        let parts = Strides { stride, count, skip, skip_last: skip + padding };
        let end = first.end + count * stride - uneven;
        let block = vec![0; end + (messages - 1) * (end - first.start + skip)];
        let layout = Layout { first: first.clone(), parts, end, messages, gap: skip };
        let mut message = BufferTree::laid_out(block.into(), &layout);
        // How long what is before each part is, and each part.
        let one = [vec![(skip, part); count], vec![(skip + padding, last)]].concat();
        let mut places = one.repeat(messages);
        places[0].0 += headroom;
        // One part alone is one piece.
        let passed = passed.min(places.len() - 2);
        message.advance(places.drain(..passed).map(|(_, part)| part).sum());

        let mut takes = takes.into_iter().cycle();
        let (mut place, mut count_of_stretches) = (0, 0);
        for mut stretch in message.stretches() {
            count_of_stretches += 1;
            let mut some = stretch.split_to(takes.next().expect("it repeats itself"));
            for stretch in [&mut some, &mut stretch] {
                prop_assert!(stretch.count() == 0 || stretch.first_gap() == places[place].0);
                while let Some((between, ends)) = stretch.split_message() {
                    let between = between.map(|packet| (packet, false));
                    for (packet, is_last) in between.chain(ends.map(|packet| (packet, true))) {
                        prop_assert_eq!(packet.len(), places[place].0 + places[place].1);
                        prop_assert_eq!(is_last, (passed + place) % (count + 1) == count, "{}", place);
                        place += 1;
                    }
                }
            }
        }
        prop_assert_eq!(place, places.len());
        if uneven == 0 {
            prop_assert_eq!(count_of_stretches, 1 + usize::from(passed == 0 && headroom > 0));
        }
    }
}

proptest! {
    /// What lies behind a message as it does is a message, too.
    #[test]
    fn messages_that_came_alike_are_joined(
        (stride, count, lead) in (80..200_usize, 2..6_usize, 1..70_usize),
        (padding, messages, behind) in (0..8_usize, 2..6_usize, 0..300_usize),
    ) {
        let whole = count * stride;
        let block: Vec<u8> = (0..messages * whole + behind).map(|octet| (octet / 3) as u8).collect();
        let mut rest = BufferTree::from_block(block.clone().into(), 0, block.len());
        let mut message = rest.split_to(stride);
        message.advance(lead);
        let parts = Strides { stride, count: count - 1, skip: lead, skip_last: lead + padding };
        message.join_parts(&mut rest, &parts);
        let mut model = Vec::new();
        for (place, packet) in block[..messages * whole].chunks(stride).enumerate() {
            model.extend(&packet[lead + if place % count == count - 1 { padding } else { 0 }..]);
        }
        let one = model.len() / messages;
        agree(&message, &model[..one]);
        let more = messages - 1;
        prop_assert!(!message.join_alike(&mut rest, more, whole, lead + 1), "it does not follow so");
        prop_assert!(!message.join_alike(&mut rest, more + 4, whole, lead), "there are not so many");
        // A part that is hardly longer than what is kept of it was copied.
        if stride - lead > 64 {
            prop_assert!(message.join_alike(&mut rest, more, whole, lead));
            agree(&message, &model);
            for model in model.chunks(one) {
                agree(&message.split_to(one), model);
            }
            agree(&rest, &block[messages * whole..]);
        }
    }
}

/// The messages of so many octets that it holds, as they are lent to be read.
fn read<M: Message>(message: &M, octets: usize) -> Vec<Vec<u8>> {
    message.messages(octets).map(|pieces| pieces.flat_map(|piece| piece.to_vec()).collect()).collect()
}

/// The same, as they are lent to be written.
fn apart<M: Message>(message: &mut M, octets: usize) -> Vec<Vec<u8>> {
    message.messages_mut(octets).map(|pieces| pieces.flat_map(|piece| piece.to_vec()).collect()).collect()
}

proptest! {
    /// Messages that are laid out behind each other are the same as if each were put together, whatever is taken from them.
    #[test]
    fn messages_are_laid_out_behind_each_other(
        parts in (90..200_usize, 1..5_usize, 8..30_usize, 8..30_usize),
        (first, last, gap, messages) in (10..100_usize, 20..60_usize, 4..20_usize, 1..6_usize),
        headroom in 4..40_usize,
        (whole, more, passed) in (0..6_usize, 0..800_usize, any::<bool>()),
        header in vec(any::<u8>(), 1..4),
    ) {
        let (stride, count, skip, skip_last) = parts;
        let first = headroom..headroom + first;
        let end = first.end + (count - 1) * stride + skip_last + last;
        let parts = Strides { stride, count, skip, skip_last };
        let layout = Layout { first: first.clone(), parts, end, messages, gap };
        let length = end + (messages - 1) * (end + gap - headroom);
        let block: Vec<u8> = (0..length).map(|octet| (octet / 3) as u8).collect();

        // Each of them, part by part.
        let mut models = Vec::new();
        for message in 0..messages {
            let begin = message * (end + gap - headroom);
            let mut model = block[begin + first.start..begin + first.end].to_vec();
            for place in 1..=count {
                let start = begin + first.end + (place - 1) * stride;
                let (skip, end) = if place == count { (skip_last, begin + end) } else { (skip, start + stride) };
                model.extend(&block[start + skip..end]);
            }
            models.push(model);
        }
        let octets = models[0].len();
        let mut message = BufferTree::laid_out(block.clone().into(), &layout);
        agree(&message, &models.concat());
        let mut single = SingleBuffer::laid_out(block.clone().into(), &layout);
        agree(&single, &models.concat());
        prop_assert_eq!(read(&single, octets), &models[..]);
        prop_assert_eq!(read(&message, octets), &models[..]);
        prop_assert_eq!(apart(&mut single, octets), &models[..]);
        prop_assert_eq!(apart(&mut message, octets), &models[..]);
        prop_assert_eq!(apart(&mut BufferTree::with_headroom(3, &models.concat()), octets), &models[..]);
        let pieces: usize = message.stretches().map(|stretch| stretch.count()).sum();
        prop_assert_eq!(pieces, messages * (count + 1));

        prop_assert!(!message.push_each(octets + 1, &header), "they are not as long as that");
        prop_assert!(message.push_each(octets, &header), "there is room before each");
        for model in &mut models {
            model.splice(..0, header.iter().copied());
        }
        let octets = octets + header.len();
        agree(&message, &models.concat());

        // It is taken off again, if each begins with it.
        let mut other = message.share();
        prop_assert!(!other.strip_each(octets + 1, &header), "they are not as long as that");
        prop_assert!(!other.strip_each(octets, &[&header[1..], &[header[0] ^ 1]].concat()));
        prop_assert!(!other.strip_each(octets, &[0; 200]), "their first parts are not as long");
        agree(&other, &models.concat());
        prop_assert!(other.strip_each(octets, &header));
        agree(&other, &models.iter().flat_map(|model| &model[header.len()..]).copied().collect::<Vec<_>>());
        drop(other);

        // In one piece, with what stands between them.
        let all = message.with_gaps(0, messages * (count + 1)).expect("it has so many");
        let mut expected = block[headroom - header.len()..].to_vec();
        for message in 0..messages {
            let begin = message * (end + gap - headroom);
            expected[begin..begin + header.len()].copy_from_slice(&header);
        }
        agree(&all, &expected);
        prop_assert!(message.with_gaps(0, messages * (count + 1) + 1).is_none());
        let upto = message.with_gaps(0, count + 2);
        prop_assert_eq!(upto.is_some(), messages > 1);
        if let Some(upto) = upto {
            agree(&upto, &expected[..end + gap - headroom + first.len() + header.len()]);
        }
        prop_assert!(!message.push_each(octets, b"x"), "somebody else holds the block");
        drop(all);

        // Message by message, and then somewhere within one.
        let whole = whole.min(messages - 1);
        for model in &models[..whole] {
            let one = message.split_to(octets);
            agree(&one, model);
            prop_assert_eq!(one.leaves().count(), count + 1);
        }
        let (mut left, more) = (models[whole..].concat(), more.min((messages - whole) * octets - 1));
        if passed {
            message.advance(more);
        } else {
            agree(&message.split_to(more), &left[..more]);
        }
        left.drain(..more);
        agree(&message, &left);
        // As messages of any length, wherever they begin.
        for octets in [octets, 17, left.len()] {
            prop_assert_eq!(read(&message, octets), left.chunks(octets).map(<[u8]>::to_vec).collect::<Vec<_>>());
        }
        let mut behind = BufferTree::with_headroom(0, &[1; 70]);
        behind.join(message.share());
        let model = [&[1; 70][..], &left].concat();
        prop_assert_eq!(read(&behind, 50), model.chunks(50).map(<[u8]>::to_vec).collect::<Vec<_>>());
        drop(behind);
        if passed && more % octets > 0 && left.len() > octets {
            prop_assert!(!message.push_each(octets, b"x"), "the first one is not whole");
        }
        // What is left of one is split off as well.
        let rest = octets - more % octets;
        agree(&message.split_to(rest), &left[..rest]);
        agree(&message, &left[rest..]);
    }
}
