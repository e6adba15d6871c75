//! The five documents: where each part of them is, and E1–E26, their experiments, each with the
//! command that repeats it. `docs/documents.md` is written from here.

mod effort;
mod experiments;
mod page;

use clap::Args;
use stackwright_results::{Problem, say};

/// Print the page of the five documents: what of them is where, and how to repeat each experiment
///
/// The page in the repository is docs/documents.md.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Print the commands alone, one per line
    #[arg(long)]
    commands: bool,
}

impl Arguments {
    pub(crate) fn obey(&self) -> Result<(), Problem> {
        if self.commands {
            for command in
                experiments::EXPERIMENTS.iter().filter_map(|experiment| experiment.command)
            {
                say!("{command}");
            }
        } else {
            say!("{}", page::page().trim_end());
        }
        Ok(())
    }
}

/// An experiment of a document.
struct Experiment {
    /// Its number, from 1 on.
    number: u8,
    /// What is measured.
    subject: &'static str,
    /// Its place in the document.
    source: &'static str,
    /// The document's figure.
    theirs: &'static str,
    /// The command that repeats it; where nothing does yet, the reason stands in `ours`.
    command: Option<&'static str>,
    /// Our figure.
    ours: &'static str,
}
