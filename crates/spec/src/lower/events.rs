//! What a role waits for.

use super::roles::Lowering;
use super::scope::{Bound, unknown};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span};
use crate::kernel::{Kernel, Node, Watch, node, sequence};
use crate::program::{Action, SignalKind, WaitTimer};
use crate::tree::{Event, EventKind, Expression, ExpressionKind, Ident};

/// An event that was looked up.
pub(super) struct Awaited {
    pub(super) watch: Watch,
    /// What has to be done when the wait begins: a timer is set.
    pub(super) begin: Option<u16>,
}

impl Awaited {
    /// `body`, behind what the wait begins with.
    pub(super) fn begun(&self, body: Node) -> Node {
        match self.begin {
            Some(action) => sequence(vec![node(Kernel::Do(action)), body]),
            None => body,
        }
    }
}

impl Lowering<'_> {
    /// Makes a place at which the role waits. What came before is gone behind it.
    pub(super) fn pause(&mut self, at: Span) -> Node {
        self.role.pauses.push(at);
        self.pass(at);
        let id = (self.role.pauses.len() - 1).min(crate::kernel::Set::MOST - 1);
        node(Kernel::Pause(id as u16))
    }

    /// What came before `at` is gone.
    pub(super) fn pass(&mut self, at: Span) {
        for bound in &mut self.bound {
            bound.gone.get_or_insert(at);
        }
    }

    /// Finds a signal by its name.
    pub(super) fn find(&mut self, name: &Ident) -> Option<u16> {
        let local = self.locals.iter().rev().find(|(local, _)| *local == name.name);
        let declared = || {
            let is = |one: &crate::program::Signal| {
                one.name == name.name && one.kind != SignalKind::Local
            };
            self.role.signals.iter().position(is).map(|nth| nth as u16)
        };
        let found = local.map(|(_, id)| *id).or_else(declared);
        match found {
            Some(id) => self.signals_used.push(id),
            None => {
                let known: Vec<String> = self
                    .role
                    .signals
                    .iter()
                    .filter(|one| {
                        matches!(one.kind, SignalKind::Adu(_) | SignalKind::Input)
                            || matches!(one.kind, SignalKind::Together | SignalKind::Output)
                    })
                    .map(|one| one.name.clone())
                    .chain(self.locals.iter().map(|(local, _)| local.clone()))
                    .collect();
                let flaw = if self.names.adus.iter().any(|adu| adu.name == name.name) {
                    let says = format!("this role does not receive `{}`", name.name);
                    Diagnostic::new(DiagnosticCode::WrongKind, name.at, says)
                        .help(format!("declare it: `receives {};`", name.name))
                } else {
                    unknown("signal", name, known.iter().map(String::as_str))
                };
                self.tell(flaw);
            }
        }
        found
    }

    /// Looks an event up. What it binds stays bound until its block ends.
    pub(super) fn awaited(&mut self, event: &Event) -> Option<Awaited> {
        match &event.is {
            EventKind::Signal { name, bound, guard } => {
                let signal = self.find(name)?;
                if let Some(bound) = bound {
                    self.bind(bound, signal);
                }
                let question = match guard {
                    Some(guard) => Some(self.guard(guard)?),
                    None => None,
                };
                Some(Awaited { watch: Watch { signal, question }, begin: None })
            }
            EventKind::After(milliseconds) => Some(self.timer(*milliseconds, false, event.at)),
            EventKind::Idle(milliseconds) => Some(self.timer(*milliseconds, true, event.at)),
            EventKind::Room => Some(self.service(SignalKind::Room, "room", event.at)),
            EventKind::Drained => Some(self.service(SignalKind::Drained, "drained", event.at)),
            EventKind::Ended => Some(self.service(SignalKind::Ended, "ended", event.at)),
        }
    }

    fn bind(&mut self, name: &Ident, signal: u16) {
        let of = &self.role.signals[usize::from(signal)];
        let has_values = match of.kind {
            SignalKind::Adu(_) => true,
            SignalKind::Output => false,
            _ => !of.params.is_empty(),
        };
        if !has_values {
            let (says, at) = (format!("`{}` has no value that could be read", of.name), of.at);
            self.tell(
                Diagnostic::new(DiagnosticCode::WrongKind, name.at, says).also(at, "declared here"),
            );
        }
        let bound = Bound { name: name.name.clone(), at: name.at, signal, gone: None };
        self.bound.push(bound);
    }

    /// Makes a question of the condition of an event: tells where it asks for what is gone.
    fn guard(&mut self, guard: &Expression) -> Option<u16> {
        if let ExpressionKind::Truth(_) | ExpressionKind::Number(_) = guard.is {
            let says = "a condition that is constant is none";
            self.tell(Diagnostic::new(DiagnosticCode::Type, guard.at, says));
            return None;
        }
        self.question(guard)
    }

    fn timer(&mut self, milliseconds: u64, idle: bool, at: Span) -> Awaited {
        let timer = self.role.timers.len();
        self.role.timers.push(WaitTimer { milliseconds, idle });
        let name = format!("{} {milliseconds} ms", if idle { "idle" } else { "after" });
        let signal = self.signal(&Ident { name, at }, SignalKind::Timer(timer), Vec::new());
        self.role.actions.push((Action::Start(timer), at));
        let begin = Some(self.role.actions.len() as u16 - 1);
        Awaited { watch: Watch { signal, question: None }, begin }
    }

    fn service(&mut self, kind: SignalKind, name: &str, at: Span) -> Awaited {
        let found = self.role.signals.iter().position(|one| one.kind == kind);
        let signal = match found {
            Some(nth) => nth as u16,
            None => self.signal(&Ident { name: name.to_owned(), at }, kind, Vec::new()),
        };
        Awaited { watch: Watch { signal, question: None }, begin: None }
    }
}
