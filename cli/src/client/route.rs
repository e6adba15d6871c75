//! How a server is reached: as whom, through what, and where.

use std::net::SocketAddr;
use std::time::Duration;

use stackwright::copy::Copying;
use stackwright::ftp::client::{self, DataMode};
use stackwright::proxy::Config as Proxy;

use super::arguments::Connection;
use crate::air::AirLink;
use crate::described::Described;
use crate::problem::Problem;
use crate::remote::{Below, Remote, check_option};
use crate::trust::Secured;
use crate::{graphs, proxy, secret, stacks, trust};

/// How long a silent server is waited for where nobody says it.
const TIMEOUT: Duration = Duration::from_secs(60);
/// By radio, others use the channel, too.
const TIMEOUT_BY_RADIO: Duration = Duration::from_secs(600);

/// Of a session's connections.
pub(crate) struct Limits {
    /// How long one without a job is kept.
    pub(crate) idle: Duration,
    /// How many there are at most, where it is said.
    pub(crate) sessions: Option<usize>,
}

/// A server, and what is known of it before it is reached.
pub(crate) struct Route<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) below: Below,
    pub(crate) air: Option<AirLink>,
    /// In place of the stack that is built in.
    pub(crate) described: Option<Described>,
    pub(crate) proxy: Option<Proxy>,
    pub(crate) secured: Secured,
    login: Option<(String, String)>,
    /// Every address of the host, in the order to try them. At least one.
    pub(crate) addresses: Vec<SocketAddr>,
}

impl<'a> Route<'a> {
    /// Asks for a password where one is needed.
    pub(crate) fn find(remote: &Remote, connection: &'a Connection) -> Result<Self, Problem> {
        let own = connection.inet.as_ref().map(|inet| Described::on_device("get-inet", inet));
        let air = remote.air.as_ref().filter(|_| connection.stack.is_none());
        let own = own.or(air.map(|air| Described::on_air(air, connection.call.as_deref())));
        let placement = &connection.placement;
        placement.check_ungranted()?;
        check_option("--placement", placement.is_server(), &[remote.below])?;
        let (below, is_placed) = (remote.below, placement.is_server());
        let placed = || Described::placed(below.stacks()[0], below, placement);
        let own = own.or(is_placed.then(placed));
        let described = connection.stack.as_deref().map(graphs::load::<Copying>).or(own);
        let described = described.transpose()?;
        let is_built_in = described.is_none() || air.is_some();
        check_option("--packet", connection.packet.is_some() && is_built_in, &[below])?;
        check_option("--proxy", connection.proxy.is_some(), &[below])?;
        check_option("--call", connection.call.is_some(), &[below])?;
        if let Some(described) = described.as_ref().filter(|_| connection.proxy.is_some()) {
            graphs::check_proxy(described)?;
        }
        let secured = trust::choose(remote, &connection.tls)?;
        let login = secret::login(remote, connection.password_file.as_deref())?;
        // A proxy passes streams on, and stands on TCP.
        let proxy = match remote.below {
            Below::Tcp | Below::Tls if !connection.active && connection.inet.is_none() => {
                proxy::choose(connection.proxy.as_deref(), &remote.host)?
            }
            _ => None,
        };
        let addresses = remote.addresses()?;
        let air = remote.air.clone();
        Ok(Route { connection, below, air, described, proxy, secured, login, addresses })
    }

    /// The configuration of a client.
    pub(crate) fn config(&self, address: SocketAddr, limits: &Limits) -> client::Config {
        let mut config = client::Config::anonymous(address);
        if let Some((user, password)) = &self.login {
            (config.user, config.password) = (user.clone(), password.clone());
        }
        config.data = if self.connection.active { DataMode::Active } else { DataMode::Passive };
        let by_radio = self.below == Below::Radio;
        let usual = if by_radio { TIMEOUT_BY_RADIO } else { TIMEOUT };
        config.quits = !by_radio;
        config.timeout = self.connection.timeout.unwrap_or(usual);
        config.idle = limits.idle;
        config.epoch = stacks::epoch();
        config.tls = self.secured.mode;
        config.sessions_most = limits.sessions.unwrap_or(config.sessions_most);
        config
    }
}
