//! Paths with a fault of their own kind: every transport of ours beside the kernel's TCP.

use std::thread;
use std::time::{Duration, Instant};

use stackwright_results::Problem;
use stackwright_results::outcome::{Column, Row, Sample};
use stackwright_results::verdict::Target;
use stackwright_simulator::{LinkDescription, Profile};

use crate::link::Wire;
use crate::measure::{Course, Effort};
use crate::table::transports::{Ends, Programs, Rival, Work};

/// A path, and for how long it is used.
pub(super) struct Shape {
    key: &'static str,
    label: &'static str,
    /// As a scenario describes a link.
    link: &'static str,
    /// In seconds.
    seconds: f64,
    /// Whether `--quick` measures it.
    quick: bool,
}

const fn shape(
    key: &'static str,
    label: &'static str,
    link: &'static str,
    seconds: f64,
    quick: bool,
) -> Shape {
    Shape { key, label, link, seconds, quick }
}

/// All of them. A path MTU that is narrower than the interfaces' has no ICMP: a black hole.
const SHAPES: [Shape; 25] = [
    shape(
        "back-loses-10",
        "20 Mb/s, 30 ms, a tenth of what comes back is lost",
        "rate = '20 Mb/s'\ndelay = '30 ms'\nqueue = '150 kB'\nback = { loss = 0.1 }",
        20.0,
        false,
    ),
    shape(
        "back-loses-30",
        "20 Mb/s, 30 ms, three tenths of what comes back are lost",
        "rate = '20 Mb/s'\ndelay = '30 ms'\nqueue = '150 kB'\nback = { loss = 0.3 }",
        20.0,
        true,
    ),
    shape(
        "back-bursts",
        "20 Mb/s, 30 ms, what comes back is lost in bursts",
        "rate = '20 Mb/s'\ndelay = '30 ms'\nqueue = '150 kB'\n\
         back = { loss = { gilbert-elliott = { p = 0.05, r = 0.1 } } }",
        20.0,
        false,
    ),
    shape(
        "bursts",
        "10 Mb/s, 50 ms, losses in bursts both ways",
        "rate = '10 Mb/s'\ndelay = '50 ms'\nqueue = '125 kB'\n\
         loss = { gilbert-elliott = { p = 0.005, r = 0.2 } }",
        20.0,
        true,
    ),
    shape(
        "ecn-marked",
        "10 Mb/s, 30 ms, all that is ECN-capable is marked",
        "rate = '10 Mb/s'\ndelay = '30 ms'\nqueue = '150 kB'\necn = 'mark'",
        20.0,
        true,
    ),
    shape(
        "ecn-bleached",
        "10 Mb/s, 30 ms, the ECN field is cleared",
        "rate = '10 Mb/s'\ndelay = '30 ms'\nqueue = '150 kB'\necn = 'bleach'",
        20.0,
        false,
    ),
    shape(
        "ecn-swapped",
        "10 Mb/s, 30 ms, ECT(0) becomes ECT(1)",
        "rate = '10 Mb/s'\ndelay = '30 ms'\nqueue = '150 kB'\necn = 'swap'",
        20.0,
        false,
    ),
    shape(
        "mtu-falls",
        "10 Mb/s, 30 ms, the path MTU falls to 1280 after 5 s",
        "rate = '10 Mb/s'\ndelay = '30 ms'\nqueue = '150 kB'\nmtu = 1500\n\
         steps = [{ at = '5 s', mtu = 1280 }]",
        25.0,
        true,
    ),
    shape(
        "mtu-1280",
        "10 Mb/s, 30 ms, a path MTU of 1280",
        "rate = '10 Mb/s'\ndelay = '30 ms'\nqueue = '150 kB'\nmtu = 1500\n\
         steps = [{ at = '0 s', mtu = 1280 }]",
        20.0,
        false,
    ),
    shape(
        "mtu-576",
        "10 Mb/s, 30 ms, a path MTU of 576",
        "rate = '10 Mb/s'\ndelay = '30 ms'\nqueue = '150 kB'\nmtu = 1500\n\
         steps = [{ at = '0 s', mtu = 576 }]",
        20.0,
        false,
    ),
    shape(
        "thin-back",
        "50 Mb/s forward, 0.2 Mb/s back, 20 ms",
        "rate = '50 Mb/s'\ndelay = '20 ms'\nqueue = '250 kB'\n\
         back = { rate = '200 kb/s', queue = '20 kB' }",
        20.0,
        true,
    ),
    shape(
        "gaps-100-of-1000",
        "10 Mb/s, 20 ms, down for 100 ms of each second",
        "rate = '10 Mb/s'\ndelay = '20 ms'\nqueue = '60 kB'\n\
         pass = { period = '1 s', length = '900 ms', first = '0 s' }",
        20.0,
        true,
    ),
    shape(
        "gaps-100-of-400",
        "10 Mb/s, 10 ms, down for 100 ms of each 400",
        "rate = '10 Mb/s'\ndelay = '10 ms'\nqueue = '60 kB'\n\
         pass = { period = '400 ms', length = '300 ms', first = '0 s' }",
        20.0,
        false,
    ),
    shape(
        "outages-2-of-10",
        "10 Mb/s, 30 ms, down for 2 s of each 10",
        "rate = '10 Mb/s'\ndelay = '30 ms'\nqueue = '150 kB'\n\
         pass = { period = '10 s', length = '8 s', first = '0 s' }",
        30.0,
        false,
    ),
    shape(
        "outage-10",
        "10 Mb/s, 30 ms, down from 5 s to 15 s",
        "rate = '10 Mb/s'\ndelay = '30 ms'\nqueue = '150 kB'\n\
         outages = [{ from = '5 s', to = '15 s' }]",
        40.0,
        false,
    ),
    shape(
        "outage-30",
        "10 Mb/s, 30 ms, down from 5 s to 35 s",
        "rate = '10 Mb/s'\ndelay = '30 ms'\nqueue = '150 kB'\n\
         outages = [{ from = '5 s', to = '35 s' }]",
        80.0,
        false,
    ),
    shape(
        "rate-rises",
        "20 ms, from 1 to 100 Mb/s after 8 s",
        "rate = '1 Mb/s'\ndelay = '20 ms'\nqueue = '500 kB'\n\
         steps = [{ at = '8 s', rate = '100 Mb/s' }]",
        20.0,
        false,
    ),
    shape(
        "rate-falls",
        "20 ms, from 20 to 2 Mb/s after 8 s",
        "rate = '20 Mb/s'\ndelay = '20 ms'\nqueue = '100 kB'\n\
         steps = [{ at = '8 s', rate = '2 Mb/s' }]",
        20.0,
        false,
    ),
    shape(
        "reordered",
        "20 Mb/s, 50 ms, a quarter is late by 5 ms",
        "rate = '20 Mb/s'\ndelay = '50 ms'\nqueue = '250 kB'\n\
         reorder = { probability = 0.25, by = '5 ms' }",
        20.0,
        false,
    ),
    shape(
        "jitter",
        "20 Mb/s, from 10 to 90 ms, reordered",
        "rate = '20 Mb/s'\ndelay = '10 ms'\nqueue = '500 kB'\njitter = '80 ms'",
        20.0,
        true,
    ),
    shape(
        "satellite",
        "80 Mb/s, 25 ms, down for 20 ms of each 700",
        "rate = '80 Mb/s'\ndelay = '25 ms'\nqueue = '500 kB'\nloss = 0.0005\n\
         pass = { period = '700 ms', length = '680 ms', first = '0 s' }",
        20.0,
        false,
    ),
    shape(
        "long-lossy",
        "2 Mb/s, 600 ms, 2 % lost",
        "rate = '2 Mb/s'\ndelay = '600 ms'\nqueue = '300 kB'\nloss = 0.02",
        40.0,
        false,
    ),
    shape(
        "loses-20",
        "10 Mb/s, 50 ms, a fifth is lost",
        "rate = '10 Mb/s'\ndelay = '50 ms'\nqueue = '125 kB'\nloss = 0.2",
        20.0,
        false,
    ),
    shape(
        "short-queue",
        "7 Mb/s, 330 ms, a queue of 30 packets",
        "rate = '7 Mb/s'\ndelay = '330 ms'\nqueue = '30 packets'",
        40.0,
        false,
    ),
    shape(
        "policer",
        "50 Mb/s, 20 ms, policed to 5 Mb/s",
        "rate = '50 Mb/s'\ndelay = '20 ms'\nqueue = '250 kB'\n\
         policer = { rate = '5 Mb/s', burst = '30 kB' }",
        20.0,
        false,
    ),
];

