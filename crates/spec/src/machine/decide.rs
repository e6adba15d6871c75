//! The decision of one state: the reaction is asked under more and more facts, until it is whole.

use super::build::Bounds;
use super::{Automaton, Decision, Place};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::kernel::{Kernel, Node, Set};
use crate::program::{RoleProgram, SignalKind};
use crate::react::{Act, Facts, Found, Want, react};

/// How much may be done and asked in one reaction: paths are walked by recursion.
const PATH_MOST: usize = 512;

pub(super) struct Deciding<'a> {
    pub(super) role: &'a RoleProgram,
    pub(super) automaton: &'a mut Automaton,
    /// Where control stands; `None` before the first instant.
    pub(super) at: Option<Set>,
    /// What is done on the path so far.
    pub(super) done: Vec<Act>,
    /// The inputs that the reaction looks at, on whichever path: whether that makes a difference is
    /// another question, and where branches stand is none.
    pub(super) heard: Set,
    /// How many things were asked on the path so far.
    pub(super) asked: usize,
    /// How many statements were looked at, over all states; and how many the role has.
    pub(super) statements: &'a mut usize,
    pub(super) size: usize,
    pub(super) bounds: Bounds,
    /// Numbers a state.
    pub(super) number: &'a mut dyn FnMut(Set) -> u32,
}

