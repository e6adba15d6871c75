//! ENet by the crate `rusty_enet`, a translation of the library in C: reliable packets on one
//! channel.

mod host;
mod receive;
mod send;

use std::net::{IpAddr, SocketAddr};

use super::{Sent, Server, from_anywhere};
use crate::course::Course;
use crate::plan::Plan;
use crate::problem::{Problem, Tried as _};
use crate::tally::Tally;
use host::{Host, MOST_PEERS};

pub(super) fn listen(plan: &Plan, local: IpAddr) -> Result<Server, Problem> {
    if plan.associations() > MOST_PEERS {
        return Err(Problem::new(format!("a host of ENet has at most {MOST_PEERS} associations")));
    }
    let host = Host::new(plan, SocketAddr::new(local, 0))?;
    let port = host.local()?.port();
    let serve = move |plan: &Plan, tally: &Tally| receive::serve(host, plan, tally);
    Ok(Server { port, certificate: None, serve: Box::new(serve) })
}

pub(super) fn send(plan: &Plan, remote: SocketAddr, course: &Course) -> Result<Sent, Problem> {
    let host = Host::new(plan, from_anywhere(remote)).tried("a host")?;
    send::send(host, plan, remote, course)
}
