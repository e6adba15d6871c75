//! Random specifications: tree, automaton and minimised automaton do the same, and it is the only
//! thing that an independent, logical semantics finds coherent; whatever the order of branches.
//!
//! | file | what |
//! | --- | --- |
//! | `author.rs` | who writes them |
//! | `logic.rs` | the logical semantics: which signals are present, what follows from what |
//! | `generated.rs` | the same in Rust |
//! | `layouts.rs` | formats of two versions |

mod author;
mod generated;
mod layouts;
mod logic;

use crate::Compiled;
use crate::back::interpret::{Interpreter, RoleHost, Stimulus, Value};
use crate::diagnostic::{Diagnostic, DiagnosticCode};
use crate::kernel::{Kernel, Set, ask, node, nothing};
use crate::machine::{Bounds, Decision, build};
use crate::program::{Equals, Expr, Question, RoleProgram, Signal, SignalKind};
use crate::react::{Act, Facts, Want, react};
use author::{Author, Text};

/// How many are looked at in each run of the tests; `PROGRAMS=…` looks at as many.
const SPECIFICATIONS: u64 = 4_000;

/// What a role did: a number that says what, and with which values.
type Entry = (u16, Vec<u64>);

/// Where the numbers of an entry begin.
const CALL: u16 = 0;
const SEND: u16 = 100;
const EMIT: u16 = 200;

/// What is heard in an instant, and what pure functions answer, a bit each.
#[derive(Clone, Copy, Debug)]
enum World {
    Begin { answers: u16 },
    Together { inputs: u16, answers: u16 },
    Alone { of: Alone, value: u64, answers: u16 },
}

/// What comes alone.
#[derive(Clone, Copy, Debug)]
enum Alone {
    Adu,
    Input,
}

impl World {
    fn any(random: &mut fastrand::Rng) -> Self {
        let answers = random.u16(0..4);
        match random.u8(0..5) {
            0 | 1 => World::Together { inputs: random.u16(0..4), answers },
            2 => World::Alone { of: Alone::Adu, value: random.u64(0..3), answers },
            _ => World::Alone { of: Alone::Input, value: random.u64(0..3), answers },
        }
    }

    fn answers(self) -> u16 {
        let (World::Begin { answers }
        | World::Together { answers, .. }
        | World::Alone { answers, .. }) = self;
        answers
    }

    /// The numbers of the signals that are present, and the value of what comes alone.
    fn heard(self, role: &RoleProgram) -> (Vec<usize>, Vec<Value>) {
        let of = |is: &dyn Fn(&Signal) -> bool| {
            let all = role.signals.iter().enumerate();
            all.filter(|(_, one)| is(one)).map(|(nth, _)| nth).collect::<Vec<_>>()
        };
        match self {
            World::Begin { .. } => (Vec::new(), Vec::new()),
            World::Together { inputs, .. } => {
                let all = of(&|one| one.kind == SignalKind::Together);
                let is = |nth: &usize| inputs & (1 << nth) != 0;
                ((0..all.len()).filter(is).map(|nth| all[nth]).collect(), Vec::new())
            }
            World::Alone { of: Alone::Adu, value, .. } => {
                (of(&|one| matches!(one.kind, SignalKind::Adu(_))), vec![Value::Number(value)])
            }
            World::Alone { of: Alone::Input, value, .. } => {
                (of(&|one| one.kind == SignalKind::Input), vec![Value::Number(value)])
            }
        }
    }
}

fn stimulus<'a>(world: World, heard: &'a (Vec<usize>, Vec<Value>)) -> Stimulus<'a> {
    match world {
        World::Begin { .. } => Stimulus::Begin,
        World::Together { .. } => Stimulus::Together(&heard.0),
        World::Alone { .. } => Stimulus::Alone(heard.0[0], &heard.1),
    }
}

/// Writes down what a role does.
struct Recorder {
    answers: u16,
    log: Vec<Entry>,
}

impl Recorder {
    fn note(&mut self, what: u16, of: usize, values: &[Value]) {
        self.log.push((what + of as u16, values.iter().map(Value::number).collect()));
    }
}

impl RoleHost for Recorder {
    fn call(&mut self, function: usize, arguments: &[Value]) -> Value {
        // The first is `f`; those behind it only answer.
        match function.checked_sub(1) {
            Some(question) => Value::Number(u64::from(self.answers >> question & 1)),
            None => {
                self.note(CALL, function, arguments);
                Value::Number(0)
            }
        }
    }

