//! `jis`: an image server, and its client.

mod folder;
mod get;
mod log;
mod png;
mod replay;
mod serve;
mod show;

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use stackwright_jis::PORT;

use crate::placement::Placement;
use crate::problem::Problem;
use crate::quantity::octets;

const DEFAULT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT);

#[derive(Subcommand)]
#[command(defer = true)]
pub(crate) enum Jis {
    /// Serve the JPEGs of a folder, without its subfolders.
    Serve(Serve),
    /// Fetch a picture: as the identical file, as PNG, or into the terminal.
    Get(Get),
    /// Replay a log of `get`: the time of half the picture, and its quality by then.
    Replay(ReplayLog),
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright jis serve ~/Pictures
  stackwright jis serve ~/Pictures --listen 0.0.0.0:4331")]
pub(crate) struct Serve {
    /// The folder.
    folder: PathBuf,
    /// Listen here; the port is one of UDP.
    #[arg(long, value_name = "ADDRESS:PORT", default_value_t = DEFAULT)]
    listen: SocketAddr,
    /// Where the transport is: `library`, or `server=FOLDER` of `stackwright host`.
    #[arg(long, value_name = "WHERE", default_value = "library", hide_default_value = true)]
    placement: Placement,
    /// Cache split pictures in memory, up to this size in total, such as 1GB, so that repeated
    /// requests are answered at once. A changed file is read again.
    #[arg(long, value_name = "OCTETS", default_value = "64MB", value_parser = octets)]
    keep: u64,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright jis get jis://127.0.0.1/cat.jpg
  stackwright jis get jis://127.0.0.1/cat.jpg --show
  stackwright jis get 127.0.0.1 cat.jpg --log cat.log")]
pub(crate) struct Get {
    /// The picture's address, jis://HOST/NAME or jis://HOST:PORT/NAME; or the host alone.
    #[arg(value_name = "URL|HOST")]
    place: String,
    /// The picture's name, after a host alone.
    name: Option<String>,
    /// Write the file here; - is the standard output. By default, the picture's name.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write a PNG.
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
    /// Show it in the terminal, as it arrives.
    #[arg(long)]
    show: bool,
    /// Where the transport is: `library`, or `server=FOLDER` of `stackwright host`.
    #[arg(long, value_name = "WHERE", default_value = "library", hide_default_value = true)]
    placement: Placement,
    /// Log each arriving piece with its time, as JSON lines.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Overwrite files.
    #[arg(long)]
    force: bool,
}

#[derive(Args)]
#[command(after_help = "\
Examples:
  stackwright jis replay cat.log cat.jpg")]
pub(crate) struct ReplayLog {
    /// The log, from `get --log`.
    log: PathBuf,
    /// The picture, as it arrived or as the server has it.
    file: PathBuf,
    /// Print JSON: times in seconds, PSNR in decibels.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(jis: &Jis) -> Result<(), Problem> {
    match jis {
        Jis::Serve(serve) => serve::run(serve),
        Jis::Get(get) => get::run(get),
        Jis::Replay(replay) => replay::run(replay),
    }
}
