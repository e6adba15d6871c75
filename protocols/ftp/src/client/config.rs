//! What a client is told when it is made.

use alloc::string::String;
use core::net::SocketAddr;

use stackwright_contract::Duration;

/// Where to log in, and how.
#[derive(Clone)]
pub struct Config {
    /// The server's control address.
    pub server: SocketAddr,
    /// The user's name.
    pub user: String,
    /// The password. It reaches the server, and nothing else.
    pub password: String,
    /// Who opens the data associations.
    pub data: DataMode,
    /// How many control associations at once: so many files can be open at once, more wait.
    pub sessions_most: usize,
    /// How long a session without work stays logged in. Zero: it leaves when the batch is done.
    pub idle: Duration,
    /// How long a server may be silent, or a transfer stand still.
    pub timeout: Duration,
    /// Whether an abort is sent as expedited octets (RFC 959 §4.1.3). The streams below must
    /// promise them.
    pub expedite: bool,
}

/// Who opens the data associations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataMode {
    /// The client: works through most firewalls.
    Passive,
    /// The server.
    Active,
}

impl Config {
    /// Anonymous at `server`, with the defaults.
    pub fn anonymous(server: SocketAddr) -> Self {
        Config {
            server,
            user: "anonymous".into(),
            password: "anonymous@".into(),
            data: DataMode::Passive,
            sessions_most: 4,
            idle: Duration::from_secs(30),
            timeout: Duration::from_secs(60),
            expedite: true,
        }
    }
}

/// Says everything but the password.
impl core::fmt::Debug for Config {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Config")
            .field("server", &self.server)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}
