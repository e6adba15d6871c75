//! `lab picture`: a picture side by side in a browser, as it arrives by TCP and by two transports
//! of JIS over the same link: one that its text selects, and one that changes while it runs.
//!
//! | file | what |
//! | --- | --- |
//! | `tcp.rs` | the picture by TCP |
//! | `page.html` | what the browser shows |
//!
//! All columns are simulated, since a lossy link for the kernel's TCP needs root: with the same
//! conditions and the same seed, so that a run can be had again. The page plays what arrived when.

mod tcp;

use std::fs;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use stackwright_contract::Duration;
use stackwright_jis::{Pixels, Replay};
use stackwright_results::Problem;
use stackwright_simulator::{Conditions, Queue};

use crate::page::{self, Answer};
use crate::table::{Arrived, Sending, arrive};

const PAGE: &str = include_str!("page.html");
/// The longest file: the quality of larger ones takes minutes.
const FILE_MOST: u64 = 8 << 20;
/// Instants of the curve of quality.
const INSTANTS: u32 = 20;

/// Watch a picture arrive by TCP and by JIS, side by side in a browser
///
/// All fetch it over the same simulated link; loss, delay and rate can be changed in the page.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lab picture cat.jpg
  lab picture cat.jpg --loss 0.05 --delay 100")]
pub(crate) struct Arguments {
    /// A baseline JPEG
    picture: PathBuf,
    /// The probability that a packet is lost, each way
    #[arg(long, default_value_t = LinkChoice::DEFAULT.loss)]
    loss: f64,
    /// The delay each way, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = LinkChoice::DEFAULT.delay)]
    delay: f64,
    /// The rate, in Mb/s
    #[arg(long, value_name = "MBIT", default_value_t = LinkChoice::DEFAULT.rate)]
    rate: f64,
    /// Seed of all random choices
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The port on this machine's loopback address [default: a free one]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
}

/// The link of a run.
#[derive(Clone, Copy, PartialEq, Debug)]
struct LinkChoice {
    /// The probability that a packet is lost.
    loss: f64,
    /// Each way, in milliseconds.
    delay: f64,
    /// In Mb/s.
    rate: f64,
}

impl LinkChoice {
    const DEFAULT: Self = LinkChoice { loss: 0.02, delay: 50.0, rate: 5.0 };

    /// Reads what an address changes: `loss=0.05&delay=20`.
    ///
    /// # Errors
    /// Says what is wrong.
    fn changed(mut self, query: &str) -> Result<Self, String> {
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let number = pair.split_once('=').and_then(|(key, value)| {
                let field = match key {
                    "loss" => &mut self.loss,
                    "delay" => &mut self.delay,
                    "rate" => &mut self.rate,
                    _ => return None,
                };
                *field = value.parse().ok()?;
                Some(())
            });
            number.ok_or_else(|| format!("`{pair}` is not understood"))?;
        }
        self.checked()
    }

    fn checked(self) -> Result<Self, String> {
        let bounds = [
            ("loss", self.loss, 0.0..=0.5),
            ("delay", self.delay, 0.0..=5000.0),
            ("rate", self.rate, 0.1..=1000.0),
        ];
        match bounds.iter().find(|(_, value, bounds)| !bounds.contains(value)) {
            Some((name, _, bounds)) => {
                Err(format!("{name} is from {} to {}", bounds.start(), bounds.end()))
            }
            None => Ok(self),
        }
    }

    fn conditions(self) -> Conditions {
        let rate = (self.rate * 125e3) as u64;
        let delay = Duration::from_secs_f64(self.delay / 1e3);
        let product = 2.0 * delay.as_secs_f64() * rate as f64;
        Conditions {
            rate: Some(rate),
            // Packets of both have at most 1500 octets by their settings: headers of the simulator
            // before a segment are not IP's.
            mtu: None,
            delay,
            keeps_order: true,
            loss: self.loss.into(),
            queue: Queue::octets((product as u64).max(64 * 1500)),
            ..Conditions::IDEAL
        }
    }
}

impl Arguments {
    /// Does what is asked.
    ///
    /// # Errors
    /// Where the file is no picture that can be sent, or the port is taken.
    pub(crate) fn obey(&self) -> Result<(), Problem> {
        let wrong = |why: String| Problem::new(format!("{}: {why}", self.picture.display()));
        let length = fs::metadata(&self.picture).map_err(|why| wrong(why.to_string()))?.len();
        if length > FILE_MOST {
            return Err(wrong(format!("it is longer than {} MiB", FILE_MOST >> 20)));
        }
        let file = fs::read(&self.picture).map_err(|why| wrong(why.to_string()))?;
        Pixels::of(&file).map_err(wrong)?;
        let link = LinkChoice { loss: self.loss, delay: self.delay, rate: self.rate };
        let link = link.checked().map_err(Problem::usage)?;
        page::serve(self.port, |path, query| answer(&file, link, self.seed, path, query))
    }
}

