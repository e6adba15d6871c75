//! Applications, as the model has them: what they answer is computed of what they were told, or is
//! any of some values.

use super::{Side, role};
use crate::back::interpret::{RoleHost, Value, compute};
use crate::program::{Deed, Model, ValueType, Verb};
use crate::tree::{Expression, ExpressionKind, Operator};

/// What an application remembers of a function: how many times it was called, and with what last.
pub(super) type Memory = (u64, u64);

/// Choices that are still open: each has a number below its bound.
#[derive(Default)]
pub(super) struct Choices {
    made: Vec<(usize, usize)>,
    next: usize,
    ways: usize,
}

/// How many ways one reaction may go.
const WAYS_MOST: usize = 65_536;

impl Choices {
    pub(super) fn choose(&mut self, of: usize) -> usize {
        if self.next == self.made.len() {
            self.made.push((0, of));
        }
        let choice = self.made[self.next].0;
        self.next += 1;
        choice
    }

    /// Goes on to the next way; false where all were gone, or as many as are looked at.
    pub(super) fn advance(&mut self) -> bool {
        self.next = 0;
        self.ways += 1;
        while let Some((choice, of)) = self.made.pop() {
            if choice + 1 < of {
                self.made.push((choice + 1, of));
                return self.ways < WAYS_MOST;
            }
        }
        false
    }

    /// Whether there are more ways than are looked at.
    pub(super) fn are_too_many(&self) -> bool {
        !self.made.is_empty()
    }
}

/// The host of one reaction.
pub(super) struct ModelHost<'a> {
    pub(super) side: Side<'a>,
    pub(super) model: &'a Model,
    /// By the number of the function.
    pub(super) memory: &'a mut Vec<Memory>,
    pub(super) choices: &'a mut Choices,
    /// What was sent: the code, and the values of its fields.
    pub(super) sent: Vec<(u8, Vec<u64>)>,
    /// What was done, each with its first value.
    pub(super) done: Vec<(Deed, u64)>,
    pub(super) words: Vec<String>,
    /// The number of this side's role in the property's protocol.
    pub(super) nth: usize,
}

fn number(value: &Value) -> u64 {
    match value {
        Value::Fields(fields) => fields.first().map_or(0, number),
        value => value.number(),
    }
}

fn words(name: &str, values: &[Value]) -> String {
    let all: Vec<String> = values.iter().map(|one| number(one).to_string()).collect();
    format!("{name}({})", all.join(", "))
}

impl ModelHost<'_> {
    fn did(&mut self, verb: Verb, number_of: usize, values: &[Value]) {
        let deed = Deed { role: self.nth, verb, number: number_of };
        self.done.push((deed, values.first().map_or(0, number)));
    }

    fn answer(&mut self, function: usize) -> u64 {
        let of = &role(self.side).functions[function];
        if let Some((_, value)) = self.model.means.iter().find(|(name, _)| *name == of.name) {
            return self.computed(value);
        }
        if let Some((_, values)) = self.model.values.iter().find(|(name, _)| *name == of.name) {
            return values[self.choices.choose(values.len())];
        }
        match of.result {
            Some(ValueType::Truth) => self.choices.choose(2) as u64,
            Some(ValueType::Enum(nth)) => {
                let values = &self.side.0.program.enums[nth].values;
                values[self.choices.choose(values.len())].1
            }
            _ => 0,
        }
    }

    /// What a model's expression gives; what leaves 64 bits is 0.
    fn computed(&self, of: &Expression) -> u64 {
        match &of.is {
            ExpressionKind::Number(number) => *number,
            ExpressionKind::Truth(truth) => u64::from(*truth),
            ExpressionKind::Call(what, arguments) => {
                let name = match arguments.first().map(|one| &one.is) {
                    Some(ExpressionKind::Name(name)) => name,
                    _ => return 0,
                };
                let functions = &role(self.side).functions;
                let nth = functions.iter().position(|function| function.name == *name);
                let memory = nth.map_or((0, 0), |nth| self.memory[nth]);
                if what.name == "calls" { memory.0 } else { memory.1 }
            }
            ExpressionKind::Not(inner) => u64::from(self.computed(inner) == 0),
            ExpressionKind::Binary(operator, left, right) => {
                let (left, right) = (self.computed(left), self.computed(right));
                compute(*operator, left, right).unwrap_or(0)
            }
            _ => 0,
        }
    }
}

impl RoleHost for ModelHost<'_> {
    fn call(&mut self, function: usize, arguments: &[Value]) -> Value {
        let of = &role(self.side).functions[function];
        if !of.pure {
            self.words.push(words(&of.name, arguments));
            let memory = &mut self.memory[function];
            *memory = (memory.0 + 1, arguments.first().map_or(0, number));
            self.did(Verb::Call, function, arguments);
        }
        Value::Number(self.answer(function))
    }

    fn send(&mut self, adu: usize, _phase: Option<usize>, fields: &[Value]) {
        let of = &self.side.0.program.adus[adu];
        self.words.push(format!("send {}", words(&of.name, fields)));
        self.sent.push((of.code, fields.iter().map(number).collect()));
        self.did(Verb::Send, adu, fields);
    }

    fn emit(&mut self, signal: usize, values: &[Value]) {
        let of = &role(self.side).signals[signal];
        self.words.push(format!("emit {}", words(&of.name, values)));
        self.did(Verb::Emit, signal, values);
    }

    fn start(&mut self, _timer: usize) {}
}

/// What an expression over variables gives.
pub(super) fn of_variables(of: &Expression, names: &[(&str, u64)]) -> u64 {
    match &of.is {
        ExpressionKind::Number(number) => *number,
        ExpressionKind::Truth(truth) => u64::from(*truth),
        ExpressionKind::Name(name) => {
            names.iter().find(|(one, _)| one == name).map_or(0, |(_, value)| *value)
        }
        ExpressionKind::Not(inner) => u64::from(of_variables(inner, names) == 0),
        ExpressionKind::Binary(operator, left, right) => {
            let (left, right) = (of_variables(left, names), of_variables(right, names));
            match operator {
                Operator::Minus => left.saturating_sub(right),
                operator => compute(*operator, left, right).unwrap_or(0),
            }
        }
        _ => 0,
    }
}
