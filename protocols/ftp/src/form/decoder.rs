//! From the octets of a data association to those of a file.

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::block::Part;
use super::{Damage, Form, Mode, Representation, Structure, ascii, block, deflate, record};

/// Turns what a data association carries into a file: the mode first, then lines.
pub struct Decoder {
    carrier: Carrier,
    lines: Lines,
    marker: Option<Vec<u8>>,
    suspect: bool,
    ended: bool,
}

enum Carrier {
    Stream,
    Block { decoder: block::Decoder, records: bool },
    Deflate(Box<deflate::Decoder>),
}

enum Lines {
    AsTheyAre,
    Ascii(ascii::Decoder),
    Records(record::Decoder),
}

impl Decoder {
    /// Creates the decoder of `form`; `None` where nothing has to be decoded.
    pub fn new(form: Form) -> Option<Self> {
        let records = form.structure == Structure::Record;
        let carrier = match form.mode {
            Mode::Stream => Carrier::Stream,
            Mode::Block => Carrier::Block { decoder: block::Decoder::default(), records },
            Mode::Deflate { .. } => Carrier::Deflate(Box::default()),
        };
        let lines = match (form.structure, form.representation) {
            (Structure::Record, _) if form.mode == Mode::Block => Lines::AsTheyAre,
            (Structure::Record, _) => Lines::Records(record::Decoder::default()),
            (Structure::File, Representation::Ascii) => Lines::Ascii(ascii::Decoder::default()),
            (Structure::File, Representation::Image) => Lines::AsTheyAre,
        };
        let decoder = Decoder { carrier, lines, marker: None, suspect: false, ended: false };
        (!form.is_plain()).then_some(decoder)
    }

    /// Decodes `octets`, and appends the file's to `out` until that holds `most`, give or take one.
    /// Returns how many octets it took.
    ///
    /// It takes fewer than all where `out` is full, at a [marker](Self::take_marker), and at the
    /// [end](Self::has_ended) of the file. Where it [holds](Self::holds) octets back, it goes on
    /// with none.
    ///
    /// # Errors
    /// The damage. Nothing of the file counts then.
    pub fn feed(&mut self, octets: &[u8], most: usize, out: &mut Vec<u8>) -> Result<usize, Damage> {
        let mut rest = octets;
        while out.len() < most && self.marker.is_none() && !self.ended {
            if rest.is_empty() && !self.holds() {
                break;
            }
            let room = most - out.len();
            match &mut self.carrier {
                Carrier::Stream => {
                    let (piece, _) = rest.split_at(room.min(rest.len()));
                    let taken = self.lines.feed(piece, out)?;
                    rest = &rest[taken..];
                    self.ended = self.lines.have_ended();
                }
                Carrier::Block { decoder, records } => {
                    // No block may lead past what there is room for.
                    let (mut piece, _) = rest.split_at(room.min(rest.len()));
                    let before = piece.len();
                    let part = decoder.next(&mut piece)?;
                    rest = &rest[before - piece.len()..];
                    self.suspect |= decoder.take_suspect();
                    match part {
                        None => {}
                        Some(Part::Octets(octets)) => {
                            self.lines.feed(octets, out)?;
                        }
                        Some(Part::EndOfRecord) if *records => out.push(b'\n'),
                        Some(Part::EndOfRecord) => return Err(Damage::Block),
                        Some(Part::Marker(marker)) => self.marker = Some(marker),
                        Some(Part::EndOfFile) => self.ended = true,
                    }
                }
                Carrier::Deflate(decoder) => {
                    let piece = decoder.next(&mut rest, room)?;
                    if self.lines.feed(piece, out)? < piece.len() {
                        return Err(Damage::Trailing);
                    }
                    self.ended = decoder.has_ended();
                    if self.ended && !self.lines.may_end() {
                        return Err(Damage::Truncated);
                    }
                }
            }
            if self.ended {
                self.lines.finish(out);
            }
        }
        Ok(octets.len() - rest.len())
    }

    /// Appends the rest to `out`: the association has ended.
    ///
    /// # Errors
    /// [`Damage::Truncated`] where the file has not.
    pub fn finish(&mut self, out: &mut Vec<u8>) -> Result<(), Damage> {
        if !self.ended {
            if !matches!(self.carrier, Carrier::Stream) || !self.lines.may_end() {
                return Err(Damage::Truncated);
            }
            self.ended = true;
            self.lines.finish(out);
        }
        Ok(())
    }

    /// Returns whether octets are held back for which `out` had no room.
    pub fn holds(&self) -> bool {
        !self.ended
            && match &self.carrier {
                Carrier::Stream => false,
                Carrier::Block { decoder, .. } => decoder.holds(),
                Carrier::Deflate(decoder) => decoder.holds(),
            }
    }

    /// Returns whether the file has ended. What arrives behind its end is no part of it.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes the restart marker that stands at this place of the file (RFC 959 §3.5).
    pub fn take_marker(&mut self) -> Option<Vec<u8>> {
        self.marker.take()
    }

    /// Returns whether the sender marked data as possibly in error (RFC 959 §3.4.2).
    pub fn is_suspect(&self) -> bool {
        self.suspect
    }
}

impl Lines {
    fn feed(&mut self, octets: &[u8], out: &mut Vec<u8>) -> Result<usize, Damage> {
        match self {
            Lines::AsTheyAre => out.extend_from_slice(octets),
            Lines::Ascii(ascii) => ascii.feed(octets, out),
            Lines::Records(records) => return records.feed(octets, out),
        }
        Ok(octets.len())
    }

    /// Returns whether they say that the file has ended.
    fn have_ended(&self) -> bool {
        matches!(self, Lines::Records(records) if records.has_ended())
    }

    /// Returns whether the file may end here.
    fn may_end(&self) -> bool {
        !matches!(self, Lines::Records(_)) || self.have_ended()
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        if let Lines::Ascii(ascii) = self {
            ascii.finish(out);
        }
    }
}
