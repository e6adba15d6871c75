//! `jis replay`: how far a picture had arrived, and how good it was.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use stackwright_jis::Replay;

use super::{ReplayLog, log};
use crate::problem::Problem;
use crate::report::{say, short};

/// Shares of all units whose times are told.
const SHARES: [usize; 3] = [50, 90, 100];
/// Instants at which the picture is looked at: the last is when its last piece arrived.
const INSTANTS: u32 = 20;

pub(super) fn run(asked: &ReplayLog) -> Result<(), Problem> {
    let read = |path: &Path| fs::read(path).map_err(|why| Problem::Path { path: path.into(), why });
    let wrong = |path: &Path, why: String| Problem::Replay { path: path.into(), why };
    let noted = log::read(&read(&asked.log)?).map_err(|why| wrong(&asked.log, why))?;
    let replay = Replay::new(read(&asked.file)?, noted.arrivals);
    let replay = replay.map_err(|why| wrong(&asked.file, why.to_string()))?;
    let summary = replay.picture().summary();
    if noted.end.is_some_and(|end| end != [summary.units, summary.length, summary.check]) {
        return Err(wrong(&asked.log, "it is the log of another picture".into()));
    }
    let Some(end) = replay.end() else {
        return Err(wrong(&asked.log, "no piece of a picture arrived".into()));
    };
    let before = (1..INSTANTS).map(|nth| end / INSTANTS * nth);
    let instants: Vec<Duration> = before.chain([end]).collect();
    let psnr = replay.psnr(&instants).map_err(|why| wrong(&asked.log, why))?;
    let course = Course { units: summary.units as usize, replay, instants, psnr };
    if asked.json {
        say!("{}", course.json())
    } else {
        course.show()
    }
    Ok(())
}

/// What came of it.
struct Course {
    units: usize,
    replay: Replay,
    instants: Vec<Duration>,
    psnr: Vec<f64>,
}

impl Course {
    /// Returns the time until this share of all units had arrived, in per cent.
    fn time_of(&self, share: usize) -> Option<Duration> {
        self.replay.time_of((self.units * share).div_ceil(100))
    }

    fn json(&self) -> Value {
        let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
        let times = SHARES.map(|share| (share.to_string(), json!(seconds(self.time_of(share)))));
        let look = |(time, psnr): (&Duration, &f64)| {
            let (units, exact) = (self.replay.units_at(*time), psnr.is_infinite());
            json!({ "time": time.as_secs_f64(), "units": units, "exact": exact,
                    "psnr": (!exact).then_some(psnr) })
        };
        let looks = self.instants.iter().zip(&self.psnr).map(look);
        json!({
            "units": self.units,
            "first": seconds(self.replay.time_of(1)),
            "shares": times.into_iter().collect::<serde_json::Map<_, _>>(),
            "instants": looks.collect::<Value>(),
        })
    }

    fn show(&self) {
        let frame = &self.replay.picture().layout().frame;
        say!("{} × {} pixels, {} units", frame.width, frame.height, self.units);
        let tell = |what: String, time: Option<Duration>| {
            let time = time.map_or("never".into(), short);
            say!("  {what:<12}{time:>10}");
        };
        tell("first units".into(), self.replay.time_of(1));
        SHARES.into_iter().for_each(|share| tell(format!("{share} %"), self.time_of(share)));
        say!("\n{:>10}  {:>6}  {:>8}", "time", "units", "PSNR");
        for (time, psnr) in self.instants.iter().zip(&self.psnr) {
            let share = 100 * self.replay.units_at(*time) / self.units;
            let says = if psnr.is_finite() { format!("{psnr:.1} dB") } else { "exact".into() };
            let bar = "▇".repeat(psnr.clamp(0.0, 60.0) as usize / 2);
            say!("{:>10}  {share:>4} %  {says:>8}  {bar}", short(*time));
        }
    }
}
