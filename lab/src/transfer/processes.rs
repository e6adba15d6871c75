//! Both processes, and what they tell.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use serde::Serialize;
use stackwright_results::Problem;
use stackwright_simulator::Profile;

use super::station::Told;
use super::work::Work;
use crate::link::{Report, Side, Wire};
use crate::run::Process;

/// What came of a transfer.
#[derive(Serialize, Debug)]
pub(super) struct Outcome {
    pub(super) sender: Told,
    pub(super) receiver: Told,
    /// What became of the packets, forward and back, where there was a wire.
    pub(super) wire: Option<[Report; 2]>,
}

impl Outcome {
    /// Whether all arrived as it was sent.
    pub(super) fn check(&self, work: &Work) -> Result<(), Problem> {
        let Outcome { sender, receiver, .. } = self;
        let wrong = [
            (receiver.datagrams < work.datagrams(), "datagrams were lost"),
            (receiver.doubled > 0, "datagrams were duplicated"),
            (receiver.octets != work.octets, "the number of octets differs"),
            (receiver.sum != sender.sum, "datagrams were altered"),
        ];
        match wrong.into_iter().find(|(is, _)| *is) {
            Some((_, what)) => Err(Problem::new(format!("{what}: {self:?}"))),
            None => Ok(()),
        }
    }
}

/// The port of the receiver on a wire.
const PORT: u16 = 7000;

/// Sends what is to be sent, over `wire` or the loopback interface, and into `file`.
pub(super) fn run(
    work: &Work,
    wire: Option<&Profile>,
    file: Option<&Path>,
) -> Result<Outcome, Problem> {
    let wire = wire.map(|profile| Wire::over(profile, work.seed)).transpose()?;
    let place = match &wire {
        Some(wire) => SocketAddr::new(wire.address(Side::B), PORT),
        None => SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
    };
    let start = |role, side, place: SocketAddr, file: Option<&Path>| {
        Process::start(role, wire.as_ref().map(|wire| (wire, side)), |command| {
            command.args(["transfer-station", "--role", role, "--address", &place.to_string()]);
            command.args(work.arguments());
            command.args(file.into_iter().flat_map(|file| [Path::new("--into"), file]));
        })
    };
    let mut receiver = start("receiver", Side::B, place, file)?;
    let place: Option<SocketAddr> = receiver.hear()?;
    let place = place.ok_or_else(|| Problem::new("the receiver is not listening"))?;
    let sender = start("sender", Side::A, place, None)?.hear()?;
    receiver.end();
    let receiver = receiver.hear()?;
    let wire = wire.map(Wire::down).transpose()?;
    Ok(Outcome { sender, receiver, wire })
}
