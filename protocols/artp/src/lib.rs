//! ARTP, the Active Router Transport Protocol (T. Rebok, CESNET technical report 11/2004): reliable
//! datagrams of any size, in no order, many sessions between two endpoints, packets that expire.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod batch;
mod config;
mod control;
pub mod header;
mod message;
mod moves;
pub mod option;
mod protection;
mod receive;
mod reset;
mod send;
mod sessions;
mod state;
mod syntax;
mod tombstones;

pub use config::{Artp, Config, Congestion, Judge, policies};
pub use control::{APPLICATION, Item, items};
pub use message::Messages;
#[cfg(feature = "sign")]
pub use protection::Signing;
#[cfg(feature = "__seal")]
pub use protection::{Cipher, Sealing};
pub use protection::{Protection, Secret, compose, take_apart};
pub use sessions::{Decide, Sessions};
pub use state::{Format, Secrets};
pub use syntax::SYNTAX;

/// The default UDP port of a server.
pub const PORT: u16 = 4330;

/// ARTP as a layer.
pub type Layer<M, C = Artp<M>> = Transport<Sessions<M, C>>;

/// ARTP whose policies are in boxes.
pub type BoxedLayer<M> = Layer<M, Boxed<M, Packet>>;

/// Returns ARTP with `config`, whose policies are known to the compiler. A peer must not know
/// `seed`.
pub fn layer<M: Message>(config: Config, seed: u64) -> Layer<M> {
    Transport::new(Associations::new(Sessions::new(config, policies)), seed)
}

/// Returns the same with the blocks of `pool`, which the driver below shares: each reuses the
/// blocks that the other has released. Short datagrams gain by it; [`layer`] has blocks of its own.
pub fn layer_sharing<M: Message>(config: Config, seed: u64, pool: Arc<Pool<M>>) -> Layer<M> {
    Transport::new(Associations::sharing(Sessions::new(config, policies), pool), seed)
}

/// Returns the same as [`layer`] with boxed policies, for a program that chooses them at run time.
pub fn boxed_layer<M: Message>(config: Config, seed: u64) -> BoxedLayer<M> {
    let make = |session, config: &Config, secrets| policies(session, config, secrets).boxed();
    Transport::new(Associations::new(Sessions::new(config, make)), seed)
}

use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::Instant;
use stackwright_contract::services::{BatchMessages, MessageProperties};
use stackwright_transport::component;
use stackwright_transport::words::{
    Cargo, Dropped, Ending, Incoming, MILLISECOND, Nanoseconds, Numbering, Opening, Outgoing,
    Report, SECOND, Timestamp, UnitHeader, View,
};
use stackwright_transport::{Associations, Boxed, Receipts, Transport, slots};
use stackwright_wire::{Header as _, Malformed, Message, Pool, SegmentsMut};

use header::Packet;
use message::OVERTAKEN_MOST;

impl<M: Message> slots::Front<M> for Packet {
    #[inline]
    fn read(packet: &mut M) -> Result<Self, Malformed> {
        Packet::decode(packet.front(Packet::LENGTH).ok_or(Malformed::TooShort)?)
    }
}

impl<M: Message> slots::Format<M> for Format<M> {
    type Front = Packet;

    fn numbering(&self) -> Numbering {
        Numbering::Packets
    }

    fn first(&self) -> u64 {
        Self::lift(self.ours.first)
    }

    fn peer_first(&self) -> Option<u64> {
        self.peer_first
    }

    fn agreed(&self, into: &mut Vec<u8>) {
        self.write_agreed(into);
    }

    fn room(&self, octets: usize, properties: &MessageProperties) -> usize {
        self.body(octets, properties)
    }

    fn longest(&self) -> usize {
        match self.theirs.as_ref().map_or(u32::MAX, |theirs| theirs.longest) {
            u32::MAX => usize::MAX,
            longest => longest as usize,
        }
    }

    fn takes(&self) -> usize {
        self.ours.longest as usize
    }

    fn overtaken_most(&self) -> usize {
        self.longest().saturating_mul(OVERTAKEN_MOST)
    }

    fn expires(&self) -> bool {
        self.both.expires
    }

    fn locator(&self) -> u64 {
        self.ours.nonce
    }

    fn opened(&self, now: Instant, opening: Opening) -> Opening {
        let peer_delay = self.theirs.as_ref().map(|it| Nanoseconds::from(it.delay) * MILLISECOND);
        // A short grant answers a short request, and none that was padded and left before.
        let within = self.path.short_for(now).filter(|_| self.asks);
        Opening {
            took: within.map_or(opening.took, |most| opening.took.min(most)),
            peer_delay,
            ..opening
        }
    }

    fn peer_idle(&self) -> Option<Nanoseconds> {
        let idle = self.theirs.as_ref()?.idle;
        (idle > 0).then_some(Nanoseconds::from(idle) * SECOND)
    }

    fn headroom(&self) -> usize {
        state::HEADER_MOST
    }

    fn report_room(&self) -> usize {
        self.payload() / if self.both.ranges { 8 } else { 4 }
    }

    fn names_ranges(&self) -> bool {
        self.both.ranges
    }

    fn decode(
        &mut self,
        view: &View,
        front: Option<&Packet>,
        packet: M,
        report: &mut Report,
    ) -> Result<Incoming<M>, Dropped> {
        self.read(view, front, packet, report)
    }

    #[inline(always)]
    fn read_plain(
        &mut self,
        view: &View,
        receipts: &Receipts,
        front: Option<&Packet>,
        packet: &mut M,
        behind: Option<&mut BatchMessages<M>>,
    ) -> Option<(UnitHeader, Timestamp)> {
        self.read_bare(view, receipts, front, packet, behind)
    }

    #[inline]
    fn encode(&mut self, view: &View, say: &mut Outgoing<'_>, header: &mut Vec<u8>) {
        self.write(view, say, header);
    }

    fn farewell(&self, view: &View, why: Ending, into: &mut Vec<u8>) -> bool {
        self.write_farewell(view, why, into)
    }

    #[inline]
    fn tells_marks(&self) -> bool {
        self.both.marks
    }

    #[inline]
    fn runs(&self, number: u64, sent_upto: u64) -> bool {
        self.path.runs(number, sent_upto)
    }

    #[inline(always)]
    fn follow(&mut self, header: &[u8], unit: &Cargo<'_>, into: &mut [u8]) -> Option<usize> {
        self.write_next(header, unit, into)
    }

    #[inline]
    fn follow_alike(&mut self, header: &[u8], first: &Cargo<'_>, pieces: SegmentsMut<'_>) -> usize {
        self.write_alike(header, first, pieces)
    }

    fn gaps(&self, piece: usize, last: usize) -> Option<(usize, usize)> {
        self.before_pieces(piece, last)
    }

    #[inline]
    fn on_repeated(&mut self, view: &View, number: u64, octets: usize) {
        if self.both.parts {
            self.path.on_repeated(view, number, octets);
        }
    }

    #[inline]
    fn on_acknowledged(&mut self, longest: usize, in_parts: bool) {
        self.path.on_acknowledged(longest, in_parts);
    }
}

component! {
    <M> Format<M>: "format of ARTP", "writes ARTP's packets",
    gives: Property::SPANS
        .and(Property::CREDIT)
        .and(Property::FRAGMENTS)
        .and(Property::TIMES)
        .and(Property::SETTLES)
        .and(Property::SIGNALS)
        .and(Property::COUNTS_PACKETS),
}
