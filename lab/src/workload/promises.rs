//! What a transport promised, held against what it delivered.
//!
//! Delivered ⊆ sent, each at most once, in the promised order: of each conversation a bit for each
//! message is kept. A promise that was not given cannot be broken: what comes twice over UDP is
//! counted, and is no fault.

use std::fmt;

use serde::{Deserialize, Serialize};
use stackwright_contract::Guarantees;

use super::End;
use super::content::Label;
use super::plan::Conversation;

/// A broken promise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Broken {
    /// What arrived is not what was sent.
    Altered,
    /// It was never sent.
    Invented { conversation: u16, number: u32 },
    /// It came before.
    Twice { conversation: u16, number: u32 },
    /// Another was to come first.
    Order { conversation: u16, number: u32, expected: u32 },
    /// The sender was told that all arrived.
    Missing { conversation: u16, arrived: u32, sent: u32 },
    /// It was to be over by then.
    Late { conversation: u16, arrived: u32, sent: u32 },
}

impl Broken {
    /// Whether it is a guarantee of the transport that is violated: no transport guarantees that a
    /// workload ends in time.
    pub(crate) fn violates(&self) -> bool {
        !matches!(self, Broken::Late { .. })
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Broken::Altered => f.write_str("a message arrived altered"),
            Broken::Invented { conversation, number } => {
                write!(
                    f,
                    "message {number} of conversation {conversation} arrived but was never sent"
                )
            }
            Broken::Twice { conversation, number } => {
                write!(f, "message {number} of conversation {conversation} arrived twice")
            }
            Broken::Order { conversation, number, expected } => {
                write!(
                    f,
                    "message {number} of conversation {conversation} arrived before message {expected}"
                )
            }
            Broken::Missing { conversation, arrived, sent } => write!(
                f,
                "conversation {conversation} ended as complete, but only {arrived} of its {sent} messages arrived"
            ),
            Broken::Late { conversation, arrived, sent } => write!(
                f,
                "conversation {conversation} did not end in time; {arrived} of its {sent} messages arrived"
            ),
        }
    }
}

/// What arrived of one direction of all conversations.
#[derive(Debug)]
pub(crate) struct Promises {
    given: Guarantees,
    heard: Vec<Heard>,
    pub(crate) counts: Counts,
    /// The first one that was broken.
    pub(crate) broken: Option<Broken>,
}

/// How much arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Counts {
    /// Messages, the first copy of each.
    pub(crate) messages: u64,
    /// Their octets of payload.
    pub(crate) octets: u64,
    /// Further copies.
    pub(crate) doubled: u64,
    /// Messages that came after one which was sent later.
    pub(crate) overtaken: u64,
    /// What could not be read.
    pub(crate) altered: u64,
}

#[derive(Clone, Debug, Default)]
struct Heard {
    seen: Vec<u64>,
    arrived: u32,
    next: u32,
}

impl Heard {
    /// Whether it came before.
    fn note(&mut self, number: u32) -> bool {
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        if self.seen.len() <= word {
            self.seen.resize(word + 1, 0);
        }
        let before = self.seen[word] & bit != 0;
        self.seen[word] |= bit;
        before
    }
}

impl Promises {
    pub(super) fn new(given: Guarantees, conversations: usize) -> Self {
        Promises {
            given,
            heard: vec![Heard::default(); conversations],
            counts: Counts::default(),
            broken: None,
        }
    }

    /// A message arrived. Whether it is the first copy of what the plan has.
    pub(super) fn arrived(
        &mut self,
        label: Option<Label>,
        octets: usize,
        plan: &[Conversation],
    ) -> bool {
        let Some(label) = label else {
            self.counts.altered += 1;
            if self.given.has(Guarantees::CHECKED) {
                self.breaks(Broken::Altered);
            }
            return false;
        };
        let Label { conversation, number, .. } = label;
        let known = plan.get(usize::from(conversation)).filter(|talk| number < talk.messages);
        let Some((_, heard)) = known.zip(self.heard.get_mut(usize::from(conversation))) else {
            self.breaks(Broken::Invented { conversation, number });
            return false;
        };
        if heard.note(number) {
            self.counts.doubled += 1;
            if self.given.has(Guarantees::ONCE) {
                self.breaks(Broken::Twice { conversation, number });
            }
            return false;
        }
        heard.arrived += 1;
        let expected = heard.next;
        heard.next = expected.max(number + 1);
        self.counts.messages += 1;
        self.counts.octets += octets as u64;
        // Who promises to lose nothing may leave no gap; who does not may only not go back.
        let gap = number > expected && self.given.has(Guarantees::RELIABLE);
        if number < expected {
            self.counts.overtaken += 1;
        }
        if self.given.has(Guarantees::ORDERED) && (number < expected || gap) {
            self.breaks(Broken::Order { conversation, number, expected });
        }
        true
    }

    /// Whether nothing may be missing.
    pub(crate) fn reliable(&self) -> bool {
        self.given.has(Guarantees::RELIABLE)
    }

    /// What its sender knows of each conversation when all is over.
    pub(super) fn concluded(&mut self, ends: &[End], plan: &[Conversation]) {
        for (at, (ended, talk)) in ends.iter().zip(plan).enumerate() {
            let conversation = u16::try_from(at).unwrap_or(u16::MAX);
            let (arrived, sent) = (self.heard[at].arrived, talk.messages);
            match ended {
                End::Well if self.given.has(Guarantees::RELIABLE) && arrived < sent => {
                    self.breaks(Broken::Missing { conversation, arrived, sent });
                }
                End::Missing => self.breaks(Broken::Late { conversation, arrived, sent }),
                End::Well | End::Otherwise(_) => {}
            }
        }
    }

    fn breaks(&mut self, broken: Broken) {
        self.broken.get_or_insert(broken);
    }
}
