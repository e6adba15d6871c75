//! Errors of the program: what happened, and what to do next.

use std::borrow::Cow;
use std::io;
use std::path::PathBuf;

use serde_json::json;
use stackwright::catalogue::PROTOCOLS;
use stackwright::contract::services::{Ended, Failure};
use stackwright::contract::{CallSign, Fingerprint, SecurityError};
use stackwright::tailored::ServiceRefusal;
use stackwright::tls::BadIdentity;

use crate::flawed::{Flawed, Place};
use crate::kept::Kept;
use crate::packets::Unreadable;
use crate::report::say;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    #[error("`{url}` is not an FTP address: {why}")]
    Url { url: String, why: &'static str },
    #[error("`{url}` is not a proxy: {why}")]
    Proxy { url: String, why: &'static str },
    #[error("`{line}` is not a line to a TNC: {why}")]
    Line { line: String, why: &'static str },
    #[error("{0}")]
    Station(Box<Flawed>),
    #[error("no call sign is given, and nothing is transmitted without one")]
    NoCall,
    #[error("`{call}` is no call sign to use here: {why}")]
    Call { call: String, why: &'static str },
    #[error("no TNC at {line}: {why}")]
    NoTnc { line: String, why: String },
    #[error("{peer} {}", what_ended(*.opened, *.why))]
    Link { peer: CallSign, opened: bool, why: Ended },
    #[error("{peer} has closed the link before all of the input was sent")]
    Unsent { peer: CallSign },
    #[error("{peer} has not acknowledged the message, which was sent {} times", .tries)]
    Unacknowledged { peer: CallSign, tries: u32 },
    #[error("{peer} has rejected the message: it does not take messages")]
    Rejected { peer: CallSign },
    #[error("{0}")]
    Channel(Box<Flawed>),
    #[error("cannot find the host `{host}`: {why}")]
    Host { host: String, why: io::Error },
    #[error(
        "the device `{device}` cannot be opened: {why}. As root, once: \
             ip tuntap add dev {device} mode tun user $USER"
    )]
    Device { device: String, why: io::Error },
    #[error("others may read {}, and so the passwords in it", .path.display())]
    OpenNetrc { path: PathBuf },
    #[error("there is no bookmark `{name}`")]
    NoBookmark { name: String },
    #[error("`{name}` cannot be the name of a bookmark")]
    BookmarkName { name: String },
    #[error("this system trusts no authorities: their certificates are not installed")]
    NoAuthorities,
    #[error("neither HOME nor XDG_CONFIG_HOME says where bookmarks are kept")]
    NoHome,
    #[error("{}: {why}", .path.display())]
    Identity { path: PathBuf, why: BadIdentity },
    #[error("`{user}` needs a password, and there is no terminal to ask for it")]
    NoPassword { user: String },
    #[error("cannot read the password from {}: {why}", .path.display())]
    PasswordFile { path: PathBuf, why: io::Error },
    #[error("{}: {why}", .path.display())]
    Path { path: PathBuf, why: io::Error },
    #[error("{}: not a regular file", .path.display())]
    NotAFile { path: PathBuf },
    #[error("{}: there is no such folder", .path.display())]
    NoFolder { path: PathBuf },
    #[error("{url}: it is not a folder")]
    NotAFolder { url: String },
    #[error("{url}: the folder above it does not exist, or may not be used")]
    NoFolderAbove { url: String },
    #[error("{url}: it is a folder")]
    IsAFolder { url: String },
    #[error("{pattern}: nothing matches the pattern")]
    NoMatch { pattern: String },
    #[error("no server is open")]
    NotOpen,
    #[error("{what}: {why}")]
    Unfit { what: String, why: &'static str },
    #[error("{place}: {why}")]
    Transcript { place: String, why: String },
    #[error("no stack or protocol `{}`: {why}", .name.display())]
    NoStack { name: PathBuf, why: io::Error },
    #[error("{0}")]
    Stack(Box<Flawed>),
    #[error("{services}: {why}")]
    Services { services: String, why: ServiceRefusal },
    #[error("{}: {mistakes} {}", .path.display(), if *mistakes == 1 { "mistake" } else { "mistakes" })]
    Specification { path: PathBuf, mistakes: usize },
    #[error("{}: {broken} {} broken", .path.display(), if *broken == 1 { "property is" } else { "properties are" })]
    Promises { path: PathBuf, broken: usize },
    #[error("{}: what an older version sends is read otherwise", .path.display())]
    Layout { path: PathBuf },
    #[error("{}: {undecided} {} not decided", .path.display(), if *undecided == 1 { "property is" } else { "properties are" })]
    Undecided { path: PathBuf, undecided: usize },
    #[error("{} is not what would be written", .path.display())]
    Stale { path: PathBuf },
    #[error("this selection is refused: {says}")]
    Selection { says: String },
    #[error("without a password, anyone who can reach {address} could upload files")]
    WritableByEverybody { address: std::net::SocketAddr },
    #[error("cannot listen at {address}: {why}")]
    Listen { address: std::net::SocketAddr, why: Ended },
    #[error("{place}: {}{}", what_failed(*.failure), what_was_said(*.failure, .said))]
    Transfer { place: String, failure: Failure, said: Option<String> },
    #[error("{}: {why}{}", .path.display(), after_packets(*.packets))]
    Capture { path: PathBuf, why: Unreadable, packets: u64 },
    #[error("unknown protocol `{name}`; known: {known}")]
    Protocol { name: String, known: String },
    #[error("`{name}` has no packet format to decode: it sends lines of text, or nothing")]
    NoPackets { name: String },
    #[error("cannot measure at `{url}`: {why}")]
    Measured { url: String, why: &'static str },
    #[error("{transport} has no {option}; these have: {by}")]
    Unhonoured { option: &'static str, transport: String, by: String },
    #[error("no server at {}: {why}", .path.display())]
    NoServer { path: PathBuf, why: io::Error },
    #[error("{} is not to be had: another server is there, or the folder is closed", .path.display())]
    Occupied { path: PathBuf },
    #[error("the server at {} does not hand over its sockets: {why}", .path.display())]
    Kept { path: PathBuf, why: String },
    #[error("{}: {why}", .path.display())]
    HostFile { path: PathBuf, why: String },
    #[error("no answer from {url}: {why}")]
    Nobody { url: String, why: String },
    #[error("{url}: {why}")]
    Measurement { url: String, why: String },
    #[error("`{url}` is not the address of a picture server: {why}")]
    PictureUrl { url: String, why: &'static str },
    #[error("{name} at {server}: {why}")]
    Picture { server: String, name: String, why: String, advice: &'static str },
    #[error("{}: {why}", .path.display())]
    Replay { path: PathBuf, why: String },
    #[error("interrupted")]
    Interrupted,
    /// Something failed that can go on later.
    #[error("{problem}")]
    Paused { problem: Box<Problem>, kept: Vec<Kept> },
    #[error("the transfer could not be resumed after a loss of power: no journal is kept: {why}")]
    NoJournal { why: io::Error },
    #[error("there is no interrupted transfer `{id}`")]
    NoTransfer { id: String },
    #[error("the transfer `{id}` {why}")]
    BadTransfer { id: String, why: &'static str },
    /// What failed was told when it failed.
    #[error("not everything was done")]
    Told { code: u8 },
    #[error("the received file differs from the one sent")]
    Altered,
    #[error("a promise was broken")]
    BrokenPromise,
    #[error("operating system error: {0}")]
    System(#[from] io::Error),
}

/// The exit code of a failed transfer.
fn failed(failure: Failure) -> u8 {
    match failure {
        Failure::Unreachable => 3,
        Failure::NotLoggedIn | Failure::Denied => 4,
        Failure::Untrusted { .. } | Failure::Insecure(_) => 4,
        Failure::Damaged | Failure::Short => 5,
        Failure::Expired => 6,
        Failure::Lost => 7,
        _ => 1,
    }
}

/// Whether a failure is that of a handshake: it says all that there is to say.
fn is_of_tls(failure: Failure) -> bool {
    match failure {
        Failure::Untrusted { .. } => true,
        Failure::Insecure(why) => why != SecurityError::Declined,
        _ => false,
    }
}

/// Returns what to do where the server's certificate is not trusted.
fn about_certificate(why: SecurityError, certificate: Option<Fingerprint>) -> Cow<'static, str> {
    let first = match why {
        SecurityError::NotPinned => {
            return "it may have been renewed, or someone is in between: ask those who run the server before pinning it".into();
        }
        SecurityError::OtherName => "write the name of the server that is in its certificate",
        SecurityError::Expired => "ask those who run the server to renew it",
        SecurityError::NotYetValid => "look at the clock of this computer",
        SecurityError::Revoked => return "do not use it; ask those who run the server".into(),
        _ => {
            "ask those who run the server for its fingerprint (`stackwright serve --tls` shows it)"
        }
    };
    match certificate {
        Some(certificate) => {
            let command = command_with_pin(certificate);
            format!("{first}; where the fingerprint is right, trust this certificate alone:\n  {command}")
                .into()
        }
        None => first.into(),
    }
}

/// Returns this command line with `--pin` behind it, to be copied into a shell.
fn command_with_pin(certificate: Fingerprint) -> String {
    let quoted = |word: String| {
        let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=@+,%~[]".contains(letter);
        if !word.is_empty() && word.chars().all(is_plain) {
            word
        } else {
            format!("'{}'", word.replace('\'', r"'\''"))
        }
    };
    let arguments =
        std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    let words: Vec<_> = std::iter::once("stackwright".into()).chain(arguments).collect();
    format!("{} --pin {certificate}", words.join(" "))
}

/// What the end of a link means to the person who called the station.
fn what_ended(opened: bool, why: Ended) -> Cow<'static, str> {
    match why {
        Ended::Unreachable => "does not answer".into(),
        Ended::Refused(_) => "refused the link (DM): it is there, and takes no call now".into(),
        Ended::Expired if opened => {
            "does not answer any more; what it did not acknowledge may be lost".into()
        }
        Ended::Expired => "does not answer".into(),
        Ended::Reset(_) => "broke the link; what it did not acknowledge may be lost".into(),
        why => format!("cannot be called: {why}").into(),
    }
}

/// What a failure means to a person who transfers files by FTP.
fn what_failed(failure: Failure) -> String {
    match failure {
        // RFC 959 §5.4 has one code, 550, for both.
        Failure::NotFound => "there is no such file or folder, or it may not be used".into(),
        Failure::Garbled => {
            "the server's answers are not FTP, or of a form that is not known".into()
        }
        Failure::Broken => "an error on that side".into(),
        failure => failure.to_string(),
    }
}

/// What a certificate lacks is not what the server said last.
fn what_was_said(failure: Failure, said: &Option<String>) -> String {
    let said = said.as_ref().filter(|_| !is_of_tls(failure));
    said.map(|said| format!(" (the server said: {said})")).unwrap_or_default()
}

/// Whether a server says that it wants to be asked for TLS.
fn asks_for_tls(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    let negative = said.starts_with(['4', '5']);
    negative && ["tls", "ssl", "encrypt", "cleartext"].iter().any(|word| said.contains(word))
}

fn after_packets(packets: u64) -> String {
    match packets {
        0 => String::new(),
        1 => " (after 1 packet)".into(),
        packets => format!(" (after {packets} packets)"),
    }
}

impl Problem {
    /// There is no protocol of that name.
    pub(crate) fn unknown(name: &str) -> Self {
        let known: Vec<&str> = PROTOCOLS.iter().map(|entry| entry.facts.name).collect();
        Problem::Protocol { name: name.into(), known: known.join(", ") }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Problem::Url { .. }
            | Problem::PictureUrl { .. }
            | Problem::Proxy { .. }
            | Problem::NoAuthorities
            | Problem::Line { .. }
            | Problem::NoCall
            | Problem::Station(_)
            | Problem::Call { .. }
            | Problem::Channel(_)
            | Problem::Unfit { .. }
            | Problem::Services { .. }
            | Problem::NotOpen
            | Problem::Measured { .. }
            | Problem::Unhonoured { .. }
            | Problem::NoPassword { .. }
            | Problem::OpenNetrc { .. }
            | Problem::NoBookmark { .. }
            | Problem::NoTransfer { .. }
            | Problem::BookmarkName { .. }
            | Problem::WritableByEverybody { .. }
            | Problem::Protocol { .. }
            | Problem::NoPackets { .. } => 2,
            Problem::Transfer { failure, .. } => failed(*failure),
            Problem::Host { .. }
            | Problem::Nobody { .. }
            | Problem::NoServer { .. }
            | Problem::NoTnc { .. } => 3,
            Problem::Unacknowledged { .. } => 3,
            Problem::Link { why: Ended::Refused(_), .. } | Problem::Rejected { .. } => 4,
            Problem::Link { opened: false, .. } => 3,
            Problem::Link { .. } | Problem::Unsent { .. } => 7,
            Problem::Altered => 5,
            Problem::Undecided { .. } => 8,
            Problem::Interrupted => 130,
            Problem::Paused { .. } => 7,
            Problem::Told { code } => *code,
            _ => 1,
        }
    }

    /// The same, of which more is known: `failure`.
    pub(crate) fn with(self, failure: Failure) -> Self {
        match self {
            Problem::Transfer { place, said, .. } => Problem::Transfer { place, failure, said },
            problem => problem,
        }
    }

    /// Whether a person, or the system, wanted the program to end.
    pub(crate) fn is_interrupted(&self) -> bool {
        match self {
            Problem::Paused { problem, .. } => problem.is_interrupted(),
            problem => matches!(problem, Problem::Interrupted),
        }
    }

    /// Whether the same may succeed another time, where something of it is done already.
    pub(crate) fn may_pass(&self) -> bool {
        use Failure::{Expired, GivenUp, Lost, Unreachable};
        matches!(
            self,
            Problem::Interrupted
                | Problem::Transfer { failure: Lost | Expired | GivenUp | Unreachable, .. }
        )
    }

    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Problem::Transfer { failure: Failure::NotFound, .. })
    }

    /// Whether it is that of one file, where others of the server may be well.
    pub(crate) fn is_of_one_file(&self) -> bool {
        use Failure::{BadName, Denied, Exists, NotFound, Unsupported};
        matches!(
            self,
            Problem::Transfer { failure: NotFound | Denied | BadName | Exists | Unsupported, .. }
        )
    }

    fn flawed(&self) -> Option<&Flawed> {
        match self {
            Problem::Stack(flawed) | Problem::Station(flawed) | Problem::Channel(flawed) => {
                Some(flawed)
            }
            _ => None,
        }
    }

    /// Returns what to do next, if anything can be done.
    pub(crate) fn advice(&self) -> Option<Cow<'static, str>> {
        if let Some(refusal) = crate::refused::last() {
            return Some(refusal.into());
        }
        match self {
            Problem::Transfer { failure: Failure::Untrusted { why, certificate }, .. } => {
                Some(about_certificate(*why, *certificate))
            }
            Problem::Paused { kept, .. } => Some(Kept::next(kept).into()),
            problem => problem.usual_advice().map(Cow::Borrowed),
        }
    }

    fn usual_advice(&self) -> Option<&'static str> {
        Some(match self {
            Problem::Url { .. } => {
                "write ftp://host/path or ftp://user@host:port/path; over TLS, ftps://host/path; over ARTP or XTP, ftp+artp://host/path or ftp+xtp://host/path; by radio, ftp+xstp+ax25://CALL@host:8001/path"
            }
            Problem::PictureUrl { .. } => {
                "write jis://host/NAME, jis://host:port/NAME, or HOST[:PORT] NAME; the default port is 4331"
            }
            Problem::Picture { advice, .. } => advice,
            Problem::Replay { .. } => {
                "give what `jis get --log` wrote, then the file that arrived with it"
            }
            Problem::Measured { .. } => {
                "write artp://host:port, udp://host:port, tcp://host:port, ordered+artp://host:port, tailored://host:port, xtp://host:port, or stream+, bulk+, isochronous+, transaction+, acknowledged+ or unacknowledged+xtp://host:port, or xstp://host:port; the default port is 4330. Without a port: xtp+ip://host"
            }
            Problem::Unhonoured { .. } => {
                "leave the option out: nothing was sent; --help says which transport has which"
            }
            Problem::NoServer { .. } => {
                "run `stackwright host STACK --at FOLDER` with this transport, and name its folder"
            }
            Problem::HostFile { .. } => {
                "`stackwright host FILE --check` reads it again; docs/transports.md has an example"
            }
            Problem::Kept { .. } => "end that server, and leave --replace out",
            Problem::Occupied { .. } => "choose another folder with --at, or end the other server",
            Problem::Nobody { .. } => {
                "run `stackwright perf serve` with this address on that host; both ends need the same --cipher and --key"
            }
            Problem::Line { .. } => {
                "write tcp://host:8001, serial:///dev/ttyUSB0?baud=9600, or pty:PATH for a terminal that is made there"
            }
            Problem::Station(_) => {
                "`stackwright station --check FILE` reads it again; docs/radio.md has an example"
            }
            Problem::NoCall => "write --call MYCALL, with the call sign of your licence",
            Problem::Call { .. } => "write it as in N0AAA or N0AAA-7",
            Problem::NoTnc { .. } => {
                "check that it is on and speaks KISS; Direwolf listens at port 8001 (KISSPORT)"
            }
            Problem::Link { why: Ended::Refused(_), .. } => {
                "try later, or another SSID: services often have one of their own, as in CALL-1"
            }
            Problem::Link { opened: false, why: Ended::Unreachable | Ended::Expired, .. } => {
                "check its call sign and SSID, that you hear it (`stackwright monitor LINE`), and --via with the digipeaters between; an old TNC may need --version 2.0"
            }
            Problem::Link { .. } | Problem::Unsent { .. } => {
                "call again; other stations or noise may have been in the way"
            }
            Problem::Channel(_) => {
                "`stackwright channel FILE --check` reads it again; docs/radio-without-a-radio.md has an example"
            }
            Problem::Proxy { .. } => "write socks5://host:port or http://user@host:port",
            Problem::Identity { .. } => {
                "name both files in PEM form: --certificate FILE --key FILE"
            }
            Problem::NoAuthorities => {
                "install the package ca-certificates, or trust the server's certificate alone with --pin SHA256"
            }
            Problem::OpenNetrc { .. } => "keep it to yourself: chmod 600",
            Problem::NoTransfer { .. } => "`stackwright transfers` lists those there are",
            Problem::BadTransfer { .. } => "`stackwright forget` removes it",
            Problem::NoBookmark { .. } => {
                "`stackwright bookmark list` shows the names; an address begins with ftp://"
            }
            Problem::BookmarkName { .. } => {
                "use at least two letters, digits, - or _, such as work-files"
            }
            Problem::NoPassword { .. } => {
                "put it on the first line of a file, and pass --password-file FILE"
            }
            Problem::WritableByEverybody { .. } => {
                "require a login with --user NAME, or listen only at 127.0.0.1"
            }
            Problem::NoStack { .. } => {
                "name a stack file or a built-in stack: get, put, ls, serve, or what `stackwright draw --help` lists"
            }
            Problem::Stack(_) => {
                "`stackwright explain` describes the format, `stackwright draw get` shows an example"
            }
            Problem::Selection { .. } => "`stackwright features` lists the valid selections",
            Problem::Listen { why: Ended::Unavailable, .. } => {
                "the address may be in use, or the port may need root (below 1024); port 0 picks a free port"
            }
            Problem::Transfer { failure: Failure::Unreachable, .. } => {
                "check that the server runs, and its port: `stackwright serve` uses 2121, other servers 21; over ARTP it is UDP port 4330, over XTP 4360"
            }
            Problem::Transfer { failure: Failure::Insecure(SecurityError::Declined), .. } => {
                "nothing was sent unencrypted; the server may have TLS at a port of its own (ftps://host), or none"
            }
            Problem::Transfer { failure: Failure::Insecure(SecurityError::NotTls), .. } => {
                "check the port: ftps:// is encrypted from the start (port 990); at other ports, write ftp:// with --tls"
            }
            Problem::Transfer { said: Some(said), .. } if asks_for_tls(said) => {
                "the server requires encryption: use --tls"
            }
            Problem::Transfer { failure: Failure::NotLoggedIn, .. } => {
                "check the password, or name a user in the address: ftp://user@host/path"
            }
            Problem::NoMatch { .. } => {
                "`stackwright ls` shows what there is; in an address, %2A and %5B are no pattern"
            }
            Problem::NoFolderAbove { .. } => {
                "make that folder first: `stackwright mkdir --parents`"
            }
            Problem::IsAFolder { .. } => "copy it with `stackwright get`",
            Problem::Host { .. } => "check its spelling, and that this machine has a network",
            Problem::NotOpen => "open one: open ftp://user@host/folder, or a bookmark: open NAME:",
            Problem::NoFolder { .. } => "make the folder first, or leave out the / at the end",
            Problem::Transfer { failure: Failure::NotFound, .. } => {
                "list the folder with `stackwright ls`"
            }
            Problem::Transfer { failure: Failure::NotEmpty, .. } => {
                "remove what is in it, too: `stackwright rm --recursive`"
            }
            Problem::Transfer { failure: Failure::Exists, .. } => {
                "choose another name, or remove what is there first"
            }
            Problem::Transfer { failure: Failure::Garbled, .. } => {
                "check that the port is that of an FTP server, and look at the dialogue with --verbose"
            }
            Problem::Transfer { failure: Failure::Denied, .. } => {
                "check the permissions there, or name another user in the address: ftp://user@host/path"
            }
            Problem::Transfer { failure: Failure::Expired, .. } => {
                "try again later, or allow more time with --timeout SECONDS"
            }
            Problem::Transfer { failure: Failure::Short | Failure::Damaged, .. } => {
                "the file may be changing; try again when it no longer does"
            }
            Problem::Transfer { failure: Failure::Unsupported, .. } => {
                "look at what the server refuses with --verbose"
            }
            Problem::Transfer { failure: Failure::Lost, .. } => {
                "try again; if it keeps failing, try --active, or look at the dialogue with --verbose"
            }
            Problem::Transfer { failure: Failure::Full, .. } => {
                "free some space at the target, then try again"
            }
            Problem::Capture { why: Unreadable::NotACapture, .. } => {
                "use a pcapng or pcap file, as saved by Wireshark or `tcpdump -w FILE`"
            }
            Problem::Capture { why: Unreadable::Cut, .. } => {
                "the capture was interrupted; all complete packets are shown"
            }
            Problem::Capture { .. } => {
                "the packets before the damage are shown; record the capture again"
            }
            _ => return None,
        })
    }

    /// Returns the problem as an object of JSON.
    pub(crate) fn told(&self) -> serde_json::Value {
        let mut told =
            json!({ "event": "failed", "error": self.to_string(), "advice": self.advice() });
        if let Some(Place { line, column, .. }) =
            self.flawed().and_then(|flawed| flawed.place.as_ref())
        {
            told["line"] = (*line).into();
            told["column"] = (*column).into();
        }
        if let Problem::Transfer { failure: Failure::Untrusted { certificate, .. }, .. } = self {
            told["fingerprint"] = certificate.map(|certificate| certificate.to_string()).into();
        }
        if let Problem::Paused { kept, .. } = self {
            told["resume"] = kept.iter().map(|kept| kept.id.as_str()).collect();
        }
        told
    }

    /// Prints the problem, for people on standard error or as JSON on standard output.
    pub(crate) fn tell(&self, json: bool) {
        if matches!(self, Problem::Told { .. }) {
            return;
        }
        if json {
            return say!("{}", self.told());
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
