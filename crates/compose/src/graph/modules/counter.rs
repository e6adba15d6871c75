//! Counts what passes.

use stackwright_contract::words::{Indication, Request};
use stackwright_contract::{Context, Service, Word};
use stackwright_wire::Message;

use crate::graph::{Module, Mouth};

/// What passed one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// All words.
    pub words: u64,
    /// Those with a message.
    pub messages: u64,
    /// What the messages hold.
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

/// Counts words and octets, each way. Ask for it by [`Graph::protocol`](crate::graph::Graph::protocol), or read what
/// was popped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counter {
    /// Requests.
    pub down: Count,
    /// Indications.
    pub up: Count,
}

impl<M: Message, B: Service + 'static> Module<M, B> for Counter {
    fn name(&self) -> &'static str {
        "counter"
    }

    fn takes_batches(&self) -> bool {
        true
    }

    fn handle_request(&mut self, _cx: &Context, request: Request<M, B>, mouth: &mut Mouth<'_, M, B>) {
        self.down.add(&request);
        mouth.ask(0, request);
    }

    fn handle_indication(
        &mut self,
        _cx: &Context,
        indication: Indication<M, B>,
        mouth: &mut Mouth<'_, M, B>,
    ) {
        self.up.add(&indication);
        mouth.tell(0, indication);
    }
}
