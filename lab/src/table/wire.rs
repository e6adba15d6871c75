//! The limits of this machine: the kernel's TCP, raw UDP with and without offloads, and the
//! crossing of a layer.

mod bulk;
mod crossing;

use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};
use stackwright_results::verdict::Target;

use super::{About, Cells, Table};
use crate::measure::{Contestant, Course, Effort, Limit};

const TCP: &str = "kernel TCP, cubic";
const OFFLOADED: &str = "UDP, GSO + GRO";
const PLAIN: &str = "UDP";

/// The table.
pub(crate) struct Wire;

impl Table for Wire {
    fn about(&self) -> About {
        About {
            name: "wire",
            title: "the limits of this machine",
            measures: "Bulk over the loopback interface between two threads: the kernel's TCP in writes of 256 kB; raw UDP under a \
                       window of 1 MB that the receiver opens again every 128 kB, in batches that the kernel cuts and joins \
                       (GSO, GRO), and a datagram a call. Crossing: a message of 100 octets down through all layers and up again.",
            source: "",
            axes: Axes {
                x: "layers".into(),
                y: "time of a round".into(),
                log_x: false,
                log_y: false,
            },
            limit: Limit::Loopback,
        }
    }

    fn keys(&self, _: Effort) -> Vec<String> {
        let mut keys = Vec::new();
        for octets in [1472, 8972] {
            keys.extend(["rate", "cpu"].map(|kind| format!("bulk/{octets}/{kind}")));
        }
        keys.extend([2, 4, 8].map(|layers| format!("crossing/{layers}")));
        keys
    }

    fn open(&self, _: &[String], _: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        Ok(Box::new(Limits))
    }
}

struct Limits;

impl Cells for Limits {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let unknown = || Problem::usage(format!("this table has no cell {key}"));
        let words: Vec<&str> = key.split('/').collect();
        match words[..] {
            ["bulk", octets, kind @ ("rate" | "cpu")] => {
                bulk(key, octets.parse().map_err(|_| unknown())?, kind == "rate", course)
            }
            ["crossing", layers] => crossing(key, layers.parse().map_err(|_| unknown())?, course),
            _ => Err(unknown()),
        }
    }
}

fn bulk(key: &str, segment: usize, rate: bool, course: &mut Course) -> Result<Row, Problem> {
    let (group, unit) =
        if rate { ("bulk, rate", "Gb/s") } else { ("bulk, processor time of both ends", "s/GB") };
    let mut row = Row::new(key, group, format!("datagrams of {segment}"), unit);
    row.more_is_better = rate;
    let told = |sent: Result<bulk::Sent, std::io::Error>| {
        let sent = sent.map_err(|why| Problem::new(format!("the loopback interface: {why}")))?;
        Ok(if rate { sent.gigabits_per_second() } else { sent.seconds_per_gigabyte() })
    };
    row.columns = course.compete(vec![
        Contestant::peer(TCP, || told(bulk::tcp())),
        Contestant::peer(OFFLOADED, || told(bulk::udp(segment, true))),
        Contestant::peer(PLAIN, || told(bulk::udp(segment, false))),
    ])?;
    row.compare(OFFLOADED, TCP, None);
    row.compare(PLAIN, TCP, None);
    Ok(row)
}

fn crossing(key: &str, layers: usize, course: &mut Course) -> Result<Row, Problem> {
    let mut row =
        Row::new(key, "crossing, one message down and up", format!("{layers} layers"), "s");
    row.x = Some(layers as f64);
    let mut fixed = crossing::fixed(layers)?;
    let mut woven = crossing::woven(layers)?;
    row.columns = course.compete(vec![
        Contestant::ours("graph", || Ok(woven.run())),
        Contestant::ours("static", || Ok(fixed.run())),
    ])?;
    // Two layers the compiler folds into one, so that no crossing is left to compare with.
    row.compare("graph", "static", (layers > 2).then_some(Target::AtMost(8.0)));
    Ok(row)
}
