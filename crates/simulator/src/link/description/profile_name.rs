//! The name of a profile in a description.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::{NamedProfile, Profile};

/// The name of an existing profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ProfileName(&'static str);

impl ProfileName {
    pub(crate) fn profile(self) -> Option<Profile> {
        Profile::named(self.0)
    }
}

struct Reader;

impl Visitor<'_> for Reader {
    type Value = ProfileName;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a profile, one of")?;
        for NamedProfile { name, .. } in Profile::ALL {
            write!(f, " {name}")?;
        }
        Ok(())
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<ProfileName, E> {
        let known = Profile::ALL.iter().find(|known| known.name == name);
        known.map(|known| ProfileName(known.name)).ok_or_else(|| {
            let expected: &dyn de::Expected = &self;
            match Profile::suggestion(name) {
                Some(near) => {
                    E::custom(format_args!("there is no profile `{name}`: is `{near}` meant?"))
                }
                None => {
                    E::custom(format_args!("there is no profile `{name}`, expected {expected}"))
                }
            }
        })
    }
}

impl<'de> Deserialize<'de> for ProfileName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(Reader)
    }
}

impl Serialize for ProfileName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0)
    }
}
