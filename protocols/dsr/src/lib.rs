//! Routes found by asking, between stations that relay for each other: DSR (RFC 4728) for IPv4,
//! without flow state.
//!
//! | file | what |
//! | --- | --- |
//! | `config.rs`, `described.rs` | the configuration, and times; its description in a file |
//! | `header.rs` | the header behind IPv4's, and its options |
//! | `packet.rs` | packets, taken apart and put together |
//! | `links.rs` | the links that are known, and routes by them |
//! | `state.rs` | what is held, and how much at most |
//! | `hops.rs` | the associations of the layer below |
//! | `send.rs` | packets from above, and those that wait for a route |
//! | `search.rs` | discovery: requests and replies |
//! | `receive.rs` | packets from below, and those that are relayed |
//! | `neighbors.rs` | maintenance: acknowledgements, errors, salvage |
//! | `timers.rs` | what is due |
//! | `syntax.rs` | what the header consists of, for tools |
//!
//! It stands between IP and what finds next hops on one link, and speaks with both as they speak
//! with each other: a participant is a host, what arrives is delivered on the association that the
//! own address awaited, and `Open` leads to a next hop. That next hop may be far: to a neighbour
//! packets leave as they came, to others with a list of those that relay them.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod config;
mod described;
mod header;
mod hops;
mod links;
mod neighbors;
mod packet;
mod receive;
mod search;
mod send;
mod state;
mod syntax;
mod timers;

#[cfg(test)]
mod tests;

pub use config::Config;
pub use described::described;
pub use syntax::{HEADER_SYNTAX, SYNTAX};

use alloc::collections::{BTreeMap, VecDeque};
use core::net::Ipv4Addr;

use stackwright_base::events::{Expires, TimingWheel};
use stackwright_contract::ask::{Ask, FrameTime, Longest, Question};
use stackwright_contract::services::{Datagrams, DatagramsIndication, DatagramsRequest, Ended};
use stackwright_contract::{
    Arrivals, Context, Duration, Facts, Guarantees, Handle, Instant, Names, Outlet, Participant,
    PathLimits, Protocol,
};
use stackwright_wire::Message;

use config::Times;
use header::is_host;
use hops::{host, participant};
use links::Links;
use packet::Packet;
use state::{Above, Event, Heard, Hop, Kept, Neighbor, Search};

const NAME: &str = "dsr";

/// The hops that own packets may take.
const HOPS: u8 = 64;

/// The protocol: datagrams to hosts, over datagrams to neighbours.
pub struct Dsr<M: Message> {
    config: Config,
    above: Arrivals<(), Above>,
    below: Arrivals<(), Hop<M>, Names<()>>,
    /// The own address, once it is in use.
    own: Option<Ipv4Addr>,
    /// The association below by which packets arrive.
    link: Option<Handle>,
    path: PathLimits,
    links: Links,
    neighbors: BTreeMap<Ipv4Addr, Neighbor<M>>,
    searches: BTreeMap<Ipv4Addr, Search>,
    /// Packets that wait for a route, in the order in which they came.
    waiting: VecDeque<Kept<M>>,
    /// Whether the end of their wait is among the timers.
    expires: bool,
    heard: BTreeMap<Ipv4Addr, Heard>,
    /// By time and turn: a next hop, and a packet.
    delayed: BTreeMap<(Instant, u64), (Ipv4Addr, Packet<M>)>,
    timers: TimingWheel<Event>,
    turns: u64,
    /// The last number of a request.
    ids: u16,
}

type Out<'a, M> = &'a mut dyn Outlet<Dsr<M>>;

impl<M: Message> Dsr<M> {
    /// Makes the protocol. Nobody should know `seed`: the numbers of requests begin with it.
    ///
    /// # Panics
    /// Where the number of relays is not from 1 to 9.
    pub fn new(config: Config, seed: u64) -> Self {
        assert!((1..=9).contains(&config.relays), "{} relays", config.relays);
        Dsr {
            config,
            above: Arrivals::new(),
            below: Arrivals::default(),
            own: None,
            link: None,
            path: PathLimits::UNBOUNDED,
            links: Links::default(),
            neighbors: BTreeMap::new(),
            searches: BTreeMap::new(),
            waiting: VecDeque::new(),
            expires: false,
            heard: BTreeMap::new(),
            delayed: BTreeMap::new(),
            timers: TimingWheel::default(),
            turns: 0,
            ids: seed as u16,
        }
    }

    /// Returns how many there are of what grows: links, next hops below, neighbours, searches,
    /// initiators, packets that wait for a route, copies, and packets that wait for their jitter.
    /// Each is [bounded](Self::BOUNDS).
    pub fn held(&self) -> [usize; 8] {
        let asked = self.neighbors.values().filter_map(|known| known.asked.as_ref());
        [
            self.links.len(),
            self.below.iter().count(),
            self.neighbors.len(),
            self.searches.len(),
            self.heard.len(),
            self.waiting.len(),
            asked.map(|asked| asked.copies.len()).sum(),
            self.delayed.len(),
        ]
    }

