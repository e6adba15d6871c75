//! E20: a picture over links that lose packets, in the simulator.

use std::thread;

use stackwright_contract::Duration;
use stackwright_programs::picture::Picture;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Column, Row, Sample};
use stackwright_results::verdict::Target;
use stackwright_simulator::{Conditions, Loss, Queue};

use super::adus::{self, FULL};
use super::simulated::{Figures, Sending, fetch};
use crate::measure::{Course, Effort, Limit};
use crate::table::parallel::all;
use crate::table::{About, Cells, Table};

/// The table.
pub(crate) struct JisLosses;

/// Of packets, each way, as cells say it and as it is.
const LOSSES: [(&str, f64); 7] = [
    ("0", 0.0),
    ("0.1", 0.001),
    ("0.5", 0.005),
    ("1", 0.01),
    ("2", 0.02),
    ("5", 0.05),
    ("10", 0.1),
];
/// To and fro, in milliseconds.
const ROUND_TRIPS: [u64; 3] = [0, 20, 100];
/// Of each bit to be altered.
const BIT_ERRORS: f64 = 1e-6;
/// In octets a second: 10 Mb/s.
const RATE: u64 = 1_250_000;
const SENDINGS: [Sending; 3] = [Sending::Dedicated, Sending::Bbr, Sending::Cubic];

/// An ADU of a full packet, and that packet on the link, in octets.
const ADU: f64 = FULL as f64;
const PACKET: f64 = ADU + 12.0 + 28.0;

/// What a link that is known shall give: of C(1 − p), whatever p.
const KNOWN: f64 = 0.95;
/// What one that is measured shall give, up to 5 % loss.
const MEASURED: f64 = 0.85;

impl Table for JisLosses {
    fn about(&self) -> About {
        About {
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
            axes: Axes {
                x: "% of packets lost".into(),
                y: "Mb/s".into(),
                log_x: false,
                log_y: false,
            },
            limit: Limit::Work,
        }
    }

    fn keys(&self, effort: Effort) -> Vec<String> {
        let quick = |loss: &str| matches!(loss, "0" | "1" | "10");
        let losses = LOSSES.map(|(loss, _)| loss);
        let chosen = losses.iter().filter(|loss| effort != Effort::Quick || quick(loss));
        let cells = ROUND_TRIPS.into_iter().flat_map(|round_trip| {
            let of = move |loss: &&str| format!("{round_trip}ms/{loss}");
            chosen.clone().map(of).chain([format!("{round_trip}ms/bits")])
        });
        cells.collect()
    }

    fn open(&self, _: &[String], _: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        let picture = Picture { columns: 250, rows: 215, coefficients: 62 };
        let file = picture.file(1);
        Ok(Box::new(Links { octets: adus::octets(&file, FULL)?, file }))
    }
}

struct Links {
    file: Vec<u8>,
    /// Of its ADUs.
    octets: usize,
}

impl Cells for Links {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let unknown = || Problem::usage(format!("this table has no cell {key}"));
        let (round_trip, loss) = key.split_once("ms/").ok_or_else(unknown)?;
        let round_trip: u64 = round_trip.parse().map_err(|_| unknown())?;
        let known = LOSSES.into_iter().find(|(name, _)| *name == loss);
        let (lost, bit_errors) = match known {
            Some((_, lost)) => (lost, 0.0),
            // What is altered is dropped by its check: a full packet with this probability.
            None if loss == "bits" => (1.0 - (1.0 - BIT_ERRORS).powf(8.0 * PACKET), BIT_ERRORS),
            None => return Err(unknown()),
        };
        let product = RATE * round_trip / 1000;
        let link = Conditions {
            rate: Some(RATE),
            mtu: Some(1500),
            delay: Duration::from_micros(500 * round_trip),
            loss: if known.is_some() && lost > 0.0 { Loss::Bernoulli(lost) } else { Loss::None },
            bit_errors,
            queue: Queue::octets(product.max(64 * 1500)),
            keeps_order: true,
            ..Conditions::IDEAL
        };
        let label = match known {
            Some((name, _)) => format!("{name} % lost"),
            None => format!("one bit in {:.0e} altered", 1.0 / BIT_ERRORS),
        };
        let mut row = Row::new(key, format!("{round_trip} ms to and fro"), label, "Mb/s");
        (row.more_is_better, row.x) = (true, known.map(|_| 100.0 * lost));
        let limit = 8e-6 * RATE as f64 * ADU / PACKET * (1.0 - lost);
        row.limit = Some(limit);
        // A round trip, then ADUs as fast as the link carries them.
        let needed = 1e-3 * round_trip as f64 + 8e-6 * self.octets as f64 / limit;
        let half = Duration::from_secs_f64(needed / 2.0);
        let rounds = if course.effort == Effort::Quick { 1 } else { 3 };
        let runs: Vec<(Sending, u64)> = SENDINGS
            .into_iter()
            .flat_map(|sending| (1..=rounds).map(move |round| (sending, round)))
            .map(|(sending, round)| (sending, course.seed + round))
            .collect();
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let figures = all(&runs, cores, &course.stop, |(sending, seed)| {
            Ok((*sending, fetch(*sending, &link, &self.file, half, *seed)))
        })?;
        if figures.is_empty() {
            return Ok(row);
        }
        for sending in SENDINGS {
            let own: Vec<Figures> = figures
                .iter()
                .filter(|(other, _)| *other == sending)
                .map(|(_, figures)| *figures)
                .collect();
            if own.iter().any(|figures| !figures.whole || figures.psnr.is_none()) {
                return Err(Problem::new(format!(
                    "{key}: a picture of {} did not arrive",
                    sending.name()
                )));
            }
            row.columns.push(column(sending, &own, self.octets, (limit, lost, round_trip)));
        }
        Ok(row)
    }
}

fn column(
    sending: Sending,
    figures: &[Figures],
    octets: usize,
    (limit, lost, round_trip): (f64, f64, u64),
) -> Column {
    let mut column = Column::new(sending.name(), true);
    let goodput = |figures: &Figures| 8e-6 * octets as f64 / figures.rest;
    let sample = |figures| Sample { value: goodput(figures), probes: [0.0; 2], slow: false };
    column.samples = figures.iter().map(sample).collect();
    let shares: Vec<f64> = figures.iter().map(|figures| goodput(figures) / limit).collect();
    let target = match sending {
        Sending::Dedicated => Some(Target::AtLeast(KNOWN)),
        Sending::Bbr if lost <= 0.05 => Some(Target::AtLeast(MEASURED)),
        Sending::Bbr | Sending::Cubic => None,
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
