//! Random programs: tree, automaton and minimised automaton do the same, and it is the only thing
//! that an independent, logical semantics finds coherent.

mod generated;

use crate::diagnostic::{DiagnosticCode, Span};
use crate::kernel::{Kernel, Node, Set, ask, exit, node, nothing, present, repeat, sequence, trap};
use crate::machine::{Automaton, Bounds, Decision, build};
use crate::program::{
    Equals, Expr, HostFunction, Question, RoleProgram, Signal, SignalKind, ValueType,
};
use crate::react::{Act, Facts, Want, react};

/// Inputs, outputs, and the questions of a program.
const INPUTS: u16 = 2;
const OUTPUTS: u16 = 3;
const QUESTIONS: u16 = 3;
const SIGNALS: u16 = INPUTS + OUTPUTS;

/// A random program over two inputs that may come together, three outputs and local signals.
pub(crate) struct Author {
    random: fastrand::Rng,
    pauses: u16,
    signals: u16,
    /// Local signals around.
    locals: Vec<u16>,
}

impl Author {
    pub(crate) fn role(seed: u64) -> RoleProgram {
        let random = fastrand::Rng::with_seed(seed);
        let mut author = Author { random, pauses: 0, signals: SIGNALS, locals: Vec::new() };
        let body = author.node(4, 0);
        let signal = |id: u16| {
            let (name, kind) = match id {
                0..INPUTS => (format!("I{id}"), SignalKind::Together),
                INPUTS..SIGNALS => (format!("O{id}"), SignalKind::Output),
                _ => (format!("L{id}"), SignalKind::Local),
            };
            Signal { name, kind, params: Vec::new(), at: Span::default() }
        };
        let question = |nth| Question { asks: Expr::Call(nth, Vec::new()), equals: None };
        let function = |nth: u16| HostFunction {
            name: format!("q{nth}"),
            pure: true,
            params: Vec::new(),
            result: Some(ValueType::Truth),
            at: Span::default(),
        };
        RoleProgram {
            name: format!("Random{seed}"),
            signals: (0..author.signals).map(signal).collect(),
            variables: Vec::new(),
            functions: (0..QUESTIONS).map(function).collect(),
            timers: Vec::new(),
            hold: None,
            sends: Vec::new(),
            actions: Vec::new(),
            questions: (0..usize::from(QUESTIONS)).map(question).collect(),
            emissions: Vec::new(),
            pauses: vec![Span::default(); usize::from(author.pauses)],
            body,
            at: Span::default(),
        }
    }

    fn pause(&mut self) -> Node {
        self.pauses += 1;
        node(Kernel::Pause(self.pauses - 1))
    }

    fn emitted(&mut self) -> u16 {
        let local = self.locals.len() as u16;
        let nth = self.random.u16(0..OUTPUTS + local);
        nth.checked_sub(OUTPUTS).map_or(INPUTS + nth, |nth| self.locals[usize::from(nth)])
    }

    fn tested(&mut self) -> u16 {
        if self.random.bool() { self.random.u16(0..INPUTS) } else { self.emitted() }
    }