    /// The bounds of what is [held](Self::held).
    pub const BOUNDS: [usize; 8] = [
        links::LINKS_MOST,
        2 * state::HOPS_MOST,
        state::NEIGHBORS_MOST,
        state::SEARCHES_MOST,
        state::INITIATORS_MOST,
        state::WAITING_MOST,
        state::COPIES_MOST + state::NEIGHBORS_MOST,
        state::DELAYED_MOST,
    ];

    fn times(&self) -> Times {
        self.config.times(self.path)
    }

    fn listen(&mut self, name: Handle, local: Participant, out: Out<'_, M>) {
        self.above.listen(name, ());
        let is_first = self.above.listeners().count() == 1 && self.below.listeners().count() == 0;
        let Some(own) = host(local).filter(|own| is_first && is_host(*own)) else {
            return self.end(name, Ended::Unavailable, out);
        };
        let listener = self.below.listen(());
        out.request(DatagramsRequest::Listen { listener, local: participant(own) });
        self.expect(listener, out);
    }

    fn end(&mut self, name: Handle, why: Ended, out: Out<'_, M>) {
        let is_link = self.above.get(name).is_some_and(|above| above.to == state::To::Link);
        let is_listener = self.above.listener(name).is_some();
        self.above.end(name, why).for_each(|word| out.indicate(word));
        if is_listener {
            let listener = self.below.listeners().next().map(|(name, ())| name);
            if let Some(name) = listener.filter(|_| self.above.listeners().count() == 0) {
                out.request(DatagramsRequest::Close { name });
            }
        } else if is_link {
            self.tell_waiting(out);
        }
    }
}

impl<M: Message> Protocol for Dsr<M> {
    const FACTS: Facts = Facts { passes: Guarantees::CHECKED, ..Facts::named(NAME) };
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            DatagramsRequest::Send { association, batch, .. } => {
                self.send(cx, association, batch, out);
            }
            DatagramsRequest::Listen { listener, local } => self.listen(listener, local, out),
            DatagramsRequest::Await { listener, association, credit } => {
                let refused = self.above.expect(listener, association, credit);
                refused.into_iter().for_each(|word| out.indicate(word));
                self.tell_waiting(out);
            }
            DatagramsRequest::Open { association, remote, credit, .. } => {
                self.open(association, remote, credit, out);
            }
            other => {
                let ends =
                    self.above.answer(other, |open| &mut open.credit, |word| out.indicate(word));
                if let Some((name, why)) = ends {
                    self.end(name, why, out);
                }
            }
        }
    }

    fn handle_indication(
        &mut self,
        cx: &Context,
        indication: DatagramsIndication<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match indication {
            DatagramsIndication::Delivered { association, batch, properties } => {
                self.delivered(cx, association, batch, properties, out);
            }
            DatagramsIndication::Credit { association, credit } => {
                self.more_credit(association, credit, out);
            }
            DatagramsIndication::Opened { association, credit, path, .. } => {
                self.opened(association, credit, path, out);
            }
            DatagramsIndication::Changed { association, path } => {
                if self.link == Some(association) {
                    self.changed(path, out);
                }
            }
            DatagramsIndication::Listening { local, .. } => {
                self.own = host(local);
                if let Some((listener, ())) = self.above.listeners().next() {
                    out.indicate(DatagramsIndication::Listening { listener, local });
                }
                self.tell_waiting(out);
            }
            DatagramsIndication::Ended { name, why } => self.ended_below(cx, name, why, out),
            DatagramsIndication::Reported { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Ending { .. }
            | DatagramsIndication::Finished { .. } => {}
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        self.on_timeout(cx, out);
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.timers.next_deadline()
    }

    /// No packet waits for a route, an acknowledgement, or the layer below.
    fn may_exit(&self) -> bool {
        let is_idle = |hop: &Hop<M>| !matches!(hop, Hop::To { gate, .. } if !gate.is_idle());
        self.waiting.is_empty()
            && self.delayed.is_empty()
            && self.neighbors.values().all(|known| known.asked.is_none())
            && self.below.iter().all(|(_, hop)| is_idle(hop))
    }

    fn ask(&self, _about: Handle, question: &mut Question<'_>, below: &dyn Ask<Datagrams<M>>) {
        let PathLimits { longest, frame_time, .. } =
            self.path.behind_header(self.config.overhead());
        question.answer::<Longest>(|_| Some(longest as usize));
        if frame_time > 0 {
            question.answer::<FrameTime>(|_| Some(Duration::from_micros(frame_time.into())));
        }
        if let Some(link) = self.link {
            below.ask(link, question);
        }
    }
}
