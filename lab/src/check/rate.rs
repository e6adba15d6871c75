//! Whether a link has the rate that it says. A rate is one of IP packets, headers included and
//! framing not.

use stackwright_contract::Duration;
use stackwright_results::Problem;
use stackwright_simulator::{Conditions, Queue};

use crate::link::Wire;

use super::row::Row;
use super::{iperf, snmp};

/// Bits per second, and how they are said.
const RATES: [(u64, &str); 3] =
    [(10_000_000, "10 Mb/s"), (100_000_000, "100 Mb/s"), (1_000_000_000, "1 Gb/s")];
/// What a full packet of 1500 octets has for payload under TCP with timestamps.
const SHARE_OF_TCP: f64 = 1448.0 / 1500.0;
/// So often at most.
const TRIES: u32 = 3;
/// Octets of the headers of IPv4 and UDP.
const UDP_HEADERS: usize = 28;

/// Of TCP, once it has started.
pub(super) fn check_tcp() -> Result<Vec<Row>, Problem> {
    let each = RATES.map(|(rate, told)| {
        let wire = Wire::up(conditions(rate), conditions(rate), 1)?;
        let received =
            iperf::send(&wire, &["--time", "4", "--omit", "1", "--congestion", "cubic"])?;
        let note = "IP packets with their headers: iperf3's payload by 1500 / 1448";
        Ok(row(rate, format!("TCP at {told}"), received.bits_per_second / SHARE_OF_TCP, note))
    });
    each.into_iter().collect()
}

/// Of UDP that offers a fifth more. At 1 Gb/s its packets are long ones: a hundred thousand a
/// second are more than two processors send, carry and receive beside other work.
pub(super) fn check_udp() -> Result<Vec<Row>, Problem> {
    RATES.map(|(rate, told)| datagrams(rate, told)).into_iter().collect()
}

/// What iperf3 drops itself, since it is not given a processor in time, is no matter of the link:
/// it is tried again then, and the last try counts.
fn datagrams(rate: u64, told: &str) -> Result<Row, Problem> {
    let mtu = if rate < 1_000_000_000 { 1500 } else { 9000 };
    let (offered, payload) = ((rate * 12 / 10).to_string(), mtu - UDP_HEADERS);
    let length = payload.to_string();
    let arguments =
        ["--udp", "--length", &length, "--bitrate", &offered, "--time", "4", "--omit", "1"];
    let mut tries = 0;
    loop {
        tries += 1;
        // So much may wait that the link has work while iperf3 has no processor.
        let queue = Queue::octets(rate / 8 / 5);
        let conditions = Conditions { mtu: Some(mtu), queue, ..conditions(rate) };
        let wire = Wire::up(conditions.clone(), conditions, 1)?;
        let received = iperf::send(&wire, &[&arguments[..], &["--window", "2M"]].concat())?;
        let no_room = snmp::count(&wire, "Udp", snmp::NO_ROOM)?;
        let [forward, _] = wire.down()?;
        if no_room > 0 && tries < TRIES {
            continue;
        }
        let bits = received.bits_per_second * mtu as f64 / payload as f64;
        let (dropped, offered) = (forward.udp.queue_drops, forward.udp.offered);
        let note = format!(
            "packets of {mtu} octets with their headers; the queue dropped {dropped} of {offered}, iperf3 \
             {no_room}, in try {tries}"
        );
        return Ok(row(rate, format!("UDP at {told}"), bits, &note));
    }
}

/// A queue of 20 ms: long enough that TCP never leaves the link idle, and soon full.
fn conditions(rate: u64) -> Conditions {
    let queue = Queue::octets((rate / 8 / 50).max(30_000));
    Conditions { rate: Some(rate / 8), queue, delay: Duration::from_millis(1), ..Conditions::IDEAL }
}

fn row(rate: u64, what: String, bits: f64, note: &str) -> Row {
    let ratio = bits / rate as f64;
    Row {
        what,
        target: "within 2 %".into(),
        measured: format!("{:.2} Mb/s, {:+.2} %", bits / 1e6, (ratio - 1.0) * 100.0),
        holds: (0.98..=1.02).contains(&ratio),
        note: note.into(),
    }
}
