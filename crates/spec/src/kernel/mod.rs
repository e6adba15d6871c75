//! The calculus: Esterel's kernel on a tree that never changes. A state of a role is the set of
//! pauses at which control stands (Berry's constructive state semantics); no term is rewritten.

mod derived;
mod set;

pub(crate) use derived::{Abort, Watch};
pub(crate) use set::Set;

/// The number of a signal in its role.
pub(crate) type SignalId = u16;
/// The number of a pause in its role.
pub(crate) type PauseId = u16;

/// A statement, and the pauses in it.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) is: Kernel,
    pub(crate) pauses: Set,
}

#[derive(Clone, Debug)]
pub(crate) enum Kernel {
    Nothing,
    Pause(PauseId),
    /// Emits a signal; the number tells which emission of the text it is.
    Emit(SignalId, u16),
    /// Does what the role's table says under this number.
    Do(u16),
    Sequence(Vec<Node>),
    Parallel(Vec<Node>),
    Loop(Box<Node>),
    Present(SignalId, Box<Node>, Box<Node>),
    /// Asks the question that the role's table has under this number.
    If(u16, Box<Node>, Box<Node>),
    Suspend(SignalId, Box<Node>),
    Trap(Box<Node>),
    /// Leaves a trap: 0 is the nearest.
    Exit(u8),
    Local(SignalId, Box<Node>),
}

impl Node {
    /// How many statements it has.
    pub(crate) fn size(&self) -> usize {
        1 + match &self.is {
            Kernel::Sequence(all) | Kernel::Parallel(all) => all.iter().map(Node::size).sum(),
            Kernel::Present(_, yes, no) | Kernel::If(_, yes, no) => yes.size() + no.size(),
            Kernel::Loop(body)
            | Kernel::Suspend(_, body)
            | Kernel::Trap(body)
            | Kernel::Local(_, body) => body.size(),
            _ => 0,
        }
    }
}

pub(crate) fn node(is: Kernel) -> Node {
    let mut pauses = Set::EMPTY;
    match &is {
        Kernel::Pause(id) => pauses.insert(*id),
        Kernel::Sequence(all) | Kernel::Parallel(all) => {
            all.iter().for_each(|one| pauses.join(&one.pauses));
        }
        Kernel::Present(_, yes, no) | Kernel::If(_, yes, no) => {
            pauses = yes.pauses;
            pauses.join(&no.pauses);
        }
        Kernel::Loop(body)
        | Kernel::Suspend(_, body)
        | Kernel::Trap(body)
        | Kernel::Local(_, body) => pauses = body.pauses,
        Kernel::Nothing | Kernel::Emit(..) | Kernel::Do(_) | Kernel::Exit(_) => {}
    }
    Node { is, pauses }
}

pub(crate) fn nothing() -> Node {
    node(Kernel::Nothing)
}

pub(crate) fn sequence(mut all: Vec<Node>) -> Node {
    if all.len() == 1 {
        return all.remove(0);
    }
    node(Kernel::Sequence(all))
}

pub(crate) fn exit(nth: u8) -> Node {
    node(Kernel::Exit(nth))
}

pub(crate) fn trap(body: Node) -> Node {
    node(Kernel::Trap(Box::new(body)))
}

pub(crate) fn present(signal: SignalId, yes: Node, no: Node) -> Node {
    node(Kernel::Present(signal, Box::new(yes), Box::new(no)))
}

pub(crate) fn ask(question: u16, yes: Node, no: Node) -> Node {
    node(Kernel::If(question, Box::new(yes), Box::new(no)))
}

pub(crate) fn repeat(body: Node) -> Node {
    node(Kernel::Loop(Box::new(body)))
}

/// How a statement may complete in an instant, a bit each: 0 it ends, 1 it pauses, 2 + n it leaves
/// the trap around it that has n traps within.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Codes(pub(crate) u64);

impl Codes {
    pub(crate) const END: Codes = Codes(1);
    pub(crate) const PAUSE: Codes = Codes(2);

    pub(crate) fn of(code: u8) -> Codes {
        Codes(1 << code)
    }

    pub(crate) fn may_end(self) -> bool {
        self.0 & 1 != 0
    }

    pub(crate) fn may_pause(self) -> bool {
        self.0 & 2 != 0
    }

    pub(crate) fn or(self, other: Codes) -> Codes {
        Codes(self.0 | other.0)
    }

    pub(crate) fn without_end(self) -> Codes {
        Codes(self.0 & !1)
    }

    /// The greatest of a code of each: branches side by side.
    pub(crate) fn greatest(self, other: Codes) -> Codes {
        // From the greater of the two least codes on, every code of either may be the greatest.
        let from = self.0.trailing_zeros().max(other.0.trailing_zeros());
        Codes((self.0 | other.0) & (u64::MAX.checked_shl(from).unwrap_or(0)))
    }

    /// The codes of a trap with such a body.
    pub(crate) fn caught(self) -> Codes {
        Codes((self.0 & 0b11) | u64::from(self.0 & 0b100 != 0) | ((self.0 >> 3) << 2))
    }
}

/// Returns how a statement may complete in the instant in which it begins, whatever the signals.
pub(crate) fn codes(node: &Node) -> Codes {
    match &node.is {
        Kernel::Nothing | Kernel::Emit(..) | Kernel::Do(_) => Codes::END,
        Kernel::Pause(_) => Codes::PAUSE,
        Kernel::Exit(nth) => Codes::of(2 + nth),
        Kernel::Sequence(all) => {
            let mut sum = Codes::default();
            for one in all {
                let these = codes(one);
                sum = sum.or(these.without_end());
                if !these.may_end() {
                    return sum;
                }
            }
            sum.or(Codes::END)
        }
        Kernel::Parallel(all) => all.iter().fold(Codes::END, |sum, one| sum.greatest(codes(one))),
        Kernel::Present(_, yes, no) | Kernel::If(_, yes, no) => codes(yes).or(codes(no)),
        Kernel::Loop(body) => codes(body).without_end(),
        Kernel::Suspend(_, body) | Kernel::Local(_, body) => codes(body),
        Kernel::Trap(body) => codes(body).caught(),
    }
}
