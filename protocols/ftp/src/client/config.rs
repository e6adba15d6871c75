//! The configuration of a client.

use alloc::string::String;
use core::net::SocketAddr;

use stackwright_contract::Duration;

/// The server, the login, and how the client behaves.
#[derive(Clone)]
pub struct Config {
    /// The server's control address.
    pub server: SocketAddr,
    /// The user's name.
    pub user: String,
    /// The password. It reaches the server, and nothing else: not even a trace.
    pub password: String,
    /// The side that opens the data associations, and where.
    pub data: DataMode,
    /// The most control associations at once, and so the most open files; requests for more wait.
    /// One more may compare the part of an upload, which waits for that.
    pub sessions_most: usize,
    /// How long a session without a job stays logged in. Zero: it ends with the batch.
    pub idle: Duration,
    /// How long a server may be silent, or a transfer make no progress.
    pub timeout: Duration,
    /// How associations are secured (RFC 4217); a layer below has to know how.
    pub tls: TlsMode,
    /// The index of the server in the configuration of the layer that secures: whom it expects, and
    /// whom it trusts.
    pub tls_server: u32,
    /// When the run starts, in seconds since 1970: it tells the year of dates in listings that have
    /// none.
    pub epoch: Option<u64>,
    /// Whether an abort is sent as expedited octets (RFC 959 §4.1.3), which the streams below must
    /// promise. Never on a secure association.
    pub expedite: bool,
    /// Whether the server is asked to leave out the text of its replies (SUPP, CCSDS 717.0).
    pub terse: bool,
    /// Whether QUIT is sent before a control association ends. It changes nothing, and on a slow
    /// link its round trip takes seconds.
    pub quits: bool,
}

/// The side that opens the data associations, and where.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataMode {
    /// The client, which works through most firewalls.
    Passive,
    /// The server.
    Active,
    /// The client, at the port below that of the control association (RFC 959 §3.2), which the
    /// server is not asked for: streams of one association, below which both sides are Stackwright.
    /// So all commands of a transfer leave at once, with the login before them. With TLS it is
    /// [`Passive`](DataMode::Passive).
    Merged,
}

/// How associations are secured by TLS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TlsMode {
    /// Not at all.
    #[default]
    Off,
    /// By AUTH TLS, the first command; a server that refuses it is not used (RFC 4217 §4).
    Explicit,
    /// From the first octet, at a port of its own: 990.
    Implicit,
}

impl Config {
    /// Returns an anonymous login at `server`, with the defaults.
    pub fn anonymous(server: SocketAddr) -> Self {
        Config {
            server,
            user: "anonymous".into(),
            password: "anonymous@".into(),
            data: DataMode::Passive,
            sessions_most: 4,
            idle: Duration::from_secs(30),
            timeout: Duration::from_secs(60),
            tls: TlsMode::Off,
            tls_server: 0,
            epoch: None,
            expedite: true,
            terse: false,
            quits: true,
        }
    }
}

/// Shows everything but the password.
impl core::fmt::Debug for Config {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Config")
            .field("server", &self.server)
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}
