//! A transcript is followed: each of its words has to be a transition of the role.

use std::collections::{HashMap, VecDeque};

use super::interpret::{Interpreter, RoleHost, Stimulus, Value};
use super::lines::{self, RoleLine};
use crate::Compiled;
use crate::program::{RoleProgram, SignalKind, ValueType};

/// Follows a recorded dialogue of a role with its peer, whose lines are:
///
/// | line | what |
/// | --- | --- |
/// | `< ADU values` | the peer sent it, and the role received it |
/// | `> ADU values` | the role sent it |
/// | `NAME = VALUE` | what the host function answers from then on |
/// | `INPUT values`, `after 500 ms`, `ended` … | what else the role hears |
///
/// What the role does not await at once is refused, though a role would hold it: it came too early.
///
/// ```
/// let text = "protocol P version 1 { adu Ask {} adu Reply { n: u8; }
///     role R { sends Ask; receives Reply; send Ask; await Reply(r) where r.n == 1; send Ask; } }";
/// let compiled = stackwright_spec::compile(text).unwrap();
/// let mut monitor = stackwright_spec::TranscriptMonitor::new(&compiled, 0, 0);
/// assert_eq!(monitor.line("> Ask"), Ok(()));
/// assert_eq!(monitor.line("< Reply 1"), Ok(()));
/// assert_eq!(monitor.end(), Err("the role still has to send Ask".into()));
/// ```
#[derive(Debug)]
pub struct TranscriptMonitor<'a> {
    compiled: &'a Compiled,
    nth: usize,
    interpreter: Interpreter<'a>,
    host: Recorder,
    has_begun: bool,
    /// What was sent before the role would have, and how much of that there may be.
    ahead: VecDeque<Sent>,
    ahead_most: usize,
}

type Sent = (usize, Vec<Value>);

/// Notes what the role sends, and answers as the transcript says.
#[derive(Default, Debug)]
struct Recorder {
    answers: HashMap<usize, Value>,
    /// What it answers otherwise.
    nothing: Vec<Value>,
    /// What the role has sent, and the transcript has not shown yet.
    due: VecDeque<Sent>,
}

impl RoleHost for Recorder {
    fn call(&mut self, function: usize, _: &[Value]) -> Value {
        self.answers.get(&function).unwrap_or(&self.nothing[function]).clone()
    }

    fn send(&mut self, adu: usize, _: Option<usize>, fields: &[Value]) {
        self.due.push_back((adu, fields.to_vec()));
    }

    fn emit(&mut self, _: usize, _: &[Value]) {}

    fn start(&mut self, _: usize) {}
}

impl<'a> TranscriptMonitor<'a> {
    /// Follows the role with this number. Up to `ahead_most` ADUs may be sent before the role would
    /// send them: some peers take commands before they have replied to the one before.
    ///
    /// # Panics
    /// Where there is no role with this number.
    #[must_use]
    pub fn new(compiled: &'a Compiled, nth: usize, ahead_most: usize) -> Self {
        let nothing = compiled.program.roles[nth].functions.iter().map(|one| match one.result {
            Some(ValueType::Bytes | ValueType::Octets(_)) => Value::Octets(Vec::new()),
            _ => Value::Number(0),
        });
        TranscriptMonitor {
            compiled,
            nth,
            interpreter: Interpreter::new(compiled, nth),
            host: Recorder { nothing: nothing.collect(), ..Recorder::default() },
            has_begun: false,
            ahead: VecDeque::new(),
            ahead_most,
        }
    }

