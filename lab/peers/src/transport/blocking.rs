//! Bulk and requests over calls that block, each for a glance at most.

use std::io::{ErrorKind, Read, Write};
use std::time::Instant;

use super::{Sent, latencies, record};
use crate::course::Course;
use crate::plan::{Plan, Workload};
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;

/// What one read asks for at least.
const BUFFER: usize = 256 << 10;

/// Receives a bulk, or answers requests, until it is over or the sender has closed.
pub(crate) fn serve(
    mut socket: impl Read + Write,
    plan: &Plan,
    tally: &Tally,
) -> Result<(), Problem> {
    let over = || tally.is_over();
    if plan.workload == Workload::Bulk {
        let mut buffer = vec![0; plan.size.max(BUFFER)];
        while !tally.is_over() {
            let Some(length) = read(&mut socket, &mut buffer, &over)? else { break };
            tally.count(length);
        }
        if !tally.is_over() {
            return Err(Problem::new("the sender closed before all was here"));
        }
        tally.wait_until_gone();
        return Ok(());
    }
    let message = plan.message();
    let mut request = vec![0; plan.size];
    while read_whole(&mut socket, &mut request, &over)? {
        tally.count(plan.size);
        write_whole(&mut socket, &message, &over)?;
    }
    Ok(())
}

/// Sends a bulk until the receiver has counted.
pub(crate) fn bulk(socket: &mut impl Write, plan: &Plan, course: &Course) -> Result<(), Problem> {
    let message = plan.message();
    let mut left = plan.octets().unwrap_or(u64::MAX) / plan.size as u64;
    while left > 0 && !course.is_over() {
        write_whole(socket, &message, &|| course.is_over())?;
        left -= 1;
    }
    course.wait().map(|_| ())
}

/// One request after the other.
pub(crate) fn requests(
    socket: &mut (impl Read + Write),
    plan: &Plan,
    course: &Course,
) -> Result<Sent, Problem> {
    let message = plan.message();
    let mut reply = vec![0; plan.size];
    let mut latencies = latencies()?;
    let over = || course.is_over();
    while course.goes_on(plan.goal, latencies.len()) {
        let begin = Instant::now();
        write_whole(socket, &message, &over)?;
        if !read_whole(socket, &mut reply, &over)? {
            return Err(Problem::new("the receiver closed before it had replied"));
        }
        record(&mut latencies, begin);
    }
    let messages = Some(latencies.len());
    Ok(Sent { messages, lap: Some(course.lap()), latencies: Some(latencies), retransmitted: None })
}

fn is_glance(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Reads something; nothing when the other end has closed, or it is over.
fn read(
    socket: &mut impl Read,
    buffer: &mut [u8],
    over: &impl Fn() -> bool,
) -> Result<Option<usize>, Problem> {
    loop {
        match socket.read(buffer) {
            Ok(0) => return Ok(None),
            Ok(length) => return Ok(Some(length)),
            Err(_) if over() => return Ok(None),
            Err(error) if is_glance(&error) => {}
            Err(error) => return Err(error).tried("receiving"),
        }
    }
}

/// Fills a buffer; whether it is full.
fn read_whole(
    socket: &mut impl Read,
    buffer: &mut [u8],
    over: &impl Fn() -> bool,
) -> Result<bool, Problem> {
    let mut filled = 0;
    while filled < buffer.len() {
        let Some(length) = read(socket, &mut buffer[filled..], over)? else { return Ok(false) };
        filled += length;
    }
    Ok(true)
}

/// Writes all, or as much as there is time for.
fn write_whole(
    socket: &mut impl Write,
    mut octets: &[u8],
    over: &impl Fn() -> bool,
) -> Result<(), Problem> {
    while !octets.is_empty() {
        match socket.write(octets) {
            Ok(length) => octets = &octets[length..],
            // Whoever has counted enough closes, in the middle of a message.
            Err(_) if over() => return Ok(()),
            Err(error) if is_glance(&error) => {}
            Err(error) => return Err(error).tried("sending"),
        }
    }
    Ok(())
}
