//! The command line: the commands there are. What each takes is said where it is done.

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::aprs::Aprs;
use crate::bookmark::Bookmark;
use crate::channel;
use crate::client::arguments::{Cat, Get, Ls, Mirror, Mkdir, Mv, Put, Rm, Shell};
use crate::client::journal::{Forget, Resume, Transfers};
use crate::connect::Connect;
use crate::demo::Demo;
use crate::dissect::Dissect;
use crate::dissector::Dissector;
use crate::explain::{Draw, Explain};
use crate::features::Features;
use crate::generate::{Completions, Manual};
use crate::group::Group;
use crate::heard::Heard;
use crate::host::Host;
use crate::jis::Jis;
use crate::monitor::Monitor;
use crate::perf::Perf;
use crate::ping::Ping;
use crate::router::Router;
use crate::serve::Serve;
use crate::socks::Socks;
use crate::spec::Spec;
use crate::station::Station;

const AFTER_HELP: &str = "\
Exit codes:
  0    done
  1    failed; the message gives the reason
  2    the command line is wrong, or asks for something unsafe
  3    the host is unknown or unreachable
  4    refused: the password, the certificate, or the permission
  5    damaged: the received octets are not those that were sent
  6    timed out
  7    interrupted (Ctrl-C, lost connection, time-out); `stackwright resume` goes on
  8    not decided: a property of `spec check` has too many cases
  130  interrupted, and nothing to go on with
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
    /// List the transfers that were interrupted, or may be: what is there, and what happens next.
    Transfers(Transfers),
    /// Go on with transfers that were interrupted, where they ended.
    Resume(Resume),
    /// Give up transfers that were interrupted, and remove what they have left on this machine.
    Forget(Forget),
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
    Perf(Perf),
    /// Ask a host for echoes, by IP of our own on a device of this machine.
    Ping(Ping),
    /// Forward packets between devices of this machine, by IP of our own.
    Route(Router),
    /// Connect the clients of a SOCKS 5 proxy onward, by TCP and IP of our own.
    Socks(Socks),
    /// Have stacks in a server, which programs of this machine share.
    Host(Host),
    /// Explain the guarantees of a stack, and why it is accepted or refused; or the policies of a
    /// protocol.
    Explain(Explain),
    /// Draw a stack as text, or for Graphviz.
    Draw(Draw),
    /// List the features of generated bases and their valid selections.
    Features(Features),
    /// Run a radio channel without radios: programs reach the TNC of each station by KISS over TCP.
    Channel(channel::Arguments),
    /// Show the frames that a radio's TNC receives; transmits nothing.
    Monitor(Monitor),
    /// List the stations heard: by a TNC while it listens, or by a station that programs share.
    Heard(Heard),
    /// Send and receive messages of APRS, which are repeated until they are acknowledged.
    Aprs(Aprs),
    /// Run a packet radio station: programs share its links (AGW) and its TNC (KISS).
    Station(Station),
    /// Call a station by radio, as a terminal on an AX.25 link through a TNC.
    Connect(Connect),
    /// Processes that know who of them is there, and tell all of them.
    #[command(subcommand)]
    Group(Group),
    /// Decode the packets of a capture (pcapng or pcap), header by header.
    Dissect(Dissect),
    /// Print a Wireshark plug-in (Lua) that decodes a protocol.
    Dissector(Dissector),
    /// Serve and fetch JPEG pictures whose pieces arrive in any order (JIS).
    #[command(subcommand)]
    Jis(Jis),
    /// Compile protocols from a specification: check, draw, generate, run.
    #[command(subcommand)]
    Spec(Spec),
    /// Print completions for a shell.
    Completions(Completions),
    /// Write manual pages into a folder, one for each command.
    Manual(Manual),
}

/// How the output looks, which is not for the next time.
const OUTPUT: [&str; 3] = ["json", "quiet", "verbose"];

impl Arguments {
    /// Reads a command line. A copy remembers its options as they are given.
    ///
    /// # Errors
    /// What is wrong, or what the line asks to be shown.
    pub(crate) fn read(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let mut command = Arguments::command();
        let given = command.try_get_matches_from_mut(words)?;
        let mut arguments =
            Arguments::from_arg_matches(&given).map_err(|error| error.format(&mut command))?;
        let connection = match &mut arguments.command {
            Command::Get(get) => &mut get.connection,
            Command::Put(put) => &mut put.connection,
            Command::Mirror(mirror) => &mut mirror.connection,
            _ => return Ok(arguments),
        };
        connection.options = given.subcommand().and_then(|(name, given)| {
            command.find_subcommand(name).and_then(|command| options(command, given))
        });
        Ok(arguments)
    }
}

/// Returns the options of a command that were given; `None` where one cannot be written as text.
fn options(command: &clap::Command, given: &ArgMatches) -> Option<Vec<String>> {
    let mut options = Vec::new();
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let Some(long) = argument.get_long().filter(|_| !OUTPUT.contains(&id)) else { continue };
        if given.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        if !argument.get_action().takes_values() {
            options.push(format!("--{long}"));
            continue;
        }
        for value in given.get_raw(id)? {
            options.push(format!("--{long}={}", value.to_str()?));
        }
    }
    Some(options)
}
