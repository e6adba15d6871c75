//! All states of a role, breadth first.

use std::collections::HashMap;

use super::Automaton;
use super::decide::Deciding;
use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::kernel::{Kernel, Node, Set};
use crate::program::RoleProgram;

/// How large an automaton may become.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) states: usize,
    pub(crate) decisions: usize,
    /// How many statements may be looked at: what compilation may cost.
    pub(crate) statements: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds { states: 4096, decisions: 65_536, statements: 100_000_000 }
    }
}

/// Builds the automaton of a role, without its names: they were looked up.
pub(crate) fn build(role: &RoleProgram, bounds: Bounds) -> Result<Automaton, Box<Diagnostic>> {
    let mut automaton = Automaton::default();
    let mut queue: Vec<Option<Set>> = vec![None];
    let mut numbers: HashMap<Option<Set>, u32> = HashMap::from([(None, 0)]);
    let (mut done, mut statements, size) = (0, 0, role.body.size());
    while done < queue.len() {
        let at = queue[done];
        done += 1;
        let mut deciding = Deciding {
            role,
            automaton: &mut automaton,
            at,
            done: Vec::new(),
            heard: Set::EMPTY,
            asked: 0,
            statements: &mut statements,
            size,
            bounds,
            number: &mut |next: Set| {
                let fresh = numbers.len() as u32;
                *numbers.entry(Some(next)).or_insert_with(|| {
                    queue.push(Some(next));
                    fresh
                })
            },
        };
        let place = deciding.decide()?;
        let heard = deciding.heard;
        automaton.states.push(place);
        automaton.heard.push(heard);
        let (states, decisions) = (queue.len(), automaton.decisions.len());
        let exceeded = if states > bounds.states {
            Some((bounds.states, "states"))
        } else if decisions > bounds.decisions || statements > bounds.statements {
            Some((decisions, "steps of decisions"))
        } else {
            None
        };
        if let Some((most, what)) = exceeded {
            return Err(Box::new(too_many(role, &queue, most, what)));
        }
    }
    automaton.stands = queue.into_iter().map(|at| vec![at.unwrap_or_default()]).collect();
    Ok(automaton)
}

fn too_many(role: &RoleProgram, queue: &[Option<Set>], most: usize, what: &str) -> Diagnostic {
    let says = format!("the role `{}` has more than {most} {what}", role.name);
    let flaw = Diagnostic::new(DiagnosticCode::TooMany, role.at, says);
    let mut widest: Option<(&Node, Vec<usize>)> = None;
    widths(&role.body, queue, &mut widest);
    let Some((parallel, widths)) = widest else {
        return flaw.help("let the host remember what need not be a state: a variable");
    };
    let times: Vec<String> = widths.iter().map(usize::to_string).collect();
    let place = parallel.pauses.numbers().next();
    let at = place.and_then(|id| role.pauses.get(usize::from(id)).copied()).unwrap_or(role.at);
    flaw.also(at, format!("branches side by side: {} states", times.join(" × ")))
        .help("states of branches multiply: let one branch wait for what several wait for")
}

/// Of the parallel statement with the most states: how many each branch has by itself.
fn widths<'a>(node: &'a Node, queue: &[Option<Set>], widest: &mut Option<(&'a Node, Vec<usize>)>) {
    match &node.is {
        Kernel::Parallel(all) => {
            let count = |one: &Node| {
                let mut seen: Vec<Set> =
                    queue.iter().map(|at| at.unwrap_or_default().and(&one.pauses)).collect();
                seen.sort_unstable();
                seen.dedup();
                seen.len()
            };
            let these: Vec<usize> = all.iter().map(count).collect();
            let product = |widths: &[usize]| {
                widths.iter().fold(1_usize, |product, width| product.saturating_mul(*width))
            };
            if widest.as_ref().is_none_or(|(_, best)| product(&these) > product(best)) {
                *widest = Some((node, these));
            }
            all.iter().for_each(|one| widths(one, queue, widest));
        }
        Kernel::Sequence(all) => all.iter().for_each(|one| widths(one, queue, widest)),
        Kernel::Present(_, yes, no) | Kernel::If(_, yes, no) => {
            widths(yes, queue, widest);
            widths(no, queue, widest);
        }
        Kernel::Loop(body)
        | Kernel::Suspend(_, body)
        | Kernel::Trap(body)
        | Kernel::Local(_, body) => widths(body, queue, widest),
        _ => {}
    }
}
