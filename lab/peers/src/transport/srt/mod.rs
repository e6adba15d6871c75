//! SRT by the library in C that Debian packs, and threads of its own: messages, never late on
//! purpose and never given up.

mod associations;
mod library;
mod socket;

use std::net::{IpAddr, SocketAddr};

use super::{GLANCE, SOCKET_BUFFER, Sent, Server, blocking};
use crate::course::Course;
use crate::plan::{Plan, Workload};
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;
use socket::{READABLE, Readiness, Socket};

/// # Errors
/// When it is not installed.
pub(super) fn available() -> Result<(), Problem> {
    library::available()
}

pub(super) fn listen(plan: &Plan, local: IpAddr) -> Result<Server, Problem> {
    available()?;
    let listener = Socket::new(plan, local, false)?;
    listener.bind(SocketAddr::new(local, 0))?;
    listener.listen()?;
    let port = listener.local()?.port();
    let serve = move |plan: &Plan, tally: &Tally| {
        if plan.workload == Workload::Associations {
            return associations::serve(&listener, plan, tally);
        }
        let Some(socket) = accept(&listener, tally)? else { return Ok(()) };
        blocking::serve(socket, plan, tally)
    };
    Ok(Server { port, certificate: None, serve: Box::new(serve) })
}

/// The association; none when its sender is gone before it came.
fn accept(listener: &Socket, tally: &Tally) -> Result<Option<Socket>, Problem> {
    let mut readiness = Readiness::new()?;
    readiness.add(listener, READABLE)?;
    while !tally.is_over() {
        if readiness.wait()?.is_empty() {
            continue;
        }
        if let Some(socket) = listener.accept()? {
            socket.blocks(true).tried("a socket of SRT")?;
            return Ok(Some(socket));
        }
    }
    Ok(None)
}

pub(super) fn send(plan: &Plan, remote: SocketAddr, course: &Course) -> Result<Sent, Problem> {
    available()?;
    course.begin();
    if plan.workload == Workload::Associations {
        return associations::send(plan, remote, course);
    }
    let mut socket = Socket::new(plan, remote.ip(), true)?;
    socket.connect(remote)?;
    let mut sent = match plan.workload {
        Workload::Requests => blocking::requests(&mut socket, plan, course)?,
        _ => {
            blocking::bulk(&mut socket, plan, course)?;
            Sent::default()
        }
    };
    sent.retransmitted = socket.sent_again();
    Ok(sent)
}
