//! What any word tells of itself.

use crate::services::Batch;
use crate::{Handle, Participant};

/// Where in the life of its name a word stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Life {
    /// It gives the name.
    Begins,
    /// The name lives before and after it.
    Continues,
    /// It is the last word on the name.
    Ends,
}

/// What a word tells of itself: enough to rename it, to route it, to count and to record it, and to
/// alter what it carries.
///
/// It is written once per *shape* of words (associations, files, octets) and forwarded by the enums
/// of a graph. Combinators, modules and filters need nothing else.
pub trait Word {
    /// What it may carry.
    type Message;

    /// Returns its name, in messages for people and in traces.
    fn primitive(&self) -> &'static str;

    /// Returns where in the life of its name it stands.
    fn life(&self) -> Life {
        Life::Continues
    }

    /// Returns the name that it is about; `None`: the service has no names, or keeps them to
    /// itself.
    fn name_mut(&mut self) -> Option<&mut Handle> {
        None
    }

    /// Returns the second name in it: the listener whose arrival is awaited.
    fn listener_mut(&mut self) -> Option<&mut Handle> {
        None
    }

    /// Returns the local and the remote participant, where it tells them.
    fn participants_mut(&mut self) -> [Option<&mut Participant>; 2] {
        [None, None]
    }

    /// Returns what it carries: a message, or several in one piece.
    fn message(&self) -> Option<&Self::Message> {
        None
    }

    /// Returns how many messages it carries.
    fn messages(&self) -> usize {
        usize::from(self.message().is_some())
    }

    /// Returns the batch that it carries, to be altered.
    fn batch_mut(&mut self) -> Option<&mut Batch<Self::Message>> {
        None
    }
}
