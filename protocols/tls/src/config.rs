//! The configuration.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use rustls::client::{ClientConfig, Resumption};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{InvalidDnsNameError, ServerName, UnixTime};
use rustls::server::ServerConfig;
use rustls::time_provider::TimeProvider;
use rustls::{SupportedProtocolVersion, version};
use stackwright_contract::{Context, Duration, Instant, Secure};

use crate::identity::ServerIdentity;
use crate::sessions::{ClientSessions, ServerSessions};
use crate::verify::{Trust, Verifier};

/// The configuration of a [`Tls`](crate::Tls).
#[derive(Clone, Debug)]
pub struct Config {
    /// Seconds from 1970 to the start of the run: certificates expire in wall time, which is read
    /// once and then counted with the time of the run.
    pub epoch: u64,
    /// The servers that a client may expect, by the index of [`Secure::identity`].
    pub servers: Vec<ExpectedServer>,
    /// The identities of a server, by the same index.
    pub identities: Vec<ServerIdentity>,
    /// Secures every association as soon as it is open, as if it were commanded: implicit TLS.
    pub from_start: Option<Secure>,
    /// How long a handshake may take.
    pub handshake_timeout: Duration,
    /// How long it may take a peer to receive what was sent before `Close`.
    pub close_timeout: Duration,
    /// Of how many clients of each identity a server remembers sessions, which may be resumed.
    pub sessions: usize,
    /// The versions that are spoken.
    pub versions: TlsVersions,
}

/// The versions of TLS that are spoken. Older ones are broken (RFC 8996).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TlsVersions {
    /// TLS 1.3, and 1.2 with a peer that is older.
    Both,
    /// TLS 1.2 alone.
    Only12,
    /// TLS 1.3 alone.
    Only13,
}

impl Config {
    /// Returns a configuration without servers and identities, for a run that starts at `epoch`
    /// (seconds from 1970): 30 seconds for a handshake, a minute for a close, 1024 sessions.
    pub const fn at(epoch: u64) -> Self {
        Config {
            epoch,
            servers: Vec::new(),
            identities: Vec::new(),
            from_start: None,
            handshake_timeout: Duration::from_secs(30),
            close_timeout: Duration::from_secs(60),
            sessions: 1024,
            versions: TlsVersions::Both,
        }
    }

    pub(crate) fn prepare(self) -> (Limits, Vec<Client>, Vec<Server>, Arc<WallClock>) {
        let clock = Arc::new(WallClock { epoch: self.epoch, now: AtomicU64::new(self.epoch) });
        let library = Library {
            provider: Arc::new(ring::default_provider()),
            clock: Arc::clone(&clock),
            versions: match self.versions {
                TlsVersions::Both => &BOTH,
                TlsVersions::Only12 => &BOTH[1..],
                TlsVersions::Only13 => &BOTH[..1],
            },
        };
        let limits = Limits {
            from_start: self.from_start,
            handshake: self.handshake_timeout,
            close: self.close_timeout,
        };
        let clients = self.servers.into_iter().map(|server| library.client(server)).collect();
        let identities = self.identities.into_iter();
        let servers = identities.map(|own| library.server(own, self.sessions)).collect();
        (limits, clients, servers, clock)
    }
}

/// A server that a client expects.
#[derive(Clone, Debug)]
pub struct ExpectedServer {
    name: ServerName<'static>,
    trust: Trust,
}

impl ExpectedServer {
    /// Expects the server of this name (a host name, or an IP address).
    ///
    /// # Errors
    /// If that is neither.
    pub fn new(name: &str, trust: Trust) -> Result<Self, InvalidDnsNameError> {
        Ok(ExpectedServer { name: ServerName::try_from(String::from(name))?, trust })
    }
}

/// What is left of the configuration for associations.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) from_start: Option<Secure>,
    pub(crate) handshake: Duration,
    pub(crate) close: Duration,
}

