//! An automaton as a list and as a picture.

use std::fmt::Write;

use super::words::Words;
use crate::machine::{Automaton, Transition, transitions};
use crate::program::{Program, SignalKind};

/// How many transitions of a state are drawn.
const TRANSITIONS_MOST: usize = 256;

/// Lists the states of a role: where control stands, what is held, each transition.
#[must_use]
pub fn list(program: &Program, nth: usize, automaton: &Automaton, text: &str) -> String {
    let role = &program.roles[nth];
    let words = Words { program, role };
    let mut listed = format!("{}: {} states\n", role.name, automaton.states());
    for state in 0..automaton.states() {
        let mut lines: Vec<usize> = automaton.stands[state]
            .iter()
            .flat_map(|at| at.numbers())
            .map(|pause| role.pauses[usize::from(pause)].line(text))
            .collect();
        lines.sort_unstable();
        lines.dedup();
        let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
        let place = match (state, &lines[..]) {
            (0, _) => String::from("before the first instant"),
            (_, [line]) => format!("waits at line {line}"),
            _ => format!("waits at lines {}", lines.join(", ")),
        };
        let heard = automaton.hears(state as u32);
        let held: Vec<&str> = role
            .signals
            .iter()
            .enumerate()
            .filter(|(id, signal)| {
                matches!(signal.kind, SignalKind::Adu(_) | SignalKind::Input)
                    && !heard.has(*id as u16)
            })
            .map(|(_, signal)| signal.name.as_str())
            .collect();
        let _ = write!(listed, "\nS{state}  {place}");
        if state > 0 && !held.is_empty() {
            let _ = write!(listed, "; holds {}", held.join(", "));
        }
        listed.push('\n');
        for one in transitions(role, automaton, state as u32, TRANSITIONS_MOST) {
            let to = one.to.map_or("end".into(), |to| format!("S{to}"));
            let conditions = words.conditions(&one.conditions);
            let conditions = if conditions.is_empty() { "begin" } else { &conditions };
            let _ = writeln!(listed, "    {conditions} → {to}");
            if !one.acts.is_empty() {
                let _ = writeln!(listed, "        {}", words.acts(&one.acts));
            }
        }
    }
    listed
}

/// Draws a role in the language of Graphviz.
#[must_use]
pub fn dot(program: &Program, nth: usize, automaton: &Automaton) -> String {
    let role = &program.roles[nth];
    let words = Words { program, role };
    let mut drawn = format!(
        "digraph \"{}\" {{\n  rankdir=LR;\n  node [shape=circle, fontname=\"sans-serif\"];\n  \
         edge [fontname=\"sans-serif\", fontsize=10];\n  S0 [shape=point];\n",
        role.name
    );
    let ends = |one: &Transition| one.to.is_none();
    let mut all = Vec::new();
    for state in 0..automaton.states() {
        all.push(transitions(role, automaton, state as u32, TRANSITIONS_MOST));
    }
    if all.iter().flatten().any(ends) {
        drawn.push_str("  end [shape=doublecircle];\n");
    }
    for (state, transitions) in all.iter().enumerate() {
        for one in transitions {
            let to = one.to.map_or("end".into(), |to| format!("S{to}"));
            let quoted = |said: String| said.replace('\\', "\\\\").replace('"', "\\\"");
            let mut label = quoted(words.conditions(&one.conditions));
            if !one.acts.is_empty() {
                let _ = write!(label, "\\n/ {}", quoted(words.acts(&one.acts)));
            }
            let _ = writeln!(drawn, "  S{state} -> {to} [label=\"{label}\"];");
        }
    }
    drawn + "}\n"
}
