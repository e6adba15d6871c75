//! The command line.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{ArgGroup, Args, Parser, Subcommand, ValueEnum};

pub(crate) use crate::client::arguments::{Cat, Get, Ls, Mirror, Mkdir, Mv, Put, Rm, Shell};
use crate::quantity::{air_rate, patience, rate};
use crate::trust::TlsArguments;

const AFTER_HELP: &str = "\
Exit codes:
  0    done
  1    failed; the message gives the reason
  2    the command line is wrong, or asks for something unsafe
  3    the host is unknown or unreachable
  4    refused: the password, the certificate, or the permission
  5    damaged: the received octets are not those that were sent
  6    timed out
  7    the connection was lost
  8    not decided: a property of `spec check` has too many cases
  130  interrupted; the received part is kept, hidden, and the same command resumes there
Of several files, the highest code counts.

Examples:
  stackwright demo
  stackwright serve ~/pub
  stackwright get ftp://127.0.0.1:2121/paper.pdf
  stackwright perf run artp://192.0.2.7:4330";

/// Transfer files by FTP over TCP, ARTP or XTP, measure transports, inspect protocol stacks and
/// captures.
#[derive(Parser)]
#[command(name = "stackwright", version, after_help = AFTER_HELP, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
// Arguments of a command are built when it is used, so that startup time does not grow with the
// number of commands.
#[command(defer = true)]
pub(crate) enum Command {
    /// Transfer 64 MB between a server and a client on this machine, and check every octet, in
    /// seconds; `demo radio` sends a text between two radio stations, without a radio.
    Demo(Demo),
    /// Serve a folder by FTP, by default read-only and to this machine only.
    Serve(Serve),
    /// Download files and folders.
    Get(Get),
    /// Upload files and folders.
    Put(Put),
    /// List a folder.
    Ls(Ls),
    /// Write files to standard output.
    Cat(Cat),
    /// Synchronise a folder with another, from a server or to it.
    Mirror(Mirror),
    /// Remove files and folders on a server.
    Rm(Rm),
    /// Make folders on a server.
    Mkdir(Mkdir),
    /// Rename a file or folder on a server.
    Mv(Mv),
    /// Work on a server interactively, with history and completion.
    Shell(Shell),
    /// Give names to addresses: NAME:path then stands for one.
    #[command(subcommand)]
    Bookmark(Bookmark),
    /// Measure a transport between two processes: throughput, latency, associations, processor
    /// time.
    #[command(subcommand)]
    Perf(crate::perf::Perf),
    /// Explain the guarantees of a stack, and why it is accepted or refused; or the policies of a
    /// protocol.
    Explain(Explain),
    /// Draw a stack as text, or for Graphviz.
    Draw(Draw),
    /// List the features of generated bases and their valid selections.
    Features(Features),
    /// Run a radio channel without radios: programs reach the TNC of each station by KISS over TCP.
    Channel(RadioChannel),
    /// Show the frames that a radio's TNC receives; transmits nothing.
    Monitor(Monitor),
    /// Run a packet radio station: programs share its links (AGW) and its TNC (KISS).
    Station(Station),
    /// Call a station by radio, as a terminal on an AX.25 link through a TNC.
    Connect(Connect),
    /// Decode the packets of a capture (pcapng or pcap), header by header.
    Dissect(Dissect),
    /// Print a Wireshark plug-in (Lua) that decodes a protocol.
    Dissector(Dissector),
    /// Serve and fetch JPEG pictures whose pieces arrive in any order (JIS).
    #[command(subcommand)]
    Jis(crate::jis::Jis),
    /// Compile protocols from a specification: check, draw, generate, run.
    #[command(subcommand)]
    Spec(crate::spec::Spec),
    /// Print completions for a shell.
    Completions(Completions),
    /// Write manual pages into a folder, one for each command.
    Manual(Manual),
}

