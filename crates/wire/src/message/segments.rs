//! Gapped buffers: one block that has a gap for a header before each segment of its messages.
//!
//! ```text
//! ├ first gap ┼ segment ┼ gap ┼─ segment ─┼ last gap ┼ segment ┼ first gap ┼ segment ┼ ─ ─
//! └───── stride ────────┴──── stride ─────┴───── stride ───────┴ the next message ─ ─ ─
//! ```
//!
//! A gap and its segment are what leaves, or came, as one packet.

use core::mem;
use core::ops::Range;

/// Describes how a gapped buffer is laid out.
///
/// All packets have `stride` octets but the last of the buffer, which may be shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SegmentLayout {
    // Of four octets each, because a buffer tree holds a layout.
    stride: u32,
    segments: u32,
    first_gap: u32,
    gap: u32,
    last_gap: u32,
}

impl SegmentLayout {
    /// Returns the layout of one message whose packets have `stride` octets, of which the first
    /// `gap` are no part of the message.
    ///
    /// # Panics
    /// Where a packet has no segment: `gap` is not less than `stride`. And where `stride` is 4 GiB
    /// or more.
    #[inline]
    pub fn new(stride: usize, gap: usize) -> Self {
        let octets = u32::try_from(stride).expect("a packet is shorter than 4 GiB");
        assert!(gap < stride, "a packet has a segment");
        let gap = gap as u32;
        SegmentLayout { stride: octets, segments: u32::MAX, first_gap: gap, gap, last_gap: gap }
    }

    /// Returns the same layout for messages of `segments` segments, in which the gaps before the
    /// first and the last segment of each message differ. Of a message of one segment, that is the
    /// first.
    ///
    /// # Panics
    /// Where `segments` is 0 or does not fit into 32 bits, or where a gap is not less than the
    /// stride.
    #[must_use]
    #[inline]
    pub fn in_messages(self, segments: usize, first_gap: usize, last_gap: usize) -> Self {
        let segments = u32::try_from(segments).expect("no more than fit into 32 bits");
        assert!(segments > 0, "a message has a segment");
        assert!(first_gap.max(last_gap) < self.stride(), "a packet has a segment");
        SegmentLayout { segments, first_gap: first_gap as u32, last_gap: last_gap as u32, ..self }
    }

    /// Returns the octets of a packet: a gap and its segment.
    #[inline]
    pub fn stride(&self) -> usize {
        self.stride as usize
    }

    /// Returns the number of segments of a message.
    #[inline]
    pub fn segments(&self) -> usize {
        self.segments as usize
    }

    /// Returns the octets of the gap before segment `index` of a message.
    #[inline]
    pub fn gap(&self, index: usize) -> usize {
        self.gap_before(index as u32) as usize
    }

    /// Returns the octets of segment `index` of a message.
    #[inline]
    pub fn octets(&self, index: usize) -> usize {
        self.stride() - self.gap(index)
    }

    #[inline]
    fn gap_before(&self, index: u32) -> u32 {
        match index {
            0 => self.first_gap,
            _ if index + 1 == self.segments => self.last_gap,
            _ => self.gap,
        }
    }

    #[inline]
    fn next(&self, index: u32) -> u32 {
        if index + 1 == self.segments { 0 } else { index + 1 }
    }

    /// Returns the octets of the segments of a whole message.
    fn message(&self) -> u64 {
        let [stride, segments] = [self.stride, self.segments].map(u64::from);
        let between = segments.saturating_sub(2) * u64::from(self.gap);
        let last = if segments > 1 { self.last_gap.into() } else { 0 };
        segments * stride - u64::from(self.first_gap) - between - last
    }
}

/// A position in a gapped buffer: at a segment, of which the first octets may have been passed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cursor {
    /// Where the gap before the segment begins.
    pub(super) floor: usize,
    /// The octets of the segment that are left.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Where the last segment of the buffer ends.
    pub(super) last: usize,
    /// The place of the segment in its message.
    index: u32,
    layout: SegmentLayout,
}

impl Cursor {
    /// Returns the position at one segment without a gap.
    #[inline]
    pub(super) fn contiguous(octets: usize) -> Self {
        Cursor { end: octets, last: octets, ..Cursor::default() }
    }

    /// Returns the position at the first segment of the packets that lie at `packets`; `None` where
    /// the last packet has no segment. What lies before them belongs to the first gap.
    #[inline]
    pub(super) fn new(packets: Range<usize>, layout: &SegmentLayout) -> Option<Self> {
        let (stride, last) = (layout.stride(), packets.end);
        let behind = packets.len().checked_sub(1)? / stride;
        let has_segment = packets.len() - behind * stride > layout.gap(behind % layout.segments());
        let start = packets.start + layout.gap(0);
        let end = last.min(packets.start + stride);
        let cursor = Cursor { floor: 0, start, end, last, index: 0, layout: *layout };
        has_segment.then_some(cursor)
    }

