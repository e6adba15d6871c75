//! Timers that expire and are set again.

use std::time::Instant as Clock;

use fastrand::Rng;
use stackwright_base::events::{self, DeltaList, Simple, TimingWheel};
use stackwright_base::{Base, Features};
use stackwright_contract::{Handle, Instant};
use stackwright_results::Problem;
use stackwright_results::outcome::Row;
use stackwright_wire::SingleBuffer;

use super::Counted;
use crate::measure::{Contestant, Course};

/// Expiries of one sample.
const EXPIRIES: usize = 512;
/// The longest time that a timer is set to, in nanoseconds: one second.
const SPAN: u64 = 1_000_000_000;

/// Fills the row of so many pending timers; its contestants are the three event managers.
pub(super) fn measure(count: u32, row: &mut Row, course: &mut Course) -> Result<(), Problem> {
    let mut simple = Timers::<Simple>::new(count, course.seed)?;
    let mut delta_list = Timers::<DeltaList>::new(count, course.seed)?;
    let mut timing_wheel = Timers::<TimingWheel>::new(count, course.seed)?;
    row.columns = course.compete([
        Contestant::ours("simple", || simple.run()),
        Contestant::ours("delta list", || delta_list.run()),
        Contestant::ours("timing wheel", || timing_wheel.run()),
    ])?;
    row.compare("delta list", "simple", None);
    row.compare("timing wheel", "simple", None);
    Ok(())
}

struct Timers<E: events::Alternative> {
    base: Base<Features<SingleBuffer, stackwright_base::session::Present, E>, Counted>,
    names: Vec<Handle>,
    random: Rng,
}

impl<E: events::Alternative> Timers<E> {
    fn new(count: u32, seed: u64) -> Result<Self, Problem> {
        let mut timers =
            Timers { base: Base::new(1), names: Vec::new(), random: Rng::with_seed(seed) };
        for key in 0..count {
            let name = timers.base.open(key, 0);
            let name = name.map_err(|_| Problem::new(format!("the key {key} is taken twice")))?;
            timers.names.push(name);
        }
        // The latest first: an ordered list takes each at once, instead of walking over all that
        // are there.
        let mut times: Vec<u64> = (0..count).map(|_| timers.random.u64(1..SPAN)).collect();
        times.sort_unstable_by(|left, right| right.cmp(left));
        for (name, at) in timers.names.clone().into_iter().zip(times) {
            timers.base.schedule(name, (), Instant::from_nanoseconds(at));
        }
        Ok(timers)
    }

    /// The seconds of one expiry, with a timer that is moved besides.
    fn run(&mut self) -> Result<f64, Problem> {
        let lost = || Problem::new("an event manager has lost a timer");
        let begin = Clock::now();
        for _ in 0..EXPIRIES {
            let now = self.base.next_deadline().ok_or_else(lost)?;
            let (name, ()) = self.base.expire(now).ok_or_else(lost)?;
            let mut later =
                || Instant::from_nanoseconds(now.nanoseconds() + self.random.u64(1..SPAN));
            let (again, moved) = (later(), later());
            self.base.schedule(name, (), again);
            let other = self.names[self.random.usize(..self.names.len())];
            self.base.schedule(other, (), moved);
        }
        Ok(begin.elapsed().as_secs_f64() / EXPIRIES as f64)
    }
}
