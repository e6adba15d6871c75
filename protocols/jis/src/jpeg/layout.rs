//! What the segments of a file amount to: its frame, and what each scan needs.

use alloc::vec::Vec;
use core::ops::Range;

use super::flaw::JpegFlaw;
use super::huffman::HuffmanTable;
use super::segments::{APP0, APP14, DHT, DQT, DRI, SOF0, SOF1, SOS, Segments};

/// Pixels of the largest picture.
pub(crate) const PIXELS_MOST: usize = 1 << 26;

/// A component of a picture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Component {
    id: u8,
    pub(crate) h: usize,
    pub(crate) v: usize,
    quantisation: usize,
}

/// The size of a picture, and its components.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JpegFrame {
    /// Pixels in a row.
    pub width: u16,
    /// Rows.
    pub height: u16,
    pub(crate) components: Vec<Component>,
}

/// A component of a scan, and its tables.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ScanPart {
    pub(crate) component: usize,
    pub(crate) dc_slot: u8,
    pub(crate) ac_slot: u8,
    pub(crate) dc: HuffmanTable,
    pub(crate) ac: HuffmanTable,
}

/// A scan: what it needs, and where its data are in the file.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    pub(crate) parts: Vec<ScanPart>,
    /// The part of each block of a unit.
    pub(crate) blocks: Vec<usize>,
    /// Units in a row, and rows.
    pub(crate) across: usize,
    pub(crate) down: usize,
    /// Units between restarts; 0: none.
    pub(crate) restart: usize,
    pub(crate) data: Range<usize>,
}

/// A file's frame, tables and scans.
#[derive(Clone, Debug)]
pub struct JpegLayout {
    /// Its size and components.
    pub frame: JpegFrame,
    pub(crate) scans: Vec<Scan>,
    /// Quantisation tables, as they are in DQT; the first octet has precision and slot.
    pub(crate) quantisation: [Option<Vec<u8>>; 4],
    /// JFIF and Adobe segments tell the colours: their content.
    pub(crate) colours: Vec<(u8, Vec<u8>)>,
}

impl JpegLayout {
    /// Reads what a file says of its picture; the picture data are not looked at.
    ///
    /// # Errors
    /// Returns a flaw of what is not baseline, or contradicts itself.
    pub fn of(file: &[u8]) -> Result<Self, JpegFlaw> {
        let mut reading = Reading::default();
        let mut segments = Segments::of(file)?;
        while let Some(segment) = segments.next()? {
            let content = segment.content;
            match segment.code {
                DQT => reading.quantisation(content)?,
                DHT => reading.huffman(content)?,
                DRI => reading.restart(content)?,
                SOF0 | SOF1 => reading.frame(content)?,
                SOS => reading.scan(content, segment.data)?,
                0xc2..=0xcf => return Err(JpegFlaw::Process(segment.code - 0xc0)),
                0xdc => return Err(JpegFlaw::Process(0xc)), // DNL
                APP0 if content.starts_with(b"JFIF\0") => reading.colours(APP0, content, 14),
                APP14 if content.starts_with(b"Adobe") => reading.colours(APP14, content, 12),
                _ => {}
            }
        }
        reading.finish()
    }

    /// Returns how many units all scans have.
    pub fn units(&self) -> usize {
        self.scans.iter().map(Scan::units).sum()
    }

    /// Returns the pixels of `count` units of one row of the first scan, from the unit `first` on:
    /// left, top, width and height. Those at an edge may reach beyond the picture.
    pub fn area(&self, first: u32, count: u8) -> [usize; 4] {
        let scan = &self.scans[0];
        // The unit of a component alone is one block of it (T.81 A.2.2).
        let (h, v) = match &scan.parts[..] {
            [part] => {
                let component = &self.frame.components[part.component];
                (component.h, component.v)
            }
            _ => (1, 1),
        };
        let [h_most, v_most] = self.frame.sampling();
        let (width, height) = (8 * h_most / h, 8 * v_most / v);
        let (row, column) = (first as usize / scan.across, first as usize % scan.across);
        [column * width, row * height, usize::from(count) * width, height]
    }
}

