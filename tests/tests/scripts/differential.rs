//! The same calls and the same losses for each pair of our TCP and the kernel's: what ours does is
//! what the kernel does, or a deviation that `deviations.toml` names, with its reason.
//!
//! What is lost follows from its number and from how often that left, so that it is the same for
//! all. Of a run, each side leaves a trace: whether it opened, which numbers it sent again, whether
//! a window shrank, and how it ended.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::time::Duration;

use fastrand::Rng;
use serde::Deserialize;
use stackwright::tcp::Config;

use crate::host::{Call, Host, Told};
use crate::kernel::Kernel;
use crate::ours::Ours;
use crate::segment::Segment;

/// One way, and after which nothing is awaited any more.
const DELAY: Duration = Duration::from_millis(10);
const LIMIT: Duration = Duration::from_secs(25);
/// The octets of a segment.
const SEGMENT: u32 = 1448;

/// What a side did.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Trace {
    opened: bool,
    heard: usize,
    finished: bool,
    shrinks: bool,
    resets: bool,
    /// Which segments left more than once.
    again: BTreeSet<u32>,
}

/// What a side has sent so far.
#[derive(Default)]
struct Sent {
    first: Option<u32>,
    upto: u32,
    edge: Option<u32>,
    shift: u8,
    /// How often what begins in a place of the length of a segment left.
    times: BTreeMap<u32, u32>,
}

impl Sent {
    /// Records a segment. Returns whether it is lost.
    fn leaves(&mut self, segment: &Segment, chance: u64, loss: f64, trace: &mut Trace) -> bool {
        let tcp = &segment.tcp;
        let first = *self.first.get_or_insert(tcp.sequence_number);
        trace.resets |= tcp.rst;
        if tcp.syn {
            self.shift = segment.options.scale.unwrap_or(0);
        }
        if tcp.ack && !tcp.rst {
            let shift = if tcp.syn { 0 } else { self.shift };
            let edge = tcp.acknowledgment_number.wrapping_add(u32::from(tcp.window) << shift);
            let before = self.edge.replace(edge).unwrap_or(edge);
            // An acknowledgement of the last FIN may offer anything.
            trace.shrinks |= (before.wrapping_sub(edge) as i32) > 0 && !trace.finished;
        }
        let octets = segment.data as u32 + u32::from(tcp.syn) + u32::from(tcp.fin);
        if octets == 0 {
            return false;
        }
        let number = tcp.sequence_number.wrapping_sub(first);
        let place = number.saturating_sub(1) / SEGMENT;
        if number < self.upto && segment.data > 0 {
            trace.again.insert(place);
        }
        self.upto = self.upto.max(number + octets);
        let times = self.times.entry(place).or_default();
        *times += 1;
        let seed = chance ^ u64::from(place) << 8 ^ u64::from(*times);
        Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)).f64() < loss
    }
}

/// A packet: when it arrives, the how manyth it is, to which side, and what.
type OnItsWay = Reverse<(Duration, usize, usize, Vec<u8>)>;

/// Runs what a seed says. Returns what each side did.
pub(crate) fn run(seed: u64, hosts: [&mut dyn Host; 2]) -> [Trace; 2] {
    let mut random = Rng::with_seed(seed);
    let octets = [(); 2].map(|()| random.usize(1000..60_000));
    let (loss, order) = (random.f64() * 0.1, random.u8(..3));
    let begin = [0, 1].map(|side| hosts[side].now());
    let (mut traces, mut sent) = <([Trace; 2], [Sent; 2])>::default();
    let mut wire = BinaryHeap::<OnItsWay>::new();
    let (mut calls, mut now, mut count) = ([0; 2], Duration::ZERO, 0);
    hosts[1].call(Call::Listen);
    hosts[0].call(Call::Connect);
    while now < LIMIT {
        let real = (0..2).filter(|side| hosts[*side].is_real());
        let real = real.map(|side| hosts[side].now() - begin[side]).max();
        now = real.unwrap_or(now).max(now + Duration::from_millis(1));
        while wire.peek().is_some_and(|Reverse((at, ..))| *at <= now) {
            let Some(Reverse((_, _, to, packet))) = wire.pop() else { break };
            hosts[to].arrives(&packet);
        }
        for side in 0..2 {
            while let Some(packet) = hosts[side].leaves(begin[side] + now) {
                let Some(segment) = Segment::read(&packet) else { continue };
                let chance = seed << 40 | (side as u64) << 39;
                if !sent[side].leaves(&segment, chance, loss, &mut traces[side]) {
                    count += 1;
                    wire.push(Reverse((now + DELAY, count, 1 - side, packet)));
                }
            }
            let Told { open, heard, finished, .. } = hosts[side].told();
            let trace = &mut traces[side];
            (trace.opened, trace.heard) = (trace.opened | open, heard);
            trace.finished |= finished;
            // One closes first, or the other, or both at once.
            let waits = order != 2 && usize::from(order) != side;
            match calls[side] {
                0 if open => hosts[side].call(Call::Send(octets[side])),
                1 if !waits || finished => hosts[side].call(Call::Finish),
                _ => continue,
            }
            calls[side] += 1;
        }
        if traces.iter().all(|trace| trace.finished) && wire.is_empty() {
            break;
        }
    }
    traces
}

