//! A relay: a server that is itself a client. Whoever arrives gets an association onward, and
//! datagrams pass both ways through a function that may change them.
//!
//! | file | what |
//! | --- | --- |
//! | `words.rs` | what is asked and told |
//! | `config.rs` | what can be chosen |
//! | `state.rs` | two associations that belong together |
//! | `receive.rs` | from below: arrivals, datagrams, ends |
//! | `send.rs` | to the other side, as far as there is room |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod receive;
mod send;
mod state;
mod words;

pub use config::Config;
pub use words::{Arrival, Direction, Indication, Relaying, Request};

use stackwright_contract::services::{
    Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::{
    Arrivals, Context, Facts, Handle, Names, Outlet, Participant, Protocol,
};
use stackwright_wire::Message;

use state::Pair;

const NAME: &str = "relay";

/// A relay. `whither` says where who arrived wants to go, if anywhere; `pass` says what becomes of
/// a datagram.
///
/// ```
/// use stackwright_contract::services::MessageProperties;
/// use stackwright_relay::{Config, Relay};
/// use stackwright_wire::BufferTree;
/// let whither = |_| Some(std::net::SocketAddr::from(([10, 0, 0, 9], 7)).into());
/// let unchanged = |_, message: BufferTree, properties: MessageProperties| Some((message, properties));
/// let relay = Relay::new(Config::default(), whither, unchanged);
/// assert_eq!(relay.pairs(), 0);
/// ```
pub struct Relay<M, W, F> {
    config: Config,
    whither: W,
    pass: F,
    /// The names given to the layer below: a listener, and each a side of a pair, from which
    /// datagrams come in that direction.
    names: Arrivals<(), (Handle, Direction), Names<()>>,
    pairs: Names<Pair<M>>,
}

type Out<'a, M, W, F> = &'a mut dyn Outlet<Relay<M, W, F>>;

impl<M, W, F> Relay<M, W, F>
where
    M: Message,
    W: FnMut(Arrival) -> Option<Participant>,
    F: FnMut(Direction, M, MessageProperties) -> Option<(M, MessageProperties)>,
{
    /// A relay that serves nobody yet.
    pub fn new(config: Config, whither: W, pass: F) -> Self {
        Relay { config, whither, pass, names: Arrivals::default(), pairs: Names::new() }
    }

    /// How many who arrived are not gone.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// How many names it gave to the layer below, whose last word has not come.
    pub fn names(&self) -> usize {
        self.names.len()
    }

    /// How many octets of datagrams wait here, as they came.
    pub fn held(&self) -> usize {
        self.pairs.iter().map(|(_, pair)| pair.held()).sum()
    }

    fn listener(&self) -> Option<Handle> {
        self.names.listeners().next().map(|(name, _)| name)
    }
}

impl<M, W, F> Protocol for Relay<M, W, F>
where
    M: Message,
    W: FnMut(Arrival) -> Option<Participant>,
    F: FnMut(Direction, M, MessageProperties) -> Option<(M, MessageProperties)>,
{
    const FACTS: Facts = Facts { reads_payload: true, ..Facts::named(NAME) };
    type Provides = Relaying;
    type Uses = Datagrams<M>;

    fn handle_request(&mut self, cx: &Context, request: Request, out: &mut impl Outlet<Self>) {
        match request {
            Request::Relay { local } => {
                let listener = self.names.listen(());
                out.request(DatagramsRequest::Listen { listener, local });
            }
            Request::Stop => self.stop(cx, out),
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: DatagramsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            DatagramsIndication::Listening { local, .. } => {
                out.indicate(Indication::Relaying { local });
                self.await_arrivals(out);
            }
            DatagramsIndication::Opened { association, local, remote, credit, .. } => {
                self.opened(cx, association, Arrival { local, remote }, credit, out);
            }
            DatagramsIndication::Credit { association, credit } => {
                self.more_room(cx, association, credit, out)
            }
            DatagramsIndication::Delivered { association, batch: messages, properties } => {
                self.delivered(cx, association, messages.into_single(), properties, out);
            }
            // Its end follows.
            DatagramsIndication::Finished { .. }
            | DatagramsIndication::Changed { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Reported { .. }
            | DatagramsIndication::Ending { .. } => {}
            DatagramsIndication::Ended { name, why } => self.ended(cx, name, why, out),
        }
    }
}
