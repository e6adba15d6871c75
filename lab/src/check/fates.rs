//! Whether what the model loses, doubles, reorders and alters is what a receiver misses, counts and refuses.

use std::thread;

use stackwright_contract::Duration;
use stackwright_simulator::{Conditions, Loss, Reorder};

use crate::link::{Report, Wire};
use crate::problem::Problem;

use super::row::Row;
use super::{iperf, ping, snmp};

/// 20 000 datagrams of 1000 octets in four seconds: far below what anybody would drop for want of time.
const DATAGRAMS: [&str; 7] = ["--udp", "--length", "1000", "--bitrate", "40M", "--time", "4"];
/// So many seeds are tried where iperf3 loses what it opens with.
const SEEDS: u64 = 5;
/// What is under way at the end has arrived after this.
const SETTLED: Duration = Duration::from_millis(200);

const MILLISECOND: Conditions = Conditions { delay: Duration::from_millis(1), ..Conditions::IDEAL };

/// ping, both ways: what is lost, and what comes twice.
pub(super) fn check_ping() -> Result<Vec<Row>, Problem> {
    let lossy = Conditions { loss: Loss::Bernoulli(0.05), ..MILLISECOND };
    let wire = Wire::up(lossy.clone(), lossy, 1)?;
    let pinged = ping::send(&wire, 2000, "0.002")?;
    let [forward, back] = settle(wire)?;
    let lost = Row::equal(
        "ping: unanswered of 2000, 5 % lost each way",
        forward.icmp.lost + back.icmp.lost,
        pinged.sent - pinged.answered,
        "the model's: lost requests, and lost answers",
    );

    let doubling = Conditions { duplicate: 0.05, ..MILLISECOND };
    let wire = Wire::up(doubling.clone(), doubling, 2)?;
    let pinged = ping::send(&wire, 2000, "0.002")?;
    let [forward, back] = settle(wire)?;
    let doubled = Row::equal(
        "ping: DUP! of 2000, 5 % doubled each way",
        forward.icmp.duplicated + back.icmp.duplicated,
        pinged.duplicates,
        "the model's: doubled requests, each answered twice, and doubled answers",
    );
    Ok(vec![lost, doubled])
}

/// iperf3 numbers its datagrams: those that are missing.
pub(super) fn check_loss() -> Result<Vec<Row>, Problem> {
    let (received, forward, _) = datagrams(Conditions { loss: Loss::Bernoulli(0.02), ..MILLISECOND })?;
    // The receiver cannot know of those behind the last that it got.
    let behind = received.sent - received.highest;
    let lost = received.lost + behind;
    let note = format!("iperf3's: {} below the highest number, {behind} behind it", received.lost);
    Ok(vec![Row::equal("iperf3: lost datagrams, 2 % lost", forward.udp.lost, lost, note)])
}

/// Those that come late, or once more: iperf3 tells both alike.
pub(super) fn check_order() -> Result<Vec<Row>, Problem> {
    let reorder = Reorder { probability: 0.02, by: Duration::from_millis(5) };
    let (received, forward, _) = datagrams(Conditions { reorder, ..MILLISECOND })?;
    let late = Row::equal(
        "iperf3: out of order, 2 % held back by 5 ms",
        forward.udp.reordered,
        received.out_of_order,
        "",
    );
    let (received, forward, _) = datagrams(Conditions { duplicate: 0.02, ..MILLISECOND })?;
    let twice = Row::equal(
        "iperf3: numbers seen before, 2 % doubled",
        forward.udp.duplicated,
        received.out_of_order,
        "iperf3 calls the second copy out of order",
    );
    Ok(vec![late, twice])
}

/// Altered packets: the kernel finds their checksum wrong, and whoever waits for them misses them.
pub(super) fn check_altered() -> Result<Vec<Row>, Problem> {
    let altering = Conditions { corrupt: 0.02, ..MILLISECOND };
    let (received, forward, errors) = datagrams(altering.clone())?;
    let behind = received.sent - received.highest;
    let udp = Row::equal("kernel: UDP with a wrong checksum, 2 %", forward.udp.altered, errors, "");
    let missing = Row::equal(
        "iperf3: lost datagrams, 2 % altered",
        forward.udp.altered,
        received.lost + behind,
        "nobody else loses any: each that was altered is missing",
    );

    let wire = Wire::up(altering.clone(), MILLISECOND, 3)?;
    ping::send(&wire, 2000, "0.002")?;
    let errors = snmp::checksum_errors(&wire, "Icmp")?;
    let [forward, _] = settle(wire)?;
    let icmp = Row::equal("kernel: ICMP with a wrong checksum, 2 %", forward.icmp.altered, errors, "");

    let altering = Conditions { corrupt: 1e-3, ..MILLISECOND };
    let wire = Wire::up(altering, MILLISECOND, 4)?;
    iperf::send(&wire, &["--time", "3", "--congestion", "bbr"])?;
    thread::sleep(SETTLED);
    let errors = snmp::checksum_errors(&wire, "Tcp")?;
    let [forward, _] = wire.down()?;
    let note = format!("of {} segments that came in trains of up to 45", forward.tcp.offered);
    let tcp = Row::equal("kernel: TCP with a wrong checksum, 0.1 %", forward.tcp.altered, errors, note);
    Ok(vec![udp, missing, icmp, tcp])
}

/// iperf3's datagrams over a link that does `forward`: what it received, what the model counted, and how many the kernel found
/// altered.
fn datagrams(forward: Conditions) -> Result<(iperf::Received, Report, u64), Problem> {
    let mut failed = None;
    for seed in 1..=SEEDS {
        let wire = Wire::up(forward.clone(), MILLISECOND, seed)?;
        match iperf::send(&wire, &DATAGRAMS) {
            Ok(received) => {
                thread::sleep(SETTLED);
                let errors = snmp::checksum_errors(&wire, "Udp")?;
                return Ok((received, wire.down()?[0], errors));
            }
            Err(problem) => failed = Some(problem),
        }
    }
    Err(failed.unwrap_or_else(|| Problem::new("no seed was tried")))
}

/// Waits until what is under way has arrived, and ends the link.
fn settle(wire: Wire) -> Result<[Report; 2], Problem> {
    thread::sleep(SETTLED);
    wire.down()
}
