//! Random programs in Rust do what the tree does.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::author::Author;
use super::{Alone, Recorder, World, by_tree, programs, stimulus, written};
use crate::back::interpret::Interpreter;

/// What a generated program is run by: it does the same as the tree, or panics.
const RUNNER: &str = r"
#![allow(warnings)]

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AHead { pub adu: (), pub n: u16 }
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BHead { pub adu: (), pub tag: u16, pub n: u16 }

struct Recorder { answers: u16, log: Vec<(u16, Vec<u64>)> }

macro_rules! run {
    ($module:ident, $outputs:expr, $trace:expr) => {{
        impl $module::Host for Recorder {
            fn f(&mut self, tag: u16, n: u16) { self.log.push((0, vec![tag.into(), n.into()])); }
            fn q0(&self) -> bool { self.answers & 1 != 0 }
            fn q1(&self) -> bool { self.answers & 2 != 0 }
            fn send_b(&mut self, head: BHead) {
                self.log.push((101, vec![head.tag.into(), head.n.into()]));
            }
            fn emit_o0(&mut self) { self.log.push(($outputs, vec![])); }
            fn emit_o1(&mut self) { self.log.push(($outputs + 1, vec![])); }
            fn emit_o2(&mut self, n: u16) { self.log.push(($outputs + 2, vec![n.into()])); }
        }
        let mut state = $module::State::FIRST;
        let mut variables = $module::Variables::FIRST;
        let trace: &[(u8, u16, u16, &[(u16, &[u64])], bool)] = $trace;
        for (what, value, answers, log, over) in trace {
            let mut host = Recorder { answers: *answers, log: Vec::new() };
            let event = match what {
                0 => $module::Event::Begin,
                1 => $module::Event::Together($module::Together {
                    i0: value & 1 != 0,
                    i1: value & 2 != 0,
                }),
                2 => $module::Event::A { head: AHead { adu: (), n: *value } },
                _ => $module::Event::V { n: *value },
            };
            state = $module::step(state, event, &mut variables, &mut host);
            let did = host.log.iter().map(|(what, values)| (*what, &values[..]));
            let did: Vec<(u16, &[u64])> = did.collect();
            assert_eq!((&did[..], state.is_over()), (*log, *over), stringify!($module));
        }
    }};
}
";

/// The first specifications from a seed on that are not refused, as one program of Rust with what
/// each has to do; also gives the next seed.
fn generated(from: u64, count: usize) -> (String, u64) {
    let (mut program, mut main) = (String::from(RUNNER), String::from("fn main() {\n"));
    let mut done = 0;
    for seed in from.. {
        let mut random = fastrand::Rng::with_seed(seed);
        let text = written(seed, &Author::body(seed), Some(&mut random));
        let Ok(compiled) = crate::compile(&text) else { continue };
        let role = &compiled.program.roles[0];
        let mut variables = Interpreter::new(&compiled, 0);
        let (mut at, mut trace) = (None, String::new());
        for nth in 0..20 {
            let world = match nth {
                0 => World::Begin { answers: random.u16(0..4) },
                _ => World::any(&mut random),
            };
            let heard = world.heard(role);
            let mut host = Recorder { answers: world.answers(), log: Vec::new() };
            let heard = stimulus(world, &heard);
            let after = by_tree(role, at.as_ref(), heard, &mut variables, &mut host);
            at = after.expect("it was found constructive");
            let (what, value) = match world {
                World::Begin { .. } => (0, 0),
                World::Together { inputs, .. } => (1, inputs.into()),
                World::Alone { of: Alone::Adu, value, .. } => (2, value),
                World::Alone { of: Alone::Input, value, .. } => (3, value),
            };
            let log: Vec<String> =
                host.log.iter().map(|(what, values)| format!("({what}, &{values:?})")).collect();
            trace += &format!(
                "({what}, {value}, {}, &[{}], {}), ",
                world.answers(),
                log.join(", "),
                at.is_none()
            );
            if at.is_none() {
                break;
            }
        }
        let (first, _) = super::outputs(role).next().expect("it has outputs");
        let name = role.name.to_lowercase();
        main += &format!("    run!({name}, {}, &[{trace}]);\n", super::EMIT + first);
        let text = crate::rust(&compiled.program, &compiled.automata, crate::RustForm::Plain);
        let text = text.expect("it is short");
        program += &text[text.find("\n/// The role").expect("it has one")..];
        done += 1;
        if done == count {
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
    let folder = folder("random");
    let (source, binary) = (folder.join("random.rs"), folder.join("random"));
    let (mut seed, mut left) = (0, programs(AT_ONCE as u64) as usize);
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
