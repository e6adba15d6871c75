//! What selective repeat gains over go-back-N, in XTP, in the simulator.

use stackwright::policies::acknowledgement::{GapAtOnce, OnRequest};
use stackwright::policies::recovery::{GoBackN, SelectiveRepeat};
use stackwright::transport::{Boxed, Exchange as _, IntoPart as _, SlotPart, Slots, slots};
use stackwright::xtp::header::XtpPacket;
use stackwright::xtp::services::{Connection, context};
use stackwright::xtp::{Config, ContextKey};
use stackwright_contract::Participant;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Column, Row};
use stackwright_results::verdict::Target;
use stackwright_simulator::Conditions;
use stackwright_trial::Trial;
use stackwright_trial::setting::M;

use super::lossy::{Lossy, cells};
use super::{About, AnyTable, Table};
use crate::measure::{Course, Effort, Limit};

/// Of packets, each way.
const PERCENTS: [f64; 5] = [0.0, 1.0, 2.0, 5.0, 10.0];
/// To and fro, in milliseconds.
const ROUND_TRIPS: [u64; 5] = [1, 10, 30, 100, 300];
/// Where selective repeat shall gain most.
const WORST: Lossy = Lossy { round_trip: 100, percent: 5.0 };
/// In octets a second: 100 Mb/s.
const RATE: u64 = 12_500_000;

/// What is sent: messages, and the octets of each.
const MESSAGES: usize = 200;
const MESSAGE: usize = 10_000;

/// Which recovery, and whether the receiver reports a gap at once (FASTNAK).
const CONTESTANTS: [(&str, bool, bool); 4] = [
    ("selective", true, true),
    ("go-back-N", false, true),
    ("selective, no FASTNAK", true, false),
    ("go-back-N, no FASTNAK", false, false),
];

/// The table.
pub(super) const TABLE: &dyn AnyTable = &Table::<Lossy, ()> {
    about: About {
        name: "recovery",
        title: "selective repeat beside go-back-N in XTP",
        measures: "In the simulator: 2 MB in messages of 10 kB over a Connection of XTP with \
                   packets of 1472 octets and a window of 1 MiB, from the opening to the last \
                   octet, on a link of 100 Mb/s that loses each packet, reports too, with that \
                   probability. 20 seeds for each cell (3 with --quick), which are the same \
                   for all contestants.",
        source: "",
        axes: Axes { x: "% of packets lost", y: "Mb/s", log_x: false, log_y: false },
        limit: Limit::Work,
    },
    cells: |effort| {
        let mut cells = cells(&ROUND_TRIPS, &PERCENTS, "Mb/s");
        let quick = |link: &Lossy| *link == WORST || link.round_trip == 1;
        cells.retain(|(_, link)| effort != Effort::Quick || quick(link));
        let row = |row: Row| row.more_is_better().limited(RATE as f64 * 8e-6);
        cells.into_iter().map(|(cell, link)| (row(cell), link)).collect()
    },
    open: |_, _| Ok(()),
    measure,
};

/// One end of a Connection; the first opens.
fn end(side: usize, selective: bool, at_once: bool) -> Slots<Boxed<M, XtpPacket>> {
    let config = Config { retries: 60, ..Config::new([side as u8; 16]) };
    let own = ContextKey { ours: true, number: 100 + side as u64 };
    let peer = (side == 1).then_some(100);
    let remote = Participant::from(([10, 0, 0, 9], 7));
    let mut slots = context::<M, Connection>(&config, Some(own), peer, remote).boxed();
    let recovery: SlotPart<dyn slots::Recovery> =
        if selective { SelectiveRepeat::new().part() } else { GoBackN.part() };
    let acknowledgement: SlotPart<dyn slots::Acknowledgement> = match (selective, at_once) {
        (true, true) => GapAtOnce::new(OnRequest::<true>::new()).part(),
        (true, false) => OnRequest::<true>::new().part(),
        (false, true) => GapAtOnce::new(OnRequest::<false>::new()).part(),
        (false, false) => OnRequest::<false>::new().part(),
    };
    let done = slots.exchange(recovery).map(drop);
    let done = done.and_then(|()| slots.exchange(acknowledgement).map(drop));
    assert!(done.is_ok(), "{}", done.unwrap_err().explain().as_str());
    slots
}

/// Returns how many seconds all messages take; `None` if they do not arrive.
fn takes(selective: bool, at_once: bool, link: &Conditions, seed: u64) -> Option<f64> {
    let mut ends = Trial::new(|side| end(side, selective, at_once), link, seed);
    let begin = ends.now();
    ends.ends[0].open(begin);
    let (mut sent, mut heard, message) = (0, 0, vec![7; MESSAGE]);
    while heard < MESSAGES {
        let now = ends.now();
        while sent < MESSAGES && ends.ends[0].association.sending().waiting() < 8 {
            ends.ends[0].send(now, &message, Default::default());
            sent += 1;
        }
        ends.speak(|_, _, _| {});
        while ends.ends[1].take(now).is_some() {
            heard += 1;
        }
        if heard < MESSAGES && !ends.step() {
            return None;
        }
    }
    Some(ends.now().since(begin).as_secs_f64())
}

fn measure(_: &mut (), lossy: &Lossy, row: &mut Row, course: &mut Course) -> Result<(), Problem> {
    let link = Conditions { mtu: None, ..lossy.link(RATE) };
    let seeds = if course.effort == Effort::Quick { 3 } else { 20 };
    for (name, selective, at_once) in CONTESTANTS {
        let mut values = Vec::new();
        for seed in 0..seeds {
            if course.stop.asked() {
                return Ok(());
            }
            // What does not arrive counts as nothing.
            let took = takes(selective, at_once, &link, course.seed.wrapping_add(seed));
            values.push(took.map_or(0.0, |took| (8 * MESSAGES * MESSAGE) as f64 / took / 1e6));
        }
        row.columns.push(Column::exact(name, true, values));
    }
    let least = if *lossy == WORST { 1.5 } else { 0.99 };
    row.compare("selective", "go-back-N", Some(Target::AtLeast(least)));
    row.compare("selective, no FASTNAK", "go-back-N, no FASTNAK", Some(Target::AtLeast(0.99)));
    Ok(())
}
