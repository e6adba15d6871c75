//! The transport that meets the services of a phase: its policies, and why.

use std::path::Path;

use serde_json::json;
use stackwright::tailored::Demand;

use crate::problem::Problem;
use crate::report::say;
use crate::specification::{Phase, phases, phases_of, planned, said};

pub(super) fn explain(of: &str, json: bool) -> Result<(), Problem> {
    tell(phases(of)?, json)
}

/// The transport below a protocol of ours, by the phases of its specification.
pub(super) fn explain_specification(name: &str, text: &str, json: bool) -> Result<(), Problem> {
    if !json {
        say!("\nIt stands on `tailored`, with the policies that its phase selects:\n");
    }
    tell(phases_of(Path::new(name), text)?, json)
}

fn tell(phases: Vec<Phase>, json: bool) -> Result<(), Problem> {
    for (phase, services) in phases {
        let said = said(&services);
        let (demand, plan) = planned(&services)?;
        if json {
            let choice = |choice: stackwright::policies::profile::Choice| json!({ "slot": choice.slot, "policy": choice.name, "reason": choice.reason });
            let policies: Vec<_> = plan.choices().map(choice).collect();
            say!("{}", json!({ "phase": phase, "services": said, "policies": policies }));
            continue;
        }
        say!("{phase}: {said}\n");
        say!("{}", plan.to_string().trim_end());
        for sentence in remarks(&demand) {
            say!("\n{sentence}");
        }
    }
    Ok(())
}

fn remarks(demand: &Demand) -> Vec<&'static str> {
    let mut remarks = Vec::new();
    if !demand.path.shared {
        remarks.push(
            "warning: `dedicated` has no congestion control: use it where the path is yours alone.",
        );
    }
    if demand.requirements.checked && !demand.covers_body {
        remarks.push("warning: the check covers headers alone: a body may arrive altered.");
    }
    if demand.requirements.resends.is_some() {
        remarks.push(
            "What is abandoned is noted at the sender, by number; no answer tells the application.",
        );
    }
    if !demand.requirements.checked {
        remarks.push("Nothing is checked here: the layer below must notice what was altered.");
    }
    remarks
}