/// An expected server, ready for handshakes.
pub(crate) struct Client {
    pub(crate) name: ServerName<'static>,
    pub(crate) config: Arc<ClientConfig>,
    /// The same with TLS 1.2 alone, where both versions are spoken.
    pub(crate) only_12: Option<Arc<ClientConfig>>,
    /// Whether new groups speak that: the server gave fewer tickets of TLS 1.3 than it wants to
    /// see.
    pub(crate) is_short_of_tickets: bool,
    pub(crate) verifier: Arc<Verifier>,
    pub(crate) sessions: Arc<ClientSessions>,
}

/// An own identity, ready for handshakes.
pub(crate) struct Server {
    /// For an association that begins a group: its client gets two tickets.
    pub(crate) begins: Arc<ServerConfig>,
    /// For one that joins: its client gets one ticket, in the place of the one it used up.
    pub(crate) joins: Arc<ServerConfig>,
    /// For one whose peer may never read: it gets none.
    pub(crate) borrows: Arc<ServerConfig>,
    pub(crate) sessions: Arc<ServerSessions>,
}

struct Library {
    provider: Arc<CryptoProvider>,
    clock: Arc<WallClock>,
    versions: &'static [&'static SupportedProtocolVersion],
}

static BOTH: [&SupportedProtocolVersion; 2] = [&version::TLS13, &version::TLS12];

const CONSISTENT: &str = "ring has cipher suites and groups for both versions";

impl Library {
    fn client(&self, server: ExpectedServer) -> Client {
        let algorithms = self.provider.signature_verification_algorithms;
        let verifier = Arc::new(Verifier::new(server.trust, algorithms));
        let sessions = Arc::new(ClientSessions::default());
        let speaking = |versions| {
            let (provider, clock) = (Arc::clone(&self.provider), Arc::clone(&self.clock));
            let mut config = ClientConfig::builder_with_details(provider, clock)
                .with_protocol_versions(versions)
                .expect(CONSISTENT)
                .dangerous()
                .with_custom_certificate_verifier(Arc::clone(&verifier) as _)
                .with_no_client_auth();
            config.resumption = Resumption::store(Arc::clone(&sessions) as _);
            Arc::new(config)
        };
        let config = speaking(self.versions);
        let only_12 = (self.versions.len() == BOTH.len()).then(|| speaking(&BOTH[1..]));
        let (name, is_short_of_tickets) = (server.name, false);
        Client { name, config, only_12, is_short_of_tickets, verifier, sessions }
    }

    fn server(&self, identity: ServerIdentity, most: usize) -> Server {
        let sessions = Arc::new(ServerSessions::new(most));
        let (provider, clock) = (Arc::clone(&self.provider), Arc::clone(&self.clock));
        let mut begins = ServerConfig::builder_with_details(provider, clock)
            .with_protocol_versions(self.versions)
            .expect(CONSISTENT)
            .with_no_client_auth()
            .with_cert_resolver(identity.resolver());
        begins.session_storage = Arc::clone(&sessions) as _;
        begins.send_tls13_tickets = 2;
        let mut joins = begins.clone();
        joins.send_tls13_tickets = 1;
        let mut borrows = begins.clone();
        borrows.send_tls13_tickets = 0;
        let [begins, joins, borrows] = [begins, joins, borrows].map(Arc::new);
        Server { begins, joins, borrows, sessions }
    }
}

/// The wall clock: it stands where the layer has set it.
#[derive(Debug)]
pub(crate) struct WallClock {
    epoch: u64,
    now: AtomicU64,
}

impl WallClock {
    pub(crate) fn set(&self, cx: &Context) {
        let seconds = cx.now().since(Instant::START).as_secs();
        self.now.store(self.epoch.saturating_add(seconds), Ordering::Relaxed);
    }
}

impl TimeProvider for WallClock {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = self.now.load(Ordering::Relaxed);
        Some(UnixTime::since_unix_epoch(Duration::from_secs(seconds)))
    }
}
