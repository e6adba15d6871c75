//! Messages that come back: what a base does for each of them.

use std::hint::black_box;
use std::time::Instant;

use stackwright_base::events::{self, DeltaList, Simple, TimingWheel};
use stackwright_base::{Base, Configuration, Features, opening, session};
use stackwright_results::Problem;
use stackwright_results::outcome::Row;
use stackwright_wire::Message;

use super::Counted;
use crate::measure::{Contestant, Course};

const ASSOCIATIONS: u32 = 64;
const MESSAGES: u32 = 8_192;
/// The header is the key.
const HEADER: usize = 4;

/// Fills the row of one message, session and opening; its contestants are the four event managers.
pub(super) fn measure<M, S, O>(row: &mut Row, course: &mut Course) -> Result<(), Problem>
where
    M: Message,
    S: session::Alternative + 'static,
    O: opening::Alternative + 'static,
{
    let mut absent = Echo::<Features<M, S, events::Absent, O>>::new()?;
    let mut simple = Echo::<Features<M, S, Simple, O>>::new()?;
    let mut delta_list = Echo::<Features<M, S, DeltaList, O>>::new()?;
    let mut timing_wheel = Echo::<Features<M, S, TimingWheel, O>>::new()?;
    row.columns = course.compete([
        Contestant::ours("no events", || absent.run()),
        Contestant::ours("simple", || simple.run()),
        Contestant::ours("delta list", || delta_list.run()),
        Contestant::ours("timing wheel", || timing_wheel.run()),
    ])?;
    // What a base does not use shall cost nothing; the ratio tells.
    for with in ["simple", "delta list", "timing wheel"] {
        row.compare(with, "no events", None);
    }
    Ok(())
}

struct Echo<C: Configuration> {
    base: Base<C, Counted>,
    message: C::Message,
}

impl<C: Configuration> Echo<C> {
    fn new() -> Result<Self, Problem> {
        let mut base = Base::new(1);
        for key in 0..ASSOCIATIONS {
            base.open(key, 0).map_err(|_| Problem::new(format!("the key {key} is taken twice")))?;
        }
        Ok(Echo { base, message: C::Message::with_headroom(64, &[7; 100]) })
    }

    /// The seconds of one message.
    #[inline(never)]
    fn run(&mut self) -> Result<f64, Problem> {
        let begin = Instant::now();
        for number in 0..MESSAGES {
            // Neighbours have different keys: the map's cache does not help.
            let key = number.wrapping_mul(31) % ASSOCIATIONS;
            self.message.push_front(HEADER).copy_from_slice(&key.to_be_bytes());
            let mut octets = [0; HEADER];
            octets.copy_from_slice(self.message.front(HEADER).ok_or_else(short)?);
            self.message.advance(HEADER);
            let name = self.base.find(&black_box(u32::from_be_bytes(octets))).ok_or_else(short)?;
            *self.base.get_mut(name).ok_or_else(short)? += 1;
        }
        Ok(begin.elapsed().as_secs_f64() / f64::from(MESSAGES))
    }
}

fn short() -> Problem {
    Problem::new("a message has lost its header, or a base an association")
}
