//! Syntax: what the octets of a protocol consist of, where what follows depends on what was read.
//!
//! It is declared beside the layouts of the protocol's headers, so that a tool can show packets
//! without knowing the protocol.

use alloc::vec::Vec;
use core::fmt;

use crate::dissect::{Dissection, dissect_fields};
use crate::header::{Field, Header, Malformed};

/// The layout of a header without its struct: enough to dissect octets.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Its name.
    pub name: &'static str,
    /// Its length in octets.
    pub octets: usize,
    /// Its fields.
    pub fields: &'static [Field],
    /// Returns an error where a field has a value that it must not have.
    check: fn(&[u8]) -> Result<(), Malformed>,
}

impl Layout {
    /// Returns the layout of `H`.
    pub const fn of<H: Header>() -> Self {
        let check = |octets: &[u8]| H::decode(octets).map(|_| ());
        Layout { name: H::NAME, octets: H::LENGTH, fields: H::FIELDS, check }
    }
}

/// A field of a header, of which the last one read counts. Where none was read, its value is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference {
    /// The header's name.
    pub header: &'static str,
    /// The field's name.
    pub field: &'static str,
}

/// Returns a reference to the field `field` of the header `header`.
pub const fn field(header: &'static str, field: &'static str) -> Reference {
    Reference { header, field }
}

/// One step through the octets of a packet.
///
/// ```
/// use stackwright_wire::syntax::{Case, Discriminant, Found, Layout, Step, field, walk};
/// use stackwright_wire::Header;
///
/// /// Says what follows.
/// #[derive(Header)]
/// struct Item {
///     /// Octets of the item, these two included.
///     size: u8,
///     /// Which.
///     kind: u8,
/// }
///
/// /// A price.
/// #[derive(Header)]
/// struct Price {
///     /// In cents.
///     cents: u16,
/// }
///
/// const ITEMS: &[Step] = &[Step::Repeat(&[
///     Step::Header(Layout::of::<Item>()),
///     Step::Part {
///         octets: field("Item", "size"),
///         less: 2,
///         steps: &[Step::Choice {
///             by: Discriminant::Value(field("Item", "kind")),
///             cases: &[Case { value: 1, name: "price", steps: &[Step::Header(Layout::of::<Price>())] }],
///             otherwise: &[Step::Rest("value")],
///         }],
///     },
/// ])];
///
/// let walk = walk(ITEMS, &[4, 1, 0, 99, 3, 7, 255]);
/// let names: Vec<_> = walk.found.iter().map(Found::name).collect();
/// assert_eq!(names, ["Item", "Price", "Item", "value"]);
/// assert!(walk.rest.is_empty() && walk.faults.is_empty());
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A header.
    Header(Layout),
    /// A part whose length is the value of a field: its steps end where it does.
    Part {
        /// The field.
        octets: Reference,
        /// The octets before the part that the field counts too.
        less: usize,
        /// What the part consists of.
        steps: &'static [Step],
    },
    /// Opaque octets whose number is the value of a field, or as many of them as there are.
    Octets {
        /// Their name.
        name: &'static str,
        /// The field.
        octets: Reference,
    },
    /// All that is left of this part, opaque, and its name.
    Rest(&'static str),
    /// One of several continuations.
    Choice {
        /// What it depends on.
        by: Discriminant,
        /// What follows for each value.
        cases: &'static [Case],
        /// What follows for all others.
        otherwise: &'static [Step],
    },
    /// The same steps until the end of this part.
    Repeat(&'static [Step]),
}

/// What a choice depends on.
#[derive(Clone, Copy, Debug)]
pub enum Discriminant {
    /// The value of a field.
    Value(Reference),
    /// 1 where this field of any header read had that value, else 0.
    Occurred(Reference, u64),
    /// The octet that comes next, which is not passed; in front of the end, no case is chosen.
    Ahead,
}

/// What follows for a value.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The value.
    pub value: u64,
    /// The name of the value; empty where it has none.
    pub name: &'static str,
    /// What follows.
    pub steps: &'static [Step],
}

/// What was found in octets.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// A header.
    Header(Dissection<'a>),
    /// Opaque octets, at least one.
    Octets {
        /// Their name.
        name: &'static str,
        /// The octets.
        octets: &'a [u8],
    },
}

impl Found<'_> {
    /// Returns its name.
    pub fn name(&self) -> &'static str {
        match self {
            Found::Header(header) => header.name(),
            Found::Octets { name, .. } => name,
        }
    }
}

