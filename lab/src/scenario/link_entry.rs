//! A link, as it stands in a scenario file: whom it joins, and the keys of its description beside
//! that.
//!
//! The two are told apart while they are read, and not from a table that was read before: only so
//! does an error have the place of its key.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess, Visitor,
    value::MapAccessDeserializer,
};
use stackwright_simulator::LinkDescription;
use toml::de::{DeTable, DeValue};

/// A link, as it stands in a file.
pub(super) struct LinkEntry {
    pub(super) between: Vec<String>,
    pub(super) description: LinkDescription,
}

const BETWEEN: &str = "between";

impl<'de> Deserialize<'de> for LinkEntry {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = LinkEntry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of a link: `between`, and what it does to packets")
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<LinkEntry, A::Error> {
        let mut between = None;
        let rest = MapAccessDeserializer::new(Rest { table, between: &mut between });
        let description = LinkDescription::deserialize(rest)?;
        let between = between.ok_or_else(|| A::Error::missing_field(BETWEEN))?;
        Ok(LinkEntry { between, description })
    }
}

/// The keys but `between`.
struct Rest<'a, A> {
    table: A,
    between: &'a mut Option<Vec<String>>,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Rest<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        let mut seed = Some(seed);
        while let Some(key) = self.table.next_key_seed(Key(&mut seed))? {
            if let Some(key) = key {
                return Ok(Some(key));
            }
            *self.between = Some(self.table.next_value()?);
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.table.next_value_seed(seed)
    }
}

/// A key for whoever reads the rest; `None` for `between`.
struct Key<'a, K>(&'a mut Option<K>);

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for Key<'_, K> {
    type Value = Option<K::Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        let name = String::deserialize(from)?;
        match self.0.take_if(|_| name != BETWEEN) {
            Some(seed) => seed.deserialize(name.into_deserializer()).map(Some),
            None => Ok(None),
        }
    }
}

/// Returns the place of `field` in one of the two ways of the `nth` link of a scenario, or in the
/// link itself: what is wrong with both is wrong with the more special one.
pub(super) fn place(text: &str, nth: usize, field: &str) -> Option<Range<usize>> {
    let file = DeTable::parse(text).ok()?;
    let (_, links) = file.get_ref().get_key_value("links")?;
    let link = table(links.get_ref().as_array()?.get(nth)?.get_ref())?;
    let ways = ["forward", "back"].into_iter().filter_map(|way| table(link.get(way)?.get_ref()));
    let mut keys = ways.chain([link]);
    keys.find_map(|table| Some(table.get_key_value(field)?.0.span()))
}

fn table<'t, 'v>(value: &'t DeValue<'v>) -> Option<&'t DeTable<'v>> {
    match value {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}
