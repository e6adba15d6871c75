//! `lab report`: all results in one page.

use std::path::PathBuf;

use clap::Args;

use crate::problem::Problem;

/// Join all results into one page that needs nothing else
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Where the results are
    #[arg(value_name = "DIR", default_value = "lab-results")]
    results: PathBuf,
}

impl Arguments {
    /// Does what is asked.
    pub(crate) fn obey(&self) -> Result<(), Problem> {
        Err(Problem::new(format!("{} is not read yet", self.results.display())))
    }
}
