//! The parts one after the other: to be read, to be written, and with what may be written before them.

use core::mem;

use super::Places;
use crate::message::Stretch;

/// Part by part.
#[derive(Clone)]
pub(in super::super) struct Parts<'a> {
    pub(super) block: &'a [u8],
    pub(super) left: Option<Places>,
}

impl Parts<'_> {
    /// Passes what is left of the first message, if it has so many octets, and there is another one. Whether it did.
    #[inline]
    pub(in super::super) fn pass_message(&mut self, octets: usize) -> bool {
        self.left.as_mut().is_some_and(|places| places.octets_of_first() == octets && places.pass_message())
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let place = self.left.as_mut()?;
        let part = &self.block[place.start as usize..place.end as usize];
        if !place.pass() {
            self.left = None;
        }
        Some(part)
    }
}

/// The parts, to be written.
#[derive(Default)]
pub(in super::super) struct PartsMut<'a> {
    /// From what is before the next one on.
    pub(super) block: &'a mut [u8],
    pub(super) left: Option<Places>,
}

impl<'a> PartsMut<'a> {
    /// One part, before which nothing is.
    pub(in super::super) fn one(part: &'a mut [u8]) -> Self {
        let places = Places { end: part.len() as u32, ..Places::default() };
        PartsMut { block: part, left: Some(places) }
    }
}

impl<'a> Iterator for PartsMut<'a> {
    type Item = &'a mut [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a mut [u8]> {
        let place = self.left.as_mut()?;
        let (before, part) = (place.before as usize, (place.end - place.start) as usize);
        let (packet, rest) = mem::take(&mut self.block).split_at_mut(before + part);
        self.block = rest;
        if !place.pass() {
            self.left = None;
        }
        Some(&mut packet[before..])
    }
}

/// Message by message, what [`PartsMut`] gives of each.
#[derive(Default)]
pub(in super::super) struct MessagesMut<'a>(pub(super) PartsMut<'a>);

impl<'a> Iterator for MessagesMut<'a> {
    type Item = PartsMut<'a>;

    #[inline]
    fn next(&mut self) -> Option<PartsMut<'a>> {
        let PartsMut { block, left } = &mut self.0;
        let places = (*left)?;
        let mut next = places;
        // From what is before its first part to what is before the next one's.
        let octets = match next.pass_message() {
            true => (next.start - next.before) - (places.start - places.before),
            false => block.len() as u32,
        };
        *left = (next.start != places.start).then_some(next);
        let (own, rest) = mem::take(block).split_at_mut(octets as usize);
        *block = rest;
        Some(PartsMut { block: own, left: Some(Places { messages: 0, ..places }) })
    }
}

/// The parts with what may be written before them, those together that lie in packets of one length.
#[derive(Default)]
pub(in super::super) struct Stretches<'a>(pub(super) PartsMut<'a>);

impl<'a> Iterator for Stretches<'a> {
    type Item = Stretch<'a>;

    #[inline]
    fn next(&mut self) -> Option<Stretch<'a>> {
        let PartsMut { block, left } = &mut self.0;
        let places = (*left)?;
        let (gap, part) = (places.before as usize, (places.end - places.start) as usize);
        let (count, ends) = places.stretch();
        let stride = gap + part;
        let (packets, rest) = mem::take(block).split_at_mut(stride * count);
        (*block, *left) = (rest, places.at(count));
        Some(Stretch::new(
            packets,
            count,
            stride,
            if ends.behind == 0 { places.gap.into() } else { gap },
            ends,
        ))
    }
}
