//! E25: many octets over one association, many associations one after the other, many at once; and
//! what both ends hold.

mod held;
mod slope;

use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Column, Row, Sample};
use stackwright_results::verdict::Target;

use super::transports::{Ends, Programs, Rival, Serving, Work};
use super::{About, Cells, Table};
use crate::measure::{Course, Effort, Limit};
use held::{Watched, fill, watch};
use slope::Slope;

/// The table.
pub(crate) struct Soak;

/// The first packet number: it wraps after a million packets.
const FIRST: u32 = u32::MAX - 1_000_000;
const GIGABYTE: u64 = 1_000_000_000;
/// So many octets go through the receiver's pool before what is measured.
const FILLING: u64 = 8 * GIGABYTE;
/// So many associations are open at once where one after the other is opened and closed.
const AT_ONCE: u64 = 200;
/// What is promised of one that is idle, in kB.
const IDLE: f64 = 4.096;

impl Table for Soak {
    fn about(&self) -> About {
        About {
            name: "artp-soak",
            title: "memory of ARTP's endpoints over time",
            measures: "The resident memory of both processes. bulk: a number of octets over one association, whose packet numbers wrap after a \
                       million packets, to a receiver that stood still now and then in a run before, so that its pool has been \
                       filled; the slope is that of the last three quarters, with its interval of 95 %. churn: associations, \
                       200 at once, opened, used and closed. idle: what each of so many takes when nothing is said on any, with all \
                       else that the process holds since it began to listen.",
            source: "",
            axes: Axes::default(),
            limit: Limit::Loopback,
        }
    }

    fn keys(&self, effort: Effort) -> Vec<String> {
        let keys: &[&str] = match effort {
            Effort::Quick => &["bulk/2", "churn/20000", "idle/10000"],
            Effort::Usual => &["bulk/20", "churn/1000000", "idle/10000"],
            Effort::Full => {
                &["bulk/2", "bulk/20", "bulk/1000", "churn/20000", "churn/1000000", "idle/10000"]
            }
        };
        keys.iter().map(|key| (*key).to_owned()).collect()
    }

    fn open(&self, _: &[String], notes: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        let programs = Programs::ours()?;
        notes.push(
            "The document sent 9.71 TB in 75 hours, at 301.68 Mb/s, without a leak. A terabyte has \
             a cell of its own: lab table artp-soak --cell bulk/1000."
                .into(),
        );
        Ok(Box::new(Ground { programs }))
    }
}

struct Ground {
    programs: Programs,
}

impl Cells for Ground {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let unknown = || Problem::usage(format!("this table has no cell {key}"));
        let (what, many) = key.split_once('/').ok_or_else(unknown)?;
        let many: u64 = many.parse().ok().filter(|many| *many > 0).ok_or_else(unknown)?;
        let numbers = format!("--first {FIRST}");
        let core = (what == "idle").then_some(0);
        let serving =
            Rival::ours("ARTP", "artp", &numbers).serve(&Ends::Loopback, &self.programs, core)?;
        match what {
            "bulk" => self.bulk(key, many, &serving, course),
            "churn" => self.churn(key, many, &serving, course),
            "idle" => self.idle(key, many, &serving, core),
            _ => Err(unknown()),
        }
    }
}

impl Ground {
    fn bulk(
        &self,
        key: &str,
        gigabytes: u64,
        serving: &Serving,
        course: &Course,
    ) -> Result<Row, Problem> {
        let octets = gigabytes * GIGABYTE;
        let command = |octets| {
            serving.command(
                &Ends::Loopback,
                &self.programs,
                Work::Octets { size: 10_000, octets },
                None,
            )
        };
        fill(command(FILLING)?, serving.number(), course)?;
        let watched = watch(command(octets)?, serving.number(), course)?;
        if watched.measured.octets != octets {
            return Err(Problem::new(format!(
                "{} of {octets} octets have arrived",
                watched.measured.octets
            )));
        }
        Ok(flat(
            key,
            format!("{gigabytes} GB over one association"),
            "GB",
            gigabytes as f64,
            &watched,
        ))
    }

    fn churn(
        &self,
        key: &str,
        many: u64,
        serving: &Serving,
        course: &Course,
    ) -> Result<Row, Problem> {
        let repeat = many.div_ceil(AT_ONCE);
        let mut command = serving.command(
            &Ends::Loopback,
            &self.programs,
            Work::Associations { count: AT_ONCE },
            None,
        )?;
        command.args(["--repeat", &repeat.to_string()]);
        let watched = watch(command, serving.number(), course)?;
        if watched.measured.messages != repeat * AT_ONCE {
            return Err(Problem::new(format!(
                "{} of {many} associations were there",
                watched.measured.messages
            )));
        }
        let thousands = (repeat * AT_ONCE) as f64 / 1e3;
        Ok(flat(
            key,
            format!("{many} associations opened and closed"),
            "1000 associations",
            thousands,
            &watched,
        ))
    }

    fn idle(
        &self,
        key: &str,
        many: u64,
        serving: &Serving,
        core: Option<usize>,
    ) -> Result<Row, Problem> {
        let mut command = serving.command(
            &Ends::Loopback,
            &self.programs,
            Work::Associations { count: many },
            core,
        )?;
        command.args(["--hold", "3s"]);
        let held = held::idle(command, serving.number())?;
        let label = format!("{many} at once, both ends on one core");
        let mut row = Row::new(key, "memory of an idle association", label, "kB");
        for (name, octets) in [("sender", held[0]), ("receiver", held[1])] {
            row.columns.push(column(name, true, [octets / 1e3 / many as f64]));
        }
        row.columns.push(column("4 KB", false, [IDLE]));
        row.compare_with_all(Some(Target::AtMost(1.0)));
        Ok(row)
    }
}

/// The memory of both ends while so much was done: of the last quarter beside the second, so that
/// what grows shows.
fn flat(key: &str, what: String, per: &str, many: f64, watched: &Watched) -> Row {
    let mut slopes = Vec::new();
    let mut row = Row::new(key, what, "", "MB");
    for (end, name) in ["sender", "receiver"].into_iter().enumerate() {
        let held: Vec<f64> = watched.held.iter().map(|held| held[end]).collect();
        // What comes first fills pools.
        let later = &held[held.len() / 4..];
        let slope = Slope::of(later).scaled(0.75 * many);
        slopes.push(format!("{name} {slope} kB/{per}"));
        let (second, last) = (&held[held.len() / 4..held.len() / 2], &held[held.len() * 3 / 4..]);
        let megabytes = |held: &[f64]| held.iter().map(|octets| octets / 1e6).collect::<Vec<_>>();
        row.columns.push(column(&format!("{name}, late"), true, megabytes(last)));
        row.columns.push(column(&format!("{name}, early"), false, megabytes(second)));
        row.compare(
            &format!("{name}, late"),
            &format!("{name}, early"),
            Some(Target::AtMost(1.02)),
        );
    }
    row.label = format!("{}; {:.2} Gb/s", slopes.join(", "), watched.measured.goodput() / 1e3);
    row
}

fn column(name: &str, ours: bool, values: impl IntoIterator<Item = f64>) -> Column {
    let sample = |value| Sample { value, probes: [1.0; 2], slow: false };
    Column { samples: values.into_iter().map(sample).collect(), ..Column::new(name, ours) }
}