impl Scan {
    pub(crate) fn units(&self) -> usize {
        self.across * self.down
    }
}

/// What the segments have told so far.
#[derive(Default)]
pub(crate) struct Reading {
    pub(crate) frame: Option<JpegFrame>,
    scans: Vec<Scan>,
    /// Whether there was a scan.
    scanned: bool,
    quantisation: [Option<Vec<u8>>; 4],
    dc: [Option<HuffmanTable>; 4],
    ac: [Option<HuffmanTable>; 4],
    restart: usize,
    colours: Vec<(u8, Vec<u8>)>,
}

/// Which coefficients a scan has, in the order of the zigzag, and which of their bits (T.81,
/// G.1.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Band {
    pub(crate) first: usize,
    pub(crate) last: usize,
    /// The lowest bit that is known; 0: none is.
    pub(crate) known: u8,
    /// The lowest bit that this scan tells.
    pub(crate) low: u8,
}

impl Band {
    /// All of them, as a scan that is not progressive has.
    pub(crate) const WHOLE: Band = Band { first: 0, last: 63, known: 0, low: 0 };
}

impl Reading {
    fn colours(&mut self, code: u8, content: &[u8], length: usize) {
        let known = self.colours.iter().any(|(other, _)| *other == code);
        if let Some(told) = content.get(..length)
            && !known
        {
            let mut told = told.to_vec();
            if let Some(thumbnail) = told.get_mut(12..14) {
                thumbnail.fill(0); // it stays in the file, and is not told
            }
            self.colours.push((code, told));
        }
    }

    pub(crate) fn restart(&mut self, content: &[u8]) -> Result<(), JpegFlaw> {
        let [high, low] = content[..] else {
            return Err(JpegFlaw::Malformed("a restart interval has a wrong length"));
        };
        self.restart = usize::from(u16::from_be_bytes([high, low]));
        Ok(())
    }

    pub(crate) fn quantisation(&mut self, mut content: &[u8]) -> Result<(), JpegFlaw> {
        while let Some(first) = content.first() {
            let length = match first >> 4 {
                0 => 65,
                1 => 129,
                _ => return Err(JpegFlaw::Malformed("a quantisation table has a wrong precision")),
            };
            let Some((table, rest)) = content.split_at_checked(length) else {
                return Err(JpegFlaw::Ends("a quantisation table"));
            };
            let Some(slot) = self.quantisation.get_mut(usize::from(first & 15)) else {
                return Err(JpegFlaw::Malformed("a quantisation table has a wrong number"));
            };
            if self.scanned && slot.as_deref().is_some_and(|old| old != table) {
                return Err(JpegFlaw::Malformed("a quantisation table changes between scans"));
            }
            *slot = Some(table.to_vec());
            content = rest;
        }
        Ok(())
    }

    pub(crate) fn huffman(&mut self, mut content: &[u8]) -> Result<(), JpegFlaw> {
        while let Some((first, rest)) = content.split_first() {
            let Some((counts, rest)) = rest.split_first_chunk::<16>() else {
                return Err(JpegFlaw::Ends("a Huffman table"));
            };
            let count = counts.iter().map(|count| usize::from(*count)).sum();
            let Some((symbols, rest)) = rest.split_at_checked(count) else {
                return Err(JpegFlaw::Ends("a Huffman table"));
            };
            let slots = match first >> 4 {
                0 => &mut self.dc,
                1 => &mut self.ac,
                _ => return Err(JpegFlaw::Malformed("a Huffman table has a wrong class")),
            };
            let Some(slot) = slots.get_mut(usize::from(first & 15)) else {
                return Err(JpegFlaw::Malformed("a Huffman table has a wrong number"));
            };
            *slot = Some(HuffmanTable::new(*counts, symbols)?);
            content = rest;
        }
        Ok(())
    }

