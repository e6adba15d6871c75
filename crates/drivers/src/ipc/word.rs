//! Words of a service with associations as [`Fields`], both ways. A decoded word is a valid one.
//!
//! A command of one protocol's own, or one that secures an association, is not carried, nor is why
//! it failed: names, keys and certificates belong to a process. The stack at the other side answers
//! that it knows no such command.

use std::num::NonZeroU32;

use stackwright_contract::services::{
    AssociationIndication, AssociationRequest, Batch, Ecn, Ended, MessageKind, MessageProperties,
    Transfer,
};
use stackwright_contract::{
    Command, CommandError, Guarantees, Handle, PathLimits, PhaseRule, RuleRefusal, SecurityError,
    Trouble, Word,
};
use stackwright_wire::Message;

use super::fields::{Fields, array_at, u32_at};

/// A service whose words cross between processes: datagrams and streams are.
pub trait Crossing:
    Transfer<
        Properties: From<MessageProperties> + Into<MessageProperties>,
        Order = std::convert::Infallible,
        Notice = std::convert::Infallible,
    >
{
}

impl<T> Crossing for T where
    T: Transfer<
            Properties: From<MessageProperties> + Into<MessageProperties>,
            Order = std::convert::Infallible,
            Notice = std::convert::Infallible,
        >
{
}

mod kind {
    pub(super) const LISTEN: u8 = 1;
    pub(super) const AWAIT: u8 = 2;
    pub(super) const OPEN: u8 = 3;
    pub(super) const SEND: u8 = 4;
    pub(super) const CREDIT: u8 = 5;
    pub(super) const CONTROL: u8 = 6;
    pub(super) const FINISH: u8 = 7;
    pub(super) const ABORT: u8 = 8;
    pub(super) const CLOSE: u8 = 9;
    pub(super) const LISTENING: u8 = 17;
    pub(super) const OPENED: u8 = 18;
    pub(super) const CHANGED: u8 = 19;
    pub(super) const DELIVERED: u8 = 20;
    pub(super) const CREDITED: u8 = 21;
    pub(super) const CONTROLLED: u8 = 22;
    pub(super) const REPORTED: u8 = 23;
    pub(super) const ENDING: u8 = 24;
    pub(super) const FINISHED: u8 = 25;
    pub(super) const ENDED: u8 = 26;
    pub(super) const HELLO: u8 = 32;
    pub(super) const REFUSED: u8 = 33;
}

/// What words mean; one that cannot be understood by the version before has the next number.
const VERSION: u32 = 2;

/// Returns the first word of each side: the version, whether messages are carried, and what an
/// application needs that the stack promises, or what it does promise.
pub(super) fn hello<T: Crossing>(promises: Guarantees) -> Fields {
    let name = Handle { index: 0, generation: 0 };
    let (flags, other) = (T::MESSAGES.into(), promises.bits().into());
    Fields { number: VERSION, flags, other, ..Fields::of(kind::HELLO, name) }
}

/// Octets of the longest sentence in which a server says why it refuses something.
const SENTENCE_MOST: usize = 512;

/// Returns the word that a sentence follows, which says why a server refuses something.
pub(super) fn refusal(sentence: &str) -> Fields {
    let name = Handle { index: 0, generation: 0 };
    Fields { length: sentence.len() as u32, ..Fields::of(kind::REFUSED, name) }
}

/// Returns the promises of a first word; `None`: it is one of another version or service.
fn greeted<W, T: Crossing>(fields: &Fields) -> Option<Heard<W>> {
    let promises = Guarantees::from_bits(u16::try_from(fields.other).ok()?);
    (*fields == hello::<T>(promises)).then_some(Heard::Hello(promises))
}

