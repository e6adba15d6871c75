//! What there is: one line per protocol.

use stackwright_artp::Artp;
use stackwright_contract::{Facts, Protocol, Service};
use stackwright_transport::{Configuration, rules};
use stackwright_wire::BufferTree;
use stackwright_wire::syntax::{Layout, Step};

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
    /// What its packets consist of. Nothing where it speaks in lines of text.
    pub syntax: &'static [Step],
    /// The UDP port at which it is found when nobody says another.
    pub port: Option<u16>,
    /// Of a transport with slots: what was chosen for each, in the order of
    /// [`SLOTS`](stackwright_transport::SLOTS).
    pub policies: &'static [rules::Facts],
}

impl Entry {
    /// The same protocol, whose packets consist of this.
    const fn with_syntax(self, syntax: &'static [Step]) -> Self {
        Entry { syntax, ..self }
    }

    /// The same protocol, found at this UDP port.
    const fn at_port(self, port: u16) -> Self {
        Entry { port: Some(port), ..self }
    }

    /// The same protocol, a transport with the slots of `C`.
    const fn with_policies<C: Configuration>(self) -> Self {
        Entry { policies: C::PARTS, ..self }
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
        syntax: &[],
        port: None,
        policies: &[],
    }
}

/// All protocols, in the order of their names.
pub const PROTOCOLS: &[Entry] = &[
    entry::<stackwright_artp::Layer<BufferTree>>("reliable datagrams of any size, in no order")
        .with_syntax(stackwright_artp::SYNTAX)
        .at_port(stackwright_artp::PORT)
        .with_policies::<Artp<BufferTree>>(),
    entry::<stackwright_copy::Copy<BufferTree>>("copies files from one place to another"),
    entry::<stackwright_framed::Framed<BufferTree>>("messages over a stream")
        .with_syntax(&[Step::Header(Layout::of::<stackwright_framed::Length>())]),
    entry::<stackwright_ftp::Client<BufferTree>>("files that lie on an FTP server"),
    entry::<stackwright_ftp::Server<BufferTree>>("serves files to FTP clients"),
    entry::<stackwright_ordered::Ordered<BufferTree>>("streams over datagrams that arrive in any order")
        .with_syntax(&[Step::Header(Layout::of::<stackwright_ordered::Label>())]),
    entry::<stackwright_stop_and_wait::StopAndWait<BufferTree>>(
        "one message at a time, sent again until it is acknowledged",
    )
    .with_syntax(&[Step::Header(Layout::of::<stackwright_stop_and_wait::Label>())]),
];
