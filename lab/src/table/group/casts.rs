//! Casts of three members, ours and others', and how long five are silent when one is killed.

use std::cell::RefCell;

use stackwright_programs::statistics::median;
use stackwright_results::Problem;
use stackwright_results::outcome::Row;
use stackwright_results::verdict::Target;

use super::entrants::{Casts, Entrant, Entrants, MEMBERS, Said, Time};
use super::killed::killed;
use crate::measure::{Contestant, Course, Effort, Limit};
use crate::table::{About, AnyTable, NO_AXES, Table};

const OURS: &str = "stackwright";
const XTP: &str = "XTP, one sender";
const COROSYNC: &str = "corosync";
const JGROUPS: &str = "JGroups";

/// The members that cast.
const CASTING: u8 = 3;

/// What is done.
#[derive(Clone, Copy)]
pub(super) enum Task {
    Cast { casts: Casts, loses: bool },
    Kill,
}

/// The table.
pub(crate) const CASTS: &dyn AnyTable = &Table::<Task, Entrants> {
    about: About {
        name: "group",
        title: "Groups beside corosync and JGroups",
        measures: "Three members, each in a network namespace on one bridge, all on this machine. \
                   All three cast as fast as they may, and the row is what a member delivers, of \
                   all; one in flight: one member casts and waits for its own copy. In each \
                   sender's order: `group perf`, JGroups with the stack of its udp.xml, and our \
                   XTP to a multicast address, with one sender and two receivers. In one order of \
                   all: ours over safe delivery (what a quorum has), JGroups with SEQUENCER above \
                   that stack, corosync's CPG (udpu, without encryption and without real-time \
                   priority). JGroups has 15 s to warm, --quick 3 s; its first seconds tell \
                   nothing. Killed: one of five members is killed while the first casts; the time \
                   until another is told so, where 500 ms of silence tell that a member is gone \
                   (corosync: token, whatever the number of members). JGroups has other ways, \
                   and waits longer for silence: it is left out there. A run that a member does \
                   not hold out counts as nothing.",
        source: "",
        axes: NO_AXES,
        limit: Limit::Loopback,
    },
    cells: |_| {
        let casts = |total: bool, length, loses: bool| {
            let order = if total { "total" } else { "fifo" };
            let group = if total { "in one order" } else { "in each sender's order" };
            let end = if loses { "/loss" } else { "" };
            let more = if loses { ", 1 % lost" } else { "" };
            let label = format!("casts of {length} octets{more}");
            let row = Row::new(format!("{order}/{length}{end}"), group, label, "1/s");
            let casts = Casts { length, total, one: false };
            (row.more_is_better(), Task::Cast { casts, loses })
        };
        let one = Casts { length: 64, total: true, one: true };
        vec![
            casts(false, 1000, false),
            casts(false, 64, false),
            casts(true, 1000, false),
            casts(true, 64, false),
            casts(true, 10_000, false),
            casts(true, 1000, true),
            (
                Row::new("one/64", "in one order", "64 octets, one in flight", "s"),
                Task::Cast { casts: one, loses: false },
            ),
            (Row::new("killed", "five members", "one is killed", "s"), Task::Kill),
        ]
    },
    open: |_, notes| Entrants::up(notes),
    measure,
};

fn measure(
    entrants: &mut Entrants,
    task: &Task,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    match *task {
        Task::Kill => kill(entrants, row, course),
        Task::Cast { casts, loses } if loses => {
            if !entrants.bridge().loses(1) {
                let why = "lab: no loss: `tests/strangers/install nft` installs what drops packets";
                course.progress.suspend(|| eprintln!("{why}"));
                return Ok(());
            }
            let done = cast(entrants, casts, row, course);
            entrants.bridge().loses(0);
            done
        }
        Task::Cast { casts, .. } => cast(entrants, casts, row, course),
    }
}

/// Who takes part in one order or in each sender's.
fn contestants(casts: Casts) -> Vec<(&'static str, Entrant)> {
    let third = if casts.total { (COROSYNC, Entrant::Corosync) } else { (XTP, Entrant::Xtp) };
    vec![(OURS, Entrant::Ours), (JGROUPS, Entrant::JGroups), third]
}

