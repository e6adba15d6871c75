//! Bodies of pieces.

use alloc::vec;
use alloc::vec::Vec;

use stackwright_wire::Header;

use super::bits::BitWriter;
use super::entropy::{Predicted, ScanCodes};
use super::flaw::JpegFlaw;
use super::picture::Picture;
use super::piece::{OUTSIDE, PieceHead};

/// Bodies that are filled one after the other.
struct Bodies {
    most: usize,
    done: Vec<Vec<u8>>,
    last: Vec<u8>,
}

impl Bodies {
    /// Returns how many octets the next piece may have. Where the last body has too little room for
    /// a piece, a new one begins.
    fn room(&mut self, least: usize) -> usize {
        let room = |last: &Vec<u8>| self.most.saturating_sub(last.len() + PieceHead::LENGTH);
        if room(&self.last) < least && !self.last.is_empty() {
            self.done.push(core::mem::take(&mut self.last));
        }
        self.most.saturating_sub(self.last.len() + PieceHead::LENGTH)
    }

    fn push(&mut self, head: PieceHead, octets: &[u8]) {
        let begin = self.last.len();
        self.last.resize(begin + PieceHead::LENGTH, 0);
        head.encode(&mut self.last[begin..]);
        self.last.extend_from_slice(octets);
    }
}

/// Splits a picture into bodies of `most` octets or less.
///
/// A piece has units of one row of one scan; several fill a body. What is no picture data goes
/// last: the picture does not need it.
pub(crate) fn split(picture: &Picture, most: usize) -> Result<Vec<Vec<u8>>, JpegFlaw> {
    let mut bodies = Bodies { most, done: vec![], last: vec![] };
    for nth in 0..picture.layout.scans.len() {
        split_scan(picture, nth, &mut bodies)?;
    }
    let mut at = 0;
    while at < picture.outside.len() {
        let room = bodies.room(16).min(usize::from(u16::MAX));
        if room == 0 {
            return Err(JpegFlaw::Unit { mcu: 0, octets: 1 });
        }
        let octets = &picture.outside[at..(at + room).min(picture.outside.len())];
        let length = octets.len() as u16;
        bodies.push(PieceHead { scan: OUTSIDE, first: at as u32, count: 0, length }, octets);
        at += octets.len();
    }
    if !bodies.last.is_empty() {
        bodies.done.push(bodies.last);
    }
    Ok(bodies.done)
}

fn split_scan(picture: &Picture, nth: usize, bodies: &mut Bodies) -> Result<(), JpegFlaw> {
    let (scan, read) = (&picture.layout.scans[nth], &picture.scans[nth]);
    let (codes, per) = (ScanCodes::of(scan), scan.blocks.len());
    let mut unit = 0;
    while unit < scan.units() {
        let row_end = (unit / scan.across + 1) * scan.across;
        let end = row_end.min(unit + usize::from(u8::MAX));
        let (mut into, mut predicted) = (BitWriter::new(false), Predicted::default());
        let (first, mut room) = (unit, bodies.room(1));
        while unit < end {
            let mark = into.mark();
            let blocks = &read.blocks[unit * per..][..per];
            codes.write_unit(scan, blocks, &read.octets, &mut predicted, &mut into)?;
            let octets = into.padded_len();
            if octets > room {
                into.return_to(mark);
                if unit > first {
                    break;
                }
                // Not even one: the next body begins, and takes it or nothing does.
                room = bodies.room(octets);
                if octets > room {
                    return Err(JpegFlaw::Unit { mcu: unit, octets });
                }
                predicted = Predicted::default();
                continue;
            }
            unit += 1;
        }
        let octets = into.finish();
        let (scan, count, length) = (nth as u8, (unit - first) as u8, octets.len() as u16);
        bodies.push(PieceHead { scan, first: first as u32, count, length }, &octets);
    }
    Ok(())
}

/// Writes the units that a head names as a body of one piece, whatever its length.
pub(crate) fn piece(picture: &Picture, head: PieceHead) -> Result<Vec<u8>, JpegFlaw> {
    let (nth, first) = (usize::from(head.scan), head.first as usize);
    let (Some(scan), Some(read)) = (picture.layout.scans.get(nth), picture.scans.get(nth)) else {
        return Err(JpegFlaw::Stray);
    };
    let (codes, per) = (ScanCodes::of(scan), scan.blocks.len());
    let units = first * per..(first + usize::from(head.count)) * per;
    let units = read.blocks.get(units).ok_or(JpegFlaw::Stray)?;
    let (mut into, mut predicted) = (BitWriter::new(false), Predicted::default());
    for blocks in units.chunks_exact(per) {
        codes.write_unit(scan, blocks, &read.octets, &mut predicted, &mut into)?;
    }
    let octets = into.finish();
    let length = u16::try_from(octets.len()).map_err(|_| JpegFlaw::Stray)?;
    let mut bodies = Bodies { most: usize::MAX, done: vec![], last: vec![] };
    bodies.push(PieceHead { length, ..head }, &octets);
    Ok(bodies.last)
}
