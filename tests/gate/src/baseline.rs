//! The figures that hold, in a file that is committed with the code they belong to.

use std::fmt::Write;

use toml::de::{DeTable, DeValue};

use crate::count::Counts;
use crate::machine::Machine;

/// Figures, and the machine they were counted on.
#[derive(Clone, PartialEq, Debug)]
pub struct Baseline {
    /// Where.
    pub machine: Machine,
    /// What.
    pub instructions: Counts,
}

/// Why a baseline cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the baseline: {0}; make a new one with tests/gate/accept")]
pub struct Unreadable(String);

impl Baseline {
    /// Reads a baseline's text.
    pub fn decode(text: &str) -> Result<Self, Unreadable> {
        let table = DeTable::parse(text).map_err(|error| Unreadable(error.to_string()))?;
        let table = table.get_ref();
        let part = |name: &str| match table.get(name).map(|value| value.get_ref()) {
            Some(DeValue::String(value)) => Ok(value.to_string()),
            _ => Err(Unreadable(format!("`{name}` is missing"))),
        };
        let machine = Machine {
            rustc: part("rustc")?,
            target: part("target")?,
            valgrind: part("valgrind")?,
            libc: part("libc")?,
            processor: part("processor")?,
        };
        let Some(DeValue::Table(figures)) = table.get("instructions").map(|value| value.get_ref())
        else {
            return Err(Unreadable("`[instructions]` is missing".into()));
        };
        let figure = |(name, value): (&toml::Spanned<_>, &toml::Spanned<DeValue<'_>>)| {
            let name: &std::borrow::Cow<'_, str> = name.get_ref();
            let number = match value.get_ref() {
                DeValue::Float(number) => number.as_str().replace('_', "").parse().ok(),
                DeValue::Integer(number) => number.as_str().replace('_', "").parse().ok(),
                _ => None,
            };
            match number {
                Some(number) if f64::is_finite(number) && number > 0.0 => {
                    Ok((name.to_string(), number))
                }
                _ => Err(Unreadable(format!("`{name}` is no count"))),
            }
        };
        Ok(Baseline {
            machine,
            instructions: figures.iter().map(figure).collect::<Result<_, _>>()?,
        })
    }

    /// Its text.
    pub fn encode(&self) -> String {
        let mut text = String::from(
            "# Instructions of one round of each figure, and what they were counted with. Written by tests/gate/accept.\n\n",
        );
        // Writing to a text cannot fail. What is quoted for Rust is quoted for TOML, since it is
        // plain ASCII.
        for (name, value) in self.machine.parts() {
            let _ = writeln!(text, "{name} = {value:?}");
        }
        text.push_str("\n[instructions]\n");
        for (name, count) in &self.instructions {
            let _ = writeln!(text, "{name:?} = {count:.2}");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Baseline {
        let machine = Machine {
            rustc: "1.95.0 (59807616e 2026-04-14)".into(),
            target: "x86_64-unknown-linux-gnu".into(),
            valgrind: "3.19.0".into(),
            libc: "glibc 2.36".into(),
            processor: "avx2".into(),
        };
        let instructions = [("map/Open/hit".to_owned(), 21.5), ("ftp/NOOP".to_owned(), 1300.0)];
        Baseline { machine, instructions: instructions.into() }
    }

    #[test]
    fn what_is_written_is_read_again() {
        assert_eq!(Baseline::decode(&sample().encode()).expect("it is whole"), sample());
    }

    #[test]
    fn the_one_that_is_committed_can_be_read() {
        let baseline = Baseline::decode(include_str!("../baseline.toml")).expect("it is whole");
        assert!(baseline.instructions.keys().any(|figure| figure.starts_with("crossing/")));
        assert_eq!(baseline.encode(), include_str!("../baseline.toml"), "as it is written");
    }

    #[test]
    fn says_what_is_wrong_and_what_to_do() {
        let text = sample().encode();
        for (from, to, says) in [
            ("valgrind = \"3.19.0\"\n", "", "`valgrind` is missing"),
            ("[instructions]", "[others]", "`[instructions]` is missing"),
            ("= 1300.00", "= \"many\"", "`ftp/NOOP` is no count"),
            ("= 1300.00", "= nan", "`ftp/NOOP` is no count"),
            ("= 1300.00", "= 0", "`ftp/NOOP` is no count"),
        ] {
            let error = Baseline::decode(&text.replace(from, to)).expect_err(says).to_string();
            assert!(error.contains(says) && error.contains("tests/gate/accept"), "{error}");
        }
        assert!(Baseline::decode("rustc = ").is_err());
    }
}
