//! The command line.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand};

const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    the transfer, or the server, failed, or a stack is refused; the message says why
  2    the command line is wrong, or asks for something unsafe
  130  interrupted; an unfinished file leaves no trace";

/// Network protocols put together from parts: files over FTP, over TCP or over ARTP.
#[derive(Parser)]
#[command(version, after_help = EXIT_CODES, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
// The arguments of a command are described when it is asked for: a program's start does not grow with its commands.
#[command(defer = true)]
pub(crate) enum Command {
    /// Move 64 MB through a server and a client of our own, and check every octet. Needs nothing, takes seconds.
    Demo,
    /// Serve a folder over FTP, by default to this machine only and read-only.
    Serve(Serve),
    /// Fetch a file.
    Get(Get),
    /// Store a file.
    Put(Put),
    /// List a folder.
    Ls(Ls),
    /// Measure a transport between two of this program: how fast, how soon, how many, and how much of a processor.
    #[command(subcommand)]
    Perf(crate::perf::Perf),
    /// Say in words what a described stack guarantees, and why it is accepted or refused; or what a protocol is made of.
    Explain(Explain),
    /// Draw a described stack.
    Draw(Draw),
    /// Draw the feature model of generated bases, and say what each selection can do.
    Features(Features),
    /// Show the packets of a capture, pcapng or pcap, header by header.
    Dissect(Dissect),
    /// Write a plug-in for Wireshark that shows the packets of a protocol: a script in Lua, on standard output.
    Dissector(Dissector),
}

/// How long an ARTP packet may be at most, in octets.
pub(crate) const PACKET: RangeInclusive<i64> = 191..=65_507;

