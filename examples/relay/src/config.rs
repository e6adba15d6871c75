//! What can be chosen.

use stackwright_contract::services::Credit;

/// What can be chosen of a relay.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// How much may wait here, of each who arrived and each way. A datagram that is longer never
    /// comes.
    pub credit: Credit,
    /// How many may be served at once; who comes beyond them waits outside.
    pub pairs_most: usize,
    /// How many names wait for arrivals, at most.
    pub awaited_most: usize,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            credit: Credit { octets: 256 << 10, messages: 64 },
            pairs_most: 1000,
            awaited_most: 16,
        }
    }
}
