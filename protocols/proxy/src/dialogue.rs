//! What is said to a proxy before it passes octets on: lines of HTTP, or messages of SOCKS.

use alloc::vec::Vec;
use core::net::SocketAddr;

use stackwright_contract::services::Ended;

use crate::config::{Config, Kind};
use crate::http::Http;
use crate::socks::Socks;

/// The longest answer of a proxy, in octets: one that says more is left.
const ANSWER_MOST: usize = 16 << 10;

/// How far the dialogue is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More octets are needed.
    More,
    /// This is to be said now.
    Say(Vec<u8>),
    /// The proxy passes octets on from here. Its answer had this length, in octets.
    Through(usize),
    /// It does not.
    Over(Ended),
}

/// A dialogue with a proxy.
pub(crate) struct Dialogue {
    speaks: Speaks,
    /// What was heard, and not yet understood.
    heard: Vec<u8>,
}

enum Speaks {
    Socks(Socks),
    Http(Http),
}

impl Dialogue {
    /// Begins a dialogue that asks for `peer`; returns what is to be said first. `None` if it
    /// cannot be said in the proxy's protocol.
    pub(crate) fn begin(config: &Config, peer: SocketAddr) -> Option<(Self, Vec<u8>)> {
        let (speaks, first) = match config.kind {
            Kind::Socks5 => {
                let (socks, first) = Socks::begin(config.login.as_ref(), peer)?;
                (Speaks::Socks(socks), first)
            }
            Kind::HttpConnect => {
                let first = Http::request(config.login.as_ref(), peer);
                (Speaks::Http(Http::default()), first)
            }
        };
        Some((Dialogue { speaks, heard: Vec::new() }, first))
    }

    /// Takes octets of the proxy.
    pub(crate) fn take(&mut self, octets: &[u8]) {
        self.heard.extend_from_slice(octets);
    }

    /// Goes on with what was taken; to be called again after something was said.
    pub(crate) fn go_on(&mut self) -> Progress {
        let progress = match &mut self.speaks {
            Speaks::Socks(socks) => socks.hear(&mut self.heard),
            Speaks::Http(http) => http.hear(&self.heard),
        };
        match progress {
            Progress::More if self.heard.len() >= ANSWER_MOST => Progress::Over(Ended::Reset(0)),
            progress => progress,
        }
    }

    /// Returns what was heard behind the answer, given how long that was.
    pub(crate) fn behind(&self, answer: usize) -> &[u8] {
        &self.heard[answer..]
    }
}
