//! The logical semantics of one instant. The status of each signal is guessed, and a guess is
//! coherent where exactly those are emitted that were guessed to be present. What is done under it
//! is a set of events, each with those that it follows from: what stands in front of it, the
//! emission of a signal for which it is there, the value that it reads. It has no order of its own:
//! it only says whether one that it is shown respects all that follows.

use super::{CALL, EMIT, Entry, SEND};
use crate::back::interpret::{Stimulus, Value, compute};
use crate::kernel::{Kernel, Node, Set};
use crate::program::{Action, Expr, Program, SignalKind};

pub(super) struct Reaction<'a> {
    pub(super) program: &'a Program,
    pub(super) at: Option<&'a Set>,
    pub(super) heard: Stimulus<'a>,
    pub(super) answers: u16,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum What {
    Do(u16),
    Emit(u16, u16),
    /// It goes on since a signal is present.
    Present(u16),
    /// It goes on since a question has this answer.
    Answer(u16, bool),
}

#[derive(Clone, Debug)]
struct Event {
    what: What,
    /// All of these come first.
    after: Vec<usize>,
    /// The emissions of one of which it is a consequence; `None` until that is known.
    causes: Option<Vec<usize>>,
    /// Variables of local signals, and the assignments that they are read from.
    reads: Vec<(usize, usize)>,
    /// The local signal that it speaks of has ended.
    closed: bool,
}

/// What is emitted, how it completes, where it stands, what is done.
#[derive(Clone)]
struct Outcome {
    emitted: Set,
    code: u8,
    next: Set,
    events: Vec<Event>,
    /// A value was emitted twice.
    twice: bool,
}

impl Outcome {
    fn done(code: u8) -> Self {
        Outcome { emitted: Set::EMPTY, code, next: Set::EMPTY, events: Vec::new(), twice: false }
    }

    fn of(what: What) -> Self {
        let event =
            Event { what, after: Vec::new(), causes: None, reads: Vec::new(), closed: false };
        Outcome { events: vec![event], ..Outcome::done(0) }
    }

    /// Both, side by side, or the other behind the one.
    fn join(&self, other: &Outcome, parallel: bool) -> Outcome {
        let mut sum = self.clone();
        sum.emitted.join(&other.emitted);
        sum.next.join(&other.next);
        sum.code = if parallel { self.code.max(other.code) } else { other.code };
        sum.twice |= other.twice;
        let first = self.events.len();
        sum.events.extend(other.events.iter().cloned().map(|mut event| {
            event.after.iter_mut().for_each(|one| *one += first);
            event.causes.iter_mut().flatten().for_each(|one| *one += first);
            event.reads.iter_mut().for_each(|(_, one)| *one += first);
            if !parallel {
                event.after.extend(0..first);
            }
            event
        }));
        sum
    }
}

/// What is known of an instant while outcomes are looked for.
struct Guess<'a, 'b> {
    of: &'b Reaction<'a>,
    present: Set,
}

