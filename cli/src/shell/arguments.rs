//! The commands of the shell. `help` shows what stands here.

use clap::{Args, Parser, Subcommand};

use crate::client::arguments::Selection;

/// A line of the shell.
#[derive(Parser)]
#[command(
    name = "",
    no_binary_name = true,
    disable_help_flag = true,
    help_template = "{all-args}{after-help}",
    after_help = "\
!COMMAND runs a command of this machine, in the folder of `lcd`.
Names are quoted as in a shell: 'a b', \"a b\", a\\ b. Those with *, ? and [ are patterns, \
unless quoted."
)]
pub(super) struct Line {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Subcommand)]
#[command(defer = true, subcommand_help_heading = "Commands", next_line_help = false)]
pub(super) enum Command {
    /// List a folder.
    Ls(Ls),
    /// Go to another folder on the server; without a name, to the top.
    Cd { folder: Option<String> },
    /// Show the folder on the server.
    Pwd,
    /// Go to another folder of this machine; without a name, home.
    Lcd { folder: Option<String> },
    /// Show the folder of this machine.
    Lpwd,
    /// List a folder of this machine, with its `ls`.
    Lls {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Download files and folders into the folder of this machine.
    Get(Get),
    /// Upload files and folders into the folder on the server.
    Put(Put),
    /// Make a folder of this machine like one on the server, or the reverse.
    Mirror(Mirror),
    /// Show files.
    Cat {
        #[arg(required = true, value_name = "FILE")]
        files: Vec<String>,
    },
    /// Remove files.
    Rm(Rm),
    /// Make folders.
    Mkdir(Mkdir),
    /// Remove empty folders.
    Rmdir {
        #[arg(required = true, value_name = "FOLDER")]
        folders: Vec<String>,
    },
    /// Rename a file or folder.
    Mv { from: String, to: String },
    /// Go to a server: ftp://user@host/folder, or NAME: with a bookmark.
    Open { url: String },
    /// Leave the server.
    Close,
    /// Leave the server and the shell.
    #[command(aliases = ["exit", "bye"])]
    Quit,
}

#[derive(Args)]
pub(super) struct Ls {
    /// A folder or a file on the server [default: the present folder].
    pub(super) path: Option<String>,
    /// Show permissions, exact sizes and dates, too.
    #[arg(long, short)]
    pub(super) long: bool,
    /// Show sizes with units in the long form.
    #[arg(long, requires = "long")]
    pub(super) human: bool,
}

#[derive(Args)]
pub(super) struct Get {
    /// Files, folders and patterns on the server.
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<String>,
    /// Where to save it: a file or folder of this machine.
    #[arg(long, short = 'o', value_name = "LOCAL")]
    pub(super) to: Option<String>,
    #[command(flatten)]
    pub(super) selection: Selection,
}

#[derive(Args)]
pub(super) struct Put {
    /// Files, folders and patterns of this machine.
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<String>,
    /// Where to store it: a path on the server.
    #[arg(long, short = 'o', value_name = "REMOTE")]
    pub(super) to: Option<String>,
    #[command(flatten)]
    pub(super) selection: Selection,
}

#[derive(Args)]
pub(super) struct Mirror {
    /// The folder to copy: on the server, with --reverse on this machine.
    pub(super) source: String,
    /// The folder that becomes like it [default: of the same name, in the present folder].
    pub(super) target: Option<String>,
    /// From this machine to the server.
    #[arg(long, short = 'R')]
    pub(super) reverse: bool,
    /// Remove what the source does not have from the target, too; nothing is asked.
    #[arg(long)]
    pub(super) delete: bool,
    /// Change nothing, and tell what would be copied and removed.
    #[arg(long)]
    pub(super) dry_run: bool,
    #[command(flatten)]
    pub(super) selection: Selection,
}

#[derive(Args)]
pub(super) struct Rm {
    /// Files on the server.
    #[arg(required = true, value_name = "FILE")]
    pub(super) files: Vec<String>,
    /// Remove folders with everything below them; nothing is asked.
    #[arg(long, short)]
    pub(super) recursive: bool,
}

#[derive(Args)]
pub(super) struct Mkdir {
    /// Folders on the server.
    #[arg(required = true, value_name = "FOLDER")]
    pub(super) folders: Vec<String>,
    /// Make the folders above, too; a folder that exists is no failure.
    #[arg(long, short)]
    pub(super) parents: bool,
}
