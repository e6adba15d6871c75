//! Expressions, by how strongly their operators bind.

use super::lex::Token;
use super::reader::{Read, Reader};
use crate::tree::{Expression, ExpressionKind, Operator};

/// A row of operators is as deep as it is long.
const OPERATORS_MOST: usize = 256;

/// Each operator with its strength, and whether several of it may stand in a row.
const OPERATORS: &[(&str, Operator, u8, bool)] = &[
    ("||", Operator::Or, 1, true),
    ("&&", Operator::And, 2, true),
    ("==", Operator::Equal, 3, false),
    ("!=", Operator::Unequal, 3, false),
    ("<=", Operator::AtMost, 3, false),
    (">=", Operator::AtLeast, 3, false),
    ("<", Operator::Less, 3, false),
    (">", Operator::More, 3, false),
    ("+", Operator::Plus, 4, true),
    ("-", Operator::Minus, 4, true),
    ("*", Operator::Times, 5, true),
    ("/", Operator::Over, 5, true),
    ("%", Operator::Modulo, 5, true),
];

impl Reader<'_> {
    pub(super) fn expression(&mut self) -> Read<Expression> {
        let around = self.operators;
        self.operators.get_or_insert(0);
        let read = self.nested(|reader| reader.binary(0));
        if around.is_none() {
            self.operators = None;
        }
        read
    }

    fn binary(&mut self, least: u8) -> Read<Expression> {
        let mut left = self.operand()?;
        loop {
            let found = OPERATORS.iter().find(|(sign, ..)| self.sees(sign));
            let Some((_, operator, strength, repeats)) = found.filter(|(_, _, s, _)| *s > least)
            else {
                return Ok(left);
            };
            if !repeats && is_comparison(&left) {
                return self.expected("one comparison, or `&&` between two,");
            }
            if let Some(operators) = &mut self.operators {
                *operators += 1;
                if *operators > OPERATORS_MOST {
                    let says = format!("this expression has more than {OPERATORS_MOST} operators");
                    return self.too_deep(says);
                }
            }
            self.step();
            let right = self.nested(|reader| reader.binary(*strength))?;
            let at = left.at.to(right.at);
            let is = ExpressionKind::Binary(*operator, Box::new(left), Box::new(right));
            left = Expression { is, at };
        }
    }

    fn operand(&mut self) -> Read<Expression> {
        let at = self.here();
        let is = match self.token() {
            Token::Number(number) => {
                self.step();
                ExpressionKind::Number(number)
            }
            Token::Octets => {
                let octets = super::lex::octets(self.said(at)).unwrap_or_default();
                self.step();
                ExpressionKind::Octets(octets)
            }
            Token::Sign("!") => {
                self.step();
                ExpressionKind::Not(Box::new(self.nested(Self::operand)?))
            }
            Token::Sign("(") => {
                self.step();
                let mut inner = self.expression()?;
                self.want(")")?;
                // In parentheses a comparison may be compared.
                inner.at = at.to(self.before());
                return Ok(inner);
            }
            Token::Name if self.sees("true") || self.sees("false") => {
                let truth = self.takes("true") || !self.takes("false");
                ExpressionKind::Truth(truth)
            }
            Token::Name => {
                let name = self.name("a value")?;
                if self.sees("(") {
                    ExpressionKind::Call(name, self.arguments()?)
                } else if self.takes(".") {
                    let field = self.name("a field")?;
                    ExpressionKind::Field(name, field)
                } else {
                    ExpressionKind::Name(name.name)
                }
            }
            _ => return self.expected("a value"),
        };
        Ok(Expression { is, at: at.to(self.before()) })
    }

    /// Reads arguments in parentheses.
    pub(super) fn arguments(&mut self) -> Read<Vec<Expression>> {
        let mut all = Vec::new();
        self.want("(")?;
        while !self.takes(")") {
            if !all.is_empty() {
                self.want(",")?;
            }
            all.push(self.expression()?);
        }
        Ok(all)
    }
}

/// Whether it is one that stands without parentheses: its place begins with its left operand's.
fn is_comparison(left: &Expression) -> bool {
    let ExpressionKind::Binary(operator, inner, _) = &left.is else { return false };
    inner.at.start == left.at.start
        && matches!(
            operator,
            Operator::Equal
                | Operator::Unequal
                | Operator::Less
                | Operator::AtMost
                | Operator::More
                | Operator::AtLeast
        )
}
