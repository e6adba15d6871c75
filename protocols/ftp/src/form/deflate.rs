//! MODE Z: one zlib stream per file (draft-preston-ftpext-deflate, RFC 1950, RFC 1951).
//!
//! The end of the stream is the end of the file, and its Adler-32 has to be right.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use miniz_oxide::deflate::core::{CompressionStrategy, CompressorOxide};
use miniz_oxide::deflate::stream::deflate;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

use super::Damage;

/// The window of zlib's default, as the power of two.
const WINDOW: u8 = 15;
/// How many octets are made at once.
const PIECE: usize = 16 << 10;
/// How many octets a stream may become without a look at how many it is made of.
const FREE: u64 = 16 << 20;
/// How many octets each octet of a longer stream may become, on average. Text and tables become ten
/// to a hundred, a bomb a thousand.
const RATIO: u64 = 200;

/// Compresses.
pub(super) struct Encoder {
    compressor: Box<CompressorOxide>,
    piece: Vec<u8>,
}

impl Encoder {
    /// Creates an encoder that compresses at `level`, from 1 to 9.
    pub(super) fn new(level: u8) -> Self {
        let (format, strategy) = (DataFormat::Zlib, CompressionStrategy::Default);
        let compressor = CompressorOxide::with_params(format, level.clamp(1, 9), strategy, WINDOW);
        Encoder { compressor: Box::new(compressor), piece: vec![0; PIECE] }
    }

    /// Compresses `octets`, and appends to `out` what is ready.
    pub(super) fn feed(&mut self, octets: &[u8], out: &mut Vec<u8>) {
        self.compress(octets, MZFlush::None, out);
    }

    /// Appends the rest to `out`: the file ends here.
    pub(super) fn finish(&mut self, out: &mut Vec<u8>) {
        self.compress(&[], MZFlush::Finish, out);
    }

    fn compress(&mut self, mut octets: &[u8], flush: MZFlush, out: &mut Vec<u8>) {
        loop {
            let result = deflate(&mut self.compressor, octets, &mut self.piece, flush);
            octets = &octets[result.bytes_consumed..];
            out.extend_from_slice(&self.piece[..result.bytes_written]);
            // Where the piece is full, there may be more; an error means that there is nothing.
            if result.status != Ok(MZStatus::Ok) || result.bytes_written < PIECE {
                break;
            }
        }
    }
}

/// Expands.
pub(super) struct Decoder {
    state: Box<InflateState>,
    piece: Vec<u8>,
    taken: u64,
    made: u64,
    holds: bool,
    ended: bool,
}

impl Default for Decoder {
    fn default() -> Self {
        Decoder {
            state: InflateState::new_boxed(DataFormat::Zlib),
            piece: vec![0; PIECE],
            taken: 0,
            made: 0,
            holds: false,
            ended: false,
        }
    }
}

impl Decoder {
    /// Takes octets off the front of `octets` and returns at most `most` that they expand to. There
    /// are none where more octets are needed first, or where the stream has ended.
    ///
    /// # Errors
    /// [`Damage::Compressed`] where it is no zlib stream or its checksum is wrong,
    /// [`Damage::Expansion`] where it becomes too much.
    pub(super) fn next(&mut self, octets: &mut &[u8], most: usize) -> Result<&[u8], Damage> {
        let room = most.min(PIECE);
        while room > 0 && !self.ended && (self.holds || !octets.is_empty()) {
            let piece = &mut self.piece[..room];
            let result = inflate(&mut self.state, octets, piece, MZFlush::None);
            *octets = &octets[result.bytes_consumed..];
            self.taken += result.bytes_consumed as u64;
            self.made += result.bytes_written as u64;
            match result.status {
                Ok(MZStatus::StreamEnd) => self.ended = true,
                Ok(MZStatus::Ok) if result.bytes_consumed + result.bytes_written > 0 => {}
                // Nothing could be done without further octets.
                Err(MZError::Buf) if octets.is_empty() => {}
                _ => return Err(Damage::Compressed),
            }
            // More may be behind a full piece, and where the window wraps.
            let wraps = self.state.last_status() == TINFLStatus::HasMoreOutput;
            self.holds = !self.ended && (result.bytes_written == room || wraps);
            if self.made > FREE + RATIO * self.taken {
                return Err(Damage::Expansion);
            }
            if result.bytes_written > 0 {
                return Ok(&self.piece[..result.bytes_written]);
            }
        }
        Ok(&[])
    }

    /// Returns whether there may be more to take without further octets.
    pub(super) fn holds(&self) -> bool {
        self.holds
    }

    /// Returns whether the stream has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }
}
