//! What is run: one flow over a steady path, one whose delay changes in steps, or two flows.

use std::fmt;

use stackwright_artp::Congestion;
use stackwright_contract::{Duration, Instant};

use crate::bottleneck::{Bottleneck, MBIT, Path};
use crate::watch::{Figures, Watch};

/// The octets of a packet on the wire, in the least queue of a path: ten of them.
const PACKET: u64 = 1500;
const LEAST_QUEUE: u64 = 10 * PACKET;

/// Every path has some jitter: a timeout at the round trip itself is never too short without any.
const JITTER: Duration = Duration::from_micros(100);

/// How many packets a step of delay lasts, by how much it delays them, and how many there are, how
/// far apart.
const STEP_PACKETS: u64 = 400;
const STEP: Duration = Duration::from_secs(1);
const STEPS: u64 = 5;
const STEPS_APART: Duration = Duration::from_secs(10);

/// How much later the second of two flows begins, in milliseconds.
const LATE: u64 = 3333;

/// Of the runs of two flows.
const SEEDS: [u64; 3] = [1, 2, 3];

/// A run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trial {
    /// Bits per second.
    pub bits: u64,
    /// The round trip without a queue.
    pub milliseconds: u64,
    /// The queue, in bandwidth-delay products; at least ten packets.
    pub queue: f64,
    /// The share of packets that is lost at random.
    pub loss: f64,
    /// How long it takes, in seconds.
    pub seconds: u64,
    /// What happens meanwhile.
    pub kind: Kind,
}

/// What happens during a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Nothing.
    Steady,
    /// Five times, 400 packets take a second longer. Where they keep the order, those behind them
    /// wait, as on a link that stalls; else those behind overtake, as on a path that is routed
    /// anew.
    Steps {
        /// Whether later packets wait for those that are late.
        in_order: bool,
    },
    /// After a third of the time the round trip becomes 600 ms, and after another as it was.
    Longer,
    /// A second flow with the same judge begins a little later.
    Two,
}

/// What became of it.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Of one flow.
    Alone(Figures),
    /// Jain's index of two flows.
    Shared(f64),
}

impl Trial {
    /// Returns the path.
    pub fn path(&self) -> Path {
        let path = Path::new(self.bits / 8, self.milliseconds, self.loss);
        let queue = ((path.product() as f64 * self.queue) as u64).max(LEAST_QUEUE);
        let keeps_order = self.kind == (Kind::Steps { in_order: true });
        Path { queue, keeps_order, jitter: JITTER, ..path }
    }

    /// Returns the octets of a message: short ones on slow links, where one of many packets takes
    /// most of the time.
    fn message(&self) -> usize {
        if self.bits < 1_000_000 { 1000 } else { 11_000 }
    }

    /// Runs it with `judge`.
    pub fn run(&self, judge: Congestion) -> Outcome {
        if self.kind == Kind::Two {
            // Two flows that lose in step may take turns for long: the median of some seeds.
            let mut indices = SEEDS.map(|seed| self.shared(judge, seed));
            indices.sort_by(f64::total_cmp);
            return Outcome::Shared(indices[SEEDS.len() / 2]);
        }
        let mut bottleneck = Bottleneck::new(&self.path(), &[(judge, 0)], 1);
        bottleneck.message = self.message();
        let (began, lasts) = (bottleneck.now(), Duration::from_secs(self.seconds));
        let limit = self.bits as f64 / 8.0 * payload_share(self.message());
        let mut watch = Watch::new(began, lasts, limit);
        let mut run = Run { bottleneck: &mut bottleneck, watch: &mut watch, end: began + lasts };
        match self.kind {
            Kind::Steps { .. } => self.steps(&mut run, began),
            Kind::Longer => {
                let third = lasts / 3;
                run.until(began + third);
                run.bottleneck.lengthen(Duration::from_millis(600));
                run.until(began + third * 2);
                run.bottleneck.lengthen(Duration::from_millis(self.milliseconds));
            }
            Kind::Steady | Kind::Two => {}
        }
        run.until(began + lasts);
        Outcome::Alone(watch.figures(&bottleneck))
    }

    fn steps(&self, run: &mut Run<'_>, began: Instant) {
        let delay = Duration::from_millis(self.milliseconds) / 2;
        for step in 0..STEPS {
            run.until(began + STEPS_APART / 2 + STEPS_APART * step as u32);
            let upto = run.bottleneck.counts().offered + STEP_PACKETS;
            run.bottleneck.delay(0, delay + STEP);
            run.goes_on(|bottleneck| bottleneck.counts().offered < upto);
            run.bottleneck.delay(0, delay);
        }
    }

