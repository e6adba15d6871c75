//! Whether packets are under way as long as the model says.

use std::thread;

use stackwright_contract::Duration;
use stackwright_results::Problem;
use stackwright_simulator::{Conditions, Queue};

use crate::link::Wire;

use super::row::Row;
use super::{iperf, ping};

/// Milliseconds each way.
const DELAYS: [u64; 4] = [0, 5, 50, 270];

/// Nothing else is on the link: a ping takes both delays.
pub(super) fn check_idle() -> Result<Vec<Row>, Problem> {
    let each = DELAYS.map(|delay| {
        let conditions = Conditions { delay: Duration::from_millis(delay), ..Conditions::IDEAL };
        let wire = Wire::up(conditions.clone(), conditions, 1)?;
        let pinged = ping::send(&wire, 101, "0.02")?;
        let what = format!("median ping, idle, {delay} ms each way");
        Ok(Row::within_a_millisecond(what, 2.0 * delay as f64, pinged.median(), ""))
    });
    each.into_iter().collect()
}

/// TCP keeps a queue full: a ping takes as long as the model says of the very same packets,
/// requests and answers.
pub(super) fn check_full() -> Result<Vec<Row>, Problem> {
    let cases = [
        ("20 Mb/s, 64 kB queued", 20_000_000, Queue::octets(64_000)),
        ("200 Mb/s, 500 kB queued", 200_000_000, Queue::octets(500_000)),
    ];
    let each = cases.map(|(told, rate, queue)| {
        let delay = Duration::from_millis(5);
        let conditions = Conditions { rate: Some(rate / 8), queue, delay, ..Conditions::IDEAL };
        let mut wire = Wire::up(conditions.clone(), conditions, 1)?;
        let pinged = thread::scope(|scope| {
            let filled = scope.spawn(|| iperf::send(&wire, &["--time", "6", "--congestion", "cubic"]));
            // The queue fills in the first second.
            thread::sleep(Duration::from_secs(1));
            let pinged = ping::send(&wire, 201, "0.02");
            filled.join().unwrap_or_else(|_| Err(Problem::new("filling the link panicked")))?;
            pinged
        })?;
        let [forward, back] = wire.report()?;
        let logged = forward.icmp.transit.median_ms + back.icmp.transit.median_ms;
        let what = format!("median ping, full, {told}");
        let note = format!(
            "to be: what the model says of these packets; half of all were written more than {:.3} ms late, 5 % \
             more than {:.3} ms",
            forward.late.median_ms, forward.late.p95_ms
        );
        Ok(Row::within_a_millisecond(what, logged, pinged.median(), note))
    });
    each.into_iter().collect()
}
