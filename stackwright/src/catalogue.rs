//! What there is: one line per protocol.

use stackwright_contract::{Facts, Protocol, Service};
use stackwright_wire::{BufferTree, Field, Header};

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
    /// The headers that it may put before a payload, from the first octet on. None where it speaks in lines of text.
    pub headers: &'static [Layout],
}

/// The layout of a header, without its struct: enough to dissect octets.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Its name.
    pub name: &'static str,
    /// Its fields.
    pub fields: &'static [Field],
}

impl Layout {
    /// The layout of `H`.
    pub const fn of<H: Header>() -> Self {
        Layout { name: H::NAME, fields: H::FIELDS }
    }
}

impl Entry {
    /// The same protocol, which puts these headers before its payloads.
    const fn with_headers(self, headers: &'static [Layout]) -> Self {
        Entry { headers, ..self }
    }
}

/// The protocol with that name.
pub fn find(name: &str) -> Option<&'static Entry> {
    PROTOCOLS.iter().find(|entry| entry.facts.name == name)
}

const fn entry<P: Protocol>(purpose: &'static str) -> Entry {
    Entry {
        facts: P::FACTS,
        provides: <P::Provides as Service>::NAME,
        uses: <P::Uses as Service>::NAME,
        purpose,
        headers: &[],
    }
}

/// All protocols, in the order of their names.
pub const PROTOCOLS: &[Entry] = &[
    entry::<stackwright_copy::Copy<BufferTree>>("copies files from one place to another"),
    entry::<stackwright_ftp::Client<BufferTree>>("files that lie on an FTP server"),
    entry::<stackwright_ftp::Server<BufferTree>>("serves files to FTP clients"),
    entry::<stackwright_ordered::Ordered<BufferTree>>("streams over datagrams that arrive in any order")
        .with_headers(&[Layout::of::<stackwright_ordered::Label>()]),
    entry::<stackwright_stop_and_wait::StopAndWait<BufferTree>>(
        "one message at a time, sent again until it is acknowledged",
    )
    .with_headers(&[Layout::of::<stackwright_stop_and_wait::Label>()]),
];
