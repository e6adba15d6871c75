//! What the octets of a protocol consist of, where what follows depends on what was read: declared beside the layouts of its
//! headers, and read by whoever shows packets. Nobody has to know the protocol for it.

use alloc::vec::Vec;
use core::fmt;

use crate::dissect::{Dissection, dissect_fields};
use crate::header::{Field, Header, Malformed};

/// The layout of a header, without its struct: enough to dissect octets.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Its name.
    pub name: &'static str,
    /// Its length in octets.
    pub octets: usize,
    /// Its fields.
    pub fields: &'static [Field],
    /// Whether its values are such as it may have.
    check: fn(&[u8]) -> Result<(), Malformed>,
}

impl Layout {
    /// The layout of `H`.
    pub const fn of<H: Header>() -> Self {
        let check = |octets: &[u8]| H::decode(octets).map(|_| ());
        Layout { name: H::NAME, octets: H::LENGTH, fields: H::FIELDS, check }
    }
}

/// A field of the header of that name that was read last. One that was not read counts as 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reference {
    /// The header's name.
    pub header: &'static str,
    /// The field's name.
    pub field: &'static str,
}

/// The field `field` of the header `header`.
pub const fn field(header: &'static str, field: &'static str) -> Reference {
    Reference { header, field }
}

/// One step through the octets of a packet.
///
/// ```
/// use stackwright_wire::syntax::{Case, Found, Key, Layout, Step, field, walk};
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
///             by: Key::Value(field("Item", "kind")),
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
    /// So many octets are a part of their own: it ends where they do.
    Part {
        /// Says how many.
        octets: Reference,
        /// How many of these were read before it.
        less: usize,
        /// What it consists of.
        steps: &'static [Step],
    },
    /// So many octets that nothing here explains, or as many of them as there are.
    Octets {
        /// What they are called.
        name: &'static str,
        /// Says how many.
        octets: Reference,
    },
    /// All that is left of this part, which nothing here explains.
    Rest(&'static str),
    /// What follows depends on what was read.
    Choice {
        /// On what.
        by: Key,
        /// What follows for each value.
        cases: &'static [Case],
        /// What follows for all others.
        otherwise: &'static [Step],
    },
    /// The same until this part is at its end.
    Repeat(&'static [Step]),
}

/// What a choice depends on.
#[derive(Clone, Copy, Debug)]
pub enum Key {
    /// The value of a field.
    Value(Reference),
    /// 1 where this field of some header had that value, else 0.
    Occurred(Reference, u64),
}

/// What follows for a value.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The value.
    pub value: u64,
    /// What it is called; nothing where the value has no name.
    pub name: &'static str,
    /// What follows.
    pub steps: &'static [Step],
}

/// What was found in octets.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// A header.
    Header(Dissection<'a>),
    /// Octets that nothing explains; never none.
    Octets {
        /// What they are called.
        name: &'static str,
        /// They themselves.
        octets: &'a [u8],
    },
}

impl Found<'_> {
    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self {
            Found::Header(header) => header.name(),
            Found::Octets { name, .. } => name,
        }
    }
}

/// What is wrong with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// A header has a value that it must not have. All else was read.
    Malformed(&'static str, Malformed),
    /// Fewer octets are here than the header has.
    Short {
        /// The header.
        header: &'static str,
        /// How many it has.
        octets: usize,
        /// How many are here.
        here: usize,
    },
    /// A field says of how many octets something consists, and so many are not here, or fewer were read already.
    Beyond {
        /// The field.
        field: Reference,
        /// What it says.
        says: u64,
    },
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Malformed(header, malformed) => write!(f, "{header} is malformed: {malformed}"),
            Fault::Short { header, octets, here } => {
                write!(f, "{header} has {octets} octets, of which only {here} are here")
            }
            Fault::Beyond { field: Reference { header, field }, says } => {
                write!(f, "`{field}` of {header} says {says}, which does not fit")
            }
        }
    }
}

/// Octets, taken apart.
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    /// What was found, in its order.
    pub found: Vec<Found<'a>>,
    /// What comes after all that the steps explain. After a fault, what was not read.
    pub rest: &'a [u8],
    /// What is wrong.
    pub faults: Vec<Fault>,
}

/// Takes octets apart. What it takes in time and memory grows with their number, whatever they say.
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
    faults: Vec<Fault>,
}

/// Nobody knows what comes next.
struct Stopped(Fault);

impl Walker<'_> {
    /// Goes on to `end` at most.
    fn go(&mut self, steps: &[Step], end: usize) -> Result<(), Stopped> {
        for step in steps {
            match step {
                Step::Header(layout) => self.header(layout, end)?,
                Step::Part { octets, less, steps } => {
                    let says = self.value(*octets);
                    let length = usize::try_from(says).ok().and_then(|says| says.checked_sub(*less));
                    let stop =
                        length.and_then(|length| self.at.checked_add(length)).filter(|stop| *stop <= end);
                    let stop = stop.ok_or(Stopped(Fault::Beyond { field: *octets, says }))?;
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
                        Key::Value(field) => self.value(*field),
                        Key::Occurred(field, value) => {
                            self.values(*field).any(|there| there == *value).into()
                        }
                    };
                    let case = cases.iter().find(|case| case.value == value);
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
            return Err(Stopped(Fault::Short { header: layout.name, octets: layout.octets, here }));
        };
        if let Err(malformed) = (layout.check)(octets) {
            self.faults.push(Fault::Malformed(layout.name, malformed));
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

    /// The values of a field, the last one first.
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
