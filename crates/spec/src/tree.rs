//! The syntax tree: what a text says, before any name is looked up.

use crate::diagnostic::Span;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ident {
    pub(crate) name: String,
    pub(crate) at: Span,
}

#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) name: Option<Ident>,
    pub(crate) version: u64,
    pub(crate) enums: Vec<EnumItem>,
    pub(crate) adus: Vec<AduItem>,
    pub(crate) phases: Vec<PhaseItem>,
    pub(crate) fences: Vec<(Ident, Ident)>,
    pub(crate) roles: Vec<RoleItem>,
    pub(crate) properties: Vec<PropertyItem>,
    pub(crate) models: Vec<ModelItem>,
    pub(crate) binding: Option<Ident>,
    pub(crate) accepts: Vec<Ident>,
}

#[derive(Debug)]
pub(crate) struct EnumItem {
    pub(crate) name: Ident,
    pub(crate) bits: u32,
    pub(crate) values: Vec<(Ident, u64)>,
}

#[derive(Debug)]
pub(crate) struct AduItem {
    pub(crate) name: Ident,
    pub(crate) code: Option<(u64, Span)>,
    pub(crate) by_host: bool,
    pub(crate) fields: Vec<Param>,
}

#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: Ident,
    pub(crate) kind: TypeName,
    pub(crate) at: Span,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TypeName {
    Bool,
    Uint(u32),
    Octets(u64),
    /// Up to a number of octets, where one is given.
    Bytes(Option<u64>),
    Named(Ident),
}

#[derive(Debug)]
pub(crate) struct PhaseItem {
    pub(crate) name: Ident,
    pub(crate) services: Vec<ServiceItem>,
}

#[derive(Clone, Debug)]
pub(crate) struct ServiceItem {
    pub(crate) name: Ident,
    pub(crate) arguments: Vec<(String, Span)>,
    pub(crate) at: Span,
}

#[derive(Debug)]
pub(crate) struct RoleItem {
    pub(crate) name: Ident,
    pub(crate) sends: Vec<Ident>,
    pub(crate) receives: Vec<Ident>,
    pub(crate) inputs: Vec<SignalItem>,
    pub(crate) outputs: Vec<SignalItem>,
    pub(crate) together: Vec<Ident>,
    pub(crate) functions: Vec<FunctionItem>,
    pub(crate) variables: Vec<VariableItem>,
    pub(crate) hold: Option<(u64, Span)>,
    pub(crate) body: Vec<Statement>,
}

#[derive(Debug)]
pub(crate) struct SignalItem {
    pub(crate) name: Ident,
    pub(crate) params: Vec<Param>,
}

#[derive(Debug)]
pub(crate) struct FunctionItem {
    pub(crate) name: Ident,
    pub(crate) pure: bool,
    pub(crate) params: Vec<Param>,
    pub(crate) result: Option<TypeName>,
}

#[derive(Debug)]
pub(crate) struct VariableItem {
    pub(crate) name: Ident,
    pub(crate) kind: TypeName,
    pub(crate) range: Option<(u64, u64, Span)>,
    pub(crate) initial: Option<Expression>,
}

#[derive(Debug)]
pub(crate) struct Statement {
    pub(crate) is: StatementKind,
    pub(crate) at: Span,
}

pub(crate) type Block = Vec<Statement>;

#[derive(Debug)]
pub(crate) enum StatementKind {
    Nothing,
    Halt,
    Emit(Ident, Vec<Expression>),
    Send(Ident, Vec<(Ident, Expression)>),
    Call {
        result: Option<Ident>,
        function: Ident,
        arguments: Vec<Expression>,
    },
    Assign(Ident, Expression),
    Await(Event),
    /// The block of what happens first, of all that may.
    AwaitCase(Vec<(Event, Block)>),
    Every(Event, Block),
    Loop(Block),
    Restart(Event, Block),
    Abort {
        weak: bool,
        event: Event,
        body: Block,
        then: Block,
    },
    Suspend(Ident, Block),
    Trap(Ident, Block),
    Exit(Ident),
    Present(Ident, Block, Block),
    If(Expression, Block, Block),
    Local(Ident, Option<TypeName>),
    In(Ident, Block),
    Parallel(Vec<Branch>),
}

