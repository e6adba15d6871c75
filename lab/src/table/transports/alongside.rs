//! Rivals at the same time, each on a link of its own.

use std::thread;
use std::time::{Duration, Instant};

use stackwright_results::Problem;
use stackwright_results::outcome::{Column, Row};
use stackwright_simulator::Profile;

use super::{Ends, Programs, Rival, Work};
use crate::link::Wire;
use crate::measure::{Course, Effort, Stop};
use crate::table::parallel;

/// What the kernel's TCP may buffer.
const BUFFERS: u64 = 32 << 20;

/// A path, for how many seconds it is used, and the octets of a message.
pub(crate) struct Alongside<'a> {
    pub(crate) path: &'a Profile,
    pub(crate) seconds: f64,
    pub(crate) size: u64,
}

impl Alongside<'_> {
    /// Lets all of ours use the path: three times, once with `--quick`. One that fails, or never
    /// opens, reaches nothing.
    pub(crate) fn hold(
        &self,
        rivals: &[Rival],
        programs: &Programs,
        row: &mut Row,
        course: &mut Course,
    ) -> Result<(), Problem> {
        let mut goodputs = vec![Vec::new(); rivals.len()];
        let rounds = if course.effort == Effort::Quick { 1 } else { 3 };
        for round in 1..=rounds {
            if course.stop.asked() {
                break;
            }
            course.progress.set_message(format!("{}, {round} of {rounds}", row.key));
            let seed = course.seed + round;
            let all = parallel::all(rivals, rivals.len(), &Stop::default(), |rival| {
                Ok(self.goodput(rival, programs, seed))
            })?;
            for ((rival, goodputs), goodput) in rivals.iter().zip(&mut goodputs).zip(all) {
                goodputs.push(goodput.unwrap_or_else(|why| {
                    let (key, name, says) = (&row.key, &rival.name, why.says());
                    course.progress.suspend(|| eprintln!("lab: {key}: {name}: {says}"));
                    0.0
                }));
            }
        }
        for (rival, goodputs) in rivals.iter().zip(goodputs) {
            row.columns.push(Column::exact(&rival.name, true, goodputs));
        }
        Ok(())
    }

    /// What the receiver's application has when the time is over, in megabits a second from the
    /// opening on: pauses count, and what is on its way then does not.
    fn goodput(&self, rival: &Rival, programs: &Programs, seed: u64) -> Result<f64, Problem> {
        if let Some(why) = rival.lacks() {
            return Err(Problem::new(why));
        }
        let ends = Ends::Wire(Wire::over(self.path, seed)?);
        ends.tcp_buffers(BUFFERS)?;
        ends.tcp_mtu_probing()?;
        let serving = rival.clone().serve(&ends, programs, None)?;
        let begin = Instant::now();
        // It has more to send than there is time for.
        let work = Work::Bulk { size: self.size, seconds: 2.0 * self.seconds };
        let mut sending = serving.start(&ends, programs, work)?;
        thread::sleep(Duration::from_secs_f64(self.seconds));
        sending.goes_on()?;
        let counted = serving.counted().ok_or_else(|| Problem::new("nothing arrived"))?;
        Ok(8e-6 * counted.octets as f64 / (counted.at - begin).as_secs_f64())
    }
}
