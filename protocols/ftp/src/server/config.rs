//! What a server is told when it is made.

use alloc::boxed::Box;
use alloc::string::String;

use stackwright_contract::Duration;

/// What may be chosen.
pub struct Config {
    /// Said to everybody who comes.
    pub greeting: String,
    /// Who may come in.
    pub accounts: Box<dyn Accounts>,
    /// How many sessions at once; one more is told to come again later.
    pub sessions_most: usize,
    /// How long a session may be silent, or a transfer stand still. RFC 1123 §4.1.3.2 asks for five
    /// minutes at least.
    pub idle: Duration,
    /// How long to wait for a data association.
    pub data_wait: Duration,
    /// How long a wrong password waits for its answer.
    pub penalty: Duration,
    /// Seconds since 1970 at the start of the run, for the dates in listings.
    pub epoch: Option<u64>,
}

impl Config {
    /// The defaults, with `accounts`.
    pub fn new(accounts: Box<dyn Accounts>) -> Self {
        Config {
            greeting: "Stackwright FTP".into(),
            accounts,
            sessions_most: 1000,
            idle: Duration::from_secs(300),
            data_wait: Duration::from_secs(30),
            penalty: Duration::from_secs(1),
            epoch: None,
        }
    }
}

/// Says who may come in: it is asked, and never acts.
pub trait Accounts {
    /// What `user` with `password` may do; `None` where they may not come in. It should take
    /// equally long for every wrong answer.
    fn admits(&self, user: &str, password: &str) -> Option<Rights>;
}

/// What a user may do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rights {
    /// Store files.
    pub write: bool,
}

/// Everybody may come in as `anonymous` or `ftp`, with any password.
#[derive(Clone, Copy, Debug)]
pub struct Anonymous(pub Rights);

impl Accounts for Anonymous {
    fn admits(&self, user: &str, _password: &str) -> Option<Rights> {
        (user.eq_ignore_ascii_case("anonymous") || user.eq_ignore_ascii_case("ftp")).then_some(self.0)
    }
}
