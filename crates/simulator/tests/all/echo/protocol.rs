//! Sends back what comes, on any stream service.

use std::collections::VecDeque;

use stackwright_contract::services::{Credit, Ended, Streams, StreamsIndication, StreamsRequest};
use stackwright_contract::{
    Context, Facts, Guarantees, Handle, IndicationTo, Names, Outlet, Participant, Protocol, Service,
};
use stackwright_wire::Message;

/// What may be asked of the echo.
pub(crate) struct Echoing;

pub(crate) enum EchoRequest {
    Begin { local: Participant },
    Stop,
}

#[derive(Debug, PartialEq)]
pub(crate) enum EchoIndication {
    Began { local: Participant },
    Ended(Ended),
}

impl Service for Echoing {
    const NAME: &'static str = "Echoing";
    type Request = EchoRequest;
    type Indication = EchoIndication;
    type Name = ();
}

pub(crate) struct Echo<M> {
    names: Names<Named<M>>,
    listener: Option<Handle>,
    stopping: bool,
    /// How many octets of one association it holds at most.
    window: usize,
    pub(crate) most_queued: usize,
}

enum Named<M> {
    Listener,
    Association(Conversation<M>),
}

struct Conversation<M> {
    credit: usize,
    queue: VecDeque<M>,
    finished: bool,
}

impl<M: Message> Echo<M> {
    pub(crate) fn new(window: usize) -> Self {
        Echo { names: Names::default(), listener: None, stopping: false, window, most_queued: 0 }
    }

    pub(crate) fn living(&self) -> usize {
        self.names.len()
    }

    fn expect(&mut self, out: &mut impl Outlet<Self>) {
        let Some(listener) = self.listener.filter(|_| !self.stopping) else { return };
        let conversation = Conversation { credit: 0, queue: VecDeque::new(), finished: false };
        let association = self.names.name(Named::Association(conversation));
        out.request(StreamsRequest::Await {
            listener,
            association,
            credit: Credit::of_octets(self.window),
        });
    }

    fn send(&mut self, association: Handle, out: &mut impl Outlet<Self>) {
        let Some(Named::Association(conversation)) = self.names.get_mut(association) else {
            return;
        };
        while conversation.credit > 0
            && let Some(mut message) = conversation.queue.pop_front()
        {
            if message.len() > conversation.credit {
                let rest = message.split_to(conversation.credit);
                conversation.queue.push_front(std::mem::replace(&mut message, rest));
            }
            let octets = message.len();
            conversation.credit -= octets;
            out.request(StreamsRequest::Send {
                association,
                batch: message.into(),
                properties: Default::default(),
            });
            out.request(StreamsRequest::Credit { association, credit: Credit::of_octets(octets) });
        }
        if conversation.finished && conversation.queue.is_empty() {
            conversation.finished = false;
            out.request(StreamsRequest::Finish { association });
        }
    }
}

impl<M: Message> Protocol for Echo<M> {
    const FACTS: Facts =
        Facts { needs: Guarantees::RELIABLE.and(Guarantees::ORDERED), ..Facts::named("echo") };
    type Provides = Echoing;
    type Uses = Streams<M>;

    fn handle_request(&mut self, _cx: &Context, request: EchoRequest, out: &mut impl Outlet<Self>) {
        match request {
            EchoRequest::Begin { local } => {
                let listener = self.names.name(Named::Listener);
                self.listener = Some(listener);
                out.request(StreamsRequest::Listen { listener, local });
            }
            EchoRequest::Stop => {
                self.stopping = true;
                let listener = self.listener.expect("it was begun");
                out.request(StreamsRequest::Close { name: listener });
            }
        }
    }

    fn handle_indication(
        &mut self,
        _cx: &Context,
        indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            StreamsIndication::Listening { local, .. } => {
                self.expect(out);
                out.indicate(EchoIndication::Began { local });
            }
            StreamsIndication::Opened {
                association,
                credit: Credit { octets: credit, .. },
                ..
            } => {
                self.expect(out);
                if let Some(Named::Association(conversation)) = self.names.get_mut(association) {
                    conversation.credit = credit;
                }
            }
            StreamsIndication::Credit { association, credit: Credit { octets: credit, .. } } => {
                if let Some(Named::Association(conversation)) = self.names.get_mut(association) {
                    conversation.credit += credit;
                }
                self.send(association, out);
            }
            StreamsIndication::Delivered { association, batch, .. } => {
                let message = batch.into_octets();
                if let Some(Named::Association(conversation)) = self.names.get_mut(association) {
                    conversation.queue.push_back(message);
                    let queued = conversation.queue.iter().map(Message::len).sum();
                    assert!(queued <= self.window, "delivered within the room");
                    self.most_queued = self.most_queued.max(queued);
                }
                self.send(association, out);
            }
            StreamsIndication::Finished { association } => {
                if let Some(Named::Association(conversation)) = self.names.get_mut(association) {
                    conversation.finished = true;
                }
                self.send(association, out);
            }
            StreamsIndication::Changed { .. }
            | StreamsIndication::Controlled { .. }
            | StreamsIndication::Reported { .. }
            | StreamsIndication::Ending { .. } => {}
            StreamsIndication::Ended { name, why } => {
                let named = self.names.forget(name);
                assert!(named.is_some(), "one last word on a name");
                if let Some(Named::Listener) = named {
                    self.listener = None;
                }
                out.indicate(EchoIndication::Ended(why));
            }
        }
    }
}
