//! Bodies in any order become the file again.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use stackwright_wire::check::Crc32c;

use super::bits::BitReader;
use super::entropy::{Block, Predicted, read_unit, write_scan};
use super::flaw::JpegFlaw;
use super::layout::{JpegLayout, Scan};
use super::picture::told;
use super::piece::{PieceHead, pieces};
use super::segments::{EOI, SOI};

/// What tells that all is there, and that it is the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Summary {
    /// Units of all scans.
    pub units: u32,
    /// Octets that are no picture data.
    pub outside: u32,
    /// Octets of the file.
    pub length: u32,
    /// The CRC-32C of the file.
    pub check: u32,
    /// Whether joining gives the file octet for octet. Otherwise its encoder padded in a way of
    /// its own, or it was rewritten as baseline, and coefficients are equal.
    pub exact: bool,
}

impl Summary {
    pub(crate) fn of(file: &[u8], exact: bool, units: u32, outside: u32) -> Self {
        Summary { units, outside, length: file.len() as u32, check: Crc32c::of(file), exact }
    }

    /// Returns whether this is the file, by its length and its check.
    pub fn is_of(&self, file: &[u8]) -> bool {
        self.length as usize == file.len() && self.check == Crc32c::of(file)
    }
}

/// Runs of octets that are no picture data. Sixteen million octets in the shortest bodies have
/// fewer, in any order; a run costs some eighty octets of memory.
const RUNS_MOST: usize = 1 << 17;

/// A piece that arrived: its octets, and its units' blocks.
struct Arrived {
    octets: Vec<u8>,
    blocks: Vec<Block>,
}

/// Collects what arrives of a picture.
pub struct Assembly {
    quantisation: Vec<u8>,
    huffman: Vec<u8>,
    layout: JpegLayout,
    /// By scan: pieces by their first unit, and which units are there.
    scans: Vec<(BTreeMap<usize, Arrived>, Vec<bool>)>,
    units: usize,
    /// Octets that are no picture data, by the place of the first; what continues a run joins it.
    outside: BTreeMap<usize, Vec<u8>>,
    outside_length: usize,
}

impl Assembly {
    /// Begins with the bodies of both table ADUs.
    ///
    /// # Errors
    /// Returns a flaw where they are not those of a baseline picture.
    pub fn new(quantisation: &[u8], huffman: &[u8]) -> Result<Self, JpegFlaw> {
        let layout = told(quantisation, huffman)?;
        let scans = layout.scans.iter().map(|scan| (BTreeMap::new(), vec![false; scan.units()]));
        Ok(Assembly {
            scans: scans.collect(),
            quantisation: quantisation.to_vec(),
            huffman: huffman.to_vec(),
            layout,
            units: 0,
            outside: BTreeMap::new(),
            outside_length: 0,
        })
    }

    /// Returns its size, its components and its scans.
    pub fn layout(&self) -> &JpegLayout {
        &self.layout
    }

    /// Returns how many units are there.
    pub fn units(&self) -> usize {
        self.units
    }

    /// Takes a body of pieces. What is there already is not taken again.
    ///
    /// # Errors
    /// Returns a flaw where it is no body of this picture; pieces in front of the flaw are taken.
    pub fn take(&mut self, body: &[u8]) -> Result<(), JpegFlaw> {
        for piece in pieces(body) {
            let (head, octets) = piece?;
            if head.is_of_units() {
                self.take_units(head, octets)?;
            } else {
                self.take_outside(head.first as usize, octets)?;
            }
        }
        Ok(())
    }

    fn take_outside(&mut self, first: usize, octets: &[u8]) -> Result<(), JpegFlaw> {
        let end = first + octets.len();
        if octets.is_empty() {
            return Err(JpegFlaw::Stray);
        }
        if let Some((at, known)) = self.outside.range(..end).next_back()
            && at + known.len() > first
        {
            // A copy is what a network does; anything else is a mistake of the server.
            let there = first.checked_sub(*at).and_then(|from| known.get(from..end - at));
            return if there == Some(octets) { Ok(()) } else { Err(JpegFlaw::Stray) };
        }
        let before = self.outside.range_mut(..first).next_back();
        if let Some((_, run)) = before.filter(|(at, run)| **at + run.len() == first) {
            run.extend_from_slice(octets);
        } else if self.outside.len() < RUNS_MOST {
            self.outside.insert(first, octets.to_vec());
        } else {
            return Err(JpegFlaw::Stray);
        }
        self.outside_length += octets.len();
        Ok(())
    }

