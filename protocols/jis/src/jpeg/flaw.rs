//! Why a file or a piece is refused.

use core::fmt;

/// Why a file is not taken, or a piece is discarded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum JpegFlaw {
    /// It does not begin with SOI.
    NoJpeg,
    /// It ends within this.
    Ends(&'static str),
    /// A segment contradicts T.81.
    Malformed(&'static str),
    /// A coding process other than baseline, by its SOF marker.
    Process(u8),
    /// Twelve bits a sample, or another depth than eight.
    Depth(u8),
    /// More pixels than are taken.
    Large {
        /// Its width.
        width: u16,
        /// Its height.
        height: u16,
    },
    /// Bits that are no code of their table.
    NoCode,
    /// A value or a position that baseline does not have.
    Range(&'static str),
    /// Tables that do not fit their ADU.
    Tables(usize),
    /// More than sixteen million octets that are no picture.
    Outside(usize),
    /// A minimum coded unit that does not fit a body.
    Unit {
        /// Its place.
        mcu: usize,
        /// How long it is.
        octets: usize,
    },
    /// A piece that is no part of the picture.
    Stray,
}

impl JpegFlaw {
    /// Whether a file with this flaw may be rewritten without it.
    pub(crate) fn is_mended(self) -> bool {
        matches!(
            self,
            JpegFlaw::Process(2)
                | JpegFlaw::NoCode
                | JpegFlaw::Range(_)
                | JpegFlaw::Ends(PICTURE_DATA)
        )
    }
}

/// What a file ends within that lacks some of its picture.
pub(crate) const PICTURE_DATA: &str = "its picture data";

impl fmt::Display for JpegFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JpegFlaw::NoJpeg => write!(f, "it is not a JPEG"),
            JpegFlaw::Ends(within) => write!(f, "it ends within {within}"),
            JpegFlaw::Malformed(what) => write!(f, "{what}"),
            JpegFlaw::Process(2) => write!(f, "it is progressive, where baseline is needed"),
            JpegFlaw::Process(0xc) => {
                write!(f, "its height follows its first scan (DNL), which is not supported")
            }
            JpegFlaw::Process(9..) => write!(
                f,
                "it is coded arithmetically; `jpegtran -outfile baseline.jpg FILE` makes it \
                 baseline without loss"
            ),
            JpegFlaw::Process(process) => {
                write!(f, "its coding process, SOF{process}, is not supported; baseline is")
            }
            JpegFlaw::Depth(bits) => write!(f, "it has {bits} bits a sample; 8 are supported"),
            JpegFlaw::Large { width, height } => {
                write!(f, "it has {width} × {height} pixels; at most 64 million are supported")
            }
            JpegFlaw::NoCode => write!(f, "its picture data are damaged: bits that are no code"),
            JpegFlaw::Range(what) => write!(f, "its picture data are damaged: {what}"),
            JpegFlaw::Tables(octets) => {
                write!(f, "its tables have {octets} octets; {} fit an ADU", super::TABLE_MOST)
            }
            JpegFlaw::Outside(octets) => {
                write!(f, "it has {octets} octets beside its picture; 16 million are supported")
            }
            JpegFlaw::Unit { mcu, octets } => write!(
                f,
                "unit {mcu} of its picture has {octets} octets, which do not fit the requested ADU"
            ),
            JpegFlaw::Stray => write!(f, "a piece is no part of the picture"),
        }
    }
}

impl core::error::Error for JpegFlaw {}
