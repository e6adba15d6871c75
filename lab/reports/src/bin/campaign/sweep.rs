//! A sweep: one command, and what varies in it. Its cells are numbered, and made when they are
//! asked for.

use std::path::Path;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::template::Template;

/// The place of the seed.
pub(crate) const SEED: &str = "seed";
/// The place of the file into which the result goes.
pub(crate) const OUT: &str = "out";

/// What stands in a file's name as it is. Everything else is written as `%` and two digits, so that
/// names stay distinct.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'.').remove(b'-').remove(b'_').remove(b'+');

/// A name and the values that it takes, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) values: Vec<String>,
}

/// Which seeds.
#[derive(Clone, Debug)]
pub(crate) enum Seeds {
    /// The command has none.
    None,
    /// All from the first to the last.
    Range(u64, u64),
    /// These.
    List(Vec<u64>),
}

impl Seeds {
    fn count(&self) -> u64 {
        match self {
            Seeds::None => 1,
            Seeds::Range(first, last) => (last - first).saturating_add(1),
            Seeds::List(seeds) => seeds.len() as u64,
        }
    }

    fn get(&self, place: u64) -> Option<u64> {
        match self {
            Seeds::None => None,
            Seeds::Range(first, _) => Some(first + place),
            Seeds::List(seeds) => seeds.get(place as usize).copied(),
        }
    }

    /// The one that is longest to write.
    fn longest(&self) -> Option<u64> {
        match self {
            Seeds::None => None,
            Seeds::Range(_, last) => Some(*last),
            Seeds::List(seeds) => seeds.iter().max().copied(),
        }
    }
}

/// One command, and what varies in it.
#[derive(Clone, Debug)]
pub(crate) struct Sweep {
    pub(crate) name: String,
    /// The program; this one where none is said.
    pub(crate) program: Option<String>,
    pub(crate) words: Vec<Template>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) seeds: Seeds,
    /// How long a cell may take.
    pub(crate) limit: Duration,
}

/// One command with all its values.
#[derive(Clone, Debug)]
pub(crate) struct Cell<'a> {
    pub(crate) sweep: &'a Sweep,
    /// In the campaign, counted from 0.
    pub(crate) index: u64,
    /// In the order of the sweep's parameters.
    pub(crate) values: Vec<&'a str>,
    pub(crate) seed: Option<u64>,
}

impl Sweep {
    /// How many cells it has; `None` where that cannot be said in 64 bits.
    pub(crate) fn count(&self) -> Option<u64> {
        self.parameters.iter().try_fold(self.seeds.count(), |count, parameter| {
            count.checked_mul(parameter.values.len() as u64)
        })
    }

    /// The cell at `place` of this sweep, which has the number `index` in the campaign. The seed
    /// varies fastest, the first parameter slowest.
    pub(crate) fn cell(&self, place: u64, index: u64) -> Cell<'_> {
        let seeds = self.seeds.count();
        let seed = self.seeds.get(place % seeds);
        let mut rest = place / seeds;
        let mut values: Vec<&str> = Vec::with_capacity(self.parameters.len());
        for parameter in self.parameters.iter().rev() {
            let count = parameter.values.len() as u64;
            values.push(&parameter.values[(rest % count) as usize]);
            rest /= count;
        }
        values.reverse();
        Cell { sweep: self, index, values, seed }
    }

    /// Octets of the longest name of its cells.
    pub(crate) fn longest_name(&self) -> usize {
        let longest = |parameter: &'_ Parameter| {
            parameter
                .values
                .iter()
                .map(|value| assignment(&parameter.name, value).len())
                .max()
                .unwrap_or(0)
        };
        let seed = self.seeds.longest().map(|seed| assignment(SEED, &seed.to_string()).len());
        self.parameters
            .iter()
            .map(longest)
            .chain(seed)
            .map(|length| length + 1)
            .sum::<usize>()
            .saturating_sub(1)
    }

    /// The command with its places, one word a line: what all its cells have in common.
    pub(crate) fn command(&self) -> String {
        let words = self.words.iter().map(|word| word.fill(|name| format!("{{{name}}}")));
        let program = self.program.clone().unwrap_or_else(|| "lab".into());
        [program].into_iter().chain(words).map(|word| word + "\n").collect()
    }

    /// Whether the program says its result instead of writing it into a file.
    pub(crate) fn prints_its_result(&self) -> bool {
        !self.words.iter().flat_map(Template::places).any(|place| place == OUT)
    }
}

