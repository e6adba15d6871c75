//! Probes of the limit: a fixed piece of work, timed before and after each sample. When it is slow,
//! so is the machine.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How long the loopback interface may take for a piece before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(10);

/// What limits a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// The processor alone.
    Work,
    /// The kernel, which copies from one socket to another.
    Loopback,
}

/// A fixed piece of work.
#[derive(Debug)]
pub(crate) struct Probe {
    limit: Limit,
    /// Two ends of an association over the loopback interface.
    ends: Option<(TcpStream, TcpStream)>,
}

impl Probe {
    /// Prepares the work.
    ///
    /// # Errors
    /// When there is no loopback interface.
    pub(crate) fn new(limit: Limit) -> io::Result<Self> {
        let ends = match limit {
            Limit::Work => None,
            Limit::Loopback => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                let near = TcpStream::connect(listener.local_addr()?)?;
                let (far, _) = listener.accept()?;
                for end in [&near, &far] {
                    end.set_nodelay(true)?;
                    end.set_read_timeout(Some(PATIENCE))?;
                    end.set_write_timeout(Some(PATIENCE))?;
                }
                Some((near, far))
            }
        };
        Ok(Probe { limit, ends })
    }

    /// Does it once; gives the seconds.
    ///
    /// # Errors
    /// When the loopback interface is gone.
    pub(crate) fn run(&mut self) -> io::Result<f64> {
        let begin = Instant::now();
        match (self.limit, &mut self.ends) {
            (Limit::Loopback, Some((near, far))) => copy(near, far)?,
            _ => work(),
        }
        Ok(begin.elapsed().as_secs_f64())
    }
}

/// Half a million steps that wait for each other: about a millisecond.
fn work() {
    let mut state = black_box(1_u64);
    for _ in 0..500_000 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    black_box(state);
}

/// Four megabytes from one socket to the other, in pieces that both take whole: one thread is
/// enough, so that what is timed is the kernel's work and not who wakes whom.
fn copy(near: &mut TcpStream, far: &mut TcpStream) -> io::Result<()> {
    const PIECES: usize = 256;
    let mut piece = [7; 16_384];
    for _ in 0..PIECES {
        near.write_all(&piece)?;
        far.read_exact(&mut piece)?;
    }
    Ok(())
}
