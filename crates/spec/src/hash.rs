//! What two versions of a protocol have to have in common: a hash of what reaches the wire, and
//! not of names, comments, order, or what a role does with its host.

use std::collections::HashMap;
use std::fmt::Write;

use sha2::{Digest, Sha256};

use crate::kernel::Set;
use crate::machine::{Automaton, Decision, Place};
use crate::program::{Action, Expr, PhasePlan, Program, RoleProgram, SignalKind, ValueType};
use crate::react::{Act, Want};

/// Returns the first eight octets of the hash, as a number.
#[must_use]
pub(crate) fn number(program: &Program, automata: &[Automaton]) -> u64 {
    let digest = Sha256::digest(canonical(program, automata).as_bytes());
    digest.iter().take(8).fold(0, |sum, octet| sum << 8 | u64::from(*octet))
}

/// Returns the hash as it is written: 16 hexadecimal digits.
#[must_use]
pub fn hash(program: &Program, automata: &[Automaton]) -> String {
    format!("{:016x}", number(program, automata))
}

/// The text of which the hash is taken.
fn canonical(program: &Program, automata: &[Automaton]) -> String {
    let mut adus: Vec<String> = program
        .adus
        .iter()
        .map(|adu| {
            let fields: Vec<String> =
                adu.fields.iter().map(|field| shape(program, field.kind, field.most)).collect();
            format!("adu {} {} [{}]", adu.code, adu.by_host, fields.join(" "))
        })
        .collect();
    adus.sort();
    let services = |phase: &PhasePlan| match phase.fenced {
        true => format!("phase {:?} fenced", phase.services),
        false => format!("phase {:?}", phase.services),
    };
    let mut phases: Vec<String> = program.phases.iter().map(services).collect();
    // What a packet says of its phase is its place.
    if !program.switches() {
        phases.sort();
    }
    let mut roles: Vec<String> = program
        .roles
        .iter()
        .zip(automata)
        .map(|(role, automaton)| Wire { program, role, automaton }.canonical())
        .collect();
    roles.sort();
    [adus, phases, roles].concat().join("\n") + program.binding.word()
}

/// What a field is on the wire.
pub(crate) fn shape(program: &Program, kind: ValueType, most: Option<u64>) -> String {
    match kind {
        ValueType::Enum(nth) => {
            let of = &program.enums[nth];
            let mut values: Vec<u64> = of.values.iter().map(|(_, value)| *value).collect();
            values.sort_unstable();
            format!("enum{}{values:?}", of.bits)
        }
        ValueType::Bytes => format!("bytes{most:?}"),
        kind => program.type_name(kind),
    }
}

/// A role as the wire sees it.
struct Wire<'a> {
    program: &'a Program,
    role: &'a RoleProgram,
    automaton: &'a Automaton,
}