/// Returns the fields of a request. What it carries follows.
pub(super) fn of_request<T: Crossing>(request: &mut AssociationRequest<T>) -> Fields {
    type Request<T> = AssociationRequest<T>;
    let name = *request.name_mut().expect("each has one");
    match request {
        Request::Listen { local, .. } => {
            Fields { participants: [Some(*local), None], ..Fields::of(kind::LISTEN, name) }
        }
        Request::Await { listener, credit, .. } => Fields {
            number: listener.index,
            other: listener.generation,
            credit: *credit,
            ..Fields::of(kind::AWAIT, name)
        },
        Request::Open { remote, local, credit, .. } => Fields {
            participants: [Some(*remote), *local],
            credit: *credit,
            ..Fields::of(kind::OPEN, name)
        },
        Request::Send { batch, properties, .. } => {
            carrying::<T>(kind::SEND, name, batch, *properties)
        }
        Request::Credit { credit, .. } => {
            Fields { credit: *credit, ..Fields::of(kind::CREDIT, name) }
        }
        Request::Tell { order, .. } => match *order {},
        Request::Control { command, .. } => {
            let (detail, flags, number) = match command {
                Command::Unread => (1, 0, 0),
                Command::Renegotiate => (2, 0, 0),
                Command::Phase(phase) => (3, *phase, 0),
                Command::Require(rule) => of_rule(4, *rule),
                Command::Wish(rule) => of_rule(5, *rule),
                _ => (0, 0, 0),
            };
            Fields { detail, flags, number, ..Fields::of(kind::CONTROL, name) }
        }
        Request::Finish { .. } => Fields::of(kind::FINISH, name),
        Request::Abort { code, .. } => Fields { number: *code, ..Fields::of(kind::ABORT, name) },
        Request::Close { .. } => Fields::of(kind::CLOSE, name),
    }
}

/// Returns the request of these fields; `None`: it is none.
pub(super) fn request<T: Crossing>(
    fields: &Fields,
    octets: T::Message,
) -> Option<AssociationRequest<T>> {
    type Request<T> = AssociationRequest<T>;
    let Fields { name, credit, number, participants: [first, second], .. } = *fields;
    let association = name;
    Some(match fields.kind {
        kind::LISTEN => Request::Listen { listener: name, local: first? },
        kind::AWAIT => {
            let listener = Handle { index: number, generation: fields.other };
            Request::Await { listener, association, credit }
        }
        kind::OPEN => Request::Open { association, remote: first?, local: second, credit },
        kind::SEND => {
            let (batch, properties) = carried::<T>(fields, octets)?;
            Request::Send { association, batch, properties }
        }
        kind::CREDIT => Request::Credit { association, credit },
        kind::CONTROL => {
            let command = match fields.detail {
                0 => Command::Own { name: "a command of another process", argument: 0 },
                1 => Command::Unread,
                2 => Command::Renegotiate,
                3 => Command::Phase(fields.flags),
                4 => Command::Require(rule(fields)),
                5 => Command::Wish(rule(fields)),
                _ => return None,
            };
            Request::Control { association, command }
        }
        kind::FINISH => Request::Finish { association },
        kind::ABORT => Request::Abort { association, code: number },
        kind::CLOSE => Request::Close { name },
        _ => return None,
    })
}

/// Returns the fields of an indication. What it carries follows.
pub(super) fn of_indication<T: Crossing>(indication: &AssociationIndication<T>) -> Fields {
    type Indication<T> = AssociationIndication<T>;
    let name = indication.name();
    match indication {
        Indication::Listening { local, .. } => {
            Fields { participants: [Some(*local), None], ..Fields::of(kind::LISTENING, name) }
        }
        Indication::Opened { local, remote, credit, path, .. } => Fields {
            participants: [Some(*local), Some(*remote)],
            credit: *credit,
            ..of_path(kind::OPENED, name, *path)
        },
        Indication::Changed { path, .. } => of_path(kind::CHANGED, name, *path),
        Indication::Delivered { batch, properties, .. } => {
            carrying::<T>(kind::DELIVERED, name, batch, *properties)
        }
        Indication::Credit { credit, .. } => {
            Fields { credit: *credit, ..Fields::of(kind::CREDITED, name) }
        }
        Indication::Told { notice, .. } => match *notice {},
        Indication::Controlled { outcome, .. } => {
            let (detail, number) = match outcome {
                Ok(value) => (0, *value),
                Err(CommandError::Unknown) => (1, 0),
                Err(CommandError::Busy) => (2, 0),
                Err(CommandError::Declined | CommandError::Insecure { .. }) => (3, 0),
                Err(CommandError::Refused(why)) => (4, *why as u32),
            };
            Fields { detail, number, ..Fields::of(kind::CONTROLLED, name) }
        }
        Indication::Reported { by, what, quoted, .. } => {
            let (detail, number) = match what {
                Trouble::Unreachable => (0, 0),
                Trouble::Refused => (1, 0),
                Trouble::Prohibited => (2, 0),
                Trouble::TooLong { longest } => (3, *longest),
                Trouble::TooFar => (4, 0),
                _ => (5, 0),
            };
            let mut own = [0; 24];
            own[..8].copy_from_slice(quoted);
            let participants = [Some(*by), None];
            Fields { detail, number, own, participants, ..Fields::of(kind::REPORTED, name) }
        }
        Indication::Ending { .. } => Fields::of(kind::ENDING, name),
        Indication::Finished { .. } => Fields::of(kind::FINISHED, name),
        Indication::Ended { why, .. } => {
            let (detail, number) = of_ended(*why);
            Fields { detail, number, ..Fields::of(kind::ENDED, name) }
        }
    }
}