#[derive(Args)]
pub(crate) struct Serve {
    /// The folder; nothing outside of it can be reached.
    pub(crate) folder: PathBuf,
    /// Where to listen; may be given several times. Port 0 takes any free port.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:2121")]
    pub(crate) listen: Vec<SocketAddr>,
    /// Serve over ARTP over UDP in place of TCP, and listen there, by default at 127.0.0.1:4330; may be given several times.
    /// Clients say ftp+artp://ADDR:PORT/.
    #[arg(
        long,
        value_name = "ADDR:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:4330",
        conflicts_with_all = ["listen", "stack"]
    )]
    pub(crate) artp: Vec<SocketAddr>,
    /// Over ARTP, the longest packet, in octets; 1472 where nobody says it, 1452 over IPv6: what a path of 1500 takes. The smaller
    /// one of the two ends is used; choose less for a tunnel, more for a local network with jumbo frames.
    #[arg(long, value_name = "OCTETS", value_parser = clap::value_parser!(u16).range(PACKET))]
    pub(crate) packet: Option<u16>,
    /// Let clients store files. Beyond this machine this needs --user.
    #[arg(long)]
    pub(crate) writable: bool,
    /// Only this user may come in, in place of everybody; the password is asked for, or read from --password-file.
    #[arg(long, value_name = "NAME")]
    pub(crate) user: Option<String>,
    /// A file whose first line is the user's password.
    #[arg(long, value_name = "FILE", requires = "user")]
    pub(crate) password_file: Option<PathBuf>,
    /// How many clients at once; 1000 where nobody says it.
    #[arg(long, value_name = "N")]
    pub(crate) sessions: Option<usize>,
    /// The stack, as a file describes it, in place of the one that was put together with the program; `explain` tells more.
    #[arg(long, value_name = "FILE")]
    pub(crate) stack: Option<PathBuf>,
    /// Answer an upload before it is safe on the disk: faster, but a power failure may lose it.
    #[arg(long)]
    pub(crate) no_sync: bool,
    /// Say what happens as JSON lines on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Say every command and reply on standard error (never a password).
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Args)]
pub(crate) struct Connection {
    /// A file whose first line is the password. Without it, the password of a named user is asked for.
    #[arg(long, value_name = "FILE")]
    pub(crate) password_file: Option<PathBuf>,
    /// Let the server open the data connections (PORT) in place of the client (PASV).
    #[arg(long)]
    pub(crate) active: bool,
    /// The stack, as a file describes it, in place of the one that was put together with the program; `explain` tells more.
    #[arg(long, value_name = "FILE")]
    pub(crate) stack: Option<PathBuf>,
    /// Over ARTP, the longest packet, in octets; 1472 where nobody says it, 1452 over IPv6: what a path of 1500 takes.
    /// The smaller one of the two ends is used; choose less for a tunnel, more for a local network with jumbo frames.
    #[arg(long, value_name = "OCTETS", value_parser = clap::value_parser!(u16).range(PACKET))]
    pub(crate) packet: Option<u16>,
    /// How long a silent server is waited for, in seconds; 60 where nobody says it.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: Option<u64>,
    /// Say what happens as JSON lines on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Say every command and reply on standard error (never a password).
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

#[derive(Args)]
pub(crate) struct Get {
    /// An address, as `ftp://user@host:port/path`, or `ftp+artp://…` over ARTP over UDP; user and port may be left out.
    pub(crate) url: String,
    /// A file, or a folder for a file of the same name. By default the current folder.
    pub(crate) dest: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
pub(crate) struct Put {
    /// The file to store.
    pub(crate) file: PathBuf,
    /// An address, as `ftp://user@host:port/path`, or `ftp+artp://…` over ARTP; with a `/` at the end, the file keeps its name.
    pub(crate) url: String,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
pub(crate) struct Ls {
    /// An address, as `ftp://user@host:port/folder`, or `ftp+artp://…` over ARTP.
    pub(crate) url: String,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
pub(crate) struct Explain {
    /// A file that describes a stack, or `get`, `put`, `ls`, `serve`, `get-artp` or `serve-artp`; or a protocol, as `artp`,
    /// of which it tells what was chosen for its slots, and why. Without it, what may stand in such a file.
    #[arg(value_name = "FILE|NAME")]
    pub(crate) stack: Option<PathBuf>,
    /// Say it as JSON on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Draw {
    /// A file that describes a stack, or `get`, `put`, `ls`, `serve`, `get-artp` or `serve-artp`.
    #[arg(value_name = "FILE|NAME")]
    pub(crate) stack: PathBuf,
    /// For Graphviz: `stackwright draw get --dot | dot -Tsvg`.
    #[arg(long)]
    pub(crate) dot: bool,
}

#[derive(Args)]
pub(crate) struct Features {
    /// What to complete and to validate, as "events: Simple, opening: ActivePassive".
    pub(crate) specification: Option<String>,
    /// Say it as JSON lines on standard output, one for each selection.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Dissect {
    /// The capture, as Wireshark, tcpdump and our own recorder write it.
    pub(crate) file: PathBuf,
    /// The protocol whose headers the payloads begin with. By default the one that the interface's description names, or
    /// that is found at that UDP port, as ARTP at 4330.
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) above: Option<String>,
    /// The protocol at a UDP port, as `--port 5000=artp`; may be given several times.
    #[arg(long, value_name = "N=NAME")]
    pub(crate) port: Vec<PortOf>,
    /// Say it as JSON lines, one for each packet.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Dissector {
    /// The protocol, as `artp`. Save the script where Wireshark looks for plug-ins (Help, About, Folders), or run
    /// `wireshark -X lua_script:FILE`.
    #[arg(value_name = "NAME")]
    pub(crate) protocol: String,
}

/// A port, and the protocol that is found there.
#[derive(Clone)]
pub(crate) struct PortOf {
    pub(crate) port: u16,
    pub(crate) name: String,
}

impl FromStr for PortOf {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (port, name) = text.split_once('=').ok_or("write it as a port, `=` and a protocol's name")?;
        let port = port.parse().map_err(|_| "the port is a number from 0 to 65535")?;
        Ok(PortOf { port, name: name.into() })
    }
}