impl Wire<'_> {
    /// States in the order in which they are reached, each as a term over what it hears of ADUs
    /// and sends. States that differ only in what the host sees are one. An ADU on which nothing
    /// depends is heard all the same, where another state holds it.
    fn canonical(&self) -> String {
        let mut class = vec![0_usize; self.automaton.states()];
        let terms = loop {
            let mut memo = HashMap::new();
            let terms: Vec<String> = self
                .automaton
                .states
                .iter()
                .zip(&self.automaton.heard)
                .map(|(place, heard)| {
                    let name = |state: u32| class[state as usize].to_string();
                    let (term, asked) = self.term(*place, &name, &mut memo);
                    self.only_heard(heard, &asked) + &term
                })
                .collect();
            let mut known: Vec<&String> = Vec::new();
            let refined: Vec<usize> = terms
                .iter()
                .map(|term| {
                    known.iter().position(|other| *other == term).unwrap_or_else(|| {
                        known.push(term);
                        known.len() - 1
                    })
                })
                .collect();
            if refined == class {
                break terms;
            }
            class = refined;
        };
        // Classes are numbered in the order of the states, which are numbered as they are reached.
        let mut written = String::from("role");
        let mut next = 0;
        for (term, class) in terms.iter().zip(&class) {
            if *class == next {
                let _ = write!(written, " {term}");
                next += 1;
            }
        }
        written
    }

    /// The ADUs that a state hears and whose term does not say so.
    fn only_heard(&self, heard: &Set, asked: &Set) -> String {
        let mut codes: Vec<u8> = heard
            .numbers()
            .filter(|signal| !asked.has(*signal))
            .filter_map(|signal| match self.role.signals[usize::from(signal)].kind {
                SignalKind::Adu(adu) => Some(self.program.adus[adu].code),
                _ => None,
            })
            .collect();
        codes.sort_unstable();
        codes.iter().fold(String::new(), |sum, code| sum + &format!("hears{code} "))
    }

    /// Also gives the signals that the term names.
    fn term(
        &self,
        place: Place,
        name: &dyn Fn(u32) -> String,
        memo: &mut HashMap<Place, (String, Set)>,
    ) -> (String, Set) {
        if let Some(known) = memo.get(&place) {
            return known.clone();
        }
        let term = match self.automaton.decisions[place as usize] {
            Decision::Go(state) => (name(state), Set::EMPTY),
            Decision::End => ("end".into(), Set::EMPTY),
            Decision::Act(act, then) => {
                let (then, asked) = self.term(then, name, memo);
                match self.sent(act) {
                    Some(sent) => (format!("{sent}{then}"), asked),
                    None => (then, asked),
                }
            }
            Decision::Ask(want, yes, no) => {
                let (yes, mut asked) = self.term(yes, name, memo);
                let (no, other) = self.term(no, name, memo);
                asked.join(&other);
                if yes == no {
                    (yes, asked)
                } else {
                    if let Want::Signal(signal) = want {
                        asked.insert(signal);
                    }
                    // A hash of a large term instead of the term: terms are trees.
                    (brief(format!("({}?{yes}:{no})", self.asked(want))), asked)
                }
            }
        };
        memo.insert(place, term.clone());
        term
    }

    fn asked(&self, want: Want) -> String {
        match want {
            Want::Signal(signal) => match self.role.signals[usize::from(signal)].kind {
                SignalKind::Adu(adu) => format!("adu{}", self.program.adus[adu].code),
                SignalKind::Timer(timer) => {
                    let timer = self.role.timers[timer];
                    format!("timer{}{}", timer.milliseconds, timer.idle)
                }
                SignalKind::Room => "room".into(),
                SignalKind::Drained => "drained".into(),
                SignalKind::Ended => "ended".into(),
                _ => "input".into(),
            },
            Want::Answer(question, _) => {
                self.expr(&self.role.questions[usize::from(question)].asks)
            }
        }
    }

    fn sent(&self, act: Act) -> Option<String> {
        let Act::Do(action, _) = act else { return None };
        match &self.role.actions[usize::from(action)].0 {
            Action::Send { adu, phase, fields } => {
                let values: Vec<String> = fields.iter().map(|one| self.expr(one)).collect();
                let (code, values) = (self.program.adus[*adu].code, values.join(","));
                if self.program.switches() {
                    return Some(format!("send{code}{phase:?}({values}) "));
                }
                let services = phase.map(|phase| &self.program.phases[phase].services);
                Some(format!("send{code}{services:?}({values}) "))
            }
            _ => None,
        }
    }

    /// An expression without the names of variables and host functions.
    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Number(number) | Expr::Constant { value: number, .. } => number.to_string(),
            Expr::Truth(truth) => truth.to_string(),
            Expr::Octets { octets, .. } => format!("\"{}\"", octets.escape_ascii()),
            Expr::Variable(_) => "variable".into(),
            Expr::Field { field, signal } => match self.role.signals[usize::from(*signal)].kind {
                SignalKind::Adu(_) => format!("field{field}"),
                _ => "value".into(),
            },
            Expr::Whole { .. } => "whole".into(),
            Expr::Call(..) => "host".into(),
            Expr::Not(inner) => format!("!{}", self.expr(inner)),
            Expr::Binary(operator, left, right) => {
                format!("({}{}{})", self.expr(left), operator.sign(), self.expr(right))
            }
        }
    }
}

fn brief(term: String) -> String {
    if term.len() < 200 {
        return term;
    }
    let digest = Sha256::digest(term.as_bytes());
    digest.iter().fold(String::from("#"), |mut sum, octet| {
        let _ = write!(sum, "{octet:02x}");
        sum
    })
}
