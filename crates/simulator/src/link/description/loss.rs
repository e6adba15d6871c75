//! Losses in a description: a probability, or a table.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, IntoDeserializer, MapAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::probability::Probability;
use crate::{GilbertElliott, Loss};

/// The table.
#[derive(serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
enum Table {
    Every(u64),
    Listed(BTreeSet<u64>),
    GilbertElliott(States),
}

#[derive(serde::Deserialize, serde::Serialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub(super) struct States {
    p: Probability,
    r: Probability,
    #[serde(default = "never")]
    good: Probability,
    #[serde(default = "always")]
    bad: Probability,
}

fn never() -> Probability {
    Probability(0.0)
}

fn always() -> Probability {
    Probability(1.0)
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Loss;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a probability, 0 to 1, or one of { every = 10 }, { listed = [3, 7] }, { gilbert-elliott = { p = 0.01, r = 0.2 } }",
        )
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Loss, E> {
        Probability::deserialize(number.into_deserializer())
            .map(|probability| Loss::from(probability.0))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Loss, E> {
        self.visit_f64(number as f64)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Loss, E> {
        self.visit_f64(number as f64)
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Loss, A::Error> {
        Ok(match Table::deserialize(MapAccessDeserializer::new(table))? {
            Table::Every(n) => Loss::Every(n),
            Table::Listed(list) => Loss::Listed(list),
            Table::GilbertElliott(States { p, r, good, bad }) => {
                Loss::GilbertElliott(GilbertElliott { p: p.0, r: r.0, good: good.0, bad: bad.0 })
            }
        })
    }
}

impl<'de> Deserialize<'de> for Loss {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader)
    }
}

impl Serialize for Loss {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let table = match self {
            Loss::None => return to.serialize_f64(0.0),
            Loss::Bernoulli(probability) => return to.serialize_f64(*probability),
            Loss::Every(n) => Table::Every(*n),
            Loss::Listed(list) => Table::Listed(list.clone()),
            Loss::GilbertElliott(GilbertElliott { p, r, good, bad }) => {
                let [p, r, good, bad] = [*p, *r, *good, *bad].map(Probability);
                Table::GilbertElliott(States { p, r, good, bad })
            }
        };
        table.serialize(to)
    }
}