    /// Follows a line. One that is empty or begins with `//` is passed over.
    ///
    /// # Errors
    /// Returns why it is no transition of the role.
    pub fn line(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim();
        if line.is_empty() || line.starts_with("//") {
            return Ok(());
        }
        if let Some(sent) = line.strip_prefix('>') {
            self.begin()?;
            return self.sent(sent.trim());
        }
        let heard = line.strip_prefix('<');
        let read = RoleLine::read(self.compiled, self.nth, heard.unwrap_or(line))?;
        let kind = |signal: usize| self.role().signals[signal].kind;
        let is_adu = match read {
            RoleLine::Alone(signal, _) => matches!(kind(signal), SignalKind::Adu(_)),
            _ => false,
        };
        if is_adu != heard.is_some() {
            return Err("what the peer sends begins with <, and nothing else".into());
        }
        if let RoleLine::Answer(function, value) = read {
            self.host.answers.insert(function, value);
            return Ok(());
        }
        self.begin()?;
        self.is_sent()?;
        match read {
            RoleLine::Alone(signal, values) => {
                if !self.interpreter.hears(signal) {
                    let name = &self.role().signals[signal].name;
                    return Err(format!("the role does not await {name} here{}", self.awaits()));
                }
                self.react(Stimulus::Alone(signal, &values))
            }
            RoleLine::Together(inputs) => self.react(Stimulus::Together(&inputs)),
            RoleLine::Answer(..) => Ok(()),
        }
    }

    /// Ends the transcript.
    ///
    /// # Errors
    /// Returns what is missing from it.
    pub fn end(mut self) -> Result<(), String> {
        self.begin()?;
        self.is_sent()?;
        if let Some((adu, _)) = self.ahead.front() {
            return Err(format!("the role does not send {}{}", self.adu(*adu), self.awaits()));
        }
        Ok(())
    }

    fn role(&self) -> &'a RoleProgram {
        &self.compiled.program.roles[self.nth]
    }

    fn adu(&self, adu: usize) -> &'a str {
        &self.compiled.program.adus[adu].name
    }

    /// Says what the role awaits.
    fn awaits(&self) -> String {
        match self.interpreter.state() {
            Some(state) => {
                let heard = self.compiled.automata[self.nth].heard_in(self.role(), state);
                format!(": in S{state}, it awaits {}", heard.join(", "))
            }
            None => ": it is over".into(),
        }
    }

    /// The first instant comes behind the first answers.
    fn begin(&mut self) -> Result<(), String> {
        if std::mem::replace(&mut self.has_begun, true) {
            return Ok(());
        }
        self.react(Stimulus::Begin)
    }

    /// Follows an ADU that was sent.
    fn sent(&mut self, line: &str) -> Result<(), String> {
        let program = &self.compiled.program;
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let of_role = self.role().sends.iter().find(|adu| self.adu(**adu) == name);
        let adu = *of_role.ok_or("the role sends no ADU of this name")?;
        let fields = lines::values(program, &program.adus[adu].fields, rest.trim_start())?;
        self.ahead.push_back((adu, fields));
        self.compare()?;
        if self.ahead.len() > self.ahead_most {
            return Err(format!("the role does not send {name} here{}", self.awaits()));
        }
        Ok(())
    }

    /// Compares what was sent with what the role sends, as far as there are both.
    fn compare(&mut self) -> Result<(), String> {
        while let (Some(due), Some(sent)) = (self.host.due.front(), self.ahead.front()) {
            if due != sent {
                let name = self.adu(due.0);
                return Err(match due.0 == sent.0 {
                    true => {
                        format!("the role sends {name} here with other values: {}", shown(&due.1))
                    }
                    false => format!("the role sends {name} here"),
                });
            }
            self.host.due.pop_front();
            self.ahead.pop_front();
        }
        Ok(())
    }

    /// What is heard is heard behind all that the role has sent.
    fn is_sent(&self) -> Result<(), String> {
        match self.host.due.front() {
            Some((adu, _)) => Err(format!("the role still has to send {}", self.adu(*adu))),
            None => Ok(()),
        }
    }

    fn react(&mut self, stimulus: Stimulus<'_>) -> Result<(), String> {
        let done = self.interpreter.step(stimulus, &mut self.host);
        done.map_err(|out| format!("the role fails: `{}` has left its range", out.of))?;
        self.compare()
    }
}

/// Writes values as a transcript does.
fn shown(values: &[Value]) -> String {
    let word = |value: &Value| match value {
        Value::Number(number) => number.to_string(),
        Value::Octets(octets) => octets.escape_ascii().to_string(),
        Value::Fields(fields) => shown(fields),
    };
    values.iter().map(word).collect::<Vec<_>>().join(" ")
}
