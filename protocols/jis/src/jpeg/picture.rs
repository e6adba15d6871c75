//! A file that was read: its tables as they are sent, and the blocks of its scans.

use alloc::vec::Vec;

use super::TABLE_MOST;
use super::entropy::{Block, CATEGORIES, END_OF_BLOCK, read_scan, write_scan};
use super::flaw::JpegFlaw;
use super::join::Summary;
use super::layout::{JpegLayout, ScanPart};
use super::piece::PieceHead;
use super::rewrite;
use super::segments::{DHT, DQT, EOI, SOF1, SOI, SOS, write_segment};
use super::split::{piece, split};

/// A scan that was read: its octets, and its blocks.
pub(crate) struct ReadScan {
    pub(crate) octets: Vec<u8>,
    pub(crate) blocks: Vec<Block>,
}

/// A JPEG, ready to be split.
pub struct Picture {
    /// What pieces are read by: tables that lack no code.
    pub(crate) layout: JpegLayout,
    pub(crate) scans: Vec<ReadScan>,
    /// The file without the data of its scans.
    pub(crate) outside: Vec<u8>,
    quantisation: Vec<u8>,
    huffman: Vec<u8>,
    summary: Summary,
}

impl Picture {
    /// Reads a file. One that is progressive, or whose picture data are damaged, is rewritten as a
    /// baseline file first: of the same coefficients, as far as they are there.
    ///
    /// # Errors
    /// Returns a flaw of what is neither baseline nor progressive, or contradicts itself.
    pub fn read(file: &[u8]) -> Result<Self, JpegFlaw> {
        match Picture::read_baseline(file) {
            Err(flaw) if flaw.is_mended() => {
                let mut picture = Picture::read_baseline(&rewrite::baseline(file)?)?;
                let Summary { units, outside, .. } = picture.summary;
                picture.summary = Summary::of(file, false, units, outside);
                Ok(picture)
            }
            read => read,
        }
    }

    fn read_baseline(file: &[u8]) -> Result<Self, JpegFlaw> {
        let layout = JpegLayout::of(file)?;
        let (mut outside, mut done, mut scans, mut exact) = (Vec::new(), 0, Vec::new(), true);
        for scan in &layout.scans {
            let data = &file[scan.data.clone()];
            outside.extend_from_slice(&file[done..scan.data.start]);
            done = scan.data.end;
            let (octets, blocks) = read_scan(scan, data)?;
            let per = scan.blocks.len();
            let unit = |nth: usize| Some((&blocks[nth * per..][..per], &octets[..]));
            exact &= write_scan(scan, unit)? == data;
            scans.push(ReadScan { octets, blocks });
        }
        outside.extend_from_slice(&file[done..]);
        if outside.len() >= 1 << 24 {
            return Err(JpegFlaw::Outside(outside.len()));
        }
        let (quantisation, huffman) = (quantisation_body(&layout), huffman_body(&layout)?);
        for body in [&quantisation, &huffman] {
            if body.len() > TABLE_MOST {
                return Err(JpegFlaw::Tables(body.len()));
            }
        }
        let units = layout.units() as u32;
        let summary = Summary::of(file, exact, units, outside.len() as u32);
        let layout = told(&quantisation, &huffman)?;
        Ok(Picture { layout, scans, outside, quantisation, huffman, summary })
    }

    /// Returns the body of the ADU with frame and quantisation tables.
    pub fn quantisation(&self) -> &[u8] {
        &self.quantisation
    }

    /// Returns the body of the ADU with Huffman tables and the heads of scans.
    pub fn huffman(&self) -> &[u8] {
        &self.huffman
    }

    /// Returns what tells that all is there.
    pub fn summary(&self) -> Summary {
        self.summary
    }

    /// Returns its size, its components and its scans.
    pub fn layout(&self) -> &JpegLayout {
        &self.layout
    }

    /// Returns bodies of pieces, each of `most` octets or less.
    ///
    /// # Errors
    /// Returns a flaw where a unit does not fit a body.
    pub fn split(&self, most: usize) -> Result<Vec<Vec<u8>>, JpegFlaw> {
        split(self, most)
    }

    /// Returns a body of the one piece whose scan, first unit and count a head names: what it says
    /// of the length is not looked at.
    ///
    /// # Errors
    /// Returns [`JpegFlaw::Stray`] where the picture has no such units, or they are too long.
    pub fn piece(&self, head: PieceHead) -> Result<Vec<u8>, JpegFlaw> {
        piece(self, head)
    }
}

/// Reads what two table ADUs tell: together they are a file whose scans are empty.
pub(crate) fn told(quantisation: &[u8], huffman: &[u8]) -> Result<JpegLayout, JpegFlaw> {
    JpegLayout::of(&[&SOI[..], quantisation, huffman, &EOI].concat())
}

fn quantisation_body(layout: &JpegLayout) -> Vec<u8> {
    let mut body = Vec::new();
    for (code, content) in &layout.colours {
        write_segment(&mut body, *code, content);
    }
    for (slot, table) in layout.quantisation.iter().enumerate() {
        let used = layout.frame.components.iter().any(|component| component.table() == slot);
        if let Some(table) = table
            && used
        {
            write_segment(&mut body, DQT, table);
        }
    }
    // Extended sequential, which has four tables of each class (T.81, table B.2).
    write_segment(&mut body, SOF1, &layout.frame.content());
    body
}

fn huffman_body(layout: &JpegLayout) -> Result<Vec<u8>, JpegFlaw> {
    let (mut body, mut written) = (Vec::new(), Vec::new());
    for scan in &layout.scans {
        let (mut head, mut tables) = (alloc::vec![scan.parts.len() as u8], Vec::new());
        for part in &scan.parts {
            for (class, table) in completed(part)? {
                if !written.contains(&(class, table.clone())) {
                    tables.push(class);
                    tables.extend_from_slice(table.counts());
                    tables.extend_from_slice(table.symbols());
                    written.retain(|(other, _)| *other != class);
                    written.push((class, table));
                }
            }
            let id = layout.frame.components[part.component].id();
            head.extend([id, part.dc_slot << 4 | part.ac_slot]);
        }
        head.extend([0, 63, 0]);
        if !tables.is_empty() {
            write_segment(&mut body, DHT, &tables);
        }
        write_segment(&mut body, SOS, &head);
    }
    Ok(body)
}

/// The tables of a part, with all codes that pieces may need: files that were optimised lack some.
fn completed(part: &ScanPart) -> Result<[(u8, super::huffman::HuffmanTable); 2], JpegFlaw> {
    let dc = part.dc.completed(CATEGORIES)?;
    let ac = part.ac.completed(core::iter::once(END_OF_BLOCK))?;
    Ok([(part.dc_slot, dc), (0x10 | part.ac_slot, ac)])
}