/// What the other side says of no association.
#[derive(Debug)]
pub(super) enum Heard<W> {
    /// It speaks the same version of the words of the same service, and these promises are needed,
    /// or given.
    Hello(Guarantees),
    /// A word.
    Word(W),
    /// Why the server refuses something.
    Refusal(String),
}

/// Returns what an application says; `None`: it is no word.
pub(super) fn heard_request<T: Crossing>(
    fields: &Fields,
    octets: T::Message,
) -> Option<Heard<AssociationRequest<T>>> {
    match fields.kind {
        kind::HELLO => greeted::<_, T>(fields),
        _ => request(fields, octets).map(Heard::Word),
    }
}

/// Returns what a server says; `None`: it is no word.
pub(super) fn heard_indication<T: Crossing>(
    fields: &Fields,
    octets: T::Message,
) -> Option<Heard<AssociationIndication<T>>> {
    type Indication<T> = AssociationIndication<T>;
    let Fields { name, credit, number, participants: [first, second], .. } = *fields;
    let association = name;
    Some(Heard::Word(match fields.kind {
        kind::HELLO => return greeted::<_, T>(fields),
        kind::REFUSED if octets.len() <= SENTENCE_MOST => {
            let mut sentence = Vec::new();
            octets.append_to(&mut sentence);
            return Some(Heard::Refusal(String::from_utf8(sentence).ok()?));
        }
        kind::LISTENING => Indication::Listening { listener: name, local: first? },
        kind::OPENED => {
            let (local, remote, path) = (first?, second?, path(fields));
            Indication::Opened { association, local, remote, credit, path }
        }
        kind::CHANGED => Indication::Changed { association, path: path(fields) },
        kind::DELIVERED => {
            let (batch, properties) = carried::<T>(fields, octets)?;
            Indication::Delivered { association, batch, properties }
        }
        kind::CREDITED => Indication::Credit { association, credit },
        kind::CONTROLLED => {
            let outcome = match fields.detail {
                0 => Ok(number),
                1 => Err(CommandError::Unknown),
                2 => Err(CommandError::Busy),
                3 => Err(CommandError::Declined),
                4 => {
                    Err(CommandError::Refused(RuleRefusal::of(u16::try_from(number).unwrap_or(0))))
                }
                _ => return None,
            };
            Indication::Controlled { association, outcome }
        }
        kind::REPORTED => {
            let what = match fields.detail {
                0 => Trouble::Unreachable,
                1 => Trouble::Refused,
                2 => Trouble::Prohibited,
                3 => Trouble::TooLong { longest: number },
                4 => Trouble::TooFar,
                5 => Trouble::Malformed,
                _ => return None,
            };
            let quoted = array_at(&fields.own, 0);
            Indication::Reported { association, by: first?, what, quoted }
        }
        kind::ENDING => Indication::Ending { association },
        kind::FINISHED => Indication::Finished { association },
        kind::ENDED => Indication::Ended { name, why: ended(fields.detail, number)? },
        _ => return None,
    }))
}

