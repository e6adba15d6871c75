//! What other programs make of the command line: completions of shells, manual pages.

use std::io;

use clap::CommandFactory;

use crate::arguments::{Arguments, Completions, Manual};
use crate::problem::Problem;

pub(crate) fn completions(completions: &Completions) -> Result<(), Problem> {
    let mut command = Arguments::command();
    clap_complete::generate(completions.shell, &mut command, "stackwright", &mut io::stdout());
    Ok(())
}

pub(crate) fn manual(manual: &Manual) -> Result<(), Problem> {
    let why = |why| Problem::Path { path: manual.folder.clone(), why };
    std::fs::create_dir_all(&manual.folder).map_err(why)?;
    clap_mangen::generate_to(Arguments::command(), &manual.folder).map_err(why)
}
