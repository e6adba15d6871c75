//! An automaton is run by its table.

use crate::Compiled;
use crate::machine::{Automaton, Decision};
use crate::program::{Action, Adu, Expr, RoleProgram, ValueType};
use crate::react::{Act, Want};
use crate::tree::Operator;

/// A value of a run.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub enum Value {
    /// A number, a value of an enum, or a truth value: 0 or 1.
    Number(u64),
    /// Octets.
    Octets(Vec<u8>),
    /// The fields of an ADU.
    Fields(Vec<Value>),
}

impl Value {
    /// Returns the number that it is; what is none counts as 0.
    #[must_use]
    pub fn number(&self) -> u64 {
        if let Value::Number(number) = self { *number } else { 0 }
    }
}

/// A computed value lies outside of the range of what it is for: the role has failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutOfRange {
    /// What it is for.
    pub of: String,
}

/// What a role speaks with: its application, and what is below it.
pub trait RoleHost {
    /// Calls a function of the application.
    fn call(&mut self, function: usize, arguments: &[Value]) -> Value;
    /// Sends an ADU by the services of a phase.
    fn send(&mut self, adu: usize, phase: Option<usize>, fields: &[Value]);
    /// Emits an output.
    fn emit(&mut self, signal: usize, values: &[Value]);
    /// Begins a wait.
    fn start(&mut self, timer: usize);
}

/// What a role hears in an instant.
#[derive(Clone, Copy, Debug)]
pub enum Stimulus<'a> {
    /// The association is open.
    Begin,
    /// A signal that comes alone, with its values.
    Alone(usize, &'a [Value]),
    /// Inputs that come together; perhaps none.
    Together(&'a [usize]),
}

/// A role that is run.
#[derive(Clone, Debug)]
pub struct Interpreter<'a> {
    role: &'a RoleProgram,
    automaton: &'a Automaton,
    adus: &'a [Adu],
    state: Option<u32>,
    variables: Vec<u64>,
}

impl<'a> Interpreter<'a> {
    /// Returns the role with this number before its first instant.
    ///
    /// # Panics
    /// Where there is none with this number.
    #[must_use]
    pub fn new(compiled: &'a Compiled, nth: usize) -> Self {
        let (role, automaton) = (&compiled.program.roles[nth], &compiled.automata[nth]);
        let variables = role.variables.iter().map(|variable| variable.initial).collect();
        let adus = &compiled.program.adus;
        Interpreter { role, automaton, adus, state: Some(0), variables }
    }

    /// Returns the role with this number in a state.
    pub(crate) fn at(compiled: &'a Compiled, nth: usize, state: u32, variables: Vec<u64>) -> Self {
        Interpreter { state: Some(state), variables, ..Interpreter::new(compiled, nth) }
    }

    /// Returns the state; `None` where the role is over.
    #[must_use]
    pub fn state(&self) -> Option<usize> {
        self.state.map(|state| state as usize)
    }

    /// Returns the values of its variables.
    #[must_use]
    pub fn variables(&self) -> &[u64] {
        &self.variables
    }

    /// Returns whether it listens to a signal now.
    #[must_use]
    pub fn hears(&self, signal: usize) -> bool {
        self.state.is_some_and(|state| self.automaton.hears(state).has(signal as u16))
    }

    /// Lets it react.
    ///
    /// # Errors
    /// Returns [`OutOfRange`] where what it computes has no place; the role is over then.
    pub fn step(&mut self, heard: Stimulus<'_>, host: &mut dyn RoleHost) -> Result<(), OutOfRange> {
        let Some(state) = self.state else { return Ok(()) };
        let done = self.walk(state, heard, host);
        self.state = done.as_ref().copied().unwrap_or(None);
        done.map(|_| ())
    }

    fn walk(
        &mut self,
        state: u32,
        heard: Stimulus<'_>,
        host: &mut dyn RoleHost,
    ) -> Result<Option<u32>, OutOfRange> {
        let mut place = self.automaton.states[state as usize];
        loop {
            place = match self.automaton.decisions[place as usize] {
                Decision::Ask(want, yes, no) => {
                    let is = match want {
                        Want::Signal(signal) => heard.has(usize::from(signal)),
                        Want::Answer(question, _) => {
                            let asks = &self.role.questions[usize::from(question)].asks;
                            self.value(asks, heard, host)?.number() != 0
                        }
                    };
                    if is { yes } else { no }
                }
                Decision::Act(act, then) => {
                    self.act(act, heard, host)?;
                    then
                }
                Decision::Go(state) => return Ok(Some(state)),
                Decision::End => return Ok(None),
            }
        }
    }

