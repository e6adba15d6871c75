//! Statements become those of the kernel.

use super::roles::Lowering;
use super::scope::{Bound, unknown};
use crate::back::{free, snake};
use crate::diagnostic::{Diagnostic, DiagnosticCode, Span, similar};
use crate::kernel::{
    Abort, Codes, Kernel, Node, Set, Watch, ask, codes, exit, node, nothing, present, repeat,
    sequence, trap,
};
use crate::program::{NamedType, SignalKind, Variable};
use crate::tree::{Branch, Event, Ident, Statement, StatementKind, TypeName};

impl Lowering<'_> {
    /// Lowers the statements of a block; names that are declared in it end with it.
    pub(super) fn block(&mut self, block: &[Statement]) -> Node {
        let (bound, locals) = (self.bound.len(), self.locals.len());
        let mut all = Vec::new();
        // Local signals that are declared between statements reach to the end of the block.
        let mut opened: Vec<(u16, usize)> = Vec::new();
        let mut ends = true;
        for statement in block {
            if !ends {
                let says = "this statement is never reached";
                let flaw = Diagnostic::warning(DiagnosticCode::Unreachable, statement.at, says);
                self.tell(flaw.help("what is in front of it never ends"));
                ends = true;
            }
            if let StatementKind::Local(name, kind) = &statement.is {
                let signal = self.local(name, kind.as_ref());
                opened.push((signal, all.len()));
                continue;
            }
            let one = self.statement(statement);
            ends = lifetime(&one).may_end();
            all.push(one);
        }
        // More than there may be are refused, and their tree would be as deep as they are many.
        opened.retain(|(signal, _)| usize::from(*signal) < Set::MOST - 1);
        for (signal, from) in opened.into_iter().rev() {
            let rest = sequence(all.split_off(from));
            all.push(node(Kernel::Local(signal, Box::new(rest))));
        }
        self.bound.truncate(bound);
        self.locals.truncate(locals);
        if all.is_empty() { nothing() } else { sequence(all) }
    }

    fn local(&mut self, name: &Ident, kind: Option<&TypeName>) -> u16 {
        let params = match kind.map(|kind| (kind, self.kind(kind))) {
            Some((_, Some(kind))) => {
                vec![NamedType { name: name.name.clone(), kind, most: None }]
            }
            _ => Vec::new(),
        };
        let signal = self.signal(name, SignalKind::Local, params.clone());
        if let Some(param) = params.first() {
            let (range, initial) = self.range(param.kind, name);
            let taken = |one: &str| {
                self.role.variables.iter().any(|other| snake(&other.name) == snake(one))
            };
            let name_of = free(format!("{}_{signal}", name.name), taken);
            self.role.variables.push(Variable {
                name: name_of,
                kind: param.kind,
                range,
                initial,
                declared: false,
                at: name.at,
            });
            self.local_variables.push((signal, self.role.variables.len() - 1));
        }
        self.locals.push((name.name.clone(), signal));
        signal
    }

    fn statement(&mut self, statement: &Statement) -> Node {
        let at = statement.at;
        match &statement.is {
            StatementKind::Nothing | StatementKind::Local(..) => nothing(),
            StatementKind::Halt => repeat(self.pause(at)),
            StatementKind::Emit(name, values) => self.emit(name, values, at),
            StatementKind::Send(name, fields) => self.send(name, fields, at),
            StatementKind::Call { result, function, arguments } => {
                self.call_statement(result.as_ref(), function, arguments, at)
            }
            StatementKind::Assign(name, value) => self.assign(name, value, at),
            StatementKind::Await(event) => {
                let pause = self.pause(at);
                match self.awaited(event) {
                    Some(awaited) => awaited.begun(awaited.watch.wait(pause, event.immediate)),
                    None => pause,
                }
            }
            StatementKind::AwaitCase(cases) => self.cases(cases, at),
            StatementKind::Every(event, body) => self.every(event, body, at),
            StatementKind::Loop(body) => {
                self.pass(at);
                let body = self.block(body);
                self.turns(body, at)
            }
            StatementKind::Restart(event, body) => self.restart(event, body, at),
            StatementKind::Abort { weak, event, body, then } => {
                self.abort(*weak, event, body, then)
            }
            StatementKind::Suspend(name, body) => {
                let signal = self.find(name);
                let body = self.block(body);
                match signal {
                    Some(signal) => node(Kernel::Suspend(signal, Box::new(body))),
                    None => body,
                }
            }
            StatementKind::Trap(name, body) => {
                self.traps.push(Some(name.name.clone()));
                let body = self.block(body);
                self.traps.pop();
                trap(body)
            }
            StatementKind::Exit(name) => self.exit(name),
            StatementKind::Present(name, yes, no) => {
                let signal = self.find(name);
                let (yes, no) = self.either(yes, no);
                signal.map_or_else(nothing, |signal| present(signal, yes, no))
            }
            StatementKind::If(condition, yes, no) => {
                let question = self.question(condition);
                let (yes, no) = self.either(yes, no);
                question.map_or_else(nothing, |question| ask(question, yes, no))
            }
            StatementKind::In(name, body) => self.within(name, body),
            StatementKind::Parallel(branches) => self.parallel(branches),
        }
    }

    fn exit(&mut self, name: &Ident) -> Node {
        let nth = self.traps.iter().rev().position(|one| one.as_ref() == Some(&name.name));
        match nth {
            // Codes have 64 bits; blocks are nested less deep.
            Some(nth) if nth < 60 => exit(nth as u8),
            _ => {
                let says = format!("no trap around this is called `{}`", name.name);
                let flaw = Diagnostic::new(DiagnosticCode::NoTrap, name.at, says);
                let names = self.traps.iter().flatten().map(String::as_str);
                let flaw = match similar(&name.name, names) {
                    Some(meant) => flaw.help("a similar one is around it").instead(name.at, meant),
                    None => flaw.help(format!("put it into `trap {} {{ … }}`", name.name)),
                };
                self.tell(flaw);
                nothing()
            }
        }
    }

    fn within(&mut self, name: &Ident, body: &[Statement]) -> Node {
        let found = self.names.phases.iter().position(|phase| *phase == name.name);
        if found.is_none() {
            let flaw = unknown("phase", name, self.names.phases.iter().copied());
            self.tell(flaw);
        }
        let around = std::mem::replace(&mut self.phase, found);
        let body = self.block(body);
        self.phase = around;
        body
    }

    /// Waits for all at once: what happens leaves a trap of its own, behind which its block stands,
    /// and all of them are in one that is left behind the block. Of two that happen in one instant,
    /// the first has the outer trap.
    fn cases(&mut self, cases: &[(Event, Vec<Statement>)], at: Span) -> Node {
        let (mut waits, mut blocks) = (Vec::new(), Vec::new());
        for (nth, (event, body)) in cases.iter().enumerate() {
            let (bound, inner) = (self.bound.len(), cases.len() - 1 - nth);
            let pause = self.pause(at);
            let awaited = self.awaited(event);
            // Around its block are the traps of those before it, and the one of all.
            self.traps.extend(std::iter::repeat_n(None, nth + 1));
            blocks.push(sequence(vec![self.block(body), exit(nth as u8)]));
            self.traps.truncate(self.traps.len() - nth - 1);
            self.bound.truncate(bound);
            if let Some(awaited) = awaited {
                let wait = awaited.begun(awaited.watch.wait(pause, event.immediate));
                waits.push(sequence(vec![wait, exit(inner as u8)]));
            }
        }
        let waits = match waits.len() {
            0 | 1 => sequence(waits),
            _ => node(Kernel::Parallel(waits)),
        };
        let cases = blocks.into_iter().rev();
        trap(cases.fold(waits, |before, block| sequence(vec![trap(before), block])))
    }

    fn every(&mut self, event: &Event, body: &[Statement], at: Span) -> Node {
        let bound = self.bound.len();
        let pause = self.pause(at);
        let awaited = self.awaited(event);
        let body = self.block(body);
        self.bound.truncate(bound);
        if codes(&body).may_pause() {
            let says =
                "a block of `every` ends in the instant in which it begins, and this one waits";
            self.tell(Diagnostic::new(DiagnosticCode::EveryWaits, at, says).help(
                "write `loop { await …; … }`, or `restart on …` to give up what is unfinished",
            ));
        }
        if event.immediate {
            let says = "a turn of `every` begins with the next event: it is not `immediate`";
            self.tell(
                Diagnostic::new(DiagnosticCode::Instantaneous, event.at, says)
                    .help("look at this instant in front of it: `present NAME { … }`"),
            );
        }
        let Some(awaited) = awaited else { return pause };
        let wait = awaited.begun(awaited.watch.wait(pause, false));
        repeat(sequence(vec![wait, body]))
    }

    /// A loop, unless one of its turns may end at once.
    fn turns(&mut self, body: Node, at: Span) -> Node {
        if codes(&body).may_end() {
            let says = "a turn of this loop may end in the instant in which it begins";
            self.tell(
                Diagnostic::new(DiagnosticCode::Instantaneous, at, says)
                    .help("let it wait on every path: `await …;`"),
            );
            return body;
        }
        repeat(body)
    }

    fn restart(&mut self, event: &Event, body: &[Statement], at: Span) -> Node {
        self.pass(at);
        self.traps.extend([None, None]);
        let body = self.block(body);
        let halt = repeat(self.pause(at));
        self.traps.truncate(self.traps.len() - 2);
        let bound = self.bound.len();
        let pause = self.pause(at);
        let awaited = self.awaited(event);
        self.bound.truncate(bound);
        let Some(awaited) = awaited else { return body };
        let parts =
            Abort { body: sequence(vec![body, halt]), pause, then: nothing(), immediate: false };
        let own = self.own(awaited.watch, event);
        repeat(awaited.begun(awaited.watch.abort(parts, own)))
    }

    /// The signal that says that the condition of an event holds.
    fn own(&mut self, watch: Watch, event: &Event) -> Option<u16> {
        watch.question.map(|_| {
            let name = Ident { name: String::from("condition"), at: event.at };
            self.signal(&name, SignalKind::Local, Vec::new())
        })
    }

    fn abort(&mut self, weak: bool, event: &Event, body: &[Statement], then: &[Statement]) -> Node {
        self.traps.extend([None, None]);
        let before = self.gone();
        let first = self.variables_used.len();
        let body = self.block(body);
        let last = self.variables_used.len();
        self.traps.pop();
        let after = self.gone();
        self.set_gone(&before);
        let bound = self.bound.len();
        let pause = self.pause(event.at);
        let awaited = self.awaited(event);
        if weak {
            // What is asked is asked beside the body; of the other kind, in front of it.
            let uses = [&self.variables_used[first..last], &self.variables_used[last..]];
            self.conflicts(&uses.map(<[_]>::to_vec));
        }
        let then = self.block(then);
        self.bound.truncate(bound);
        self.add_gone(&after);
        self.traps.pop();
        let Some(awaited) = awaited else { return body };
        let parts = Abort { body, pause, then, immediate: event.immediate };
        let whole = if weak {
            awaited.watch.weak_abort(parts)
        } else {
            let own = self.own(awaited.watch, event);
            awaited.watch.abort(parts, own)
        };
        awaited.begun(whole)
    }

    fn either(&mut self, yes: &[Statement], no: &[Statement]) -> (Node, Node) {
        let before = self.gone();
        let yes = self.block(yes);
        let after = self.gone();
        self.set_gone(&before);
        let no = self.block(no);
        self.add_gone(&after);
        (yes, no)
    }

    fn parallel(&mut self, branches: &[Branch]) -> Node {
        let before = self.gone();
        let (mut all, mut after, mut uses) = (Vec::new(), Vec::new(), Vec::new());
        for branch in branches {
            self.set_gone(&before);
            let from = self.variables_used.len();
            all.push(self.block(&branch.block));
            uses.push(self.variables_used[from..].to_vec());
            after.push(self.gone());
        }
        after.iter().for_each(|gone| self.add_gone(gone));
        self.conflicts(&uses);
        if all.len() == 1 { all.remove(0) } else { node(Kernel::Parallel(all)) }
    }

    /// Tells of variables that one branch writes and another uses.
    fn conflicts(&mut self, branches: &[Vec<(usize, Span, bool)>]) {
        let mut told = Set::EMPTY;
        for (nth, branch) in branches.iter().enumerate() {
            for (variable, at, _) in branch.iter().filter(|(.., writes)| *writes) {
                let others = branches.iter().enumerate().filter(|(other, _)| *other != nth);
                let mut uses = others.flat_map(|(_, uses)| uses);
                let other = uses.find(|(used, ..)| used == variable);
                let number = (*variable).min(Set::MOST - 1) as u16;
                if let (Some((_, used, writes)), false) = (other, told.has(number)) {
                    told.insert(number);
                    let name = &self.role.variables[*variable].name;
                    let how = if *writes { "written" } else { "read" };
                    let says = format!("`{name}` is written by one branch and {how} by another");
                    let flaw = Diagnostic::new(DiagnosticCode::Shared, *at, says)
                        .label("written here")
                        .also(*used, format!("{how} here"))
                        .help("let branches speak by a signal: `local s: u16;`, `emit s(x);`");
                    self.told.push(flaw);
                }
            }
        }
    }

    fn gone(&self) -> Vec<Option<Span>> {
        self.bound.iter().map(|bound| bound.gone).collect()
    }

    fn set_gone(&mut self, gone: &[Option<Span>]) {
        let set = |(bound, gone): (&mut Bound, &Option<Span>)| bound.gone = *gone;
        self.bound.iter_mut().zip(gone).for_each(set);
    }

    fn add_gone(&mut self, gone: &[Option<Span>]) {
        let add = |(bound, gone): (&mut Bound, &Option<Span>)| bound.gone = bound.gone.or(*gone);
        self.bound.iter_mut().zip(gone).for_each(add);
    }
}

/// How a statement may complete at any time: as [`codes`], but a pause may be passed.
fn lifetime(node: &Node) -> Codes {
    match &node.is {
        Kernel::Pause(_) => Codes::END.or(Codes::PAUSE),
        Kernel::Sequence(all) => {
            let mut sum = Codes::default();
            for one in all {
                let these = lifetime(one);
                sum = sum.or(these.without_end());
                if !these.may_end() {
                    return sum;
                }
            }
            sum.or(Codes::END)
        }
        // A branch that never ends keeps the others from it; one that leaves a trap ends them all.
        Kernel::Parallel(all) => {
            let each: Vec<Codes> = all.iter().map(lifetime).collect();
            let sum = each.iter().fold(Codes::default(), |sum, one| sum.or(*one));
            let all_end = each.iter().all(|one| one.may_end());
            if all_end { sum } else { sum.without_end() }
        }
        Kernel::Present(_, yes, no) | Kernel::If(_, yes, no) => lifetime(yes).or(lifetime(no)),
        Kernel::Loop(body) => lifetime(body).without_end(),
        Kernel::Suspend(_, body) | Kernel::Local(_, body) => lifetime(body),
        Kernel::Trap(body) => lifetime(body).caught(),
        _ => codes(node),
    }
}
