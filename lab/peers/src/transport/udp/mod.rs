//! Datagrams and nothing above them: what a transport over UDP cannot exceed. What is lost stays
//! lost.

mod bulk;
mod exchange;

use std::net::{IpAddr, SocketAddr, UdpSocket};

use super::{Sent, Server, from_anywhere, udp_socket};
use crate::course::Course;
use crate::plan::{Plan, Workload};
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;

pub(super) fn listen(plan: &Plan, local: IpAddr) -> Result<Server, Problem> {
    let socket = udp_socket(SocketAddr::new(local, 0))?;
    let address = socket.local_addr().tried("listening")?;
    fits(plan, address)?;
    let serve = move |plan: &Plan, tally: &Tally| match plan.workload {
        Workload::Bulk => bulk::receive(&socket, plan, tally),
        Workload::Requests | Workload::Associations => exchange::answer(&socket, plan, tally),
    };
    Ok(Server { port: address.port(), certificate: None, serve: Box::new(serve) })
}

pub(super) fn send(plan: &Plan, remote: SocketAddr, course: &Course) -> Result<Sent, Problem> {
    fits(plan, remote)?;
    course.begin();
    match plan.workload {
        Workload::Bulk => bulk::send(&connected(remote)?, plan, remote, course),
        Workload::Requests => exchange::requests(&connected(remote)?, plan, course),
        Workload::Associations => exchange::associations(plan, remote, course),
    }
}

fn connected(remote: SocketAddr) -> Result<UdpSocket, Problem> {
    let socket = udp_socket(from_anywhere(remote))?;
    socket.connect(remote).tried("connecting")?;
    Ok(socket)
}

/// A bulk has no messages, only octets; elsewhere a message is a datagram.
fn fits(plan: &Plan, address: SocketAddr) -> Result<(), Problem> {
    let longest = plan.datagram(address.ip());
    if plan.workload != Workload::Bulk && plan.size > longest.into() {
        return Err(Problem::new(format!("a message of raw UDP has at most {longest} octets")));
    }
    Ok(())
}
