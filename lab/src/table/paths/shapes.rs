//! Paths with a fault of their own kind: every transport of ours beside the kernel's TCP.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use stackwright_results::Problem;
use stackwright_results::outcome::Row;
use stackwright_results::verdict::Target;
use stackwright_simulator::LinkDescription;

use crate::measure::{Course, Effort};
use crate::table::transports::{Alongside, Programs, Rival};

/// A path, and for how long it is used.
#[derive(Deserialize)]
pub(super) struct Shape {
    key: String,
    label: String,
    /// In seconds.
    seconds: f64,
    /// Whether `--quick` measures it.
    #[serde(default)]
    quick: bool,
    link: LinkDescription,
}

/// All of them.
static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let mut file: BTreeMap<String, Vec<Shape>> =
        toml::from_str(include_str!("shapes.toml")).expect("a test has read them");
    file.remove("shape").unwrap_or_default()
});

/// Octets of a message.
const SIZE: u64 = 10_000;
/// What each of ours shall reach of TCP with the same congestion control.
const SHARE: f64 = 0.9;

const CUBIC: &str = "TCP, cubic";
const BBR: &str = "TCP, bbr";

/// Who uses a path: the name, the scheme of `perf` and its options, and the TCP to compare with.
const CONTESTANTS: [(&str, &str, &str, Option<&str>); 7] = [
    (CUBIC, "tcp", "--congestion cubic", None),
    (BBR, "tcp", "--congestion bbr", None),
    ("ARTP", "artp", "", Some(CUBIC)),
    ("ARTP, BBR", "artp", "--congestion bbr", Some(BBR)),
    ("ordered ARTP", "ordered+artp", "", Some(CUBIC)),
    ("tailored", "tailored", "", Some(CUBIC)),
    ("XTP, stream", "stream+xtp", "", Some(CUBIC)),
];

/// Those that are measured.
pub(super) fn chosen(effort: Effort) -> impl Iterator<Item = &'static Shape> {
    SHAPES.iter().filter(move |shape| effort != Effort::Quick || shape.quick)
}

impl Shape {
    /// A row without columns.
    pub(super) fn row(&self) -> Row {
        let (key, group) = (format!("shape/{}", self.key), "shapes of paths, real sockets");
        Row::new(key, group, &*self.label, "Mb/s").more_is_better()
    }

    /// Lets all use the path at the same time.
    pub(super) fn measure(
        &self,
        programs: &Programs,
        row: &mut Row,
        course: &mut Course,
    ) -> Result<(), Problem> {
        let path = &self.link.resolve().map_err(Problem::new)?;
        let rivals =
            CONTESTANTS.map(|(name, scheme, options, _)| Rival::ours(name, scheme, options));
        Alongside { path, seconds: self.seconds, size: SIZE }
            .hold(&rivals, programs, row, course)?;
        for (name, _, _, against) in CONTESTANTS {
            if let Some(tcp) = against {
                row.compare(name, tcp, Some(Target::AtLeast(SHARE)));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use stackwright_simulator::Profile;

    use super::*;

    #[test]
    fn each_shape_is_a_link_with_a_key_of_its_own() {
        for shape in SHAPES.iter() {
            let profile = shape.link.resolve().unwrap_or_else(|why| panic!("{}: {why}", shape.key));
            assert!(matches!(profile, Profile::Link { .. }), "{}", shape.key);
            assert_eq!(SHAPES.iter().filter(|other| other.key == shape.key).count(), 1);
        }
        assert_eq!(SHAPES.len(), 25);
        assert!(chosen(Effort::Quick).count() < chosen(Effort::Usual).count());
    }
}
