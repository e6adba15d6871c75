//! The documents' numbers for file transfer, each of PIX, x-Kernel and NcFTP.

use stackwright_results::outcome::{Figure, figures};

/// Where the numbers of [`SECONDS`] and the others are from.
pub(super) const LATENCY: &str =
    "thesis of 2003, table 5.3 and figures 5.5 and 5.6 (100 Mb/s Ethernet)";
pub(super) const THROUGHPUT: &str = "thesis of 2003, table 5.4 (100 Mb/s Ethernet)";
pub(super) const MEMORY: &str = "thesis of 2003, table 5.5 (resident, by top)";

/// Seconds, for the eight sizes from 1 octet on.
pub(super) const SECONDS: [[f64; 3]; 8] = [
    [0.0353, 0.0348, 0.0341],
    [0.0358, 0.0353, 0.0342],
    [0.0375, 0.037, 0.0361],
    [0.0413, 0.0407, 0.0391],
    [0.047, 0.0454, 0.0436],
    [0.118, 0.115, 0.11],
    [0.965, 0.937, 0.9],
    [10.45, 10.17, 9.75],
];

/// Megabits (of 1024 × 1024 bits) a second, for the six sizes from 1 kB on.
pub(super) const MEGABITS: [[f64; 3]; 6] = [
    [0.208, 0.211, 0.216],
    [1.89, 1.92, 2.00],
    [16.62, 17.21, 17.92],
    [67.80, 69.57, 72.73],
    [82.90, 85.38, 88.89],
    [76.55, 78.66, 82.05],
];

/// Kilobytes: of the server at first, of the server and the client at the peak of a transfer of
/// 100 MB.
pub(super) const IDLE_SERVER: [f64; 3] = [768.0, 672.0, 1288.0];
pub(super) const BUSY_SERVER: [f64; 3] = [804.0, 688.0, 1288.0];
pub(super) const BUSY_CLIENT: [f64; 3] = [904.0, 700.0, 1224.0];

/// Numbers as a row has them beside its own.
pub(super) fn told(numbers: [f64; 3], unit: &str) -> Vec<Figure> {
    figures(["PIX", "x-Kernel", "NcFTP"].into_iter().zip(numbers), unit)
}
