//! What other programs make of the command line: completions of shells, manual pages.

use std::io;
use std::path::PathBuf;

use clap::{Args, Command};

use crate::problem::Problem;

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

pub(crate) fn completions(completions: &Completions, mut command: Command) -> Result<(), Problem> {
    clap_complete::generate(completions.shell, &mut command, "stackwright", &mut io::stdout());
    Ok(())
}

pub(crate) fn manual(manual: &Manual, command: Command) -> Result<(), Problem> {
    let why = |why| Problem::Path { path: manual.folder.clone(), why };
    std::fs::create_dir_all(&manual.folder).map_err(why)?;
    clap_mangen::generate_to(command, &manual.folder).map_err(why)
}