    pub(crate) fn frame(&mut self, content: &[u8]) -> Result<(), JpegFlaw> {
        if self.frame.is_some() {
            return Err(JpegFlaw::Malformed("it has two frames"));
        }
        let Some(([depth, y1, y0, x1, x0, count], rest)) = content.split_first_chunk::<6>() else {
            return Err(JpegFlaw::Ends("its frame"));
        };
        if *depth != 8 {
            return Err(JpegFlaw::Depth(*depth));
        }
        let [width, height] = [[*x1, *x0], [*y1, *y0]].map(u16::from_be_bytes);
        if height == 0 {
            return Err(JpegFlaw::Process(0xc));
        }
        if width == 0 || !(1..=4).contains(count) || rest.len() != usize::from(*count) * 3 {
            return Err(JpegFlaw::Malformed("its frame contradicts itself"));
        }
        if usize::from(width) * usize::from(height) > PIXELS_MOST {
            return Err(JpegFlaw::Large { width, height });
        }
        let mut components: Vec<Component> = Vec::new();
        for part in rest.chunks_exact(3) {
            let [h, v] = [part[1] >> 4, part[1] & 15].map(usize::from);
            let (id, quantisation) = (part[0], usize::from(part[2]));
            if !(1..=4).contains(&h) || !(1..=4).contains(&v) || quantisation > 3 {
                return Err(JpegFlaw::Malformed("a component has a wrong sampling or table"));
            }
            if components.iter().any(|other| other.id == id) {
                return Err(JpegFlaw::Malformed("two components have one name"));
            }
            components.push(Component { id, h, v, quantisation });
        }
        self.frame = Some(JpegFrame { width, height, components });
        Ok(())
    }

    fn scan(&mut self, content: &[u8], data: Range<usize>) -> Result<(), JpegFlaw> {
        let (scan, band) = self.read_scan(content, data)?;
        if band != Band::WHOLE {
            return Err(JpegFlaw::Malformed(
                "a scan of a baseline picture has only some coefficients",
            ));
        }
        let twice = |part: &ScanPart| {
            let mut all = self.scans.iter().flat_map(|scan| &scan.parts);
            all.any(|other| other.component == part.component)
        };
        if scan.parts.iter().any(twice) {
            return Err(JpegFlaw::Malformed("a component has two scans"));
        }
        self.scans.push(scan);
        Ok(())
    }

    /// Reads the head of a scan. A table that its band does not need may be empty.
    pub(crate) fn read_scan(
        &mut self,
        content: &[u8],
        data: Range<usize>,
    ) -> Result<(Scan, Band), JpegFlaw> {
        let Some(frame) = &self.frame else {
            return Err(JpegFlaw::Malformed("a scan stands before the frame"));
        };
        let count = content.first().map_or(0, |count| usize::from(*count));
        if !(1..=4).contains(&count) || content.len() != 2 * count + 4 {
            return Err(JpegFlaw::Malformed("the head of a scan contradicts itself"));
        }
        let (told, band) = content[1..].split_at(2 * count);
        let band = Band {
            first: usize::from(band[0]),
            last: usize::from(band[1]),
            known: band[2] >> 4,
            low: band[2] & 15,
        };
        let needs_dc = band.first == 0 && band.known == 0;
        let needs_ac = band.last > 0;
        let mut parts: Vec<ScanPart> = Vec::new();
        for told in told.chunks_exact(2) {
            let component = frame.components.iter().position(|one| one.id == told[0]);
            let component = component.ok_or(JpegFlaw::Malformed("a scan of no component"))?;
            if parts.iter().any(|part| part.component == component) {
                return Err(JpegFlaw::Malformed("a component has two scans"));
            }
            let (dc_slot, ac_slot) = (told[1] >> 4, told[1] & 15);
            let table = |slots: &[Option<HuffmanTable>; 4], slot: u8, needed: bool| {
                let there = slots.get(usize::from(slot)).cloned().flatten();
                match there.filter(|_| needed) {
                    Some(table) => Ok(table),
                    None if !needed => HuffmanTable::new([0; 16], &[]),
                    None => {
                        let what = "a scan needs a Huffman table that is not there";
                        Err(JpegFlaw::Malformed(what))
                    }
                }
            };
            let dc = table(&self.dc, dc_slot, needs_dc)?;
            let ac = table(&self.ac, ac_slot, needs_ac)?;
            parts.push(ScanPart { component, dc_slot, ac_slot, dc, ac });
        }
        self.scanned = true;
        Ok((arranged(frame, parts, self.restart, data)?, band))
    }