fn assignment(name: &str, value: &str) -> String {
    format!("{name}={}", utf8_percent_encode(value, ESCAPED))
}

impl Cell<'_> {
    /// Its name within its sweep, which can be a file's: `loss=0.01,seed=7`.
    pub(crate) fn name(&self) -> String {
        let parameters = self.sweep.parameters.iter().zip(&self.values);
        let mut parts: Vec<String> =
            parameters.map(|(parameter, value)| assignment(&parameter.name, value)).collect();
        parts.extend(self.seed.map(|seed| assignment(SEED, &seed.to_string())));
        if parts.is_empty() { "only".into() } else { parts.join(",") }
    }

    /// Its name within the campaign: `loss/loss=0.01,seed=7`.
    pub(crate) fn full_name(&self) -> String {
        format!("{}/{}", self.sweep.name, self.name())
    }

    /// The words behind the program, with the result going to `out`.
    pub(crate) fn words(&self, out: &Path) -> Vec<String> {
        let value = |place: &str| match place {
            SEED => self.seed.map(|seed| seed.to_string()).unwrap_or_default(),
            OUT => out.to_string_lossy().into_owned(),
            name => {
                let place =
                    self.sweep.parameters.iter().position(|parameter| parameter.name == name);
                place
                    .and_then(|place| self.values.get(place))
                    .copied()
                    .unwrap_or_default()
                    .to_owned()
            }
        };
        self.sweep.words.iter().map(|word| word.fill(value)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sweep(seeds: Seeds) -> Sweep {
        let parameter = |name: &str, values: &[&str]| Parameter {
            name: name.into(),
            values: values.iter().map(|value| (*value).into()).collect(),
        };
        let words = ["--rate={rate}", "{loss}", "{seed}", "{out}"];
        Sweep {
            name: "s".into(),
            program: None,
            words: words.iter().map(|word| Template::read(word).expect("it can be read")).collect(),
            parameters: vec![
                parameter("rate", &["1 M", "2/M"]),
                parameter("loss", &["0", "0.1", "1"]),
            ],
            seeds,
            limit: Duration::from_secs(1),
        }
    }

    #[test]
    fn cells_come_in_order_with_names_that_files_may_have() {
        let sweep = sweep(Seeds::Range(7, 8));
        assert_eq!(sweep.count(), Some(12));
        let names: Vec<String> = (0..12).map(|place| sweep.cell(place, place).name()).collect();
        assert_eq!(names[0], "rate=1%20M,loss=0,seed=7");
        assert_eq!(names[1], "rate=1%20M,loss=0,seed=8");
        assert_eq!(names[2], "rate=1%20M,loss=0.1,seed=7");
        assert_eq!(names[11], "rate=2%2FM,loss=1,seed=8");
        let distinct: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(distinct.len(), 12);
        assert!(names.iter().all(|name| name.len() <= sweep.longest_name()));
    }

    #[test]
    fn the_words_have_the_values() {
        let sweep = sweep(Seeds::List(vec![3]));
        assert_eq!(
            sweep.cell(4, 4).words(Path::new("/r.json")),
            ["--rate=2/M", "0.1", "3", "/r.json"]
        );
    }

    #[test]
    fn a_count_that_is_too_large_to_be_one_is_told() {
        assert_eq!(sweep(Seeds::Range(0, u64::MAX)).count(), None);
    }
}
