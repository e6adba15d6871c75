//! The receiving end: counts, and answers where answers are asked for.

use std::sync::Arc;

use rusty_enet::{EventNoRef, Packet};

use super::host::Host;
use crate::plan::{Plan, Workload};
use crate::problem::Problem;
use crate::tally::Tally;

pub(super) fn serve(mut host: Host, plan: &Plan, tally: &Tally) -> Result<(), Problem> {
    let message: Arc<[u8]> = plan.message().into();
    // Acknowledgements and farewells still leave while the sender is there.
    while !tally.is_gone() {
        while let Some(event) = host.event()? {
            match event {
                EventNoRef::Receive { peer, packet, .. } => {
                    tally.count(packet.data().len());
                    if plan.workload != Workload::Bulk {
                        host.send(peer, &Packet::reliable(Box::new(Arc::clone(&message))))?;
                        host.flush();
                    }
                }
                EventNoRef::Disconnect { .. }
                    if plan.workload == Workload::Bulk && !tally.is_over() =>
                {
                    return Err(Problem::new("ENet gave the association up"));
                }
                EventNoRef::Connect { .. } | EventNoRef::Disconnect { .. } => {}
            }
        }
        host.wait()?;
    }
    Ok(())
}
