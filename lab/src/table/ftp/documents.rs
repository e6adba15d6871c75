//! The documents' numbers for file transfer.

use stackwright_results::outcome::Figure;

/// Where the numbers of [`latency`] and the others are from.
pub(super) const LATENCY: &str =
    "thesis of 2003, table 5.3 and figures 5.5 and 5.6 (100 Mb/s Ethernet)";
pub(super) const THROUGHPUT: &str = "thesis of 2003, table 5.4 (100 Mb/s Ethernet)";
pub(super) const MEMORY: &str = "thesis of 2003, table 5.5 (resident, by top)";

/// Whose numbers.
const WHO: [&str; 3] = ["PIX", "x-Kernel", "NcFTP"];

/// Seconds, for the eight sizes from 1 octet on.
const SECONDS: [[f64; 8]; 3] = [
    [0.0353, 0.0358, 0.0375, 0.0413, 0.047, 0.118, 0.965, 10.45],
    [0.0348, 0.0353, 0.037, 0.0407, 0.0454, 0.115, 0.937, 10.17],
    [0.0341, 0.0342, 0.0361, 0.0391, 0.0436, 0.11, 0.9, 9.75],
];

/// Megabits (of 1024 × 1024 bits) a second, for the six sizes from 1 kB on.
const MEGABITS: [[f64; 6]; 3] = [
    [0.208, 1.89, 16.62, 67.80, 82.90, 76.55],
    [0.211, 1.92, 17.21, 69.57, 85.38, 78.66],
    [0.216, 2.00, 17.92, 72.73, 88.89, 82.05],
];

/// Kilobytes: of the server and the client at first, of both at the peak of a transfer of 100 MB.
const KILOBYTES: [[f64; 4]; 3] =
    [[768.0, 848.0, 804.0, 904.0], [672.0, 664.0, 688.0, 700.0], [1288.0, 1152.0, 1288.0, 1224.0]];

fn column<const N: usize>(
    numbers: &[[f64; N]; 3],
    place: Option<usize>,
    unit: &str,
) -> Vec<Figure> {
    let rows = WHO.iter().zip(numbers);
    let figure = |(who, row): (&&str, &[f64; N])| {
        Some(Figure { who: (*who).into(), value: *row.get(place?)?, unit: unit.into() })
    };
    rows.filter_map(figure).collect()
}

/// How long a file of so many octets takes.
pub(super) fn latency(octets: usize) -> Vec<Figure> {
    column(&SECONDS, super::sizes().iter().position(|size| size.octets == octets), "s")
}

/// How fast it travels.
pub(super) fn throughput(octets: usize) -> Vec<Figure> {
    let place = super::sizes().iter().position(|size| size.octets == octets);
    column(&MEGABITS, place.and_then(|place| place.checked_sub(2)), "Mb/s")
}

/// Which of the four numbers of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Held {
    IdleServer = 0,
    BusyServer = 2,
    BusyClient = 3,
}

/// How much memory is held.
pub(super) fn memory(held: Held) -> Vec<Figure> {
    column(&KILOBYTES, Some(held as usize), "kB")
}
