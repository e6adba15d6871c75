//! Headers: a layout is written once, as a plain struct, and everything else is derived from its table of fields.

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

/// In which order the octets of a number travel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The most significant one first. Octet strings have this order too.
    Network,
    /// The least significant one first. Only numbers of whole octets have it.
    LittleEndian,
}

/// One field of a layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// As in the specification.
    pub name: &'static str,
    /// Where it begins, in bits from the first bit of the header.
    pub offset: usize,
    /// Its width in bits.
    pub bits: usize,
    /// In which order its octets travel.
    pub order: Order,
    /// The first paragraph of its documentation.
    pub doc: &'static str,
}

/// A fixed layout. [Derive](derive@crate::Header) it; a decoded header is a valid one.
pub trait Header: Sized {
    /// Its name.
    const NAME: &'static str;
    /// Its length in octets.
    const LENGTH: usize;
    /// Its layout.
    const FIELDS: &'static [Field];
    /// Its layout as the box diagram of an RFC: 32 bits a row, the most significant bit first.
    const DIAGRAM: &'static str;

    /// Reads it from the first [`LENGTH`](Header::LENGTH) octets.
    ///
    /// # Errors
    /// Where there are fewer octets, or a field has a value that it must not have.
    fn decode(octets: &[u8]) -> Result<Self, Malformed>;

    /// Writes it into the first [`LENGTH`](Header::LENGTH) octets.
    ///
    /// # Panics
    /// Where there are fewer octets.
    fn encode(&self, octets: &mut [u8]);
}

/// A value that a field may hold: at most 64 bits. Where not every pattern of bits is a value, a header that holds a
/// wrong one is not decoded.
pub trait FieldValue: Sized {
    /// The value, or `None` where these bits are not one.
    fn from_bits(bits: u64) -> Option<Self>;
    /// Its bits, right aligned.
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