    fn take_units(&mut self, head: PieceHead, octets: &[u8]) -> Result<(), JpegFlaw> {
        let (nth, first) = (usize::from(head.scan), head.first as usize);
        let count = usize::from(head.count);
        let (Some(scan), Some((pieces, there))) =
            (self.layout.scans.get(nth), self.scans.get_mut(nth))
        else {
            return Err(JpegFlaw::Stray);
        };
        let Some(places) = there.get_mut(first..first + count) else { return Err(JpegFlaw::Stray) };
        if count == 0 {
            return Err(JpegFlaw::Stray);
        }
        if places.iter().any(|there| *there) {
            let copy = pieces.get(&first).is_some_and(|known| known.octets == octets);
            return if copy { Ok(()) } else { Err(JpegFlaw::Stray) };
        }
        let (mut bits, mut predicted) = (BitReader::new(octets, 0), Predicted::default());
        let mut blocks = Vec::with_capacity(count * scan.blocks.len());
        for _ in 0..count {
            read_unit(scan, &mut bits, &mut predicted, &mut blocks)?;
        }
        places.fill(true);
        self.units += count;
        pieces.insert(first, Arrived { octets: octets.to_vec(), blocks });
        Ok(())
    }

    /// Returns whether all is there that the summary names.
    pub fn is_whole(&self, summary: &Summary) -> bool {
        self.units == self.layout.units()
            && summary.units as usize == self.units
            && self.outside_length == summary.outside as usize
            && self.outside.last_key_value().map_or(0, |(at, last)| at + last.len())
                == self.outside_length
    }

    /// Returns what is there as a JPEG, with grey where nothing is.
    ///
    /// # Errors
    /// Returns a flaw where tables of a server that errs have no code for grey.
    pub fn partial(&self) -> Result<Vec<u8>, JpegFlaw> {
        let outside = [&SOI[..], &self.quantisation, &self.huffman, &EOI].concat();
        self.written(&self.layout, &outside)
    }

    /// Returns the file, once all is there. Whether it is the one that the server has, its
    /// [`Summary`] says: [`Summary::check`].
    ///
    /// # Errors
    /// Returns a flaw where something is not there, or contradicts the tables.
    pub fn whole(&self) -> Result<Vec<u8>, JpegFlaw> {
        let outside: Vec<u8> = self.outside.values().flatten().copied().collect();
        let layout = JpegLayout::of(&outside)?;
        let fits = |(one, other): (&Scan, &Scan)| {
            one.blocks == other.blocks && one.across == other.across && one.down == other.down
        };
        if layout.scans.len() != self.layout.scans.len()
            || !layout.scans.iter().zip(&self.layout.scans).all(fits)
            || self.units != self.layout.units()
        {
            return Err(JpegFlaw::Stray);
        }
        self.written(&layout, &outside)
    }

    /// Writes the scans of a layout between the octets that are no picture data.
    fn written(&self, layout: &JpegLayout, outside: &[u8]) -> Result<Vec<u8>, JpegFlaw> {
        let (mut file, mut done) = (Vec::new(), 0);
        for (scan, (pieces, there)) in layout.scans.iter().zip(&self.scans) {
            file.extend_from_slice(&outside[done..scan.data.start]);
            done = scan.data.end;
            let per = scan.blocks.len();
            // Units are asked for in their order: the last one's piece is mostly the next one's.
            let mut current: Option<(usize, &Arrived)> = None;
            file.extend(write_scan(scan, |unit| {
                if !*there.get(unit)? {
                    return None;
                }
                let holds =
                    current.is_some_and(|(first, piece)| unit < first + piece.blocks.len() / per);
                if !holds {
                    current = pieces.range(..=unit).next_back().map(|(first, one)| (*first, one));
                }
                let (first, piece) = current?;
                let blocks = piece.blocks.get((unit - first) * per..)?.get(..per)?;
                Some((blocks, &piece.octets[..]))
            })?);
        }
        file.extend_from_slice(&outside[done..]);
        Ok(file)
    }
}
