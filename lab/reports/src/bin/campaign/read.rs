//! Values of a campaign's file, each with its place for whoever reads a refusal.

use std::time::Duration;

use stackwright_results::{Flaw, suggestion};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::sweep::Seeds;

/// The longest limit in seconds: thirty days.
const SECONDS_MOST: f64 = 30.0 * 86_400.0;

/// The text that is read.
pub(crate) struct Reader<'a> {
    pub(crate) text: &'a str,
}

impl Reader<'_> {
    /// A flaw of what stands there.
    pub(crate) fn flaw<T>(&self, what: &Spanned<T>, says: impl std::fmt::Display) -> Flaw {
        Flaw::at(self.text, &what.span(), says)
    }

    /// A key that nobody knows.
    pub(crate) fn unknown<T>(&self, key: &Spanned<T>, name: &str, known: &[&str]) -> Flaw {
        self.flaw(
            key,
            format!("`{name}` is unknown here{}", suggestion(name, known.iter().copied())),
        )
    }

    /// A table's entries in the order of the text.
    pub(crate) fn entries<'t, 'v>(
        &self,
        table: &'t DeTable<'v>,
    ) -> Vec<(&'t Spanned<std::borrow::Cow<'v, str>>, &'t Spanned<DeValue<'v>>)> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        entries
    }

    /// A text that a command can be given as a word.
    pub(crate) fn text<'v>(
        &self,
        value: &'v Spanned<DeValue<'_>>,
        what: &str,
    ) -> Result<&'v str, Flaw> {
        match value.get_ref() {
            DeValue::String(text) if text.contains('\0') => Err(self
                .flaw(value, format!("{what} contains a NUL character, which a command cannot"))),
            DeValue::String(text) => Ok(text),
            other => {
                Err(self.flaw(value, format!("{what} must be a string, not {}", kind_of(other))))
            }
        }
    }

    /// A name of ASCII letters, digits, `-` and `_`, that begins with a letter.
    pub(crate) fn name<T>(&self, at: &Spanned<T>, name: &str) -> Result<String, Flaw> {
        let good = name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
        if good {
            return Ok(name.to_owned());
        }
        let says = format!(
            "the name {name:?} must begin with a letter from a to z, and contain only letters, digits, - and _"
        );
        Err(self.flaw(at, says))
    }

    /// So many seconds, perhaps a fraction.
    pub(crate) fn seconds(
        &self,
        value: &Spanned<DeValue<'_>>,
        what: &str,
    ) -> Result<Duration, Flaw> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().replace('_', "").parse::<f64>().ok(),
            DeValue::Float(number) => number.as_str().replace('_', "").parse::<f64>().ok(),
            _ => None,
        };
        match number {
            Some(seconds) if seconds > 0.0 && seconds <= SECONDS_MOST => {
                Ok(Duration::from_secs_f64(seconds))
            }
            _ => Err(self.flaw(
                value,
                format!("`{what}` must be a number of seconds above 0 and at most {SECONDS_MOST}"),
            )),
        }
    }

    /// A list of values, as the texts that a command is given.
    pub(crate) fn values(
        &self,
        value: &Spanned<DeValue<'_>>,
        name: &str,
    ) -> Result<Vec<String>, Flaw> {
        let DeValue::Array(list) = value.get_ref() else {
            return Err(self.flaw(
                value,
                format!("`{name}` must be a list of values, not {}", kind_of(value.get_ref())),
            ));
        };
        let mut values = Vec::with_capacity(list.len());
        let mut seen = std::collections::BTreeSet::new();
        for value in list {
            let text = match value.get_ref() {
                DeValue::String(_) => self.text(value, &format!("a value of `{name}`"))?.to_owned(),
                DeValue::Integer(_) => self.number(value)?.to_string(),
                DeValue::Float(number) => number.as_str().to_owned(),
                DeValue::Boolean(truth) => truth.to_string(),
                other => {
                    let says = format!(
                        "a value of `{name}` must be a string, a number, true or false, not {}",
                        kind_of(other)
                    );
                    return Err(self.flaw(value, says));
                }
            };
            if !seen.insert(text.clone()) {
                return Err(self.flaw(
                    value,
                    format!("`{text}` is listed twice: two cells would have the same name"),
                ));
            }
            values.push(text);
        }
        match values.is_empty() {
            true => Err(self.flaw(value, format!("`{name}` has no values, so there are no cells"))),
            false => Ok(values),
        }
    }

    /// `{ first = 1, last = 20 }`, or a list.
    pub(crate) fn seeds(&self, value: &Spanned<DeValue<'_>>) -> Result<Seeds, Flaw> {
        match value.get_ref() {
            DeValue::Table(table) => self.range(value, table),
            DeValue::Array(list) => {
                self.values(value, "seeds")?;
                Ok(Seeds::List(list.iter().map(|seed| self.seed(seed)).collect::<Result<_, _>>()?))
            }
            other => {
                let says = format!(
                    "`seeds` must be {{ first = 1, last = 20 }} or a list of numbers, not {}",
                    kind_of(other)
                );
                Err(self.flaw(value, says))
            }
        }
    }

    fn range(&self, value: &Spanned<DeValue<'_>>, table: &DeTable<'_>) -> Result<Seeds, Flaw> {
        let (mut first, mut last) = (None, None);
        for (key, value) in self.entries(table) {
            match key.get_ref().as_ref() {
                "first" => first = Some(self.seed(value)?),
                "last" => last = Some(self.seed(value)?),
                other => return Err(self.unknown(key, other, &["first", "last"])),
            }
        }
        match (first, last) {
            (Some(first), Some(last)) if first <= last => Ok(Seeds::Range(first, last)),
            (Some(first), Some(last)) => Err(self.flaw(
                value,
                format!("the range is empty: its last seed, {last}, is before its first, {first}"),
            )),
            _ => Err(self.flaw(value, "`seeds` needs both `first` and `last` (inclusive)")),
        }
    }

    fn seed(&self, value: &Spanned<DeValue<'_>>) -> Result<u64, Flaw> {
        let number = self.number(value)?;
        number.try_into().map_err(|_| self.flaw(value, "a seed must not be negative"))
    }

    fn number(&self, value: &Spanned<DeValue<'_>>) -> Result<i64, Flaw> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => {
                i64::from_str_radix(&number.as_str().replace('_', ""), number.radix()).ok()
            }
            _ => None,
        };
        number.ok_or_else(|| self.flaw(value, "this is not a whole number of at most 64 bits"))
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
