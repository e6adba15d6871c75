//! `lab report`: all results in one page, which needs nothing else, and a picture of the ratios.

mod page;
mod picture;
mod results;
mod section;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::Args;

use crate::problem::Problem;
use crate::table::replace;

/// Join all results into one page that needs nothing else
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Where the results are
    #[arg(value_name = "DIR", default_value = "lab-results")]
    results: PathBuf,
    /// Where the page is written, as report.html [default: where the results are]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// A picture of all ratios besides, as SVG
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
}

impl Arguments {
    /// Does what is asked.
    pub(crate) fn obey(&self) -> Result<(), Problem> {
        let found = results::read(&self.results)?;
        for (file, why) in &found.unreadable {
            eprintln!("lab: {file} is left out: {why}");
        }
        let page = self.into.as_ref().unwrap_or(&self.results).join("report.html");
        replace(&page, &page::page(&found).into_string())?;
        println!("{}", page.display());
        if let Some(picture) = &self.picture {
            replace(picture, &picture::picture(&found.outcomes)?)?;
            println!("{}", picture.display());
        }
        Ok(())
    }
}
