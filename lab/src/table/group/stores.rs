//! Three members of a store, ours and etcd, and the programs that load them.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, thread};

use stackwright_programs::processes::{Running, eventually, find, run, stackwright};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::free_ports;
use stackwright_results::Problem;

use crate::table::ftp::processor_time;

pub(super) const OURS: &str = "stackwright";
pub(super) const ETCD: &str = "etcd";

/// How long members may take until they agree for the first time.
const LONG: Duration = Duration::from_secs(30);
/// Files are in memory here.
const MEMORY: &str = "/dev/shm";

/// What clients do.
#[derive(Clone, Copy)]
pub(super) struct Load {
    /// Else they read.
    pub(super) writes: bool,
    pub(super) clients: u32,
}

/// What came of it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Figures {
    /// Requests a second.
    pub(super) rate: f64,
    /// From a request to its answer, in seconds.
    pub(super) median: f64,
    /// Of all members for each request, in seconds.
    pub(super) processor: f64,
}

/// Ours, and etcd where it is installed.
pub(super) struct Stores {
    ours: Store,
    etcd: Option<Store>,
}

/// Three members.
pub(super) struct Store {
    pub(super) name: &'static str,
    members: Vec<Running>,
    /// Where clients come: at the first of ours, at any of etcd's.
    at: Vec<SocketAddr>,
    /// The program that loads them.
    program: PathBuf,
    _folder: Option<Scratch>,
}

