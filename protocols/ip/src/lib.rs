//! IP in user space, of both versions: RFC 791 and RFC 8200, with ICMP, as a host or a router.
//!
//! Above, a participant is a host and a protocol; an association is what two hosts exchange of one
//! protocol. Below, a participant is a neighbour: `ip` says who is the next hop, and what is below
//! it (`resolve`, [`Point`]) how it is reached. Of several interfaces below, a participant names
//! one ([`Join`](stackwright_contract::Participant::through)).
//!
//! | file | what |
//! | --- | --- |
//! | `config.rs`, `described.rs` | the configuration; its description in a file |
//! | `address.rs`, `routes.rs`, `interface.rs` | addresses, the choice of a source, routes, links |
//! | `head/` | headers, read and written |
//! | `above.rs` | listeners and associations of the layer above |
//! | `hops.rs` | associations below: next hops, and what arrives on a link |
//! | `receive.rs`, `send.rs` | up, and down |
//! | `forward.rs` | packets for others, those that a kernel did not segment too |
//! | `reassembly.rs`, `fragments.rs` | fragments that arrive, and that leave |
//! | `icmp.rs`, `errors.rs` | ICMP messages that arrive, and errors that leave |
//! | `path_mtu.rs` | the path MTU to peers |
//! | `point.rs` | a layer of its own below: a link without addresses |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod above;
mod address;
mod config;
mod described;
mod errors;
mod forward;
mod fragments;
mod head;
mod hops;
mod icmp;
mod interface;
mod path_mtu;
mod point;
mod reassembly;
mod receive;
mod routes;
mod send;

pub use config::{Config, IpInterface, IpRoute};
pub use described::{described, described_point};
pub use forward::{Forwarded, Routing, RoutingReport};
pub use point::Point;

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::IpAddr;