    fn send(&mut self, adu: usize, _phase: Option<usize>, fields: &[Value]) {
        self.note(SEND, adu, fields);
    }

    fn emit(&mut self, signal: usize, values: &[Value]) {
        self.note(EMIT, signal, values);
    }

    fn start(&mut self, _timer: usize) {}
}

/// A text that is right; its second role is the first with the automaton that is not minimised.
fn compiled(text: &str) -> Result<Compiled, Vec<Diagnostic>> {
    let mut compiled = crate::compile(text)?;
    let role = compiled.program.roles[0].clone();
    compiled.automata.push(build(&role, Bounds::default()).expect("it was built before"));
    compiled.program.roles.push(role);
    Ok(compiled)
}

/// A text, its branches perhaps in another order.
fn written(seed: u64, text: &Text, random: Option<&mut fastrand::Rng>) -> String {
    let mut body = String::new();
    author::write(text, random, &mut body);
    author::around(seed, &body)
}

/// A reaction of the tree itself: what is certain is done; then the first thing is asked on which
/// the rest depends. `None`: it is not constructive.
fn by_tree(
    role: &RoleProgram,
    at: Option<&Set>,
    heard: Stimulus<'_>,
    variables: &mut Interpreter<'_>,
    host: &mut Recorder,
) -> Option<Option<Set>> {
    let (mut facts, mut done) = (Facts::default(), Vec::<Act>::new());
    loop {
        let found = react(&role.body, at, &role.questions, &mut facts);
        for act in &found.acts {
            let same = |done: &Act| match (done, act) {
                (Act::Emit(one, ..), Act::Emit(other, ..)) => one == other,
                (done, act) => done == act,
            };
            if !done.iter().any(same) {
                done.push(*act);
                variables.act(*act, heard, host).expect("values are small");
            }
        }
        let mut grew = false;
        for (nth, _) in outputs(role) {
            if facts.status(nth).is_none() && (found.must.has(nth) || !found.can.has(nth)) {
                facts.set(nth, Some(found.must.has(nth)));
                grew = true;
            }
        }
        if grew {
            continue;
        }
        let is_outside = |want: &&Want| match want {
            Want::Signal(signal) => role.signals[usize::from(*signal)].kind.is_input(),
            Want::Answer(..) => true,
        };
        match found.wants.iter().find(is_outside) {
            None => return found.code.map(|code| (code == 1).then_some(found.next)),
            Some(Want::Answer(question, round)) => {
                let asked = &role.questions[usize::from(*question)];
                let answer = variables.value(&asked.asks, heard, host).expect("values are small");
                facts.answer(*question, *round, asked, answer.number() != 0);
            }
            Some(Want::Signal(signal)) => {
                let is = heard.has(usize::from(*signal));
                let alone = role.signals[usize::from(*signal)].kind.is_alone();
                for (nth, other) in role.signals.iter().enumerate().filter(|_| is) {
                    if other.kind.is_input() && (alone || other.kind.is_alone()) {
                        facts.set(nth as u16, Some(false));
                    }
                }
                facts.set(*signal, Some(is));
            }
        }
    }
}

fn outputs(role: &RoleProgram) -> impl Iterator<Item = (u16, &Signal)> {
    let all = role.signals.iter().enumerate().map(|(nth, one)| (nth as u16, one));
    all.filter(|(_, one)| one.kind == SignalKind::Output)
}

/// What may be wrong with a random text.
fn is_usual(told: &[Diagnostic]) -> bool {
    use DiagnosticCode::{Cycle, Instantaneous, TooMany, Twice};
    told.iter().all(|one| {
        matches!(one.code, Cycle | Instantaneous | TooMany | Twice)
            || one.severity == crate::Severity::Warning
    })
}

fn codes(told: &[Diagnostic]) -> Vec<&'static str> {
    let mut codes: Vec<&str> = told.iter().map(|one| one.code.name()).collect();
    codes.sort_unstable();
    codes
}