/// Returns the detail, the flags and the number of a command with a rule.
fn of_rule(detail: u8, rule: PhaseRule) -> (u8, u8, u32) {
    let PhaseRule { ordered, fenced, resends } = rule;
    let flags = u8::from(ordered) | u8::from(fenced) << 1 | u8::from(resends.is_some()) << 2;
    (detail, flags, resends.unwrap_or(0).into())
}

fn rule(fields: &Fields) -> PhaseRule {
    let has = |flag: u8| fields.flags & flag != 0;
    let resends = has(4).then_some(fields.number as u16);
    PhaseRule { ordered: has(1), fenced: has(2), resends }
}

/// `own`: lifetime, number, whether there is one, priority, kind, ECN, returned.
fn carrying<T: Crossing>(
    kind: u8,
    name: Handle,
    batch: &Batch<T::Message>,
    properties: T::Properties,
) -> Fields {
    let properties: MessageProperties = properties.into();
    let mut own = [0; 24];
    own[..4].copy_from_slice(&properties.lifetime.map_or(0, NonZeroU32::get).to_le_bytes());
    own[4..8].copy_from_slice(&properties.number.unwrap_or(0).to_le_bytes());
    own[8..13].copy_from_slice(&[
        properties.number.is_some().into(),
        properties.priority,
        (properties.kind == MessageKind::Control).into(),
        properties.ecn.bits(),
        properties.returned.into(),
    ]);
    let number = batch.segment_size().map_or(0, NonZeroU32::get);
    // What a word carries is within a credit that is far below 4 GiB.
    Fields { length: batch.octets() as u32, number, own, ..Fields::of(kind, name) }
}

fn carried<T: Crossing>(
    fields: &Fields,
    octets: T::Message,
) -> Option<(Batch<T::Message>, T::Properties)> {
    let own = &fields.own;
    let properties = MessageProperties {
        lifetime: NonZeroU32::new(u32_at(own, 0)),
        number: (own[8] != 0).then(|| u32_at(own, 4)),
        priority: own[9],
        kind: if own[10] == 0 { MessageKind::Data } else { MessageKind::Control },
        ecn: Ecn::of_bits(own[11]),
        returned: own[12] != 0,
    };
    let batch = match fields.number as usize {
        0 => octets.into(),
        _ if octets.is_empty() => return None,
        size => Batch::new(octets, size),
    };
    Some((batch, properties.into()))
}

fn of_path(kind: u8, name: Handle, path: PathLimits) -> Fields {
    let flags = u8::from(path.checks) | u8::from(path.empty) << 1;
    Fields { number: path.longest, other: path.frame_time, flags, ..Fields::of(kind, name) }
}

fn path(fields: &Fields) -> PathLimits {
    PathLimits {
        longest: fields.number,
        frame_time: fields.other,
        checks: fields.flags & 1 != 0,
        empty: fields.flags & 2 != 0,
    }
}

fn of_ended(why: Ended) -> (u8, u32) {
    match why {
        Ended::Finished => (0, 0),
        Ended::Aborted => (1, 0),
        Ended::Unlistened => (2, 0),
        Ended::Unreachable => (3, 0),
        Ended::Unavailable => (4, 0),
        Ended::Exhausted => (5, 0),
        Ended::Refused(code) => (6, code),
        Ended::Reset(code) => (7, code),
        Ended::SourceShort => (8, 0),
        Ended::Expired => (9, 0),
        Ended::Forged => (10, 0),
        Ended::TooLong { longest } => (11, longest),
        Ended::Overrun => (12, 0),
        Ended::Truncated => (13, 0),
        Ended::Insecure(_) => (14, 0),
    }
}

pub(super) fn ended(detail: u8, number: u32) -> Option<Ended> {
    Some(match detail {
        0 => Ended::Finished,
        1 => Ended::Aborted,
        2 => Ended::Unlistened,
        3 => Ended::Unreachable,
        4 => Ended::Unavailable,
        5 => Ended::Exhausted,
        6 => Ended::Refused(number),
        7 => Ended::Reset(number),
        8 => Ended::SourceShort,
        9 => Ended::Expired,
        10 => Ended::Forged,
        11 => Ended::TooLong { longest: number },
        12 => Ended::Overrun,
        13 => Ended::Truncated,
        14 => Ended::Insecure(SecurityError::Broken),
        _ => return None,
    })
}
