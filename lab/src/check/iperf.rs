//! iperf3: fills a link with TCP or UDP, and numbers its datagrams.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use serde::Deserialize;
use stackwright_results::Problem;

use crate::link::{Side, Wire};

/// A server at the second side, for one client. It is ended when this is dropped.
struct Server {
    process: Child,
    /// What it says until it ends.
    says: Option<JoinHandle<Vec<String>>>,
}

impl Server {
    /// One that listens already.
    fn start(wire: &Wire) -> Result<Server, Problem> {
        let cannot = |error: std::io::Error| Problem::new(format!("cannot start iperf3: {error}"));
        let mut command = wire.command(Side::B, "iperf3");
        let mut process = command
            .args(["--server", "--one-off", "--forceflush"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(cannot)?;
        let output =
            process.stdout.take().ok_or_else(|| Problem::new("iperf3 has no output pipe"))?;
        let mut server = Server { process, says: None };
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        if !lines.by_ref().any(|line| line.contains("listening")) {
            return Err(Problem::new("the iperf3 server ended at once"));
        }
        server.says = Some(thread::spawn(move || lines.collect()));
        Ok(server)
    }

    /// What it has said, once its client has ended.
    fn said(mut self) -> Vec<String> {
        self.says.take().and_then(|says| says.join().ok()).unwrap_or_default()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// What the receiver got.
#[derive(Clone, Copy, Debug)]
pub(super) struct Received {
    /// Payload, in bits per second, while it was received.
    pub(super) bits_per_second: f64,
    /// Of UDP: how many datagrams the sender numbered.
    pub(super) sent: u64,
    /// Of UDP: how many numbers are missing before the highest that came.
    pub(super) lost: u64,
    /// Of UDP: the highest number that came.
    pub(super) highest: u64,
    /// Of UDP: how many came with a number not above the highest before.
    pub(super) out_of_order: u64,
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    end: End,
    error: Option<String>,
}

#[derive(Deserialize, Default)]
struct End {
    sum_sent: Sum,
    sum_received: Sum,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Sum {
    bits_per_second: f64,
    packets: u64,
    lost_packets: u64,
}

/// Sends from the first side to the second, as `arguments` say.
///
/// # Errors
///
/// With what iperf3 complains of.
pub(super) fn send(wire: &Wire, arguments: &[&str]) -> Result<Received, Problem> {
    let server = Server::start(wire)?;
    let said = client(wire, arguments).output();
    let said = said.map_err(|error| Problem::new(format!("cannot start iperf3: {error}")))?;
    let document = serde_json::from_slice::<Document>(&said.stdout)
        .map_err(|error| Problem::new(format!("cannot read the output of iperf3: {error}")))?;
    if let Some(error) = document.error {
        return Err(Problem::new(format!("iperf3 {}: {error}", arguments.join(" "))));
    }
    let End { sum_sent, sum_received } = document.end;
    Ok(Received {
        bits_per_second: sum_received.bits_per_second,
        sent: sum_sent.packets,
        lost: sum_received.lost_packets,
        highest: sum_received.packets,
        out_of_order: out_of_order(&server.said()),
    })
}

/// The client of [`send`], to be started beside something else.
fn client(wire: &Wire, arguments: &[&str]) -> Command {
    let mut command = wire.command(Side::A, "iperf3");
    command.args(["--client", &wire.address(Side::B).to_string(), "--json"]).args(arguments);
    command
}

/// The server says it in its text only: `99 datagrams received out-of-order`.
fn out_of_order(said: &[String]) -> u64 {
    let words =
        said.iter().filter_map(|line| line.strip_suffix(" datagrams received out-of-order"));
    words.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).next_back().unwrap_or(0)
}
