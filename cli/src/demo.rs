//! `demo`: everything works, on this machine, in seconds.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use sha2::{Digest, Sha256};
use stackwright::contract::services::Ended;
use stackwright::contract::{Either, Outlet, Participant};
use stackwright::copy::Request;
use stackwright::ftp::server::{self, Anonymous, Indication, Rights};
use stackwright_drivers::Stop;
use stackwright_drivers::files::Options;

use crate::arguments::Connection;
use crate::problem::Problem;
use crate::remote::Remote;
use crate::report::rate;
use crate::report::say;
use crate::stacks;
use crate::transfer::{self, DISK, SERVER, Watch};

const OCTETS: usize = 64 << 20;

pub(crate) fn run() -> Result<(), Problem> {
    let folder = tempfile::tempdir()?;
    let (served, fetched) = (folder.path().join("served"), folder.path().join("fetched"));
    std::fs::create_dir(&served)?;
    std::fs::create_dir(&fetched)?;
    say!("A file of 64 MB goes through a server and a client of ours, over TCP on this machine.\n");
    let sent = make_file(&served.join("demo"))?;

    let address = start_server(&served)?;
    let remote =
        Remote { host: address.ip().to_string(), port: address.port(), user: None, path: "/demo".into() };
    let connection =
        Connection { password_file: None, active: false, timeout: 60, json: false, verbose: false };
    let row = |stack: &str, request: Request, folder: &Path, arrived: &Path| -> Result<(), Problem> {
        let (octets, took) = transfer::run(&remote, &connection, folder, &request, &mut Watch::Nobody)?;
        let same = octets == OCTETS as u64 && hash(arrived)? == sent;
        if !same {
            return Err(Problem::Altered);
        }
        let megabytes = rate(octets, took) as f64 / 1e6;
        say!("  {stack:<34} {:>8.3} s {megabytes:>8.0} MB/s   {}…", took.as_secs_f64(), &sent[..16]);
        Ok(())
    };
    say!("  {:<34} {:>10} {:>13}   SHA-256, equal at both ends", "stack", "time", "rate");
    let fetch = Request::Copy { from: SERVER, source: "/demo".into(), target: "demo".into(), early: true };
    row("fetch: copy/(ftp/tcp | disk)", fetch, &fetched, &fetched.join("demo"))?;
    let store = Request::Copy { from: DISK, source: "demo".into(), target: "/back".into(), early: false };
    row("store: copy/(ftp/tcp | disk)", store, &fetched, &served.join("back"))?;

    say!(
        "\nBoth programs are stacks put together at compile time: `a/b` is a over b, `a | b` is a beside b."
    );
    say!("What to try next:");
    say!("  stackwright serve .                          serve this folder to this machine");
    say!("  stackwright ls ftp://127.0.0.1:2121/         see what is there");
    say!("  curl ftp://127.0.0.1:2121/                   strangers can, too");
    Ok(())
}

/// Content that nobody could guess or compress, and that is the same in every run.
fn make_file(path: &Path) -> io::Result<String> {
    let mut random = fastrand::Rng::with_seed(64);
    let (mut file, mut digest, mut piece) = (File::create(path)?, Sha256::new(), vec![0; 1 << 20]);
    for _ in 0..OCTETS / piece.len() {
        random.fill(&mut piece);
        digest.update(&piece);
        file.write_all(&piece)?;
    }
    Ok(hex(&digest.finalize()))
}

fn hash(path: &Path) -> io::Result<String> {
    let (mut file, mut digest, mut piece) = (File::open(path)?, Sha256::new(), vec![0; 1 << 20]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(hex(&digest.finalize())),
            octets => digest.update(&piece[..octets]),
        }
    }
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

/// Starts a server on a thread of its own, at any free port of this machine; it ends with the program.
fn start_server(folder: &Path) -> Result<SocketAddr, Problem> {
    let (say, hear) = mpsc::channel();
    let folder = folder.to_path_buf();
    thread::spawn(move || {
        let config = server::Config::new(Box::new(Anonymous(Rights { write: true })));
        let options = Options { writable: true, sync: false, ..Options::default() };
        let mut told = Told(say);
        // What fails here is seen by the client, which cannot connect or is cut off.
        if let Ok((mut driver, mut stack)) = stacks::server(&folder, config, options) {
            let local = SocketAddr::from(([127, 0, 0, 1], 0)).into();
            driver.request(&mut stack, server::Request::Serve { local }, &mut told);
            let _ = driver.run(&mut stack, &mut told);
        }
    });
    let started = hear.recv_timeout(Duration::from_secs(10)).unwrap_or(Err(Ended::Expired));
    started.map_err(|why| Problem::Listen { address: SocketAddr::from(([127, 0, 0, 1], 0)), why })
}

/// Says where the server listens.
struct Told(mpsc::Sender<Result<SocketAddr, Ended>>);

impl Outlet<stacks::ServerStack> for Told {
    fn indicate(&mut self, indication: Indication) {
        let _ = match indication {
            Indication::Serving { local: Participant::Internet(local) } => self.0.send(Ok(local)),
            Indication::NotServing { why } => self.0.send(Err(why)),
            _ => Ok(()),
        };
    }

    fn request(&mut self, request: Either<Infallible, Infallible>) {
        match request {
            Either::Left(never) | Either::Right(never) => match never {},
        }
    }
}

impl Stop for Told {
    fn stops(&self) -> bool {
        false
    }
}
