//! XTP beside the kernel's TCP and UDP, by the length of messages.

use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Figure, Row, figures};
use stackwright_results::verdict::Target;
use stackwright_simulator::{Conditions, Queue};

use super::lossy::link;
use super::transports::{Contest, Ends, Programs, Rival, Work, seconds};
use super::{About, AnyTable, Cell, Table};
use crate::measure::{Course, Effort, Limit};

/// The octets of a message.
const SIZES: [u64; 11] = [64, 128, 256, 512, 1023, 1024, 1400, 2048, 4096, 8192, 16_384];
/// The links: their names, and octets a second with the longest packets. The loopback interface
/// bounds nothing.
const PLACES: [(&str, Option<(u64, u64)>); 3] =
    [("10M", Some((1_250_000, 1500))), ("100M", Some((12_500_000, 4352))), ("loopback", None)];

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

/// The report's rates in Mb/s over Ethernet and FDDI: by the lengths of messages, those of UDP, TCP
/// and XTP.
type Rates = [Option<f64>; 3];
const DOCUMENT: [(&str, &[(u64, Rates)]); 2] = [
    (
        "10M",
        &[
            (1023, [None, Some(7.25), None]),
            (1024, [None, Some(8.35), None]),
            (1400, [None, Some(9.91), None]),
            (2000, [None, Some(9.82), Some(9.62)]),
            (4000, [None, Some(9.00), Some(9.65)]),
            (8192, [None, None, Some(9.71)]),
            (16_384, [None, None, Some(9.77)]),
        ],
    ),
    (
        "100M",
        &[
            (1000, [Some(7.02), None, None]),
            (1023, [None, Some(8.43), None]),
            (1024, [None, Some(19.05), None]),
            (1400, [Some(10.32), Some(20.74), None]),
            (2000, [Some(13.22), Some(18.86), Some(18.01)]),
            (4000, [Some(29.03), Some(17.60), Some(19.72)]),
            (8192, [None, None, Some(20.38)]),
            (16_384, [None, None, Some(21.24)]),
        ],
    ),
];

/// What the report says of messages of this length, or of nearly this length.
fn document(place: &str, size: u64) -> Vec<Figure> {
    let near =
        |of: u64| of == size || [(1000, 1024), (2000, 2048), (4000, 4096)].contains(&(of, size));
    let links = DOCUMENT.into_iter().filter(|(name, _)| *name == place);
    let rates = links.flat_map(|(_, rates)| rates).filter(|(of, _)| near(*of));
    let told = rates.flat_map(|(_, rates)| ["UDP", "TCP", "XTP"].into_iter().zip(*rates));
    figures(told.filter_map(|(who, rate)| Some((who, rate?))), "Mb/s")
}

/// Messages of a size in a place.
struct Task {
    link: Option<(u64, u64)>,
    size: u64,
}

/// The table.
pub(super) const TABLE: &dyn AnyTable = &Table::<Task, Programs> {
    about: About {
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
        axes: Axes { x: "octets of a message", y: "Mb/s", log_x: true, log_y: false },
        limit: Limit::Work,
    },
    cells,
    open: |_, _| Programs::new(),
    measure,
};

fn cells(effort: Effort) -> Vec<Cell<Task>> {
    let cells = PLACES.into_iter().flat_map(|place| SIZES.map(|size| (place, size)));
    let chosen = cells.filter(|(_, size)| effort != Effort::Quick || *size == 1024);
    let cell = |((place, link), size)| {
        let row = Row::new(format!("{place}/{size}"), place, format!("{size} octets"), "Mb/s");
        let row = row.at(size as f64).more_is_better().beside(document(place, size));
        (row, Task { link, size })
    };
    chosen.map(cell).collect()
}

/// Which part of what is on the wire is payload of XTP, where `packet` octets are its longest
/// packet.
fn share(size: u64, packet: u64) -> f64 {
    let packets = size.div_ceil(packet - HEADER - OPENING);
    size as f64 / (size + packets * (HEADER + BELOW)) as f64
}

fn measure(
    programs: &mut Programs,
    &Task { link: path, size }: &Task,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let ends = match path {
        Some((rate, mtu)) => {
            let (mtu, queue) = (Some(mtu as usize), Queue::octets(64 * mtu));
            Ends::wire(&Conditions { mtu, queue, ..link(rate, 1) }, course.seed)?
        }
        None => Ends::Loopback,
    };
    let packet = path.map_or(1472, |(_, mtu)| mtu - BELOW);
    // A window that the queue of the link holds: XTP has no congestion control.
    let window = path.map_or(1 << 20, |(_, mtu)| 32 * mtu);
    let mut rivals = vec![
        Rival::ours(XTP, "xtp", &format!("--packet {packet} --flight {window}")),
        Rival::peer(TCP, "tcp", "--congestion cubic"),
    ];
    if size <= packet {
        rivals.push(Rival::ours("our UDP", "udp", ""));
    }
    if path.is_none() {
        rivals.push(Rival::ours(ARTP, "artp", ""));
        rivals.push(Rival::ours(PLAIN_XTP, "xtp", "--unchecked --run 0"));
        rivals.push(Rival::ours(PLAIN_ARTP, "artp", "--run 0"));
    }
    let contest = Contest { ends: &ends, programs, cores: [None; 2], may_fail: true };
    let work = Work::Bulk { size, seconds: seconds(course.effort) };
    row.columns = contest.hold(rivals, work, |it| Some(it.goodput()), course)?;
    if let Some((rate, _)) = path {
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
    row.compare(XTP, TCP, path.and(target(0.99)));
    row.compare(XTP, "our UDP", None);
    row.compare(XTP, ARTP, None);
    row.compare(PLAIN_XTP, PLAIN_ARTP, target(0.9));
    Ok(())
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
