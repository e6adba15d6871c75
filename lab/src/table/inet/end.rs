//! The processes at the ends: one that takes part, over the kernel's TCP, ours or smoltcp's, and
//! its peer, which is always over the kernel's.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use nix::sys::socket::{setsockopt, sockopt};
use stackwright::compose::Over;
use stackwright_drivers::tun::Tun;
use stackwright_endpoint::{Config, Endpoint, StreamStack, System};
use stackwright_ip::{Config as IpConfig, Ip, Point};
use stackwright_results::Problem;
use stackwright_tcp::{Config as TcpConfig, layer};
use stackwright_wire::BufferTree;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::task::LocalSet;

use super::smoltcp;

type M = BufferTree;

/// Where the peer listens, and who listens for it.
pub(super) const PORT: u16 = 4331;

/// Octets that are written at once.
pub(super) const WRITE: usize = 64 << 10;

/// How many connections there are at once, and how many in all.
const AT_ONCE: usize = 64;
const CONNECTIONS: usize = 4 * AT_ONCE;

/// Takes part in the table `inet`.
#[derive(Args, Debug)]
pub(crate) struct InetEnd {
    stack: InetStack,
    work: InetWork,
    /// The peer; for `accept` the own host.
    host: IpAddr,
    seconds: f64,
}

/// Whose TCP it is, each on a device of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum InetStack {
    Kernel,
    Ours,
    /// Each segment is handed to the device alone.
    Segments,
    Smoltcp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum InetWork {
    /// The peer counts what it receives in the time.
    Send,
    Receive,
    /// One octet and as much back: the median, in seconds.
    Ask,
    /// Closes what the peer has closed.
    Accept,
    /// Opens connections that are accepted: how many a second.
    Open,
    /// Serves all others.
    Peer,
}

impl InetEnd {
    /// Does it, and prints the figure.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn run(&self) -> Result<(), Problem> {
        let remote = SocketAddr::new(self.host, PORT);
        let done = match self.work {
            InetWork::Peer => serve(remote),
            InetWork::Open => open(remote),
            _ => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime
                    .and_then(|runtime| LocalSet::new().block_on(&runtime, self.take_part(remote)))
            }
        };
        println!("{}", done.map_err(Problem::new)?);
        Ok(())
    }

    async fn take_part(&self, remote: SocketAddr) -> io::Result<f64> {
        match self.stack {
            InetStack::Kernel if self.work == InetWork::Accept => {
                let listener = tokio::net::TcpListener::bind(remote).await?;
                println!("it listens");
                loop {
                    closes(listener.accept().await?.0);
                }
            }
            InetStack::Kernel => {
                let stream = tokio::net::TcpStream::connect(remote).await?;
                prepare(&stream)?;
                self.work(stream).await
            }
            InetStack::Ours => self.over(remote, |system| ours(system, 65_507)).await,
            InetStack::Segments => self.over(remote, |system| ours(system, 0)).await,
            InetStack::Smoltcp => smoltcp::bulk(remote, self.work, self.seconds),
        }
    }

    async fn over<S: StreamStack + 'static>(
        &self,
        remote: SocketAddr,
        make: impl FnOnce(&System) -> S,
    ) -> io::Result<f64> {
        if self.work != InetWork::Accept {
            let endpoint = Endpoint::new(Config::default(), make).map_err(io::Error::other)?;
            let stream = endpoint.connect_stream(remote).await.map_err(io::Error::other)?;
            return self.work(stream).await;
        }
        let config = Config::default();
        let endpoint = Endpoint::bind(remote, config, make).await.map_err(io::Error::other)?;
        println!("it listens");
        loop {
            closes(endpoint.accept_stream().await.map_err(io::Error::other)?);
        }
    }

    async fn work(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<f64> {
        let begin = Instant::now();
        let left = || self.seconds > begin.elapsed().as_secs_f64();
        let mut buffer = vec![7; WRITE];
        stream.write_all(&[self.work as u8]).await?;
        stream.write_all(&self.seconds.to_ne_bytes()).await?;
        let mut octets = 0;
        match self.work {
            InetWork::Send => {
                while left() {
                    stream.write_all(&buffer).await?;
                }
                let mut counted = [0; 8];
                stream.read_exact(&mut counted).await?;
                octets = u64::from_ne_bytes(counted);
            }
            InetWork::Ask => {
                let mut times = Vec::new();
                while left() {
                    let asked = Instant::now();
                    stream.write_all(&buffer[..1]).await?;
                    stream.read_exact(&mut buffer[..1]).await?;
                    times.push(asked.elapsed());
                }
                times.sort_unstable();
                return Ok(times[times.len() / 2].as_secs_f64());
            }
            _ => {
                while left() {
                    octets += stream.read(&mut buffer).await? as u64;
                }
            }
        }
        Ok(8e-6 * octets as f64 / self.seconds)
    }
}

