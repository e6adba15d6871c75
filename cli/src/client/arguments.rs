//! The command line of the client's commands.

use std::num::NonZero;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use crate::quantity::{patience, rate};
use crate::stacks::PACKET;
use crate::trust::TlsArguments;

/// How many files are copied at a time where nobody says it.
const AT_ONCE: u16 = 4;

// Which files of a folder are copied, and how many at a time. (A doc comment would replace that of
// the command.)
#[derive(Args)]
pub(crate) struct Selection {
    /// Leave out files and folders whose name matches PATTERN (such as '*.tmp'), or whose path
    /// does if it holds a /; may be repeated.
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
pub(crate) struct Get {
    /// The addresses of files, folders or patterns: ftp://user@host:port/path, ftps://… over
    /// TLS, ftp+artp://… over ARTP, or NAME:path with a bookmark. User and port are optional.
    ///
    /// DEST is where to save it: a file, a folder, or - for standard output [default: the current
    /// folder]. A folder is copied with everything below it; what is there already, of the same
    /// size and date, is not copied again. In the last part of a quoted address, *, ? and [ make a
    /// pattern: 'ftp://host/*.txt' (? is written as such in the shell only).
    #[arg(value_name = "URL", required = true)]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
#[command(override_usage = "stackwright put [OPTIONS] <FILE>... <URL>")]
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
pub(crate) struct Mirror {
    /// The folder to copy: an address, or a folder of this machine.
    pub(crate) source: String,
    /// The folder that becomes like it: a folder of this machine, or an address. It is made if it
    /// does not exist.
    pub(crate) target: String,
    /// Remove what the source does not have from the target, too; nothing is asked.
    #[arg(long)]
    pub(crate) delete: bool,
    /// Change nothing, and tell what would be copied and removed.
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) selection: Selection,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
pub(crate) struct Cat {
    /// The addresses of the files, all on one server.
    #[arg(value_name = "URL", required = true)]
    pub(crate) urls: Vec<String>,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
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
pub(crate) struct Rm {
    /// The addresses of the files.
    #[arg(value_name = "URL", required = true)]
    pub(crate) urls: Vec<String>,
    /// Remove folders with everything below them; nothing is asked.
    #[arg(long, short)]
    pub(crate) recursive: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
pub(crate) struct Mkdir {
    /// The addresses of the folders.
    #[arg(value_name = "URL", required = true)]
    pub(crate) urls: Vec<String>,
    /// Make the folders above, too; a folder that exists is no failure.
    #[arg(long, short)]
    pub(crate) parents: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Args)]
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
pub(crate) struct Shell {
    /// The server: ftp://user@host/folder, ftp+artp://… over ARTP, or NAME: with a bookmark.
    ///
    /// Commands are read from the terminal, or from a pipe: then the first one that fails ends the
    /// shell, and its exit code is the shell's. `help` shows the commands.
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
    /// Its password is read from ~/.netrc. NO_PROXY names hosts that are reached directly. A stack
    /// described in a file takes it where the file has a `proxy`.
    #[arg(long, value_name = "URL")]
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
    /// Give up when the server is silent for this long, in seconds or with a unit (500ms, 2m)
    /// [default: 60s].
    #[arg(long, value_name = "TIME", value_parser = patience)]
    pub(crate) timeout: Option<Duration>,
    /// Try again up to N times when the connection of a transfer is lost, each time after twice as
    /// long, and go on where it ended [default: 3].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(..=20))]
    pub(crate) retries: Option<u32>,
    /// Move at most this much a second, such as 200k, 2 MB/s, or 10 Mb/s (bits).
    #[arg(long, value_name = "RATE", value_parser = rate, conflicts_with = "stack")]
    pub(crate) limit_rate: Option<NonZero<u64>>,
    /// Report events as JSON lines on standard output.
    #[arg(long)]
    pub(crate) json: bool,
    /// Report nothing but failures.
    #[arg(long, short, conflicts_with = "json")]
    pub(crate) quiet: bool,
    /// Print the FTP dialogue on standard error, without passwords.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}