    fn node(&mut self, depth: u8, traps: u8) -> Node {
        let kinds = if depth == 0 || self.pauses > 20 { 6 } else { 16 };
        match self.random.u8(0..kinds) {
            0 => nothing(),
            1 | 2 => self.pause(),
            3 | 4 => node(Kernel::Emit(self.emitted(), 0)),
            5 if traps > 0 => exit(self.random.u8(0..traps)),
            5 => self.pause(),
            6 | 7 => {
                let count = self.random.usize(2..4);
                sequence((0..count).map(|_| self.node(depth - 1, traps)).collect())
            }
            8 | 9 => {
                let all = (0..2).map(|_| self.node(depth - 1, traps)).collect();
                node(Kernel::Parallel(all))
            }
            10 => {
                let pause = self.pause();
                let body = self.node(depth - 1, traps);
                let turn = if self.random.bool() { vec![body, pause] } else { vec![pause, body] };
                repeat(sequence(turn))
            }
            11 => {
                let signal = self.tested();
                present(signal, self.node(depth - 1, traps), self.node(depth - 1, traps))
            }
            12 => {
                let signal = self.tested();
                node(Kernel::Suspend(signal, Box::new(self.node(depth - 1, traps))))
            }
            13 => {
                let signal = self.signals;
                self.signals += 1;
                self.locals.push(signal);
                let body = self.node(depth - 1, traps);
                self.locals.pop();
                node(Kernel::Local(signal, Box::new(body)))
            }
            14 => {
                let question = self.random.u16(0..QUESTIONS);
                ask(question, self.node(depth - 1, traps), self.node(depth - 1, traps))
            }
            _ => trap(self.node(depth - 1, traps + 1)),
        }
    }
}

/// What is heard and answered in an instant, a bit each.
#[derive(Clone, Copy)]
struct World {
    inputs: u16,
    answers: u16,
}

impl World {
    fn any(random: &mut fastrand::Rng) -> Self {
        World { inputs: random.u16(0..1 << INPUTS), answers: random.u16(0..1 << QUESTIONS) }
    }

    fn hears(self, signal: u16) -> bool {
        self.inputs & (1 << signal) != 0
    }

    fn answers(self, question: u16) -> bool {
        self.answers & (1 << question) != 0
    }
}

/// What a reaction did: where it stands, and the outputs.
type Reacted = (Option<Set>, Set);

/// A reaction of the tree itself. `None`: it is not constructive.
fn by_tree(role: &RoleProgram, at: Option<&Set>, world: World) -> Option<Reacted> {
    let mut facts = Facts::default();
    for signal in 0..INPUTS {
        facts.set(signal, Some(world.hears(signal)));
    }
    loop {
        let found = react(&role.body, at, &role.questions, &mut facts);
        let mut grew = false;
        for signal in INPUTS..SIGNALS {
            if facts.status(signal).is_none() {
                let status = if found.must.has(signal) {
                    Some(true)
                } else {
                    (!found.can.has(signal)).then_some(false)
                };
                facts.set(signal, status);
                grew |= status.is_some();
            }
        }
        for want in &found.wants {
            if let Want::Answer(question, round) = want {
                let asked = &role.questions[usize::from(*question)];
                facts.answer(*question, *round, asked, world.answers(*question));
                grew = true;
            }
        }
        if !grew {
            let code = found.code?;
            return Some(((code == 1).then_some(found.next), found.must));
        }
    }
}

/// A reaction of the table.
fn by_table(automaton: &Automaton, state: u32, world: World) -> (Option<u32>, Set) {
    let (mut place, mut outputs) = (automaton.states[state as usize], Set::EMPTY);
    loop {
        place = match automaton.decisions[place as usize] {
            Decision::Ask(want, yes, no) => {
                let is = match want {
                    Want::Signal(signal) => world.hears(signal),
                    Want::Answer(question, _) => world.answers(question),
                };
                if is { yes } else { no }
            }
            Decision::Act(act, then) => {
                if let Act::Emit(signal, ..) = act {
                    assert!(!outputs.has(signal), "an output is told once in an instant");
                    outputs.insert(signal);
                }
                then
            }
            Decision::Go(state) => return (Some(state), outputs),
            Decision::End => return (None, outputs),
        }
    }
}

/// An outcome of the logical semantics: what is emitted, how it completes, where it stands.
type Outcome = (Set, u8, Set);

/// The logical semantics: signals are guessed, and a guess is coherent where exactly those are
/// emitted that were guessed to be present. All coherent outcomes are given.
struct Logic {
    world: World,
    present: Set,
}

impl Logic {
    fn status(&self, signal: u16) -> bool {
        if signal < INPUTS { self.world.hears(signal) } else { self.present.has(signal) }
    }