    pub(crate) fn act(
        &mut self,
        act: Act,
        heard: Stimulus<'_>,
        host: &mut dyn RoleHost,
    ) -> Result<(), OutOfRange> {
        let role = self.role;
        match act {
            Act::Emit(signal, emission, _) => {
                let values = match role.emissions.get(usize::from(emission)) {
                    Some(emission) => self.values(&emission.values, heard, host)?,
                    None => Vec::new(),
                };
                let params = &role.signals[usize::from(signal)].params;
                for (value, param) in values.iter().zip(params) {
                    check(value, param.kind, &param.name)?;
                }
                host.emit(usize::from(signal), &values);
            }
            Act::Do(action, _) => match &role.actions[usize::from(action)].0 {
                Action::Call { function, arguments, result } => {
                    let values = self.values(arguments, heard, host)?;
                    let params = &role.functions[*function].params;
                    for (value, param) in values.iter().zip(params) {
                        check(value, param.kind, &param.name)?;
                    }
                    let answer = host.call(*function, &values);
                    if let Some(variable) = result {
                        self.assign(*variable, answer.number())?;
                    }
                }
                Action::Send { adu, phase, fields } => {
                    let values = self.values(fields, heard, host)?;
                    for (value, field) in values.iter().zip(&self.adus[*adu].fields) {
                        check(value, field.kind, &field.name)?;
                    }
                    host.send(*adu, *phase, &values);
                }
                Action::Assign { variable, value } => {
                    let value = self.value(value, heard, host)?;
                    self.assign(*variable, value.number())?;
                }
                Action::Start(timer) => host.start(*timer),
            },
        }
        Ok(())
    }

    fn assign(&mut self, variable: usize, value: u64) -> Result<(), OutOfRange> {
        let of = &self.role.variables[variable];
        if value < of.range.0 || value > of.range.1 {
            return Err(OutOfRange { of: of.name.clone() });
        }
        self.variables[variable] = value;
        Ok(())
    }

    fn values(
        &self,
        all: &[Expr],
        heard: Stimulus<'_>,
        host: &mut dyn RoleHost,
    ) -> Result<Vec<Value>, OutOfRange> {
        all.iter().map(|one| self.value(one, heard, host)).collect()
    }

    pub(crate) fn value(
        &self,
        expr: &Expr,
        heard: Stimulus<'_>,
        host: &mut dyn RoleHost,
    ) -> Result<Value, OutOfRange> {
        Ok(match expr {
            Expr::Number(number) => Value::Number(*number),
            Expr::Octets { octets, .. } => Value::Octets(octets.clone()),
            Expr::Constant { value, .. } => Value::Number(*value),
            Expr::Truth(truth) => Value::Number(u64::from(*truth)),
            Expr::Variable(nth) => Value::Number(self.variables[*nth]),
            Expr::Field { field, .. } => match heard {
                Stimulus::Alone(_, values) => {
                    values.get(*field).cloned().unwrap_or(Value::Number(0))
                }
                _ => Value::Number(0),
            },
            Expr::Whole { .. } => match heard {
                Stimulus::Alone(_, values) => Value::Fields(values.to_vec()),
                _ => Value::Fields(Vec::new()),
            },
            Expr::Call(function, arguments) => {
                let values = self.values(arguments, heard, host)?;
                host.call(*function, &values)
            }
            Expr::Not(inner) => {
                Value::Number(u64::from(self.value(inner, heard, host)?.number() == 0))
            }
            Expr::Binary(operator, left, right) => {
                let left = self.value(left, heard, host)?.number();
                // The right side is asked only where it matters.
                match (operator, left != 0) {
                    (Operator::And, false) => return Ok(Value::Number(0)),
                    (Operator::Or, true) => return Ok(Value::Number(1)),
                    _ => {}
                }
                let right = self.value(right, heard, host)?.number();
                let result = compute(*operator, left, right);
                let of = || OutOfRange { of: format!("{left} {} {right}", operator.sign()) };
                Value::Number(result.ok_or_else(of)?)
            }
        })
    }
}

impl Stimulus<'_> {
    pub(crate) fn has(&self, signal: usize) -> bool {
        match self {
            Stimulus::Begin => false,
            Stimulus::Alone(heard, _) => *heard == signal,
            Stimulus::Together(all) => all.contains(&signal),
        }
    }
}

/// What an operator gives, where it has 64 bits.
pub(crate) fn compute(operator: Operator, left: u64, right: u64) -> Option<u64> {
    Some(match operator {
        Operator::Or => u64::from(left != 0 || right != 0),
        Operator::And => u64::from(left != 0 && right != 0),
        Operator::Equal => u64::from(left == right),
        Operator::Unequal => u64::from(left != right),
        Operator::Less => u64::from(left < right),
        Operator::AtMost => u64::from(left <= right),
        Operator::More => u64::from(left > right),
        Operator::AtLeast => u64::from(left >= right),
        Operator::Plus => left.checked_add(right)?,
        Operator::Minus => left.checked_sub(right)?,
        Operator::Times => left.checked_mul(right)?,
        Operator::Over => left.checked_div(right)?,
        Operator::Modulo => left.checked_rem(right)?,
    })
}

fn check(value: &Value, kind: ValueType, of: &str) -> Result<(), OutOfRange> {
    let fits = match (value, kind) {
        (Value::Number(number), ValueType::Number(bits)) if bits < 64 => number >> bits == 0,
        _ => true,
    };
    if fits { Ok(()) } else { Err(OutOfRange { of: of.to_owned() }) }
}
