//! Whole scenarios in the simulator.

mod duplicates;
mod ends;
mod promises;
mod search;
mod workloads;

use crate::scenario::Scenario;

/// The scenario of a text.
fn scenario(text: &str) -> Scenario {
    Scenario::read("test".into(), text.into()).unwrap_or_else(|flaw| panic!("{text}\n{flaw:?}"))
}

/// Two stations, a link of `link`, and a flow of `workload` over `transport` from the first to the
/// second.
fn two(link: &str, transport: &str, workload: &str) -> Scenario {
    scenario(&format!(
        "[[links]]\nbetween = [\"here\", \"there\"]\n{link}\n\
         [[flows]]\nfrom = \"here\"\nto = \"there\"\ntransport = {transport}\nworkload = {workload}\n"
    ))
}