    /// Returns the position at the first segment of packets that lie in these segments, one in
    /// each: behind the gap of each begins another. `None` where these are not all alike.
    pub(super) fn within(&self, layout: &SegmentLayout) -> Option<Self> {
        let SegmentLayout { gap, first_gap, last_gap, .. } = self.layout;
        let are_alike = first_gap == gap && last_gap == gap;
        let octets = self.layout.octets(0);
        if !are_alike || octets != layout.stride() || octets != self.octets() {
            return None;
        }
        let layout = SegmentLayout {
            stride: self.layout.stride,
            segments: layout.segments,
            first_gap: gap + layout.first_gap,
            gap: gap + layout.gap,
            last_gap: gap + layout.last_gap,
        };
        Cursor::new(self.start.checked_sub(gap as usize)?..self.last, &layout)
    }

    /// Moves back to the segment at `place`. Returns whether that is right before this one, and as
    /// long as the segments of its layout.
    pub(super) fn step_back(&mut self, place: Range<usize>) -> bool {
        let Some(index) = self.index.checked_sub(1) else { return false };
        let (gap, octets) =
            (self.layout.gap_before(self.index), self.layout.octets(index as usize));
        if place.len() != octets || self.start.checked_sub(gap as usize) != Some(place.end) {
            return false;
        }
        let Range { start, end } = place;
        *self = Cursor { floor: start, start, end, index, ..*self };
        true
    }

    /// Returns the octets of all segments from this one on, which begins a message.
    pub(super) fn all_octets(&self) -> usize {
        let (all, each) = (self.segments(), self.layout.segments());
        let firsts = all.div_ceil(each);
        let lasts = if each > 1 { all / each } else { 0 };
        let gaps = (firsts - 1) * self.layout.gap(0)
            + lasts * self.layout.gap(each - 1)
            + (all - firsts - lasts) * self.layout.gap(1);
        self.last - self.start - gaps
    }

    /// Returns the octets that are left of the segment.
    #[inline]
    pub(super) fn octets(&self) -> usize {
        self.end - self.start
    }

    #[inline]
    pub(super) fn is_last(&self) -> bool {
        self.end == self.last
    }

    /// Returns the number of segments from this one on.
    #[inline]
    fn segments(&self) -> usize {
        if self.is_last() { 1 } else { 1 + (self.last - self.end).div_ceil(self.layout.stride()) }
    }

    /// Returns where the segment ends that follows this one `behind` others; `None` where there are
    /// fewer.
    #[inline]
    pub(super) fn end_of(&self, behind: usize) -> Option<usize> {
        let stride = self.layout.stride();
        let end = self.end.saturating_add(behind.saturating_mul(stride));
        (behind == 0 || end < self.last + stride).then_some(end.min(self.last))
    }

    /// Moves on by `count` segments: one more follows.
    #[inline]
    fn skip(&mut self, count: usize) {
        self.floor = self.end + (count - 1) * self.layout.stride();
        self.index = ((self.index as usize + count) % self.layout.segments()) as u32;
        self.enter();
    }

    /// Moves on to the next segment, which exists.
    #[inline]
    pub(super) fn step(&mut self) {
        self.floor = self.end;
        self.index = self.layout.next(self.index);
        self.enter();
    }

    #[inline]
    fn enter(&mut self) {
        self.start = self.floor + self.layout.gap_before(self.index) as usize;
        self.end = self.last.min(self.floor + self.layout.stride());
    }

    /// Passes `octets` octets, or all if there are fewer, and returns where they end. It stands at
    /// a segment that is not empty then, where there is one.
    #[inline]
    pub(super) fn advance(&mut self, mut octets: usize) -> usize {
        while let Some(behind) = octets.checked_sub(self.octets()) {
            let passed = self.end;
            if self.is_last() {
                break;
            }
            self.step();
            if behind == 0 {
                return passed;
            }
            octets = behind;
        }
        self.start += octets.min(self.octets());
        self.start
    }

    /// Keeps what lies before position `last`.
    #[inline]
    pub(super) fn truncate(&mut self, last: usize) {
        (self.last, self.end) = (last, self.end.min(last));
    }

    /// Splits the first `octets` octets off, or all if there are fewer.
    #[inline]
    pub(super) fn split_to(&mut self, octets: usize) -> Self {
        let mut head = *self;
        head.truncate(self.advance(octets));
        self.floor = self.floor.max(head.last);
        head
    }

    /// Returns where the first segment of each message begins, if all are whole and have `octets`
    /// octets each, of `all` that are left.
    fn messages(&self, octets: usize, all: usize) -> Option<impl Iterator<Item = usize> + use<>> {
        let (segments, each) = (self.segments(), self.layout.segments());
        let count = segments.div_ceil(each);
        let is_whole = self.index == 0 && self.octets() == self.layout.octets(0).min(octets);
        let are_alike =
            count == 1 || segments == count * each && self.layout.message() == octets as u64;
        let (start, stride) = (self.start, each.saturating_mul(self.layout.stride()));
        (is_whole && are_alike && octets.checked_mul(count) == Some(all))
            .then(|| (0..count).map(move |message| start + message * stride))
    }

