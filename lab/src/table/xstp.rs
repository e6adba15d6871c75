//! XSTP beside the kernel's TCP: far links that lose packets, and passes.

use stackwright_contract::Duration;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};
use stackwright_results::verdict::Target;
use stackwright_simulator::{Conditions, Outages, Passes, Profile, Queue};

use super::lossy::{self, MTU};
use super::transports::{Alongside, Programs, Rival, may_link};
use super::{About, AnyTable, Cell, Table};
use crate::measure::{Course, Effort, Limit};

const XSTP: &str = "XSTP";
const CUBIC: &str = "TCP, cubic";
const BBR: &str = "TCP, bbr";

/// In bits per second.
const RATES: [u64; 4] = [9_600, 64_000, 512_000, 2_000_000];
const PERCENTS: [f64; 2] = [0.0, 1.0];
/// To and fro, in milliseconds.
const ROUND_TRIP: u64 = 540;
/// The least that a queue holds, in packets; else it is what a round trip carries.
const QUEUE: u64 = 16;
/// Up to this rate, TCP has so few packets on the way that losses cost it little.
const FEW: u64 = 512_000;

/// In seconds: how long a trial takes, from one pass to the next, and how long one lasts.
const TIME: f64 = 120.0;
const PERIOD: u64 = 40;
const PASS: u64 = 15;

/// The headers of IPv4 and XSTP, and the length of a message.
const HEADERS: usize = 20 + 16;
const LENGTH: u64 = 2;

#[derive(Clone, Copy)]
enum Task {
    Far {
        rate: u64,
        percent: f64,
    },
    /// The profile `leo-pass`, at this rate and in haste.
    Passes {
        rate: u64,
    },
}

/// The table.
pub(super) const TABLE: &dyn AnyTable = &Table::<Task, Option<Programs>> {
    about: About {
        name: "xstp",
        title: "XSTP beside TCP over losses and passes",
        measures: "One connection of XSTP over IP and of the kernel's TCP, all at the same time, \
                   each on a link of its own, by `stackwright perf`: what the receiver has after \
                   120 s (at 9.6 kb/s and with passes after 240 s), opening and slow start \
                   included. Links of 540 ms to and fro, whose queues hold a round trip and 16 \
                   packets at least, and which lose packets both ways; and the profile leo-pass \
                   with a pass of 15 s in each 40, whose bit errors alter 2.6 % of packets. Who \
                   gives up reaches nothing.",
        source: "",
        axes: Axes { x: "b/s", y: "Mb/s", log_x: true, log_y: true },
        limit: Limit::Work,
    },
    cells,
    open: |_, notes| if may_link("", notes) { Programs::ours().map(Some) } else { Ok(None) },
    measure: |programs, task, row, course| match programs {
        Some(programs) => measure(programs, *task, row, course),
        None => Ok(()),
    },
};

fn cells(effort: Effort) -> Vec<Cell<Task>> {
    let far =
        RATES.into_iter().flat_map(|rate| PERCENTS.map(|percent| Task::Far { rate, percent }));
    let passes = [RATES[0], RATES[3]].map(|rate| Task::Passes { rate });
    let cell = |task: Task| {
        let (key, group, rate) = match task {
            Task::Far { rate, percent } => {
                (format!("geo/{rate}/{percent}"), format!("540 ms, {percent} % lost"), rate)
            }
            Task::Passes { rate } => (format!("passes/{rate}"), "passes".into(), rate),
        };
        let row = Row::new(key, group, format!("{} kb/s", rate as f64 / 1e3), "Mb/s");
        (row.at(rate as f64).more_is_better(), task)
    };
    let all = far.chain(passes).map(cell);
    all.filter(|(row, _)| effort != Effort::Quick || row.x == Some(RATES[3] as f64)).collect()
}

