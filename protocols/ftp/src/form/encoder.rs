//! From the octets of a file to those on a data association.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

use super::{Form, Mode, Representation, Structure, ascii, block, deflate, record};

/// Turns a file into what a data association carries: lines first, then the mode.
///
/// It appends at most four octets for each, and a constant.
pub struct Encoder {
    lines: Lines,
    carrier: Carrier,
    /// What the lines have become, on its way into the mode.
    between: Vec<u8>,
}

enum Lines {
    AsTheyAre,
    Ascii(ascii::Encoder),
    Records,
}

enum Carrier {
    Stream,
    Block,
    /// Records that end with their blocks.
    RecordBlock,
    Deflate(Box<deflate::Encoder>),
}

impl Encoder {
    /// Creates the encoder of `form`; `None` where nothing has to be encoded.
    pub fn new(form: Form) -> Option<Self> {
        let carrier = match (form.mode, form.structure) {
            (Mode::Stream, _) => Carrier::Stream,
            (Mode::Block, Structure::File) => Carrier::Block,
            (Mode::Block, Structure::Record) => Carrier::RecordBlock,
            (Mode::Deflate { level }, _) => {
                Carrier::Deflate(Box::new(deflate::Encoder::new(level)))
            }
        };
        let lines = match (form.structure, form.representation) {
            (Structure::Record, _) if form.mode == Mode::Block => Lines::AsTheyAre,
            (Structure::Record, _) => Lines::Records,
            (Structure::File, Representation::Ascii) => Lines::Ascii(ascii::Encoder::default()),
            (Structure::File, Representation::Image) => Lines::AsTheyAre,
        };
        (!form.is_plain()).then_some(Encoder { lines, carrier, between: Vec::new() })
    }

    /// Encodes `octets`, and appends to `out` what is ready.
    pub fn feed(&mut self, octets: &[u8], out: &mut Vec<u8>) {
        match self.carrier {
            Carrier::Stream => self.lines.feed(octets, out),
            _ => {
                let mut between = mem::take(&mut self.between);
                match self.lines {
                    Lines::AsTheyAre => self.carrier.feed(octets, out),
                    _ => {
                        self.lines.feed(octets, &mut between);
                        self.carrier.feed(&between, out);
                    }
                }
                between.clear();
                self.between = between;
            }
        }
    }

    /// Appends the rest to `out`: the file ends here.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        let mut end = Vec::new();
        if matches!(self.lines, Lines::Records) {
            record::finish(&mut end);
        }
        self.carrier.feed(&end, out);
        self.carrier.finish(out);
    }
}

impl Lines {
    fn feed(&mut self, octets: &[u8], out: &mut Vec<u8>) {
        match self {
            Lines::AsTheyAre => out.extend_from_slice(octets),
            Lines::Ascii(ascii) => ascii.feed(octets, out),
            Lines::Records => record::encode(octets, out),
        }
    }
}

impl Carrier {
    fn feed(&mut self, octets: &[u8], out: &mut Vec<u8>) {
        match self {
            Carrier::Stream => out.extend_from_slice(octets),
            Carrier::Block => block::encode(octets, out),
            Carrier::RecordBlock => block::encode_records(octets, out),
            Carrier::Deflate(deflate) => deflate.feed(octets, out),
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        match self {
            Carrier::Stream => {}
            Carrier::Block | Carrier::RecordBlock => block::finish(out),
            Carrier::Deflate(deflate) => deflate.finish(out),
        }
    }
}
