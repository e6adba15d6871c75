//! How conditions and acts are written for people: as the text writes them.

use crate::machine::Condition;
use crate::program::{Action, Expr, Program, RoleProgram};
use crate::react::Act;

/// Writes parts of a role as the text does.
pub(crate) struct Words<'a> {
    pub(crate) program: &'a Program,
    pub(crate) role: &'a RoleProgram,
}

impl Words<'_> {
    pub(crate) fn condition(&self, condition: Condition) -> String {
        let name = |signal: u16| &self.role.signals[usize::from(signal)].name;
        match condition {
            Condition::Heard(signal) => name(signal).clone(),
            Condition::Without(signal) => format!("¬{}", name(signal)),
            Condition::Answer(question, is) => {
                let asks = self.expr(&self.role.questions[usize::from(question)].asks);
                if is { asks } else { format!("¬({asks})") }
            }
        }
    }

    pub(crate) fn conditions(&self, all: &[Condition]) -> String {
        let words: Vec<String> = all.iter().map(|one| self.condition(*one)).collect();
        words.join(", ")
    }

    pub(crate) fn act(&self, act: Act) -> String {
        match act {
            Act::Emit(signal, emission, _) => {
                let name = &self.role.signals[usize::from(signal)].name;
                match self.role.emissions.get(usize::from(emission)) {
                    Some(emission) if !emission.values.is_empty() => {
                        format!("emit {name}({})", self.list(&emission.values))
                    }
                    _ => format!("emit {name}"),
                }
            }
            Act::Do(action, _) => match &self.role.actions[usize::from(action)].0 {
                Action::Call { function, arguments, result } => {
                    let call = format!(
                        "{}({})",
                        self.role.functions[*function].name,
                        self.list(arguments)
                    );
                    match result {
                        Some(variable) => format!("{} := {call}", self.variable(*variable)),
                        None => call,
                    }
                }
                Action::Send { adu, .. } => format!("send {}", self.program.adus[*adu].name),
                Action::Assign { variable, value } => {
                    format!("{} := {}", self.variable(*variable), self.expr(value))
                }
                Action::Start(timer) => {
                    format!("start {} ms", self.role.timers[*timer].milliseconds)
                }
            },
        }
    }

    pub(crate) fn acts(&self, all: &[Act]) -> String {
        let words: Vec<String> = all.iter().map(|one| self.act(*one)).collect();
        words.join("; ")
    }

    fn variable(&self, nth: usize) -> &str {
        &self.role.variables[nth].name
    }

    fn list(&self, all: &[Expr]) -> String {
        let words: Vec<String> = all.iter().map(|one| self.expr(one)).collect();
        words.join(", ")
    }

    pub(crate) fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Number(number) => number.to_string(),
            Expr::Truth(truth) => truth.to_string(),
            Expr::Octets { octets, .. } => format!("\"{}\"", octets.escape_ascii()),
            Expr::Constant { of, value } => {
                let values = &self.program.enums[*of].values;
                let name = values.iter().find(|(_, one)| one == value);
                name.map_or(value.to_string(), |(name, _)| name.clone())
            }
            Expr::Variable(nth) => self.variable(*nth).to_owned(),
            Expr::Field { signal, field } => {
                let signal = &self.role.signals[usize::from(*signal)];
                format!("{}.{}", signal.name, signal.params[*field].name)
            }
            Expr::Whole { signal } => self.role.signals[usize::from(*signal)].name.clone(),
            Expr::Call(function, arguments) => {
                format!("{}({})", self.role.functions[*function].name, self.list(arguments))
            }
            Expr::Not(inner) => format!("!{}", self.operand(inner)),
            Expr::Binary(operator, left, right) => {
                format!("{} {} {}", self.operand(left), operator.sign(), self.operand(right))
            }
        }
    }

    fn operand(&self, expr: &Expr) -> String {
        match expr {
            Expr::Binary(..) => format!("({})", self.expr(expr)),
            _ => self.expr(expr),
        }
    }
}