    /// Returns Jain's index of two flows, from the first third of the time on.
    fn shared(&self, judge: Congestion, seed: u64) -> f64 {
        let mut bottleneck = Bottleneck::new(&self.path(), &[(judge, 0), (judge, LATE)], seed);
        bottleneck.message = self.message();
        bottleneck.run(self.seconds / 3);
        let got = bottleneck.run(self.seconds - self.seconds / 3);
        let [one, other] = [got[0], got[1]];
        (one + other).powi(2) / (2.0 * (one * one + other * other)).max(f64::MIN_POSITIVE)
    }
}

/// A run that goes on.
struct Run<'a> {
    bottleneck: &'a mut Bottleneck,
    watch: &'a mut Watch,
    end: Instant,
}

impl Run<'_> {
    fn until(&mut self, at: Instant) {
        let watch = &mut *self.watch;
        self.bottleneck.run_until(at.min(self.end), |bottleneck| {
            watch.see(bottleneck);
            true
        });
    }

    /// Runs while `goes_on`, or until the end.
    fn goes_on(&mut self, goes_on: impl Fn(&Bottleneck) -> bool) {
        let watch = &mut *self.watch;
        self.bottleneck.run_until(self.end, |bottleneck| {
            watch.see(bottleneck);
            goes_on(bottleneck)
        });
    }
}

/// Returns which share of the octets on the wire is payload, in messages of `message` octets.
fn payload_share(message: usize) -> f64 {
    let mut bottleneck =
        Bottleneck::new(&Path::new(100 * MBIT, 1, 0.0), &[(Congestion::NewReno, 0)], 1);
    bottleneck.message = message;
    bottleneck.run(1);
    let counts = bottleneck.counts();
    let wire = counts.octets + counts.delivered * crate::bottleneck::OVERHEAD as u64;
    bottleneck.delivered(0) as f64 / wire as f64
}

impl fmt::Display for Trial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rate = match self.bits {
            bits if bits >= 1_000_000 => format!("{} Mb/s", bits / 1_000_000),
            bits => format!("{bits} b/s"),
        };
        write!(f, "{rate}, {} ms, queue {}", self.milliseconds, self.queue)?;
        if self.loss > 0.0 {
            write!(f, ", {} % lost", self.loss * 100.0)?;
        }
        match self.kind {
            Kind::Steady => Ok(()),
            Kind::Steps { in_order: true } => write!(f, ", +1 s five times, in order"),
            Kind::Steps { in_order: false } => write!(f, ", +1 s five times, overtaken"),
            Kind::Longer => write!(f, " to 600 ms and back"),
            Kind::Two => write!(f, ", two flows"),
        }
    }
}

/// Returns all trials: four rates, three round trips, three queues, with loss and without; steps of
/// delay; and two flows.
pub fn matrix() -> Vec<Trial> {
    let mut trials = Vec::new();
    for bits in [9_600, 1_000_000, 10_000_000, 100_000_000] {
        for milliseconds in [20, 100, 300] {
            let seconds = match bits {
                9_600 => 200,
                100_000_000 => 30,
                _ => 60,
            };
            let steady =
                Trial { bits, milliseconds, queue: 1.0, loss: 0.0, seconds, kind: Kind::Steady };
            for loss in [0.0, 0.01] {
                trials.extend([0.1, 1.0, 4.0].map(|queue| Trial { queue, loss, ..steady }));
            }
            trials.push(Trial { seconds: 2 * seconds, kind: Kind::Two, ..steady });
        }
    }
    trials.extend(changes());
    trials
}

/// Returns few of them, shorter.
pub fn quick() -> Vec<Trial> {
    let steady = Trial {
        bits: 10_000_000,
        milliseconds: 100,
        queue: 1.0,
        loss: 0.0,
        seconds: 20,
        kind: Kind::Steady,
    };
    let mut trials = vec![
        Trial { bits: 9_600, seconds: 100, ..steady },
        Trial { bits: 1_000_000, ..steady },
        Trial { queue: 0.1, ..steady },
        steady,
        Trial { loss: 0.01, ..steady },
        Trial { milliseconds: 300, ..steady },
        Trial { kind: Kind::Two, seconds: 40, ..steady },
    ];
    trials.extend(changes());
    trials
}

fn changes() -> [Trial; 3] {
    let steps = Trial {
        bits: 10_000_000,
        milliseconds: 100,
        queue: 1.0,
        loss: 0.0,
        seconds: 60,
        kind: Kind::Steps { in_order: true },
    };
    [
        steps,
        Trial { kind: Kind::Steps { in_order: false }, ..steps },
        Trial { milliseconds: 20, queue: 4.0, kind: Kind::Longer, ..steps },
    ]
}