/// What is wrong with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyntaxError {
    /// A header has a value that it must not have. All that follows was read.
    Malformed(&'static str, Malformed),
    /// There are fewer octets than the header has.
    Short {
        /// The header.
        header: &'static str,
        /// Its length in octets.
        octets: usize,
        /// The octets that are there.
        here: usize,
    },
    /// A field is a length, and there are fewer octets, or more were read already.
    Beyond {
        /// The field.
        field: Reference,
        /// Its value.
        says: u64,
    },
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SyntaxError::Malformed(header, malformed) => {
                write!(f, "{header} is malformed: {malformed}")
            }
            SyntaxError::Short { header, octets, here } => {
                write!(f, "{header} has {octets} octets, of which only {here} are here")
            }
            SyntaxError::Beyond { field: Reference { header, field }, says } => {
                write!(f, "`{field}` of {header} says {says}, which does not fit")
            }
        }
    }
}

/// What [`walk`] found.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    /// Headers and opaque octets, in order.
    pub found: Vec<Found<'a>>,
    /// The octets behind all steps. After an error, those that were not read.
    pub rest: &'a [u8],
    /// What is wrong.
    pub faults: Vec<SyntaxError>,
}

/// Reads octets as `steps` say. Time and memory are proportional to the number of octets, whatever
/// their values.
pub fn walk<'a>(steps: &[Step], octets: &'a [u8]) -> Walk<'a> {
    let mut walker = Walker { octets, at: 0, found: Vec::new(), faults: Vec::new() };
    if let Err(Stopped(fault)) = walker.go(steps, octets.len()) {
        walker.faults.push(fault);
    }
    Walk { found: walker.found, rest: &octets[walker.at..], faults: walker.faults }
}

struct Walker<'a> {
    octets: &'a [u8],
    at: usize,
    found: Vec<Found<'a>>,
    faults: Vec<SyntaxError>,
}

/// What follows cannot be known.
struct Stopped(SyntaxError);

impl Walker<'_> {
    /// Reads up to `end` at most.
    fn go(&mut self, steps: &[Step], end: usize) -> Result<(), Stopped> {
        for step in steps {
            match step {
                Step::Header(layout) => self.header(layout, end)?,
                Step::Part { octets, less, steps } => {
                    let says = self.value(*octets);
                    let length =
                        usize::try_from(says).ok().and_then(|says| says.checked_sub(*less));
                    let stop = length
                        .and_then(|length| self.at.checked_add(length))
                        .filter(|stop| *stop <= end);
                    let stop = stop.ok_or(Stopped(SyntaxError::Beyond { field: *octets, says }))?;
                    self.go(steps, stop)?;
                    self.opaque("unexplained", stop);
                }
                Step::Octets { name, octets } => {
                    let says = usize::try_from(self.value(*octets)).unwrap_or(usize::MAX);
                    self.opaque(name, self.at.saturating_add(says).min(end));
                }
                Step::Rest(name) => self.opaque(name, end),
                Step::Choice { by, cases, otherwise } => {
                    let value = match by {
                        Discriminant::Value(field) => Some(self.value(*field)),
                        Discriminant::Occurred(field, value) => {
                            Some(self.values(*field).any(|there| there == *value).into())
                        }
                        Discriminant::Ahead => {
                            self.octets[self.at..end].first().map(|octet| u64::from(*octet))
                        }
                    };
                    let case = cases.iter().find(|case| Some(case.value) == value);
                    self.go(case.map_or(*otherwise, |case| case.steps), end)?;
                }
                Step::Repeat(steps) => {
                    let mut before = usize::MAX;
                    while self.at < end && self.at != before {
                        before = self.at;
                        self.go(steps, end)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn header(&mut self, layout: &Layout, end: usize) -> Result<(), Stopped> {
        let octets = &self.octets[self.at..end];
        let Ok(shown) = dissect_fields(layout.name, layout.fields, octets) else {
            let here = octets.len();
            return Err(Stopped(SyntaxError::Short {
                header: layout.name,
                octets: layout.octets,
                here,
            }));
        };
        if let Err(malformed) = (layout.check)(octets) {
            self.faults.push(SyntaxError::Malformed(layout.name, malformed));
        }
        self.at += shown.octets().len();
        self.found.push(Found::Header(shown));
        Ok(())
    }

    fn opaque(&mut self, name: &'static str, end: usize) {
        if self.at < end {
            self.found.push(Found::Octets { name, octets: &self.octets[self.at..end] });
            self.at = end;
        }
    }

    /// Returns the values of a field, the last one first.
    fn values(&self, Reference { header, field }: Reference) -> impl Iterator<Item = u64> {
        self.found.iter().rev().filter_map(move |found| match found {
            Found::Header(shown) if shown.name() == header => shown.value(field),
            _ => None,
        })
    }

    fn value(&self, field: Reference) -> u64 {
        self.values(field).next().unwrap_or(0)
    }
}
