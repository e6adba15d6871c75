//! Streams over any datagrams that are reliable, delivered once, and in whatever order.
//!
//! | file | what |
//! | --- | --- |
//! | `header.rs` | the header |
//! | `send.rs` | from above, downward |
//! | `receive.rs` | from below, upward |
//! | `outgoing.rs`, `incoming.rs` | the two halves of a stream |
//! | `linger.rs` | from the end above to the end below |
//! | `state.rs` | what names denote |
//! | `config.rs`, `described.rs` | the configuration; its description in a file |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod described;
mod header;
mod incoming;
mod linger;
mod outgoing;
mod receive;
mod send;
mod state;

pub use config::Config;
pub use described::described;
pub use header::{DatagramKind, OrderedHeader};

use stackwright_base::events::{Events as _, Expires, Simple};
use stackwright_contract::ask::{Ask, Longest, Question, Reserve};
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, Ended, Streams, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Context, Facts, Guarantees, Handle, Instant, Mirror, Names, Outlet, Protocol,
};
use stackwright_wire::{Header, Message};

use config::WINDOW_FIRST;
use header::LIGHTEST;
use incoming::Incoming;
use outgoing::Outgoing;
use state::{Above, Association, Below, LastWord, Out};

const NAME: &str = "ordered";

/// How many datagrams of one association may arrive at once. Each is handled when it arrives, and
/// its credit returned.
const MESSAGES_AT_ONCE: usize = 1024;

/// How many times as long a closed association waits for progress of its half.
const CLOSING: u32 = 3;

/// The protocol: streams over reliable datagrams.
pub struct Ordered<M> {
    config: Config,
    above: Mirror<Above<M>>,
    below: Names<Below>,
    /// The timeouts of names below. There is one duration, so the newest is always the last.
    timers: Simple<Handle>,
}

impl<M: Message> Default for Ordered<M> {
    fn default() -> Self {
        Self::new(Config::default())
    }
}

impl<M: Message> Ordered<M> {
    /// Makes the protocol.
    ///
    /// # Panics
    /// If nothing could ever move: `window` is at least 128, `room` and `piece` are at least 1.
    pub fn new(config: Config) -> Self {
        let Config { window, room, piece, .. } = config;
        // With a smaller window, the rest of the credit could be too little for a piece and too
        // much to be announced again.
        assert!(
            window >= 2 * LIGHTEST && room > 0 && piece > 0,
            "a stream without room moves nothing"
        );
        Ordered { config, above: Mirror::new(), below: Names::new(), timers: Simple::default() }
    }

    /// Returns how many names above are alive, listeners and those that wait included.
    pub fn associations(&self) -> usize {
        self.above.iter().count()
    }

    /// Returns how many names were given to the layer below and have not ended there.
    pub fn names(&self) -> usize {
        self.below.len()
    }

    /// Iterates over the octets that each association holds for the layer above: at most the
    /// window.
    pub fn held(&self) -> impl Iterator<Item = usize> {
        self.above.iter().filter_map(|(_, above)| match above {
            Above::Association(association) => Some(association.incoming.held()),
            Above::Listener { .. } | Above::Awaited(_) => None,
        })
    }

    /// Returns the credit of the layer below: all that is granted at first, in one piece or
    /// several. It is returned as soon as a datagram arrives, so it need not grow with the window.
    fn room_below(&self) -> Credit {
        Credit {
            octets: self.config.window.min(WINDOW_FIRST) + MESSAGES_AT_ONCE * OrderedHeader::LENGTH,
            messages: MESSAGES_AT_ONCE,
        }
    }

    fn fresh(&self, below: Handle, credit: usize) -> Association<M> {
        Association::new(
            below,
            Outgoing::new(self.config.room),
            Incoming::new(self.config.window, credit),
        )
    }

    fn association(&mut self, cx: &Context, name: Handle) -> Option<&mut Association<M>> {
        match self.above.get_mut(name) {
            Some(Above::Association(association)) if association.closes.is_none() => {
                Some(association)
            }
            _ => {
                cx.dropped(NAME, "no such association");
                None
            }
        }
    }

    /// Gives a closed association time, for the first time or because it has made progress.
    fn set_deadline(&mut self, cx: &Context, name: Handle) {
        let Some(Above::Association(association)) = self.above.get_mut(name) else { return };
        if let Some(ticket) = association.closes {
            self.timers.cancel(ticket);
        }
        let deadline = cx.now() + CLOSING * self.config.timeout;
        association.closes = Some(self.timers.schedule(deadline, association.below));
    }

