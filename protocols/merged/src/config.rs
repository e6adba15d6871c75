//! The configuration.

use stackwright_contract::Duration;

/// How much peers may make this side hold, and how long they are waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The most associations below that peers may have opened, at least 1.
    pub associations_most: usize,
    /// The most streams of one of them that its peer may have opened.
    pub streams_most: usize,
    /// How long the peer's end of a stream is waited for that was closed here.
    pub close_wait: Duration,
}

impl Default for Config {
    fn default() -> Self {
        Config { associations_most: 64, streams_most: 64, close_wait: Duration::from_secs(60) }
    }
}
