//! A datagram and its answer.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use super::super::{GLANCE, Sent, latencies, record};
use super::connected;
use crate::course::Course;
use crate::plan::Plan;
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;

/// How long an answer may take before it counts as lost.
const PATIENCE: Duration = Duration::from_secs(5);

/// How many first datagrams are on their way at once: no more than a socket holds.
const AT_ONCE: usize = 256;

pub(super) fn answer(socket: &UdpSocket, plan: &Plan, tally: &Tally) -> Result<(), Problem> {
    socket.set_read_timeout(Some(GLANCE)).tried("a time limit")?;
    let message = plan.message();
    let mut request = vec![0; plan.size];
    while !tally.is_over() {
        match socket.recv_from(&mut request) {
            Ok((length, from)) => {
                tally.count(length);
                socket.send_to(&message, from).tried("replying")?;
            }
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error).tried("receiving"),
        }
    }
    Ok(())
}

pub(super) fn requests(socket: &UdpSocket, plan: &Plan, course: &Course) -> Result<Sent, Problem> {
    socket.set_read_timeout(Some(PATIENCE)).tried("a time limit")?;
    let message = plan.message();
    let mut reply = vec![0; plan.size];
    let mut latencies = latencies()?;
    while course.goes_on(plan.goal, latencies.len()) {
        let begin = Instant::now();
        socket.send(&message).tried("sending")?;
        receive(socket, &mut reply)?;
        record(&mut latencies, begin);
    }
    let messages = Some(latencies.len());
    Ok(Sent { messages, lap: Some(course.lap()), latencies: Some(latencies), retransmitted: None })
}

/// A socket for each: all that an association can be where there is none.
pub(super) fn associations(
    plan: &Plan,
    remote: SocketAddr,
    course: &Course,
) -> Result<Sent, Problem> {
    let message = plan.message();
    let mut reply = vec![0; plan.size];
    let mut open = Vec::with_capacity(plan.associations());
    while open.len() < plan.associations() {
        let before = open.len();
        for _ in 0..AT_ONCE.min(plan.associations() - before) {
            let socket = connected(remote)?;
            socket.set_read_timeout(Some(PATIENCE)).tried("a time limit")?;
            socket.send(&message).tried("sending")?;
            open.push(socket);
        }
        for socket in &open[before..] {
            receive(socket, &mut reply)?;
        }
    }
    let messages = Some(open.len() as u64);
    drop(open);
    Ok(Sent { messages, lap: Some(course.lap()), ..Sent::default() })
}

fn receive(socket: &UdpSocket, reply: &mut [u8]) -> Result<(), Problem> {
    loop {
        match socket.recv(reply) {
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(Problem::new(
                    "a datagram was lost, and raw UDP does not send it again",
                ));
            }
            Err(error) => return Err(error).tried("receiving"),
        }
    }
}
