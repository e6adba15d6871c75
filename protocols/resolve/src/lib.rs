//! Next hops on one link: ARP (RFC 826, RFC 5227) and neighbour discovery (RFC 4861, RFC 4862)
//! between IP and Ethernet or AX.25.
//!
//! | file | what |
//! | --- | --- |
//! | `version.rs` | the two versions of IP, and their kinds on the link |
//! | `own.rs` | the own addresses: probed, announced and defended |
//! | `neighbors.rs` | the table of neighbours |
//! | `stations.rs` | the associations of the layer below |
//! | `send.rs` | packets to next hops, and the ages of neighbours |
//! | `receive.rs` | packets of the link, and what it takes |
//! | `radio.rs` | stations of AX.25 in the place of Ethernet's |
//! | `arp.rs`, `ndp.rs` | the packets of both protocols |
//! | `syntax.rs` | what both consist of, for tools |
//! | `config.rs`, `described.rs` | the configuration; its description in a file |
//!
//! Above, a listener says that the link has its host for an address, and is told so when nobody
//! else has it. Its first `Await` is then answered, with the other end as the peer: the first of
//! each version is delivered all packets of that version, whoever sent them. `Open` leads to a next
//! hop, a group or all (255.255.255.255), and takes whole IP packets.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod arp;
mod config;
mod described;
mod ndp;
mod neighbors;
mod own;
mod radio;
mod receive;
mod send;
mod stations;
mod syntax;
mod version;

pub use config::Config;
pub use described::described;
pub use radio::hardware;
pub use syntax::SYNTAX;

use core::net::IpAddr;

use stackwright_base::events::{Expires, TimingWheel};
use stackwright_base::map::{Cached, Keyed, Map};
use stackwright_contract::ask::{Ask, FrameTime, Longest, Question};
use stackwright_contract::services::{
    Credit, Datagrams, DatagramsIndication, DatagramsRequest, Ended,
};
use stackwright_contract::{
    Address, Arrivals, Batches, Context, Duration, Facts, Guarantees, Handle, Instant, Names,
    Outlet, Participant, PathLimits, Protocol,
};
use stackwright_wire::Message;
use stackwright_wire::internet::is_group;

use neighbors::{Neighbor, State};
use own::Own;
use stations::{Station, Used};
use version::{Key, Version};

const NAME: &str = "resolve";

/// Octets before an own packet, for the headers below.
const HEADROOM: usize = 32;

/// The protocol: datagrams to next hops, over datagrams to stations of a link.
pub struct Resolve<M: Message> {
    config: Config,
    /// A listener stands for an own address.
    above: Arrivals<Own, Above>,
    /// A listener stands for its kind.
    below: Arrivals<u16, Station<M>, Names<()>>,
    stations: Cached<Key, Handle, Keyed>,
    /// The associations with all stations, by version: open while the link is up.
    bases: [Option<Handle>; 2],
    /// The own link-layer address.
    hardware: Option<[u8; 6]>,
    path: PathLimits,
    neighbors: Names<Neighbor<M>>,
    timers: TimingWheel<Event>,
    turns: u64,
}

/// What an open name above stands for.
struct Above {
    /// The own address, or the next hop.
    host: IpAddr,
    to: To,
    /// Upward.
    credit: Credit,
    /// Whether `Opened` was told.
    told: bool,
}

/// Where an association above leads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    /// It is delivered what arrives.
    Link,
    /// To all stations of a link-layer group.
    Group([u8; 6]),
    /// To a neighbour, which may have been forgotten.
    Neighbor(Option<Handle>),
}

/// What is due at some time.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The next step of an own address, by its listener.
    Own(Handle),
    /// The age of a neighbour.
    Neighbor(Handle),
}

type Out<'a, M> = &'a mut dyn Outlet<Resolve<M>>;

/// Returns the participant that the layer above knows a host by.
fn participant(host: IpAddr) -> Participant {
    Address::InternetProtocol { host, protocol: 0 }.into()
}

/// Returns the host that the layer above means.
fn host(participant: Participant) -> Option<IpAddr> {
    match participant.address {
        Address::InternetProtocol { host, .. } => Some(host),
        _ => None,
    }
}