impl StatementKind {
    /// The blocks of a statement.
    pub(crate) fn blocks(&mut self) -> Vec<&mut Block> {
        match self {
            StatementKind::Every(_, body)
            | StatementKind::Loop(body)
            | StatementKind::Restart(_, body)
            | StatementKind::Suspend(_, body)
            | StatementKind::Trap(_, body)
            | StatementKind::In(_, body) => vec![body],
            StatementKind::Abort { body: one, then: other, .. }
            | StatementKind::Present(_, one, other)
            | StatementKind::If(_, one, other) => vec![one, other],
            StatementKind::Parallel(all) => all.iter_mut().map(|one| &mut one.block).collect(),
            StatementKind::AwaitCase(cases) => cases.iter_mut().map(|(_, body)| body).collect(),
            _ => Vec::new(),
        }
    }
}

/// A branch of `||`.
#[derive(Debug)]
pub(crate) struct Branch {
    pub(crate) block: Block,
    /// Which tokens of the text it has.
    pub(crate) tokens: std::ops::Range<usize>,
}

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) immediate: bool,
    pub(crate) is: EventKind,
    pub(crate) at: Span,
}

#[derive(Debug)]
pub(crate) enum EventKind {
    Signal {
        name: Ident,
        bound: Option<Ident>,
        guard: Option<Expression>,
    },
    /// A wait, in milliseconds.
    After(u64),
    /// As long without an ADU, in milliseconds.
    Idle(u64),
    Room,
    Drained,
    Ended,
}

#[derive(Clone, Debug)]
pub(crate) struct Expression {
    pub(crate) is: ExpressionKind,
    pub(crate) at: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum ExpressionKind {
    Number(u64),
    Truth(bool),
    Octets(Vec<u8>),
    Name(String),
    Field(Ident, Ident),
    Call(Ident, Vec<Expression>),
    Not(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    Plus,
    Minus,
    Times,
    Over,
    Modulo,
}

impl Operator {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Operator::Or => "||",
            Operator::And => "&&",
            Operator::Equal => "==",
            Operator::Unequal => "!=",
            Operator::Less => "<",
            Operator::AtMost => "<=",
            Operator::More => ">",
            Operator::AtLeast => ">=",
            Operator::Plus => "+",
            Operator::Minus => "-",
            Operator::Times => "*",
            Operator::Over => "/",
            Operator::Modulo => "%",
        }
    }
}

/// `property NAME: …;`
#[derive(Debug)]
pub(crate) struct PropertyItem {
    pub(crate) name: Ident,
    pub(crate) claim: ClaimItem,
}

#[derive(Debug)]
pub(crate) enum ClaimItem {
    Never { what: DeedItem, before: Option<DeedItem> },
    Always(Expression, Ident),
    Ordered(DeedItem),
    Eventually { what: DeedItem, way: Vec<(Ident, u64)> },
}

/// What a role does: `call f`, `emit X`, `send A`; the role where several could be meant.
#[derive(Debug)]
pub(crate) struct DeedItem {
    pub(crate) role: Option<Ident>,
    pub(crate) verb: Ident,
    pub(crate) name: Ident,
}

#[derive(Debug)]
pub(crate) enum ModelItem {
    /// The values that a host function answers, or that a value of an input has.
    Values {
        name: Ident,
        values: Vec<u64>,
    },
    /// What a host function answers.
    Means {
        name: Ident,
        value: Expression,
    },
    /// How many times the application tells an input.
    Tells {
        name: Ident,
        times: u64,
    },
    Way(Ident, Option<u64>),
}