#[derive(Subcommand)]
#[command(defer = true)]
pub(crate) enum Bookmark {
    /// Give a name, of letters, digits, - and _, to an address.
    Add {
        /// The name, at least two characters.
        name: String,
        /// The address of a folder: ftp://user@host:port/folder/.
        url: String,
    },
    /// Forget a name.
    Remove {
        /// The name.
        name: String,
    },
    /// List the names and their addresses.
    List {
        /// Print JSON lines.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  source <(stackwright completions bash)")]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright manual ~/.local/share/man/man1")]
pub(crate) struct Manual {
    /// The folder, such as ~/.local/share/man/man1.
    pub(crate) folder: PathBuf,
}

/// The range of ARTP's longest packet, in octets.
pub(crate) const PACKET: RangeInclusive<i64> = 191..=65_507;

#[derive(Args)]
#[command(group = ArgGroup::new("encrypted").multiple(true))]
#[command(after_help = "\
Examples:
  stackwright serve ~/pub
  stackwright serve ~/pub --writable --user anna --listen 0.0.0.0:2121
  stackwright serve ~/pub --tls
  stackwright serve ~/pub --artp=0.0.0.0:4330")]
pub(crate) struct Serve {
    /// The folder to serve; clients cannot leave it.
    pub(crate) folder: PathBuf,
    /// Listen at this address [default: 127.0.0.1:2121]; may be repeated. Port 0 picks a free port.
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Vec<SocketAddr>,
    /// Listen at this address for implicit TLS (ftps://ADDR:PORT/); may be repeated.
    #[arg(long, value_name = "ADDR:PORT", group = "encrypted", conflicts_with_all = ["artp", "xtp", "stack"])]
    pub(crate) listen_tls: Vec<SocketAddr>,
    /// Serve over ARTP instead of TCP, at this UDP address [default: 127.0.0.1:4330]; may be
    /// repeated.
    ///
    /// Clients use ftp+artp://ADDR:PORT/.
    #[arg(
        long,
        value_name = "ADDR:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:4330",
        conflicts_with_all = ["listen", "stack"]
    )]
    pub(crate) artp: Vec<SocketAddr>,
    /// Serve over XTP instead of TCP, at this UDP address [default: 127.0.0.1:4360]; may be
    /// repeated.
    ///
    /// Clients use ftp+xtp://ADDR:PORT/. XTP has no congestion control: use it on networks of your
    /// own.
    #[arg(
        long,
        value_name = "ADDR:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:4360",
        conflicts_with_all = ["listen", "artp", "stack"]
    )]
    pub(crate) xtp: Vec<SocketAddr>,
    /// The longest packet of ARTP or XTP, in octets [default: 1472, over IPv6 1452].
    ///
    /// The default fits into an Ethernet frame of 1500 octets. Use less for a tunnel, more for a
    /// local network with jumbo frames. ARTP's ends agree on the smaller value, at least 191; XTP's
    /// each use their own, at least 256.
    #[arg(long, value_name = "OCTETS", value_parser = clap::value_parser!(u16).range(PACKET))]
    pub(crate) packet: Option<u16>,
    /// Allow uploads; for clients on other machines this needs --user.
    #[arg(long)]
    pub(crate) writable: bool,
    /// Require a login as this user; the password is prompted for unless --password-file is given.
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// Read the user's password from the first line of FILE.
    #[arg(long, value_name = "FILE", requires = "user")]
    pub(crate) password_file: Option<PathBuf>,
    /// Let everyone else download, as `anonymous`.
    #[arg(long, requires = "user")]
    pub(crate) anonymous: bool,
    /// Let clients open data connections (PASV, EPSV) to these ports only: those that a firewall
    /// forwards.
    #[arg(long, value_name = "FROM-TO", value_parser = ports, conflicts_with_all = ["artp", "xtp"])]
    pub(crate) passive_ports: Option<RangeInclusive<u16>>,
    /// Announce this IPv4 address for data connections: that of a NAT router, or of a container's
    /// host. It must forward the ports of --passive-ports.
    #[arg(long, value_name = "ADDR", conflicts_with_all = ["artp", "xtp"])]
    pub(crate) public_address: Option<Ipv4Addr>,
    /// Encrypt with TLS when a client asks for it (AUTH TLS); --tls=required refuses other clients.
    ///
    /// The certificate is made on the first run, and kept; clients pin the fingerprint that is
    /// shown.
    #[arg(
        long,
        value_enum,
        value_name = "HOW",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "offered",
        group = "encrypted",
        conflicts_with_all = ["artp", "xtp", "stack"]
    )]
    pub(crate) tls: Option<TlsWish>,
    /// The certificates, the server's own first, in a PEM file.
    #[arg(long, value_name = "FILE", requires = "encrypted", requires = "key")]
    pub(crate) certificate: Option<PathBuf>,
    /// The certificate's private key, in a PEM file.
    #[arg(long, value_name = "FILE", requires = "certificate")]
    pub(crate) key: Option<PathBuf>,
    /// Refuse encrypted data connections that do not resume the TLS session of their control
    /// connection: another client may have opened them.
    #[arg(long, value_enum, value_name = "HOW", requires = "encrypted")]
    pub(crate) session_reuse: Option<ReuseWish>,
    /// Serve at most N clients at once [default: 1000].
    #[arg(long, value_name = "N")]
    pub(crate) sessions: Option<usize>,
    /// Serve at most N of them from one address (one /64 of IPv6) [default: 200].
    #[arg(long, value_name = "N")]
    pub(crate) sessions_per_address: Option<usize>,
    /// Idle timeout of sessions and of transfers without progress, such as 900 or 15m [default:
    /// 5m].
    #[arg(long, value_name = "TIME", value_parser = patience)]
    pub(crate) idle: Option<Duration>,
    /// Run the stack described in FILE instead of the built-in one; see `stackwright explain`.
    #[arg(long, value_name = "FILE")]
    pub(crate) stack: Option<PathBuf>,
    /// Confirm uploads before they reach the disk: faster, but a power failure may lose them.
    #[arg(long)]
    pub(crate) no_sync: bool,
    /// Report events as JSON lines on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the FTP dialogue on standard error, without passwords.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// Parses a range of ports: `50000-50100`, or one port.
