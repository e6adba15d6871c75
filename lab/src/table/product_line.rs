//! E10: the 48 generated bases at the same work, and their event managers at timers.

mod echo;
mod timers;

use stackwright_base::{opening, session};
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};
use stackwright_wire::{BufferTree, Message, SingleBuffer};

use super::{About, Cells, Table};
use crate::measure::{Course, Effort, Limit};

/// What both kinds of work keep for an association.
struct Counted;

impl stackwright_base::Subject for Counted {
    type Key = u32;
    type PassiveKey = ();
    type Association = u64;
    type Enabled = ();
    type Timer = ();
}

/// The table.
pub(crate) struct ProductLine;

impl Table for ProductLine {
    fn about(&self) -> About {
        About {
            name: "product-line",
            title: "the 48 generated bases",
            measures: "Echo: a message gets a header, loses it, and its association is found among 64 and counted, on each of the \
                       48 bases. Timers: of N pending timers the next one expires and is set again, and another one is moved.",
            source: "",
            axes: Axes { x: "pending timers".into(), y: "time".into(), log_x: true, log_y: true },
            limit: Limit::Work,
        }
    }

    fn keys(&self, effort: Effort) -> Vec<String> {
        let mut keys = Vec::new();
        for message in ["single-buffer", "buffer-tree"] {
            for session in ["no-session", "session"] {
                for opening in ["interface", "active", "active-passive"] {
                    keys.push(format!("echo/{message}/{session}/{opening}"));
                }
            }
        }
        // The ordered list needs seconds to be filled with the most.
        let counts = [100, 1_000, 10_000, 100_000].into_iter();
        let counts = counts.filter(|count| *count < 100_000 || effort == Effort::Full);
        keys.extend(counts.map(|count| format!("timers/{count}")));
        keys
    }

    fn open(&self, _: &[String], _: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        Ok(Box::new(Bases))
    }
}

struct Bases;

impl Cells for Bases {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let unknown = || Problem::usage(format!("this table has no cell {key}"));
        if let Some(count) = key.strip_prefix("timers/") {
            return timers::row(key, count.parse().map_err(|_| unknown())?, course);
        }
        let words: Vec<&str> = key.split('/').collect();
        let ["echo", message, session, opening] = words[..] else { return Err(unknown()) };
        match (message, session) {
            ("single-buffer", "no-session") => {
                opened::<SingleBuffer, session::Absent>(key, opening, course)
            }
            ("single-buffer", "session") => {
                opened::<SingleBuffer, session::Present>(key, opening, course)
            }
            ("buffer-tree", "no-session") => {
                opened::<BufferTree, session::Absent>(key, opening, course)
            }
            ("buffer-tree", "session") => {
                opened::<BufferTree, session::Present>(key, opening, course)
            }
            _ => Err(unknown()),
        }
    }
}

fn opened<M: Message, S: session::Alternative + 'static>(
    key: &str,
    opening: &str,
    course: &mut Course,
) -> Result<Row, Problem> {
    match opening {
        "interface" => echo::row::<M, S, opening::Absent>(key, course),
        "active" => echo::row::<M, S, opening::Active>(key, course),
        "active-passive" => echo::row::<M, S, opening::ActivePassive>(key, course),
        _ => Err(Problem::usage(format!("this table has no cell {key}"))),
    }
}
