//! `lab watch`: a scenario as a message chart in a browser, where a click on a packet loses, delays
//! or doubles it, and runs all of it again.
//!
//! | file | what |
//! | --- | --- |
//! | `changed.rs` | a run with some packets' fates changed |
//! | `page.html` | what the browser shows |
//!
//! The server keeps nothing but the scenario: an address names all changes, so that one can go back
//! in the browser's history, and two pages do not disturb each other.

mod changed;

use std::path::PathBuf;

use clap::Args;
use stackwright_results::Problem;

use crate::page::{self, Answer};
use crate::scenario::Scenario;
use changed::Watched;

const PAGE: &str = include_str!("page.html");

/// Watch a scenario in a browser: packets as arrows, and what changes if one is lost
///
/// Click a packet to lose, double or delay it: the run begins anew with that change. The changed
/// scenario can be saved, and run with `lab run`.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lab watch lab/scenarios/short.toml
  lab watch lab/scenarios/geo.toml --set links.0.loss=0.05")]
pub(crate) struct Watch {
    /// The scenario file (TOML)
    scenario: PathBuf,
    /// Override a value of the scenario, such as links.0.loss=0.05; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Seed of all random choices [default: the file's, else 1]
    #[arg(long)]
    seed: Option<u64>,
    /// The port on this machine's loopback address [default: a free one]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
}

impl Watch {
    pub(crate) fn run(&self) -> Result<(), Problem> {
        let scenario = Scenario::load(&self.scenario, &self.set)?;
        let seed = self.seed.unwrap_or(scenario.seed);
        let watched = Watched::new(scenario, seed);
        page::serve(self.port, |path, query| answer(&watched, path, query))
    }
}

fn answer(watched: &Watched, path: &str, query: &str) -> Answer {
    let changed = |tell: fn(&Watched, &changed::Changes) -> Answer| match watched.changes(query) {
        Ok(changes) => tell(watched, &changes),
        Err(says) => Answer::Wrong(says),
    };
    match path {
        "/" => Answer::Page(PAGE),
        "/run" => changed(|watched, changes| Answer::Json(watched.run(changes).to_string())),
        "/scenario" => changed(|watched, changes| {
            let name = format!("{}-changed.toml", watched.name());
            Answer::File { name, text: watched.text(changes) }
        }),
        _ => Answer::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_answered() {
        let text = include_str!("../../scenarios/short.toml");
        let scenario = Scenario::read("short".into(), text.into()).expect("a scenario");
        let watched = Watched::new(scenario, 1);
        assert!(matches!(answer(&watched, "/", ""), Answer::Page(_)));
        assert!(matches!(answer(&watched, "/run", ""), Answer::Json(_)));
        assert!(matches!(answer(&watched, "/run", "change=1-2"), Answer::Wrong(_)));
        assert!(matches!(answer(&watched, "/etc", ""), Answer::Unknown));
        let Answer::File { name, .. } = answer(&watched, "/scenario", "") else { panic!("a file") };
        assert_eq!(name, "short-changed.toml");
    }
}
