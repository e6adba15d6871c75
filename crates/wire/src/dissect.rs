//! Prints any header from its table of fields alone: its struct is not needed.

use core::fmt;

use crate::header::{ByteOrder, Field, Header, Malformed};

/// A header to be shown. [`Display`](fmt::Display) writes its name, then a line for each field:
/// name, value, meaning.
///
/// Numbers are written in decimal and hexadecimal; those of more than 64 bits in hexadecimal only.
#[derive(Clone, Copy, Debug)]
pub struct Dissection<'a> {
    name: &'static str,
    fields: &'static [Field],
    octets: &'a [u8],
}

/// Reads the first octets as an `H`. Values that `H` refuses to decode are shown too, so that a
/// malformed header can be examined.
///
/// ```
/// use stackwright_wire::{Header, dissect};
///
/// /// A UDP header (RFC 768).
/// #[derive(Header)]
/// struct Udp {
///     /// Port of the sender.
///     source: u16,
///     /// Port of the receiver.
///     destination: u16,
///     /// Octets of header and data.
///     length: u16,
///     /// Internet check.
///     check: u16,
/// }
///
/// let shown = dissect::<Udp>(&[0x00, 0x35, 0xc0, 0x00, 0x00, 0x08, 0xbe, 0xef]).unwrap().to_string();
/// assert_eq!(
///     shown,
///     "Udp
///   source       53     (0x35)    Port of the sender.
///   destination  49152  (0xc000)  Port of the receiver.
///   length       8      (0x8)     Octets of header and data.
///   check        48879  (0xbeef)  Internet check.
/// "
/// );
/// ```
///
/// # Errors
/// Returns [`Malformed::TooShort`] where there are fewer octets than `H` has.
pub fn dissect<H: Header>(octets: &[u8]) -> Result<Dissection<'_>, Malformed> {
    dissect_fields(H::NAME, H::FIELDS, octets)
}

/// Reads the first octets as a header that is known by its table alone, as one from a catalogue.
///
/// # Errors
/// Returns [`Malformed::TooShort`] where there are fewer octets than the table describes.
pub fn dissect_fields<'a>(
    name: &'static str,
    fields: &'static [Field],
    octets: &'a [u8],
) -> Result<Dissection<'a>, Malformed> {
    let bits = fields.iter().map(|field| field.offset + field.bits).max().unwrap_or(0);
    let octets = octets.get(..bits.div_ceil(8)).ok_or(Malformed::TooShort)?;
    Ok(Dissection { name, fields, octets })
}

impl<'a> Dissection<'a> {
    /// Returns the header's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the header's octets, without what follows them.
    pub fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// Returns each field with its value, in the order of the wire. The value is `None` where it
    /// has more than 64 bits.
    pub fn values(&self) -> impl Iterator<Item = (&'static Field, Option<u64>)> {
        self.fields.iter().map(|field| (field, number(field, self.octets)))
    }

    /// Returns the value of the field `name`; `None` where there is no such field, or where it has
    /// more than 64 bits.
    pub fn value(&self, name: &str) -> Option<u64> {
        let field = self.fields.iter().find(|field| field.name == name)?;
        number(field, self.octets)
    }
}

/// Returns the value of a field, right aligned.
fn number(field: &Field, octets: &[u8]) -> Option<u64> {
    if field.bits > 64 {
        return None;
    }
    let bit = |index: usize| u64::from(octets[index / 8] >> (7 - index % 8) & 1);
    let value =
        (field.offset..field.offset + field.bits).fold(0, |value, index| value << 1 | bit(index));
    Some(match field.order {
        ByteOrder::Network => value,
        ByteOrder::LittleEndian => value.swap_bytes() >> (64 - field.bits),
    })
}

/// Returns the number of characters of `shown`.
fn width(shown: fmt::Arguments<'_>) -> usize {
    struct Count(usize);
    impl fmt::Write for Count {
        fn write_str(&mut self, piece: &str) -> fmt::Result {
            self.0 += piece.chars().count();
            Ok(())
        }
    }
    let mut count = Count(0);
    // Counting cannot fail.
    let _ = fmt::write(&mut count, shown);
    count.0
}

impl fmt::Display for Dissection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widest =
            |of: fn(u64) -> usize| self.values().filter_map(|(_, value)| value.map(of)).max();
        let names = self.fields.iter().map(|field| field.name.chars().count()).max().unwrap_or(0);
        let decimals = widest(|value| width(format_args!("{value}"))).unwrap_or(0);
        let hexadecimals = widest(|value| width(format_args!("({value:#x})"))).unwrap_or(0);
        writeln!(f, "{}", self.name)?;
        for (field, value) in self.values() {
            write!(f, "  {:names$}  ", field.name)?;
            match value {
                Some(value) => {
                    let gap = hexadecimals - width(format_args!("({value:#x})"));
                    write!(f, "{value:<decimals$}  ({value:#x}){:gap$}  ", "")?;
                }
                None => write!(f, "{}  ", Wide(field, self.octets))?,
            }
            writeln!(f, "{}", field.doc)?;
        }
        Ok(())
    }
}

/// A value of more than 64 bits, in hexadecimal.
struct Wide<'a>(&'static Field, &'a [u8]);

impl fmt::Display for Wide<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Wide(field, octets) = self;
        f.write_str("0x")?;
        let end = field.offset + field.bits;
        // Eight bits at a time; the first digits are what does not fill an octet.
        let mut from = field.offset;
        while from < end {
            let bits = if (end - from).is_multiple_of(8) { 8 } else { (end - from) % 8 };
            let place = match field.order {
                ByteOrder::Network => from,
                ByteOrder::LittleEndian => field.offset + end - from - bits,
            };
            let piece = Field { offset: place, bits, order: ByteOrder::Network, ..**field };
            let digits = bits.div_ceil(4);
            write!(f, "{:0digits$x}", number(&piece, octets).unwrap_or_default())?;
            from += bits;
        }
        Ok(())
    }
}
