//! Programs that were generated do what the table does.

mod abro_runs;
mod jis_runs;
mod stop_and_wait_runs;

use stackwright_spec::{Compiled, RoleHost, Value, compile};

/// What a role did, in words.
type Log = Vec<String>;

fn compiled(text: &str) -> Compiled {
    compile(text).expect("it compiles")
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
