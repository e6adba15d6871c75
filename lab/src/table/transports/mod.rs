//! Ours and strangers' transports: bulk, requests, many associations.
//!
//! | file | what |
//! | --- | --- |
//! | `rival.rs` | one who takes part, and how it is started |
//! | `programs.rs` | the programs that they are parts of |
//! | `ends.rs` | what lies between their two ends |
//! | `measured.rs` | what a run came to |
//! | `contest.rs` | all of them in turns |

mod contest;
mod ends;
mod measured;
mod programs;
mod rival;

pub(super) use contest::{Contest, seconds};
pub(super) use ends::Ends;
pub(super) use measured::Measured;
pub(super) use programs::Programs;
pub(super) use rival::{Rival, Serving, Work};

use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};
use stackwright_results::verdict::Target;

use super::{About, Cells, Table};
use crate::link::Veth;
use crate::measure::{Course, Effort, Limit};

/// The table.
pub(crate) struct Transports;

/// What the rivals do, and in which unit that is told.
const WORK: [&str; 4] = ["bulk", "cpu", "requests", "associations"];
/// The kernel's TCP: what the system prefers is no matter.
const TCP: &str = "TCP, cubic";
const PLACES: [&str; 2] = ["loopback", "veth"];
/// How many associations are open at once: as many as one thread opens in a moment, so that a
/// sample is short.
const ASSOCIATIONS: u64 = 200;

impl Table for Transports {
    fn about(&self) -> About {
        About {
            name: "transports",
            title: "Stackwright's and other transports",
            measures: "Datagrams for packets of 1500 octets, also on the loopback interface. Bulk: messages of 10 kB, each side on a core of \
                       its own, counted by the receiver's application; cpu: what both processes took for a gigabyte of that. Requests: \
                       64 octets and as many back, both ends on one core, the middle of a run. Associations: 200 opened, an \
                       exchange on each while all are open, all closed.",
            source: "",
            axes: Axes::default(),
            limit: Limit::Loopback,
        }
    }

    fn keys(&self, effort: Effort) -> Vec<String> {
        let places = PLACES.iter().filter(|place| effort != Effort::Quick || **place == "loopback");
        places.flat_map(|place| WORK.map(|work| format!("{place}/{work}"))).collect()
    }

    fn open(&self, _: &[String], _: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        Ok(Box::new(Side { programs: Programs::new()? }))
    }
}

struct Side {
    programs: Programs,
}

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

impl Cells for Side {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let unknown = || Problem::usage(format!("this table has no cell {key}"));
        let (place, work) = key.split_once('/').ok_or_else(unknown)?;
        if !PLACES.contains(&place) || !WORK.contains(&work) {
            return Err(unknown());
        }
        let ends = if place == "veth" { Ends::Veth(Veth::up(1500)?) } else { Ends::Loopback };
        let time = seconds(course.effort);
        let contest = Contest {
            ends: &ends,
            programs: &self.programs,
            cores: [Some(0), Some(1)],
            may_fail: true,
        };
        let mut row;
        match work {
            "bulk" => {
                row = Row::new(key, "bulk", place, "Mb/s");
                row.more_is_better = true;
                let work = Work::Bulk { size: 10_000, seconds: time };
                row.columns = contest.hold(rivals(false), work, |it| Some(it.goodput()), course)?;
                row.compare("XTP", "ARTP", None);
                row.compare("ARTP", "udp", Some(Target::AtLeast(0.75)));
                row.compare("ARTP", TCP, Some(Target::AtLeast(1.4)));
                row.compare("ARTP, AES", "s2n-quic", Some(Target::AtLeast(2.0)));
                for other in ["quinn", "s2n-quic", "kcp", "enet", "srt"] {
                    row.compare("ARTP", other, Some(Target::AtLeast(1.0)));
                }
            }
            "cpu" => {
                row = Row::new(key, "processor time of both ends", place, "s/GB");
                let work = Work::Bulk { size: 10_000, seconds: time };
                row.columns =
                    contest.hold(rivals(false), work, |it| Some(it.processor()), course)?;
                row.compare("ARTP", "udp", Some(Target::AtMost(1.3)));
                row.compare("ARTP", TCP, None);
            }
            "requests" => {
                row = Row::new(key, "requests of 64 octets, both ends on one core", place, "s");
                let contest = Contest { cores: [Some(0), Some(0)], ..contest };
                let work = Work::Requests { seconds: time };
                row.columns = contest.hold(rivals(true), work, |it| it.median(), course)?;
                row.compare("XTP", "ARTP", None);
                row.compare("ARTP", "our UDP", Some(Target::AtMost(1.15)));
                row.compare("ARTP", "udp", Some(Target::AtMost(1.3)));
                row.compare("ARTP", TCP, None);
                row.compare("ARTP", "quinn", Some(Target::AtMost(1.0)));
            }
            _ => {
                row = Row::new(key, "associations, opened, used and closed", place, "1/s");
                row.more_is_better = true;
                let work = Work::Associations { count: ASSOCIATIONS };
                row.columns =
                    contest.hold(rivals(true), work, |it| Some(it.frequency()), course)?;
                for other in [TCP, "quinn", "s2n-quic", "enet"] {
                    row.compare("ARTP", other, Some(Target::AtLeast(1.0)));
                }
            }
        }
        Ok(row)
    }
}