impl Deciding<'_> {
    pub(super) fn decide(&mut self) -> Result<Place, Box<Diagnostic>> {
        self.under(Facts::default())
    }

    fn under(&mut self, mut facts: Facts) -> Result<Place, Box<Diagnostic>> {
        let before = self.done.len();
        let found = self.settle(&mut facts)?;
        let acts = self.done[before..].to_vec();
        let is_outside = |want: &&Want| match want {
            Want::Signal(signal) => self.role.signals[usize::from(*signal)].kind.is_input(),
            Want::Answer(..) => true,
        };
        let place = match (found.wants.iter().find(is_outside).copied(), found.code) {
            (Some(want), _) => {
                if let Want::Signal(signal) = want {
                    self.heard.insert(signal);
                }
                self.asked += 1;
                let yes = self.under(self.known(&facts, want, true))?;
                let no = self.under(self.known(&facts, want, false))?;
                self.asked -= 1;
                // What makes no difference is not asked.
                if yes == no { yes } else { self.automaton.enter(Decision::Ask(want, yes, no)) }
            }
            (None, Some(1)) => {
                let state = (self.number)(found.next);
                self.automaton.enter(Decision::Go(state))
            }
            (None, Some(_)) => self.automaton.enter(Decision::End),
            (None, None) => return Err(Box::new(self.cycle(&found))),
        };
        self.done.truncate(before);
        let enter = |place, act: &Act| self.automaton.enter(Decision::Act(*act, place));
        Ok(acts.iter().rev().fold(place, enter))
    }

    /// Reacts until no output is decided any more; what is surely done is kept in order.
    fn settle(&mut self, facts: &mut Facts) -> Result<Found, Box<Diagnostic>> {
        loop {
            *self.statements += self.size;
            let stop = *self.statements > self.bounds.statements
                || self.automaton.decisions.len() > self.bounds.decisions
                || self.done.len() + self.asked > PATH_MOST;
            let found = react(&self.role.body, self.at.as_ref(), &self.role.questions, facts);
            if stop {
                let says =
                    format!("a reaction of the role `{}` has too many steps", self.role.name);
                let flaw = Diagnostic::new(DiagnosticCode::TooMany, self.role.at, says);
                let help = "inputs that never come in one instant are `input`, and not `together`";
                return Err(Box::new(flaw.help(help)));
            }
            self.keep(&found)?;
            let mut grew = false;
            for (nth, signal) in self.role.signals.iter().enumerate() {
                let id = nth as u16;
                if signal.kind == SignalKind::Output && facts.status(id).is_none() {
                    if found.must.has(id) {
                        facts.set(id, Some(true));
                        grew = true;
                    } else if !found.can.has(id) {
                        facts.set(id, Some(false));
                        grew = true;
                    }
                }
            }
            if !grew {
                return Ok(found);
            }
        }
    }

    /// Keeps what is done and was not before, in the order in which it became certain.
    fn keep(&mut self, found: &Found) -> Result<(), Box<Diagnostic>> {
        for (signal, one, other) in &found.twice {
            self.emitted_once(*signal, *one, *other)?;
        }
        for act in &found.acts {
            if let Act::Emit(signal, emission, _) = act {
                let same = |done: &&Act| matches!(done, Act::Emit(one, ..) if one == signal);
                if let Some(Act::Emit(_, first, _)) = self.done.iter().find(same).copied() {
                    if !self.done.contains(act) {
                        self.emitted_once(*signal, first, *emission)?;
                    }
                    continue;
                }
            }
            if !self.done.contains(act) {
                self.done.push(*act);
            }
        }
        Ok(())
    }

    /// Refuses a second emission of a signal that has a value.
    fn emitted_once(&self, signal: u16, one: u16, other: u16) -> Result<(), Box<Diagnostic>> {
        let of = &self.role.signals[usize::from(signal)];
        if of.params.is_empty() {
            return Ok(());
        }
        let place =
            |nth: u16| self.role.emissions.get(usize::from(nth)).map_or(of.at, |one| one.at);
        let says = format!("`{}` may be emitted twice in one instant", of.name);
        let flaw = Diagnostic::new(DiagnosticCode::Twice, place(one), says)
            .also(place(other), "and here")
            .help("a signal with a value has one value in an instant");
        Err(Box::new(flaw))
    }

    /// The facts, and one more. What comes alone excludes all other inputs.
    fn known(&self, facts: &Facts, want: Want, is: bool) -> Facts {
        let mut facts = facts.clone();
        match want {
            Want::Signal(signal) => {
                facts.set(signal, Some(is));
                let alone = self.role.signals[usize::from(signal)].kind.is_alone();
                for (nth, other) in self.role.signals.iter().enumerate() {
                    let excluded = other.kind.is_input() && (alone || other.kind.is_alone());
                    if is && excluded && nth != usize::from(signal) {
                        facts.set(nth as u16, Some(false));
                    }
                }
            }
            Want::Answer(question, round) => {
                facts.answer(question, round, &self.role.questions[usize::from(question)], is);
            }
        }
        facts
    }

    fn cycle(&self, found: &Found) -> Diagnostic {
        let mut signals: Vec<u16> = Vec::new();
        for want in &found.wants {
            if let Want::Signal(signal) = want
                && !signals.contains(signal)
            {
                signals.push(*signal);
            }
        }
        let names: Vec<String> = signals
            .iter()
            .map(|signal| format!("`{}`", self.role.signals[usize::from(*signal)].name))
            .collect();
        let says = match &names[..] {
            [one] => format!("whether {one} is present depends on itself"),
            several => {
                format!("whether {} are present depends on each other", several.join(" and "))
            }
        };
        let first = signals
            .first()
            .map_or(self.role.at, |signal| self.role.signals[usize::from(*signal)].at);
        let mut flaw = Diagnostic::new(DiagnosticCode::Cycle, first, says);
        let mut places: Vec<(Span, String)> = Vec::new();
        for signal in &signals {
            let mut emissions = Vec::new();
            emissions_of(&self.role.body, *signal, &mut emissions);
            let name = &self.role.signals[usize::from(*signal)].name;
            for emission in emissions {
                if let Some(emission) = self.role.emissions.get(usize::from(emission)) {
                    places.push((emission.at, format!("`{name}` is emitted here, if …")));
                }
            }
        }
        places.sort();
        flaw.also.extend(places);
        flaw.help("react to the signal in the next instant: `await` it")
    }
}

/// Collects the emissions of a signal.
fn emissions_of(node: &Node, signal: u16, found: &mut Vec<u16>) {
    match &node.is {
        Kernel::Emit(id, emission) if *id == signal => found.push(*emission),
        Kernel::Sequence(all) | Kernel::Parallel(all) => {
            all.iter().for_each(|one| emissions_of(one, signal, found));
        }
        Kernel::Present(_, yes, no) | Kernel::If(_, yes, no) => {
            emissions_of(yes, signal, found);
            emissions_of(no, signal, found);
        }
        Kernel::Loop(body)
        | Kernel::Suspend(_, body)
        | Kernel::Trap(body)
        | Kernel::Local(_, body) => emissions_of(body, signal, found),
        _ => {}
    }
}
