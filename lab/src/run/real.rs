//! A scenario on real sockets: a wire with its figures, and a process at each end.

use std::path::Path;
use std::thread;
use std::time::Duration;

use serde_json::json;
use stackwright_results::Problem;
use stackwright_simulator::{Profile, Traffic};

use super::outcome::{FlowOutcome, Outcome};
use super::process::Process;
use super::station::{ClientSays, ServerSays};
use crate::link::{Report, Side, Wire};
use crate::scenario::Scenario;
use crate::workload::End;

/// How long the rest of what is under way may take to arrive when the client is done, beside the
/// delay of the wire.
const LINGER: Duration = Duration::from_millis(500);

/// Runs a scenario between two stations over a wire. `path` and `sets` are where it was read from.
///
/// # Errors
/// Where the scenario needs more than one link, or a right or a program is missing.
pub(crate) fn run(
    scenario: &Scenario,
    path: &Path,
    sets: &[String],
    seed: u64,
) -> Result<Outcome, Problem> {
    let [link] = &scenario.links[..] else {
        return Err(Problem::usage("--real needs exactly one link, between two stations"));
    };
    let Profile::Link { forward, back } = link.profile.clone() else {
        return Err(Problem::usage("a shared channel can only be simulated: leave out --real"));
    };
    if scenario.faults.is_some() {
        return Err(Problem::usage("listed faults can only be simulated: leave out --real"));
    }
    if scenario.flows.iter().any(|flow| flow.from != link.between[0]) {
        return Err(Problem::usage(
            "with --real, all flows must start at the first station of the link",
        ));
    }
    let delay = forward.delay + back.delay;
    let mut wire = Wire::up(forward, back, seed)?;
    let mut server = station(&wire, Side::B, "server", path, sets, seed)?;
    if !server.hear::<String>().is_ok_and(|says| says == "listening") {
        return Err(Problem::new("the server did not start"));
    }
    let mut client = station(&wire, Side::A, "client", path, sets, seed)?;
    let told: Vec<ClientSays> = client.hear()?;
    thread::sleep(LINGER + delay);
    let ends: Vec<_> = told.iter().map(|told| &told.ends).collect();
    server.tell(&ends)?;
    let heard: Vec<ServerSays> = server.hear()?;
    let ended = told.iter().flat_map(|told| &told.ends).all(|end| *end != End::Missing);
    let reports = wire.report()?;
    // The link does not tell flows apart.
    let traffic = (told.len() == 1).then(|| reports.each_ref().map(traffic));
    let flows = told.into_iter().zip(heard);
    let flows = flows.map(|(client, server)| FlowOutcome {
        account: client.account,
        ends: client.ends.iter().collect(),
        reliable: server.reliable,
        counts: server.counts,
        took: server.last.zip(client.began).map(|(last, began)| last.saturating_sub(began)),
        under_way: None,
        duplicates: client.duplicates + server.duplicates,
        traffic,
        broken: server.broken.or(client.broken),
    });
    let flows = flows.collect();
    let [here, there] = [link.between[0], link.between[1]].map(|at| &scenario.stations[at]);
    let links = reports.iter().zip([(here, there), (there, here)]).map(|(report, (from, to))| {
        let mut link = json!(report);
        (link["from"], link["to"]) = (json!(from), json!(to));
        link
    });
    let links = links.collect();
    Ok(Outcome { seed, ended, flows, links, trace: None })
}

/// What was sent one way, by the protocols that flows use.
fn traffic(report: &Report) -> Traffic {
    let [udp, tcp] = [report.udp, report.tcp];
    Traffic { packets: udp.offered + tcp.offered, octets: udp.octets_offered + tcp.octets_offered }
}

fn station(
    wire: &Wire,
    side: Side,
    role: &'static str,
    path: &Path,
    sets: &[String],
    seed: u64,
) -> Result<Process, Problem> {
    Process::start(role, Some((wire, side)), |command| {
        command.arg("station").arg(path).args(["--role", role, "--seed", &seed.to_string()]);
        command.args(["--address", &wire.address(Side::B).to_string()]);
        command.args(sets.iter().flat_map(|set| ["--set", set]));
    })
}
