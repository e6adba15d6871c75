//! Whether what the model loses, doubles, reorders and alters is what a receiver misses, counts and
//! refuses.

use std::thread;

use stackwright_contract::Duration;
use stackwright_results::Problem;
use stackwright_simulator::{Conditions, Loss, Reorder};

use crate::link::{Report, Wire};

use super::row::Row;
use super::{iperf, ping, snmp};

/// 20 000 datagrams in four seconds, small and with much room, so that hardly any is dropped for
/// want of time.
const DATAGRAMS: [&str; 9] =
    ["--udp", "--length", "500", "--bitrate", "20M", "--time", "4", "--window", "2M"];
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
        "ping: DUP! of 2000, 5 % duplicated each way",
        forward.icmp.duplicated + back.icmp.duplicated,
        pinged.duplicates,
        "the model's: duplicated requests, each answered twice, and duplicated answers",
    );
    Ok(vec![lost, doubled])
}

/// iperf3 numbers its datagrams: those that are missing.
pub(super) fn check_loss() -> Result<Vec<Row>, Problem> {
    let seen = datagrams(Conditions { loss: Loss::Bernoulli(0.02), ..MILLISECOND })?;
    Ok(vec![Row::equal(
        "iperf3: lost datagrams, 2 % lost",
        seen.forward.udp.lost,
        seen.missing(),
        seen.told(),
    )])
}

/// Those that come late, or once more: iperf3 tells both alike.
pub(super) fn check_order() -> Result<Vec<Row>, Problem> {
    let reorder = Reorder { probability: 0.02, by: Duration::from_millis(5) };
    let seen = datagrams(Conditions { reorder, ..MILLISECOND })?;
    // It stops reading when it is told the end, and those that are held back then come behind it.
    let out_of_order = seen.received.out_of_order;
    let note = format!(
        "iperf3's: {out_of_order} out of order, and {} that came when it had stopped",
        seen.missing()
    );
    let what = "iperf3: out of order, 2 % held back";
    let late = Row::equal(what, seen.forward.udp.reordered, out_of_order + seen.missing(), note);

    let seen = datagrams(Conditions { duplicate: 0.02, ..MILLISECOND })?;
    let Seen { received, unread, no_room, .. } = seen;
    // Each number that it saw at all it saw as often as it read a datagram of it.
    let twice = Row::equal(
        "iperf3: numbers seen before, 2 % duplicated",
        seen.forward.udp.duplicated,
        received.out_of_order + (unread + no_room).saturating_sub(seen.missing_at_all()),
        format!(
            "iperf3's: {} that it calls out of order; {unread} it has not read, for {no_room} it left no room",
            received.out_of_order
        ),
    );
    Ok(vec![late, twice])
}

/// Altered packets: the kernel finds their checksum wrong, and whoever waits for them misses them.
pub(super) fn check_altered() -> Result<Vec<Row>, Problem> {
    let altering = Conditions { corrupt: 0.02, ..MILLISECOND };
    let seen = datagrams(altering.clone())?;
    let altered = seen.forward.udp.altered;
    let udp = Row::equal("kernel: UDP with a wrong checksum, 2 %", altered, seen.wrong, "");
    let missing =
        Row::equal("iperf3: lost datagrams, 2 % altered", altered, seen.missing(), seen.told());

    let wire = Wire::up(altering.clone(), MILLISECOND, 3)?;
    ping::send(&wire, 2000, "0.002")?;
    let errors = snmp::count(&wire, "Icmp", snmp::CHECKSUM_WRONG)?;
    let [forward, _] = settle(wire)?;
    let icmp =
        Row::equal("kernel: ICMP with a wrong checksum, 2 %", forward.icmp.altered, errors, "");

    let altering = Conditions { corrupt: 1e-3, ..MILLISECOND };
    let wire = Wire::up(altering, MILLISECOND, 4)?;
    iperf::send(&wire, &["--time", "3", "--congestion", "bbr"])?;
    thread::sleep(SETTLED);
    let errors = snmp::count(&wire, "Tcp", snmp::CHECKSUM_WRONG)?;
    let [forward, _] = wire.down()?;
    let note = format!("of {} segments that came in trains of up to 45", forward.tcp.offered);
    let tcp =
        Row::equal("kernel: TCP with a wrong checksum, 0.1 %", forward.tcp.altered, errors, note);
    Ok(vec![udp, missing, icmp, tcp])
}

/// What became of iperf3's datagrams.
struct Seen {
    /// As iperf3 says it.
    received: iperf::Received,
    /// As the model does.
    forward: Report,
    /// So many the kernel found altered.
    wrong: u64,
    /// So many iperf3 has not read: they came, or it was given a processor, when it had stopped.
    unread: u64,
    /// For so many iperf3 left the kernel no room: it was not given a processor for too long.
    no_room: u64,
}

impl Seen {
    /// The numbers that iperf3 did not see; it cannot know itself of those behind the highest that
    /// it saw.
    fn missing(&self) -> u64 {
        self.missing_at_all().saturating_sub(self.no_room)
    }

    /// As [`missing`](Seen::missing), for whatever reason.
    fn missing_at_all(&self) -> u64 {
        self.received.lost + self.behind()
    }

    fn behind(&self) -> u64 {
        self.received.sent.saturating_sub(self.received.highest)
    }

    fn told(&self) -> String {
        let (lost, behind, no_room) = (self.received.lost, self.behind(), self.no_room);
        format!(
            "iperf3's: {lost} below the highest number, {behind} behind it, less {no_room} it left no room for"
        )
    }
}

/// Sends them over a link that does `forward`.
fn datagrams(forward: Conditions) -> Result<Seen, Problem> {
    let mut failed = None;
    for seed in 1..=SEEDS {
        let wire = Wire::up(forward.clone(), MILLISECOND, seed)?;
        match iperf::send(&wire, &DATAGRAMS) {
            Ok(received) => {
                thread::sleep(SETTLED);
                let wrong = snmp::count(&wire, "Udp", snmp::CHECKSUM_WRONG)?;
                let no_room = snmp::count(&wire, "Udp", snmp::NO_ROOM)?;
                let read = snmp::count(&wire, "Udp", snmp::READ)?;
                let [forward, _] = wire.down()?;
                let unread = forward.udp.delivered.saturating_sub(read + wrong + no_room);
                return Ok(Seen { received, forward, wrong, no_room, unread });
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