impl Reaction<'_> {
    /// Checks that one outcome is coherent, and that `log` is one of its orders; gives where it
    /// stands, and the variables behind it.
    pub(super) fn only_coherent(
        &self,
        variables: &[u64],
        log: &[Entry],
        says: &dyn Fn() -> String,
    ) -> (Option<Set>, Vec<u64>) {
        let role = &self.program.roles[0];
        let outputs: Vec<u16> = super::outputs(role).map(|(nth, _)| nth).collect();
        let mut coherent = Vec::new();
        for guess in 0..1_usize << outputs.len() {
            let mut present = Set::EMPTY;
            for (nth, signal) in outputs.iter().enumerate() {
                if guess & (1 << nth) != 0 {
                    present.insert(*signal);
                }
            }
            let mut guess = Guess { of: self, present };
            for mut outcome in guess.outcomes(&role.body, self.at) {
                if outcome.emitted == present {
                    outputs.iter().for_each(|signal| self.close(&mut outcome, *signal));
                    if self.run(&outcome, variables, None).is_some() {
                        coherent.push(outcome);
                    }
                }
            }
        }
        let [outcome] = &coherent[..] else {
            panic!("{} outcomes are coherent: {}", coherent.len(), says());
        };
        assert!(!outcome.twice, "a value is emitted twice: {}", says());
        let Some(variables) = self.run(outcome, variables, Some(log)) else {
            panic!("{log:?} is no order of {:#?}: {}", outcome.events, says());
        };
        ((outcome.code == 1).then_some(outcome.next), variables)
    }

    /// A signal has ended: who is there because of it, and reads its value, is known now.
    fn close(&self, outcome: &mut Outcome, signal: u16) {
        let role = &self.program.roles[0];
        let name = format!("{}_{signal}", role.signals[usize::from(signal)].name);
        let variable = role.variables.iter().position(|one| !one.declared && one.name == name);
        let open = |event: &Event| !event.closed;
        let numbers = |is: &dyn Fn(&Event) -> bool| {
            let all = outcome.events.iter().enumerate();
            all.filter(|(_, event)| open(event) && is(event)).map(|(nth, _)| nth).collect()
        };
        let emissions: Vec<usize> =
            numbers(&|event| matches!(event.what, What::Emit(one, _) if one == signal));
        let assigns = |event: &Event| match event.what {
            What::Do(action) => match &role.actions[usize::from(action)].0 {
                Action::Assign { variable: one, .. } => Some(*one) == variable,
                _ => false,
            },
            _ => false,
        };
        let values: Vec<usize> = numbers(&assigns);
        let valued = !role.signals[usize::from(signal)].params.is_empty();
        outcome.twice |= valued && emissions.len() > 1;
        for event in outcome.events.iter_mut().filter(|event| !event.closed) {
            match event.what {
                What::Present(one) if one == signal => {
                    (event.causes, event.closed) = (Some(emissions.clone()), true);
                }
                What::Emit(one, _) if one == signal => event.closed = true,
                _ => {}
            }
        }
        if let Some(variable) = variable {
            for event in &mut outcome.events {
                let known = event.reads.iter().any(|(one, _)| *one == variable);
                if !known && self.reads(event, variable) {
                    event.reads.extend(values.iter().map(|value| (variable, *value)));
                }
            }
            values.into_iter().for_each(|value| outcome.events[value].closed = true);
        }
    }

    fn expressions(&self, event: &Event) -> Vec<&Expr> {
        let role = &self.program.roles[0];
        match event.what {
            What::Present(_) => Vec::new(),
            What::Answer(question, _) => vec![&role.questions[usize::from(question)].asks],
            What::Emit(_, emission) => {
                let emission = role.emissions.get(usize::from(emission));
                emission.map_or(Vec::new(), |one| one.values.iter().collect())
            }
            What::Do(action) => match &role.actions[usize::from(action)].0 {
                Action::Call { arguments: all, .. } | Action::Send { fields: all, .. } => {
                    all.iter().collect()
                }
                Action::Assign { value, .. } => vec![value],
                Action::Start(_) => Vec::new(),
            },
        }
    }

    fn reads(&self, event: &Event, variable: usize) -> bool {
        fn of(expr: &Expr, variable: usize) -> bool {
            match expr {
                Expr::Variable(one) => *one == variable,
                Expr::Not(inner) => of(inner, variable),
                Expr::Binary(_, one, other) => of(one, variable) || of(other, variable),
                Expr::Call(_, all) => all.iter().any(|one| of(one, variable)),
                _ => false,
            }
        }
        self.expressions(event).into_iter().any(|one| of(one, variable))
    }

    /// Lets all events happen, those of the log in its order; gives the variables behind it. `None`
    /// where one never can, or where an answer is another than was guessed.
    fn run(&self, outcome: &Outcome, variables: &[u64], log: Option<&[Entry]>) -> Option<Vec<u64>> {
        let role = &self.program.roles[0];
        let mut variables = variables.to_vec();
        let mut done = vec![false; outcome.events.len()];
        let mut assigned = vec![0; outcome.events.len()];
        let mut told = Set::EMPTY;
        let mut log = log.map(|log| log.iter());
        let mut left = log.as_ref().map(|log| log.as_slice().first());
        while done.contains(&false) {
            let before = done.clone();
            for (nth, event) in outcome.events.iter().enumerate() {
                let caused =
                    event.causes.as_ref().is_none_or(|all| all.iter().any(|one| done[*one]));
                let read = event.reads.iter().all(|(_, one)| done[*one]);
                if done[nth] || !caused || !read || !event.after.iter().all(|one| done[*one]) {
                    continue;
                }
                let value = |variable: usize| {
                    let from = event.reads.iter().find(|(one, _)| *one == variable);
                    from.map_or(variables[variable], |(_, one)| assigned[*one])
                };
                let values: Vec<u64> = self
                    .expressions(event)
                    .into_iter()
                    .map(|one| self.value(one, &value))
                    .collect();
                let shown = match event.what {
                    What::Present(_) => None,
                    What::Answer(_, is) if (values[0] != 0) != is => return None,
                    What::Answer(..) => None,
                    What::Emit(signal, _) => {
                        let of = &role.signals[usize::from(signal)];
                        let fresh = of.kind == SignalKind::Output && !told.has(signal);
                        fresh.then_some((EMIT + signal, values))
                    }
                    What::Do(action) => match &role.actions[usize::from(action)].0 {
                        Action::Call { function, .. } => Some((CALL + *function as u16, values)),
                        Action::Send { adu, .. } => Some((SEND + *adu as u16, values)),
                        Action::Assign { variable, .. } => {
                            (assigned[nth], variables[*variable]) = (values[0], values[0]);
                            None
                        }
                        Action::Start(_) => None,
                    },
                };
                if let (Some(shown), Some(log)) = (&shown, &mut log) {
                    if left != Some(Some(shown)) {
                        continue;
                    }
                    log.next();
                    left = Some(log.as_slice().first());
                }
                if let What::Emit(signal, _) = event.what {
                    told.insert(signal);
                }
                done[nth] = true;
            }
            if before == done {
                return None;
            }
        }
        (left.flatten().is_none()).then_some(variables)
    }

    fn value(&self, expr: &Expr, variable: &dyn Fn(usize) -> u64) -> u64 {
        match expr {
            Expr::Number(number) | Expr::Constant { value: number, .. } => *number,
            Expr::Truth(truth) => u64::from(*truth),
            Expr::Variable(nth) => variable(*nth),
            Expr::Field { signal, field } => match self.heard {
                Stimulus::Alone(heard, values) if heard == usize::from(*signal) => {
                    values.get(*field).map_or(0, Value::number)
                }
                _ => panic!("a value of what did not come is read"),
            },
            Expr::Call(function, _) => u64::from(self.answers >> (function - 1) & 1),
            Expr::Not(inner) => u64::from(self.value(inner, variable) == 0),
            Expr::Binary(operator, one, other) => {
                let (one, other) = (self.value(one, variable), self.value(other, variable));
                compute(*operator, one, other).expect("values are small")
            }
            Expr::Whole { .. } | Expr::Octets { .. } => unreachable!("no text has it"),
        }
    }
}

