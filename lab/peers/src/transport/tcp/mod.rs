//! The kernel's TCP: calls that block, without Nagle; many associations by readiness.

mod associations;
mod resent;

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{Domain, Protocol, Socket, Type};

use super::{GLANCE, Sent, Server, blocking};
use crate::course::Course;
use crate::plan::{Plan, Workload};
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;

/// The longest segment that can be asked for; above, it is what the interface has.
const LONGEST: u32 = 32_767;

/// What remains of a packet below the headers of IP and TCP.
fn segment(plan: &Plan, address: IpAddr) -> u32 {
    u32::from(plan.datagram(address)) + 8 - 20
}

/// A socket that sends no longer packets than all others may, and is told whose congestion control
/// to take. Its buffers are left to the kernel, which fits them to the link.
fn socket(plan: &Plan, address: SocketAddr) -> Result<Socket, Problem> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))
        .tried("a socket")?;
    let segment = segment(plan, address.ip());
    if segment <= LONGEST {
        socket.set_tcp_mss(segment).tried("the longest segment")?;
    }
    socket.set_tcp_nodelay(true).tried("without delay")?;
    if let Some(congestion) = plan.congestion {
        let name = congestion.name();
        let chosen = socket.set_tcp_congestion(name.as_bytes());
        chosen.tried(&format!("congestion control {name} (as root: modprobe tcp_{name})"))?;
    }
    Ok(socket)
}

pub(super) fn listen(plan: &Plan, local: IpAddr) -> Result<Server, Problem> {
    let address = SocketAddr::new(local, 0);
    let listener = socket(plan, address)?;
    listener.bind(&address.into()).tried("binding")?;
    listener.listen(4096).tried("listening")?;
    let listener = TcpListener::from(listener);
    let port = listener.local_addr().tried("listening")?.port();
    let serve = move |plan: &Plan, tally: &Tally| {
        if plan.workload == Workload::Associations {
            return associations::serve(listener, plan, tally);
        }
        let Some(stream) = accept(&listener, tally)? else { return Ok(()) };
        glancing(&stream)?;
        blocking::serve(stream, plan, tally)
    };
    Ok(Server { port, certificate: None, serve: Box::new(serve) })
}

pub(super) fn send(plan: &Plan, remote: SocketAddr, course: &Course) -> Result<Sent, Problem> {
    if plan.workload == Workload::Associations {
        return associations::send(plan, remote, course);
    }
    let socket = socket(plan, remote)?;
    course.begin();
    socket.connect_timeout(&remote.into(), Duration::from_secs(60)).tried("connecting")?;
    let mut stream = TcpStream::from(socket);
    glancing(&stream)?;
    let mut sent = match plan.workload {
        Workload::Requests => blocking::requests(&mut stream, plan, course)?,
        _ => {
            blocking::bulk(&mut stream, plan, course)?;
            Sent::default()
        }
    };
    sent.retransmitted = resent::segments(&stream);
    Ok(sent)
}

/// The association; none when its sender is gone before it came.
fn accept(listener: &TcpListener, tally: &Tally) -> Result<Option<TcpStream>, Problem> {
    while !tally.is_over() {
        let mut sockets = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        let glance = PollTimeout::try_from(GLANCE).tried("a time limit")?;
        match poll(&mut sockets, glance) {
            Ok(0) | Err(Errno::EINTR) => {}
            Ok(_) => return listener.accept().map(|(stream, _)| Some(stream)).tried("accepting"),
            Err(error) => return Err(error).tried("accepting"),
        }
    }
    Ok(None)
}

/// Neither a read nor a write may last longer than a glance.
fn glancing(stream: &TcpStream) -> Result<(), Problem> {
    stream.set_nodelay(true).tried("without delay")?;
    stream.set_read_timeout(Some(GLANCE)).tried("a time limit")?;
    stream.set_write_timeout(Some(GLANCE)).tried("a time limit")
}
