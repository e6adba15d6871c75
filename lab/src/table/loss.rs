//! Goodput where packets are lost, near and far.

use stackwright_artp::Congestion;
use stackwright_contract::Duration;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};
use stackwright_results::verdict::Target;
use stackwright_simulator::{Conditions, Loss, Queue};

use super::transports::{Contest, Ends, Programs, Rival, Work};
use super::{About, Cells, Table};
use crate::measure::{Course, Effort, Limit};

/// The table.
pub(crate) struct Losses;

/// Of packets, each way, as cells say it and as it is.
const LOSSES: [(&str, f64); 5] =
    [("0", 0.0), ("0.1", 0.001), ("1", 0.01), ("5", 0.05), ("10", 0.1)];
/// To and fro, in milliseconds.
const DELAYS: [u64; 4] = [1, 20, 100, 600];
/// In octets a second: 100 Mb/s.
const RATE: u64 = 12_500_000;

impl Table for Losses {
    fn about(&self) -> About {
        About {
            name: "loss",
            title: "goodput with packet loss",
            measures: "Messages of 10 kB over a modelled link of 100 Mb/s, packets of 1500 octets, \
                       each way a queue of a round trip (64 packets at least); each packet is lost \
                       with that probability, acknowledgements, too. Counted by the receiver's \
                       application, from the opening on: a run lasts 10 s where nothing else is \
                       said, and 40 round trips at least. A stranger's run that fails counts as \
                       nothing.",
            source: "",
            axes: Axes {
                x: "% of packets lost".into(),
                y: "Mb/s".into(),
                log_x: false,
                log_y: false,
            },
            limit: Limit::Work,
        }
    }

    fn keys(&self, effort: Effort) -> Vec<String> {
        let quick = |delay: u64, loss: &str| delay == 20 && loss == "1";
        let cells = DELAYS.into_iter().flat_map(|delay| LOSSES.map(|(loss, _)| (delay, loss)));
        let chosen = cells.filter(|(delay, loss)| effort != Effort::Quick || quick(*delay, loss));
        chosen.map(|(delay, loss)| format!("{delay}ms/{loss}")).collect()
    }

    fn open(&self, _: &[String], notes: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        notes.push(format!("ARTP's congestion control is {} here.", congestion()));
        Ok(Box::new(Links { programs: Programs::new()? }))
    }
}

/// The one of ARTP that tells loss from congestion, where there is one.
fn congestion() -> &'static str {
    if "bbr".parse::<Congestion>().is_ok() { "bbr" } else { "cubic" }
}

struct Links {
    programs: Programs,
}

impl Cells for Links {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let unknown = || Problem::usage(format!("this table has no cell {key}"));
        let (delay, loss) = key.split_once("ms/").ok_or_else(unknown)?;
        let delay: u64 =
            delay.parse().ok().filter(|delay| DELAYS.contains(delay)).ok_or_else(unknown)?;
        let (label, loss) =
            LOSSES.into_iter().find(|(name, _)| *name == loss).ok_or_else(unknown)?;
        let mut row =
            Row::new(key, format!("{delay} ms to and fro"), format!("{label} % lost"), "Mb/s");
        (row.more_is_better, row.x) = (true, Some(100.0 * loss));
        let product = RATE * delay / 1000;
        let link = Conditions {
            rate: Some(RATE),
            mtu: Some(1500),
            delay: Duration::from_micros(500 * delay),
            loss: if loss > 0.0 { Loss::Bernoulli(loss) } else { Loss::None },
            queue: Queue { octets: Some(product.max(64 * 1500)), ..Queue::UNLIMITED },
            keeps_order: true,
            ..Conditions::IDEAL
        };
        let ends = Ends::wire(&link, course.seed)?;
        // Nobody shall be bounded by a buffer: four times what the link holds, 4 MB at least.
        let window = (4 * product).max(4_000_000);
        let ours = |name: &str, scheme, control: &str| {
            Rival::ours(name, scheme, &format!("--flight {window}"))
                .sending(&format!("--congestion {control}"))
        };
        let rivals = vec![
            ours("ARTP", "artp", congestion()),
            ours("ARTP, cubic", "artp", "cubic"),
            Rival::ours("XTP", "xtp", &format!("--flight {window}")),
            Rival::peer("TCP, cubic", "tcp", "--congestion cubic"),
            Rival::peer("TCP, bbr", "tcp", "--congestion bbr"),
            Rival::peer("quinn", "quinn", &format!("--window {window}")),
            Rival::peer("KCP", "kcp", &format!("--window {window}")),
            Rival::peer("SRT", "srt", &format!("--window {window}")),
        ];
        let contest =
            Contest { ends: &ends, programs: &self.programs, cores: [None; 2], may_fail: true };
        let usual = if course.effort == Effort::Quick { 4.0 } else { 10.0 };
        let work = Work::Bulk { size: 10_000, seconds: f64::max(usual, 0.04 * delay as f64) };
        row.columns = contest.hold(rivals, work, |it| Some(it.goodput()), course)?;
        let others: Vec<_> = row
            .columns
            .iter()
            .filter(|column| !column.ours)
            .map(|column| column.name.clone())
            .collect();
        // One cell is promised; the others are told.
        let wanted = (delay == 20 && label == "1").then_some(Target::AtLeast(1.0));
        others.iter().for_each(|other| row.compare("ARTP", other, wanted));
        row.compare("ARTP", "ARTP, cubic", None);
        Ok(row)
    }
}
