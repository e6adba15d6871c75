//! Targets: each takes any octets, does with them what a peer could make us do, and panics where a
//! promise is broken.
//!
//! ```text
//! cargo test -p stackwright-targets                                    the corpus, and some thousand mutations of it
//! cargo run --release -p stackwright-targets -- all --seconds 60      more of them
//! ```
//!
//! `fuzz/` lends the same functions to a fuzzer that sees coverage.
#![forbid(unsafe_code)]

mod addresses;
mod agw;
mod artp;
mod artp_headers;
mod ax25;
mod captures;
mod client;
mod commands;
mod compress;
mod descriptions;
mod dsr;
mod endpoints;
mod forms;
mod group;
mod headers;
mod hosts;
mod inet_headers;
mod ip;
mod ipc_host;
mod jpeg;
mod kiss;
mod listed;
mod listings;
mod lower;
mod merged;
mod mutation;
// What `show.rs` of the program is written with.
#[allow(dead_code, unused_macros, reason = "captures need less of it than the program")]
#[path = "../../../cli/src/printable.rs"]
mod printable;
mod protocols;
mod replies;
mod resolve;
mod roles;
mod server;
mod sessions;
mod tailored;
mod tcp;
mod xstp;
mod xtp;
mod xtp_packets;

use std::path::PathBuf;
use std::{fs, io};

pub use addresses::addresses;
pub use agw::agw;
pub use artp::artp;
pub use artp_headers::artp_headers;
pub use ax25::{ax25, ax25_frames, ax25_xid};
pub use captures::captures;
pub use client::client;
pub use commands::commands;
pub use compress::compress;
pub use descriptions::descriptions;
pub use dsr::dsr;
pub use forms::forms;
pub use group::{group_headers, group_member};
pub use headers::headers;
pub use inet_headers::inet_headers;
pub use ip::ip;
pub use ipc_host::ipc_host;
pub use jpeg::jpeg;
pub use kiss::kiss;
pub use listed::listed;
pub use listings::listings;
pub use merged::merged;
pub use mutation::{Mutations, shortened};
pub use protocols::protocols;
pub use replies::replies;
pub use resolve::resolve;
pub use roles::roles;
pub use server::server;
pub use sessions::sessions;
pub use tailored::tailored;
pub use tcp::tcp;
pub use xstp::xstp;
pub use xtp::{xtp, xtp_group};
pub use xtp_packets::{xtp_headers, xtp_packets};

/// One target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name, and that of its folder in the corpus.
    pub name: &'static str,
    /// What it does.
    pub run: fn(&[u8]),
}

/// All targets.
pub const TARGETS: &[Target] = &[
    Target { name: "headers", run: headers },
    Target { name: "commands", run: commands },
    Target { name: "replies", run: replies },
    Target { name: "addresses", run: addresses },
    Target { name: "listings", run: listings },
    Target { name: "forms", run: forms },
    Target { name: "server", run: server },
    Target { name: "sessions", run: sessions },
    Target { name: "client", run: client },
    Target { name: "descriptions", run: descriptions },
    Target { name: "captures", run: captures },
    Target { name: "inet_headers", run: inet_headers },
    Target { name: "ip", run: ip },
    Target { name: "ipc_host", run: ipc_host },
    Target { name: "dsr", run: dsr },
    Target { name: "resolve", run: resolve },
    Target { name: "tcp", run: tcp },
    Target { name: "xstp", run: xstp },
    Target { name: "jpeg", run: jpeg },
    Target { name: "kiss", run: kiss },
    Target { name: "artp_headers", run: artp_headers },
    Target { name: "artp", run: artp },
    Target { name: "protocols", run: protocols },
    Target { name: "ax25_frames", run: ax25_frames },
    Target { name: "ax25_xid", run: ax25_xid },
    Target { name: "ax25", run: ax25 },
    Target { name: "agw", run: agw },
    Target { name: "xtp_headers", run: xtp_headers },
    Target { name: "xtp_packets", run: xtp_packets },
    Target { name: "xtp", run: xtp },
    Target { name: "xtp_group", run: xtp_group },
    Target { name: "tailored", run: tailored },
    Target { name: "roles", run: roles },
    Target { name: "merged", run: merged },
    Target { name: "compress", run: compress },
    Target { name: "group_headers", run: group_headers },
    Target { name: "group_member", run: group_member },
    Target { name: "listed", run: listed },
];

/// The committed inputs of a target.
///
/// # Errors
/// Where they cannot be read.
pub fn corpus(target: &str) -> io::Result<Vec<Vec<u8>>> {
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "corpus", target].iter().collect();
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort(); // so that a seed means the same on every machine
    paths.into_iter().map(fs::read).collect()
}

/// An input, taken from the front; what is not there is zero.
#[derive(Clone, Debug)]
pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn octet(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    pub(crate) fn number(&mut self) -> u16 {
        u16::from_be_bytes([self.octet(), self.octet()])
    }

    pub(crate) fn take(&mut self, octets: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(octets.min(self.0.len()));
        self.0 = rest;
        taken
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rest, in pieces whose lengths follow from `pieces`.
    pub(crate) fn pieces(self, pieces: u8) -> impl Iterator<Item = &'a [u8]> {
        let (mut rest, mut state) = (self.0, u32::from(pieces));
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let length = if pieces == 0 {
                rest.len()
            } else {
                1 + (state >> 16) as usize % usize::from(pieces)
            };
            let (piece, later) = rest.split_at(length.min(rest.len()));
            rest = later;
            Some(piece)
        })
    }
}
