//! Test vectors: runs from the beginning, one a line, that together pass through each transition.

use std::collections::VecDeque;
use std::fmt::Write;

use super::words::Words;
use crate::machine::{Automaton, Condition, Transition, transitions};
use crate::program::Program;

const TRANSITIONS_MOST: usize = 4096;

/// Writes a run a line, as JSON: what is heard and answered, what is done, the state behind it.
#[must_use]
pub fn vectors(program: &Program, nth: usize, automaton: &Automaton) -> String {
    let role = &program.roles[nth];
    let words = Words { program, role };
    let all: Vec<Vec<Transition>> = (0..automaton.states())
        .map(|state| transitions(role, automaton, state as u32, TRANSITIONS_MOST))
        .collect();
    let paths = shortest(&all);
    let mut written = String::new();
    for (state, transitions) in all.iter().enumerate() {
        let Some(path) = &paths[state] else { continue };
        for (number, _) in transitions.iter().enumerate() {
            // What another run passes through on its way needs no run of its own.
            if continued(&all, &paths, state, number) {
                continue;
            }
            let steps: Vec<String> = path
                .iter()
                .chain([&(state, number)])
                .map(|(state, number)| step(&words, &all[*state][*number]))
                .collect();
            let role = text(&role.name);
            let _ = writeln!(written, "{{\"role\": {role}, \"steps\": [{}]}}", steps.join(", "));
        }
    }
    written
}

type Path = Vec<(usize, usize)>;

/// Of each state, the shortest path to it: states, and the numbers of their transitions.
fn shortest(all: &[Vec<Transition>]) -> Vec<Option<Path>> {
    let mut paths: Vec<Option<Path>> = vec![None; all.len()];
    paths[0] = Some(Vec::new());
    let mut queue = VecDeque::from([0]);
    while let Some(state) = queue.pop_front() {
        for (number, one) in all[state].iter().enumerate() {
            let Some(to) = one.to.map(|to| to as usize) else { continue };
            if paths[to].is_none() {
                let mut path = paths[state].clone().unwrap_or_default();
                path.push((state, number));
                paths[to] = Some(path);
                queue.push_back(to);
            }
        }
    }
    paths
}

/// Whether a transition is the last of the shortest path to a state from which something goes on.
fn continued(all: &[Vec<Transition>], paths: &[Option<Path>], state: usize, number: usize) -> bool {
    let Some(to) = all[state][number].to.map(|to| to as usize) else { return false };
    let is_last = paths[to]
        .as_ref()
        .and_then(|path| path.last())
        .is_some_and(|last| *last == (state, number));
    is_last && !all[to].is_empty()
}

fn step(words: &Words<'_>, one: &Transition) -> String {
    let mut heard = Vec::new();
    let mut answers = Vec::new();
    for condition in &one.conditions {
        match condition {
            Condition::Heard(_) => heard.push(text(&words.condition(*condition))),
            Condition::Without(_) => {}
            Condition::Answer(question, is) => {
                let asks = words.condition(Condition::Answer(*question, true));
                answers.push(format!("[{}, {is}]", text(&asks)));
            }
        }
    }
    let acts: Vec<String> = one.acts.iter().map(|act| text(&words.act(*act))).collect();
    let to = one.to.map_or("null".into(), |to| to.to_string());
    format!(
        "{{\"heard\": [{}], \"answers\": [{}], \"acts\": [{}], \"state\": {to}}}",
        heard.join(", "),
        answers.join(", "),
        acts.join(", ")
    )
}

/// A string of JSON; names and numbers need no more.
fn text(words: &str) -> String {
    format!("\"{}\"", words.replace('\\', "\\\\").replace('"', "\\\""))
}
