//! The coefficients of a block, as scans of any kind tell them (T.81, F.2.2 and G.1.2).

use super::bits::BitReader;
use super::entropy::{CATEGORIES, DC, Predicted, extended};
use super::flaw::JpegFlaw;
use super::layout::{Band, ScanPart};

/// A block's coefficients, in the order of the zigzag.
pub(crate) type Coefficients = [i16; 64];

/// Reads what a scan tells of blocks, one after the other.
pub(crate) struct BandReader {
    band: Band,
    predicted: Predicted,
    /// Blocks to come of which the scan tells nothing new.
    run: u32,
}

impl BandReader {
    pub(crate) fn new(band: Band) -> Self {
        BandReader { band, predicted: Predicted::default(), run: 0 }
    }

    /// Reads what the bits tell of the next block, of the part `nth`.
    pub(crate) fn read(
        &mut self,
        nth: usize,
        part: &ScanPart,
        bits: &mut BitReader<'_>,
        block: &mut Coefficients,
    ) -> Result<(), JpegFlaw> {
        let band = self.band;
        if band.first == 0 {
            self.read_first(nth, part, bits, block)?;
        }
        match (band.last, band.known) {
            (0, _) => Ok(()),
            (_, 0) => self.read_new(part, bits, block),
            _ => self.refine(part, bits, block),
        }
    }

    fn read_first(
        &mut self,
        nth: usize,
        part: &ScanPart,
        bits: &mut BitReader<'_>,
        block: &mut Coefficients,
    ) -> Result<(), JpegFlaw> {
        let low = self.band.low;
        if self.band.known > 0 {
            block[0] |= (bits.take(1)? as i16) << low;
            return Ok(());
        }
        let (category, length) = part.dc.find(bits.peek())?;
        bits.skip(length)?;
        if !CATEGORIES.contains(&category) {
            return Err(JpegFlaw::Range("a value has too many bits"));
        }
        let value = self.predicted[nth] + extended(bits.take(category)?, category);
        if !DC.contains(&(value << low)) {
            return Err(JpegFlaw::Range("a value is too large"));
        }
        self.predicted[nth] = value;
        block[0] = (value << low) as i16;
        Ok(())
    }

    /// Reads coefficients of which nothing is known.
    fn read_new(
        &mut self,
        part: &ScanPart,
        bits: &mut BitReader<'_>,
        block: &mut Coefficients,
    ) -> Result<(), JpegFlaw> {
        if self.run > 0 {
            self.run -= 1;
            return Ok(());
        }
        let mut place = self.band.first.max(1);
        while place <= self.band.last {
            let (zeros, category) = symbol(part, bits)?;
            place += usize::from(zeros);
            match category {
                0 if zeros == 15 => {}
                0 => {
                    self.run = self.run_of(zeros, bits)? - 1;
                    return Ok(());
                }
                _ => {
                    let value = extended(bits.take(category)?, category) << self.band.low;
                    let there = block.get_mut(place).filter(|_| place <= self.band.last);
                    let there =
                        there.ok_or(JpegFlaw::Range("a block has too many coefficients"))?;
                    *there = i16::try_from(value)
                        .map_err(|_| JpegFlaw::Range("a value is too large"))?;
                }
            }
            place += 1;
        }
        Ok(())
    }

    /// Reads one more bit of each coefficient (T.81, G.1.2.3).
    fn refine(
        &mut self,
        part: &ScanPart,
        bits: &mut BitReader<'_>,
        block: &mut Coefficients,
    ) -> Result<(), JpegFlaw> {
        let bit = 1_i16 << self.band.low;
        let mut place = self.band.first.max(1);
        while place <= self.band.last && self.run == 0 {
            let (mut zeros, category) = symbol(part, bits)?;
            let begins = match category {
                0 if zeros == 15 => 0,
                0 => {
                    self.run = self.run_of(zeros, bits)?;
                    break;
                }
                1 if bits.take(1)? == 1 => bit,
                1 => -bit,
                _ => return Err(JpegFlaw::Range("a coefficient begins with several bits")),
            };
            // Those that have begun have a bit each, and are not counted.
            while place <= self.band.last {
                if block[place] != 0 {
                    refined(&mut block[place], bit, bits)?;
                } else if zeros == 0 {
                    break;
                } else {
                    zeros -= 1;
                }
                place += 1;
            }
            if begins != 0 {
                let there = block.get_mut(place).filter(|_| place <= self.band.last);
                *there.ok_or(JpegFlaw::Range("a block has too many coefficients"))? = begins;
            }
            place += 1;
        }
        if self.run > 0 {
            let rest = block.get_mut(place..=self.band.last).unwrap_or_default();
            for value in rest.iter_mut().filter(|value| **value != 0) {
                refined(value, bit, bits)?;
            }
            self.run -= 1;
        }
        Ok(())
    }

    /// Returns for how many blocks, this one included, nothing else comes.
    fn run_of(&self, exponent: u8, bits: &mut BitReader<'_>) -> Result<u32, JpegFlaw> {
        // A scan that is not progressive ends one block with each such symbol.
        let exponent = if self.band == Band::WHOLE { 0 } else { exponent };
        Ok((1 << exponent) + u32::from(bits.take(exponent)?))
    }
}

/// Reads a symbol: a run of zeros, and how many bits follow.
fn symbol(part: &ScanPart, bits: &mut BitReader<'_>) -> Result<(u8, u8), JpegFlaw> {
    let (symbol, length) = part.ac.find(bits.peek())?;
    bits.skip(length)?;
    Ok((symbol >> 4, symbol & 15))
}

/// Adds a bit to a coefficient that has begun.
fn refined(value: &mut i16, bit: i16, bits: &mut BitReader<'_>) -> Result<(), JpegFlaw> {
    if bits.take(1)? == 1 && value.unsigned_abs() & bit.unsigned_abs() == 0 {
        *value += bit * value.signum();
    }
    Ok(())
}