/// Octets of a message.
const SIZE: u64 = 10_000;
/// What the kernel's TCP may buffer.
const BUFFERS: u64 = 32 << 20;
/// What each of ours shall reach of TCP with the same congestion control.
const SHARE: f64 = 0.9;

const CUBIC: &str = "TCP, cubic";
const BBR: &str = "TCP, bbr";

/// Who uses a path: the name, the scheme of `perf` and its options, and the TCP to compare with.
const CONTESTANTS: [(&str, &str, &str, Option<&str>); 7] = [
    (CUBIC, "tcp", "--congestion cubic", None),
    (BBR, "tcp", "--congestion bbr", None),
    ("ARTP", "artp", "", Some(CUBIC)),
    ("ARTP, BBR", "artp", "--congestion bbr", Some(BBR)),
    ("ordered ARTP", "ordered+artp", "", Some(CUBIC)),
    ("tailored", "tailored", "", Some(CUBIC)),
    ("XTP, stream", "stream+xtp", "", Some(CUBIC)),
];

/// The keys of those that are measured.
pub(super) fn keys(effort: Effort) -> impl Iterator<Item = &'static str> {
    let chosen = SHAPES.iter().filter(move |shape| effort != Effort::Quick || shape.quick);
    chosen.map(|shape| shape.key)
}

