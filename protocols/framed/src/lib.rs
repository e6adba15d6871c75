//! Messages over a stream, each behind its length: protocols of messages run over the kernel's TCP.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

use alloc::collections::VecDeque;

use stackwright_contract::ask::{Ask, Longest, Question, ask_behind_header};
use stackwright_contract::described::Described;
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended, MessageProperties, Streams,
    StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Context, Facts, Guarantees, Handle, Mirror, Outlet, PathLimits, Protocol,
};
use stackwright_wire::{Header, Message};

const NAME: &str = "framed";

/// The header of each message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Length {
    /// The length of the message, in octets.
    pub octets: u16,
}

/// The initial credit downward of one association.
const ROOM_DOWN: Credit = Credit { octets: 1 << 20, messages: 1024 };
/// How many octets the stream below may deliver before they are handled.
const ROOM_UP: usize = 1 << 20;

/// The protocol: messages over a stream.
pub struct Framed<M> {
    associations: Mirror<Association<M>>,
}

struct Association<M> {
    /// Credit of the stream below, and messages that wait for it, each with its whole length.
    down: usize,
    waiting: VecDeque<(M, usize)>,
    /// Credit of the layer above, and octets that are not delivered yet.
    up: Credit,
    arrived: Option<M>,
    open: bool,
    end: End,
}

/// The state of an association's end.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Open,
    /// The peer has finished: what it sent is delivered, what waits is sent, and then it is closed
    /// below.
    PeerFinished,
    /// `Close` was requested: what waits is sent, what arrives is discarded.
    Closing,
    /// It is closed below.
    Closed,
    /// The peer finished in the middle of a message: it is aborted below, and was reset.
    Cut,
}

type Out<'a, M> = &'a mut dyn Outlet<Framed<M>>;

impl<M: Message> Default for Framed<M> {
    fn default() -> Self {
        Framed { associations: Mirror::new() }
    }
}

/// Returns the description of the protocol in a file, which has no parameters.
pub const fn described<M: Message>() -> Described<Framed<M>> {
    Described { parameters: &[], make: |_, _| Ok(Framed::default()) }
}

impl<M: Message> Framed<M> {
    fn begin(&mut self, name: Handle, up: Credit) {
        let association = Association {
            down: 0,
            waiting: VecDeque::new(),
            up,
            arrived: None,
            open: false,
            end: End::Open,
        };
        self.associations.insert(name, association);
    }

    /// Puts its length before a message and queues it for the stream.
    fn push(&mut self, cx: &Context, name: Handle, mut message: M, out: Out<'_, M>) {
        let whole = message.len();
        let (Some(association), Ok(octets)) =
            (self.associations.get_mut(name), u16::try_from(whole))
        else {
            return cx
                .dropped(NAME, "a message for an association that is over, or longer than any");
        };
        if !matches!(association.end, End::Open | End::PeerFinished) {
            return cx.dropped(NAME, "a message for an association that was closed");
        }
        message.push(&Length { octets });
        association.waiting.push_back((message, whole));
        self.send(name, out);
    }

    /// Sends as much as the credit of the stream permits.
    fn send(&mut self, name: Handle, out: Out<'_, M>) {
        let Some(association) = self.associations.get_mut(name) else { return };
        while association.down > 0
            && let Some((message, whole)) = association.waiting.front_mut()
        {
            let part = message.split_to(message.len().min(association.down));
            association.down -= part.len();
            out.request(StreamsRequest::Send {
                association: name,
                batch: part.into(),
                properties: Default::default(),
            });
            if message.is_empty() {
                let credit = Credit { octets: *whole, messages: 1 };
                association.waiting.pop_front();
                out.indicate(DatagramsIndication::Credit { association: name, credit });
            }
        }
        self.close_below(name, out);
    }

    /// Closes the stream if nothing is left to send, and to deliver.
    fn close_below(&mut self, name: Handle, out: Out<'_, M>) {
        let Some(association) = self.associations.get_mut(name) else { return };
        let delivered = match association.end {
            End::PeerFinished => association.first_whole().is_none(),
            End::Closing => true,
            End::Open | End::Closed | End::Cut => false,
        };
        // What is left after the last complete message will never be one.
        let is_cut = association.end == End::PeerFinished
            && association.arrived.as_ref().is_some_and(|arrived| !arrived.is_empty());
        if delivered && is_cut {
            association.end = End::Cut;
            out.request(StreamsRequest::Abort { association: name, code: 0 });
        } else if delivered && association.waiting.is_empty() {
            association.end = End::Closed;
            out.request(StreamsRequest::Close { name });
        }
    }

    /// Delivers complete messages, within the credit above; discards all if it was closed above.
    fn deliver(&mut self, name: Handle, out: Out<'_, M>) {
        let Some(association) = self.associations.get_mut(name) else { return };
        let mut consumed = 0;
        if matches!(association.end, End::Closing | End::Closed | End::Cut) {
            consumed = association.arrived.take().map_or(0, |discarded| discarded.len());
        }
        while let Some(octets) = association.first_whole()
            && let (up, Some(arrived)) = (&mut association.up, &mut association.arrived)
            && up.covers(Credit { octets, messages: 1 })
        {
            let whole = Length::LENGTH + octets;
            *up -= Credit { octets, messages: 1 };
            let mut message = arrived.split_to(whole);
            message.advance(Length::LENGTH);
            consumed += whole;
            out.indicate(DatagramsIndication::Delivered {
                association: name,
                batch: message.into(),
                properties: MessageProperties::default(),
            });
        }
        if consumed > 0 && !matches!(association.end, End::Closed | End::Cut) {
            out.request(StreamsRequest::Credit {
                association: name,
                credit: Credit::of_octets(consumed),
            });
        }
        self.close_below(name, out);
    }
}