#[test]
fn random_specifications_agree_in_four_semantics_whatever_the_order_of_branches() {
    let (mut built, mut cycles, mut orders, mut reactions, mut states) = (0, 0, 0, 0, 0);
    for seed in 0..programs(SPECIFICATIONS) {
        let body = Author::body(seed);
        let text = written(seed, &body, None);
        let mut random = fastrand::Rng::with_seed(seed);
        let branches = author::branches(&body);
        let one = match compiled(&text) {
            Ok(one) => one,
            Err(told) => {
                assert!(is_usual(&told), "seed {seed}: {told:?}\n{text}");
                cycles += usize::from(told.iter().any(|one| one.code == DiagnosticCode::Cycle));
                if branches > 0 {
                    let other = written(seed, &body, Some(&mut random));
                    let again = compiled(&other).expect_err("it is refused in each order");
                    assert_eq!(codes(&told), codes(&again), "seed {seed}\n{text}\n{other}");
                }
                continue;
            }
        };
        let others: Vec<Compiled> = (0..branches.min(3))
            .map(|_| {
                let other = written(seed, &body, Some(&mut random));
                let again = crate::compile(&other);
                let again = again.unwrap_or_else(|told| panic!("seed {seed}: {told:?}\n{other}"));
                let hash = |of: &Compiled| crate::hash(&of.program, &of.automata[..1]);
                assert_eq!(hash(&again), hash(&one), "seed {seed}\n{text}\n{other}");
                again
            })
            .collect();
        let named = crate::compile(&renamed(&text)).expect("names are not the text");
        assert_eq!(
            crate::hash(&named.program, &named.automata),
            crate::hash(&one.program, &one.automata[..1]),
            "seed {seed}\n{text}"
        );
        (built, orders, states) =
            (built + 1, orders + others.len(), states + one.automata[1].states());
        assert!(one.automata[0].states() <= one.automata[1].states());
        reactions += agree(seed, &text, &one, &others, &mut random);
    }
    println!(
        "{built} specifications, {orders} other orders, {states} states, {reactions} reactions; \
         {cycles} have cycles"
    );
    assert!(built * 2 > programs(SPECIFICATIONS) && cycles > 0 && reactions > 2 * built);
}

/// A text with other names, of which the last in the alphabet are the first now.
fn renamed(text: &str) -> String {
    let turn = |letter: char| match letter {
        'a'..='z' => char::from(b'a' + b'z' - letter as u8),
        'A'..='Z' => char::from(b'A' + b'Z' - letter as u8),
        '0'..='9' => char::from(b'0' + b'9' - letter as u8),
        other => other,
    };
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut written = String::new();
    for piece in text.split_inclusive(|letter| !is_word(letter)) {
        let word = piece.trim_end_matches(|letter| !is_word(letter));
        let kept = crate::text::KEYWORDS.contains(&word)
            || matches!(word, "u16" | "version")
            || word.starts_with(|first: char| first.is_ascii_digit());
        let word: String = if kept { word.into() } else { word.chars().map(turn).collect() };
        written += &word;
        written += piece.trim_start_matches(is_word);
    }
    written
}

/// `PROGRAMS=…` looks at as many.
fn programs(usual: u64) -> u64 {
    let programs = std::env::var("PROGRAMS").ok();
    programs.and_then(|count| count.parse().ok()).unwrap_or(usual)
}

/// Runs a text through all semantics; gives how many reactions were looked at.
fn agree(
    seed: u64,
    text: &str,
    one: &Compiled,
    others: &[Compiled],
    random: &mut fastrand::Rng,
) -> u64 {
    let role = &one.program.roles[0];
    let [mut small, mut large, mut tree] = [0, 1, 0].map(|nth| Interpreter::new(one, nth));
    let mut elsewhere: Vec<Interpreter<'_>> =
        others.iter().map(|other| Interpreter::new(other, 0)).collect();
    let mut at = None;
    for nth in 0..12 {
        let world = match nth {
            0 => World::Begin { answers: random.u16(0..4) },
            _ => World::any(random),
        };
        let heard = world.heard(role);
        let heard = stimulus(world, &heard);
        let recorder = || Recorder { answers: world.answers(), log: Vec::new() };
        let says = || format!("seed {seed}, instant {nth}: {world:?}\n{text}");
        let before = tree.variables().to_vec();
        let mut expected = recorder();
        let stands = by_tree(role, at.as_ref(), heard, &mut tree, &mut expected);
        let stands = stands.expect("it was found constructive");
        for table in [&mut large, &mut small] {
            let mut host = recorder();
            table.step(heard, &mut host).expect("values are small");
            assert_eq!(host.log, expected.log, "{}", says());
            assert_eq!(table.variables(), tree.variables(), "{}", says());
            assert_eq!(table.state().is_some(), stands.is_some(), "{}", says());
        }
        for (table, other) in elsewhere.iter_mut().zip(others) {
            let heard = world.heard(&other.program.roles[0]);
            let mut host = recorder();
            table.step(stimulus(world, &heard), &mut host).expect("values are small");
            assert_eq!(host.log, expected.log, "another order, {}", says());
            assert_eq!(table.state(), small.state(), "{}", says());
            let heard = |of: &Compiled| {
                table
                    .state()
                    .map(|state| of.automata[0].heard_in(&of.program.roles[0], state).join(" "))
            };
            assert_eq!(heard(other), heard(one), "{}", says());
        }
        let reaction = logic::Reaction {
            program: &one.program,
            at: at.as_ref(),
            heard,
            answers: world.answers(),
        };
        let (after, variables) = reaction.only_coherent(&before, &expected.log, &says);
        assert_eq!((after, &variables[..]), (stands, tree.variables()), "{}", says());
        let (Some(stands), Some(state)) = (stands, large.state()) else { return nth + 1 };
        assert_eq!(one.automata[1].stands[state], [stands], "{}", says());
        at = Some(stands);
    }
    12
}

