//! Goodput where packets are lost, near and far.

use stackwright_artp::Congestion;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};
use stackwright_results::verdict::Target;
use stackwright_simulator::{Conditions, Queue};

use super::lossy::{Lossy, cells};
use super::transports::{Contest, Ends, Programs, Rival, Work};
use super::{About, AnyTable, Table};
use crate::measure::{Course, Effort, Limit};

/// Of packets, each way.
const PERCENTS: [f64; 5] = [0.0, 0.1, 1.0, 5.0, 10.0];
/// To and fro, in milliseconds.
const ROUND_TRIPS: [u64; 4] = [1, 20, 100, 600];
/// In octets a second: 100 Mb/s.
const RATE: u64 = 12_500_000;
/// The cell that is promised; the others are told.
const PROMISED: Lossy = Lossy { round_trip: 20, percent: 1.0 };

/// The table.
pub(super) const TABLE: &dyn AnyTable = &Table::<Lossy, Programs> {
    about: About {
        name: "loss",
        title: "goodput with packet loss",
        measures: "Messages of 10 kB over a modelled link of 100 Mb/s, packets of 1500 octets, \
                   each way a queue of a round trip (64 packets at least); each packet is lost \
                   with that probability, acknowledgements, too. Counted by the receiver's \
                   application, from the opening on: a run lasts 10 s where nothing else is \
                   said, and 40 round trips at least. A stranger's run that fails counts as \
                   nothing.",
        source: "",
        axes: Axes { x: "% of packets lost", y: "Mb/s", log_x: false, log_y: false },
        limit: Limit::Work,
    },
    cells: |effort| {
        let mut cells = cells(&ROUND_TRIPS, &PERCENTS, "Mb/s");
        cells.retain(|(_, link)| effort != Effort::Quick || *link == PROMISED);
        cells.into_iter().map(|(row, link)| (row.more_is_better(), link)).collect()
    },
    open: |_, notes| {
        notes.push(format!("ARTP's congestion control is {} here.", congestion()));
        Programs::new()
    },
    measure,
};

/// The one of ARTP that tells loss from congestion, where there is one.
fn congestion() -> &'static str {
    if "bbr".parse::<Congestion>().is_ok() { "bbr" } else { "cubic" }
}

fn measure(
    programs: &mut Programs,
    link: &Lossy,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let product = link.product(RATE);
    let queue = Queue::octets(product.max(64 * 1500));
    let ends = Ends::wire(&Conditions { queue, ..link.link(RATE) }, course.seed)?;
    // Nobody shall be bounded by a buffer: four times what the link holds, 4 MB at least.
    let window = (4 * product).max(4_000_000);
    let (flight, window) = (format!("--flight {window}"), format!("--window {window}"));
    let artp = |name: &str, control: &str| {
        Rival::ours(name, "artp", &flight).sending(&format!("--congestion {control}"))
    };
    let rivals = vec![
        artp("ARTP", congestion()),
        artp("ARTP, cubic", "cubic"),
        Rival::ours("XTP", "xtp", &flight),
        Rival::peer("TCP, cubic", "tcp", "--congestion cubic"),
        Rival::peer("TCP, bbr", "tcp", "--congestion bbr"),
        Rival::peer("quinn", "quinn", &window),
        Rival::peer("KCP", "kcp", &window),
        Rival::peer("SRT", "srt", &window),
    ];
    let contest = Contest { ends: &ends, programs, cores: [None; 2], may_fail: true };
    let usual = if course.effort == Effort::Quick { 4.0 } else { 10.0 };
    let seconds = f64::max(usual, 0.04 * link.round_trip as f64);
    let work = Work::Bulk { size: 10_000, seconds };
    row.columns = contest.hold(rivals, work, |it| Some(it.goodput()), course)?;
    let wanted = (*link == PROMISED).then_some(Target::AtLeast(1.0));
    row.compare_with_others("ARTP", wanted);
    row.compare("ARTP", "ARTP, cubic", None);
    Ok(())
}
