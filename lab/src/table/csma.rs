//! Throughput of p-persistent CSMA by the load: the simulator's channel beside an analysis under
//! the assumptions of Kleinrock and Tobagi. It was derived from them here, and is the paper's own
//! where p is 1; the paper's curves for less were not at hand.
//!
//! L. Kleinrock, F. A. Tobagi, "Packet Switching in Radio Channels: Part I", IEEE Transactions on
//! Communications COM-23(12), 1975. Stations without number share a channel whose slot is the
//! propagation delay, and packets become ready as a Poisson process, those that are sent again
//! included. A station that draws not to send and then hears another one goes away, as after a
//! collision; a TNC waits instead, which is the third column.

use fastrand::Rng;
use stackwright_contract::{Duration, Instant};
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Column, Row};
use stackwright_results::verdict::Target;
use stackwright_simulator::{Channel, ChannelConditions, LinkPacket};

use super::{About, AnyTable, Cell, Table};
use crate::measure::{Course, Effort, Limit};

/// The propagation delay in packets: that of the paper's figures.
const DELAY: f64 = 0.01;
const PERSISTENCES: [f64; 4] = [0.03, 0.1, 0.3, 1.0];
/// Packets that become ready in the time of one.
const LOADS: [f64; 9] = [0.1, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0];
/// A packet takes a second.
const PACKET: Duration = Duration::from_secs(1);
const OCTETS: usize = 100;
const SLOT: Duration = Duration::from_millis(10);
/// Stations that wait as a TNC does, and the one that receives.
const STATIONS: usize = 100;
/// How many stations may become ready while others draw. In the mean it is less than one.
const LATER: usize = 32;

const ANALYSIS: &str = "analysis";
const SIMULATED: &str = "simulated";
const WAITS: &str = "simulated, TNCs";
/// How far the simulator may be from the analysis, as a share of it, and the throughput above which
/// they are compared: where almost all packets collide, few successes are counted.
const DISTANCE: f64 = 0.03;
const ENOUGH: f64 = 0.1;

#[derive(Clone, Copy)]
struct Task {
    persistence: f64,
    load: f64,
}

/// The table.
pub(super) const TABLE: &dyn AnyTable = &Table::<Task, ()> {
    about: About {
        name: "csma",
        title: "throughput of p-persistent CSMA",
        measures: "Packets that arrive, in the time of one, by the packets that become ready \
                   meanwhile, with a propagation delay and slots of .01 packets. An analysis of \
                   the model of Kleinrock and Tobagi (1975), slotted; the simulator’s channel \
                   under their assumptions, where a station that hears another one goes away; and \
                   100 stations that wait instead, as TNCs do, each with one packet at most.",
        source: "",
        axes: Axes { x: "load, packets", y: "throughput, packets", log_x: true, log_y: false },
        limit: Limit::Work,
    },
    cells: |_| cells(),
    open: |_, _| Ok(()),
    measure,
};

fn cells() -> Vec<Cell<Task>> {
    let tasks = PERSISTENCES
        .iter()
        .flat_map(|persistence| LOADS.map(|load| Task { persistence: *persistence, load }));
    let cell = |task: Task| {
        let Task { persistence, load } = task;
        let (key, group) = (format!("{persistence}/{load}"), format!("p = {persistence}"));
        let row = Row::new(key, group, format!("load {load}"), "packets");
        (row.more_is_better().limited(1.0).at(load), task)
    };
    tasks.map(cell).collect()
}

fn measure(_: &mut (), task: &Task, row: &mut Row, course: &mut Course) -> Result<(), Problem> {
    let packets = if course.effort == Effort::Quick { 1_000 } else { 10_000 };
    let analysis = task.throughput();
    let (mut simulated, mut waits) = (Vec::new(), Vec::new());
    for nth in 0..5 {
        if course.stop.asked() {
            return Ok(());
        }
        let seed = course.seed.wrapping_add(nth);
        simulated.push(task.simulated(packets, seed));
        waits.push(task.simulated_tncs(packets, seed));
    }
    row.columns = vec![
        Column::exact(ANALYSIS, false, [analysis]),
        Column::exact(SIMULATED, true, simulated),
        Column::exact(WAITS, true, waits),
    ];
    if analysis > ENOUGH {
        row.compare(SIMULATED, ANALYSIS, Some(Target::Within(DISTANCE)));
        row.compare(WAITS, ANALYSIS, None);
    }
    Ok(())
}

impl Task {
    /// The analysis: transmission periods of a packet and a delay, each preceded by slots in which
    /// those that are ready draw. They became ready in the last slot of an idle period, or in the
    /// transmission period before.
    fn throughput(&self) -> f64 {
        let slot = DELAY * self.load;
        let period = (1.0 + DELAY) * self.load;
        let (idle_delay, idle_success) = self.after(slot);
        let (delay, success) = self.after(period);
        let (some, none) = (1.0 - (-slot).exp(), (-period).exp());
        let arrived = some * (idle_success * none + success * (1.0 - none));
        let waited = DELAY * (idle_delay * none + delay * (1.0 - none));
        arrived / (some * (waited + 1.0 + DELAY) + DELAY * none)
    }

    /// Returns the mean of the slots that pass before a station sends, and the probability that
    /// only one does, where as many are ready as a Poisson process of this mean yields, and one at
    /// least.
    fn after(&self, mean: f64) -> (f64, f64) {
        let (mut delay, mut success, mut ready) = (0.0, 0.0, 1);
        let mut probability = mean / mean.exp_m1();
        while f64::from(ready) < mean || probability > 1e-9 {
            let (waits, succeeds) = self.contention(ready);
            delay += probability * waits;
            success += probability * succeeds;
            ready += 1;
            probability *= mean / f64::from(ready);
        }
        (delay, success)
    }

