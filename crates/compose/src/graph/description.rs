//! A graph as a text: one table per node, in TOML.
//!
//! ```toml
//! top = "copy"
//!
//! [copy]
//! over = ["ftp", "disk"]
//!
//! [ftp]
//! protocol = "ftp client"     # else the table's name
//! over = "tcp"
//! server = "127.0.0.1:2121"   # any other key is a parameter of the protocol
//!
//! [tcp]
//! [disk]
//! root = "."
//! ```
//!
//! `over` names the lower, or a list of them, one for each port from the left; several lowers of
//! one port are a list in the list. `top` names the node on which the application stands, or a list
//! of them.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::flaw::About;
use super::{At, Flaw};

/// How long a description may be, in octets.
pub const DESCRIPTION_MOST: usize = 64 * 1024;

/// What was read, with the place of everything.
#[derive(Clone, Debug)]
pub struct Description {
    pub(super) tops: Vec<(String, At)>,
    pub(super) nodes: Vec<Described>,
}

/// One table.
#[derive(Clone, Debug)]
pub(super) struct Described {
    pub(super) name: String,
    pub(super) at: At,
    pub(super) protocol: String,
    pub(super) protocol_at: At,
    /// The lowers of each port.
    pub(super) over: Vec<Vec<(String, At)>>,
    pub(super) parameters: Vec<Given>,
}

/// A parameter that stands there.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) key: String,
    pub(super) key_at: At,
    pub(super) value: Value,
    pub(super) value_at: At,
}

/// What may stand behind a key.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Value {
    Text(String),
    Number(i64),
    Truth(bool),
    Other(&'static str),
}

impl Description {
    /// Reads a text. It says nothing yet about what the protocols are.
    ///
    /// # Errors
    /// The first flaw, with its place.
    pub fn read(text: &str) -> Result<Description, Flaw> {
        if text.len() > DESCRIPTION_MOST {
            return Err(flaw(format!(
                "the description has {} octets; {DESCRIPTION_MOST} are the most",
                text.len()
            )));
        }
        let places = Places(text);
        let table = DeTable::parse(text).map_err(|error| {
            let at = places.at(&error.span().unwrap_or_default());
            let says = match error.message() {
                "duplicate key" => {
                    let key = error.span().and_then(|span| text.get(span)).unwrap_or_default();
                    format!("the key `{key}` stands there twice")
                }
                message => format!("this cannot be read: {message}"),
            };
            flaw(says).located(Some(at))
        })?;
        let mut entries: Vec<_> = table.get_ref().iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let mut description = Description { tops: Vec::new(), nodes: Vec::new() };
        for (key, value) in entries {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("top", _) => {
                    const WANTED: &str = "a node's name, or a list of them";
                    let ports = places.names(value, "`top`", WANTED)?;
                    if ports.is_empty() {
                        let says = format!("`top` is {WANTED}, and an empty list stands there");
                        return Err(flaw(says).located(Some(places.at(&value.span()))));
                    }
                    description.tops = ports.into_iter().flatten().collect();
                }
                (name, DeValue::Table(table)) => {
                    description.nodes.push(places.described(
                        name,
                        places.at(&key.span()),
                        table,
                    )?);
                }
                (name, _) => {
                    let says =
                        format!("`{name}` is no table; a graph has nothing of its own but `top`");
                    return Err(flaw(says).located(Some(places.at(&key.span()))));
                }
            }
        }
        Ok(description)
    }
}

fn flaw(says: String) -> Flaw {
    Flaw::new(About::Graph, says)
}

/// The text, for places in it.
struct Places<'a>(&'a str);

/// The lowers, each port's.
type Names = Vec<Vec<(String, At)>>;

impl Places<'_> {
    fn at(&self, span: &Range<usize>) -> At {
        let before = self.0.get(..span.start).unwrap_or(self.0);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        At { line, column }
    }

    fn described(&self, name: &str, at: At, table: &DeTable<'_>) -> Result<Described, Flaw> {
        let mut described = Described {
            name: name.to_owned(),
            at,
            protocol: name.to_owned(),
            protocol_at: at,
            over: Vec::new(),
            parameters: Vec::new(),
        };
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            let value_at = self.at(&value.span());
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("protocol", DeValue::String(protocol)) => {
                    described.protocol = protocol.to_string();
                    described.protocol_at = value_at;
                }
                ("protocol", other) => {
                    let says = format!(
                        "`protocol` of `{name}` is a protocol's name, and {} stands there",
                        kind_of(other)
                    );
                    return Err(flaw(says).located(Some(value_at)));
                }
                ("over", _) => {
                    let what = format!("`over` of `{name}`");
                    described.over =
                        self.names(value, &what, "a node's name, or a list of them")?;
                }
                (key_name, value) => described.parameters.push(Given {
                    key: key_name.to_owned(),
                    key_at: self.at(&key.span()),
                    value: value_of(value),
                    value_at,
                }),
            }
        }
        Ok(described)
    }

    /// A name, a list of names, or a list with lists of names in it.
    fn names(&self, value: &Spanned<DeValue<'_>>, what: &str, wanted: &str) -> Result<Names, Flaw> {
        let one = |value: &Spanned<DeValue<'_>>| match value.get_ref() {
            DeValue::String(name) => Ok((name.to_string(), self.at(&value.span()))),
            other => {
                let says = format!("{what} is {wanted}, and {} stands there", kind_of(other));
                Err(flaw(says).located(Some(self.at(&value.span()))))
            }
        };
        let DeValue::Array(ports) = value.get_ref() else {
            return Ok(Vec::from([Vec::from([one(value)?])]));
        };
        let mut names = Vec::new();
        for port in ports {
            names.push(match port.get_ref() {
                DeValue::Array(several) => {
                    several.iter().map(one).collect::<Result<Vec<_>, _>>()?
                }
                _ => Vec::from([one(port)?]),
            });
        }
        if names.iter().any(Vec::is_empty) {
            let says = format!("{what} is {wanted}, and an empty list stands there");
            return Err(flaw(says).located(Some(self.at(&value.span()))));
        }
        Ok(names)
    }
}

fn value_of(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::Text(text.to_string()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(Value::Other("a number that is too large"), Value::Number),
        DeValue::Boolean(truth) => Value::Truth(*truth),
        other => Value::Other(kind_of(other)),
    }
}

/// What stands there, in a sentence.
fn kind_of(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
