//! `demo`: everything works, on this machine, in seconds.

mod group;
mod radio;
mod station;

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ring::digest::{Context, SHA256};
use stackwright::contract::services::Ended;
use stackwright::contract::{Outlet, Protocol, RequestOf};
use stackwright::copy::Request;
use stackwright::ftp::server::{self, Anonymous, Indication, Rights, Serving};
use stackwright_drivers::files::DiskOptions;
use stackwright_drivers::{Driver, Lanes, Stop};

use crate::client::arguments::Connection;
use crate::client::{DISK, Done, Job, Route, SERVER, Session, name};
use crate::graphs::Local;
use crate::problem::Problem;
use crate::registry::Wishes;
use crate::remote::{Below, Remote};
use crate::report::{rate, say};
use crate::trust::TlsArguments;
use crate::{graphs, perf, stacks};

const OCTETS: usize = 64 << 20;
/// How long messages are sent.
const PERF: Duration = Duration::from_millis(700);
/// Any free port of this machine.
const LOOPBACK: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright demo
  stackwright demo group
  stackwright demo radio --svg air.svg")]
pub(crate) struct Demo {
    /// The demonstration.
    #[arg(value_enum, default_value_t = Show::Files)]
    pub(crate) show: Show,
    /// Draw the time line of the radio channel into FILE (SVG).
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// What `demo` shows.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Show {
    /// A file over every stack of the program.
    Files,
    /// A text between two radio stations, on a simulated channel.
    Radio,
    /// Five replicas of a store, in a simulated network: one is killed, two are cut off.
    Group,
}

pub(crate) fn run(demo: &Demo) -> Result<(), Problem> {
    match (demo.show, &demo.svg) {
        (Show::Radio, svg) => radio::run(svg.as_deref()),
        (Show::Files, None) => files(),
        (Show::Group, None) => group::run(),
        (Show::Files | Show::Group, Some(_)) => {
            let why = "there is nothing on the air: write `stackwright demo radio --svg FILE`";
            Err(Problem::Unfit { what: "--svg".into(), why })
        }
    }
}

fn files() -> Result<(), Problem> {
    let folder = tempfile::tempdir()?;
    let (served, fetched) = (folder.path().join("served"), folder.path().join("fetched"));
    std::fs::create_dir(&served)?;
    std::fs::create_dir(&fetched)?;
    say!("Transfers a file of 64 MB between a server and a client on this machine.\n");
    let sent = make_file(&served.join("demo"))?;

    let near = &fetched;
    let row =
        |there: &There, stack: &str, request: Request, arrived: &Path| -> Result<(), Problem> {
            let (octets, took) = there.copy(near, request)?;
            let same = octets == OCTETS as u64 && hash(arrived)? == sent;
            if !same {
                return Err(Problem::Altered);
            }
            let megabytes = rate(octets, took) as f64 / 1e6;
            say!(
                "  {stack:<36} {:>6.3} s {megabytes:>8.0} MB/s   {}…",
                took.as_secs_f64(),
                &sent[..16]
            );
            Ok(())
        };
    say!("  {:<36} {:>8} {:>13}   SHA-256, equal at both ends", "stack", "time", "rate");
    let fetch = |target: &str| Request::Copy {
        job: name(0),
        from: SERVER,
        source: "/demo".into(),
        target: target.into(),
        early: true,
    };
    let store = |target: &str| Request::Copy {
        job: name(0),
        from: DISK,
        source: "demo".into(),
        target: target.into(),
        early: false,
    };
    let there = There::new(&served, Server::Static(Below::Tcp))?;
    // What comes first finds fresh memory and a cold cache: nothing that is shown shall.
    there.copy(&fetched, fetch("first"))?;
    row(&there, "fetch: copy/(ftp/tcp | disk)", fetch("demo"), &fetched.join("demo"))?;
    row(&there, "store: copy/(ftp/tcp | disk)", store("/back"), &served.join("back"))?;
    let there = There::new(&served, Server::Graph)?;
    row(&there, "fetch: the same, as graphs", fetch("again"), &fetched.join("again"))?;
    row(&there, "store: the same, as graphs", store("/back again"), &served.join("back again"))?;
    let there = There::new(&served, Server::Static(Below::Artp))?;
    row(&there, "fetch: …/(ftp/ordered/artp/udp | …)", fetch("far"), &fetched.join("far"))?;
    row(
        &there,
        "store: …/(ftp/ordered/artp/udp | …)",
        store("/back, far"),
        &served.join("back, far"),
    )?;
    let messages = perf::alone("artp", PERF)?;
    let megabytes = rate(messages.octets, messages.took) as f64 / 1e6;
    let took = messages.took.as_secs_f64();
    say!(
        "  {:<36} {took:>6.3} s {megabytes:>8.0} MB/s   counted by the receiver",
        "messages of 10 kB: artp/udp"
    );

    say!(
        "\nRows 1 and 2 are stacks composed at compile time: `a/b` is a over b, `a | b` is a beside b."
    );
    say!("Rows 3 and 4 are the same protocols, composed at run time from a stack file.");
    say!("The last three rows use ARTP over UDP, a reliable transport, instead of TCP.");
    say!("What to try next:");
    say!("  stackwright serve .                          serve this folder, to this machine only");
    say!("  stackwright ls ftp://127.0.0.1:2121/         list it");
    say!(
        "  stackwright perf serve, stackwright perf run artp://127.0.0.1/    measure throughput and processor time"
    );
    say!(
        "  stackwright draw get                         draw the stack of `get`; `explain get` describes it"
    );
    say!("  curl ftp://127.0.0.1:2121/                   other FTP clients work, too");
    say!(
        "  stackwright demo radio                       a text between radio stations, without a radio"
    );
    Ok(())
}

