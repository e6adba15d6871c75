//! How it is written, and whether it is what was sent.

use alloc::vec::Vec;
use core::ops::Range;

use stackwright_contract::services::{BatchMessages, MessageProperties};
use stackwright_wire::{Malformed, SegmentsMut};

use super::slot;
use crate::receipts::Receipts;
use crate::words::{
    Cargo, Dropped, Incoming, Numbering, Outgoing, Report, Timestamp, UnitHeader, View,
};

/// Where a check lies in a packet, and how far it reaches: the format's knowledge. Which sum it is,
/// the integrity slot's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckAt {
    /// Its first octet.
    pub field: usize,
    /// What it covers, the field included, which counts as zero.
    pub covers: Range<usize>,
}

/// What the [locator](crate::Host::locate) of a protocol reads of a packet before its association
/// is known, and hands on to the format of that: it is not decoded twice. `()` is nothing.
pub trait Front<M>: Sized + 'static {
    /// Reads it, and leaves the packet as it is.
    ///
    /// # Errors
    /// What is wrong with it. The packet is dropped then.
    fn read(packet: &mut M) -> Result<Self, Malformed>;
}

impl<M> Front<M> for () {
    #[inline(always)]
    fn read(_: &mut M) -> Result<(), Malformed> {
        Ok(())
    }
}

slot! {
    /// Words and octets: the protocol's own. It also knows who the association is on the wire
    /// (keys, ports, session number), and what both sides agreed when they opened it.
    trait Format<M> with Front: Front<M> {
        /// What a sequence number counts.
        fn numbering(&self) -> Numbering;
        /// Its own first number. Not below 2^32 where the wire has 32 bits, so that nothing is
        /// smaller than nothing.
        fn first(&self) -> u64;
        /// The peer's first number, once it is known. The default is for formats where both sides
        /// begin at 0.
        fn peer_first(&self) -> Option<u64> = Some(0);
        /// Writes what both sides agreed when they opened the association, as octets that mean
        /// nothing to the engine: framing gets them when it begins, for keys.
        fn agreed(&self, into: &mut Vec<u8>) = ();
        /// The most octets of a body that a packet carries of a message of so many, of which this
        /// is wished.
        fn room(&self, octets: usize, properties: &MessageProperties) -> usize;
        /// The longest message that the peer takes, in octets.
        fn longest(&self) -> usize = usize::MAX;
        /// How many octets of messages that were begun may wait for more urgent ones that overtake
        /// them: the peer holds what it has of them until they are whole.
        fn overtaken_most(&self) -> usize = usize::MAX;
        /// Whether the peer does without what has expired: else nothing may.
        fn expires(&self) -> bool = true;
        /// The most octets before a body.
        fn headroom(&self) -> usize;
        /// The most spans, or numbers, in one report.
        fn report_room(&self) -> usize;
        /// Where the check of a packet lies; `None` where it has none.
        fn check(&self, front: &[u8], octets: usize) -> Option<CheckAt> = None;
        /// Octets to words. What is reported is written into `report`. `front` is that of the
        /// packet, if it was read before.
        ///
        /// # Errors
        /// What is wrong with it.
        fn decode(&mut self, view: &View, front: Option<&Self::Front>, packet: M, report: &mut Report) -> Result<Incoming<M>, Dropped>;
        /// The fast path, for what nearly every packet is: a unit, and nothing else is said. What
        /// stands before it is taken off then, and `packet` is its body; `None`: nothing was done,
        /// and it is to be [decoded](Format::decode).
        ///
        /// Of the packets that came `behind` it, those may be taken with it that have the next
        /// numbers, as far as `receipts` miss all of them, say nothing else, and were sent at the
        /// same time: the next pieces of its message, or whole messages. Only a format that labels
        /// pieces with index and count may do so.
        fn read_plain(&mut self, view: &View, receipts: &Receipts, front: Option<&Self::Front>, packet: &mut M, behind: Option<&mut BatchMessages<M>>) -> Option<(UnitHeader, Timestamp)> = None;
        /// Words to octets: *takes* from `say` what one packet can carry and writes what stands
        /// before the body of its unit, or the whole of a packet that has none. Of a unit that is
        /// too long for a packet it says a [part](Outgoing::part), and is asked for the next one as
        /// soon as that may leave; where it is asked for another unit instead, that one begins
        /// again.
        fn encode(&mut self, view: &View, say: &mut Outgoing<'_>, header: &mut Vec<u8>);
        /// Whether both sides say in their reports how many packets came [marked](Report::ecn).
        fn tells_marks(&self) -> bool = false;
        /// Whether the packet of the unit of this number may stand behind others in a batch: it
        /// takes its unit whole, and says nothing else.
        fn runs(&self, number: u64) -> bool = false;
        /// A later piece of a message leaves at the same moment, behind the piece that `header`
        /// stands before: writes what stands before it to the front of `into`, if that follows from
        /// `header`. Gives how many octets that is; `None`: it is to be [encoded](Format::encode).
        fn follow(&mut self, header: &[u8], unit: &Cargo<'_>, into: &mut [u8]) -> Option<usize> = None;
        /// Does the same for pieces that lie where they leave from: `first`, and those behind it,
        /// of its message and of others that are numbered one after the other and of as many
        /// pieces. Fills the gap before each, as far as what stands before it has that length, and
        /// returns how many gaps were filled.
        fn follow_alike(&mut self, header: &[u8], first: &Cargo<'_>, pieces: SegmentsMut<'_>) -> usize = 0;
        /// What stands before a piece of so many octets that leaves in a run, of a message of which
        /// nothing is wished, and before its last piece, which has `last`: how many octets. `None`:
        /// that is known when it leaves.
        fn gaps(&self, piece: usize, last: usize) -> Option<(usize, usize)> = None;
        /// A unit whose first number this is, and whose body has so many octets, left once more:
        /// for the second time or a later one.
        fn on_repeated(&mut self, view: &View, number: u64, octets: usize) = ();
        /// Units were acknowledged: the longest body of those that left whole has `longest` octets,
        /// and one at least left in [parts](Outgoing::part) or none did.
        fn on_acknowledged(&mut self, longest: usize, in_parts: bool) = ();
    }
}

slot! {
    /// Whether a packet is what was sent.
    trait Integrity<M> {
        /// Whether the check of a packet agrees.
        ///
        /// # Errors
        /// [`Dropped::Corrupt`].
        fn verify(&self, packet: &M, at: Option<CheckAt>) -> Result<(), Dropped> = Ok(());
        /// Writes the check into a header that stands before a body.
        fn seal(&self, header: &mut [u8], body: Option<&M>, at: Option<CheckAt>) = ();
        /// How many octets from the front on the format must see in one piece to know where the
        /// check lies; 0 where there is none.
        fn looks_at(&self) -> usize = 0;
    }
}
