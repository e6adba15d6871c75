//! A file of tables in TOML, of which every mistake is told with its place and with what to write.

use std::ops::Range;
use std::time::Duration;

use crate::quantity::bits;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// What is wrong in a text, and where.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Mistake {
    pub(super) span: Range<usize>,
    pub(super) says: String,
}

type Read<T> = Result<T, Mistake>;

/// A table, by the name that mistakes in it call it.
pub(super) struct Table<'a> {
    name: String,
    span: Range<usize>,
    entries: &'a DeTable<'a>,
}

/// A value, by the name that a mistake in it calls it.
pub(super) struct Entry<'a> {
    name: String,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Table<'a> {
    pub(super) fn whole(table: &'a Spanned<DeTable<'a>>) -> Self {
        Table { name: String::new(), span: 0..0, entries: table.get_ref() }
    }

    pub(super) fn mistake(&self, says: impl Into<String>) -> Mistake {
        Mistake { span: self.span.clone(), says: says.into() }
    }

    /// # Errors
    /// Where a key is none of these.
    pub(super) fn only(&self, known: &[&str]) -> Read<()> {
        let unknown = |key: &Spanned<_>| {
            let key: &Spanned<std::borrow::Cow<'_, str>> = key;
            !known.contains(&key.get_ref().as_ref())
        };
        let first =
            self.entries.keys().filter(|key| unknown(key)).min_by_key(|key| key.span().start);
        let Some(key) = first else { return Ok(()) };
        let place = if self.name.is_empty() { "here".into() } else { format!("in {}", self.name) };
        let known = known.join(", ");
        let says = format!("there is no `{}` {place}; there is {known}", key.get_ref());
        Err(Mistake { span: key.span(), says })
    }

    pub(super) fn get(&self, key: &str) -> Option<Entry<'a>> {
        let value = self.entries.get(key)?;
        let name = if self.name.is_empty() { key.into() } else { format!("{}.{key}", self.name) };
        Some(Entry { name, value })
    }

    /// Returns what is in it, by its keys, in the order of the file.
    pub(super) fn entries(&self) -> Read<Vec<(String, Entry<'a>)>> {
        let mut keys: Vec<_> = self.entries.keys().collect();
        keys.sort_by_key(|key| key.span().start);
        let entry = |key: &Spanned<std::borrow::Cow<'_, str>>| {
            let key = key.get_ref().to_string();
            let entry = self.get(&key).ok_or_else(|| self.mistake("it is gone"))?;
            Ok((key, entry))
        };
        keys.into_iter().map(entry).collect()
    }
}

impl<'a> Entry<'a> {
    /// Returns a mistake in it: it is `wanted`, and something else stands there.
    pub(super) fn is_not(&self, wanted: &str) -> Mistake {
        let says = format!("`{}` is {wanted}, and {} stands there", self.name, shown(self.value));
        Mistake { span: self.value.span(), says }
    }

    pub(super) fn mistake(&self, why: &str) -> Mistake {
        Mistake { span: self.value.span(), says: format!("`{}`: {why}", self.name) }
    }

    pub(super) fn table(&self) -> Read<Table<'a>> {
        let DeValue::Table(entries) = self.value.get_ref() else {
            return Err(self.is_not("a table"));
        };
        Ok(Table { name: self.name.clone(), span: self.value.span(), entries })
    }

    /// Returns its items: it is a list.
    pub(super) fn items(&self, wanted: &str) -> Read<Vec<Entry<'a>>> {
        let DeValue::Array(items) = self.value.get_ref() else { return Err(self.is_not(wanted)) };
        let items: &DeArray<'_> = items;
        Ok(items.iter().map(|value| Entry { name: self.name.clone(), value }).collect())
    }

    pub(super) fn text(&self, wanted: &str) -> Read<&'a str> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text),
            _ => Err(self.is_not(wanted)),
        }
    }

    pub(super) fn truth(&self) -> Read<bool> {
        match self.value.get_ref() {
            DeValue::Boolean(truth) => Ok(*truth),
            DeValue::String(text) if text == "on" => Ok(true),
            DeValue::String(text) if text == "off" => Ok(false),
            _ => Err(self.is_not("true or false")),
        }
    }

    /// Returns a rate on the air, in bit/s, of this range.
    pub(super) fn rate(&self, range: Range<u64>) -> Read<u64> {
        let least = range.start;
        let wanted =
            format!("a rate from {least} to {} b/s, such as 1200 or \"9.6 kb/s\"", range.end - 1);
        let rate = match self.value.get_ref() {
            DeValue::String(text) => bits(text),
            _ => self.number(0..u64::MAX).ok(),
        };
        rate.filter(|rate| range.contains(rate)).ok_or_else(|| self.is_not(&wanted))
    }

    /// Returns a whole number of this range.
    pub(super) fn number(&self, range: Range<u64>) -> Read<u64> {
        let wanted = || format!("a whole number from {} to {}", range.start, range.end - 1);
        let DeValue::Integer(number) = self.value.get_ref() else {
            return Err(self.is_not(&wanted()));
        };
        let number = u64::from_str_radix(number.as_str(), number.radix()).ok();
        number.filter(|number| range.contains(number)).ok_or_else(|| self.is_not(&wanted()))
    }

    /// Returns a share from 0 to 1.
    pub(super) fn share(&self) -> Read<f64> {
        const WANTED: &str = "a share from 0 to 1, as 0.25";
        let number = match self.value.get_ref() {
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            DeValue::Integer(number) => number.as_str().parse::<f64>().ok(),
            _ => None,
        };
        number.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| self.is_not(WANTED))
    }

    /// Returns a time, at most this long.
    pub(super) fn time(&self, most: Duration) -> Read<Duration> {
        let most_shown = humantime::format_duration(most);
        let wanted = format!("a time up to {most_shown}, such as \"300 ms\" or \"10 min\"");
        let text = self.text(&wanted)?;
        let time = humantime::parse_duration(text).ok().filter(|time| *time <= most);
        time.ok_or_else(|| self.is_not(&wanted))
    }

    /// Returns what a function reads in its text.
    pub(super) fn parsed<T>(
        &self,
        wanted: &str,
        parse: impl FnOnce(&str) -> Result<T, &'static str>,
    ) -> Read<T> {
        parse(self.text(wanted)?).map_err(|why| self.mistake(why))
    }
}

/// What stands there, in a sentence.
fn shown(value: &Spanned<DeValue<'_>>) -> String {
    match value.get_ref() {
        DeValue::String(text) => format!("\"{text}\""),
        DeValue::Integer(number) => number.as_str().into(),
        DeValue::Float(number) => number.as_str().into(),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(_) => "a date".into(),
        DeValue::Array(_) => "a list".into(),
        DeValue::Table(_) => "a table".into(),
    }
}
