//! A protocol of the Internet Protocol as the lowest one, by raw sockets (raw(7)): seen as
//! [`Datagrams`], as UDP is, but there are no ports. An association is all that comes from one
//! host; a protocol above tells its own associations apart.
//!
//! The sockets are those of [`udp`](crate::udp), with what that has of batches, credit and reports
//! of errors. What differs:
//!
//! - Participants are [`InternetProtocol`](Address::InternetProtocol): a host and the protocol. An
//!   Internet address with a port is taken too, and its port plays no role.
//! - The kernel writes the header of IP. Of IPv4 it leaves it before what arrives, and it is cut
//!   off here. What is longer than the path passes is fragmented; one datagram leaves by one call,
//!   and an empty one does not leave.
//! - Nothing checks the octets.
//! - A [group](crate::udp::Multicast) is a peer as it is over UDP.
//! - It needs a right, `CAP_NET_RAW` (capabilities(7)): [`is_permitted`] says what to do without.
//!
//! Every socket gets what comes from a host to its own address (raw(7)). So that nothing is
//! delivered twice, one host has one association: to open another is refused, and what comes from a
//! host that this side opened goes to no listener. A program gets what is sent to another at the
//! same address, too: each needs an address of its own, and a second listener at one, or a second
//! association of the same two hosts, is refused as far as the system lists them (proc(5)).

use std::io;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::net::Protocol as Number;
use stackwright_contract::ask::{Ask, Peer, Question};
use stackwright_contract::services::{Datagrams, DatagramsIndication, DatagramsRequest, Ended};
use stackwright_contract::{
    Address, Batches, Context, Facts, Handle, IndicationOf, Outlet, Participant, Protocol,
    RequestOf, Word as _,
};
use stackwright_wire::{Message, Pool};

use crate::readiness::{Readiness, Ready};
use crate::registry::Registry;
use crate::udp::{Network, Udp};

pub(crate) const NAME: &str = "ip";

/// The number of XTP (IANA's protocol numbers).
pub const XTP: u8 = 36;

/// The adapter of one protocol of IP.
pub struct Ip<M: Message> {
    protocol: u8,
    sockets: Udp<M>,
}

/// What is missing where raw sockets cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum Unpermitted {
    /// The program has no right to.
    #[error(
        "raw sockets need the right CAP_NET_RAW: run this as root, give the program the right \
         (`sudo setcap cap_net_raw+ep PROGRAM`), or use UDP"
    )]
    NoRight,
    /// The operating system has another reason.
    #[error("the operating system opens no raw socket: {0}")]
    System(#[from] io::Error),
}

/// Checks that a raw socket of `protocol` can be opened.
///
/// # Errors
/// What to do where it cannot.
pub fn is_permitted(protocol: u8) -> Result<(), Unpermitted> {
    match network(protocol).open(true) {
        Ok(_) => Ok(()),
        Err(why) if why.kind() == io::ErrorKind::PermissionDenied => Err(Unpermitted::NoRight),
        Err(why) => Err(why.into()),
    }
}

/// Opens a raw socket of `protocol`, which is not 0.
pub(crate) fn raw(protocol: u8, ipv4: bool) -> io::Result<OwnedFd> {
    network(protocol).open(ipv4)
}

fn network(protocol: u8) -> Network {
    let number = NonZeroU32::new(protocol.into()).expect("protocol 0 is no protocol of its own");
    Network::Raw(Number::from_raw(number))
}

impl<M: Message> Ip<M> {
    /// Makes the adapter of `protocol`, which registers its sockets with `registry` in `lane` and
    /// takes its blocks from `pool`.
    ///
    /// # Panics
    /// If the protocol is 0, or the blocks are shorter than 64 KiB.
    pub fn new(protocol: u8, registry: Arc<Registry>, lane: usize, pool: Arc<Pool<M>>) -> Self {
        Ip { protocol, sockets: Udp::over(network(protocol), registry, lane, pool) }
    }

    /// Returns a participant as the sockets know it; `None` if it is none of this protocol.
    fn below(&self, participant: Participant) -> Option<Participant> {
        let address = match participant.address {
            Address::InternetProtocol { host, protocol } if protocol == self.protocol => {
                SocketAddr::new(host, 0)
            }
            _ => {
                let mut address = participant.internet()?;
                address.set_port(0);
                address
            }
        };
        Some(Participant { interface: participant.interface, ..address.into() })
    }
}

/// Tells the layer above what the sockets tell.
struct Upward<'a, O> {
    protocol: u8,
    out: &'a mut O,
}

fn above(protocol: u8, participant: Participant) -> Participant {
    let Some(address) = participant.internet() else { return participant };
    let address = Address::InternetProtocol { host: address.ip(), protocol };
    Participant { interface: participant.interface, address }
}

impl<M: Message, O: Outlet<Ip<M>>> Outlet<Udp<M>> for Upward<'_, O> {
    fn indicate(&mut self, mut told: IndicationOf<Udp<M>>) {
        for participant in told.participants_mut().into_iter().flatten() {
            *participant = above(self.protocol, *participant);
        }
        self.out.indicate(told);
    }

    fn request(&mut self, never: RequestOf<Udp<M>>) {
        match never {}
    }
}

impl<M: Message> Protocol for Ip<M> {
    const FACTS: Facts = Facts::named(NAME);
    const BATCHES: Batches = Batches::ALL;
    type Provides = Datagrams<M>;
    type Uses = Readiness;

    fn handle_request(
        &mut self,
        cx: &Context,
        mut request: DatagramsRequest<M>,
        out: &mut impl Outlet<Self>,
    ) {
        for participant in request.participants_mut().into_iter().flatten() {
            // No socket takes a participant of another kind.
            *participant = self.below(*participant).unwrap_or(Participant::OTHER_END);
        }
        if let DatagramsRequest::Open { association, remote, .. } = request
            && let Some(remote) = remote.internet()
            && self.sockets.knows(remote)
        {
            cx.dropped(NAME, "open: the host has an association");
            let (name, why) = (association, Ended::Unavailable);
            return out.indicate(DatagramsIndication::Ended { name, why });
        }
        let mut out = Upward { protocol: self.protocol, out };
        self.sockets.handle_request(cx, request, &mut out);
    }

    fn handle_indication(&mut self, cx: &Context, ready: Ready, out: &mut impl Outlet<Self>) {
        let mut out = Upward { protocol: self.protocol, out };
        self.sockets.handle_indication(cx, ready, &mut out);
    }

    fn flush(&mut self, cx: &Context, out: &mut impl Outlet<Self>) {
        let mut out = Upward { protocol: self.protocol, out };
        self.sockets.flush(cx, &mut out);
    }

    fn wants_flush(&self) -> bool {
        self.sockets.wants_flush()
    }

    fn may_exit(&self) -> bool {
        self.sockets.may_exit()
    }

    fn ask(&self, about: Handle, question: &mut Question<'_>, below: &dyn Ask<Readiness>) {
        self.sockets.ask(about, question, below);
        question.alter_answer::<Peer>(|peer| *peer = above(self.protocol, *peer));
    }
}