use stackwright_base::map::{Cached, Hashing as _, Keyed, Map as _};
use stackwright_contract::ask::{Ask, Peer, Question, ask_behind_header};
use stackwright_contract::services::{
    Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::{
    Arrivals, Batches, Context, Facts, Handle, IndicationTo, Instant, NameAbove, Names, Outlet,
    Protocol, RequestTo, earliest,
};
use stackwright_wire::{Message, Pool};

use above::{Association, Listener};
use errors::{Fault, Limiter};
use head::v4::Plain;
use head::{HEADER_MOST, Key};
use hops::{Hop, Port};
use interface::Link;
use path_mtu::PathMtu;
use reassembly::Reassembly;
use routes::Routes;
use send::{BLOCK, LENT_MOST};

const NAME: &str = "ip";

/// IP, over the neighbours of its links.
pub struct Ip<M: Message> {
    config: Config,
    routes: Routes,
    links: Vec<Link>,
    above: Arrivals<Listener, Association>,
    listeners: Vec<Handle>,
    /// What is open above.
    table: Cached<Key, Handle, Keyed>,
    /// To which association packets like the last were delivered.
    recent: Option<(Plain, Handle)>,
    below: Arrivals<Port, Hop<M>, Names<()>>,
    /// Next hops, by interface and address.
    hops: Cached<(u16, IpAddr), Handle, Keyed>,
    /// Next hops without users, the oldest first, and others that were once.
    unused: VecDeque<Handle>,
    reassembly: Reassembly,
    paths: PathMtu,
    limiter: Limiter,
    forwarded: RoutingReport,
    /// Of identifications: a secret, and how many packets have left in fragments.
    hashing: Keyed,
    fragmented: u32,
    /// Whether the first words were said below.
    has_begun: bool,
    pool: Pool<M>,
    /// Blocks on their way down.
    lent: Vec<M>,
}

type Out<'a, M> = &'a mut dyn Outlet<Ip<M>>;

impl<M: Message> Ip<M> {
    /// Makes a host or a router.
    ///
    /// # Panics
    /// Where a prefix is longer than an address, an address is not that of one host, or a route
    /// names an interface that is not there.
    pub fn new(config: Config) -> Self {
        config.check();
        Ip {
            routes: Routes::new(&config),
            links: config.interfaces.iter().map(Link::new).collect(),
            above: Arrivals::new(),
            listeners: Vec::new(),
            table: Cached::new(config.seed),
            recent: None,
            below: Arrivals::default(),
            hops: Cached::new(config.seed),
            unused: VecDeque::new(),
            reassembly: Reassembly::default(),
            paths: PathMtu::default(),
            limiter: Limiter::new(config.seed),
            forwarded: RoutingReport::default(),
            hashing: Keyed::new(config.seed),
            fragmented: 0,
            has_begun: false,
            pool: Pool::new(BLOCK, LENT_MOST),
            lent: Vec::new(),
            config,
        }
    }
}

impl<M: Message> Ip<M> {
    /// Returns the octets that fragments of incomplete packets hold, for displays and tests.
    pub fn held_fragments(&self) -> usize {
        self.reassembly.held()
    }
}

impl<M: Message> Ip<M> {
    /// Handles all requests but those on the straight path.
    #[inline(never)]
    fn on_request(&mut self, cx: &Context, request: RequestTo<Self>, out: Out<'_, M>) {
        match request {
            DatagramsRequest::Send { association, batch, properties } => {
                self.send_any(cx, association, batch, properties, out);
            }
            DatagramsRequest::Listen { listener, local } => self.listen(listener, local, out),
            DatagramsRequest::Open { association, remote, local, credit } => {
                self.open(cx, association, remote, local, credit, out);
            }
            other => {
                let ends = self.above.answer(other, |open| &mut open.up, |word| out.indicate(word));
                if let Some((name, why)) = ends {
                    self.end(cx, name, why, out);
                }
            }
        }
    }
}

impl<M: Message> Protocol for Ip<M> {
    const FACTS: Facts =
        Facts { header_room: HEADER_MOST, reads_payload: true, ..Facts::named(NAME) };
    const BATCHES: Batches = Batches::ALL;
    type Provides = Datagrams<M>;
    type Uses = Datagrams<M>;

    #[inline(always)]
    fn handle_request(
        &mut self,
        cx: &Context,
        mut request: RequestTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        // The straight path: the word goes on, with a header before its messages.
        if let DatagramsRequest::Send { association, batch, properties } = &mut request
            && let name = *association
            && let Some((association, back)) = self.push_header(name, batch, properties)
            && let DatagramsRequest::Send { batch, properties, .. } = request
        {
            out.request(DatagramsRequest::Send { association, batch, properties });
            if let Some(credit) = back {
                out.indicate(DatagramsIndication::Credit { association: name, credit });
            }
            return;
        }
        self.on_request(cx, request, out);
    }

    #[inline(always)]
    fn handle_indication(
        &mut self,
        cx: &Context,
        mut indication: IndicationTo<Self>,
        out: &mut impl Outlet<Self>,
    ) {
        // The straight path: the word goes on, without the headers of its messages.
        if let DatagramsIndication::Delivered { association, batch, properties } = &mut indication
            && let Some(hop) = self.below.get_mut(*association)
        {
            let (below, interface, cost) = (*association, hop.interface, batch.cost());
            let back = hop.handled.add(cost);
            match (self.pull_header(batch, cost, properties.returned), indication) {
                (Some((association, ecn)), DatagramsIndication::Delivered { batch, .. }) => {
                    let properties = MessageProperties { ecn, ..MessageProperties::default() };
                    out.indicate(DatagramsIndication::Delivered { association, batch, properties });
                }
                (_, indication) => self.on_packets(cx, interface, indication, out),
            }
            if let Some(credit) = back {
                out.request(DatagramsRequest::Credit { association: below, credit });
            }
            return;
        }
        self.on_indication(cx, indication, out);
    }

    fn handle_timeout(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        while let Some(expired) = self.reassembly.expired(cx.now()) {
            cx.dropped(NAME, "fragments of which others did not come");
            if let Some((head, octets)) = expired.first {
                let packet = M::with_headroom(0, &octets);
                self.fault(cx, expired.interface, &head, packet, Fault::Incomplete, out);
            }
        }
        while let Some(peer) = self.paths.expired(cx.now()) {
            self.update_path(peer, out);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        earliest(self.reassembly.deadline(), self.paths.deadline())
    }

    fn flush(&mut self, _cx: &Context, out: &mut impl Outlet<Self>) {
        if !self.has_begun {
            self.has_begun = true;
            self.begin(out);
        }
    }

    fn wants_flush(&self) -> bool {
        !self.has_begun
    }

    fn may_exit(&self) -> bool {
        self.below.iter().all(|(_, hop)| hop.gate.is_idle())
    }

    fn ask(
        &self,
        about: NameAbove<Self>,
        question: &mut Question<'_>,
        below: &dyn Ask<Self::Uses>,
    ) {
        question
            .answer::<Routing>(|_| Some(self.config.clone()))
            .answer::<Forwarded>(|_| Some(self.forwarded));
        let Some(open) = self.above.get(about) else { return };
        question.answer::<Peer>(|_| Some(open.remote_participant()));
        if let Some(hop) = open.hop {
            ask_behind_header::<M, _>(open.template.length(), hop, question, below);
        }
    }
}
