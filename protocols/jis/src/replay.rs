//! How far a picture had arrived, and how good it was, at any time.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::time::Duration;

use crate::jpeg::{Assembly, JpegFlaw, Picture, PieceHead};
use crate::pixels::Pixels;

/// A picture whose pieces arrive again, as they did.
pub struct Replay {
    file: Vec<u8>,
    picture: Picture,
    /// By time.
    arrivals: Vec<(Duration, PieceHead)>,
}

impl Replay {
    /// Makes one of a file, and of when its pieces of units arrived.
    ///
    /// # Errors
    /// Returns a flaw where the file is not baseline.
    pub fn new(file: Vec<u8>, mut arrivals: Vec<(Duration, PieceHead)>) -> Result<Self, JpegFlaw> {
        let picture = Picture::read(&file)?;
        arrivals.sort_by_key(|(time, _)| *time);
        Ok(Replay { file, picture, arrivals })
    }

    /// Returns the picture.
    pub fn picture(&self) -> &Picture {
        &self.picture
    }

    /// Returns how many units had arrived at a time.
    pub fn units_at(&self, time: Duration) -> usize {
        let arrived = self.arrivals.iter().take_while(|(when, _)| *when <= time);
        arrived.map(|(_, piece)| usize::from(piece.count)).sum()
    }

    /// Returns when `units` had arrived; `None` if that was never.
    pub fn time_of(&self, units: usize) -> Option<Duration> {
        let mut arrived = 0;
        let last = self.arrivals.iter().find(|(_, piece)| {
            arrived += usize::from(piece.count);
            arrived >= units
        });
        last.map(|(time, _)| *time)
    }

    /// Returns when the last piece arrived; `None` if none did.
    pub fn end(&self) -> Option<Duration> {
        self.arrivals.last().map(|(time, _)| *time)
    }

    /// Returns the peak signal-to-noise ratio in decibels at each of the instants, which rise. What
    /// has not arrived is grey; infinity where pixels are those of the file.
    ///
    /// # Errors
    /// Returns a sentence where the pieces are not of this picture, or nothing decodes it.
    pub fn psnr(&self, instants: &[Duration]) -> Result<Vec<f64>, String> {
        let wrong = |flaw: JpegFlaw| flaw.to_string();
        let (picture, original) = (&self.picture, Pixels::of(&self.file)?);
        let assembly = Assembly::new(picture.quantisation(), picture.huffman());
        let mut assembly = assembly.map_err(wrong)?;
        let mut arrivals = self.arrivals.iter().peekable();
        let at = |instant: &Duration| {
            while let Some((_, piece)) = arrivals.next_if(|(time, _)| time <= instant) {
                let body = picture.piece(*piece).map_err(wrong)?;
                assembly.take(&body).map_err(wrong)?;
            }
            Ok(Pixels::of(&assembly.partial().map_err(wrong)?)?.psnr(&original))
        };
        instants.iter().map(at).collect()
    }
}
