//! E21: how long messages wait for a change of the transport, in the simulator.

use stackwright_contract::services::MessageProperties;
use stackwright_contract::{Duration, PhaseRule};
use stackwright_policies::profile::PolicyValues;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Column, Row, figures};
use stackwright_results::verdict::Target;
use stackwright_simulator::Conditions;
use stackwright_tailored::configurations::Adaptive;
use stackwright_tailored::{Config, Named, TailoredHost, TailoredKey};
use stackwright_trial::Trial;
use stackwright_trial::setting::M;

use super::{About, AnyTable, Table};
use crate::measure::{Course, Limit};

/// To and fro, in milliseconds.
const ROUND_TRIPS: [u64; 6] = [0, 1, 10, 50, 100, 300];

const ANY: PhaseRule = PhaseRule { ordered: false, fenced: false, resends: None };
const ORDERED: PhaseRule = PhaseRule { ordered: true, ..ANY };

/// Changes, one behind the other, from the strongest rule on: what is required, and the round trips
/// that messages may wait for it.
const CHANGES: [(&str, PhaseRule, f64); 4] = [
    ("to a weaker rule", ANY, 0.0),
    ("to a stronger rule, proposed", ORDERED, 1.05),
    ("to a weaker rule, agreed", ANY, 0.0),
    ("to a stronger rule, agreed", ORDERED, 0.0),
];

/// Messages behind a change, and the time between two of them.
const MESSAGES: u32 = 500;
const EVERY: Duration = Duration::from_millis(1);

/// The table. Its tasks are round trips.
pub(super) const TABLE: &dyn AnyTable = &Table::<u64, ()> {
    about: About {
        name: "switching",
        title: "messages that wait for a change of the transport",
        measures: "In the simulator: the two ends of the adaptive transport agree on another rule \
                   of delivery while a message leaves each millisecond, over a path without loss. \
                   The longest wait of the 500 messages behind the change: when each arrived, less \
                   when it could have. From ordered to unordered delivery, which promises less; \
                   back, by a rule that the peer does not know yet; and both again, when it does. \
                   Exact, whatever the machine.",
        source: "De Silva et al., 1996, §4.2",
        axes: Axes { x: "ms to and fro", y: "ms", log_x: false, log_y: false },
        limit: Limit::Work,
    },
    cells: |_| {
        let cell = |ms: u64| {
            let label = format!("{ms} ms to and fro");
            let row = Row::new(format!("{ms}ms"), "longest wait", label, "ms").at(ms as f64);
            (row.beside(figures([("UTS: a round trip", ms as f64)], "ms")), ms)
        };
        ROUND_TRIPS.into_iter().map(cell).collect()
    },
    open: |_, _| Ok(()),
    measure: |(), ms, row, course| measure(*ms, row, course),
};

fn measure(ms: u64, row: &mut Row, course: &mut Course) -> Result<(), Problem> {
    let mut ends = opened(ms, course.seed);
    for (name, rule, most) in CHANGES {
        let waited = longest_wait(&mut ends, rule, ms)
            .ok_or_else(|| Problem::new(format!("{name}: not every message arrived")))?;
        let waited = 1e3 * waited.as_secs_f64();
        let mut column = Column::exact(name, true, [waited]);
        if ms > 0 {
            let trips = waited / ms as f64;
            column.tell("round trips", "", &[trips], Some(Target::AtMost(most)));
        }
        row.columns.push(column);
    }
    Ok(())
}

/// Two ends between which the first message has arrived.
fn opened(ms: u64, seed: u64) -> Trial<Adaptive<M>> {
    let strongest = [Some(PhaseRule::STRONGEST), None, None, None];
    let values = PolicyValues { phases: strongest, ..PolicyValues::RELIABLE };
    let end = |side: usize| {
        let host = TailoredHost::new(Named::new(values), Config::new([side as u8; 16]));
        host.association(TailoredKey { ours: side == 0, number: 7 }, 9)
    };
    let path = Conditions { delay: Duration::from_micros(500 * ms), ..Conditions::IDEAL };
    let mut ends = Trial::new(end, &path, seed);
    let now = ends.now();
    ends.ends[0].open(now);
    ends.ends[0].send(now, &[0; 4], MessageProperties::default());
    ends.pass(now + Duration::from_secs(5));
    while ends.ends[1].take(ends.now()).is_some() {}
    ends
}

/// Requires a rule, and returns how long the message that waits longest does; `None` where one does
/// not arrive.
fn longest_wait(ends: &mut Trial<Adaptive<M>>, rule: PhaseRule, ms: u64) -> Option<Duration> {
    let (start, path) = (ends.now(), Duration::from_micros(500 * ms));
    let mut refused = matches!(ends.ends[0].association.require(start, rule), Some(Err(_)));
    let (mut sent, mut arrived, mut longest) = (0, 0, Duration::ZERO);
    while arrived < MESSAGES {
        let now = ends.now();
        while sent < MESSAGES && EVERY * sent <= now.since(start) {
            ends.ends[0].send(now, &sent.to_be_bytes(), MessageProperties::default());
            sent += 1;
        }
        ends.speak(|_, _, _| {});
        refused |= matches!(ends.ends[0].association.take_answer(), Some(Err(_)));
        while let Some((octets, _)) = ends.ends[1].take(now) {
            let due = EVERY * u32::from_be_bytes(octets.try_into().ok()?) + path;
            (longest, arrived) = (longest.max(now.since(start).saturating_sub(due)), arrived + 1);
        }
        if !ends.until(start + EVERY * sent) && sent == MESSAGES && !ends.step() {
            return None;
        }
    }
    ends.pass(ends.now() + Duration::from_secs(1));
    (!refused).then_some(longest)
}