    /// Delivers, sends and ends whatever can be by now. Of a closed association, only the end is
    /// indicated.
    fn go_on(&mut self, cx: &Context, name: Handle, out: Out<'_, M>) {
        let Some(Above::Association(association)) = self.above.get_mut(name) else { return };
        let closes = association.closes;
        let Association { incoming, .. } = &mut **association;
        while let Some(message) = incoming.next() {
            if closes.is_some() {
                continue;
            }
            out.indicate(StreamsIndication::Delivered {
                association: name,
                batch: message.into(),
                properties: Default::default(),
            });
        }
        if incoming.tells_finish() {
            association.owes_heard = true;
            if closes.is_none() {
                out.indicate(StreamsIndication::Finished { association: name });
            }
        }
        if association.is_finished() {
            let last =
                LastWord { kind: DatagramKind::Farewell, code: 0, dismissed: association.farewell };
            return self.end(cx, name, Ended::Finished, Some(last), out);
        }
        let left = association.speak(self.config.piece, out);
        if left > 0 && closes.is_some() {
            self.set_deadline(cx, name);
        } else if left > 0 {
            association.outgoing.room += left;
            out.indicate(StreamsIndication::Credit {
                association: name,
                credit: Credit::of_octets(left),
            });
        }
    }
}

impl<M: Message> Protocol for Ordered<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::RELIABLE.and(Guarantees::ONCE),
        gives: Guarantees::ORDERED,
        passes: Guarantees::RELIABLE
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED)
            .and(Guarantees::REGIONS),
        header_room: OrderedHeader::LENGTH,
        ..Facts::named(NAME)
    };
    type Provides = Streams<M>;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: StreamsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            StreamsRequest::Control { association, .. } => {
                if self.association(cx, association).is_some() {
                    out.indicate(StreamsIndication::unknown_command(association));
                }
            }
            // Expedited octets stay in order: nothing else is promised.
            StreamsRequest::Send { association, batch, properties: _ } => {
                if let Some(there) = self.association(cx, association) {
                    there.outgoing.push(batch.into_octets());
                    self.go_on(cx, association, out);
                }
            }
            StreamsRequest::Credit { association, credit: Credit { octets: credit, .. } } => {
                if let Some(there) = self.association(cx, association) {
                    there.incoming.give(credit);
                    self.go_on(cx, association, out);
                }
            }
            StreamsRequest::Finish { association } => {
                if let Some(there) = self.association(cx, association) {
                    there.outgoing.finish();
                    self.go_on(cx, association, out);
                }
            }
            StreamsRequest::Abort { association, code } => {
                self.abort(cx, association, Ended::Aborted, code, out);
            }
            StreamsRequest::Open {
                association,
                remote,
                local,
                credit: Credit { octets: credit, .. },
            } => {
                self.open(association, remote, local, credit, out);
            }
            StreamsRequest::Listen { listener, local } => self.listen(listener, local, out),
            StreamsRequest::Await {
                listener,
                association,
                credit: Credit { octets: credit, .. },
            } => {
                self.expect(listener, association, credit, out);
            }
            StreamsRequest::Close { name } => self.close(cx, name, out),
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: DatagramsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            DatagramsIndication::Delivered { association, batch: messages, .. } => {
                self.delivered(cx, association, messages.into_single(), out);
            }
            DatagramsIndication::Credit { association, credit } => {
                self.more_room(cx, association, credit, out)
            }
            DatagramsIndication::Opened { association, local, remote, credit, .. } => {
                self.opened(cx, association, local, remote, credit, out);
            }
            DatagramsIndication::Listening { listener, local } => {
                if let Some(Below::Listener { above }) = self.below.get(listener) {
                    out.indicate(StreamsIndication::Listening { listener: *above, local });
                }
            }
            // The peer announces its end itself.
            DatagramsIndication::Finished { .. }
            | DatagramsIndication::Changed { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Reported { .. }
            | DatagramsIndication::Ending { .. } => {}
            DatagramsIndication::Ended { name, why } => self.ended(cx, name, why, out),
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        while let Some(below) = self.timers.expire(cx.now()) {
            self.expired(cx, below, out);
        }
    }

    /// Each side has all of the other's streams, and nothing waits for an end above.
    fn may_exit(&self) -> bool {
        let open = |above: &Above<M>| matches!(above, Above::Association(_));
        let lingers = |below: &Below| matches!(below, Below::Lingering(_));
        !self.above.iter().any(|(_, above)| open(above))
            && !self.below.iter().any(|(_, below)| lingers(below))
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.timers.next_deadline()
    }

    /// Answers for streams: octets are cut into messages with a header each, so the layout of the
    /// layer below applies to those, and not to what comes from above.
    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Datagrams<M>>) {
        question.answer::<Longest>(|_| Some(usize::MAX)).answer::<Reserve<M>>(|_| None);
        if let Some(Above::Association(association)) = self.above.get(about)
            && question.is_open()
        {
            below.ask(association.below, question);
        }
    }
}