fn ports(text: &str) -> Result<RangeInclusive<u16>, String> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let port = |text: &str| text.trim().parse::<u16>().ok().filter(|port| *port > 0);
    match (port(from), port(to)) {
        (Some(from), Some(to)) if from <= to => Ok(from..=to),
        _ => Err("a range of ports is FROM-TO, such as 50000-50100".into()),
    }
}

/// Which clients use TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TlsWish {
    /// For clients that ask for it.
    Offered,
    /// For everyone.
    Required,
}

/// Whether a data connection has to resume the TLS session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReuseWish {
    /// Always. Some clients never do.
    Require,
    /// Once an earlier connection of the client has resumed (the default).
    Prefer,
    /// Never.
    Off,
}

#[derive(Args)]
pub(crate) struct Connection {
    /// Read the password from the first line of FILE instead of prompting for it.
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Let the server open data connections (active mode, PORT) instead of the client (PASV).
    #[arg(long, conflicts_with = "proxy")]
    pub(crate) active: bool,
    /// Go through a proxy: socks5://user@host:port or http://host:port (CONNECT) [default:
    /// ALL_PROXY].
    ///
    /// Its password is read from ~/.netrc. NO_PROXY lists hosts to reach directly.
    #[arg(long, value_name = "URL", conflicts_with = "stack")]
    pub(crate) proxy: Option<String>,
    #[command(flatten)]
    pub(crate) tls: TlsArguments,
    /// Run the stack described in FILE instead of the built-in one; see `stackwright explain`.
    #[arg(long, value_name = "FILE")]
    pub(crate) stack: Option<PathBuf>,
    /// The longest packet of ARTP or XTP, in octets [default: 1472, over IPv6 1452].
    ///
    /// The default fits into an Ethernet frame of 1500 octets. Use less for a tunnel, more for a
    /// local network with jumbo frames. ARTP's ends agree on the smaller value, at least 191; XTP's
    /// each use their own, at least 256.
    #[arg(long, value_name = "OCTETS", value_parser = clap::value_parser!(u16).range(PACKET))]
    pub(crate) packet: Option<u16>,
    /// Give up after this silence of the server, in seconds or with a unit (500ms, 2m) [default:
    /// 60s].
    #[arg(long, value_name = "TIME", value_parser = patience)]
    pub(crate) timeout: Option<Duration>,
    /// Resume a transfer up to N times after a lost connection, doubling the pause each time
    /// [default: 3].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=20))]
    pub(crate) retries: Option<u32>,
    /// Limit the rate of transfers, such as 200k, 2 MB/s, or 10 Mb/s (bits).
    #[arg(long, value_name = "RATE", value_parser = rate, conflicts_with = "stack")]
    pub(crate) limit_rate: Option<NonZero<u64>>,
    /// Report events as JSON lines on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Report failures only.
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print the FTP dialogue on standard error, without passwords.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright explain get-tls
  stackwright explain artp
  stackwright explain tailored --with \"reliable; ordered; flow_control(256)\"")]