    /// Writes `header` before each message of `octets` octets, of `all` that are left. Returns
    /// whether all messages are that long, and have a gap for it.
    pub(super) fn push_each(
        &mut self,
        block: &mut [u8],
        octets: usize,
        all: usize,
        header: &[u8],
    ) -> bool {
        let Some(messages) = self.messages(octets, all) else { return false };
        let Some(gap) = (self.layout.first_gap as usize).checked_sub(header.len()) else {
            return false;
        };
        messages.for_each(|start| block[start - header.len()..start].copy_from_slice(header));
        self.start -= header.len();
        self.layout.first_gap = gap as u32;
        true
    }

    /// Takes `header` off each message of `octets` octets, of `all` that are left. Returns whether
    /// each begins with it, and has more in its first segment.
    pub(super) fn strip_each(
        &mut self,
        block: &[u8],
        octets: usize,
        all: usize,
        header: &[u8],
    ) -> bool {
        let Some(mut messages) = self.messages(octets, all) else { return false };
        if self.octets() <= header.len()
            || !messages.all(|start| block[start..].starts_with(header))
        {
            return false;
        }
        self.start += header.len();
        self.layout.first_gap += header.len() as u32;
        true
    }
}

/// Iterates over the segments of a message, and lends each as (gap, segment), both to be written.
///
/// The gap is what may be written before the segment. A message that is contiguous has one segment,
/// and no gap.
#[derive(Debug, Default)]
pub struct SegmentsMut<'a> {
    /// From the gap of the next segment to the end of the last one.
    octets: &'a mut [u8],
    cursor: Cursor,
}

impl<'a> SegmentsMut<'a> {
    /// Lends the segments from `cursor` on, whose positions are in `block`.
    #[inline]
    pub(super) fn new(block: &'a mut [u8], cursor: Cursor) -> Self {
        SegmentsMut { octets: &mut block[cursor.floor..cursor.last], cursor }
    }

    /// Lends `octets` as one segment.
    #[inline]
    pub(super) fn contiguous(octets: &'a mut [u8]) -> Self {
        let cursor = Cursor::contiguous(octets.len());
        SegmentsMut { octets, cursor }
    }

    /// Returns how the segments are laid out.
    #[inline]
    pub fn layout(&self) -> &SegmentLayout {
        &self.cursor.layout
    }

    /// Returns the place of the next segment in its message.
    #[inline]
    pub fn index(&self) -> usize {
        self.cursor.index as usize
    }

    /// Returns the octets of the next segment; 0 where there is none.
    #[inline]
    pub fn next_octets(&self) -> usize {
        if self.octets.is_empty() { 0 } else { self.cursor.octets() }
    }

    /// Returns the octets of all packets: the segments and the gaps before them.
    #[inline]
    pub fn octets_with_gaps(&self) -> usize {
        self.octets.len()
    }

    /// Splits the first `octets` octets of the segments off, or all if there are fewer.
    #[must_use]
    pub fn split_to(&mut self, octets: usize) -> Self {
        if octets == 0 || self.octets.is_empty() {
            return SegmentsMut::default();
        }
        let floor = self.cursor.floor;
        let cursor = self.cursor.split_to(octets);
        let (head, rest) = mem::take(&mut self.octets).split_at_mut(cursor.last - floor);
        self.octets = rest;
        SegmentsMut { octets: head, cursor }
    }

    /// Splits the first `count` segments off, or all if there are fewer.
    #[inline]
    #[must_use]
    pub fn split_segments(&mut self, count: usize) -> Self {
        let Some(behind) = count.checked_sub(1).filter(|_| !self.octets.is_empty()) else {
            return SegmentsMut::default();
        };
        let mut cursor = self.cursor;
        let end = cursor.end_of(behind).unwrap_or(cursor.last);
        let (head, rest) = mem::take(&mut self.octets).split_at_mut(end - cursor.floor);
        self.octets = rest;
        if !self.octets.is_empty() {
            self.cursor.skip(count);
        }
        cursor.truncate(end);
        SegmentsMut { octets: head, cursor }
    }
}

impl<'a> Iterator for SegmentsMut<'a> {
    type Item = (&'a mut [u8], &'a mut [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let Cursor { floor, start, end, .. } = self.cursor;
        if self.octets.is_empty() {
            return None;
        }
        let (packet, rest) = mem::take(&mut self.octets).split_at_mut(end - floor);
        self.octets = rest;
        self.cursor.step();
        Some(packet.split_at_mut(start - floor))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let segments = if self.octets.is_empty() { 0 } else { self.cursor.segments() };
        (segments, Some(segments))
    }
}

impl ExactSizeIterator for SegmentsMut<'_> {}
