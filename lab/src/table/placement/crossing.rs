//! What it costs that octets go from one process to another on one processor.

use std::hint::black_box;
use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use stackwright_results::Problem;

/// How they go.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// By a socket, to a thread that has to be woken.
    Socket,
    /// Into shared memory and out of it, as by a ring, without what wakes the other side.
    Copies,
}

/// Returns the seconds of one crossing of so many octets.
///
/// # Errors
/// What the system says.
pub(super) fn once(length: usize, way: Way, seconds: f64) -> Result<f64, Problem> {
    let time = Duration::from_secs_f64(seconds);
    let measured = match way {
        Way::Socket => socket(length, time).map_err(Problem::new)?,
        Way::Copies => copies(length, time),
    };
    Ok(measured)
}

fn socket(length: usize, time: Duration) -> std::io::Result<f64> {
    let (mut here, mut there) = UnixStream::pair()?;
    let echo = thread::spawn(move || -> std::io::Result<()> {
        on_first()?;
        let mut octets = vec![0; length];
        while there.read_exact(&mut octets).is_ok() {
            there.write_all(&octets)?;
        }
        Ok(())
    });
    let asks = thread::spawn(move || -> std::io::Result<f64> {
        on_first()?;
        let mut octets = vec![7; length];
        let (begun, mut crossings) = (Instant::now(), 0.0);
        while begun.elapsed() < time {
            here.write_all(&octets)?;
            here.read_exact(&mut octets)?;
            crossings += 2.0;
        }
        Ok(begun.elapsed().as_secs_f64() / crossings)
    });
    let measured = asks.join().expect("it does not panic");
    echo.join().expect("it does not panic")?;
    measured
}

/// Has this thread stay on the first processor.
pub(super) fn on_first() -> std::io::Result<()> {
    let mut first = CpuSet::new();
    first.set(0);
    Ok(sched_setaffinity(None, &first)?)
}

fn copies(length: usize, time: Duration) -> f64 {
    let (from, mut ring, mut to) = (vec![7; length], vec![0; length], vec![0_u8; length]);
    let (begun, mut crossings) = (Instant::now(), 0.0);
    while begun.elapsed() < time {
        for _ in 0..100 {
            ring.copy_from_slice(black_box(&from));
            to.copy_from_slice(black_box(&ring));
            black_box(&mut to);
        }
        crossings += 100.0;
    }
    begun.elapsed().as_secs_f64() / crossings
}
