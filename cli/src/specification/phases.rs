//! The services of phases: those of a file, or a list.

use std::path::Path;

use stackwright::policies::profile::Plan;
use stackwright::tailored::{Demand, demand};
use stackwright_spec::{PhaseBinding, PhasePlan, Program, compile};

use super::text::{self, Source};
use crate::problem::Problem;

/// A service, with its arguments.
pub(crate) type Service = (String, Vec<String>);

/// What a list is called where it is shown.
const LIST: &str = "--with";

/// Returns the protocol of the file `of`; or one whose only phase has the services of the list
/// `of`, such as `reliable; ordered; flow_control(256)`.
pub(crate) fn phases(of: &str) -> Result<Program, Problem> {
    let path = Path::new(of);
    if path.is_file() {
        return Ok(Source::load(path)?.compiled.program);
    }
    let services = of.trim().trim_end_matches([';', ',']);
    // Commas between services are taken for what they mean; those of arguments stay.
    let mut depth = 0;
    let list: String = services
        .chars()
        .map(|letter| {
            match letter {
                '(' => depth += 1,
                ')' => depth -= 1,
                ',' if depth == 0 => return ';',
                _ => {}
            }
            letter
        })
        .collect();
    let list = if list.is_empty() { list } else { format!("{list};") };
    let text = format!(
        "protocol Asked version 1 {{ phase asked {{ {list} }} binding static; role Any {{ nothing; }} }}\n"
    );
    phases_of(Path::new(LIST), &text)
}

/// Returns the protocol of a text that is called `name` where it is shown.
pub(crate) fn phases_of(name: &Path, text: &str) -> Result<Program, Problem> {
    let compiled = compile(text).map_err(|told| text::refused(name, text, &told))?;
    Ok(compiled.program)
}

/// Returns what services demand, and the policies that meet it.
pub(crate) fn planned(services: &[Service]) -> Result<(Demand, Plan), Problem> {
    let refused = |why| Problem::Services { services: said(services), why };
    let named = services.iter().map(|(name, arguments)| (name.as_str(), &arguments[..]));
    let demand = demand(named).map_err(refused)?;
    let plan = demand.plan().map_err(refused)?;
    Ok((demand, plan))
}

/// Returns what services demand: those of a list, of the first phase of a file, or of all of its
/// phases where they change while data flow.
pub(crate) fn demanded(of: &str) -> Result<Demand, Problem> {
    let program = phases(of)?;
    let (demand, _) = match program.binding {
        PhaseBinding::Static => {
            planned(program.phases.first().map_or(&[], |phase| &phase.services))?
        }
        PhaseBinding::Phased | PhaseBinding::Adaptive => planned_together(&program)?,
    };
    Ok(demand)
}

/// Returns what a protocol's phases demand of one association, and the policies that meet it, where
/// their services change while data flow.
pub(crate) fn planned_together(program: &Program) -> Result<(Demand, Plan), Problem> {
    let phases = &program.phases;
    let refused = |why| {
        let all: Vec<_> = phases.iter().map(|phase| said(&phase.services)).collect();
        Problem::Services { services: all.join(" | "), why }
    };
    let each = |phase: &PhasePlan| Ok((planned(&phase.services)?.0, phase.fenced));
    let demands: Vec<_> = phases.iter().map(each).collect::<Result<_, Problem>>()?;
    let demand = match program.binding {
        PhaseBinding::Adaptive => Demand::negotiated(&demands),
        PhaseBinding::Phased | PhaseBinding::Static => Demand::in_phases(&demands),
    };
    let demand = demand.map_err(refused)?;
    let plan = demand.plan().map_err(refused)?;
    Ok((demand, plan))
}

/// The services, as they are written.
pub(crate) fn said(services: &[Service]) -> String {
    let each = services.iter().map(|(name, arguments)| match &arguments[..] {
        [] => name.clone(),
        arguments => format!("{name}({})", arguments.join(", ")),
    });
    each.collect::<Vec<_>>().join("; ")
}
