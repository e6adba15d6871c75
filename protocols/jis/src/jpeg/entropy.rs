//! The blocks of a scan, read and written (T.81, F.1.2 and F.2.2).

use alloc::vec::Vec;

use super::bits::{BitReader, BitWriter};
use super::flaw::{JpegFlaw, PICTURE_DATA};
use super::huffman::Codes;
use super::layout::Scan;

/// Values of the first coefficient: eight bits a sample make no others.
pub(crate) const DC: core::ops::RangeInclusive<i32> = -1024..=1023;
/// The symbol that ends a block, and the run of sixteen zeros.
pub(crate) const END_OF_BLOCK: u8 = 0x00;
pub(crate) const SIXTEEN_ZEROS: u8 = 0xf0;
/// DC differences have as many bits as their category says: 0 to 11.
pub(crate) const CATEGORIES: core::ops::Range<u8> = 0..12;

/// A block: its first coefficient, and where the bits of the others are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Block {
    pub(crate) dc: i16,
    at: u32,
    bits: u16,
}

/// The last value of each part of a scan.
pub(crate) type Predicted = [i32; 4];

/// Reads the blocks of a unit.
pub(crate) fn read_unit(
    scan: &Scan,
    bits: &mut BitReader<'_>,
    predicted: &mut Predicted,
    into: &mut Vec<Block>,
) -> Result<(), JpegFlaw> {
    for nth in &scan.blocks {
        let part = &scan.parts[*nth];
        let (category, length) = part.dc.find(bits.peek())?;
        bits.skip(length)?;
        if !CATEGORIES.contains(&category) {
            return Err(JpegFlaw::Range("a value has too many bits"));
        }
        let difference = extended(bits.take(category)?, category);
        let value = predicted[*nth] + difference;
        if !DC.contains(&value) {
            return Err(JpegFlaw::Range("a value is too large"));
        }
        predicted[*nth] = value;
        let begin = bits.position();
        let mut place = 1;
        while place < 64 {
            let (symbol, length) = part.ac.find(bits.peek())?;
            bits.skip(length + (symbol & 15))?;
            match symbol {
                END_OF_BLOCK => break,
                SIXTEEN_ZEROS => place += 16,
                _ => place += usize::from(symbol >> 4) + 1,
            }
            if place > 64 {
                return Err(JpegFlaw::Range("a block has too many coefficients"));
            }
        }
        let length = (bits.position() - begin) as u16; // at most 63 codes of 31 bits
        let at = u32::try_from(begin).map_err(|_| JpegFlaw::Range("it has too many octets"))?;
        into.push(Block { dc: value as i16, at, bits: length });
    }
    Ok(())
}

/// Returns the value that these bits stand for (T.81, F.2.2.1).
pub(crate) fn extended(value: u16, category: u8) -> i32 {
    let value = i32::from(value);
    if category > 0 && value < 1 << (category - 1) { value - (1 << category) + 1 } else { value }
}

/// Returns how many bits stand for a value, and which (T.81, F.1.2.1).
pub(crate) fn categorised(value: i32) -> (u8, u32) {
    let category = (32 - value.unsigned_abs().leading_zeros()) as u8;
    let bits = if value < 0 { value + (1 << category) - 1 } else { value };
    (category, bits as u32)
}

/// The codes by which the blocks of a scan are written.
pub(crate) struct ScanCodes(Vec<(Codes, Codes)>);

impl ScanCodes {
    pub(crate) fn of(scan: &Scan) -> Self {
        ScanCodes(scan.parts.iter().map(|part| (part.dc.codes(), part.ac.codes())).collect())
    }

    /// Writes the blocks of a unit; their other bits are copied from `source`.
    pub(crate) fn write_unit(
        &self,
        scan: &Scan,
        blocks: &[Block],
        source: &[u8],
        predicted: &mut Predicted,
        into: &mut BitWriter,
    ) -> Result<(), JpegFlaw> {
        for (nth, block) in scan.blocks.iter().zip(blocks) {
            self.write_dc(*nth, i32::from(block.dc), predicted, into)?;
            into.copy(BitReader::new(source, block.at as usize), usize::from(block.bits));
        }
        Ok(())
    }

