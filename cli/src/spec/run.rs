//! A role is run by hand: what it hears is read, a line each; what it does is said.

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead, IsTerminal};

use stackwright_spec::{Compiled, Interpreter, RoleLine, SignalKind, Stimulus, Value};

use super::arguments::Role;
use super::host::Host;
use crate::problem::Problem;
use crate::report::say;
use crate::specification::Source;

/// Words that are held, at most.
const HELD_MOST: usize = 1000;

pub(super) fn run(run: &Role) -> Result<(), Problem> {
    let source = Source::load(&run.file)?;
    let nth = source.role(run.role.as_deref())?;
    let mut by_hand = ByHand::new(&source.compiled, nth);
    by_hand.react(Stimulus::Begin);
    let mut refused = None;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let line = line.trim();
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        if let Err(why) = by_hand.obey(line) {
            // Whoever types goes on; whoever reads what a program typed sees it at the end.
            let problem = Problem::Unfit { what: line.to_owned(), why };
            problem.tell(false);
            refused = Some(problem.exit_code());
        }
    }
    match refused.filter(|_| !io::stdin().is_terminal()) {
        Some(code) => Err(Problem::Told { code }),
        None => Ok(()),
    }
}

struct ByHand<'a> {
    compiled: &'a Compiled,
    nth: usize,
    interpreter: Interpreter<'a>,
    host: Host<'a>,
    /// What came and was not heard yet.
    held: VecDeque<(usize, Vec<Value>)>,
}

impl<'a> ByHand<'a> {
    fn new(compiled: &'a Compiled, nth: usize) -> Self {
        let host = Host { program: &compiled.program, role: nth, answers: HashMap::new() };
        let interpreter = Interpreter::new(compiled, nth);
        ByHand { compiled, nth, interpreter, host, held: VecDeque::new() }
    }

    fn obey(&mut self, line: &str) -> Result<(), &'static str> {
        let role = &self.compiled.program.roles[self.nth];
        let (signal, values) = match RoleLine::read(self.compiled, self.nth, line)? {
            RoleLine::Alone(signal, values) => (signal, values),
            RoleLine::Together(inputs) => {
                self.react(Stimulus::Together(&inputs));
                return Ok(());
            }
            RoleLine::Answer(function, value) => {
                self.host.answers.insert(role.functions[function].name.clone(), value);
                return Ok(());
            }
        };
        let kind = role.signals[signal].kind;
        if self.interpreter.hears(signal) {
            self.react(Stimulus::Alone(signal, &values));
        } else if !matches!(kind, SignalKind::Adu(_) | SignalKind::Input) {
            say!("    not awaited here");
        } else if self.held.len() < HELD_MOST {
            say!("    held");
            self.held.push_back((signal, values));
        } else {
            return Err("a thousand words are held already");
        }
        Ok(())
    }

    /// Lets it react, and then to what was held, oldest first, as long as its state changes.
    fn react(&mut self, stimulus: Stimulus<'_>) {
        self.step(stimulus);
        while let Some(place) =
            self.held.iter().position(|(signal, _)| self.interpreter.hears(*signal))
        {
            let Some((signal, values)) = self.held.remove(place) else { return };
            let name = &self.compiled.program.roles[self.nth].signals[signal].name;
            say!("    {name}, which was held:");
            self.step(Stimulus::Alone(signal, &values));
        }
    }

    fn step(&mut self, stimulus: Stimulus<'_>) {
        if self.interpreter.state().is_none() {
            say!("  over");
            return;
        }
        let done = self.interpreter.step(stimulus, &mut self.host);
        match (done, self.interpreter.state()) {
            (Err(out), _) => say!("  failed: `{}` has left its range", out.of),
            (Ok(()), Some(state)) => say!("  S{state}"),
            (Ok(()), None) => say!("  over"),
        }
    }
}