/// What random texts seldom have; the branches of each in both orders.
#[test]
fn specifications_by_hand_agree() {
    let texts = [
        // A value that is read where its reader stands left; what follows from it.
        [
            "{ local a: u16; ",
            "loop { await a(v); call f(2, v); send B { tag: 3, n: v }; } ",
            "every V(g) { x := (x + g) % 9; call f(1, x); emit a(x); call f(4, x); } ",
            "}",
        ],
        // A chain of values through branches.
        [
            "{ local a: u16; local b: u16; ",
            "every b(w) { emit O2(w); } ",
            "{ every a(v) { emit b((v + 1) % 9); } } || { every A(d) { emit a(d.n); } } ",
            "}",
        ],
        // A loop begins anew twice in an instant: by itself, and as a part of another.
        [
            "loop { trap t0 { ",
            "loop { call f(1, x); emit O0; await I0; } ",
            "await I0; exit t0; ",
            "} }",
        ],
        // What is heard and does nothing; what is held meanwhile.
        ["", "every A { nothing; } ", "loop { await I0; every V(v) { call f(1, v); } } ", ""],
    ];
    for (nth, [before, one, other, after]) in texts.into_iter().enumerate() {
        let texts = [(one, other), (other, one)].map(|(one, other)| {
            author::around(0, &format!("{before}{{ {one}}} || {{ {other}}} {after}"))
        });
        let all = texts.each_ref().map(|text| compiled(text).expect("it compiles"));
        for seed in 0..200 {
            let mut random = fastrand::Rng::with_seed(seed);
            agree(nth as u64, &texts[0], &all[0], &all[1..], &mut random);
        }
    }
}

#[test]
fn a_value_is_emitted_once_wherever_its_loops_begin_anew() {
    for (output, is_right) in [("O2(1)", false), ("O0", true)] {
        let first = format!("if q0() {{ await I0; }} else {{ nothing; }} emit {output};");
        let body = format!("loop {{ {{ {first} }} || {{ await I0; }} }}");
        let told = compiled(&author::around(0, &body)).err();
        let told = told.map(|told| codes(&told)).unwrap_or_default();
        assert_eq!(!told.contains(&"S051"), is_right, "{body}: {told:?}");
    }
}

#[test]
fn what_excludes_each_other_is_asked_once() {
    // Of an enum with two values, a field that is not the one is the other.
    let question = |value| Question {
        asks: Expr::Truth(true),
        equals: Some(Equals { signal: 0, field: 0, value, of: Some(2) }),
    };
    let text = author::around(0, "emit O0; emit O1;");
    let mut role = compiled(&text).expect("it compiles").program.roles.remove(0);
    role.questions = vec![question(0), question(1)];
    let outputs: Vec<u16> = outputs(&role).map(|(nth, _)| nth).collect();
    let branch = |nth: u16| {
        let emits = node(Kernel::Emit(outputs[usize::from(nth)], nth));
        ask(nth, emits, nothing())
    };
    role.body = node(Kernel::Parallel(vec![branch(0), branch(1)]));
    let automaton = build(&role, Bounds::default()).expect("it has no cycle");
    let is_ask = |one: &&Decision| matches!(one, Decision::Ask(..));
    assert_eq!(automaton.decisions.iter().filter(is_ask).count(), 1);
}
