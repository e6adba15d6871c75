//! The sending end.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusty_enet::{EventNoRef, Packet, PeerID};

use super::super::{Sent, latencies, record};
use super::host::Host;
use crate::course::Course;
use crate::plan::{Plan, Workload};
use crate::problem::Problem;

/// Octets given to ENet that are not yet acknowledged: some of its windows of 64 kB, as it bounds
/// no queue by itself.
const AHEAD: usize = 1 << 20;

/// How many openings are under way at once, as everywhere here.
const OPENING: usize = 256;

/// How long farewells may take.
const CLOSING: Duration = Duration::from_secs(5);

pub(super) fn send(
    mut host: Host,
    plan: &Plan,
    remote: SocketAddr,
    course: &Course,
) -> Result<Sent, Problem> {
    let message: Arc<[u8]> = plan.message().into();
    course.begin();
    if plan.workload == Workload::Associations {
        return associations(&mut host, plan, remote, &message, course);
    }
    let peer = host.connect(remote)?;
    next(&mut host, course, |event| matches!(event, EventNoRef::Connect { .. }).then_some(()))?;
    let mut sent = match plan.workload {
        Workload::Requests => requests(&mut host, peer, plan, &message, course)?,
        _ => bulk(&mut host, peer, plan, &message, course)?,
    };
    sent.retransmitted = Some(host.peer(peer).packets_lost().into());
    host.peer(peer).disconnect_now(0);
    Ok(sent)
}

/// Waits for what is wanted.
fn next<T>(
    host: &mut Host,
    course: &Course,
    mut wanted: impl FnMut(EventNoRef) -> Option<T>,
) -> Result<T, Problem> {
    loop {
        while let Some(event) = host.event()? {
            if let EventNoRef::Disconnect { .. } = event {
                return Err(Problem::new("ENet gave the association up"));
            }
            if let Some(found) = wanted(event) {
                return Ok(found);
            }
        }
        if course.is_over() {
            return Err(Problem::new("the receiver is gone"));
        }
        host.wait()?;
    }
}

fn bulk(
    host: &mut Host,
    peer: PeerID,
    plan: &Plan,
    message: &Arc<[u8]>,
    course: &Course,
) -> Result<Sent, Problem> {
    // ENet holds a reference until a packet is acknowledged: that tells how many are not.
    let ahead = (AHEAD / plan.size).max(4) + 1;
    let mut left = plan.octets().unwrap_or(u64::MAX) / plan.size as u64;
    while !course.is_over() {
        while left > 0 && Arc::strong_count(message) < ahead {
            host.send(peer, &Packet::reliable(Box::new(Arc::clone(message))))?;
            left -= 1;
        }
        while let Some(event) = host.event()? {
            if matches!(event, EventNoRef::Disconnect { .. }) && !course.is_over() {
                return Err(Problem::new("ENet gave the association up"));
            }
        }
        host.wait()?;
    }
    Ok(Sent::default())
}

fn requests(
    host: &mut Host,
    peer: PeerID,
    plan: &Plan,
    message: &Arc<[u8]>,
    course: &Course,
) -> Result<Sent, Problem> {
    let mut latencies = latencies()?;
    while course.goes_on(plan.goal, latencies.len()) {
        let begin = Instant::now();
        host.send(peer, &Packet::reliable(Box::new(Arc::clone(message))))?;
        host.flush();
        next(host, course, |event| matches!(event, EventNoRef::Receive { .. }).then_some(()))?;
        record(&mut latencies, begin);
    }
    let messages = Some(latencies.len());
    Ok(Sent { messages, lap: Some(course.lap()), latencies: Some(latencies), retransmitted: None })
}

/// All of one host, as ENet is meant to be used.
fn associations(
    host: &mut Host,
    plan: &Plan,
    remote: SocketAddr,
    message: &Arc<[u8]>,
    course: &Course,
) -> Result<Sent, Problem> {
    let wanted = plan.associations();
    let mut open = Vec::with_capacity(wanted);
    let mut answered = 0;
    while answered < wanted {
        while open.len() < wanted && open.len() - answered < OPENING {
            open.push(host.connect(remote)?);
        }
        let event = next(host, course, Some)?;
        match event {
            EventNoRef::Connect { peer, .. } => {
                host.send(peer, &Packet::reliable(Box::new(Arc::clone(message))))?;
            }
            EventNoRef::Receive { .. } => answered += 1,
            EventNoRef::Disconnect { .. } => {}
        }
    }
    for &peer in &open {
        host.peer(peer).disconnect(0);
    }
    host.flush();
    let lap = Some(course.lap());
    let begin = Instant::now();
    let mut closed = 0;
    while closed < wanted && begin.elapsed() < CLOSING {
        match host.event()? {
            Some(EventNoRef::Disconnect { .. }) => closed += 1,
            Some(_) => {}
            None => host.wait()?,
        }
    }
    Ok(Sent { messages: Some(wanted as u64), lap, ..Sent::default() })
}