fn answer(file: &[u8], link: LinkChoice, seed: u64, path: &str, query: &str) -> Answer {
    match path {
        "/" => Answer::Page(PAGE),
        "/picture" => Answer::Jpeg(file.to_vec()),
        "/run" => match link.changed(query).and_then(|link| run(file, link, seed)) {
            Ok(shown) => Answer::Json(shown.to_string()),
            Err(says) => Answer::Wrong(says),
        },
        _ => Answer::Unknown,
    }
}

/// Runs all columns, and returns what is shown of them. Times are in seconds.
///
/// # Errors
/// Returns a sentence on the file.
fn run(file: &[u8], link: LinkChoice, seed: u64) -> Result<Value, String> {
    let conditions = link.conditions();
    let tcp = tcp::arrive(&conditions, file, seed).map_err(|flaw| flaw.to_string())?;
    let jis = arrive(Sending::Bbr, &conditions, file, seed);
    let adaptive = arrive(Sending::Fitted, &conditions, file, seed);
    let columns = [
        shown("TCP", "cubic, in order", file, tcp)?,
        shown("JIS", "bbr, in any order", file, jis)?,
        shown("Adaptive JIS", "changes while it runs", file, adaptive)?,
    ];
    Ok(json!({
        "loss": link.loss, "delay": link.delay, "rate": link.rate, "columns": columns,
    }))
}

fn shown(name: &str, by: &str, file: &[u8], arrived: Arrived) -> Result<Value, String> {
    let Arrived { arrivals, whole, .. } = arrived;
    let replay = Replay::new(file.to_vec(), arrivals.clone()).map_err(|flaw| flaw.to_string())?;
    let end = replay.end().unwrap_or_default();
    let instants: Vec<_> = (1..=INSTANTS).map(|nth| end * nth / INSTANTS).collect();
    let psnr = replay.psnr(&instants)?;
    let psnr = psnr.iter().zip(&instants);
    let layout = replay.picture().layout();
    let areas = arrivals.iter().map(|(time, head)| {
        let area = layout.area(head.first, head.count);
        json!([time.as_secs_f64(), head.count, area])
    });
    Ok(json!({
        "name": name, "by": by, "whole": whole, "units": layout.units(),
        "arrivals": areas.collect::<Value>(),
        // Infinity, where the pixels are those of the file, is null.
        "psnr": psnr.map(|(psnr, time)| json!([time.as_secs_f64(), psnr])).collect::<Value>(),
    }))
}

#[cfg(test)]
mod tests {
    use stackwright_programs::picture::Picture;

    use super::*;

    fn columns(shown: &Value) -> &Vec<Value> {
        shown["columns"].as_array().expect("there are some")
    }

    #[test]
    fn all_columns_have_all_units_and_a_run_can_be_had_again() {
        let file = Picture { columns: 40, rows: 30, coefficients: 20 }.file(1);
        let once = || run(&file, LinkChoice { loss: 0.1, ..LinkChoice::DEFAULT }, 3);
        let shown = once().expect("it is a picture");
        assert_eq!(columns(&shown).len(), 3);
        for column in columns(&shown) {
            assert_eq!(column["whole"], true, "{}", column["name"]);
            let arrivals = column["arrivals"].as_array().expect("there are some");
            let units = arrivals.iter().filter_map(|arrival| arrival[1].as_u64()).sum::<u64>();
            assert_eq!((units, &column["units"]), (1200, &json!(1200)));
            let psnr = column["psnr"].as_array().expect("there is some");
            assert_eq!(psnr.last().map(|last| &last[1]), Some(&Value::Null), "exact at the end");
            assert!(psnr[0][1].is_f64(), "something is missing at first");
        }
        assert_eq!(once().expect("it is a picture"), shown);
    }

    #[test]
    fn an_address_changes_the_link_within_bounds() {
        let changed = |query| LinkChoice::DEFAULT.changed(query);
        let link = changed("loss=0.1&delay=20").expect("it is a link");
        assert_eq!(link, LinkChoice { loss: 0.1, delay: 20.0, ..LinkChoice::DEFAULT });
        for query in ["loss=0.6", "loss=NaN", "rate=0", "delay=-1", "delay", "queue=3"] {
            assert!(changed(query).is_err(), "{query}");
        }
    }
}
