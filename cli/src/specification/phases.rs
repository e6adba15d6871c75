//! The services of phases: those of a file, or a list.

use std::path::Path;

use stackwright::policies::profile::Plan;
use stackwright::tailored::{Demand, demand};
use stackwright_spec::{Compiled, compile};

use super::text::{self, Source};
use crate::problem::Problem;

/// A service, with its arguments.
pub(crate) type Service = (String, Vec<String>);

/// A phase: its name, and its services.
pub(crate) type Phase = (String, Vec<Service>);

/// What a list is called where it is shown.
const LIST: &str = "--with";

/// Returns the phases of the file `of`, each with its services; or the services of the list `of`,
/// such as `reliable; ordered; flow_control(256)`, as one phase.
pub(crate) fn phases(of: &str) -> Result<Vec<Phase>, Problem> {
    let path = Path::new(of);
    if path.is_file() {
        return Ok(named(Source::load(path)?.compiled));
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

/// Returns the phases of a text that is called `name` where it is shown.
pub(crate) fn phases_of(name: &Path, text: &str) -> Result<Vec<Phase>, Problem> {
    compile(text).map(named).map_err(|told| text::refused(name, text, &told))
}

fn named(compiled: Compiled) -> Vec<Phase> {
    let phases = compiled.program.phases.into_iter();
    phases.map(|phase| (phase.name, phase.services)).collect()
}

/// Returns what services demand, and the policies that meet it.
pub(crate) fn planned(services: &[Service]) -> Result<(Demand, Plan), Problem> {
    let refused = |why| Problem::Services { services: said(services), why };
    let named = services.iter().map(|(name, arguments)| (name.as_str(), &arguments[..]));
    let demand = demand(named).map_err(refused)?;
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
