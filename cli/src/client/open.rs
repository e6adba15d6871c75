//! The stack of a session, of those there are.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use stackwright::contract::{Listener, Protocol};
use stackwright::copy::Copying;
use stackwright::ftp::client;
use stackwright_drivers::{Driver, Lanes};

use super::engine::{Engine, Running};
use super::place::Local;
use super::route::{Limits, Route};
use crate::problem::Problem;
use crate::registry::Wishes;
use crate::remote::Below;
use crate::report::{Dialogue, Said};
use crate::stacks::{Between, MakeStreams, OwnStreams, Rate};
use crate::{graphs, stacks};

/// Makes a stack that copies between the server at `address` and what is on this side.
pub(super) fn open(
    route: &Route<'_>,
    address: SocketAddr,
    limits: &Limits,
    local: &Local,
) -> Result<Box<dyn Engine>, Problem> {
    let connection = route.connection;
    let config = route.config(address, limits);
    let (listener, said) = Dialogue::new(connection.verbose);
    let listener = Box::new(listener);
    let packet = connection.packet.unwrap_or_else(|| stacks::packet(address.ip()));
    let rate = connection.limit_rate;
    let server = route.secured.server.clone();
    let between = Between { proxy: route.proxy.clone(), server: server.clone() };
    let opened = match (&route.described, route.below, local) {
        (Some(described), _, Local::Folder(folder)) => {
            let wishes = Wishes {
                patient: connection.timeout.is_some(),
                packet: connection.packet,
                server,
                ..Wishes::default()
            };
            let (driver, graph) = graphs::copy(described, folder, config, wishes, listener)?;
            running(Ok((driver, graph)), said)
        }
        (Some(_), _, Local::Open(_, shown)) => {
            let why = "a described stack copies to and from folders only";
            return Err(Problem::Unfit { what: shown.clone(), why });
        }
        (None, Below::Tcp | Below::Tls, Local::Folder(folder)) => {
            running(stacks::copy(folder, config, between, rate, listener), said)
        }
        (None, Below::Tcp | Below::Tls, Local::Open(file, _)) => {
            running(stacks::pipe(file, config, between, rate, listener), said)
        }
        (None, Below::Artp, local) => {
            over(stacks::artp_streams, local, config, rate, (listener, said), packet)
        }
        (None, Below::Xtp, local) => {
            over(stacks::xtp_streams, local, config, rate, (listener, said), packet)
        }
    };
    opened.map_err(|why| Problem::Path { path: local.shown().into(), why })
}

/// Makes a stack over streams of a transport of ours.
fn over<S: OwnStreams>(
    streams: MakeStreams<S>,
    local: &Local,
    config: client::Config,
    rate: Rate,
    (listener, said): (Box<dyn Listener>, Arc<Mutex<Said>>),
    packet: u16,
) -> io::Result<Box<dyn Engine>> {
    match local {
        Local::Folder(folder) => {
            running(stacks::copy_over(folder, config, rate, listener, streams, packet), said)
        }
        Local::Open(file, _) => {
            running(stacks::pipe_over(file, config, rate, listener, streams, packet), said)
        }
    }
}

fn running<S>(
    opened: io::Result<(Driver, S)>,
    said: Arc<Mutex<Said>>,
) -> io::Result<Box<dyn Engine>>
where
    S: Protocol<Provides = Copying, Uses: Lanes> + 'static,
{
    opened.map(|(driver, stack)| Box::new(Running::new(driver, stack, said)) as Box<dyn Engine>)
}