    /// Returns the same where `ready` stations begin to draw. Others become ready meanwhile, and
    /// draw from the next slot on.
    fn contention(&self, ready: i32) -> (f64, f64) {
        let (p, q, slot) = (self.persistence, 1.0 - self.persistence, DELAY * self.load);
        let (mut delay, mut success) = (0.0, 0.0);
        for nth in 0.. {
            let drawn = 1.0 - q.powi(nth);
            let silent = q.powi(nth * ready) * (-slot * (f64::from(nth) - drawn / p)).exp();
            if silent < 1e-9 {
                break;
            }
            let later = slot * drawn / p;
            // One of those that were ready, or one of a Poisson number of later ones.
            let one = p * q.powi(ready - 1) * (f64::from(ready) + q * later);
            success += silent * one * (-p * later).exp();
            delay += if nth > 0 { silent } else { 0.0 };
        }
        (delay, success)
    }

    fn channel(&self, stations: usize, seed: u64) -> Channel<Packet> {
        let conditions = ChannelConditions {
            slot: SLOT,
            persistence: self.persistence,
            // What begins in one slot is heard in the next one.
            delay: SLOT - Duration::from_nanos(1),
            queue: 1,
            ..ChannelConditions::ideal(OCTETS as u64)
        };
        Channel::new(conditions, stations, seed)
    }

    /// The simulator under the assumptions of the analysis: each transmission period has a channel
    /// of its own, on which those that became ready in the one before draw.
    fn simulated(&self, periods: usize, seed: u64) -> f64 {
        let mut random = Rng::with_seed(seed);
        let (slot, period) = (DELAY * self.load, (1.0 + DELAY) * self.load);
        let (mut time, mut arrived, mut ready) = (0.0, 0, 0);
        for _ in 0..periods {
            while ready == 0 {
                ready = poisson(&mut random, slot);
                time += DELAY;
            }
            let mut channel = self.channel(1 + ready + LATER, random.u64(..));
            let (mut now, mut out, mut station) = (Instant::START, Vec::new(), 0);
            loop {
                for _ in 0..ready {
                    station += 1;
                    channel.send(now, station, Some(0), Packet);
                }
                channel.handle_timeout(now, &mut out);
                if channel.counts().sent > 0 {
                    break;
                }
                ready = poisson(&mut random, slot);
                now = now + SLOT;
                time += DELAY;
            }
            channel.handle_timeout(now + PACKET + SLOT, &mut out);
            arrived += out.len();
            time += 1.0 + DELAY;
            ready = poisson(&mut random, period);
        }
        arrived as f64 / time
    }

    /// Stations that wait while they hear another one, for the time of so many packets.
    fn simulated_tncs(&self, packets: usize, seed: u64) -> f64 {
        let mut random = Rng::with_seed(seed);
        let mut channel = self.channel(1 + STATIONS, random.u64(..));
        let (mut now, mut out, mut arrived) = (Instant::START, Vec::new(), 0);
        let end = now + PACKET * packets as u32;
        while now < end {
            now = now + PACKET.mul_f64(-(1.0 - random.f64()).ln() / self.load);
            while let Some(due) = channel.next_deadline().filter(|due| *due <= now) {
                channel.handle_timeout(due, &mut out);
            }
            channel.send(now, random.usize(1..=STATIONS), Some(0), Packet);
            arrived += out.drain(..).count();
        }
        arrived as f64 / packets as f64
    }
}

/// Draws from a Poisson distribution.
fn poisson(random: &mut Rng, mean: f64) -> usize {
    let (least, mut product, mut drawn) = ((-mean).exp(), random.f64(), 0);
    while product > least {
        product *= random.f64();
        drawn += 1;
    }
    drawn
}

#[derive(Clone, Copy)]
struct Packet;

impl LinkPacket for Packet {
    fn octets(&self) -> usize {
        OCTETS
    }

    fn twin(&self) -> Self {
        Packet
    }

    fn alter(&mut self, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_hesitation_the_analysis_is_the_closed_form_of_the_paper() {
        for load in LOADS {
            let (slot, period) = (DELAY * load, (1.0 + DELAY) * load);
            let (some, none) = (1.0 - (-slot).exp(), (-period).exp());
            let closed = load * none * (DELAY + some) / ((1.0 + DELAY) * some + DELAY * none);
            let analysis = Task { persistence: 1.0, load }.throughput();
            assert!((analysis / closed - 1.0).abs() < 1e-4, "{load}: {analysis}, {closed}");
        }
    }

    #[test]
    fn the_channel_carries_what_the_analysis_says() {
        for persistence in PERSISTENCES {
            for load in [0.3, 1.0, 3.0, 10.0] {
                let task = Task { persistence, load };
                let (analysis, simulated) = (task.throughput(), task.simulated(3_000, 1));
                let distance = (simulated - analysis).abs();
                assert!(distance < 0.03, "p = {persistence}, {load}: {simulated}, {analysis}");
            }
        }
    }

    #[test]
    fn stations_that_wait_carry_a_low_load_and_collide_under_a_high_one() {
        let low = Task { persistence: 0.1, load: 0.1 }.simulated_tncs(2_000, 1);
        assert!((0.08..0.12).contains(&low), "{low}");
        let high = |persistence| Task { persistence, load: 10.0 }.simulated_tncs(300, 1);
        assert!(high(0.03) > 2.0 * high(0.3), "{}, {}", high(0.03), high(0.3));
    }
}