    fn finish(self) -> Result<JpegLayout, JpegFlaw> {
        let Some(frame) = self.frame else { return Err(JpegFlaw::Malformed("it has no frame")) };
        let parts: usize = self.scans.iter().map(|scan| scan.parts.len()).sum();
        if parts < frame.components.len() {
            return Err(JpegFlaw::Ends("its scans"));
        }
        for component in &frame.components {
            if self.quantisation[component.quantisation].is_none() {
                return Err(JpegFlaw::Malformed("a quantisation table is not there"));
            }
        }
        let Reading { scans, quantisation, colours, .. } = self;
        Ok(JpegLayout { frame, scans, quantisation, colours })
    }
}

impl JpegFrame {
    /// Returns the most samples of a component, across and down.
    pub(crate) fn sampling(&self) -> [usize; 2] {
        let most = |of: fn(&Component) -> usize| self.components.iter().map(of).max().unwrap_or(1);
        [most(|one| one.h), most(|one| one.v)]
    }

    /// Returns the units of all components in a row, and rows.
    pub(crate) fn units(&self) -> [usize; 2] {
        let [h_most, v_most] = self.sampling();
        let [width, height] = [self.width, self.height].map(usize::from);
        [width.div_ceil(8 * h_most), height.div_ceil(8 * v_most)]
    }

    /// Returns the blocks of a component by itself in a row, and rows.
    pub(crate) fn blocks(&self, component: &Component) -> [usize; 2] {
        let [h_most, v_most] = self.sampling();
        let [width, height] = [self.width, self.height].map(usize::from);
        let across = (width * component.h).div_ceil(h_most).div_ceil(8);
        [across, (height * component.v).div_ceil(v_most).div_ceil(8)]
    }

    /// Returns the content of its segment.
    pub(crate) fn content(&self) -> Vec<u8> {
        let ([y1, y0], [x1, x0]) = (self.height.to_be_bytes(), self.width.to_be_bytes());
        let mut content = alloc::vec![8, y1, y0, x1, x0, self.components.len() as u8];
        content.extend(self.components.iter().flat_map(|component| component.octets()));
        content
    }
}

/// Arranges the units of a scan (T.81, A.2).
pub(crate) fn arranged(
    frame: &JpegFrame,
    parts: Vec<ScanPart>,
    restart: usize,
    data: Range<usize>,
) -> Result<Scan, JpegFlaw> {
    if let [only] = &parts[..] {
        let [across, down] = frame.blocks(&frame.components[only.component]);
        return Ok(Scan { parts, blocks: alloc::vec![0], across, down, restart, data });
    }
    let mut blocks = Vec::new();
    for (nth, part) in parts.iter().enumerate() {
        let component = frame.components[part.component];
        blocks.extend(core::iter::repeat_n(nth, component.h * component.v));
    }
    if blocks.len() > 10 {
        return Err(JpegFlaw::Malformed("a unit has more than ten blocks"));
    }
    let [across, down] = frame.units();
    Ok(Scan { parts, blocks, across, down, restart, data })
}

impl Component {
    /// Returns it as it is in SOF.
    pub(crate) fn octets(self) -> [u8; 3] {
        [self.id, (self.h << 4 | self.v) as u8, self.quantisation as u8]
    }

    pub(crate) fn id(self) -> u8 {
        self.id
    }

    pub(crate) fn table(self) -> usize {
        self.quantisation
    }
}
