//! The configuration of a server.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::Ipv4Addr;
use core::ops::RangeInclusive;

use stackwright_contract::Duration;

/// What a server is configured with.
pub struct Config {
    /// The greeting, which every client receives.
    pub greeting: String,
    /// The accounts that may log in.
    pub accounts: Box<dyn Accounts>,
    /// The most sessions at once; a client beyond is told to come again later.
    pub sessions_most: usize,
    /// The most sessions of one address (one /64 of IPv6), so that no client takes all.
    pub sessions_per_address: usize,
    /// How long a client may be connected without a login.
    pub login_wait: Duration,
    /// How long a session may be silent, or a transfer make no progress. RFC 1123 §4.1.3.2 asks for
    /// five minutes at least.
    pub idle: Duration,
    /// How long a data association is waited for.
    pub data_wait: Duration,
    /// How long the reply to a wrong password is withheld.
    pub penalty: Duration,
    /// The names of this server, for HOST (RFC 7151). Its address is one, too.
    pub hosts: Vec<String>,
    /// The ports that PASV and EPSV listen on; any where it is absent.
    pub passive_ports: Option<RangeInclusive<u16>>,
    /// The address that PASV tells, where that of the server is not the one that clients reach it
    /// by: behind a translator of addresses. EPSV tells none.
    pub public_address: Option<Ipv4Addr>,
    /// Whether data associations are streams beside the control stream, on one association below:
    /// clients open them at the port below that of the control association (RFC 959 §3.2), without
    /// a word. PASV, EPSV, PORT and EPRT are there all the same. They cannot be protected.
    pub merged: bool,
    /// Whether sessions begin as behind SUPP (CCSDS 717.0): their replies have no text that the
    /// client did not ask for, and there is no greeting.
    pub terse: bool,
    /// Whether associations can be protected (RFC 4217).
    pub security: SecurityLevel,
    /// Whether a protected data association has to resume the session of its control association.
    pub session_reuse: SessionReuse,
    /// The seconds since 1970 at the start of the run, for the dates in listings.
    pub epoch: Option<u64>,
}

impl Config {
    /// Returns the defaults, with `accounts`.
    pub fn new(accounts: Box<dyn Accounts>) -> Self {
        Config {
            greeting: "Stackwright FTP".into(),
            accounts,
            sessions_most: 1000,
            sessions_per_address: 200,
            login_wait: Duration::from_secs(120),
            idle: Duration::from_secs(300),
            data_wait: Duration::from_secs(30),
            penalty: Duration::from_secs(1),
            hosts: Vec::new(),
            passive_ports: None,
            public_address: None,
            merged: false,
            terse: false,
            security: SecurityLevel::Off,
            session_reuse: SessionReuse::Prefer,
            epoch: None,
        }
    }
}

/// Whether associations can be protected by TLS (RFC 4217).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SecurityLevel {
    /// They cannot.
    #[default]
    Off,
    /// They can.
    Offered,
    /// Nobody logs in, and no data is sent, without.
    Required,
}

impl SecurityLevel {
    pub(super) fn required(self) -> bool {
        self == SecurityLevel::Required
    }
}

/// Whether a protected data association has to resume the TLS session of its control association,
/// which proves that both are of one client: whoever connects to a port of PASV first gets the file
/// otherwise.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SessionReuse {
    /// It need not.
    Off,
    /// It has to, where an earlier one of the session did: some clients never do.
    #[default]
    Prefer,
    /// It has to.
    Require,
}

/// Decides which users may log in: it is asked, and never acts.
pub trait Accounts {
    /// Returns the rights of `user` with `password`; `None` where they may not log in. It should
    /// take equally long for every refusal.
    fn admits(&self, user: &str, password: &str) -> Option<Rights>;
}

/// The rights of a user.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rights {
    /// Whether the user may store files.
    pub write: bool,
}

/// Admits `anonymous` and `ftp` with any password, and these rights.
#[derive(Clone, Copy, Debug)]
pub struct Anonymous(pub Rights);

impl Accounts for Anonymous {
    fn admits(&self, user: &str, _password: &str) -> Option<Rights> {
        (user.eq_ignore_ascii_case("anonymous") || user.eq_ignore_ascii_case("ftp"))
            .then_some(self.0)
    }
}
