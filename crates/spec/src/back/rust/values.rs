//! Expressions. Numbers are computed in 64 bits, and checked; where one leaves its range, the role
//! fails.

use super::names::{
    behind, body, camel, enumeration, field as named, has_body, octets_function, plain, snake,
    unsigned,
};
use super::role::Writing;
use crate::program::{Expr, SignalKind, ValueType};
use crate::tree::Operator;

/// An expression of Rust.
pub(super) struct Written {
    pub(super) text: String,
    /// Whether it has `?`, and is to be wrapped in what gives an `Option`.
    pub(super) fails: bool,
    /// How many bits it has at most, where it is a number.
    pub(super) bits: u32,
}

fn bits_of(number: u64) -> u32 {
    (64 - number.leading_zeros()).max(1)
}

impl Writing<'_> {
    pub(super) fn value(&self, expr: &Expr) -> Written {
        let sure = |text: String, bits: u32| Written { text, fails: false, bits };
        match expr {
            Expr::Number(number) => sure(format!("{number}_u64"), bits_of(*number)),
            Expr::Truth(truth) => sure(truth.to_string(), 1),
            Expr::Octets { octets, fixed: true } => {
                sure(format!("*b\"{}\"", octets.escape_ascii()), 0)
            }
            Expr::Octets { octets, fixed: false } => {
                let name = octets_function(self.program, self.role);
                sure(format!("&host.{name}(b\"{}\")", octets.escape_ascii()), 0)
            }
            Expr::Constant { of, value } => {
                let values = &self.program.enums[*of].values;
                let name = values.iter().find(|(_, one)| one == value).map_or("", |(name, _)| name);
                let kind = enumeration(&self.program.enums[*of].name);
                let text = format!("{kind}::{}", camel(name));
                sure(text, 0)
            }
            Expr::Variable(nth) => {
                let variable = &self.role.variables[*nth];
                let text = format!("variables.{}", snake(&variable.name));
                self.read(text, variable.kind, bits_of(variable.range.1))
            }
            Expr::Field { signal, field } => {
                let signal = &self.role.signals[usize::from(*signal)];
                let param = &signal.params[*field];
                let text = match (signal.kind, param.kind) {
                    (SignalKind::Adu(_), ValueType::Bytes) => "in_body".into(),
                    (SignalKind::Adu(_), _) => format!("in_head.{}", named(&param.name)),
                    _ => behind("in", &param.name),
                };
                let bits = if let ValueType::Number(bits) = param.kind { bits } else { 0 };
                self.read(text, param.kind, bits)
            }
            Expr::Whole { .. } => sure("in_head".into(), 0),
            Expr::Call(function, arguments) => {
                let host = &self.role.functions[*function];
                let mut fails = false;
                let mut all = Vec::new();
                for (argument, param) in arguments.iter().zip(&host.params) {
                    let written = self.value(argument);
                    fails |= written.fails;
                    let (text, narrows) = self.narrowed(written, param.kind);
                    fails |= narrows;
                    all.push(text);
                    all.extend(self.body_of(argument, param.kind));
                }
                let kind = host.result.unwrap_or(ValueType::Truth);
                let lent = if kind == ValueType::Bytes { "&" } else { "" };
                let text = format!("{lent}host.{}({})", self.named(*function), all.join(", "));
                let bits = if let ValueType::Number(bits) = kind { bits } else { 0 };
                Written { fails, ..self.read(text, kind, bits) }
            }
            Expr::Not(inner) => {
                let inner = self.value(inner);
                Written { text: format!("!({})", inner.text), bits: 1, ..inner }
            }
            Expr::Binary(operator, left, right) => self.binary(*operator, left, right),
        }
    }

    /// The octets of an argument that is an ADU.
    pub(super) fn body_of(&self, argument: &Expr, kind: ValueType) -> Option<String> {
        let ValueType::Adu(adu) = kind else { return None };
        has_body(self.program, adu).then(|| match argument {
            Expr::Field { signal, field } => {
                let params = &self.role.signals[usize::from(*signal)].params;
                behind("in", &body(params, &params[*field].name))
            }
            _ => "in_body".into(),
        })
    }

    /// What is read of a place: numbers become 64 bits wide.
    fn read(&self, text: String, kind: ValueType, bits: u32) -> Written {
        let text = match kind {
            ValueType::Number(width) if unsigned(width) != "u64" => format!("u64::from({text})"),
            _ => text,
        };
        Written { text, fails: false, bits }
    }

    fn binary(&self, operator: Operator, left: &Expr, right: &Expr) -> Written {
        let bound = if let Expr::Number(number) = right { Some(*number) } else { None };
        let (left, right) = (self.value(left), self.value(right));
        let fails = left.fails || right.fails;
        let (one, other) = (left.text, right.text);
        let method = match operator {
            Operator::Plus => "checked_add",
            Operator::Minus => "checked_sub",
            Operator::Times => "checked_mul",
            Operator::Over => "checked_div",
            Operator::Modulo => "checked_rem",
            _ => {
                let text = format!("({one} {} {other})", operator.sign());
                return Written { text, fails, bits: 1 };
            }
        };
        let bits = match (operator, bound) {
            (Operator::Modulo, Some(number)) => bits_of(number.saturating_sub(1)),
            _ => 64,
        };
        let text = format!("({one}).{method}({other})?");
        Written { text, fails: true, bits }
    }

    /// A number in the type of what it is for; also gives whether that may fail.
    pub(super) fn narrowed(&self, written: Written, wanted: ValueType) -> (String, bool) {
        let ValueType::Number(width) = wanted else { return (written.text, false) };
        let of = plain(self.program, wanted);
        if written.bits <= width {
            let text =
                if of == "u64" { written.text } else { format!("({}) as {of}", written.text) };
            return (text, false);
        }
        let most = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
        (format!("up_to({}, {most})? as {of}", written.text), true)
    }
}