impl<M: Message> Association<M> {
    /// Returns the length of the first message that has arrived completely.
    fn first_whole(&mut self) -> Option<usize> {
        let arrived = self.arrived.as_mut()?;
        let Length { octets } = Length::decode(arrived.front(Length::LENGTH)?).ok()?;
        let octets = usize::from(octets);
        (arrived.len() >= Length::LENGTH + octets).then_some(octets)
    }
}

impl<M: Message> Protocol for Framed<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::RELIABLE.and(Guarantees::ORDERED),
        gives: Guarantees::ONCE,
        passes: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::CHECKED),
        header_room: Length::LENGTH,
        ..Facts::named(NAME)
    };
    type Provides = Datagrams<M>;
    type Uses = Streams<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            DatagramsRequest::Listen { listener, local } => {
                out.request(StreamsRequest::Listen { listener, local })
            }
            DatagramsRequest::Await { listener, association, credit } => {
                self.begin(association, credit);
                out.request(StreamsRequest::Await {
                    listener,
                    association,
                    credit: Credit::of_octets(ROOM_UP),
                });
            }
            DatagramsRequest::Open { association, remote, local, credit } => {
                self.begin(association, credit);
                out.request(StreamsRequest::Open {
                    association,
                    remote,
                    local,
                    credit: Credit::of_octets(ROOM_UP),
                });
            }
            DatagramsRequest::Send { association, batch: messages, .. } => {
                self.push(cx, association, messages.into_single(), out);
            }
            DatagramsRequest::Credit { association: name, credit } => {
                if let Some(Association { up, .. }) = self.associations.get_mut(name) {
                    *up += credit;
                    self.deliver(name, out);
                }
            }
            DatagramsRequest::Control { association, command } => {
                out.request(StreamsRequest::Control { association, command });
            }
            // Messages have no half close.
            DatagramsRequest::Finish { .. } => {}
            DatagramsRequest::Abort { association, code } => {
                out.request(StreamsRequest::Abort { association, code });
            }
            DatagramsRequest::Close { name } => match self.associations.get_mut(name) {
                Some(association) if association.open => {
                    if !matches!(association.end, End::Open | End::PeerFinished) {
                        return cx.dropped(NAME, "close: it was asked before");
                    }
                    association.end = End::Closing;
                    self.deliver(name, out);
                }
                // The stream knows all names: a listener's, one that is not open, and one that has
                // ended.
                _ => out.request(StreamsRequest::Close { name }),
            },
        }
    }

    fn handle_indication(
        &mut self,
        _cx: &Context,
        indication: StreamsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            StreamsIndication::Listening { listener, local } => {
                out.indicate(DatagramsIndication::Listening { listener, local });
            }
            StreamsIndication::Opened {
                association: name,
                local,
                remote,
                credit: Credit { octets: credit, .. },
                ..
            } => {
                if let Some(association) = self.associations.get_mut(name) {
                    (association.down, association.open) = (credit, true);
                    let credit = ROOM_DOWN;
                    out.indicate(DatagramsIndication::Opened {
                        association: name,
                        local,
                        remote,
                        credit,
                        path: PathLimits::of_longest(u16::MAX.into()),
                    });
                }
            }
            StreamsIndication::Credit {
                association: name,
                credit: Credit { octets: credit, .. },
            } => {
                if let Some(association) = self.associations.get_mut(name) {
                    association.down += credit;
                    self.send(name, out);
                }
            }
            StreamsIndication::Delivered { association: name, batch, .. } => {
                if let Some(association) = self.associations.get_mut(name) {
                    let message = batch.into_octets();
                    match &mut association.arrived {
                        Some(arrived) => arrived.join(message),
                        none => *none = Some(message),
                    }
                    self.deliver(name, out);
                }
            }
            // The limits above are those of the length field.
            StreamsIndication::Changed { .. }
            | StreamsIndication::Reported { .. }
            | StreamsIndication::Ending { .. } => {}
            StreamsIndication::Controlled { association, outcome } => {
                out.indicate(DatagramsIndication::Controlled { association, outcome });
            }
            // An association of messages has one end: behind what was sent, this side closes too.
            StreamsIndication::Finished { association: name } => {
                if let Some(association) = self.associations.get_mut(name) {
                    if association.end == End::Open {
                        association.end = End::PeerFinished;
                    }
                    self.deliver(name, out);
                }
            }
            StreamsIndication::Ended { name, why } => {
                let association = self.associations.remove(name);
                let is_cut = association.is_some_and(|association| association.end == End::Cut);
                let why = if is_cut { Ended::Reset(0) } else { why };
                out.indicate(DatagramsIndication::Ended { name, why });
            }
        }
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Streams<M>>) {
        question.answer::<Longest>(|_| Some(u16::MAX.into()));
        ask_behind_header::<M, _>(Length::LENGTH, about, question, below);
    }
}
