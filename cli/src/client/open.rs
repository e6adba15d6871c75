//! The stack of a session, of those there are.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};

use stackwright::contract::Protocol;
use stackwright::copy::Copying;
use stackwright_drivers::{Driver, Lanes};

use super::dialogue::{Dialogue, Said};
use super::engine::{Engine, Running};
use super::route::{Limits, Route};
use crate::described::Described;
use crate::graphs::Local;
use crate::problem::Problem;
use crate::registry::Wishes;
use crate::remote::Below;
use crate::stacks::Between;
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
    let line = route.air.as_ref().map(|air| air.line.clone());
    let (listener, said) = Dialogue::new(connection.verbose, line.unwrap_or("its line".into()));
    let listener = Box::new(listener);
    let server = route.secured.server.clone();
    let own = matches!(route.below, Below::Artp | Below::Xtp);
    let opened = match (&route.described, local) {
        (None, Local::Folder(folder)) if !own => {
            let between = Between { proxy: route.proxy.clone(), server };
            let rate = connection.limit_rate;
            running(stacks::copy(folder, config, between, rate, listener), said)
        }
        (described, local) => {
            let longest = described.is_none().then(|| stacks::packet(address.ip()));
            let wishes = Wishes {
                patient: connection.timeout.is_some(),
                packet: connection.packet.or(longest),
                proxy: route.proxy.clone(),
                rate: connection.limit_rate,
                server,
                ..Wishes::default()
            };
            let built_in = || Described::load(Path::new(route.below.stacks()[0]));
            let opened = match described {
                Some(described) => graphs::copy(described, local, config, wishes, listener)?,
                None => graphs::copy(&built_in()?, local, config, wishes, listener)?,
            };
            running(Ok(opened), said)
        }
    };
    opened.map_err(|why| Problem::Path { path: local.shown().into(), why })
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
