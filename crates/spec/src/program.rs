//! A protocol whose names are looked up: tables, and a tree of the kernel for each role.

use crate::diagnostic::Span;
use crate::kernel::Node;
use crate::tree::{Expression, Operator};

/// A type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ValueType {
    /// `bool`.
    Truth,
    /// An unsigned number, and its length in bits.
    Number(u32),
    /// One of the protocol's enums.
    Enum(usize),
    /// Octets of a fixed number, which only the host looks into.
    Octets(u64),
    /// Octets of any number, which only the host looks into.
    Bytes,
    /// One of the protocol's ADUs, as a whole.
    Adu(usize),
}

/// A named value with its type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedType {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: ValueType,
    /// How many octets it may have, where it is `bytes`.
    pub most: Option<u64>,
}

/// An enum.
#[derive(Clone, Debug)]
pub struct EnumType {
    /// Its name.
    pub name: String,
    /// The width in which it is carried.
    pub bits: u32,
    /// Its values.
    pub values: Vec<(String, u64)>,
}

/// An application data unit: one message.
#[derive(Clone, Debug)]
pub struct Adu {
    /// Its name.
    pub name: String,
    /// Its first octet.
    pub code: u8,
    /// Whether the host reads and writes it.
    pub by_host: bool,
    /// Its fields, in the order of the wire.
    pub fields: Vec<NamedType>,
    pub(crate) at: Span,
}

/// What a signal is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum SignalKind {
    /// An ADU that arrives.
    Adu(usize),
    /// A word of the application, which comes alone.
    Input,
    /// A word of the application that may come with others.
    Together,
    /// A time that has come.
    Timer(usize),
    /// There is room to send.
    Room,
    /// All that was sent has arrived.
    Drained,
    /// The association is over.
    Ended,
    /// A word to the application.
    Output,
    /// Spoken within the role.
    Local,
}

impl SignalKind {
    /// Returns whether it comes from outside.
    #[must_use]
    pub fn is_input(self) -> bool {
        !matches!(self, SignalKind::Output | SignalKind::Local)
    }

    /// Returns whether it comes from outside, and never with another.
    #[must_use]
    pub fn is_alone(self) -> bool {
        self.is_input() && self != SignalKind::Together
    }
}

/// A signal of a role.
#[derive(Clone, Debug)]
pub struct Signal {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: SignalKind,
    /// What it carries.
    pub params: Vec<NamedType>,
    pub(crate) at: Span,
}

/// A function of the application.
#[derive(Clone, Debug)]
pub struct HostFunction {
    /// Its name.
    pub name: String,
    /// Whether it only answers, and may stand in conditions.
    pub pure: bool,
    /// What it is given.
    pub params: Vec<NamedType>,
    /// What it answers.
    pub result: Option<ValueType>,
    pub(crate) at: Span,
}

/// A variable of a role.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its type: a number, a truth value or an enum.
    pub kind: ValueType,
    /// The least and the greatest value.
    pub range: (u64, u64),
    /// Its first value.
    pub initial: u64,
    /// Whether the text declares it; else it is the value of a local signal.
    pub declared: bool,
    pub(crate) at: Span,
}

/// A wait for a time.
#[derive(Clone, Copy, Debug)]
pub struct WaitTimer {
    /// In milliseconds.
    pub milliseconds: u64,
    /// Whether each ADU that is heard begins it anew.
    pub idle: bool,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Expr {
    Number(u64),
    Truth(bool),
    /// Octets of the text, and whether they are of a fixed number.
    Octets {
        octets: Vec<u8>,
        fixed: bool,
    },
    Constant {
        of: usize,
        value: u64,
    },
    Variable(usize),
    /// A value of the signal that is heard in this instant.
    Field {
        signal: u16,
        field: usize,
    },
    /// The ADU that is heard in this instant.
    Whole {
        signal: u16,
    },
    Call(usize, Vec<Expr>),
    Not(Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
}

/// What `Kernel::Do` does.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Action {
    Call {
        function: usize,
        arguments: Vec<Expr>,
        result: Option<usize>,
    },
    /// Fields are in the order of the ADU.
    Send {
        adu: usize,
        phase: Option<usize>,
        fields: Vec<Expr>,
    },
    Assign {
        variable: usize,
        value: Expr,
    },
    /// Begins a wait.
    Start(usize),
}

/// What `Kernel::If` asks.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) asks: Expr,
    /// Where it asks whether a field of what is heard has a value: that, and how many values the
    /// field can have.
    pub(crate) equals: Option<Equals>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Equals {
    pub(crate) signal: u16,
    pub(crate) field: usize,
    pub(crate) value: u64,
    /// How many values the field has, where they are few and known.
    pub(crate) of: Option<usize>,
}

/// An `emit` of the text.
#[derive(Clone, Debug)]
pub(crate) struct Emission {
    pub(crate) values: Vec<Expr>,
    pub(crate) at: Span,
}

/// A role: its tables, and what it does.
#[derive(Clone, Debug)]
pub struct RoleProgram {
    /// Its name.
    pub name: String,
    /// Its signals.
    pub signals: Vec<Signal>,
    /// Its variables.
    pub variables: Vec<Variable>,
    /// The functions of its host.
    pub functions: Vec<HostFunction>,
    /// Its waits.
    pub timers: Vec<WaitTimer>,
    /// How many ADUs are held that are not heard yet.
    pub hold: Option<u64>,
    /// The ADUs that it sends.
    pub sends: Vec<usize>,
    pub(crate) actions: Vec<(Action, Span)>,
    pub(crate) questions: Vec<Question>,
    pub(crate) emissions: Vec<Emission>,
    /// Where each pause is in the text.
    pub(crate) pauses: Vec<Span>,
    pub(crate) body: Node,
    pub(crate) at: Span,
}

/// How the transport of a protocol has the services of its phases.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PhaseBinding {
    /// All phases share what a receiver must know, and no packet says its phase.
    Static,
    /// Each packet says its phase, and is delivered by its rules.
    Phased,
    /// The two ends negotiate by whose rules messages go while data flow.
    Adaptive,
}