    fn outcomes(&mut self, one: &Node, at: Option<&Set>) -> Vec<Outcome> {
        let done = |code: u8| vec![(Set::EMPTY, code, Set::EMPTY)];
        match &one.is {
            Kernel::Nothing | Kernel::Do(_) => done(0),
            Kernel::Pause(_) if at.is_some() => done(0),
            Kernel::Pause(id) => vec![(Set::EMPTY, 1, Set::of(*id))],
            Kernel::Emit(signal, _) => vec![(Set::of(*signal), 0, Set::EMPTY)],
            Kernel::Exit(nth) => done(2 + nth),
            Kernel::Sequence(all) => self.sequence(all, at),
            Kernel::Parallel(all) => {
                let mut sums = done(0);
                for one in all.iter().filter(|one| at.is_none_or(|at| one.pauses.meets(at))) {
                    let these = self.outcomes(one, at);
                    sums = sums
                        .iter()
                        .flat_map(|sum| these.iter().map(move |one| join(sum, one, true)))
                        .collect();
                }
                sums
            }
            Kernel::Loop(body) => {
                let mut sums = Vec::new();
                for first in self.outcomes(body, at) {
                    if first.1 != 0 {
                        sums.push(first);
                        continue;
                    }
                    let again = self.outcomes(body, None);
                    sums.extend(again.iter().map(|again| join(&first, again, false)));
                }
                sums
            }
            Kernel::Present(signal, yes, no) => {
                let is = self.status(*signal);
                self.either(is, yes, no, at)
            }
            Kernel::If(question, yes, no) => {
                let is = self.world.answers(*question);
                self.either(is, yes, no, at)
            }
            Kernel::Suspend(signal, body) => match at {
                Some(at) if self.status(*signal) => vec![(Set::EMPTY, 1, at.and(&body.pauses))],
                _ => self.outcomes(body, at),
            },
            Kernel::Trap(body) => {
                let caught = |(emitted, code, next)| match code {
                    0 | 2 => (emitted, 0, Set::EMPTY),
                    1 => (emitted, 1, next),
                    more => (emitted, more - 1, Set::EMPTY),
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
                    for (mut emitted, code, next) in self.outcomes(body, at) {
                        if emitted.has(*signal) == guess {
                            emitted.remove(*signal);
                            coherent.push((emitted, code, next));
                        }
                    }
                }
                self.present = outside;
                coherent
            }
        }
    }

    fn sequence(&mut self, all: &[Node], at: Option<&Set>) -> Vec<Outcome> {
        let (mut sums, mut over) = (vec![(Set::EMPTY, 0, Set::EMPTY)], Vec::new());
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
                    let sum = join(sum, one, false);
                    if sum.1 == 0 { go_on.push(sum) } else { over.push(sum) }
                }
            }
            sums = go_on;
        }
        over.extend(sums);
        over
    }

    fn either(&mut self, is: bool, yes: &Node, no: &Node, at: Option<&Set>) -> Vec<Outcome> {
        match at {
            Some(at) if yes.pauses.meets(at) => self.outcomes(yes, Some(at)),
            Some(at) => self.outcomes(no, Some(at)),
            None => self.outcomes(if is { yes } else { no }, None),
        }
    }
}

/// What two statements do, side by side or one behind the other.
fn join(one: &Outcome, other: &Outcome, parallel: bool) -> Outcome {
    let (mut emitted, mut next) = (one.0, one.2);
    emitted.join(&other.0);
    next.join(&other.2);
    (emitted, if parallel { one.1.max(other.1) } else { other.1 }, next)
}