impl<M: Message> Resolve<M> {
    /// Makes the protocol. Nobody on the link should know `seed`: it keeps the table of stations
    /// balanced.
    pub fn new(config: Config, seed: u64) -> Self {
        let mut neighbors = Names::new();
        for (host, address) in &config.neighbors {
            let (state, address) = (State::Permanent, *address);
            neighbors.name(Neighbor { state, address, ..Neighbor::new(*host, Used::default()) });
        }
        Resolve {
            neighbors,
            config,
            above: Arrivals::new(),
            below: Arrivals::default(),
            stations: Map::new(seed),
            bases: [None; 2],
            hardware: None,
            path: PathLimits::UNBOUNDED,
            timers: TimingWheel::default(),
            turns: 0,
        }
    }

    /// Returns how many neighbours are known or asked for, and how many associations there are
    /// below: both are bounded.
    pub fn known(&self) -> (usize, usize) {
        (self.neighbors.len(), self.below.len())
    }

    fn turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }

    fn listen(&mut self, cx: &Context, name: Handle, local: Participant, out: Out<'_, M>) {
        let unused = |host: &IpAddr| {
            !host.is_unspecified() && !host.is_multicast() && self.own(*host).is_none()
        };
        let Some(host) = host(local).filter(unused) else {
            return out.indicate(DatagramsIndication::Ended { name, why: Ended::Unavailable });
        };
        self.above.listen(name, Own::new(host));
        self.begin(cx, Version::of(host), out);
        self.go_up(cx, out);
    }

    fn end(&mut self, name: Handle, why: Ended, out: Out<'_, M>) {
        self.above.end(name, why).for_each(|word| out.indicate(word));
    }
}

impl<M: Message> Protocol for Resolve<M> {
    const FACTS: Facts = Facts {
        passes: Guarantees::ORDERED.and(Guarantees::ONCE).and(Guarantees::CHECKED),
        ..Facts::named(NAME)
    };
    const BATCHES: Batches = Batches::ALL;
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;

    fn handle_request(
        &mut self,
        cx: &Context,
        request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        match request {
            DatagramsRequest::Send { association, batch, properties } => {
                self.send(cx, association, batch, properties, out);
            }
            DatagramsRequest::Listen { listener, local } => self.listen(cx, listener, local, out),
            DatagramsRequest::Await { listener, association, credit } => {
                let refused = self.above.expect(listener, association, credit);
                refused.into_iter().for_each(|word| out.indicate(word));
                self.tell_link(listener, out);
            }
            // All that arrives is delivered on the link's association; on this, what comes back.
            DatagramsRequest::Open { association, remote, local, credit } => {
                self.open(cx, association, (remote, local), credit, out);
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
            DatagramsIndication::Opened { association, remote, credit, path, .. } => {
                self.opened(cx, association, remote, credit, path, out);
            }
            DatagramsIndication::Changed { path, .. } => self.changed(path, out),
            DatagramsIndication::Listening { local, .. } => {
                // That of all stations by radio is no own address.
                if let Some((address, _)) = radio::key(local).filter(|(a, _)| !is_group(*a)) {
                    self.hardware = Some(address);
                    self.go_up(cx, out);
                }
            }
            DatagramsIndication::Ended { name, why } => self.ended_below(cx, name, why, out),
            DatagramsIndication::Reported { .. }
            | DatagramsIndication::Controlled { .. }
            | DatagramsIndication::Ending { .. }
            | DatagramsIndication::Finished { .. } => {}
        }
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        while let Some(event) = self.timers.expire(cx.now()) {
            match event {
                Event::Own(listener) => self.step(cx, listener, out),
                Event::Neighbor(id) => self.age(cx, id, out),
            }
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.timers.next_deadline()
    }

    /// No packet waits for an address, or for the layer below.
    fn may_exit(&self) -> bool {
        self.neighbors.iter().all(|(_, neighbor)| neighbor.waiting.is_empty()) && self.is_idle()
    }

    fn ask(&self, _about: Handle, question: &mut Question<'_>, below: &dyn Ask<Datagrams<M>>) {
        let PathLimits { longest, frame_time, .. } = self.path;
        question.answer::<Longest>(|_| Some(longest as usize));
        if frame_time > 0 {
            question.answer::<FrameTime>(|_| Some(Duration::from_micros(frame_time.into())));
        }
        if let Some(base) = self.bases.into_iter().flatten().next() {
            below.ask(base, question);
        }
    }
}
