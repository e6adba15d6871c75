//! How a file describes a protocol: the parameters that its table may have, and how the protocol is
//! made of them.

use alloc::format;
use alloc::string::String;
use core::ops::RangeInclusive;

/// A key that may stand in the table of a protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// The key.
    pub name: &'static str,
    /// The kind of its value.
    pub kind: ParameterKind,
    /// Whether it is required.
    pub required: bool,
    /// Its purpose, in a few words.
    pub about: &'static str,
}

/// The kind of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterKind {
    /// Any text.
    Text,
    /// A whole number.
    Number,
    /// `true` or `false`.
    Truth,
}

impl ParameterKind {
    /// Returns the kind as a sentence names it.
    pub const fn noun(self) -> &'static str {
        match self {
            ParameterKind::Text => "a text",
            ParameterKind::Number => "a number",
            ParameterKind::Truth => "true or false",
        }
    }
}

impl Parameter {
    /// Makes an optional parameter.
    pub const fn new(name: &'static str, kind: ParameterKind, about: &'static str) -> Self {
        Parameter { name, kind, required: false, about }
    }

    /// Makes a required parameter.
    pub const fn required(name: &'static str, kind: ParameterKind, about: &'static str) -> Self {
        Parameter { name, kind, required: true, about }
    }
}

/// The values in the table of one protocol. Their keys and kinds were checked before.
pub trait ParameterTable {
    /// Returns a text.
    fn text(&self, key: &str) -> Option<&str>;

    /// Returns a number.
    fn number(&self, key: &str) -> Option<i64>;

    /// Returns a truth value.
    fn truth(&self, key: &str) -> Option<bool>;

    /// Returns a number that must be within `range`.
    ///
    /// # Errors
    /// Where it is not.
    fn within(&self, key: &'static str, range: RangeInclusive<u64>) -> Result<Option<u64>, Unfit> {
        let Some(number) = self.number(key) else { return Ok(None) };
        let fits = u64::try_from(number).ok().filter(|number| range.contains(number));
        let (least, most) = (range.start(), range.end());
        let is = || format!("is from {least} to {most}, and {number} stands there");
        fits.map(Some).ok_or_else(|| Unfit { key, is: is() })
    }
}

/// A value that does not fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unfit {
    /// Its key.
    pub key: &'static str,
    /// The end of a sentence that begins with the key: what the value must be, and is not.
    pub is: String,
}

/// How a protocol is made of a table, for the catalogue: the table says everything about it.
#[derive(Clone, Copy)]
pub struct Described<P> {
    /// The parameters that the table may have.
    pub parameters: &'static [Parameter],
    /// Makes the protocol. The number is random, for protocols that need one a peer does not know.
    pub make: fn(&dyn ParameterTable, u64) -> Result<P, Unfit>,
}