/// Checks a reaction against each guess of the outputs.
fn is_the_only_coherent(role: &RoleProgram, at: Option<&Set>, world: World, did: &Reacted) {
    let mut coherent = Vec::new();
    for guess in 0..1_u16 << OUTPUTS {
        let mut present = Set::EMPTY;
        for signal in (0..OUTPUTS).filter(|nth| guess & (1 << nth) != 0) {
            present.insert(INPUTS + signal);
        }
        let mut outcomes = Logic { world, present }.outcomes(&role.body, at);
        outcomes.retain(|(emitted, ..)| *emitted == present);
        coherent.extend(outcomes);
    }
    let [(emitted, code, next)] = coherent[..] else {
        panic!("{}: {} outcomes are coherent", role.name, coherent.len());
    };
    let stands = (code == 1).then_some(next);
    assert_eq!((stands, emitted), *did, "{}", role.name);
}

fn has_instant_loop(one: &Node) -> bool {
    match &one.is {
        Kernel::Loop(body) => crate::kernel::codes(body).may_end() || has_instant_loop(body),
        Kernel::Sequence(all) | Kernel::Parallel(all) => all.iter().any(has_instant_loop),
        Kernel::Present(_, yes, no) | Kernel::If(_, yes, no) => {
            has_instant_loop(yes) || has_instant_loop(no)
        }
        Kernel::Suspend(_, body) | Kernel::Trap(body) | Kernel::Local(_, body) => {
            has_instant_loop(body)
        }
        _ => false,
    }
}

#[test]
fn random_programs_agree_in_four_semantics() {
    let (mut built, mut cycles, mut reactions, mut states) = (0, 0, 0, 0);
    for seed in 0..20_000 {
        let role = Author::role(seed);
        // A program of the language has none: it was refused.
        if has_instant_loop(&role.body) {
            continue;
        }
        let automaton = match build(&role, Bounds::default()) {
            Ok(automaton) => automaton,
            Err(flaw) => {
                assert_eq!(flaw.code, DiagnosticCode::Cycle, "seed {seed}");
                cycles += 1;
                continue;
            }
        };
        let small = automaton.minimised();
        (built, states) = (built + 1, states + automaton.states());
        assert!(small.states() <= automaton.states());
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut at, mut large, mut little) = (None, 0, 0);
        for _ in 0..20 {
            let world = World::any(&mut random);
            let did = by_tree(&role, at.as_ref(), world).expect("it was found constructive");
            let (after, outputs) = by_table(&automaton, large, world);
            let (class, same) = by_table(&small, little, world);
            assert_eq!((after.is_some(), outputs), (did.0.is_some(), did.1), "seed {seed}");
            assert_eq!((class.is_some(), same), (did.0.is_some(), did.1), "seed {seed}");
            is_the_only_coherent(&role, at.as_ref(), world, &did);
            reactions += 1;
            let (Some(stands), Some(after), Some(class)) = (did.0, after, class) else { break };
            assert_eq!(automaton.stands[after as usize], [stands], "seed {seed}");
            (at, large, little) = (Some(stands), after, class);
        }
    }
    println!("{built} programs, {states} states, {reactions} reactions; {cycles} have cycles");
    assert!(built > 15_000 && cycles > 500 && reactions > 50_000);
}

#[test]
fn what_excludes_each_other_is_asked_once() {
    // Of an enum with two values, a field that is not the one is the other.
    let question = |value| Question {
        asks: Expr::Truth(true),
        equals: Some(Equals { signal: 0, field: 0, value, of: Some(2) }),
    };
    let mut role = Author::role(0);
    role.questions = vec![question(0), question(1)];
    let emits = |signal| node(Kernel::Emit(signal, 0));
    let branch = |nth: u16| ask(nth, emits(INPUTS + nth), nothing());
    role.body = node(Kernel::Parallel(vec![branch(0), branch(1)]));
    let automaton = build(&role, Bounds::default()).expect("it has no cycle");
    let is_ask = |one: &&Decision| matches!(one, Decision::Ask(..));
    assert_eq!(automaton.decisions.iter().filter(is_ask).count(), 1);
}
