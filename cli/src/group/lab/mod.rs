//! `group lab`: what a stack of layers promises, and what comes of it by chance without a layer.
//!
//! | file | what |
//! | --- | --- |
//! | here | the command |
//! | `scene.rs` | members of a stack in a simulated network, and what befalls them by a seed |
//! | `chart.rs` | what led to a broken promise, as lines and as a page |

mod chart;
mod scene;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;
use stackwright::contract::{Facts, Guarantees, rules};

use crate::described::Described;
use crate::problem::Problem;
use crate::report::say;
use scene::{Run, Scene};

/// See which promise of a group breaks when a layer is missing, in a simulated network.
#[derive(Args)]
#[command(after_help = "\
The network loses, doubles and delays packets, splits into two parts, and members crash and begin
again: all of it by the seed, so that the same seed shows the same. Members cast all the time, and
it is checked that all of them see the same views, the same casts between two views, in one order,
and nothing that a member which vanished had seen otherwise. What is broken first is shown with
what led to it, and the status is 1.

A stack in which a layer lacks what it needs is refused as anywhere, with the sentence.

Examples:
  stackwright explain group-store        # the stack; leave out [safe], and let [total] be over
                                         # \"membership\"
  stackwright group lab --stack FILE --until-broken --out chart.html
  stackwright group lab --seed 7         # the whole stack: nothing breaks")]
pub(crate) struct Lab {
    /// The file that describes the stack [default: that of `group store`]
    #[arg(long, value_name = "FILE")]
    stack: Option<PathBuf>,
    /// How many members.
    #[arg(long, value_name = "N", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u8).range(2..=9))]
    members: u8,
    /// The seed of all that happens.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Try this seed and those after it, 1000 at most, until a promise is broken.
    #[arg(long)]
    until_broken: bool,
    /// Write a page with all packets before the end, for a browser.
    #[arg(long, value_name = "HTML")]
    out: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

/// Seeds that are tried, at most.
const SEEDS_MOST: u64 = 1000;

/// What the members of the lab need of their stack.
const NEEDS: Facts = Facts { needs: Guarantees::VIEWS, ..Facts::named("lab") };

/// What is checked, whatever the stack promises. A state is asked for by those who have one.
const CHECKED: Guarantees = Guarantees::RELIABLE
    .and(Guarantees::ORDERED)
    .and(Guarantees::ONCE)
    .and(Guarantees::VIEWS)
    .and(Guarantees::SYNCHRONY)
    .and(Guarantees::PRIMARY)
    .and(Guarantees::CAUSAL)
    .and(Guarantees::TOTAL)
    .and(Guarantees::SAFE);

impl Lab {
    pub(super) fn run(&self) -> Result<(), Problem> {
        let file = self.stack.as_deref().unwrap_or(Path::new("group-store"));
        let described = Described::load(file)?.first_top();
        let promised = scene::facts(&described)?;
        rules::fits(&NEEDS, &promised)
            .map_err(|misfit| described.unfit(misfit.explain().as_str()))?;
        let most = if self.until_broken { SEEDS_MOST } else { 1 };
        let members = usize::from(self.members);
        let (mut seed, mut run) = (self.seed, None);
        for _ in 0..most {
            let found = Scene::new(&described, members, seed, promised.gives, false)?.run();
            let ends = !found.broken.is_empty() || !self.until_broken;
            run = Some(found);
            if ends {
                break;
            }
            seed = seed.saturating_add(1);
        }
        let Some(run) = run else { return Ok(()) };
        if run.broken.is_empty() {
            self.well(&run, seed.min(self.seed.saturating_add(most - 1)));
            return Ok(());
        }
        // The same again, with all that is to be shown.
        let run = Scene::new(&described, members, seed, promised.gives, true)?.run();
        if let Some(out) = &self.out {
            let page = chart::page(&run, &described.name, seed);
            fs::write(out, page).map_err(|why| Problem::Path { path: out.clone(), why })?;
        }
        self.broken(&run, seed, promised.gives);
        Err(Problem::BrokenPromise)
    }

    fn well(&self, run: &Run, seed: u64) {
        let Run { views, deliveries, together, .. } = run;
        let together = together.map(|time| time.as_secs_f64());
        if self.json {
            say!(
                "{}",
                json!({ "seed": seed, "broken": null, "views": views, "deliveries": deliveries,
                    "together": together })
            );
            return;
        }
        let seeds = if seed > self.seed {
            format!("Seeds {} to {seed}", self.seed)
        } else {
            format!("Seed {seed}")
        };
        say!("{seeds}: no promise was broken.");
        say!("The last run: {views} views entered, {deliveries} casts delivered, by all members.");
        match together {
            Some(time) => say!("All were in one view {time:.2} s after the last fault."),
            None => say!("The members did not come into one view again."),
        }
    }

    fn broken(&self, run: &Run, seed: u64, promised: Guarantees) {
        let first = &run.broken[0];
        let is_promised = promised.has(first.promise);
        let words: Vec<_> = first.promise.without(promised).words().collect();
        if self.json {
            let at = first.at.nanoseconds() as f64 / 1e9;
            let [cast, instead] = [first.cast, first.instead].map(|mark| mark.map(chart::named));
            let told = json!({
                "seed": seed, "broken": first.what, "promised": is_promised, "at": at,
                "member": first.station + 1, "cast": cast, "instead": instead,
            });
            say!("{told}");
            return;
        }
        say!("Seed {seed}: broken: {}.", first.what);
        if is_promised {
            say!("The stack promises that: this is a fault of a layer. Please report the seed.");
        } else {
            say!("No layer of the stack promises {}.", words.join(" and "));
        }
        say!("");
        say!("{}", chart::lines(run).trim_end());
        if let Some(out) = &self.out {
            say!("\nAll packets: {}", out.display());
        }
    }
}