pub(crate) struct Explain {
    /// A stack file, a built-in stack (get, put, ls, serve, get-artp, serve-artp, get-xtp,
    /// serve-xtp, radio, radio-hub), or a protocol such as artp.
    ///
    /// A protocol is explained by its policies and the reason for each. Without an argument, the
    /// format of stack files is explained.
    #[arg(value_name = "FILE|NAME")]
    pub(crate) stack: Option<PathBuf>,
    /// For tailored: the services, such as "reliable; ordered; flow_control(256)", or a file
    /// NAME.protocol whose phases name them. Prints the policies that meet them, with reasons, or a
    /// correction.
    #[arg(long, value_name = "SERVICES|FILE", requires = "stack")]
    pub(crate) with: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright draw serve
  stackwright draw get --dot | dot -Tsvg > get.svg")]
pub(crate) struct Draw {
    /// A stack file, or a built-in stack: get, put, ls, serve, get-artp, serve-artp, get-xtp,
    /// serve-xtp, radio, radio-hub.
    #[arg(value_name = "FILE|NAME")]
    pub(crate) stack: PathBuf,
    /// Print Graphviz input.
    #[arg(long)]
    pub(crate) dot: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright features
  stackwright features \"events: Simple, opening: ActivePassive\"")]
pub(crate) struct Features {
    /// A selection to complete and validate, such as "events: Simple, opening: ActivePassive".
    pub(crate) specification: Option<String>,
    /// Print JSON lines, one per selection.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright dissect capture.pcapng
  stackwright dissect capture.pcapng --port 5000=artp")]
pub(crate) struct Dissect {
    /// The capture, from Wireshark, tcpdump or a recorder in a stack.
    pub(crate) file: PathBuf,
    /// The protocol of the payloads [default: from the interface's description or the UDP port].
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) above: Option<String>,
    /// The protocol at a UDP port, such as --port 5000=artp; may be repeated.
    #[arg(long, value_name = "N=NAME")]
    pub(crate) port: Vec<PortOf>,
    /// Print JSON lines, one per packet.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright demo
  stackwright demo radio --svg air.svg")]
pub(crate) struct Demo {
    /// The demonstration.
    #[arg(value_enum, default_value_t = Show::Files)]
    pub(crate) show: Show,
    /// Draw the time line of the radio channel into FILE (SVG).
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
}

/// What `demo` shows.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Show {
    /// A file over every stack of the program.
    Files,
    /// A text between two radio stations, on a simulated channel.
    Radio,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright channel air.toml
  stackwright channel air.toml --check")]
pub(crate) struct RadioChannel {
    /// The channel, its stations and the addresses of their TNCs (TOML).
    pub(crate) file: PathBuf,
    /// Only check the file.
    #[arg(long)]
    pub(crate) check: bool,
    /// Show also when a transmitter is keyed up, and which station waits for the channel.
    #[arg(short, long)]
    pub(crate) all: bool,
    /// At the end, draw the time line into FILE (SVG).
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print JSON lines, one per frame.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright monitor tcp://127.0.0.1:8001
  stackwright monitor 'serial:///dev/ttyUSB0?baud=9600' -w heard.pcapng")]
pub(crate) struct Monitor {
    /// The line to the TNC, which speaks KISS: tcp://host:8001, serial:///dev/ttyUSB0?baud=9600, or
    /// pty:PATH for a terminal that is made there. Without a TNC, frames go over UDP to another
    /// station: axudp://host:10093, received at ?local=10093.
    ///
    /// An unreachable TNC is retried.
    pub(crate) line: String,
    /// Also write the frames into FILE for Wireshark (pcapng).
    #[arg(short, long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Print every header with its fields.
    #[arg(long)]
    pub(crate) headers: bool,
    /// Print JSON lines, one per frame.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright station station.toml --check
  stackwright station station.toml --dry-run
  stackwright station station.toml")]
pub(crate) struct Station {
    /// The station's file, in TOML: call sign, TNCs, and services for programs.
    pub(crate) file: PathBuf,
    /// Only check the file.
    #[arg(long)]
    pub(crate) check: bool,
    /// Transmit nothing; show the frames instead, with their air time.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Show transmitted frames, and packets that a layer drops.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright connect N0BBB-1 tcp://127.0.0.1:8001 --call N0AAA
  stackwright connect N0BBB-1 serial:///dev/ttyUSB0 --call N0AAA --via RELAY-1
  stackwright connect N0BBB-1 tcp://127.0.0.1:8001 --call N0AAA --answer > received.txt")]
pub(crate) struct Connect {
    /// The call sign of the station to call, such as N0BBB-1.
    #[arg(value_name = "CALL")]
    pub(crate) peer: String,
    /// The line to the TNC, which speaks KISS: tcp://host:8001, serial:///dev/ttyUSB0?baud=9600, or
    /// pty:PATH for a terminal that is made there. Without a TNC, frames go over UDP to another
    /// station: axudp://host:10093, received at ?local=10093.
    pub(crate) line: String,
    /// Your call sign; nothing is transmitted without one.
    #[arg(long, value_name = "MYCALL")]
    pub(crate) call: Option<String>,
    /// Wait for the call of CALL instead of calling. Other stations are refused.
    #[arg(long, conflicts_with = "via")]
    pub(crate) answer: bool,
    /// The digipeaters on the way, in order.
    #[arg(long, value_name = "CALL,CALL", value_delimiter = ',')]
    pub(crate) via: Vec<String>,
    /// The rate on the air in bit/s, such as 1200 or '9.6 kb/s'; timers depend on it.
    #[arg(long, value_name = "RATE", default_value_t = 1200, value_parser = air_rate)]
    pub(crate) rate: u32,
    /// The port of a TNC with several radios.
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..16))]
    pub(crate) port: u8,
    /// The version of AX.25 [default: try 2.2, fall back to 2.0].
    #[arg(long, value_enum)]
    pub(crate) version: Option<Ax25Version>,
    /// Show events, and packets that a layer drops.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// A version of AX.25.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum Ax25Version {
    /// For stations that do not answer newer frames.
    #[value(name = "2.0")]
    V20,
    /// Without falling back.
    #[value(name = "2.2")]
    V22,
}

impl From<Ax25Version> for stackwright::ax25::LinkVersion {
    fn from(version: Ax25Version) -> Self {
        match version {
            Ax25Version::V20 => stackwright::ax25::LinkVersion::V20,
            Ax25Version::V22 => stackwright::ax25::LinkVersion::V22,
        }
    }
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright dissector artp > artp.lua
  wireshark -X lua_script:artp.lua capture.pcapng")]
pub(crate) struct Dissector {
    /// The protocol, such as artp.
    ///
    /// Save the script in Wireshark's plug-in folder (Help > About > Folders), or run wireshark -X
    /// lua_script:FILE.
    #[arg(value_name = "NAME")]
    pub(crate) protocol: String,
}

/// A UDP port and the protocol it carries.
#[derive(Clone)]
pub(crate) struct PortOf {
    pub(crate) port: u16,
    pub(crate) name: String,
}

impl FromStr for PortOf {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (port, name) =
            text.split_once('=').ok_or("write it as PORT=NAME, such as 5000=artp")?;
        let port = port.parse().map_err(|_| "a port is a number from 0 to 65535")?;
        Ok(PortOf { port, name: name.into() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_ports() {
        assert_eq!(ports("50000-50100"), Ok(50_000..=50_100));
        assert_eq!(ports("50000"), Ok(50_000..=50_000));
        for wrong in ["", "0-5", "5-4", "1-65536", "a-b", "1-2-3"] {
            assert!(ports(wrong).is_err(), "{wrong}");
        }
    }
}
