//! A file that cannot be split as it is, as a baseline file of the same coefficients: one that is
//! progressive, or whose picture data are damaged.

use alloc::vec::Vec;
use core::ops::Range;

use super::band::{BandReader, Coefficients};
use super::bits::BitWriter;
use super::entropy::{
    CATEGORIES, DC, END_OF_BLOCK, Predicted, SIXTEEN_ZEROS, categorised, each_interval, unstuffed,
};
use super::flaw::JpegFlaw;
use super::huffman::{Codes, HuffmanTable};
use super::layout::{Band, Component, JpegFrame, PIXELS_MOST, Reading, Scan, ScanPart, arranged};
use super::optimal::Frequencies;
use super::segments::{DHT, DQT, DRI, EOI, SOF0, SOF1, SOF2, SOI, SOS, Segments, write_segment};

/// Scans of a file: each goes over all of the picture, however few octets it has.
const SCANS_MOST: usize = 200;

/// Returns a baseline file of the same coefficients, with tables that fit them. Of an interval
/// between restarts that is damaged, the rest stays as it was: grey, or less sharp.
///
/// # Errors
/// Returns a flaw of what is neither baseline nor progressive, or contradicts itself.
pub(crate) fn baseline(file: &[u8]) -> Result<Vec<u8>, JpegFlaw> {
    let (mut reading, mut planes) = (Reading::default(), Vec::new());
    let (mut into, mut progressive, mut scans) = (SOI.to_vec(), false, 0);
    let mut segments = Segments::of(file)?;
    while let Some(segment) = segments.next()? {
        let content = segment.content;
        match segment.code {
            DHT => reading.huffman(content)?,
            DRI => reading.restart(content)?,
            SOF0 | SOF1 | SOF2 => {
                progressive = segment.code == SOF2;
                reading.frame(content)?;
                planes = reading.frame.as_ref().map(planes_of).transpose()?.unwrap_or_default();
            }
            SOS => {
                scans += 1;
                let (scan, band) = reading.read_scan(content, 0..0)?;
                let fits =
                    if progressive { is_progressive(&scan, band) } else { band == Band::WHOLE };
                if !fits || scans > SCANS_MOST {
                    return Err(JpegFlaw::Malformed("a scan does not fit its coding process"));
                }
                read(&scan, band, &file[segment.data], &mut planes);
            }
            0xc3..=0xcf => return Err(JpegFlaw::Process(segment.code - 0xc0)),
            0xdc => return Err(JpegFlaw::Process(0xc)), // DNL
            code => {
                if code == DQT {
                    reading.quantisation(content)?;
                }
                write_segment(&mut into, code, content);
            }
        }
    }
    let Some(frame) = &reading.frame else {
        return Err(JpegFlaw::Malformed("it has no frame"));
    };
    if planes.iter().any(|plane| !plane.begun) {
        return Err(JpegFlaw::Ends("its scans"));
    }
    write_segment(&mut into, SOF0, &frame.content());
    write(frame, &planes, &mut into)?;
    into.extend(EOI);
    Ok(into)
}

/// The blocks of a component.
struct Plane {
    blocks: Vec<Coefficients>,
    /// How many there are in a row, those included that only fill up a unit.
    across: usize,
    /// Those of the component itself, in a row, and rows.
    own: [usize; 2],
    /// Whether a scan told anything of it.
    begun: bool,
}

fn planes_of(frame: &JpegFrame) -> Result<Vec<Plane>, JpegFlaw> {
    let [across, down] = frame.units();
    let blocks = frame.components.iter().map(|one| across * down * one.h * one.v);
    if blocks.sum::<usize>() > 3 * PIXELS_MOST / 64 {
        return Err(JpegFlaw::Large { width: frame.width, height: frame.height });
    }
    let plane = |component: &Component| {
        let (across, down) = (across * component.h, down * component.v);
        let blocks = alloc::vec![[0; 64]; across * down];
        Plane { blocks, across, own: frame.blocks(component), begun: false }
    };
    Ok(frame.components.iter().map(plane).collect())
}

/// Whether a scan of a progressive picture has such coefficients (T.81, G.1.1.1).
fn is_progressive(scan: &Scan, band: Band) -> bool {
    let place = if band.first == 0 {
        band.last == 0
    } else {
        band.first <= band.last && band.last < 64 && scan.parts.len() == 1
    };
    place && band.low <= 13 && (band.known == 0 || band.known == band.low + 1)
}

/// A block of a unit: its part, column and row.
struct Place {
    part: usize,
    column: usize,
    row: usize,
}

/// Returns the places of a unit's blocks (T.81, A.2).
fn places<'a>(
    scan: &'a Scan,
    planes: &'a [Plane],
    unit: usize,
) -> impl Iterator<Item = Place> + 'a {
    let [column, row] = [unit % scan.across, unit / scan.across];
    scan.parts.iter().enumerate().flat_map(move |(part, told)| {
        // The unit of a component alone is one block of it.
        let [h, v] =
            if scan.parts.len() == 1 { [1, 1] } else { planes[told.component].sampling(scan) };
        (0..h * v).map(move |nth| Place {
            part,
            column: column * h + nth % h,
            row: row * v + nth / h,
        })
    })
}

impl Plane {
    /// Returns how many blocks of it a unit of several components has, in a row, and rows.
    fn sampling(&self, scan: &Scan) -> [usize; 2] {
        [self.across / scan.across, self.blocks.len() / self.across / scan.down]
    }

