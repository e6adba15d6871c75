//! A probability in a description.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Unexpected, Visitor};
use serde::ser::{Serialize, Serializer};

/// A probability, 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Probability(pub(crate) f64);

struct Reader;

impl Visitor<'_> for Reader {
    type Value = Probability;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a probability, 0 to 1")
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Probability, E> {
        let fits = (0.0..=1.0).contains(&number);
        fits.then_some(Probability(number))
            .ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Probability, E> {
        self.visit_f64(number as f64)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Probability, E> {
        self.visit_f64(number as f64)
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_f64(Reader)
    }
}

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(self.0)
    }
}
