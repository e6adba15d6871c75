//! Ours and strangers' transports: bulk, requests, many associations.
//!
//! | file | what |
//! | --- | --- |
//! | `rival.rs` | one who takes part, and how it is started |
//! | `programs.rs` | the programs that they are parts of |
//! | `ends.rs` | what lies between their two ends |
//! | `measured.rs` | what a run came to |
//! | `contest.rs` | all of them in turns |
//! | `alongside.rs` | all of them at the same time |

mod alongside;
mod contest;
mod ends;
mod measured;
mod programs;
mod rival;

pub(super) use alongside::Alongside;
pub(super) use contest::{Contest, seconds};
pub(super) use ends::{Ends, may_link};
pub(super) use measured::Measured;
pub(super) use programs::Programs;
pub(super) use rival::{Rival, Serving, Work};

use stackwright_results::Problem;
use stackwright_results::outcome::Row;
use stackwright_results::verdict::Target;

use super::{About, AnyTable, NO_AXES, Table};
use crate::link::Veth;
use crate::measure::{Course, Effort, Limit};

/// What the rivals do, what their group of rows is called, and in which unit that is told; where
/// more is better.
const WORK: [(&str, &str, &str, bool); 4] = [
    ("bulk", "bulk", "Mb/s", true),
    ("cpu", "processor time of both ends", "s/GB", false),
    ("requests", "requests of 64 octets, both ends on one core", "s", false),
    ("associations", "associations, opened, used and closed", "1/s", true),
];
/// The kernel's TCP: what the system prefers is no matter.
const TCP: &str = "TCP, cubic";
const PLACES: [&str; 2] = ["loopback", "veth"];
/// How many associations are open at once: as many as one thread opens in a moment, so that a
/// sample is short.
const ASSOCIATIONS: u64 = 200;

/// The table. Its tasks are a place and a kind of work.
pub(super) const TABLE: &dyn AnyTable = &Table::<[&str; 2], Programs> {
    about: About {
        name: "transports",
        title: "Stackwright's and other transports",
        measures: "Datagrams for packets of 1500 octets, also on the loopback interface. Bulk: messages of 10 kB, each side on a core of \
                   its own, counted by the receiver's application; cpu: what both processes took for a gigabyte of that. Requests: \
                   64 octets and as many back, both ends on one core, the middle of a run. Associations: 200 opened, an \
                   exchange on each while all are open, all closed.",
        source: "",
        axes: NO_AXES,
        limit: Limit::Loopback,
    },
    cells: |effort| {
        let places = PLACES.iter().filter(|place| effort != Effort::Quick || **place == "loopback");
        let cell = |place: &&'static str, (work, group, unit, more)| {
            let row = Row::new(format!("{place}/{work}"), group, *place, unit);
            (Row { more_is_better: more, ..row }, [*place, work])
        };
        places.flat_map(|place| WORK.map(|work| cell(place, work))).collect()
    },
    open: |_, _| Programs::new(),
    measure,
};

/// Ours, plain and sealed, and all the others. Of UDP alone only messages that fit into a packet:
/// IP would cut the others.
fn rivals(short: bool) -> Vec<Rival> {
    let mut rivals = vec![
        Rival::ours("ARTP", "artp", ""),
        Rival::ours("ARTP, AES", "artp", "--cipher aes-256-gcm"),
        Rival::ours("ordered ARTP", "ordered+artp", ""),
        Rival::ours("XTP", "xtp", ""),
        Rival::ours("our TCP, cubic", "tcp", ""),
    ];
    if short {
        rivals.push(Rival::ours("our UDP", "udp", ""));
    }
    rivals.push(Rival::peer(TCP, "tcp", "--congestion cubic"));
    for name in ["udp", "quinn", "s2n-quic", "kcp", "enet", "srt"] {
        rivals.push(Rival::peer(name, name, ""));
    }
    rivals
}

fn measure(
    programs: &mut Programs,
    [place, work]: &[&str; 2],
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let ends = if *place == "veth" { Ends::Veth(Veth::up(1500)?) } else { Ends::Loopback };
    let seconds = seconds(course.effort);
    let bulk = Work::Bulk { size: 10_000, seconds };
    let contest = Contest { ends: &ends, programs, cores: [Some(0), Some(1)], may_fail: true };
    let least = |least| Some(Target::AtLeast(least));
    let most = |most| Some(Target::AtMost(most));
    match *work {
        "bulk" => {
            row.columns = contest.hold(rivals(false), bulk, |it| Some(it.goodput()), course)?;
            row.compare("XTP", "ARTP", None);
            row.compare("ARTP", "udp", least(0.75));
            row.compare("ARTP", TCP, least(1.4));
            row.compare("ARTP, AES", "s2n-quic", least(2.0));
            for other in ["quinn", "s2n-quic", "kcp", "enet", "srt"] {
                row.compare("ARTP", other, least(1.0));
            }
        }
        "cpu" => {
            row.columns = contest.hold(rivals(false), bulk, |it| Some(it.processor()), course)?;
            row.compare("ARTP", "udp", most(1.3));
            row.compare("ARTP", TCP, None);
        }
        "requests" => {
            let contest = Contest { cores: [Some(0), Some(0)], ..contest };
            let work = Work::Requests { seconds };
            row.columns = contest.hold(rivals(true), work, |it| it.median(), course)?;
            row.compare("XTP", "ARTP", None);
            row.compare("ARTP", "our UDP", most(1.15));
            row.compare("ARTP", "udp", most(1.3));
            row.compare("ARTP", TCP, None);
            row.compare("ARTP", "quinn", most(1.0));
        }
        _ => {
            let work = Work::Associations { count: ASSOCIATIONS };
            row.columns = contest.hold(rivals(true), work, |it| Some(it.frequency()), course)?;
            for other in [TCP, "quinn", "s2n-quic", "enet"] {
                row.compare("ARTP", other, least(1.0));
            }
        }
    }
    Ok(())
}