    /// Returns whether a block is one of the component itself.
    fn owns(&self, place: &Place) -> bool {
        place.column < self.own[0] && place.row < self.own[1]
    }
}

/// Reads what a scan tells, as far as it is not damaged.
fn read(scan: &Scan, band: Band, data: &[u8], planes: &mut [Plane]) {
    let (octets, begins) = unstuffed(data);
    scan.parts.iter().for_each(|part| planes[part.component].begun = true);
    let interval = |bits: &mut super::bits::BitReader<'_>, units: Range<usize>| {
        let mut reader = BandReader::new(band);
        for unit in units {
            let places: Vec<Place> = places(scan, planes, unit).collect();
            for place in places {
                let part = &scan.parts[place.part];
                let plane = &mut planes[part.component];
                let block = &mut plane.blocks[place.row * plane.across + place.column];
                if reader.read(place.part, part, bits, block).is_err() {
                    return Ok(()); // the next interval may be whole
                }
            }
        }
        Ok(())
    };
    // What is not there stays as it was.
    let _ = each_interval(scan, &octets, &begins, interval);
}

/// What the tables of a component are for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    First,
    Others,
}

/// Writes tables and one scan of all components.
fn write(frame: &JpegFrame, planes: &[Plane], into: &mut Vec<u8>) -> Result<(), JpegFlaw> {
    let empty = HuffmanTable::new([0; 16], &[])?;
    let part = |component: usize| {
        // As encoders do: the first component has tables of its own.
        let slot = u8::from(component > 0);
        let (dc, ac) = (empty.clone(), empty.clone());
        ScanPart { component, dc_slot: slot, ac_slot: slot, dc, ac }
    };
    let parts: Vec<ScanPart> = (0..planes.len()).map(part).collect();
    let scan = arranged(frame, parts, 0, 0..0)?;
    // Pieces need all codes of first coefficients, and that which ends a block.
    let first = || Frequencies::with(CATEGORIES);
    let others = || Frequencies::with(core::iter::once(END_OF_BLOCK));
    let mut counted = [(first(), others()), (first(), others())];
    each_symbol(&scan, planes, |part, class, symbol, _| {
        let (first, others) = &mut counted[usize::from(part > 0)];
        match class {
            Class::First => first.count(symbol),
            Class::Others => others.count(symbol),
        }
        Ok(())
    })?;
    let slots = planes.len().min(2);
    let mut tables = Vec::new();
    let mut codes: Vec<[Codes; 2]> = Vec::new();
    for (slot, (first, others)) in counted[..slots].iter().enumerate() {
        let both = [first.table()?, others.table()?];
        for (class, table) in both.iter().enumerate() {
            tables.push((class << 4 | slot) as u8);
            tables.extend_from_slice(table.counts());
            tables.extend_from_slice(table.symbols());
        }
        codes.push(both.map(|table| table.codes()));
    }
    write_segment(into, DHT, &tables);
    let mut head = alloc::vec![planes.len() as u8];
    for part in &scan.parts {
        head.extend([frame.components[part.component].id(), part.dc_slot << 4 | part.ac_slot]);
    }
    head.extend([0, 63, 0]);
    write_segment(into, SOS, &head);
    let mut data = BitWriter::new(true);
    each_symbol(&scan, planes, |part, class, symbol, (bits, value)| {
        codes[usize::from(part > 0)][class as usize].put(symbol, &mut data)?;
        data.put(value, bits);
        Ok(())
    })?;
    into.extend(data.finish());
    Ok(())
}

/// Goes over the symbols of a scan of all coefficients, with the bits behind each (T.81, F.1.2).
fn each_symbol(
    scan: &Scan,
    planes: &[Plane],
    mut each: impl FnMut(usize, Class, u8, (u8, u32)) -> Result<(), JpegFlaw>,
) -> Result<(), JpegFlaw> {
    let mut predicted = Predicted::default();
    for unit in 0..scan.units() {
        let mut before = 0;
        for place in places(scan, planes, unit) {
            let plane = &planes[scan.parts[place.part].component];
            let block = &plane.blocks[place.row * plane.across + place.column];
            // What only fills up a unit continues the block before, and is seen by nobody.
            let own = plane.owns(&place);
            let first = if own { i32::from(block[0]) } else { before };
            before = first;
            let difference = first - core::mem::replace(&mut predicted[place.part], first);
            let (category, value) = categorised(difference);
            if !DC.contains(&first) {
                return Err(JpegFlaw::Range("a value is too large"));
            }
            each(place.part, Class::First, category, (category, value))?;
            let mut zeros = 0;
            for coefficient in block[1..].iter().filter(|_| own) {
                if *coefficient == 0 {
                    zeros += 1;
                    continue;
                }
                while zeros > 15 {
                    each(place.part, Class::Others, SIXTEEN_ZEROS, (0, 0))?;
                    zeros -= 16;
                }
                let (category, value) = categorised(i32::from(*coefficient));
                if category > 10 {
                    return Err(JpegFlaw::Range("a coefficient is too large"));
                }
                each(place.part, Class::Others, zeros << 4 | category, (category, value))?;
                zeros = 0;
            }
            if zeros > 0 || !own {
                each(place.part, Class::Others, END_OF_BLOCK, (0, 0))?;
            }
        }
    }
    Ok(())
}
