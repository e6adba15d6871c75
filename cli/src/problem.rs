//! What can go wrong, said so that one knows what to do next.

use std::io;
use std::path::PathBuf;

use serde_json::json;
use stackwright::contract::services::{Ended, Failure};

use crate::described::{Flawed, Place};
use crate::dissect::Unreadable;
use crate::report::say;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("`{url}` is not an FTP address: {why}")]
    Url { url: String, why: &'static str },
    #[error("the host `{host}` is not known: {why}")]
    Host { host: String, why: io::Error },
    #[error("the password of `{user}` is needed, and nobody is here to ask")]
    NoPassword { user: String },
    #[error("the password cannot be read from {}: {why}", .path.display())]
    PasswordFile { path: PathBuf, why: io::Error },
    #[error("{}: {why}", .path.display())]
    Path { path: PathBuf, why: io::Error },
    #[error("{}: that is not a file", .path.display())]
    NotAFile { path: PathBuf },
    #[error("there is no stack `{}`: {why}", .name.display())]
    NoStack { name: PathBuf, why: io::Error },
    #[error("{0}")]
    Stack(Box<Flawed>),
    #[error("that selection is refused: {says}")]
    Selection { says: String },
    #[error("everybody who reaches {address} could store files")]
    WritableByEverybody { address: std::net::SocketAddr },
    #[error("cannot listen at {address}: {why}")]
    Listen { address: std::net::SocketAddr, why: Ended },
    #[error("{place}: {failure}{}", what_was_said(.said))]
    Transfer { place: String, failure: Failure, said: Option<String> },
    #[error("{}: {why}{}", .path.display(), after_packets(*.packets))]
    Capture { path: PathBuf, why: Unreadable, packets: u64 },
    #[error("there is no protocol called `{name}`; there are {known}")]
    Protocol { name: String, known: String },
    #[error("`{name}` has no packets of its own to show: it speaks in lines of text, or not at all")]
    NoPackets { name: String },
    #[error("`{url}` is not an address to measure: {why}")]
    Measured { url: String, why: &'static str },
    #[error("nobody answers at {url}: {why}")]
    Nobody { url: String, why: String },
    #[error("{url}: {why}")]
    Measurement { url: String, why: String },
    #[error("interrupted")]
    Interrupted,
    #[error("the file that arrived is not the file that was sent")]
    Altered,
    #[error("the operating system: {0}")]
    System(#[from] io::Error),
}

fn what_was_said(said: &Option<String>) -> String {
    said.as_ref().map(|said| format!(" (the server said: {said})")).unwrap_or_default()
}

fn after_packets(packets: u64) -> String {
    match packets {
        0 => String::new(),
        1 => " (after 1 packet)".into(),
        packets => format!(" (after {packets} packets)"),
    }
}

impl Problem {
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Problem::Url { .. }
            | Problem::Measured { .. }
            | Problem::NoPassword { .. }
            | Problem::WritableByEverybody { .. }
            | Problem::Protocol { .. }
            | Problem::NoPackets { .. } => 2,
            Problem::Interrupted => 130,
            _ => 1,
        }
    }

    fn flawed(&self) -> Option<&Flawed> {
        if let Problem::Stack(flawed) = self { Some(flawed) } else { None }
    }

    /// What to do next, where there is something.
    fn advice(&self) -> Option<&'static str> {
        Some(match self {
            Problem::Url { .. } => {
                "write it as ftp://host/path or ftp://user@host:port/path, over ARTP as ftp+artp://host/path"
            }
            Problem::Measured { .. } => {
                "write it as artp://host:port, udp://host:port, tcp://host:port or ordered+artp://host:port; the port is 4330 where none is said"
            }
            Problem::Nobody { .. } => {
                "start `stackwright perf serve` with that address there; both ends need the same --cipher and --key"
            }
            Problem::NoPassword { .. } => "write it into a file and name that with --password-file",
            Problem::WritableByEverybody { .. } => "name a user with --user, or listen only at 127.0.0.1",
            Problem::NoStack { .. } => {
                "name a file, or one that is built in: get, put, ls, serve, get-artp, serve-artp"
            }
            Problem::Stack(_) => {
                "`stackwright explain` lists what may stand there, and `stackwright draw get` shows a stack that fits"
            }
            Problem::Selection { .. } => "`stackwright features` shows what there is to select",
            Problem::Listen { why: Ended::Unavailable, .. } => {
                "somebody else may listen there already, or ports below 1024 may need more rights; port 0 takes any that is free"
            }
            Problem::Transfer { failure: Failure::Unreachable, .. } => {
                "is the server running, and is the port right? `stackwright serve` listens at port 2121, others at 21; over ARTP at port 4330 of UDP"
            }
            Problem::Transfer { failure: Failure::NotLoggedIn, .. } => {
                "name the user in the address: ftp://user@host/path"
            }
            Problem::Transfer { failure: Failure::NotFound, .. } => "see what is there with `stackwright ls`",
            Problem::Transfer { failure: Failure::Lost, .. } => {
                "try again; if it happens each time, try --active, and --verbose shows the dialogue"
            }
            Problem::Transfer { failure: Failure::Full, .. } => "make room there, then try again",
            Problem::Capture { why: Unreadable::NotACapture, .. } => {
                "name a file of pcapng or pcap, as Wireshark saves it and `tcpdump -w FILE` writes it"
            }
            Problem::Capture { why: Unreadable::Cut, .. } => {
                "whoever wrote it was interrupted; what is there was shown"
            }
            Problem::Capture { .. } => "what could be read was shown; write the capture again",
            _ => return None,
        })
    }

    /// As a person reads it, or as a program does.
    pub(crate) fn tell(&self, json: bool) {
        if json {
            let mut told = json!({ "event": "failed", "error": self.to_string(), "advice": self.advice() });
            if let Some(Place { line, column, .. }) = self.flawed().and_then(|flawed| flawed.place.as_ref()) {
                told["line"] = (*line).into();
                told["column"] = (*column).into();
            }
            say!("{told}");
            return;
        }
        eprintln!("stackwright: {self}");
        if let Some(excerpt) = self.flawed().and_then(Flawed::excerpt) {
            eprintln!("{excerpt}");
        }
        if let Some(advice) = self.advice() {
            eprintln!("  {advice}");
        }
    }
}
