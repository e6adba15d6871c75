//! Programs that were generated are fresh, and do what the table does.

mod abro_runs;
mod jis_runs;
mod stop_and_wait_runs;

#[rustfmt::skip]
mod abro;
#[rustfmt::skip]
#[allow(dead_code, reason = "its server is not run here")]
mod jis;
#[rustfmt::skip]
#[allow(dead_code, reason = "not all tables are looked at here")]
mod stop_and_wait;

use std::path::PathBuf;

use stackwright_spec::{Compiled, RoleHost, RustForm, Value, compile, rust};

/// What a role did, in words.
type Log = Vec<String>;

fn compiled(text: &str) -> Compiled {
    compile(text).expect("it compiles")
}

/// `UPDATE=1` writes the program anew.
fn is_fresh(text: &str, file: &str, committed: &str) {
    let compiled = compiled(text);
    let written =
        rust(&compiled.program, &compiled.automata, RustForm::Plain).expect("it is short");
    if std::env::var_os("UPDATE").is_some() {
        let path: PathBuf =
            [env!("CARGO_MANIFEST_DIR"), "tests", "all", "generated", file].iter().collect();
        std::fs::write(path, &written).expect("it is written");
        return;
    }
    assert_eq!(written, committed, "{file}: UPDATE=1 generates it anew");
}

#[test]
fn programs_are_fresh() {
    is_fresh(include_str!("../../sources/abro.protocol"), "abro.rs", include_str!("abro.rs"));
    is_fresh(include_str!("../../sources/jis.protocol"), "jis.rs", include_str!("jis.rs"));
    let source = include_str!("../../sources/stop-and-wait.protocol");
    is_fresh(source, "stop_and_wait.rs", include_str!("stop_and_wait.rs"));
}

/// The interpreter's host: logs, and answers as it is told.
struct Interpreted<'a> {
    compiled: &'a Compiled,
    role: usize,
    log: Log,
    answer: &'a dyn Fn(&str) -> Value,
}

impl RoleHost for Interpreted<'_> {
    fn call(&mut self, function: usize, arguments: &[Value]) -> Value {
        let function = &self.compiled.program.roles[self.role].functions[function];
        if !function.pure {
            self.log.push(format!("{} {}", function.name, words(arguments)));
        }
        (self.answer)(&function.name)
    }

    fn send(&mut self, adu: usize, _phase: Option<usize>, fields: &[Value]) {
        self.log.push(format!("send {} {}", self.compiled.program.adus[adu].name, words(fields)));
    }

    fn emit(&mut self, signal: usize, values: &[Value]) {
        let name = &self.compiled.program.roles[self.role].signals[signal].name;
        self.log.push(format!("emit {name} {}", words(values)));
    }

    fn start(&mut self, timer: usize) {
        self.log.push(format!("start {timer}"));
    }
}

/// Writes values as the logs of both do.
fn words(values: &[Value]) -> String {
    let word = |value: &Value| match value {
        Value::Number(number) => number.to_string(),
        Value::Octets(octets) => format!("{octets:?}"),
        Value::Fields(fields) => words(fields),
    };
    values.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The number of a signal.
fn signal(compiled: &Compiled, role: usize, name: &str) -> usize {
    let signals = &compiled.program.roles[role].signals;
    signals.iter().position(|signal| signal.name == name).expect("it is declared")
}