impl Guess<'_, '_> {
    fn status(&self, signal: u16) -> bool {
        let of = &self.of.program.roles[0].signals[usize::from(signal)];
        if of.kind.is_input() {
            self.of.heard.has(usize::from(signal))
        } else {
            self.present.has(signal)
        }
    }

    fn outcomes(&mut self, one: &Node, at: Option<&Set>) -> Vec<Outcome> {
        let done = |code: u8| vec![Outcome::done(code)];
        match &one.is {
            Kernel::Nothing => done(0),
            Kernel::Do(action) => vec![Outcome::of(What::Do(*action))],
            Kernel::Pause(_) if at.is_some() => done(0),
            Kernel::Pause(id) => vec![Outcome { next: Set::of(*id), ..Outcome::done(1) }],
            Kernel::Emit(signal, emission) => {
                let emits = Outcome::of(What::Emit(*signal, *emission));
                vec![Outcome { emitted: Set::of(*signal), ..emits }]
            }
            Kernel::Exit(nth) => done(2 + nth),
            Kernel::Sequence(all) => self.sequence(all, at),
            Kernel::Parallel(all) => {
                let mut sums = done(0);
                for one in all.iter().filter(|one| at.is_none_or(|at| one.pauses.meets(at))) {
                    let these = self.outcomes(one, at);
                    let join = |sum: &Outcome| {
                        these.iter().map(|one| sum.join(one, true)).collect::<Vec<_>>()
                    };
                    sums = sums.iter().flat_map(join).collect();
                }
                sums
            }
            Kernel::Loop(body) => {
                let mut sums = Vec::new();
                for first in self.outcomes(body, at) {
                    if first.code != 0 {
                        sums.push(first);
                        continue;
                    }
                    let again = self.outcomes(body, None);
                    sums.extend(again.iter().map(|again| first.join(again, false)));
                }
                sums
            }
            Kernel::Present(signal, yes, no) => {
                let is = self.status(*signal);
                let because = is.then_some(What::Present(*signal));
                self.either(is, because, (yes, no), at)
            }
            Kernel::If(question, yes, no) => {
                let both = [true, false].into_iter().flat_map(|is| {
                    if at.is_some() && !is {
                        return Vec::new();
                    }
                    self.either(is, Some(What::Answer(*question, is)), (yes, no), at)
                });
                both.collect()
            }
            Kernel::Suspend(signal, body) => match at {
                Some(at) if self.status(*signal) => {
                    let because = Outcome::of(What::Present(*signal));
                    vec![Outcome { code: 1, next: at.and(&body.pauses), ..because }]
                }
                _ => self.outcomes(body, at),
            },
            Kernel::Trap(body) => {
                let caught = |mut outcome: Outcome| {
                    outcome.code = match outcome.code {
                        0 | 2 => 0,
                        1 => 1,
                        more => more - 1,
                    };
                    if outcome.code != 1 {
                        outcome.next = Set::EMPTY;
                    }
                    outcome
                };
                self.outcomes(body, at).into_iter().map(caught).collect()
            }
            Kernel::Local(signal, body) => {
                let outside = self.present;
                let mut coherent = Vec::new();
                for guess in [false, true] {
                    self.present.remove(*signal);
                    if guess {
                        self.present.insert(*signal);
                    }
                    for mut outcome in self.outcomes(body, at) {
                        if outcome.emitted.has(*signal) == guess {
                            outcome.emitted.remove(*signal);
                            self.of.close(&mut outcome, *signal);
                            coherent.push(outcome);
                        }
                    }
                }
                self.present = outside;
                coherent
            }
        }
    }

