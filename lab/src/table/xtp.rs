//! XTP beside the kernel's TCP and UDP, by the length of messages.

use stackwright_contract::Duration;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Figure, Row};
use stackwright_results::verdict::Target;
use stackwright_simulator::{Conditions, Queue};

use super::transports::{Contest, Ends, Programs, Rival, Work, seconds};
use super::{About, Cells, Table};
use crate::measure::{Course, Effort, Limit};

/// The table.
pub(crate) struct Xtp;

/// The octets of a message.
const SIZES: [u64; 11] = [64, 128, 256, 512, 1023, 1024, 1400, 2048, 4096, 8192, 16_384];
/// The links: their names, octets a second, and longest packets.
const LINKS: [(&str, u64, u64); 2] = [("10M", 1_250_000, 1500), ("100M", 12_500_000, 4352)];
/// The loopback interface, which bounds nothing.
const LOOPBACK: &str = "loopback";

/// The octets of the headers of IPv4 and UDP, and of XTP's header.
const BELOW: u64 = 20 + 8;
const HEADER: u64 = 32;
/// What XTP leaves free of a packet in any case: the segments of a FIRST with addresses of IPv6.
const OPENING: u64 = 48;

const XTP: &str = "XTP";
const TCP: &str = "TCP, cubic";
const ARTP: &str = "ARTP";
/// Neither checks data, and each packet has memory of its own.
const PLAIN_XTP: &str = "XTP, plain";
const PLAIN_ARTP: &str = "ARTP, plain";

impl Table for Xtp {
    fn about(&self) -> About {
        About {
            name: "xtp",
            title: "XTP beside TCP and UDP by the length of messages",
            measures: "Messages over a Connection of XTP over UDP, over the kernel's TCP and over UDP \
                       (where they fit into a packet), each counted by the receiver's application \
                       between the first and the last. Modelled links of 10 Mb/s with packets of \
                       1500 octets and of 100 Mb/s with packets of 4352, a millisecond to and fro; \
                       and the loopback interface, also with ARTP, and with both as plain as they \
                       can be: no check of data, and each packet with memory of its own. The limit \
                       of XTP is what its headers and those below leave of the link's rate.",
            source: "the report on XTP of 1993, tables 3.4 to 3.6: Ethernet and FDDI",
            axes: Axes {
                x: "octets of a message".into(),
                y: "Mb/s".into(),
                log_x: true,
                log_y: false,
            },
            limit: Limit::Work,
        }
    }

    fn keys(&self, effort: Effort) -> Vec<String> {
        let places = LINKS.map(|(name, ..)| name).into_iter().chain([LOOPBACK]);
        let cells = places.flat_map(|place| SIZES.map(|size| (place, size)));
        let chosen = cells.filter(|(_, size)| effort != Effort::Quick || *size == 1024);
        chosen.map(|(place, size)| format!("{place}/{size}")).collect()
    }

    fn open(&self, _: &[String], _: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        Ok(Box::new(Measuring { programs: Programs::new()? }))
    }
}

/// Rates in Mb/s: of a length of messages, TCP's and XTP's.
type Told = (u64, Option<f64>, Option<f64>);

/// The report's, over Ethernet and FDDI, by the lengths that it has.
const DOCUMENT: [(&str, &[Told]); 2] = [
    (
        "10M",
        &[
            (1023, Some(7.25), None),
            (1024, Some(8.35), None),
            (1400, Some(9.91), None),
            (2000, Some(9.82), Some(9.62)),
            (4000, Some(9.00), Some(9.65)),
            (8192, None, Some(9.71)),
            (16_384, None, Some(9.77)),
        ],
    ),
    (
        "100M",
        &[
            (1023, Some(8.43), None),
            (1024, Some(19.05), None),
            (1400, Some(20.74), None),
            (2000, Some(18.86), Some(18.01)),
            (4000, Some(17.60), Some(19.72)),
            (8192, None, Some(20.38)),
            (16_384, None, Some(21.24)),
        ],
    ),
];

