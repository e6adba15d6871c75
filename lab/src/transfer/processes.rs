//! Both processes, and what they tell.

use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use serde::{Serialize, de::DeserializeOwned};
use stackwright_results::Problem;
use stackwright_simulator::Profile;

use super::station::Told;
use super::work::Work;
use crate::link::{Report, Side, Wire};

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
    let mut receiver = Running::start(wire.as_ref(), Side::B, "receiver", place, work, file)?;
    let place: Option<SocketAddr> = receiver.hear("receiver")?;
    let place = place.ok_or_else(|| Problem::new("the receiver is not listening"))?;
    let mut sender = Running::start(wire.as_ref(), Side::A, "sender", place, work, None)?;
    let sender = sender.hear("sender")?;
    drop(receiver.process.stdin.take());
    let receiver = receiver.hear("receiver")?;
    let wire = wire.map(Wire::down).transpose()?;
    Ok(Outcome { sender, receiver, wire })
}

/// A process, ended when dropped.
struct Running {
    process: Child,
    said: BufReader<ChildStdout>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Running {
    fn start(
        wire: Option<&Wire>,
        side: Side,
        role: &str,
        place: SocketAddr,
        work: &Work,
        file: Option<&Path>,
    ) -> Result<Self, Problem> {
        let program = std::env::current_exe().map_err(Problem::new)?;
        let mut command =
            wire.map_or_else(|| Command::new(&program), |wire| wire.command(side, &program));
        command.args(["transfer-station", "--role", role, "--address", &place.to_string()]);
        command.args(work.arguments());
        if let Some(file) = file {
            command.arg("--into").arg(file);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(Problem::new)?;
        let said = process.stdout.take().ok_or_else(|| Problem::new("a process has no output"))?;
        Ok(Running { process, said: BufReader::new(said) })
    }

    fn hear<T: DeserializeOwned>(&mut self, who: &str) -> Result<T, Problem> {
        let mut line = String::new();
        let read = self.said.read_line(&mut line);
        let heard = read.ok().and_then(|_| serde_json::from_str(&line).ok());
        heard.ok_or_else(|| Problem::new(format!("the {who} failed")))
    }
}
