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
        PhaseBinding::Phased | PhaseBinding::Adaptive => Some(planned_together(&program)?),
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
    let Some((demand, plan)) = together else { return Ok(()) };
    if json {
        let changes = changes(&plan).into_iter();
        let changes: Vec<_> = changes
            .map(|change| {
                let Change { what, on, damping, others } = change;
                json!({ "what": what, "on": on, "damping": damping, "others": others })
            })
            .collect();
        say!("{}", json!({ "changes": changes }));
        return Ok(());
    }
    show(&demand, &plan);
    say!("\nWhat may change while data flow:");
    for Change { what, on, damping, others } in changes(&plan) {
        say!("\n{what:15} {on}.\n{:15} {damping}.\n{:15} {others}.", "", "");
    }
    say!("\nAll else stays as it is: a receiver could not read what was sent before the change.");
    Ok(())
}

/// What may change of a transport while data flow.
struct Change {
    what: &'static str,
    /// On whose word, and when.
    on: &'static str,
    damping: &'static str,
    /// Why not otherwise.
    others: &'static str,
}

fn changes(plan: &Plan) -> Vec<Change> {
    let chosen = |name: &str| plan.choices().any(|choice| choice.policy == name);
    let mut changes = Vec::new();
    if chosen("switching::Negotiated") {
        changes.push(Change {
            what: "rule",
            on: "order, fences and retransmissions: the sender requires a rule and the receiver accepts \
                 it, or the receiver wishes one and the sender grants it",
            damping: "one proposal at a time, asked six times; what promises less waits for nothing, what \
                      promises more for a round trip",
            others: "none that promises more than all phases together: it counts where a peer does not \
                     answer",
        });
    }
    if chosen("switching::InPhases") {
        changes.push(Change {
            what: "phase",
            on: "order, fences and retransmissions: the sender enters a phase, and its packets say so",
            damping: "a third phase begins when all of the first is settled",
            others: "no other rules: both sides know those of the phases, and no others",
        });
    }
    if chosen("congestion::Fitted") {
        changes.push(Change {
            what: "congestion",
            on: "CUBIC or BBR: the sender alone, by what is lost without a queue; the receiver is told \
                 nothing",
            damping: "a change takes a gain of a fifth by the model, losses in several of 16 round trips \
                      or one where the path was not full, and a second and ten round trips since \
                      the last one; a change back soon after doubles the time, up to 90 s",
            others: "no other one is tried: NewReno keeps less than CUBIC, and AIMD less than that",
        });
    }
    changes
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