/// What the report says of messages of this length, or of nearly this length.
fn document(place: &str, size: u64) -> Vec<Figure> {
    let near = |of: u64| of == size || (size == 2048 && of == 2000) || (size == 4096 && of == 4000);
    let links = DOCUMENT.into_iter().filter(|(name, _)| *name == place);
    let told = links.flat_map(|(_, told)| told).filter(|(of, ..)| near(*of));
    let figure = |who: &str, value| Figure { who: who.into(), value, unit: "Mb/s".into() };
    told.flat_map(|(_, tcp, xtp)| {
        [tcp.map(|value| figure("TCP", value)), xtp.map(|value| figure("XTP", value))]
    })
    .flatten()
    .collect()
}

struct Measuring {
    programs: Programs,
}

/// Which part of what is on the wire is payload of XTP, where `packet` octets are its longest
/// packet.
fn share(size: u64, packet: u64) -> f64 {
    let packets = size.div_ceil(packet - HEADER - OPENING);
    size as f64 / (size + packets * (HEADER + BELOW)) as f64
}

impl Cells for Measuring {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let unknown = || Problem::usage(format!("this table has no cell {key}"));
        let (place, size) = key.split_once('/').ok_or_else(unknown)?;
        let size: u64 =
            size.parse().ok().filter(|size| SIZES.contains(size)).ok_or_else(unknown)?;
        let link = LINKS.into_iter().find(|(name, ..)| *name == place);
        let mut row = Row::new(key, place, format!("{size} octets"), "Mb/s");
        (row.more_is_better, row.x) = (true, Some(size as f64));
        row.document = document(place, size);
        let ends = match link {
            Some((_, rate, mtu)) => {
                let queue = Queue { octets: Some(64 * mtu), ..Queue::UNLIMITED };
                let delay = Duration::from_micros(500);
                let conditions = Conditions {
                    rate: Some(rate),
                    mtu: Some(mtu as usize),
                    delay,
                    queue,
                    keeps_order: true,
                    ..Conditions::IDEAL
                };
                Ends::wire(&conditions, course.seed)?
            }
            None if place == LOOPBACK => Ends::Loopback,
            None => return Err(unknown()),
        };
        let packet = link.map_or(1472, |(_, _, mtu)| mtu - BELOW);
        // A window that the queue of the link holds: XTP has no congestion control.
        let window = link.map_or(1 << 20, |(_, _, mtu)| 32 * mtu);
        let mut rivals = vec![
            Rival::ours(XTP, "xtp", &format!("--packet {packet} --flight {window}")),
            Rival::peer(TCP, "tcp", "--congestion cubic"),
        ];
        if size <= packet {
            rivals.push(Rival::ours("our UDP", "udp", ""));
        }
        if link.is_none() {
            rivals.push(Rival::ours(ARTP, "artp", ""));
            rivals.push(Rival::ours(PLAIN_XTP, "xtp", "--unchecked --run 0"));
            rivals.push(Rival::ours(PLAIN_ARTP, "artp", "--run 0"));
        }
        let contest =
            Contest { ends: &ends, programs: &self.programs, cores: [None; 2], may_fail: true };
        let work = Work::Bulk { size, seconds: seconds(course.effort) };
        row.columns = contest.hold(rivals, work, |it| Some(it.goodput()), course)?;
        if let Some((_, rate, _)) = link {
            let limit = rate as f64 * 8e-6 * share(size, packet);
            for column in row.columns.iter_mut().filter(|column| column.name == XTP) {
                column.limit = Some(limit);
                let shares: Vec<_> = column.values().iter().map(|value| value / limit).collect();
                let target = Some(Target::AtLeast(0.99));
                column.tell("share of the payload limit", "", &shares, target);
            }
        }
        // Headers count least where messages are longest.
        let is_best = Some(&size) == SIZES.last();
        let target = |share| is_best.then_some(Target::AtLeast(share));
        row.compare(XTP, TCP, link.and(target(0.99)));
        row.compare(XTP, "our UDP", None);
        row.compare(XTP, ARTP, None);
        row.compare(PLAIN_XTP, PLAIN_ARTP, target(0.9));
        Ok(row)
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn a_share_counts_the_headers_of_each_packet() {
        assert_eq!(share(1392, 1472), 1392.0 / 1452.0);
        assert_eq!(share(1393, 1472), 1393.0 / 1513.0, "two packets");
    }
}