impl Task {
    fn conditions(self) -> Conditions {
        match self {
            Task::Far { rate, percent } => {
                let octets = rate / 8;
                let queue = (octets * ROUND_TRIP / 1000).max(QUEUE * MTU as u64);
                Conditions {
                    loss: lossy::loss(percent / 100.0),
                    queue: Queue::octets(queue),
                    ..lossy::link(octets, ROUND_TRIP)
                }
            }
            Task::Passes { rate } => {
                let Some(Profile::Link { forward, .. }) = Profile::named("leo-pass") else {
                    unreachable!("the simulator has this profile")
                };
                let outages = Outages::Passes(Passes {
                    period: Duration::from_secs(PERIOD),
                    length: Duration::from_secs(PASS),
                    first: Duration::ZERO,
                });
                Conditions { rate: Some(rate / 8), outages, ..forward }
            }
        }
    }

    /// Returns what XSTP's headers and those below leave of the rate, where nothing is lost, for
    /// messages of `size` octets; in Mb/s.
    fn limit(self, size: u64) -> f64 {
        let (rate, lost, up) = match self {
            Task::Far { rate, percent } => (rate, percent / 100.0, 1.0),
            Task::Passes { rate } => (rate, self.altered(), PASS as f64 / PERIOD as f64),
        };
        let Conditions { mtu, overhead, .. } = self.conditions();
        let packet = mtu.unwrap_or(MTU);
        let share = (packet - HEADERS) as f64 / (packet + overhead) as f64;
        let messages = size as f64 / (size + LENGTH) as f64;
        1e-6 * rate as f64 * up * (1.0 - lost) * share * messages
    }

    /// The probability that a bit of a packet is altered.
    fn altered(self) -> f64 {
        let Conditions { mtu, bit_errors, .. } = self.conditions();
        1.0 - (1.0 - bit_errors).powf(8.0 * mtu.unwrap_or(MTU) as f64)
    }
}

fn measure(
    programs: &Programs,
    task: Task,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let (rate, seconds) = match task {
        Task::Far { rate, .. } if rate > RATES[0] => (rate, TIME),
        Task::Far { rate, .. } | Task::Passes { rate } => (rate, 2.0 * TIME),
    };
    // A tenth of a second where that is possible: of what has arrived, little is not counted.
    let size = (rate / 80).clamp(1_000, 10_000);
    let conditions = task.conditions();
    let path = &Profile::Link { forward: conditions.clone(), back: conditions };
    let rivals = [
        Rival::ours(XSTP, "xstp", ""),
        Rival::ours(CUBIC, "tcp", "--congestion cubic"),
        Rival::ours(BBR, "tcp", "--congestion bbr"),
    ];
    Alongside { path, seconds, size }.hold(&rivals, programs, row, course)?;
    let limit = task.limit(size);
    row.limit = Some(limit);
    let is_lossless = matches!(task, Task::Far { percent: 0.0, .. });
    for column in row.columns.iter_mut().filter(|column| column.name == XSTP) {
        let shares: Vec<_> = column.values().iter().map(|value| value / limit).collect();
        let target = is_lossless.then_some(Target::AtLeast(0.95));
        column.tell("share of the payload limit", "", &shares, target);
    }
    let is_hard = !is_lossless && rate > FEW;
    row.compare(XSTP, CUBIC, is_hard.then_some(Target::AtLeast(1.5)));
    row.compare(XSTP, BBR, None);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_counts_headers_losses_and_passes() {
        let near = |a: f64, b: f64| (a / b - 1.0).abs() < 1e-9;
        let far = |percent| Task::Far { rate: 2_000_000, percent }.limit(10_000);
        assert!(near(far(0.0), 2.0 * 1464.0 / 1500.0 * 10_000.0 / 10_002.0));
        assert!(near(far(1.0), 0.99 * far(0.0)));
        let passes = Task::Passes { rate: 9_600 };
        assert!((0.0255..0.0265).contains(&passes.altered()), "{}", passes.altered());
        let share = (329.0 - 36.0) / 333.0 * 0.375 * (1.0 - passes.altered());
        assert!(near(passes.limit(120), 0.0096 * share * 120.0 / 122.0));
    }
}
