//! What there is: one line per protocol.

use stackwright_contract::{Facts, Protocol, Service};
use stackwright_wire::BufferTree;

/// A protocol, as a table shows it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What the rule book knows of it.
    pub facts: Facts,
    /// The service it offers.
    pub provides: &'static str,
    /// The service it needs.
    pub uses: &'static str,
    /// In one sentence.
    pub purpose: &'static str,
}

const fn entry<P: Protocol>(purpose: &'static str) -> Entry {
    Entry {
        facts: P::FACTS,
        provides: <P::Provides as Service>::NAME,
        uses: <P::Uses as Service>::NAME,
        purpose,
    }
}

/// All protocols, in the order of their names.
pub const PROTOCOLS: &[Entry] = &[
    entry::<stackwright_copy::Copy<BufferTree>>("copies files from one place to another"),
    entry::<stackwright_ftp::Client<BufferTree>>("files that lie on an FTP server"),
    entry::<stackwright_ftp::Server<BufferTree>>("serves files to FTP clients"),
    entry::<stackwright_stop_and_wait::StopAndWait<BufferTree>>(
        "one message at a time, sent again until it is acknowledged",
    ),
];
