//! Random programs in Rust do what the tree does.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Author, SIGNALS, World, by_tree, has_instant_loop};
use crate::machine::{Bounds, build};
use crate::program::Program;

/// What a generated program is run by: it does the same as the tree, or panics.
const RUNNER: &str = r"
struct Host { answers: u16, outputs: u16 }

macro_rules! run {
    ($module:ident, $trace:expr) => {{
        impl $module::Host for Host {
            fn q0(&self) -> bool { self.answers & 1 != 0 }
            fn q1(&self) -> bool { self.answers & 2 != 0 }
            fn q2(&self) -> bool { self.answers & 4 != 0 }
            fn emit_o2(&mut self) { self.outputs |= 1 << 2; }
            fn emit_o3(&mut self) { self.outputs |= 1 << 3; }
            fn emit_o4(&mut self) { self.outputs |= 1 << 4; }
        }
        let mut state = $module::State::FIRST;
        for (inputs, answers, outputs, over) in $trace {
            let mut host = Host { answers, outputs: 0 };
            let heard = $module::Together { i0: inputs & 1 != 0, i1: inputs & 2 != 0 };
            let event = $module::Event::Together(heard);
            state = $module::step(state, event, &mut $module::Variables::FIRST, &mut host);
            assert_eq!((host.outputs, state.is_over()), (outputs, over), stringify!($module));
        }
    }};
}
";

/// The first programs from a seed on that are not refused, as one program of Rust with what each
/// has to do; also gives the next seed.
fn generated(from: u64, count: usize) -> (String, u64) {
    let (mut program, mut main) = (String::from(RUNNER), String::from("fn main() {\n"));
    let mut written = 0;
    for seed in from.. {
        let role = Author::role(seed);
        let built =
            if has_instant_loop(&role.body) { None } else { build(&role, Bounds::default()).ok() };
        let Some(automaton) = built.map(|automaton| automaton.minimised()) else { continue };
        let mut random = fastrand::Rng::with_seed(seed);
        let (mut at, mut trace) = (None, Vec::new());
        for _ in 0..30 {
            let world = World::any(&mut random);
            let (after, emitted) = by_tree(&role, at.as_ref(), world).expect("constructive");
            let outputs = emitted.numbers().filter(|signal| *signal < SIGNALS);
            let outputs = outputs.fold(0, |sum, signal| sum | 1 << signal);
            trace.push((world.inputs, world.answers, outputs, after.is_none()));
            let Some(after) = after else { break };
            at = Some(after);
        }
        let name = role.name.to_lowercase();
        main += &format!("    run!({name}, {trace:?});\n");
        let protocol = Program {
            name: String::from("Random"),
            version: 1,
            enums: Vec::new(),
            adus: Vec::new(),
            phases: Vec::new(),
            fences: Vec::new(),
            roles: vec![role],
            binding: String::from("static"),
            accepts: Vec::new(),
            properties: Vec::new(),
            model: Default::default(),
        };
        let text =
            crate::rust(&protocol, &[automaton], crate::RustForm::Plain).expect("it is short");
        program += &text[text.find("\n/// The role").expect("it has one")..];
        written += 1;
        if written == count {
            return (program + &main + "}\n", seed + 1);
        }
    }
    unreachable!("there are programs without end")
}

fn folder(name: &str) -> PathBuf {
    let folder =
        std::env::temp_dir().join(format!("stackwright-spec-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for a while");
    folder
}

fn compiles(source: &Path, binary: &Path, arguments: &[&str]) {
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition", "2024"]).args(arguments).arg("-o").arg(binary).arg(source);
    let compiled = rustc.output().expect("rustc, which compiled this test");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
}

/// `PROGRAMS=20000` compiles and runs as many, which takes minutes.
#[test]
fn generated_rust_does_what_the_tree_does() {
    const AT_ONCE: usize = 150;
    let programs = std::env::var("PROGRAMS").ok().and_then(|count| count.parse().ok());
    let folder = folder("random");
    let (source, binary) = (folder.join("random.rs"), folder.join("random"));
    let (mut seed, mut left) = (0, programs.unwrap_or(AT_ONCE));
    while left > 0 {
        let (program, next) = generated(seed, left.min(AT_ONCE));
        (seed, left) = (next, left.saturating_sub(AT_ONCE));
        std::fs::write(&source, program).expect("it is written");
        compiles(&source, &binary, &[]);
        let ran = Command::new(&binary).output().expect("it was compiled");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    }
    std::fs::remove_dir_all(&folder).expect("it is there");
}

#[test]
fn names_of_a_text_do_not_meet_those_of_its_module() {
    let text = "protocol Names version 1 {
        enum State: u8 { First = 0, Over = 1 }
        enum Variables: u8 { None = 0, Some = 1 }
        role Host {
            input Step(state: State);
            output Event(variables: Variables);
            host pure react() -> State;
            var variables: Variables = Some;
            every Step(step) { if step.state == react() { emit Event(variables); } }
        }
    }";
    let compiled = crate::compile(text).expect("it compiles");
    let written = crate::rust(&compiled.program, &compiled.automata, crate::RustForm::Plain);
    let folder = folder("names");
    let source = folder.join("names.rs");
    std::fs::write(&source, written.expect("it is short")).expect("it is written");
    compiles(&source, &folder.join("names.rlib"), &["--crate-type", "lib"]);
    std::fs::remove_dir_all(&folder).expect("it is there");
}
