//! How much TCP a link carries that delays and loses.

use stackwright_contract::Duration;
use stackwright_results::Problem;
use stackwright_simulator::{Conditions, Loss};

use crate::link::Wire;

use super::iperf;
use super::row::Row;

/// Bits per second.
const LEAST: f64 = 1e9;

/// A millisecond each way and no limit of rate, so that what limits is the lab, or TCP itself.
///
/// CUBIC falls back at each loss: by the rule of Mathis et al. (1997), 1448 octets, 2 ms and one
/// loss in 10 000 allow no more than 0.7 Gb/s, whatever carries them; so it gets one in 100 000.
/// BBR does not take loss for congestion.
pub(super) fn check() -> Result<Vec<Row>, Problem> {
    let cases = [("bbr", 1e-4, "0.01 %"), ("cubic", 1e-5, "0.001 %")];
    let rows = cases.map(|(control, loss, told)| {
        let delay = Duration::from_millis(1);
        let conditions = Conditions { delay, loss: Loss::Bernoulli(loss), ..Conditions::IDEAL };
        let wire = Wire::up(conditions.clone(), conditions, 1)?;
        let received = iperf::send(&wire, &["--time", "5", "--congestion", control])?;
        let [forward, _] = wire.down()?;
        let lost = forward.tcp.lost;
        Ok(Row {
            what: format!("TCP ({control}), 1 ms each way, {told} lost"),
            target: "at least 1 Gb/s".into(),
            measured: format!("{:.2} Gb/s", received.bits_per_second / 1e9),
            // Where nothing was lost, the loss was not on.
            holds: received.bits_per_second >= LEAST && lost > 0,
            note: format!("{lost} of {} segments were lost", forward.tcp.offered),
        })
    });
    rows.into_iter().collect()
}
