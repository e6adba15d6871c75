//! Tables and lists of a description: where something else stands in their place, an error says
//! what they look like.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

use super::loss::States;
use super::{Change, Held, Limit, LinkDescription, Outage, Pass, Shared, Step, Wait};

/// A table, by an example.
pub(super) trait Form {
    const FORM: &'static str;
}

/// Reads tables as their derived functions do, and says their form otherwise.
macro_rules! forms {
    ($($table:ty: $form:literal;)*) => {$(
        impl Form for $table {
            const FORM: &'static str = $form;
        }

        impl<'de> Deserialize<'de> for $table {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Reader;

                impl<'de> Visitor<'de> for Reader {
                    type Value = $table;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str(<$table>::FORM)
                    }

                    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<$table, A::Error> {
                        // The derived one, which is the type's own, not the trait's.
                        <$table>::deserialize(MapAccessDeserializer::new(table))
                    }
                }

                from.deserialize_any(Reader)
            }
        }

        impl Serialize for $table {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                <$table>::serialize(self, to)
            }
        }
    )*};
}

forms! {
    LinkDescription: "a table of a link's keys, such as { rate = \"1 Mb/s\", delay = \"20 ms\" }";
    Wait: "{ target = \"5 ms\", interval = \"100 ms\" }, or one of the two";
    Held: "{ probability = 0.01, by = \"5 ms\" }";
    Pass: "{ period = \"95 min\", length = \"8 min\", first = \"0 s\" }";
    Outage: "{ from = \"2 s\", to = \"3 s\" }";
    Step: "{ at = \"5 s\", delay = \"+1 s\", for = \"200 ms\" } (or packets = 400)";
    Change: "{ at = \"8 s\", rate = \"100 Mb/s\" } (or mtu = 1280, or ecn = \"bleach\")";
    Limit: "{ rate = \"10 Mb/s\", burst = \"50 kB\" }";
    Shared: "{ key-up = \"500 ms\", tail = \"10 ms\", slot = \"100 ms\", persistence = 0.25, hidden = [[0, 1]] }, or some of it";
    States: "{ p = 0.01, r = 0.2, good = 0, bad = 1 }";
}

/// A list of tables.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct List<T>(pub(super) Vec<T>);

impl<'de, T: Form + Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);

        impl<'de, T: Form + Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list such as [{}]", T::FORM)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List<T>, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(List(all))
            }
        }

        from.deserialize_any(Reader(PhantomData))
    }
}

impl<T: Serialize> Serialize for List<T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}