    /// Writes a unit of grey.
    pub(crate) fn write_grey(
        &self,
        scan: &Scan,
        predicted: &mut Predicted,
        into: &mut BitWriter,
    ) -> Result<(), JpegFlaw> {
        for nth in &scan.blocks {
            self.write_dc(*nth, 0, predicted, into)?;
            self.0[*nth].1.put(END_OF_BLOCK, into)?;
        }
        Ok(())
    }

    fn write_dc(
        &self,
        nth: usize,
        value: i32,
        predicted: &mut Predicted,
        into: &mut BitWriter,
    ) -> Result<(), JpegFlaw> {
        let difference = value - core::mem::replace(&mut predicted[nth], value);
        let (category, bits) = categorised(difference);
        self.0[nth].0.put(category, into)?;
        into.put(bits, category);
        Ok(())
    }
}

/// The data of a scan without stuffed zeros and markers, and where each restart begins in it.
pub(crate) fn unstuffed(data: &[u8]) -> (Vec<u8>, Vec<usize>) {
    let (mut octets, mut begins) = (Vec::with_capacity(data.len()), alloc::vec![0]);
    let mut rest = data;
    while let Some((octet, behind)) = rest.split_first() {
        rest = behind;
        if *octet != 0xff {
            octets.push(*octet);
            continue;
        }
        while let [0xff, behind @ ..] = rest {
            rest = behind; // fill
        }
        match rest.split_first() {
            Some((0, behind)) => {
                octets.push(0xff);
                rest = behind;
            }
            Some((_, behind)) => {
                begins.push(octets.len());
                rest = behind;
            }
            None => {}
        }
    }
    (octets, begins)
}

/// Goes over what lies between restarts of a scan: the bits of each interval, and its units.
pub(crate) fn each_interval(
    scan: &Scan,
    octets: &[u8],
    begins: &[usize],
    mut read: impl FnMut(&mut BitReader<'_>, core::ops::Range<usize>) -> Result<(), JpegFlaw>,
) -> Result<(), JpegFlaw> {
    let interval = if scan.restart == 0 { scan.units() } else { scan.restart };
    let mut done = 0;
    for (nth, begin) in begins.iter().enumerate() {
        let end = begins.get(nth + 1).copied().unwrap_or(octets.len());
        let units = done..scan.units().min(done + interval);
        done = units.end;
        read(&mut BitReader::new(&octets[..end], begin * 8), units)?;
    }
    if done < scan.units() { Err(JpegFlaw::Ends(PICTURE_DATA)) } else { Ok(()) }
}

/// Reads all units of a scan.
pub(crate) fn read_scan(scan: &Scan, data: &[u8]) -> Result<(Vec<u8>, Vec<Block>), JpegFlaw> {
    let (octets, begins) = unstuffed(data);
    let mut blocks = Vec::new();
    each_interval(scan, &octets, &begins, |bits, mut units| {
        let mut predicted = Predicted::default();
        units.try_for_each(|_| read_unit(scan, bits, &mut predicted, &mut blocks))
    })?;
    Ok((octets, blocks))
}

/// Writes all units of a scan as a file has them, with restarts.
pub(crate) fn write_scan<'a>(
    scan: &Scan,
    mut unit: impl FnMut(usize) -> Option<(&'a [Block], &'a [u8])>,
) -> Result<Vec<u8>, JpegFlaw> {
    let codes = ScanCodes::of(scan);
    let (mut into, mut predicted) = (BitWriter::new(true), Predicted::default());
    for nth in 0..scan.units() {
        if scan.restart > 0 && nth > 0 && nth.is_multiple_of(scan.restart) {
            into.pad();
            into.marker(0xd0 + ((nth / scan.restart - 1) % 8) as u8);
            predicted = Predicted::default();
        }
        match unit(nth) {
            Some((blocks, source)) => {
                codes.write_unit(scan, blocks, source, &mut predicted, &mut into)?;
            }
            None => codes.write_grey(scan, &mut predicted, &mut into)?,
        }
    }
    Ok(into.finish())
}