impl Stores {
    /// Starts all that is installed, and waits until all members take part.
    pub(super) fn up(notes: &mut Vec<String>) -> Result<Self, Problem> {
        let Some(redis) = find("redis-benchmark") else {
            return Err(Problem::new("redis-benchmark is not installed")
                .advise("`tests/strangers/install redis-benchmark` installs it"));
        };
        let ours = Store::ours(redis)?;
        let etcd = match (find("etcd"), benchmark()) {
            (Some(etcd), Some(benchmark)) => Some(Store::etcd(&etcd, benchmark)?),
            (None, _) => {
                notes.push("etcd is not installed (Debian: etcd-server), and left out.".into());
                None
            }
            (_, None) => {
                let install = format!("go install go.etcd.io/etcd/tools/benchmark@{VERSION}");
                notes.push(format!("etcd was left out, without its `benchmark` (`{install}`)."));
                None
            }
        };
        Ok(Stores { ours, etcd })
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Store> {
        [&self.ours].into_iter().chain(&self.etcd)
    }
}

/// The last version of etcd 3.4 whose tools the module proxy names.
const VERSION: &str = "v0.0.0-20200520232829-54ba9589114f";

/// Returns etcd's program for load, which Go installs where a shell may not look.
fn benchmark() -> Option<PathBuf> {
    let home = |name: &str, below: &str| env::var_os(name).map(|at| PathBuf::from(at).join(below));
    let places = [home("GOBIN", ""), home("GOPATH", "bin"), home("HOME", "go/bin")];
    let installed = places.into_iter().flatten().map(|folder| folder.join("benchmark"));
    find("benchmark").into_iter().chain(installed).find(|file| file.is_file())
}

impl Store {
    fn ours(program: PathBuf) -> Result<Self, Problem> {
        let sockets = [(); 3].map(|()| UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)));
        let mut addresses = Vec::new();
        for socket in &sockets {
            let socket = socket.as_ref().map_err(Problem::new)?;
            addresses.push(socket.local_addr().map_err(Problem::new)?.to_string());
        }
        drop(sockets);
        let (mut members, mut at) = (Vec::new(), Vec::new());
        for (place, own) in addresses.iter().enumerate() {
            let others: Vec<_> =
                addresses.iter().filter(|one| *one != own).map(String::as_str).collect();
            let mut command = Command::new(stackwright());
            command.args(["group", "store", "--json", "--redis", "127.0.0.1:0", "--at", own]);
            command.args(["--with", &others.join(",")]).args((place > 0).then_some("--join"));
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
            let mut running = Running::try_start(&mut command).map_err(Problem::new)?;
            let mut said = BufReader::new(running.output()).lines();
            let line = said.next().and_then(Result::ok).unwrap_or_default();
            let line: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
            let redis = line["redis"].as_str().and_then(|redis| redis.parse().ok());
            at.push(redis.ok_or_else(|| Problem::new("`group store` did not start"))?);
            // It must not stop at a full pipe.
            thread::spawn(move || said.all(|line| line.is_ok()));
            members.push(running);
        }
        let all_vote = |one: &SocketAddr| says(*one, "INFO\r\n", "\nvoters:3\r\n");
        if !eventually(LONG, || at.iter().all(all_vote)) {
            return Err(Problem::new("the replicas of `group store` do not come together"));
        }
        // The first began the group, and orders its writes.
        at.truncate(1);
        let store = Store { name: OURS, members, at, program, _folder: None };
        // What is read.
        store.loaded(Load { writes: true, clients: 1 }, 1)?;
        Ok(store)
    }

    fn etcd(etcd: &Path, program: PathBuf) -> Result<Self, Problem> {
        let in_memory = Path::new(MEMORY);
        let folder = if in_memory.is_dir() { Scratch::below(in_memory) } else { Scratch::new() };
        let ports = free_ports::<6>(false);
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let cluster = [0, 1, 2].map(|place| format!("m{place}={}", url(ports[place]))).join(",");
        let (mut members, mut at) = (Vec::new(), Vec::new());
        for place in 0..3 {
            let (name, peers) = (format!("m{place}"), url(ports[place]));
            let (clients, port) = (url(ports[place + 3]), ports[place + 3]);
            let mut command = Command::new(etcd);
            command.arg("--data-dir").arg(folder.join(&name)).args(["--name", &name]);
            command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
            command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
            command.args([
                "--initial-cluster",
                &cluster,
                "--logger",
                "zap",
                "--log-level",
                "error",
            ]);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            members.push(Running::try_start(&mut command).map_err(Problem::new)?);
            at.push(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        }
        let is_well =
            |one: &SocketAddr| says(*one, "GET /health HTTP/1.0\r\n\r\n", r#""health":"true""#);
        // What is read: its program writes under names that its command line cannot say.
        let value = format!(r#"{{"key":"a2V5","value":"{}eA=="}}"#, "eHh4".repeat(21));
        let put = format!("POST /v3/kv/put HTTP/1.0\r\nContent-Length: {}\r\n\r\n", value.len());
        let is_there = || says(at[0], &format!("{put}{value}"), r#""revision""#);
        if !eventually(LONG, || at.iter().all(is_well) && is_there()) {
            return Err(Problem::new("the members of etcd do not come together"));
        }
        Ok(Store { name: ETCD, members, at, program, _folder: Some(folder) })
    }

    /// Loads it, for about half a second times `scale` on a machine of two cores.
    pub(super) fn load(&self, load: Load, scale: u32) -> Result<Figures, Problem> {
        let requests = match (self.name == OURS, load.clients > 1, load.writes) {
            (true, true, true) => 25_000,
            (true, true, false) => 50_000,
            (true, false, _) => 3_000,
            (false, true, _) => 5_000,
            (false, false, _) => 1_000,
        };
        self.loaded(load, requests * scale)
    }

    fn loaded(&self, load: Load, requests: u32) -> Result<Figures, Problem> {
        let is_ours = self.name == OURS;
        let mut command = Command::new(&self.program);
        let (clients, total) = (load.clients.to_string(), requests.to_string());
        if is_ours {
            let work = if load.writes { "set" } else { "get" };
            command.args(["-p", &self.at[0].port().to_string(), "--csv", "-t", work, "-d", "64"]);
            command.args(["-c", &clients, "-n", &total]);
        } else {
            let all: Vec<_> = self.at.iter().map(SocketAddr::to_string).collect();
            command.args(["--endpoints", &all.join(","), "--target-leader", "--precise"]);
            command.args(["--conns", &clients, "--clients", &clients]);
            if load.writes {
                command.args(["put", "--key-size", "16", "--val-size", "64"]);
            } else {
                command.args(["range", "key", "--consistency", "s"]);
            }
            command.args(["--total", &total]);
        }
        let before = self.processor_time();
        let outcome = run(&mut command);
        let processor = (self.processor_time() - before) / f64::from(requests);
        if !outcome.status.success() {
            let why = String::from_utf8_lossy(&outcome.complaints).trim().to_owned();
            return Err(Problem::new(why).within(self.name));
        }
        let text = outcome.text();
        let told = if is_ours { of_redis(&text) } else { of_etcd(&text) };
        let (rate, median) = told.ok_or_else(|| {
            Problem::new(format!("{}: {} is another program", self.name, self.program.display()))
        })?;
        Ok(Figures { rate, median, processor })
    }

    fn processor_time(&self) -> f64 {
        self.members.iter().map(|one| processor_time(one.number())).sum()
    }
}

/// Requests a second, and the median in seconds, of a line
/// `"SET","62695.92","0.700","0.200","0.639",…`.
fn of_redis(text: &str) -> Option<(f64, f64)> {
    let mut fields = text.lines().nth(1)?.split(',').map(|field| field.trim_matches('"'));
    let rate = fields.nth(1)?.parse().ok()?;
    Some((rate, fields.nth(2)?.parse::<f64>().ok()? / 1000.0))
}

/// The same of `Requests/sec: 5387.15` and `50% in 0.0075 secs.`
fn of_etcd(text: &str) -> Option<(f64, f64)> {
    let after = |what: &str| text.split_once(what)?.1.split_whitespace().next()?.parse().ok();
    Some((after("Requests/sec:")?, after("50% in ")?))
}

/// Whether a server answers with these words at once.
fn says(server: SocketAddr, question: &str, answer: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(server)?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(question.as_bytes())?;
        let mut octets = [0; 8192];
        let length = stream.read(&mut octets)?;
        Ok(String::from_utf8_lossy(&octets[..length]).contains(answer))
    };
    ask().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_programs_print_is_read() {
        let redis = "\"test\",\"rps\",\"avg\",\"min\",\"p50\"\n\
                     \"SET\",\"62695.92\",\"0.700\",\"0.200\",\"0.640\",\"1.2\",\"2.0\",\"3.1\"\n";
        assert_eq!(of_redis(redis), Some((62_695.92, 0.64 / 1000.0)));
        let etcd = "Summary:\n  Requests/sec:\t5387.1507\n\nLatency distribution:\n  \
                    25% in 0.0058 secs.\n  50% in 0.0075 secs.\n";
        assert_eq!(of_etcd(etcd), Some((5387.1507, 0.0075)));
        assert_eq!((of_redis("x"), of_etcd("x")), (None, None));
    }
}
