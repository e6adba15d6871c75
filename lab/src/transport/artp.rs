//! ARTP, as a scenario file sets it: every field of its configuration that has a meaning there.

use std::num::NonZeroU32;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use stackwright_artp::{Config, Congestion};
use stackwright_contract::services::Credit;
use stackwright_transport::Limits;
use stackwright_transport::words::Nanoseconds;
use toml::Value;

use crate::scenario::{OctetCount, Time};

/// Declares the keys of the table, and makes the configuration from them: a field of [`Config`]
/// that is neither a key here nor listed as none does not compile.
macro_rules! keys {
    (
        keys { $($(#[$docs:meta])* $key:ident: $form:ty => $value:expr;)* }
        none { $($(#[$why:meta])* $none:ident;)* }
    ) => {
        /// The table `artp`. What is left out is as in [`Config::new`].
        #[derive(Clone, PartialEq, Debug, Default, Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
        pub(crate) struct ArtpKeys {
            $($(#[$docs])* $key: Option<$form>,)*
        }

        impl ArtpKeys {
            /// Returns the configuration of a layer with this secret.
            pub(super) fn config(&self, secret: [u8; 16]) -> Config {
                let Config { $($key,)* $($none,)* } = Config::new(secret);
                Config {
                    $($key: self.$key.clone().map_or($key, $value),)*
                    $($none,)*
                }
            }

            /// The keys, as a file has them.
            #[cfg(test)]
            fn names() -> Vec<String> {
                vec![$(stringify!($key).replace('_', "-"),)*]
            }
        }
    };
}

keys! {
    keys {
        packet: PacketLength => |octets| octets.0;
        window: NonZeroU32 => NonZeroU32::get;
        longest: OctetCount => octets;
        limits: LimitsTable => LimitsTable::limits;
        send: CreditTable => CreditTable::credit;
        run: OctetCount => octets;
        gather: Time => nanoseconds;
        gather_most: u64 => |numbers| numbers;
        gather_full: u32 => |packets| packets;
        timeout_first: Time => nanoseconds;
        tries: u32 => |tries| tries;
        timeout_least: Time => nanoseconds;
        silence: Time => nanoseconds;
        idle: OrNever<Time> => |after| after.0.map(nanoseconds);
        keepalive: OrNever<Time> => |after| after.0.map(nanoseconds);
        reordering: OrNever<u64> => |packets| packets.0;
        ranges: bool => |yes| yes;
        large: bool => |yes| yes;
        parts: bool => |yes| yes;
        single: bool => |yes| yes;
        expires: bool => |yes| yes;
        ecn: bool => |yes| yes;
        congestion: CongestionName => |name| name.0;
        half_open_most: usize => |sessions| sessions;
        first: u32 => Some;
    }
    none {
        /// Workloads have no time of day.
        epoch;
        /// It follows from the seed of the run.
        secret;
        /// A scenario has no state that outlives a run.
        reset_key;
        /// It takes keys, or an application that signs.
        protection;
    }
}

fn octets(count: OctetCount) -> usize {
    usize::try_from(count.0).unwrap_or(usize::MAX)
}

fn nanoseconds(time: Time) -> Nanoseconds {
    Nanoseconds::try_from(time.0.as_nanos()).unwrap_or(Nanoseconds::MAX)
}

/// The length of a packet: room for a proposal at least, and what UDP takes at most.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(try_from = "OctetCount")]
struct PacketLength(u16);

impl PacketLength {
    const LEAST: u16 = 191;
    const MOST: u16 = 65_507;
}

impl TryFrom<OctetCount> for PacketLength {
    type Error = String;

    fn try_from(count: OctetCount) -> Result<Self, String> {
        match u16::try_from(count.0) {
            Ok(octets @ PacketLength::LEAST..=PacketLength::MOST) => Ok(PacketLength(octets)),
            _ => Err(format!(
                "a packet must have {} to {} octets, not {}",
                PacketLength::LEAST,
                PacketLength::MOST,
                count.0
            )),
        }
    }
}

/// `limits`: what all sessions of one end share.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct LimitsTable {
    octets: OctetCount,
    each: OctetCount,
}

impl LimitsTable {
    fn limits(self) -> Limits {
        Limits { octets: octets(self.octets), each: octets(self.each) }
    }
}

/// `send`: what may wait on the sending side.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CreditTable {
    octets: OctetCount,
    messages: usize,
}

impl CreditTable {
    fn credit(self) -> Credit {
        Credit { octets: octets(self.octets), messages: self.messages }
    }
}

/// The name of a congestion control.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
#[serde(try_from = "String")]
struct CongestionName(Congestion);

impl TryFrom<String> for CongestionName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let known = name.parse().map(CongestionName);
        known.map_err(|()| {
            format!("congestion must be cubic, bbr, new-reno or document, not {name:?}")
        })
    }
}

/// A value, or `"never"`.
#[derive(Clone, PartialEq, Debug)]
struct OrNever<T>(Option<T>);

impl<'de, T: for<'a> Deserialize<'a>> Deserialize<'de> for OrNever<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(from)?;
        if value.as_str() == Some("never") {
            return Ok(OrNever(None));
        }
        let read: Result<T, toml::de::Error> = T::deserialize(value);
        read.map(|value| OrNever(Some(value)))
            .map_err(|error| D::Error::custom(format!("{}, or \"never\"", error.message())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = r#"
        packet = "300 B"
        window = 7
        longest = "2 MB"
        limits = { octets = "3 MB", each = 5 }
        send = { octets = "4 kB", messages = 9 }
        run = 0
        gather = "20 ms"
        gather-most = 3
        gather-full = 4
        timeout-first = "3 s"
        tries = 11
        timeout-least = "500 ms"
        silence = "10 min"
        idle = "5 s"
        keepalive = "2 s"
        reordering = "never"
        ranges = false
        large = false
        parts = false
        single = false
        expires = true
        ecn = false
        congestion = "bbr"
        half-open-most = 6
        first = 4294967290
    "#;

    fn read(text: &str) -> Result<ArtpKeys, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    fn config(text: &str) -> Config {
        read(text).expect("it can be read").config([1; 16])
    }

    #[test]
    fn the_documentation_has_every_key() {
        let text = include_str!("../../README.md");
        for key in ArtpKeys::names() {
            assert!(text.contains(&format!("`{key}`")), "{key}");
        }
    }

    #[test]
    fn nothing_said_is_the_default() {
        assert_eq!(config(""), Config::new([1; 16]));
    }

    /// Each key by itself, so that one which is read and forgotten is found.
    #[test]
    fn each_key_sets_its_field() {
        let all: toml::Table = ALL.parse().expect("it is TOML");
        let mut said: Vec<_> = all.keys().cloned().collect();
        let mut known = ArtpKeys::names();
        said.sort();
        known.sort();
        assert_eq!(said, known, "the test names every key");
        for (key, value) in &all {
            let alone = toml::Table::from_iter([(key.clone(), value.clone())]);
            assert_ne!(config(&alone.to_string()), Config::new([1; 16]), "{key}");
        }
        let Config { silence, reordering, keepalive, limits, send, packet, first, .. } =
            config(ALL);
        assert_eq!((silence, reordering), (600_000_000_000, None));
        assert_eq!((keepalive, packet), (Some(2_000_000_000), 300));
        assert_eq!(limits, Limits { octets: 3_000_000, each: 5 });
        assert_eq!(send, Credit { octets: 4000, messages: 9 });
        assert_eq!(first, Some(4_294_967_290));
        assert_eq!(config("keepalive = \"never\"").keepalive, None);
        assert_eq!(config("reordering = 5").reordering, Some(5));
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (text, says) in [
            ("packet = 190", "a packet must have 191 to 65507 octets, not 190"),
            ("packet = 65508", "191 to 65507"),
            ("window = 0", "nonzero"),
            ("congestion = \"reno\"", "cubic, bbr, new-reno or document"),
            ("silence = 5", "a time such as \"20 ms\""),
            ("keepalive = 5", "or \"never\""),
            ("reordering = \"soon\"", "or \"never\""),
            ("send = { octets = 5 }", "messages"),
            ("patience = \"5 s\"", "unknown field `patience`"),
        ] {
            let why = read(text).expect_err(text);
            assert!(why.contains(says), "{text}: {why}");
        }
    }
}