fn cast(
    entrants: &Entrants,
    casts: Casts,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let effort = course.effort;
    let time = |entrant| Time {
        warm: match (entrant, effort) {
            (Entrant::JGroups, Effort::Quick) => 3.0,
            (Entrant::JGroups, _) => 15.0,
            _ => 0.5,
        },
        measured: if effort == Effort::Quick { 1.0 } else { 3.0 },
    };
    let chosen = contestants(casts).into_iter().filter(|(_, entrant)| entrants.has(*entrant));
    let kept: Vec<_> = chosen.map(|one| (one, RefCell::<Vec<_>>::default())).collect();
    let progress = &course.progress.clone();
    row.columns = course.compete(kept.iter().map(|((name, entrant), kept)| {
        let is_ours = matches!(entrant, Entrant::Ours | Entrant::Xtp);
        Contestant::new(*name, is_ours, move || {
            let said = match entrants.cast(*entrant, CASTING, casts, time(*entrant)) {
                // Who does not hold out under load has delivered nothing.
                Err(problem) if !casts.one => {
                    progress.suspend(|| eprintln!("lab: {name}: {}", problem.says()));
                    return Ok(0.0);
                }
                said => said?,
            };
            let figures = Figures::of(&said, casts);
            kept.borrow_mut().push(figures);
            Ok(figures.value)
        })
    }))?;
    for (column, (_, kept)) in row.columns.iter_mut().zip(&kept) {
        let kept = kept.borrow();
        let of = |figure: fn(&Figures) -> f64| kept.iter().map(figure).collect::<Vec<_>>();
        if casts.one {
            column.tell("99 %", "s", &of(|it| it.p99), None);
        } else {
            column.tell("payload delivered to a member", "MB/s", &of(|it| it.rate), None);
        }
        column.tell("processor time of a delivered MB", "s", &of(|it| it.processor), None);
    }
    let (least, most) = (|bar| Some(Target::AtLeast(bar)), |bar| Some(Target::AtMost(bar)));
    if casts.one {
        row.compare(OURS, COROSYNC, most(1.2));
        row.compare(OURS, JGROUPS, None);
    } else {
        row.compare(OURS, JGROUPS, least(1.0));
        row.compare(OURS, COROSYNC, least(2.0));
        row.compare(OURS, XTP, least(0.9));
    }
    Ok(())
}

/// What a run came to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Figures {
    /// Of the row.
    value: f64,
    p99: f64,
    /// Megabytes a second.
    rate: f64,
    /// Of all members, for a megabyte that is delivered to one.
    processor: f64,
}

impl Figures {
    fn of(said: &[Said], casts: Casts) -> Self {
        let middle = |figure: &dyn Fn(&Said) -> f64| {
            median(&said.iter().map(figure).collect::<Vec<_>>()).unwrap_or_default()
        };
        // Only who casts one at a time times it.
        let longest = |figure: fn(&Said) -> f64| said.iter().map(figure).fold(0.0, f64::max);
        let sum = |figure: fn(&Said) -> f64| said.iter().map(figure).sum::<f64>();
        let often = middle(&|it| it.delivered / it.seconds);
        Figures {
            value: if casts.one { longest(|it| it.p50) } else { often },
            p99: longest(|it| it.p99),
            rate: middle(&|it| it.octets / it.seconds / 1e6),
            processor: sum(|it| it.processor) / (sum(|it| it.octets) / 1e6),
        }
    }
}

fn kill(entrants: &Entrants, row: &mut Row, course: &mut Course) -> Result<(), Problem> {
    let both = [(OURS, Entrant::Ours), (COROSYNC, Entrant::Corosync)];
    let chosen = both.into_iter().filter(|(_, entrant)| entrants.has(*entrant));
    // A run takes seconds, and twenty of them tell what is usual.
    let kept: Vec<_> = chosen.map(|one| (one, RefCell::<Vec<_>>::default())).collect();
    let patience = if course.effort == Effort::Quick { 1.0 } else { 20.0 };
    row.columns = course.compete_for(
        patience,
        kept.iter().map(|((name, entrant), kept)| {
            Contestant::new(*name, *entrant == Entrant::Ours, move || {
                let killed = killed(entrants, *entrant, MEMBERS).map_err(|it| it.within(name))?;
                kept.borrow_mut().push(killed.longest);
                Ok(killed.missed)
            })
        }),
    )?;
    for (column, (_, kept)) in row.columns.iter_mut().zip(&kept) {
        let values = column.values();
        // What `--detect` allows, and 50 ms.
        let target = (column.name == OURS).then_some(Target::AtMost(0.55));
        column.tell("missed after", "s", &values, target);
        column.tell("longest without a delivery", "s", &kept.borrow(), None);
    }
    row.compare(OURS, COROSYNC, None);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_of_the_member_in_the_middle_and_of_all() {
        let one = |delivered, processor, p50| Said {
            delivered,
            octets: 1000.0 * delivered,
            seconds: 2.0,
            processor,
            p50,
            p99: 2.0 * p50,
            longest: 0.0,
        };
        let said = [one(1000.0, 1.0, 0.0), one(2000.0, 2.0, 0.25), one(3000.0, 3.0, 0.0)];
        let casts = Casts { length: 1000, total: true, one: false };
        let figures = Figures::of(&said, casts);
        let bulk = Figures { value: 1000.0, p99: 0.5, rate: 1.0, processor: 1.0 };
        assert_eq!(figures, bulk);
        let one = Figures::of(&said, Casts { one: true, ..casts });
        assert_eq!(one, Figures { value: 0.25, ..bulk });
    }
}
