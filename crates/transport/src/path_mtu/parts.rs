//! Reassembles packets that arrive in parts.

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use stackwright_wire::Message;

use crate::words::{Dropped, Label};

/// The most packets that may be incomplete at once. Beyond it the one that was begun first is
/// discarded: it is sent again.
const INCOMPLETE_MOST: usize = 64;

/// The most separate spans of one packet: more than the longest packet has parts of
/// [`BASE`](super::BASE).
const APART_MOST: usize = 64;

/// The incomplete packets.
///
/// Octets are copied into a block of the packet's length: a slice of a received buffer would hold
/// the block that the kernel filled, however short the slice is.
#[derive(Clone, Debug, Default)]
pub struct PacketParts {
    incomplete: VecDeque<Incomplete>,
}

#[derive(Clone, Debug)]
struct Incomplete {
    number: u64,
    /// The label of the fragment: equal in all parts.
    label: Label,
    octets: Box<[u8]>,
    /// The spans that have arrived: ascending, and none adjacent to the next.
    here: Vec<Range<usize>>,
}

/// The place of a part.
#[derive(Clone, Copy, Debug)]
pub struct PartPlace {
    /// Its offset.
    pub offset: usize,
    /// The octets of the whole body.
    pub whole: usize,
}

impl PacketParts {
    /// Creates the parts of nothing.
    pub const fn new() -> Self {
        PacketParts { incomplete: VecDeque::new() }
    }

    /// Takes the part `body` of the packet `number`; sequence numbers before `received` are
    /// complete. Returns the packet if it is complete now.
    ///
    /// # Errors
    /// [`Dropped::Malformed`] if it contradicts itself, or another part.
    pub fn take<M: Message>(
        &mut self,
        received: u64,
        number: u64,
        label: Label,
        place: PartPlace,
        body: &M,
    ) -> Result<Option<M>, Dropped> {
        let span = place.offset..place.offset + body.len();
        if body.is_empty() || span.end > place.whole {
            return Err(Dropped::Malformed);
        }
        let at = match self.incomplete.iter().position(|packet| packet.number == number) {
            Some(at) => at,
            None => self.begin(received, number, label, place.whole),
        };
        let packet = &mut self.incomplete[at];
        if packet.octets.len() != place.whole
            || packet.label != label
            || !packet.enter(span.clone())
        {
            // Either of them may be the false one: neither may block what is sent again.
            self.incomplete.remove(at);
            return Err(Dropped::Malformed);
        }
        body.copy_to(&mut packet.octets[span]);
        if packet.here.first() != Some(&(0..place.whole)) {
            return Ok(None);
        }
        let whole = self.incomplete.remove(at).map(|packet| packet.octets.into_vec());
        if self.incomplete.is_empty() {
            self.incomplete = VecDeque::new();
        }
        Ok(whole.map(|octets| M::from_block(M::Block::from(octets), 0, place.whole)))
    }

    fn begin(&mut self, received: u64, number: u64, label: Label, whole: usize) -> usize {
        self.incomplete.retain(|packet| packet.number >= received);
        if self.incomplete.len() == INCOMPLETE_MOST {
            self.incomplete.pop_front();
        }
        let octets = vec![0; whole].into_boxed_slice();
        self.incomplete.push_back(Incomplete { number, label, octets, here: Vec::new() });
        self.incomplete.len() - 1
    }
}