/// Content that nobody could guess or compress, and that is the same in every run.
fn make_file(path: &Path) -> io::Result<String> {
    let mut random = fastrand::Rng::with_seed(64);
    let (mut file, mut digest, mut piece) =
        (File::create(path)?, Context::new(&SHA256), vec![0; 1 << 20]);
    for _ in 0..OCTETS / piece.len() {
        random.fill(&mut piece);
        digest.update(&piece);
        file.write_all(&piece)?;
    }
    Ok(hex(digest.finish().as_ref()))
}

fn hash(path: &Path) -> io::Result<String> {
    let (mut file, mut digest, mut piece) =
        (File::open(path)?, Context::new(&SHA256), vec![0; 1 << 20]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex(digest.finish().as_ref())),
            octets => digest.update(&piece[..octets]),
        }
    }
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// What the server of a row stands on.
#[derive(Clone, Copy)]
enum Server {
    /// What the compiler has put together.
    Static(Below),
    /// The built-in descriptions, at both ends.
    Graph,
}

/// A server that has been started, and how to reach it.
struct There {
    remote: Remote,
    connection: Connection,
}

impl There {
    fn new(served: &Path, server: Server) -> Result<Self, Problem> {
        let address = start_server(served, server)?;
        let (host, port) = (address.ip().to_string(), address.port());
        let (below, stack) = match server {
            Server::Static(below) => (below, None),
            Server::Graph => (Below::Tcp, Some("get".into())),
        };
        Ok(There {
            remote: Remote { below, host, port, user: None, path: "/demo".into(), air: None },
            connection: Connection {
                quiet: true,
                limit_rate: None,
                placement: crate::placement::Placement::Library,
                packet: None,
                password_file: None,
                active: false,
                proxy: None,
                tls: TlsArguments::default(),
                stack,
                inet: None,
                call: None,
                timeout: None,
                retries: None,
                options: None,
                json: false,
                verbose: false,
            },
        })
    }

    /// Copies a file between the server and the folder `near`; returns its length, and the time
    /// that it took.
    fn copy(&self, near: &Path, request: Request) -> Result<(u64, Duration), Problem> {
        let route = Route::find(&self.remote, &self.connection)?;
        let mut session = Session::new(route, Local::Folder(near.into()));
        let job = Job::on_server(request, "/demo".into());
        let done = session.one(job, &mut |_| ())?;
        session.close()?;
        match done {
            Done::Copied { octets, took, .. } => Ok((octets, took)),
            _ => Err(Problem::Altered),
        }
    }
}

/// Starts a server on a thread of its own, at any free port of this machine; it ends with the
/// program.
fn start_server(folder: &Path, server: Server) -> Result<SocketAddr, Problem> {
    let (say, hear) = mpsc::channel();
    let folder = folder.to_path_buf();
    thread::spawn(move || {
        let disk = stacks::server_options(true, false);
        let told = Told(say);
        // What fails here is seen by the client, which cannot connect or is cut off.
        let config = server::Config::new(Box::new(Anonymous(Rights { write: true })));
        match server {
            Server::Static(Below::Tcp | Below::Tls) => {
                if let Ok((driver, stack)) = stacks::server(&folder, config, disk, None) {
                    serve(driver, stack, told);
                }
            }
            Server::Static(below) => serve_described(&folder, disk, below, told),
            Server::Graph => serve_described(&folder, disk, Below::Tcp, told),
        }
    });
    let started = hear.recv_timeout(Duration::from_secs(10)).unwrap_or(Err(Ended::Expired));
    started.map_err(|why| Problem::Listen { address: LOOPBACK, why })
}

fn serve_described(folder: &Path, disk: DiskOptions, below: Below, told: Told) {
    let wishes = Wishes { disk, writable: true, ..Wishes::default() };
    let described = graphs::load::<Serving>(Path::new(below.stacks()[1]));
    let stack = described.and_then(|described| graphs::server(&described, folder, wishes));
    if let Ok((driver, stack)) = stack {
        serve(driver, stack.graph, told);
    }
}

fn serve<S: Protocol<Provides = Serving, Uses: Lanes>>(
    mut driver: Driver,
    mut stack: S,
    mut told: Told,
) {
    let local = LOOPBACK.into();
    driver.request(&mut stack, server::Request::Serve { local }, &mut told);
    let _ = driver.run(&mut stack, &mut told);
}

/// Says where the server listens.
struct Told(mpsc::Sender<Result<SocketAddr, Ended>>);

impl<S: Protocol<Provides = Serving>> Outlet<S> for Told {
    fn indicate(&mut self, indication: Indication) {
        let _ = match indication {
            Indication::Serving { local } => {
                local.internet().map_or(Ok(()), |local| self.0.send(Ok(local)))
            }
            Indication::NotServing { why } => self.0.send(Err(why)),
            _ => Ok(()),
        };
    }

    /// Adapters call the operating system: there is nothing that they could ask.
    fn request(&mut self, _: RequestOf<S>) {}
}

impl Stop for Told {
    fn stops(&self) -> bool {
        false
    }
}
