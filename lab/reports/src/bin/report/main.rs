//! The `report` program: one self-contained page with all results, of tables and of campaigns, and
//! a picture of the ratios.
#![deny(unsafe_code)]

mod campaign;
mod campaign_section;
mod page;
mod picture;
mod results;
mod section;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use stackwright_results::{Problem, replace, say};

/// Write all results as one self-contained HTML page
#[derive(Parser, Debug)]
#[command(name = "report", version)]
#[command(after_help = "\
Examples:
  report
  report --picture docs/lab-report.svg")]
struct Arguments {
    /// The folder with the results
    #[arg(value_name = "DIR", default_value = "lab-results")]
    results: PathBuf,
    /// The folder for report.html [default: the folder with the results]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Also draw all ratios as SVG
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
}

impl Arguments {
    /// Does what is asked.
    fn obey(&self) -> Result<(), Problem> {
        let found = results::read(&self.results)?;
        for (file, why) in &found.unreadable {
            eprintln!("report: skipping {file}: {why}");
        }
        let page = self.into.as_ref().unwrap_or(&self.results).join("report.html");
        replace(&page, &page::page(&found).into_string())?;
        say!("{}", page.display());
        if let Some(picture) = &self.picture {
            replace(picture, &picture::picture(&found.outcomes)?)?;
            say!("{}", picture.display());
        }
        Ok(())
    }
}

fn main() -> ExitCode {
    match Arguments::parse().obey() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => problem.end("report"),
    }
}
