//! From a workload to conversations.

use serde::Deserialize;
use stackwright_contract::{Duration, Participant};

use super::content::SHORTEST;
use crate::scenario::{OctetCount, Time};
use crate::transport::Transport;

/// A kind of work, as a scenario file names it. All sizes are those of payload.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) enum Workload {
    /// So many octets on one association, in messages of one size; the last one is filled up.
    Bulk { octets: OctetCount, message: OctetCount },
    /// Messages on one association, one after each `every`.
    Messages {
        count: u32,
        message: OctetCount,
        #[serde(default)]
        every: Time,
    },
    /// A request, its reply, the next request.
    Requests { count: u32, request: OctetCount, reply: OctetCount },
    /// Files, one after the other, each on an association of its own, in messages of one size.
    Files { sizes: Vec<OctetCount>, message: OctetCount },
    /// Many associations at once, each with so many messages.
    Associations { count: u32, messages: u32, message: OctetCount },
    /// Several of them at the same time.
    Mixed(Vec<Workload>),
}

/// What is to be done, by groups that know nothing of each other.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Plan {
    pub(super) conversations: Vec<Conversation>,
    pub(super) groups: Vec<Group>,
    /// Each conversation has a port of its own, from the server's on.
    pub(super) spread: bool,
}

/// Conversations of which so many are open at once.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Group {
    pub(super) members: std::ops::Range<usize>,
    pub(super) at_once: usize,
}

/// What is said on one association.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Conversation {
    pub(super) messages: u32,
    /// Of a message, in octets.
    pub(super) octets: u16,
    /// Of the reply that each message is to have; 0 for none.
    pub(super) reply: u16,
    /// The time from one message to the next; zero for as soon as there is room.
    pub(super) every: Duration,
}

/// How many messages a plan may have: their numbers have 32 bits, and whoever hears them keeps a
/// bit for each.
const MESSAGES_MOST: u64 = 1 << 30;
/// How many associations, as many as an address has ports to open them from.
const ASSOCIATIONS_MOST: usize = 16_000;
/// The longest message, in octets: a UDP datagram over IPv4, less room for headers of transports.
const LONGEST: u16 = 65_000;

impl Plan {
    /// The plan of a workload over a transport.
    ///
    /// # Errors
    /// What cannot be done, in a sentence.
    pub(crate) fn of(workload: &Workload, transport: &Transport) -> Result<Plan, String> {
        let mut plan = Plan::default();
        plan.add(workload)?;
        plan.spread = plan.associations() > transport.associations_most();
        let messages = plan.messages();
        if messages > MESSAGES_MOST {
            return Err(format!(
                "the workload has {messages} messages; the limit is {MESSAGES_MOST}"
            ));
        }
        if messages == 0 {
            return Err("the workload has no message".into());
        }
        Ok(plan)
    }

    fn add(&mut self, workload: &Workload) -> Result<(), String> {
        match workload {
            Workload::Bulk { octets, message } => self.group(1, [bulk(*octets, *message)?]),
            Workload::Messages { count, message, every } => {
                self.group(1, [Conversation { every: every.0, ..talk(*count, *message)? }])
            }
            Workload::Requests { count, request, reply } => {
                self.group(1, [Conversation { reply: size(*reply)?, ..talk(*count, *request)? }])
            }
            Workload::Files { sizes, message } => {
                let files: Result<Vec<_>, _> =
                    sizes.iter().map(|octets| bulk(*octets, *message)).collect();
                self.group(1, files?)
            }
            Workload::Associations { count, messages, message } => {
                let count = *count as usize;
                let each = talk(*messages, *message)?;
                self.group(count, std::iter::repeat_n(each, count.min(ASSOCIATIONS_MOST + 1)))
            }
            Workload::Mixed(parts) => {
                // A file of bounded length cannot nest them deeper than the stack bears.
                parts.iter().try_for_each(|part| self.add(part))
            }
        }
    }

    fn group(
        &mut self,
        at_once: usize,
        conversations: impl IntoIterator<Item = Conversation>,
    ) -> Result<(), String> {
        let start = self.conversations.len();
        self.conversations.extend(conversations);
        let members = start..self.conversations.len();
        if members.end > ASSOCIATIONS_MOST {
            return Err(format!("the workload has more than {ASSOCIATIONS_MOST} associations"));
        }
        if !members.is_empty() {
            self.groups.push(Group { members, at_once });
        }
        Ok(())
    }

    /// Where the server of a conversation is, of which the first is at `first`.
    pub(super) fn place(&self, first: Participant, conversation: usize) -> Participant {
        match first.internet() {
            Some(mut address) if self.spread => {
                let port = usize::from(address.port()) + conversation;
                address.set_port(u16::try_from(port).unwrap_or(u16::MAX));
                address.into()
            }
            _ => first,
        }
    }

    /// How many listeners it needs, each at the next port.
    pub(super) fn listeners(&self) -> usize {
        if self.spread { self.associations() } else { 1 }
    }

    /// How many associations it needs.
    pub(crate) fn associations(&self) -> usize {
        self.conversations.len()
    }

    /// How many messages the client sends.
    pub(crate) fn messages(&self) -> u64 {
        self.conversations.iter().map(|talk| u64::from(talk.messages)).sum()
    }
}

fn talk(messages: u32, message: OctetCount) -> Result<Conversation, String> {
    Ok(Conversation { messages, octets: size(message)?, reply: 0, every: Duration::ZERO })
}

fn bulk(octets: OctetCount, message: OctetCount) -> Result<Conversation, String> {
    let each = size(message)?;
    let messages = octets.0.div_ceil(u64::from(each)).max(1);
    let messages = u32::try_from(messages)
        .map_err(|_| format!("{} octets need too many messages", octets.0))?;
    Ok(Conversation { messages, octets: each, reply: 0, every: Duration::ZERO })
}

fn size(message: OctetCount) -> Result<u16, String> {
    match u16::try_from(message.0) {
        Ok(size) if (SHORTEST..=usize::from(LONGEST)).contains(&usize::from(size)) => Ok(size),
        _ => Err(format!("a message must have {SHORTEST} to {LONGEST} octets, not {}", message.0)),
    }
}
