//! The transport that meets the services of a phase: its policies, and why.

use std::path::Path;

use serde_json::json;
use stackwright::policies::profile::Plan;
use stackwright::tailored::Demand;
use stackwright_spec::{PhaseBinding, PhasePlan, Program};

use crate::problem::Problem;
use crate::report::say;
use crate::specification::{phases, phases_of, planned, planned_together, said};

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

fn tell(program: Program, json: bool) -> Result<(), Problem> {
    let together = match program.binding {
        PhaseBinding::Phased => Some(planned_together(&program.phases)?),
        PhaseBinding::Static => None,
    };
    for PhasePlan { name, services, fenced, .. } in &program.phases {
        let said = said(services) + if *fenced { "; behind a fence" } else { "" };
        let alone = if together.is_none() { Some(planned(services)?) } else { None };
        let Some((demand, plan)) = alone.as_ref().or(together.as_ref()) else { continue };
        if json {
            let choice = |choice: stackwright::policies::profile::Choice| json!({ "slot": choice.slot, "policy": choice.name, "reason": choice.reason });
            let policies: Vec<_> = plan.choices().map(choice).collect();
            say!("{}", json!({ "phase": name, "services": said, "policies": policies }));
            continue;
        }
        say!("{name}: {said}\n");
        if alone.is_some() {
            show(demand, plan);
        }
    }
    if let Some((demand, plan)) = together.filter(|_| !json) {
        show(&demand, &plan);
    }
    Ok(())
}

fn show(demand: &Demand, plan: &Plan) {
    say!("{}", plan.to_string().trim_end());
    for sentence in remarks(demand) {
        say!("\n{sentence}");
    }
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
