//! The information of XID (§4.3.3.7): what two stations of version 2.2 agree on.

use stackwright_wire::{Header, Malformed};

/// The head of the information (ISO 8885): a format, and one group of parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct XidHeader {
    /// The format: general.
    #[bits(8)]
    #[fixed(0x82)]
    pub format: (),
    /// The group: parameters.
    #[bits(8)]
    #[fixed(0x80)]
    pub group: (),
    /// Octets of all parameters.
    pub length: u16,
}

/// The head of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct XidParameter {
    /// Which (PI).
    pub id: u8,
    /// Octets of its value (PL).
    pub length: u8,
}

/// Optional functions of HDLC, a bit each (parameter 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Functions(pub u32);

impl Functions {
    /// REJ.
    pub const REJECT: Self = Functions(0x02_0000);
    /// SREJ.
    pub const SELECTIVE_REJECT: Self = Functions(0x04_0000);
    /// Addresses of more than one octet.
    pub const EXTENDED_ADDRESS: Self = Functions(0x80_0000);
    /// Numbers of three bits.
    pub const MODULO_8: Self = Functions(0x00_0400);
    /// Numbers of seven bits.
    pub const MODULO_128: Self = Functions(0x00_0800);
    /// TEST.
    pub const TEST: Self = Functions(0x00_2000);
    /// A frame check of 16 bits.
    pub const CHECK_16: Self = Functions(0x00_8000);
    /// SREJ that names several frames.
    pub const MULTIPLE_SELECTIVE_REJECT: Self = Functions(0x00_0020);
    /// Segments of longer messages.
    pub const SEGMENTER: Self = Functions(0x00_0040);
    /// Synchronous transmission.
    pub const SYNCHRONOUS: Self = Functions(0x00_0002);

    /// Returns the functions of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Functions(self.0 | other.0)
    }

    /// Returns the functions that both have.
    #[must_use]
    pub const fn shared(self, other: Self) -> Self {
        Functions(self.0 & other.0)
    }

    /// Returns whether all functions of `other` are here.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// The parameters of a station; what is `None` stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct XidParameters {
    /// Classes of procedures (parameter 2).
    pub classes: Option<u16>,
    /// Optional functions (parameter 3).
    pub functions: Option<Functions>,
    /// The longest information that it receives, in octets; bits on the air (parameter 6).
    pub longest: Option<u32>,
    /// The frames that it receives before it acknowledges (parameter 8).
    pub window: Option<u8>,
    /// T1, in milliseconds (parameter 9).
    pub timeout: Option<u16>,
    /// N2 (parameter 10).
    pub tries: Option<u8>,
}

/// Balanced, half duplex. The specification's example prints the octets exchanged.
pub const BALANCED_HALF_DUPLEX: u16 = 0x2100;

const CLASSES: u8 = 2;
const FUNCTIONS: u8 = 3;
const LONGEST: u8 = 6;
const WINDOW: u8 = 8;
const TIMEOUT: u8 = 9;
const TRIES: u8 = 10;

/// The most octets that the parameters here are encoded in.
pub const XID_MOST: usize = XidHeader::LENGTH + 6 * XidParameter::LENGTH + 2 + 3 + 4 + 1 + 2 + 1;

impl XidParameters {
    /// Decodes the information of an XID frame. XidParameters that are not known are passed over,
    /// and so are values that are too long to be one.
    ///
    /// # Errors
    /// It is not of this format, or a length does not fit.
    pub fn decode(octets: &[u8]) -> Result<Self, Malformed> {
        let mut parameters = XidParameters::default();
        if octets.is_empty() {
            return Ok(parameters); // it only asks
        }
        let group = XidHeader::decode(octets)?;
        let rest = &octets[XidHeader::LENGTH..];
        let mut rest = rest.get(..group.length.into()).ok_or(Malformed::TooShort)?;
        while !rest.is_empty() {
            let XidParameter { id, length } = XidParameter::decode(rest)?;
            rest = &rest[XidParameter::LENGTH..];
            let (value, after) = rest.split_at_checked(length.into()).ok_or(Malformed::TooShort)?;
            rest = after;
            let Some(value) = number(value) else { continue };
            match id {
                CLASSES => parameters.classes = u16::try_from(value).ok(),
                FUNCTIONS => parameters.functions = Some(Functions(value)),
                LONGEST => parameters.longest = Some(value / 8),
                WINDOW => parameters.window = u8::try_from(value).ok(),
                TIMEOUT => parameters.timeout = u16::try_from(value).ok(),
                TRIES => parameters.tries = u8::try_from(value).ok(),
                _ => {}
            }
        }
        Ok(parameters)
    }

    /// Encodes the information into the first octets, and returns how many it has: at most
    /// [`XID_MOST`].
    ///
    /// # Panics
    /// Where there are fewer octets.
    pub fn encode(&self, octets: &mut [u8]) -> usize {
        let mut at = XidHeader::LENGTH;
        let mut put = |id, value: Option<u32>, length: usize| {
            let Some(value) = value else { return };
            XidParameter { id, length: length as u8 }.encode(&mut octets[at..]);
            at += XidParameter::LENGTH;
            octets[at..at + length].copy_from_slice(&value.to_be_bytes()[4 - length..]);
            at += length;
        };
        put(CLASSES, self.classes.map(u32::from), 2);
        put(FUNCTIONS, self.functions.map(|functions| functions.0), 3);
        let bits = self.longest.map(|longest| longest.saturating_mul(8));
        put(LONGEST, bits, if bits > Some(0xffff) { 4 } else { 2 });
        put(WINDOW, self.window.map(u32::from), 1);
        put(TIMEOUT, self.timeout.map(u32::from), 2);
        put(TRIES, self.tries.map(u32::from), 1);
        let length = (at - XidHeader::LENGTH) as u16;
        XidHeader { format: (), group: (), length }.encode(octets);
        at
    }
}

/// Returns a value of one to four octets.
fn number(value: &[u8]) -> Option<u32> {
    let is_number = (1..=4).contains(&value.len());
    is_number.then(|| value.iter().fold(0, |number, octet| number << 8 | u32::from(*octet)))
}