impl Incomplete {
    /// Records that these octets have arrived. Returns `false` if the packet has too many separate
    /// spans.
    fn enter(&mut self, span: Range<usize>) -> bool {
        let first = self.here.partition_point(|here| here.end < span.start);
        let last = self.here.partition_point(|here| here.start <= span.end);
        if first == last && self.here.len() == APART_MOST {
            return false;
        }
        let joined = self.here[first..last]
            .iter()
            .fold(span, |joined, here| joined.start.min(here.start)..joined.end.max(here.end));
        self.here.splice(first..last, [joined]);
        true
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use proptest::prelude::*;
    use stackwright_wire::BufferTree;

    use super::*;

    fn take(
        parts: &mut PacketParts,
        number: u64,
        offset: usize,
        whole: usize,
        octets: &[u8],
    ) -> Result<Option<Vec<u8>>, Dropped> {
        let body = BufferTree::with_headroom(0, octets);
        let taken = parts.take(0, number, Label::default(), PartPlace { offset, whole }, &body)?;
        Ok(taken.map(|message| {
            let mut octets = vec![0; message.len()];
            message.copy_to(&mut octets);
            octets
        }))
    }

    #[test]
    fn parts_that_contradict_themselves_or_each_other_are_malformed() {
        let parts = &mut PacketParts::default();
        assert_eq!(take(parts, 1, 0, 9, b""), Err(Dropped::Malformed));
        assert_eq!(take(parts, 1, 5, 9, b"12345"), Err(Dropped::Malformed));
        assert_eq!(take(parts, 1, usize::from(u16::MAX), 9, b"1"), Err(Dropped::Malformed));
        assert!(parts.incomplete.is_empty());
        assert_eq!(take(parts, 1, 0, 9, b"1234"), Ok(None));
        assert_eq!(take(parts, 1, 4, 8, b"5678"), Err(Dropped::Malformed));
        assert_eq!(take(parts, 1, 0, 9, b"1234"), Ok(None), "it begins again");
        let other = Label { index: 1, ..Label::default() };
        let body = BufferTree::with_headroom(0, b"56789");
        let place = PartPlace { offset: 4, whole: 9 };
        assert!(matches!(parts.take(0, 1, other, place, &body), Err(Dropped::Malformed)));
        assert_eq!(take(parts, 1, 4, 9, b"56789"), Ok(None));
        assert_eq!(take(parts, 1, 0, 9, b"1234"), Ok(Some(b"123456789".to_vec())));
        assert_eq!(parts.incomplete.capacity(), 0);
    }

    #[test]
    fn no_more_than_sixty_four_packets_are_incomplete_and_the_first_is_given_up() {
        let parts = &mut PacketParts::default();
        for number in 0..1000 {
            assert_eq!(take(parts, number, 0, 2, b"1"), Ok(None));
        }
        assert_eq!(parts.incomplete.len(), INCOMPLETE_MOST);
        assert_eq!(take(parts, 999, 1, 2, b"2"), Ok(Some(b"12".to_vec())));
        assert_eq!(take(parts, 935, 1, 2, b"2"), Ok(None), "its beginning is forgotten");
    }

    #[test]
    fn a_packet_in_crumbs_does_not_make_memory_grow() {
        let parts = &mut PacketParts::default();
        for nth in 0..30_000 {
            let taken = take(parts, 1, 2 * nth, 65_000, b"1");
            assert_eq!(taken.is_ok(), nth % (APART_MOST + 1) < APART_MOST);
            assert!(parts.incomplete.iter().all(|packet| packet.here.len() <= APART_MOST));
        }
    }

    #[test]
    fn what_was_received_otherwise_is_forgotten() {
        let parts = &mut PacketParts::default();
        assert_eq!(take(parts, 1, 0, 2, b"1"), Ok(None));
        let body = BufferTree::with_headroom(0, b"1");
        let place = PartPlace { offset: 0, whole: 2 };
        assert!(matches!(parts.take(2, 2, Label::default(), place, &body), Ok(None)));
        assert_eq!(parts.incomplete.len(), 1);
    }

    proptest! {
        #[test]
        fn parts_in_any_order_and_as_often_as_you_like_make_the_packet_that_was_cut(
            octets in prop::collection::vec(any::<u8>(), 1..5000),
            lengths in prop::collection::vec(100_usize..2000, 1..4),
            order in prop::collection::vec(any::<(prop::sample::Index, usize)>(), 0..200),
        ) {
            // However it was cut: a retransmission may be cut otherwise.
            let mut cuts = Vec::new();
            for length in lengths {
                let starts = (0..octets.len()).step_by(length);
                cuts.extend(starts.map(|start| start..octets.len().min(start + length)));
            }
            let parts = &mut PacketParts::default();
            let mut here = vec![false; octets.len()];
            let by_chance: Vec<_> = order.iter().map(|(index, _)| index.get(&cuts).clone()).collect();
            for span in by_chance.into_iter().chain(cuts.clone()) {
                here[span.clone()].fill(true);
                let taken = take(parts, 1, span.start, octets.len(), &octets[span]).expect("a true part");
                prop_assert_eq!(taken.is_some(), here.iter().all(|here| *here));
                if let Some(taken) = taken {
                    prop_assert_eq!(&taken, &octets);
                    here.fill(false);
                }
            }
        }

        #[test]
        fn any_parts_are_taken_or_dropped(
            said in prop::collection::vec((0_u64..70, any::<u16>(), any::<u16>(), 0_usize..3000), 0..200),
        ) {
            let parts = &mut PacketParts::default();
            for (number, offset, whole, octets) in said {
                let octets = vec![0; octets];
                if let Ok(Some(taken)) =
                    take(parts, number, usize::from(offset), usize::from(whole), &octets)
                {
                    prop_assert_eq!(taken.len(), usize::from(whole));
                }
                prop_assert!(parts.incomplete.len() <= INCOMPLETE_MOST);
            }
        }
    }
}
