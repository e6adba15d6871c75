//! A picture, servers of it over each transport, and clients that fetch it once.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use indicatif::ProgressBar;
use stackwright_drivers::tcp::has_congestion;
use stackwright_programs::picture::Picture;
use stackwright_programs::processes::Running;
use stackwright_programs::scratch::Scratch;
use stackwright_results::Problem;
use stackwright_simulator::{Conditions, Queue};

use super::adus::{self, HEAD};
use super::programs::{self, ADAPTIVE, ADAPTIVE_SERVER, SERVER, TAILORED, TCP, TCP_SERVER};
use crate::link::Side;
use crate::measure::Contestant;
use crate::table::lossy::Lossy;
use crate::table::transports::Ends;

/// Octets per second of a link that is long: 20 Mb/s.
pub(super) const FAR_RATE: u64 = 2_500_000;

pub(super) const OURS: &str = "JIS";
pub(super) const CHANGING: &str = "JIS, adaptive";
pub(super) const CUBIC: &str = "TCP, cubic";
pub(super) const BBR: &str = "TCP, bbr";

/// A picture in a folder.
pub(super) struct Gallery {
    folder: Scratch,
    file: Vec<u8>,
}

impl Gallery {
    /// Writes the picture, and builds the programs.
    pub(super) fn of(picture: Picture) -> Result<Self, Problem> {
        programs::build()?;
        let (folder, file) = (Scratch::new(), picture.file(1));
        std::fs::write(folder.join("picture.jpg"), &file).map_err(Problem::new)?;
        Ok(Gallery { folder, file })
    }

    /// Returns the octets of its ADUs, each of `most` at most.
    pub(super) fn adus(&self, most: usize) -> Result<usize, Problem> {
        adus::octets(&self.file, most)
    }

    /// Starts the servers of those that take part, and of no TCP that this system lacks.
    pub(super) fn serve(
        &self,
        ends: &Ends,
        who: &[&'static str],
        progress: &ProgressBar,
    ) -> Result<Vec<Served>, Problem> {
        let mut served = Vec::new();
        for (name, client, server, congestion) in [
            (OURS, TAILORED, SERVER, None),
            (CHANGING, ADAPTIVE, ADAPTIVE_SERVER, None),
            (CUBIC, TCP, TCP_SERVER, Some("cubic")),
            (BBR, TCP, TCP_SERVER, Some("bbr")),
        ] {
            match congestion.filter(|name| !has_congestion(name)) {
                _ if !who.contains(&name) => {}
                Some(lacked) => progress.suspend(|| {
                    eprintln!("lab: skipping {name}: this system’s TCP has no {lacked}");
                }),
                None => {
                    let server = self.start(ends, server, congestion)?;
                    served.push(Served { name, client, server });
                }
            }
        }
        Ok(served)
    }

    fn start(&self, ends: &Ends, name: &str, congestion: Option<&str>) -> Result<Server, Problem> {
        let place = SocketAddr::from((ends.address(Side::B), 0));
        let mut command = ends.command(Side::B, programs::path(name).as_os_str(), None);
        command.arg(place.to_string()).arg(self.folder.join("picture.jpg"));
        command.envs(congestion.map(|name| ("CONGESTION", name)));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = Running::try_start(&mut command).map_err(Problem::new)?;
        let mut line = String::new();
        BufReader::new(process.output()).read_line(&mut line).map_err(Problem::new)?;
        let place = line.trim().parse();
        let place = place.map_err(|_| Problem::new(format!("{name} says {line:?}")))?;
        Ok(Server { _process: process, place })
    }
}

/// A server, killed when dropped.
struct Server {
    _process: Running,
    place: SocketAddr,
}

/// One that takes part: a server, and the client that goes with it.
pub(super) struct Served {
    pub(super) name: &'static str,
    client: &'static str,
    server: Server,
}

/// What a fetch took, from the opening on, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fetch {
    /// Until all is painted.
    pub(super) whole: f64,
    /// Until the first units are.
    pub(super) first: f64,
}

impl Served {
    /// Fetches the picture once; an ADU has at most `adu` octets.
    pub(super) fn fetch(&self, ends: &Ends, adu: usize) -> Result<Fetch, Problem> {
        let client = self.client;
        let mut command: Command = ends.command(Side::A, programs::path(client).as_os_str(), None);
        let place = self.server.place.to_string();
        command.args([&place, "picture.jpg", "1", &(adu - HEAD).to_string()]);
        let output = command.output().map_err(|why| Problem::new(format!("{client}: {why}")))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut numbers = text.split_whitespace().skip(1).map(str::parse);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(whole)), Some(Ok(first))) => Ok(Fetch { whole, first }),
            _ => {
                let said = String::from_utf8_lossy(&output.stderr);
                Err(Problem::new(format!("{client} failed: {}", said.trim())))
            }
        }
    }

    /// Lets it take part with what `run` measures.
    pub(super) fn contestant<'a>(
        &self,
        run: impl FnMut() -> Result<f64, Problem> + 'a,
    ) -> Contestant<'a> {
        Contestant::new(self.name, [OURS, CHANGING].contains(&self.name), run)
    }
}

/// A modelled link with a queue of a round trip, 256 packets at least.
pub(super) fn wire(lossy: &Lossy, rate: u64, seed: u64) -> Result<Ends, Problem> {
    let queue = Queue::octets(lossy.product(rate).max(256 * 1500));
    Ends::wire(&Conditions { queue, ..lossy.link(rate) }, seed)
}