/// Finds one by its key.
pub(super) fn find(key: &str) -> Option<&'static Shape> {
    SHAPES.iter().find(|shape| shape.key == key)
}

impl Shape {
    fn profile(&self) -> Result<Profile, Problem> {
        let link: LinkDescription = toml::from_str(self.link).map_err(Problem::new)?;
        link.resolve().map_err(Problem::new)
    }

    /// A row without columns.
    pub(super) fn row(&self, key: &str) -> Row {
        let mut row = Row::new(key, "shapes of paths, real sockets", self.label, "Mb/s");
        row.more_is_better = true;
        row
    }

    /// Lets all use the path at the same time, each on a link of its own: three times, once with
    /// `--quick`. One that fails, or never opens, reaches nothing.
    pub(super) fn measure(
        &self,
        row_key: &str,
        programs: &Programs,
        course: &mut Course,
    ) -> Result<Row, Problem> {
        let mut row = self.row(row_key);
        let mut columns: Vec<_> =
            CONTESTANTS.iter().map(|(name, ..)| Column::new(name, true)).collect();
        let rounds = if course.effort == Effort::Quick { 1 } else { 3 };
        for round in 1..=rounds {
            if course.stop.asked() {
                break;
            }
            course.progress.set_message(format!("{row_key}, {round} of {rounds}"));
            let seed = course.seed + round;
            let all = thread::scope(|scope| {
                let one = |(name, scheme, options, _)| {
                    scope.spawn(move || {
                        let rival = Rival::ours(name, scheme, options);
                        self.goodput(rival, programs, seed)
                    })
                };
                let threads: Vec<_> = CONTESTANTS.map(one).into();
                let joined = threads.into_iter().map(|thread| {
                    thread.join().unwrap_or_else(|_| Err(Problem::new("it stopped unexpectedly")))
                });
                joined.collect::<Vec<_>>()
            });
            for (column, goodput) in columns.iter_mut().zip(all) {
                let value = goodput.unwrap_or_else(|why| {
                    let (name, says) = (&column.name, why.says());
                    course.progress.suspend(|| eprintln!("lab: {row_key}: {name}: {says}"));
                    0.0
                });
                column.samples.push(Sample { value, probes: [0.0; 2], slow: false });
            }
        }
        row.columns = columns;
        for (name, _, _, against) in CONTESTANTS {
            if let Some(tcp) = against {
                row.compare(name, tcp, Some(Target::AtLeast(SHARE)));
            }
        }
        Ok(row)
    }

    /// What the receiver's application has when the time is over, in megabits a second from the
    /// opening on: pauses count, and what is on its way then does not.
    fn goodput(&self, rival: Rival, programs: &Programs, seed: u64) -> Result<f64, Problem> {
        if let Some(why) = rival.lacks() {
            return Err(Problem::new(why));
        }
        let ends = Ends::Wire(Wire::over(&self.profile()?, seed)?);
        ends.tcp_buffers(BUFFERS)?;
        ends.tcp_mtu_probing()?;
        let serving = rival.serve(&ends, programs, None)?;
        let begin = Instant::now();
        // It has more to send than there is time for.
        let work = Work::Bulk { size: SIZE, seconds: 2.0 * self.seconds };
        let mut sending = serving.start(&ends, programs, work)?;
        thread::sleep(Duration::from_secs_f64(self.seconds));
        sending.goes_on()?;
        let counted = serving.counted().ok_or_else(|| Problem::new("nothing arrived"))?;
        Ok(8e-6 * counted.octets as f64 / (counted.at - begin).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shape_is_a_link_with_a_key_of_its_own() {
        for shape in &SHAPES {
            let profile =
                shape.profile().unwrap_or_else(|why| panic!("{}: {}", shape.key, why.says()));
            assert!(matches!(profile, Profile::Link { .. }), "{}", shape.key);
            assert_eq!(SHAPES.iter().filter(|other| other.key == shape.key).count(), 1);
        }
        assert!(keys(Effort::Quick).count() < keys(Effort::Usual).count());
    }
}
