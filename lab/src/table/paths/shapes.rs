//! Paths with a fault of their own kind: every transport of ours beside the kernel's TCP.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use serde::Deserialize;
use stackwright_results::Problem;
use stackwright_results::outcome::{Column, Row};
use stackwright_results::verdict::Target;
use stackwright_simulator::LinkDescription;

use crate::link::Wire;
use crate::measure::{Course, Effort, Stop};
use crate::table::parallel;
use crate::table::transports::{Ends, Programs, Rival, Work};

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
/// What the kernel's TCP may buffer.
const BUFFERS: u64 = 32 << 20;
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

    /// Lets all use the path at the same time, each on a link of its own: three times, once with
    /// `--quick`. One that fails, or never opens, reaches nothing.
    pub(super) fn measure(
        &self,
        programs: &Programs,
        row: &mut Row,
        course: &mut Course,
    ) -> Result<(), Problem> {
        let mut goodputs = CONTESTANTS.map(|_| Vec::new());
        let rounds = if course.effort == Effort::Quick { 1 } else { 3 };
        for round in 1..=rounds {
            if course.stop.asked() {
                break;
            }
            course.progress.set_message(format!("{}, {round} of {rounds}", row.key));
            let seed = course.seed + round;
            let all = parallel::all(
                &CONTESTANTS,
                CONTESTANTS.len(),
                &Stop::default(),
                |&(name, scheme, options, _)| {
                    Ok(self.goodput(Rival::ours(name, scheme, options), programs, seed))
                },
            )?;
            for (((name, ..), goodputs), goodput) in CONTESTANTS.iter().zip(&mut goodputs).zip(all)
            {
                goodputs.push(goodput.unwrap_or_else(|why| {
                    let (key, says) = (&row.key, why.says());
                    course.progress.suspend(|| eprintln!("lab: {key}: {name}: {says}"));
                    0.0
                }));
            }
        }
        for ((name, ..), goodputs) in CONTESTANTS.iter().zip(goodputs) {
            row.columns.push(Column::exact(name, true, goodputs));
        }
        for (name, _, _, against) in CONTESTANTS {
            if let Some(tcp) = against {
                row.compare(name, tcp, Some(Target::AtLeast(SHARE)));
            }
        }
        Ok(())
    }

    /// What the receiver's application has when the time is over, in megabits a second from the
    /// opening on: pauses count, and what is on its way then does not.
    fn goodput(&self, rival: Rival, programs: &Programs, seed: u64) -> Result<f64, Problem> {
        if let Some(why) = rival.lacks() {
            return Err(Problem::new(why));
        }
        let ends = Ends::Wire(Wire::over(&self.link.resolve().map_err(Problem::new)?, seed)?);
        ends.tcp_buffers(BUFFERS)?;
        ends.tcp_mtu_probing()?;
        let serving = rival.serve(&ends, programs, None)?;
        let begin = Instant::now();
        // It has more to send than there is time for.
        let work = Work::Bulk { size: SIZE, seconds: 2.0 * self.seconds };
        let mut sending = serving.start(&ends, programs, work)?;
        thread::sleep(Duration::from_secs_f64(self.seconds));
        sending.goes_on()?;
        let counted = serving.counted().ok_or_else(|| Problem::new("nothing arrived"))?;
        Ok(8e-6 * counted.octets as f64 / (counted.at - begin).as_secs_f64())
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
