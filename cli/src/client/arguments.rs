//! The command line of the client's commands.

use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::inet::Inet;
use crate::placement::Placement;
use crate::quantity::{patience, rate};
use crate::stacks::PACKET;
use crate::trust::TlsArguments;

/// How many files are copied at a time where nobody says it.
const AT_ONCE: u16 = 4;

// Which files of a folder are copied, and how many at a time. (A doc comment would replace that of
// the command.)
#[derive(Args)]
pub(crate) struct Selection {
    /// Skip files and folders whose name matches PATTERN (such as '*.tmp'), or whose path does, if
    /// PATTERN contains a /; may be repeated.
    #[arg(long, value_name = "PATTERN")]
    pub(crate) exclude: Vec<String>,
    /// Copy up to N files at a time, each over a connection of its own.
    #[arg(long, value_name = "N", default_value_t = AT_ONCE)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) parallel: u16,
}

impl Selection {
    /// One file behind the other: at one place they would be mixed.
    pub(crate) fn one_by_one() -> Self {
        Selection { exclude: Vec::new(), parallel: 1 }
    }
}

#[derive(Args)]
#[command(override_usage = "stackwright get [OPTIONS] <URL>... [DEST]")]
#[command(after_help = "\
Examples:
  stackwright get ftp://127.0.0.1:2121/paper.pdf
  stackwright get ftp://anna@host/docs 'ftp://anna@host/*.pdf' ~/copies
  stackwright get ftp+artp://host/film
  stackwright get ftp+xstp+ax25://N0BBB@127.0.0.1:8001/log --call N0AAA
  stackwright get ftp://host/notes.txt -")]
pub(crate) struct Get {
    /// The addresses of files, folders or patterns: ftp://user@host:port/path, ftps://… over
    /// TLS, ftp+artp://… over ARTP, ftp+xstp+ax25://CALL@host:8001/path by radio through the TNC
    /// there, or NAME:path with a bookmark. User and port are optional.
    ///
    /// DEST is where to save it: a file, a folder, or - for standard output [default: the current
    /// folder]. A folder is copied with everything below it; files that exist with the same size
    /// and date are skipped. In the last part of a quoted address, * and [ make a pattern:
    /// 'ftp://host/*.txt'. So does ?, in the shell only.
    #[arg(value_name = "URL", required = true)]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
#[command(override_usage = "stackwright put [OPTIONS] <FILE>... <URL>")]
#[command(after_help = "\
Examples:
  stackwright put notes.txt ftp://127.0.0.1:2121/inbox/
  stackwright put *.txt docs ftp://anna@host/
  tar c docs | stackwright put - ftp://anna@host/docs.tar")]
pub(crate) struct Put {
    /// The files and folders to upload; - is standard input.
    ///
    /// URL is the target's address: ftp://user@host:port/path, ftps://… over TLS, ftp+artp://… over
    /// ARTP, or NAME:path with a bookmark. If it ends in /, or there are several files, they keep
    /// their names there.
    #[arg(value_name = "FILE", required = true, num_args = 2..)]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright mirror ftp://host/docs docs
  stackwright mirror docs ftp://anna@host/docs --delete --dry-run")]
pub(crate) struct Mirror {
    /// The folder to copy: an address, or a folder of this machine.
    pub(crate) source: String,
    /// The folder to synchronise with it: a folder of this machine, or an address. It is created
    /// if it does not exist.
    pub(crate) target: String,
    /// Also remove from the target what the source does not have, without a prompt.
    #[arg(long)]
    pub(crate) delete: bool,
    /// Change nothing; show what would be copied and removed.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright cat ftp://127.0.0.1:2121/notes.txt | less")]
pub(crate) struct Cat {
    /// The addresses of the files, all on one server.
    #[arg(value_name = "URL", required = true)]
    pub(crate) urls: Vec<String>,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright ls ftp://127.0.0.1:2121/
  stackwright ls -l --human work:docs")]
pub(crate) struct Ls {
    /// The address of a folder or a file: ftp://user@host:port/folder, or ftp+artp://… over ARTP.
    pub(crate) url: String,
    /// Show permissions, exact sizes and dates, too.
    #[arg(long, short)]
    pub(crate) long: bool,
    /// Show sizes with units in the long form.
    #[arg(long, requires = "long")]
    pub(crate) human: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright rm ftp://anna@host/old.txt
  stackwright rm -r ftp://anna@host/old/")]
pub(crate) struct Rm {
    /// The addresses of the files.
    #[arg(value_name = "URL", required = true)]
    pub(crate) urls: Vec<String>,
    /// Remove folders with everything below them, without a prompt.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright mkdir -p ftp://anna@host/a/b/c")]
pub(crate) struct Mkdir {
    /// The addresses of the folders.
    #[arg(value_name = "URL", required = true)]
    pub(crate) urls: Vec<String>,
    /// Also make missing parent folders; an existing folder is no failure.
    #[arg(long, short)]
    pub(crate) parents: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright mv ftp://anna@host/a.txt b.txt
  stackwright mv ftp://anna@host/a.txt /archive/")]
pub(crate) struct Mv {
    /// The address of a file or folder.
    pub(crate) url: String,
    /// Its new name: an address on the same server, a path from the top (/folder/name), or a name
    /// in the same folder. If it ends in /, the old name is kept there.
    #[arg(value_name = "NEWPATH|URL")]
    pub(crate) to: String,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright shell ftp://anna@host/
  printf 'cd docs\\nget *.txt\\n' | stackwright shell ftp://host/")]
pub(crate) struct Shell {
    /// The server: ftp://user@host/folder, ftp+artp://… over ARTP, or NAME: with a bookmark.
    ///
    /// Commands come from the terminal or a pipe. In a pipe, the first command that fails ends the
    /// shell with its exit code. `help` lists the commands.
    pub(crate) url: Option<String>,
    #[command(flatten)]
    pub(crate) connection: Connection,
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
    /// Its password is read from ~/.netrc. NO_PROXY lists hosts to reach directly. A stack
    /// described in a file takes it where the file has a `proxy`.
    #[arg(long, value_name = "URL")]
    pub(crate) proxy: Option<String>,
    #[command(flatten)]
    pub(crate) tls: TlsArguments,
    /// Run the stack described in FILE instead of the built-in one; see `stackwright explain`.
    #[arg(long, value_name = "FILE")]
    pub(crate) stack: Option<PathBuf>,
    /// Reach the server by TCP and IP of our own, from an address that the system does not have: on
    /// this device (TUN, TAP, veth or a network card), such as sw0=10.77.0.2/24.
    #[arg(long, value_name = "DEVICE=ADDR/LENGTH", conflicts_with_all = ["stack", "proxy"])]
    pub(crate) inet: Option<Inet>,
    /// Your call sign, for an address by radio; nothing is transmitted without one.
    #[arg(long, value_name = "MYCALL")]
    pub(crate) call: Option<String>,
    /// Where the transport is: `library`, or `server=FOLDER` of `stackwright host`.
    #[arg(long, value_name = "WHERE", default_value = "library", hide_default_value = true)]
    #[arg(conflicts_with_all = ["stack", "inet", "packet"])]
    pub(crate) placement: Placement,
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
    /// The options of this command, to give them again when what it copies goes on later.
    #[arg(skip)]
    pub(crate) options: Option<Vec<String>>,
}
