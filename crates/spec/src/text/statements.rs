//! What a role does.

use super::lex::Token;
use super::reader::{Read, Reader};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::tree::{Block, Branch, Event, EventKind, Statement, StatementKind};

const STATEMENTS: &[&str] = &[
    "nothing", "halt", "emit", "send", "call", "await", "every", "loop", "restart", "weak",
    "abort", "suspend", "trap", "exit", "present", "if", "local", "in",
];

/// Each stands within those before it.
const CASES_MOST: usize = 16;

impl Reader<'_> {
    pub(super) fn block(&mut self) -> Read<Block> {
        self.nested(|reader| {
            let mut block = Vec::new();
            reader.braced(|reader| {
                block.push(reader.statement()?);
                Ok(())
            })?;
            Ok(block)
        })
    }

    pub(super) fn statement(&mut self) -> Read<Statement> {
        let at = self.here();
        let is = if self.sees("{") {
            let mut branches = vec![self.branch()?];
            while self.takes("||") {
                branches.push(self.branch()?);
            }
            StatementKind::Parallel(branches)
        } else if self.sees_ahead(1, ":=") {
            self.assignment()?
        } else {
            let word = STATEMENTS.iter().find(|word| self.sees(word));
            let Some(word) = word else {
                return self.unknown_word("a statement", STATEMENTS);
            };
            self.step();
            self.simple(word, at)?
        };
        Ok(Statement { is, at: at.to(self.before()) })
    }

    fn branch(&mut self) -> Read<Branch> {
        let first = self.at;
        let block = self.block()?;
        Ok(Branch { block, tokens: first..self.at })
    }

    fn assignment(&mut self) -> Read<StatementKind> {
        let name = self.name("a variable")?;
        self.step();
        if !self.takes("call") {
            let value = self.expression()?;
            self.want(";")?;
            return Ok(StatementKind::Assign(name, value));
        }
        let (function, arguments) = (self.name("a host function")?, self.arguments()?);
        self.want(";")?;
        Ok(StatementKind::Call { result: Some(name), function, arguments })
    }

    /// Reads a statement that begins with a word, which was taken.
    fn simple(&mut self, word: &str, at: Span) -> Read<StatementKind> {
        let is = match word {
            "nothing" => StatementKind::Nothing,
            "halt" => StatementKind::Halt,
            "emit" => {
                let name = self.name("a signal")?;
                let values = if self.sees("(") { self.arguments()? } else { Vec::new() };
                StatementKind::Emit(name, values)
            }
            "send" => return self.send(),
            "call" => {
                let function = self.name("a host function")?;
                let arguments = self.arguments()?;
                StatementKind::Call { result: None, function, arguments }
            }
            "await" if self.sees("case") => return self.cases(at),
            "await" => StatementKind::Await(self.event(at)?),
            "exit" => StatementKind::Exit(self.name("a trap")?),
            "local" => {
                let name = self.name("a signal")?;
                let kind = if self.takes(":") { Some(self.kind()?) } else { None };
                StatementKind::Local(name, kind)
            }
            _ => return self.compound(word, at),
        };
        self.want(";")?;
        Ok(is)
    }

    /// Reads `send NAME { field: value, … };`, where a field may stand for a variable of its name.
    fn send(&mut self) -> Read<StatementKind> {
        let name = self.name("an ADU")?;
        let mut fields = Vec::new();
        if self.takes("{") {
            while !self.takes("}") {
                if !fields.is_empty() {
                    self.want(",")?;
                    if self.takes("}") {
                        break;
                    }
                }
                let field = self.name("a field")?;
                let value = if self.takes(":") {
                    self.expression()?
                } else {
                    crate::tree::Expression {
                        is: crate::tree::ExpressionKind::Name(field.name.clone()),
                        at: field.at,
                    }
                };
                fields.push((field, value));
            }
        }
        self.want(";")?;
        Ok(StatementKind::Send(name, fields))
    }

    /// Reads `case EVENT { … } case EVENT { … }`, of which there is one at least.
    fn cases(&mut self, at: Span) -> Read<StatementKind> {
        let mut cases = Vec::new();
        while self.takes("case") {
            if cases.len() == CASES_MOST {
                return self.too_deep(format!("an `await` has at most {CASES_MOST} cases"));
            }
            cases.push((self.event(at)?, self.block()?));
        }
        Ok(StatementKind::AwaitCase(cases))
    }

    /// Reads a statement that has a block.
    fn compound(&mut self, word: &str, at: Span) -> Read<StatementKind> {
        Ok(match word {
            "every" => StatementKind::Every(self.event(at)?, self.block()?),
            "loop" => StatementKind::Loop(self.block()?),
            "restart" => {
                self.want("on")?;
                StatementKind::Restart(self.event(at)?, self.block()?)
            }
            "abort" | "weak" => {
                let weak = word == "weak";
                if weak {
                    self.want("abort")?;
                }
                self.want("on")?;
                let (event, body) = (self.event(at)?, self.block()?);
                let then = if self.takes("then") { self.block()? } else { Vec::new() };
                StatementKind::Abort { weak, event, body, then }
            }
            "suspend" => {
                self.want("on")?;
                StatementKind::Suspend(self.name("a signal")?, self.block()?)
            }
            "trap" => StatementKind::Trap(self.name("the name of a trap")?, self.block()?),
            "present" => {
                let name = self.name("a signal")?;
                let (yes, no) = self.alternatives()?;
                StatementKind::Present(name, yes, no)
            }
            "if" => {
                let condition = self.expression()?;
                let (yes, no) = self.alternatives()?;
                StatementKind::If(condition, yes, no)
            }
            _ => StatementKind::In(self.name("a phase")?, self.block()?),
        })
    }

    /// Reads a block and perhaps `else` with a block or with the next `if` or `present`.
    fn alternatives(&mut self) -> Read<(Block, Block)> {
        let yes = self.block()?;
        if !self.takes("else") {
            return Ok((yes, Vec::new()));
        }
        if self.sees("if") || self.sees("present") {
            return Ok((yes, vec![self.nested(Self::statement)?]));
        }
        Ok((yes, self.block()?))
    }

    fn event(&mut self, at: Span) -> Read<Event> {
        let immediate = self.takes("immediate");
        let is = if self.takes("room") {
            EventKind::Room
        } else if self.takes("drained") {
            EventKind::Drained
        } else if self.takes("ended") {
            EventKind::Ended
        } else if self.takes("idle") {
            EventKind::Idle(self.duration()?)
        } else if matches!(self.token(), Token::Number(_)) {
            EventKind::After(self.duration()?)
        } else {
            let name = self.name("an event: a signal, a time, `room`, `drained` or `ended`,")?;
            let bound = if self.takes("(") {
                let bound = self.name("a name for what comes")?;
                self.want(")")?;
                Some(bound)
            } else {
                None
            };
            let guard = if self.takes("where") { Some(self.expression()?) } else { None };
            EventKind::Signal { name, bound, guard }
        };
        Ok(Event { immediate, is, at: at.to(self.before()) })
    }

    /// Reads a time; gives it in milliseconds.
    fn duration(&mut self) -> Read<u64> {
        let (number, at) = self.number("a time, such as `200 ms`,")?;
        if number == 0 {
            let says = "a wait of no time is none: nothing else could ever happen behind it";
            let flaw = Diagnostic::new(DiagnosticCode::Instantaneous, at, says);
            return self.tell(flaw.help("write at least `1 ms`"));
        }
        for (unit, milliseconds) in [("ms", 1), ("s", 1000), ("min", 60_000)] {
            if self.takes(unit) {
                return Ok(number.saturating_mul(milliseconds));
            }
        }
        self.expected("`ms`, `s` or `min`")
    }
}