    fn sequence(&mut self, all: &[Node], at: Option<&Set>) -> Vec<Outcome> {
        let (mut sums, mut over) = (vec![Outcome::done(0)], Vec::new());
        let mut at = at;
        for one in all {
            if at.is_some_and(|at| !one.pauses.meets(at)) {
                continue;
            }
            let these = self.outcomes(one, at);
            at = None;
            let mut go_on = Vec::new();
            for sum in &sums {
                for one in &these {
                    let sum = sum.join(one, false);
                    if sum.code == 0 { go_on.push(sum) } else { over.push(sum) }
                }
            }
            sums = go_on;
            if sums.is_empty() {
                break;
            }
        }
        over.extend(sums);
        over
    }

    fn either(
        &mut self,
        is: bool,
        because: Option<What>,
        (yes, no): (&Node, &Node),
        at: Option<&Set>,
    ) -> Vec<Outcome> {
        match at {
            Some(at) if yes.pauses.meets(at) => self.outcomes(yes, Some(at)),
            Some(at) => self.outcomes(no, Some(at)),
            None => {
                let these = self.outcomes(if is { yes } else { no }, None);
                match because {
                    None => these,
                    Some(what) => {
                        let first = Outcome::of(what);
                        these.iter().map(|one| first.join(one, false)).collect()
                    }
                }
            }
        }
    }
}
