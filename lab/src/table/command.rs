//! `lab table`: its arguments, and which tables they ask for.

use std::path::PathBuf;

use clap::Args;
use stackwright_results::outcome::Outcome;
use stackwright_results::{Problem, picture, print, replace, say, try_out};

use super::run::{Run, run};
use super::{AnyTable, tables};
use crate::measure::{Effort, Stop};

/// Measure a comparison table: Stackwright, other programs, and published figures side by side
///
/// The results are written as NAME.json and NAME.svg. An interrupted table keeps its measurements,
/// marked as partial.
#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  lab table --list
  lab table all --quick
  lab table paths --cell sim/10M/100ms/1%/q1")]
pub(crate) struct Arguments {
    /// The name of the table, or all
    #[arg(required_unless_present = "list")]
    name: Option<String>,
    /// List the tables
    #[arg(long)]
    list: bool,
    /// List the cells of the table, one per line
    #[arg(long, conflicts_with = "cell")]
    cells: bool,
    /// Measure less: all tables take about twenty minutes
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Measure until the confidence intervals are narrow: all tables take hours
    #[arg(long)]
    full: bool,
    /// Measure one cell only
    #[arg(long, value_name = "KEY")]
    cell: Option<String>,
    /// Seed of the random draws, and of the order of each round
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Write the result of that cell to FILE
    #[arg(long, value_name = "FILE", requires = "cell", conflicts_with = "into")]
    out: Option<PathBuf>,
    /// The folder for results
    #[arg(long, value_name = "DIR", default_value = "lab-results")]
    into: PathBuf,
    /// Compare with another build of stackwright, in the same run (tables of FTP)
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

impl Arguments {
    fn effort(&self) -> Effort {
        match (self.quick, self.full) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Full,
            _ => Effort::Usual,
        }
    }

    /// Does what is asked.
    pub(crate) fn obey(&self) -> Result<(), Problem> {
        let tables = tables();
        if self.list {
            for table in &tables {
                say!("{:<16} {}", table.about().name, table.about().title);
            }
            return Ok(());
        }
        let name = self.name.as_deref().unwrap_or_default();
        let is_chosen = |table: &&dyn AnyTable| name == "all" || table.about().name == name;
        let chosen: Vec<_> = tables.into_iter().filter(is_chosen).collect();
        if chosen.is_empty() {
            let names: Vec<_> = tables.iter().map(|table| table.about().name).collect();
            return Err(Problem::usage(format!("unknown table {name}"))
                .advise(format!("known tables: {}, and all", names.join(", "))));
        }
        if let (Some(cell), "all") = (&self.cell, name) {
            return Err(Problem::usage(format!(
                "--cell {cell} needs the name of one table, not all"
            ))
            .advise("`lab table NAME --cells` lists the cells of a table"));
        }
        if self.cells {
            for key in chosen.iter().flat_map(|table| table.keys(self.effort())) {
                say!("{key}");
            }
            return Ok(());
        }
        if let Some(reference) = &self.reference {
            super::ftp::program::compare_with(reference.clone());
        }
        let stop = Stop::on_signals()
            .map_err(|why| Problem::new(format!("cannot catch Ctrl-C: {why}")))?;
        let (mut outcomes, mut failed) = (Vec::new(), Vec::new());
        let several = chosen.len() > 1;
        let mut ended = Ok(());
        for table in chosen {
            ended = self.table(table, &stop, &mut outcomes);
            if stop.asked() {
                ended = Err(Problem::interrupted());
                break;
            }
            // The other tables may still be measured.
            if let (true, Err(problem)) = (several, &ended) {
                problem.tell("lab");
                failed.push(table.about().name);
            }
        }
        self.print_json(&outcomes)?;
        if failed.is_empty() || stop.asked() {
            return ended;
        }
        Err(Problem::new(format!("not measured, or incomplete: {}", failed.join(", "))))
    }

    /// Measures one table; prints it and keeps it, also where it is partial.
    fn table(
        &self,
        table: &dyn AnyTable,
        stop: &Stop,
        outcomes: &mut Vec<Outcome>,
    ) -> Result<(), Problem> {
        let name = table.about().name;
        let file = self.out.clone().unwrap_or_else(|| match &self.cell {
            Some(cell) => self.into.join(format!("{}.json", cell.replace('/', "-"))),
            None => self.into.join(format!("{name}.json")),
        });
        let keep = |outcome: &Outcome| replace(&file, &json(outcome)?);
        let asked = Run {
            effort: self.effort(),
            cell: self.cell.clone(),
            seed: self.seed,
            stop: stop.clone(),
        };
        try_out(&file)?;
        let (outcome, ended) = run(table, &asked, &keep)?;
        // What was measured before is worth more than nothing.
        if outcome.rows.is_empty() {
            return ended;
        }
        keep(&outcome)?;
        if self.cell.is_none() {
            replace(&file.with_extension("svg"), &picture(&outcome)?)?;
        }
        if !self.json {
            print(&outcome);
            say!("  kept in {}\n", file.display());
        }
        outcomes.push(outcome);
        ended
    }

    fn print_json(&self, outcomes: &[Outcome]) -> Result<(), Problem> {
        match (self.json, outcomes) {
            (false, _) | (true, []) => {}
            (true, [one]) if self.name.as_deref() != Some("all") => {
                say!("{}", json(one)?.trim_end())
            }
            (true, many) => say!("{}", serde_json::json!({ "tables": many })),
        }
        Ok(())
    }
}

fn json(outcome: &Outcome) -> Result<String, Problem> {
    let text = serde_json::to_string_pretty(outcome)
        .map_err(|why| Problem::new(format!("the results cannot be written as JSON: {why}")))?;
    Ok(text + "\n")
}
