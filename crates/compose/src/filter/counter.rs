//! Counts what passes.

use stackwright_contract::{Context, Word};
use stackwright_wire::Message;

use super::{Filter, WordDirection};

/// What passed in one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// All words.
    pub words: u64,
    /// The messages in them.
    pub messages: u64,
    /// The octets of these messages.
    pub octets: u64,
}

impl Count {
    fn add<M: Message>(&mut self, word: &impl Word<Message = M>) {
        self.words += 1;
        if let Some(message) = word.message() {
            self.messages += word.messages() as u64;
            self.octets += message.len() as u64;
        }
    }
}

/// Counts words, messages and octets in each direction.
///
/// In a graph, [`Graph::protocol`](crate::graph::Graph::protocol) lends it by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counter {
    /// Requests.
    pub down: Count,
    /// Indications.
    pub up: Count,
}

impl<M: Message> Filter<M> for Counter {
    const NAME: &'static str = "counter";

    #[inline]
    fn observe(
        &mut self,
        _cx: &Context,
        direction: WordDirection,
        _service: &'static str,
        word: &mut impl Word<Message = M>,
    ) {
        match direction {
            WordDirection::Down => self.down.add(word),
            WordDirection::Up => self.up.add(word),
        }
    }
}