impl PhaseBinding {
    /// Returns it as the text writes it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            PhaseBinding::Static => "static",
            PhaseBinding::Phased => "phased",
            PhaseBinding::Adaptive => "adaptive",
        }
    }
}

/// A phase: the services by which ADUs are sent in it.
#[derive(Clone, Debug)]
pub struct PhasePlan {
    /// Its name.
    pub name: String,
    /// Its services with their arguments, in the order of their names.
    pub services: Vec<(String, Vec<String>)>,
    /// Whether none of its ADUs is delivered before all that were sent before it.
    pub fenced: bool,
    /// Where its name is in the text.
    pub at: Span,
}

/// A protocol.
#[derive(Debug)]
pub struct Program {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: u64,
    /// Its enums.
    pub enums: Vec<EnumType>,
    /// Its ADUs.
    pub adus: Vec<Adu>,
    /// Its phases.
    pub phases: Vec<PhasePlan>,
    /// How its transport has their services.
    pub binding: PhaseBinding,
    /// Its roles.
    pub roles: Vec<RoleProgram>,
    /// Hashes of versions that this one understands.
    pub accepts: Vec<String>,
    pub(crate) properties: Vec<Property>,
    pub(crate) model: Model,
}

impl Program {
    /// Returns whether services change while data flow: there are several phases that are bound so.
    #[must_use]
    pub fn switches(&self) -> bool {
        self.binding != PhaseBinding::Static && self.phases.len() > 1
    }

    /// Returns a type as the text writes it.
    #[must_use]
    pub fn type_name(&self, kind: ValueType) -> String {
        match kind {
            ValueType::Truth => "bool".into(),
            ValueType::Number(bits @ (8 | 16 | 32 | 64)) => format!("u{bits}"),
            ValueType::Number(bits) => format!("bits<{bits}>"),
            ValueType::Enum(nth) => self.enums[nth].name.clone(),
            ValueType::Octets(length) => format!("octets<{length}>"),
            ValueType::Bytes => "bytes".into(),
            ValueType::Adu(nth) => self.adus[nth].name.clone(),
        }
    }
}

/// What a role does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Deed {
    pub(crate) role: usize,
    pub(crate) verb: Verb,
    /// The number of a function, a signal or an ADU.
    pub(crate) number: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verb {
    Call,
    Emit,
    Send,
}

#[derive(Debug)]
pub(crate) struct Property {
    pub(crate) name: String,
    pub(crate) claim: Claim,
}

#[derive(Debug)]
pub(crate) enum Claim {
    /// It is not done, or not before something else was.
    Never { what: Deed, before: Option<Deed> },
    /// It is true of a role's variables in every world.
    Always(Expression, usize),
    /// The first value goes up by one each time.
    Ordered(Deed),
    /// It can always still be done, or was: under strong fairness, it is done.
    Eventually { what: Deed, loses: Option<u64>, doubles: Option<u64> },
}

/// The world in which properties are checked.
#[derive(Debug, Default)]
pub(crate) struct Model {
    /// What a host function answers, or a value of an input is: one of these.
    pub(crate) values: Vec<(String, Vec<u64>)>,
    pub(crate) means: Vec<(String, Expression)>,
    /// How many times the application tells an input.
    pub(crate) tells: Vec<(String, u64)>,
    pub(crate) loses: u64,
    pub(crate) doubles: u64,
    pub(crate) reorders: bool,
    /// How many ADUs are under way or held, in each direction.
    pub(crate) holds: Option<u64>,
}
