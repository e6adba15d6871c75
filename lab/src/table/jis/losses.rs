//! E20: a picture over links that lose packets, in the simulator.

use stackwright_contract::Duration;
use stackwright_programs::picture::Picture;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Column, Row};
use stackwright_results::verdict::Target;
use stackwright_simulator::{Conditions, Queue};

use super::adus::{self, FULL};
use super::simulated::{Figures, Sending, fetch};
use crate::measure::{Course, Effort, Limit};
use crate::table::lossy::{Lossy, cells};
use crate::table::parallel::{all, cores};
use crate::table::{About, AnyTable, Cell, Table};

/// Of packets, each way.
const PERCENTS: [f64; 7] = [0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0];
/// To and fro, in milliseconds.
const ROUND_TRIPS: [u64; 3] = [0, 20, 100];
/// Of each bit to be altered.
const BIT_ERRORS: f64 = 1e-6;
/// In octets a second: 10 Mb/s.
const RATE: u64 = 1_250_000;
const SENDINGS: [Sending; 4] = [Sending::Dedicated, Sending::Bbr, Sending::Fitted, Sending::Cubic];

/// An ADU of a full packet, and that packet on the link, in octets.
const ADU: f64 = FULL as f64;
const PACKET: f64 = ADU + 12.0 + 28.0;

/// What a link that is known shall give: of C(1 − p), whatever p.
const KNOWN: f64 = 0.95;
/// What one that is measured shall give, up to 5 % loss.
const MEASURED: f64 = 0.85;

/// What may happen to packets on a link.
#[derive(Clone, Copy)]
struct Task {
    link: Lossy,
    /// Whether bits are altered, instead of packets lost.
    altered: bool,
}

impl Task {
    /// The part of full packets that does not arrive.
    fn lost(&self) -> f64 {
        // What is altered is dropped by its check: a full packet with this probability.
        let altered = 1.0 - (1.0 - BIT_ERRORS).powf(8.0 * PACKET);
        if self.altered { altered } else { self.link.lost() }
    }

    /// C(1 − p) in Mb/s.
    fn limit(&self) -> f64 {
        8e-6 * RATE as f64 * ADU / PACKET * (1.0 - self.lost())
    }
}

/// A picture, and the octets of its ADUs.
struct File {
    file: Vec<u8>,
    octets: usize,
}

/// The table.
pub(crate) const LOSSES: &dyn AnyTable = &Table::<Task, File> {
    about: About {
        name: "jis-loss",
        title: "pictures with packet loss",
        measures: "A JPEG of 5 MB over a simulated link of 10 Mb/s with a queue of a round \
                   trip (64 packets at least); each packet is lost with that probability, \
                   each way, or each bit is altered. From the first units that are painted \
                   until all are, beside C(1 − p): the rate of the link that full packets \
                   leave to ADUs. PSNR is that of what has arrived, the rest grey, after \
                   half of the time in which C(1 − p) carries the picture. Octets are those of ADUs. Three seeds (one \
                   with --quick); exact, whatever the machine.",
        source: "",
        axes: Axes { x: "% of packets lost", y: "Mb/s", log_x: false, log_y: false },
        limit: Limit::Work,
    },
    cells: |effort| ROUND_TRIPS.into_iter().flat_map(|ms| of_round_trip(ms, effort)).collect(),
    open: |_, _| {
        let file = Picture { columns: 250, rows: 215, coefficients: 62 }.file(1);
        Ok(File { octets: adus::octets(&file, FULL)?, file })
    },
    measure,
};

fn of_round_trip(round_trip: u64, effort: Effort) -> Vec<Cell<Task>> {
    let mut lossy = cells(&[round_trip], &PERCENTS, "Mb/s");
    let quick = |link: &Lossy| [0.0, 1.0, 10.0].contains(&link.percent);
    lossy.retain(|(_, link)| effort != Effort::Quick || quick(link));
    let of = |(row, task): (Row, Task)| (row.more_is_better().limited(task.limit()), task);
    let lossy = lossy.into_iter().map(|(row, link)| of((row, Task { link, altered: false })));
    let label = format!("one bit in {:.0e} altered", 1.0 / BIT_ERRORS);
    let (key, group) = (format!("{round_trip}ms/bits"), format!("{round_trip} ms to and fro"));
    let link = Lossy { round_trip, percent: 0.0 };
    let altered = of((Row::new(key, group, label, "Mb/s"), Task { link, altered: true }));
    lossy.chain([altered]).collect()
}

fn measure(
    File { file, octets }: &mut File,
    task: &Task,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let link = Conditions {
        bit_errors: if task.altered { BIT_ERRORS } else { 0.0 },
        queue: Queue::octets(task.link.product(RATE).max(64 * 1500)),
        ..task.link.link(RATE)
    };
    // A round trip, then ADUs as fast as the link carries them.
    let needed = 1e-3 * task.link.round_trip as f64 + 8e-6 * *octets as f64 / task.limit();
    let half = Duration::from_secs_f64(needed / 2.0);
    let rounds = if course.effort == Effort::Quick { 1 } else { 3 };
    let runs: Vec<(Sending, u64)> = SENDINGS
        .into_iter()
        .flat_map(|sending| (1..=rounds).map(move |round| (sending, round)))
        .map(|(sending, round)| (sending, course.seed + round))
        .collect();
    let figures = all(&runs, cores(), &course.stop, |(sending, seed)| {
        Ok(fetch(*sending, &link, file, half, *seed))
    })?;
    // There are none where somebody asked for the end.
    for (sending, own) in SENDINGS.into_iter().zip(figures.chunks(rounds as usize)) {
        if own.iter().any(|figures| !figures.whole || figures.psnr.is_none()) {
            let name = sending.name();
            return Err(Problem::new(format!("a picture of {name} did not arrive")));
        }
        row.columns.push(column(sending, own, *octets, task));
    }
    Ok(())
}

fn column(sending: Sending, figures: &[Figures], octets: usize, task: &Task) -> Column {
    let (limit, lost, round_trip) = (task.limit(), task.lost(), task.link.round_trip);
    let goodput = |figures: &Figures| 8e-6 * octets as f64 / figures.rest;
    let mut column = Column::exact(sending.name(), true, figures.iter().map(goodput));
    let shares: Vec<f64> = figures.iter().map(|figures| goodput(figures) / limit).collect();
    let target = match sending {
        Sending::Dedicated => Some(Target::AtLeast(KNOWN)),
        Sending::Bbr if lost <= 0.05 => Some(Target::AtLeast(MEASURED)),
        Sending::Bbr | Sending::Fitted | Sending::Cubic => None,
    };
    column.tell("share of C(1 − p)", "", &shares, target);
    let firsts: Vec<f64> = figures.iter().map(|figures| figures.first).collect();
    column.tell("first units after", "s", &firsts, None);
    if round_trip > 0 {
        let trips: Vec<f64> = firsts.iter().map(|first| 1e3 * first / round_trip as f64).collect();
        column.tell("round trips before the first units", "", &trips, None);
    }
    let psnr: Vec<f64> = figures.iter().filter_map(|figures| figures.psnr).collect();
    column.tell("PSNR at half of the link’s time", "dB", &psnr, None);
    column
}
