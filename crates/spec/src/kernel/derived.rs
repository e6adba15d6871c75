//! Statements that are made of the kernel's.

use super::{Kernel, Node, SignalId, ask, exit, node, nothing, present, repeat, sequence, trap};

/// What a statement waits for: a signal, perhaps under a condition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub(crate) signal: SignalId,
    /// The number of the question that has to be answered with yes.
    pub(crate) question: Option<u16>,
}

/// The parts of an `abort`.
pub(crate) struct Abort {
    /// Stands within two traps of the statement.
    pub(crate) body: Node,
    pub(crate) pause: Node,
    /// Stands within one trap of it, and follows only where `body` was stopped.
    pub(crate) then: Node,
    pub(crate) immediate: bool,
}

impl Watch {
    /// `then` where it happens in this instant.
    fn look(self, then: Node) -> Node {
        let then = match self.question {
            Some(question) => ask(question, then, nothing()),
            None => then,
        };
        present(self.signal, then, nothing())
    }

    /// `await`: ends in the next instant in which it happens; in this one, if `immediate`.
    pub(crate) fn wait(self, pause: Node, immediate: bool) -> Node {
        let look = self.look(exit(0));
        let turn = if immediate { vec![look, pause] } else { vec![pause, look] };
        trap(repeat(sequence(turn)))
    }

    /// `abort`: `body` until it happens, and in that instant nothing of `body` any more. Where
    /// there is a condition, `own` is a local signal that says that it holds.
    pub(crate) fn abort(self, parts: Abort, own: Option<SignalId>) -> Node {
        let Abort { body, pause, then, immediate } = parts;
        let (stops, told) = match own {
            Some(own) => (own, sequence(vec![node(Kernel::Emit(own, u16::MAX)), exit(0)])),
            None => (self.signal, exit(0)),
        };
        let watch = repeat(sequence(vec![pause, self.look(told)]));
        let suspended = node(Kernel::Suspend(stops, Box::new(body)));
        let body = sequence(vec![suspended, exit(1)]);
        let both = node(Kernel::Parallel(vec![body, watch]));
        let both = match own {
            Some(own) => node(Kernel::Local(own, Box::new(both))),
            None => both,
        };
        // Where it happens at once, nothing of `body` begins.
        let first = if immediate { self.look(exit(0)) } else { nothing() };
        trap(sequence(vec![trap(sequence(vec![first, both])), then]))
    }

    /// `weak abort`: the same, but `body` still reacts in that instant.
    pub(crate) fn weak_abort(self, parts: Abort) -> Node {
        let Abort { body, pause, then, immediate } = parts;
        let look = self.look(exit(0));
        let turn = if immediate { vec![look, pause] } else { vec![pause, look] };
        let watch = repeat(sequence(turn));
        let body = sequence(vec![body, exit(1)]);
        trap(sequence(vec![trap(node(Kernel::Parallel(vec![body, watch]))), then]))
    }
}