/// Closes a connection behind its peer.
fn closes(mut stream: impl AsyncRead + AsyncWrite + Unpin + 'static) {
    tokio::task::spawn_local(async move {
        let mut rest = [0; 16];
        while stream.read(&mut rest).await.is_ok_and(|octets| octets > 0) {}
        let _ = stream.shutdown().await;
    });
}

fn ours(system: &System, run: usize) -> impl StreamStack<Message = M> + use<> {
    let tun = Tun::<M>::open("sw0", &system.registry(), 0, System::pool());
    let tun = there("sw0", tun);
    let config = TcpConfig { run, ..TcpConfig::new(system.secret()) };
    let ip = Ip::new(IpConfig::host([10, 78, 0, 2].into(), 24).through([10, 78, 0, 1].into(), 0));
    let below = Over::new(ip, Over::new(Point::default(), tun));
    Over::new(layer::<M>(config, system.seed()), below)
}

/// The makers of stacks do not fail: without its device, this process has nothing to do.
fn there<T>(device: &str, opened: io::Result<T>) -> T {
    opened.unwrap_or_else(|why| {
        eprintln!("lab: {device}: {why}");
        std::process::exit(1)
    })
}

/// What the system prefers is no matter.
fn prepare(stream: &impl AsFd) -> io::Result<()> {
    setsockopt(stream, sockopt::TcpCongestion, &OsString::from("cubic"))?;
    Ok(setsockopt(stream, sockopt::TcpNoDelay, &true)?)
}

/// Serves whoever connects.
fn serve(local: SocketAddr) -> io::Result<f64> {
    let listener = TcpListener::bind(local)?;
    println!("it listens");
    loop {
        let stream = listener.accept()?.0;
        // A receiver that has all that it measures resets the connection.
        thread::spawn(move || serve_one(stream).is_ok());
    }
}

fn serve_one(mut stream: TcpStream) -> io::Result<()> {
    prepare(&stream)?;
    let (mut work, mut seconds) = ([0], [0; 8]);
    stream.read_exact(&mut work)?;
    stream.read_exact(&mut seconds)?;
    let (begin, time) = (Instant::now(), Duration::from_secs_f64(f64::from_ne_bytes(seconds)));
    let (mut buffer, mut counted) = (vec![7; WRITE], 0);
    if work == [InetWork::Receive as u8] {
        loop {
            stream.write_all(&buffer)?;
        }
    }
    if work == [InetWork::Send as u8] {
        // Nothing may come for a while.
        stream.set_read_timeout(Some(Duration::from_millis(100)))?;
        while begin.elapsed() < time {
            match stream.read(&mut buffer) {
                Ok(octets) => counted += octets as u64,
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                Err(why) => return Err(why),
            }
        }
        stream.set_read_timeout(None)?;
        stream.write_all(&counted.to_ne_bytes())?;
    }
    loop {
        let octets = stream.read(&mut buffer)?;
        if octets == 0 {
            return Ok(());
        }
        if work == [InetWork::Ask as u8] {
            stream.write_all(&buffer[..octets])?;
        }
    }
}

/// Opens connections, and closes each.
fn open(remote: SocketAddr) -> io::Result<f64> {
    let one = move || -> io::Result<()> {
        for _ in 0..CONNECTIONS / AT_ONCE {
            let mut stream = TcpStream::connect(remote)?;
            stream.write_all(b"hello")?;
            stream.shutdown(std::net::Shutdown::Write)?;
            stream.read_to_end(&mut Vec::new())?;
        }
        Ok(())
    };
    let begin = Instant::now();
    let all: Vec<_> = (0..AT_ONCE).map(|_| thread::spawn(one)).collect();
    for one in all {
        one.join().map_err(|_| io::Error::other("a thread panicked"))??;
    }
    Ok(CONNECTIONS as f64 / begin.elapsed().as_secs_f64())
}