/// The deviations that have a reason.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Deviations {
    deviation: Vec<Deviation>,
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Deviation {
    what: What,
    /// In how many of a hundred traces, at most.
    percent: usize,
    /// The reason.
    #[allow(dead_code, reason = "for people")]
    why: String,
}

/// What differs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum What {
    /// Opened, heard or finished otherwise, or shrank a window.
    Course,
    /// Reset where the kernel never did.
    Resets,
    /// Sent something again that the kernel never did, or not what it always did.
    More,
    Less,
}

/// Compares what ours did with what the kernel did in several runs.
fn compare(ours: &Trace, kernels: &[&Trace]) -> Vec<What> {
    let course = |it: &Trace| (it.opened, it.heard, it.finished, it.shrinks);
    let mut whats = Vec::new();
    if kernels.iter().all(|kernel| course(kernel) != course(ours)) {
        whats.push(What::Course);
    }
    if ours.resets && !kernels.iter().any(|kernel| kernel.resets) {
        whats.push(What::Resets);
    }
    if !ours.again.iter().all(|it| kernels.iter().any(|kernel| kernel.again.contains(it))) {
        whats.push(What::More);
    }
    let always = |it: &&u32| kernels.iter().all(|kernel| kernel.again.contains(*it));
    if kernels[0].again.iter().filter(always).any(|it| !ours.again.contains(it)) {
        whats.push(What::Less);
    }
    whats
}

/// How many traces of ours a seed makes.
const TRACES: usize = 4;

/// Runs a seed with all pairs. Returns what deviated, in words too.
pub(crate) fn seed(seed: u64) -> Vec<(What, String)> {
    let config = || Config::new([7; 16]);
    let kernels = [(); 3].map(|()| run(seed, [&mut Kernel::new(0), &mut Kernel::new(1)]));
    let pairs = [
        (
            "ours to the kernel",
            run(seed, [&mut Ours::new(0, config()), &mut Kernel::new(1)]),
            [true, false],
        ),
        (
            "the kernel to ours",
            run(seed, [&mut Kernel::new(0), &mut Ours::new(1, config())]),
            [false, true],
        ),
        (
            "ours to ours",
            run(seed, [&mut Ours::new(0, config()), &mut Ours::new(1, config())]),
            [true; 2],
        ),
    ];
    let mut found = Vec::new();
    for (pair, traces, is_ours) in &pairs {
        for side in (0..2).filter(|side| is_ours[*side]) {
            let kernels = kernels.each_ref().map(|traces| &traces[side]);
            for what in compare(&traces[side], &kernels) {
                let ours = &traces[side];
                found.push((
                    what,
                    format!("{seed} {pair}, {side}: {what:?} {ours:?}, not {kernels:?}"),
                ));
            }
        }
    }
    found
}

/// Checks that what was found has a reason.
pub(crate) fn judge(seeds: usize, found: &[(What, String)]) {
    let named: Deviations = toml::from_str(include_str!("deviations.toml")).expect("deviations");
    assert!(named.deviation.len() <= 12, "a dozen at most");
    for what in [What::Course, What::Resets, What::More, What::Less] {
        let named = named.deviation.iter().find(|it| it.what == what);
        let most = named.map_or(0, |it| it.percent) * seeds * TRACES / 100;
        let all = Vec::from_iter(found.iter().filter(|it| it.0 == what).map(|it| &*it.1));
        let count = all.len();
        println!("{what:?}: {count} of {} traces", seeds * TRACES);
        assert!(count <= most, "{what:?}: {count} are more than {most}:\n{}", all.join("\n"));
    }
}
