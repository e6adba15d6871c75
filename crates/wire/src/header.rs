//! Headers: a layout is written once, as a plain struct, and everything else is derived from its
//! table of fields.
//!
//! Lengths are in octets, positions and widths of fields in bits.

/// What is wrong with the octets of a header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Malformed {
    /// Fewer octets than the header has.
    #[error("fewer octets than the header has")]
    TooShort,
    /// A field has a value that it must not have.
    #[error("the field `{0}` has a value that it must not have")]
    Field(&'static str),
    /// The check does not agree.
    #[error("the check does not agree")]
    Check,
}

/// The order in which the octets of a number are transmitted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByteOrder {
    /// Big-endian: the most significant octet first. Octet strings have this order too.
    Network,
    /// The least significant octet first. Only numbers of whole octets have this order.
    LittleEndian,
}

/// A field of a layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name in the specification.
    pub name: &'static str,
    /// Its position, in bits from the first bit of the header.
    pub offset: usize,
    /// Its width in bits.
    pub bits: usize,
    /// The order in which its octets are transmitted.
    pub order: ByteOrder,
    /// The first paragraph of its documentation.
    pub doc: &'static str,
}

/// A header of fixed layout. [Derive](derive@crate::Header) it; a decoded header is a valid one.
pub trait Header: Sized {
    /// Its name.
    const NAME: &'static str;
    /// Its length in octets.
    const LENGTH: usize;
    /// Its layout.
    const FIELDS: &'static [Field];
    /// Its layout as the box diagram of an RFC: 32 bits per row, the most significant bit first.
    const DIAGRAM: &'static str;

    /// Decodes the first [`LENGTH`](Header::LENGTH) octets.
    ///
    /// # Errors
    /// Returns [`Malformed`] where there are fewer octets, or a field has a value that it must not
    /// have.
    fn decode(octets: &[u8]) -> Result<Self, Malformed>;

    /// Encodes it into the first [`LENGTH`](Header::LENGTH) octets.
    ///
    /// # Panics
    /// Where there are fewer octets.
    fn encode(&self, octets: &mut [u8]);
}

/// A value of a field, of at most 64 bits. Where not every pattern of bits is a value, a header
/// with any other is not decoded.
pub trait FieldValue: Sized {
    /// Returns the value, or `None` where these bits are none.
    fn from_bits(bits: u64) -> Option<Self>;
    /// Returns its bits, right aligned.
    fn to_bits(&self) -> u64;
}

impl FieldValue for bool {
    #[inline]
    fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    #[inline]
    fn to_bits(&self) -> u64 {
        u64::from(*self)
    }
}

macro_rules! integers {
    ($($integer:ty)*) => { $(
        impl FieldValue for $integer {
            #[inline]
            fn from_bits(bits: u64) -> Option<Self> {
                Self::try_from(bits).ok()
            }

            #[inline]
            fn to_bits(&self) -> u64 {
                u64::from(*self)
            }
        }
    )* };
}

integers! { u8 u16 u32 u64 }
