//! The slots for how a packet is written, and whether it is what was sent.

use alloc::vec::Vec;
use core::ops::Range;

use stackwright_contract::services::{BatchMessages, MessageProperties};
use stackwright_contract::{Instant, Participant, PathLimits};
use stackwright_wire::{Header, Malformed, Message, SegmentsMut};

use super::slot;
use crate::receipts::Receipts;
use crate::words::{
    Cargo, Dropped, Ending, Incoming, Nanoseconds, Numbering, Opening, Outgoing, Report, Timestamp,
    UnitHeader, View,
};

/// The position of a check in a packet, and the octets that it covers: known to the format. The sum
/// is the integrity slot's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CheckAt {
    /// Its first octet.
    pub field: usize,
    /// The octets that it covers, the field included, which counts as zero.
    pub covers: Range<usize>,
    /// The folded sum of what it covers besides the packet: a pseudo-header (RFC 9293 §3.1).
    pub plus: u16,
    /// Whether the layer below completes the check of what leaves, and has verified that of what
    /// arrives ([`PathLimits::checks`]).
    pub offered: bool,
}

impl CheckAt {
    /// Returns a check that covers octets of the packet and nothing else.
    pub const fn new(field: usize, covers: Range<usize>) -> Self {
        CheckAt { field, covers, plus: 0, offered: false }
    }

    /// Returns a check that covers a pseudo-header, too: that of hosts with this sum, and the
    /// `octets` of the packet (RFC 9293 §3.1).
    #[must_use]
    pub fn behind(self, hosts: u16, octets: usize) -> Self {
        let sum = u32::from(hosts) + octets as u32;
        CheckAt { plus: ((sum & 0xffff) + (sum >> 16)) as u16, ..self }
    }
}

/// What the [locator](crate::Host::locate) of a protocol reads of a packet before its association
/// is known, and passes to that association's format, so that it is not decoded twice. `()` is
/// nothing.
pub trait Front<M>: Sized + 'static {
    /// Reads it, and leaves the packet unchanged.
    ///
    /// # Errors
    /// What is wrong with it. The packet is then dropped.
    fn read(packet: &mut M) -> Result<Self, Malformed>;
}

/// Removes the header of a packet, which is `front` where that was read already.
///
/// # Errors
/// `Malformed` where the packet is no such header.
#[inline(always)]
pub fn pull_front<H: Header + Copy, M: Message>(
    front: Option<&H>,
    packet: &mut M,
) -> Result<H, Malformed> {
    let Some(header) = front else { return packet.pull() };
    packet.advance(H::LENGTH);
    Ok(*header)
}

impl<M> Front<M> for () {
    #[inline(always)]
    fn read(_: &mut M) -> Result<(), Malformed> {
        Ok(())
    }
}

slot! {
    /// Words and octets: the protocol's own. It also knows what identifies the association on the
    /// wire (keys, ports, session number), and what both sides agreed when they opened it.
    trait Format<M> with Front: Front<M> {
        /// Returns what a sequence number counts.
        fn numbering(&self) -> Numbering;
        /// Returns its own first number. Not below 2^32 if the wire has 32 bits, so that no number
        /// is below zero.
        fn first(&self) -> u64;
        /// Returns the peer's first number, once it is known. The default is for formats where both
        /// sides begin at 0.
        fn peer_first(&self) -> Option<u64> = Some(0);
        /// Writes what both sides agreed when they opened the association, as octets that are
        /// opaque to the engine: framing gets them when it begins, for keys.
        fn agreed(&self, into: &mut Vec<u8>) = ();
        /// Returns the number of the inquiry before the first of either side. The default is for
        /// formats whose inquiries begin with 1.
        fn inquiries_behind(&self) -> u32 = 0;
        /// Returns the most octets of a body that a packet carries of a message of `octets` octets
        /// with these properties.
        fn room(&self, octets: usize, properties: &MessageProperties) -> usize;
        /// Returns the longest message that the peer takes, in octets.
        fn longest(&self) -> usize = usize::MAX;
        /// Returns the longest message that this side takes, in octets.
        fn takes(&self) -> usize = usize::MAX;
        /// Returns how many octets of messages that were begun may wait for more urgent ones that
        /// overtake them: the peer holds what it has of them until they are whole.
        fn overtaken_most(&self) -> usize = usize::MAX;
        /// Returns whether the peer does without expired data; otherwise none may expire.
        fn expires(&self) -> bool = true;
        /// Returns what identifies the association wherever its peer is, if its protocol lets peers
        /// move: nobody else knows it. Otherwise 0.
        fn locator(&self) -> u64 = 0;
        /// Adds what it knows of the exchange that opened the association, which ends now.
        fn opened(&self, now: Instant, opening: Opening) -> Opening = opening;
        /// Returns after how long without a packet the peer considers this side gone; `None`: it
        /// has not told, or never.
        fn peer_idle(&self) -> Option<Nanoseconds> = None;
        /// Returns the most octets before a body.
        fn headroom(&self) -> usize;
        /// Returns the most spans, or numbers, in one report.
        fn report_room(&self) -> usize;
        /// Returns whether a report names ranges, and not each number by itself.
        fn names_ranges(&self) -> bool = true;
        /// Returns whether a receiver may drop again what it reported beyond the first number that
        /// is missing (RFC 2018 §8): it is kept until all before it has arrived, too.
        fn reneges(&self) -> bool = false;
        /// Returns whether what waits may be cut anywhere: each octet has a number, and nothing
        /// else tells units apart. Then a window that is open for less than a unit is used
        /// (RFC 9293 §3.8.6.2.1).
        fn cuts_anywhere(&self) -> bool = false;
        /// Returns whether a unit with this first number and a body of `octets` octets waits for
        /// more that may join it (Nagle's algorithm, RFC 9293 §3.7.4). It is asked where all may be
        /// cut anywhere.
        fn waits_for_more(&self, view: &View, number: u64, octets: usize) -> bool = false;
        /// Records that the octet before this number is expedited.
        fn on_expedited(&mut self, number: u64) = ();
        /// Returns whether any packet carries the report of what was received: one that leaves for
        /// another reason takes the place of a delayed one.
        fn always_reports(&self) -> bool = false;
        /// Records the two ends as the layer below names them, before anything leaves: a check may
        /// cover the hosts.
        fn on_ends(&mut self, local: Participant, remote: Participant) = ();
        /// Records what the path takes, at first and whenever it changes.
        fn on_path(&mut self, path: PathLimits) = ();
        /// Returns the number of the packet in flight that begins with these octets, as a report of
        /// trouble quotes them; `None`: none does, and the report is forged, or late (RFC 5927 §4).
        fn quoted(&self, view: &View, octets: &[u8; 8]) -> Option<u64> = None;
        /// Returns where the check of a packet is; `None` if it has none.
        fn check(&self, front: &[u8], octets: usize) -> Option<CheckAt> = None;
        /// Decodes octets to words. The report is written into `report`. `front` is that of the
        /// packet, if it was read before.
        ///
        /// # Errors
        /// What is wrong with it.
        fn decode(&mut self, view: &View, front: Option<&Self::Front>, packet: M, report: &mut Report) -> Result<Incoming<M>, Dropped>;
        /// Decodes the usual packet on the fast path: a unit and nothing else. The octets before
        /// its body are removed then, and `packet` is the body. `None` if nothing was done, and the
        /// packet is to be [decoded](Format::decode).
        ///
        /// Packets that came `behind` it may be taken with it if they have the next numbers, as far
        /// as `receipts` miss all of them, carry nothing else, and were sent at the same time: the
        /// next pieces of its message, or whole messages. Only a format that labels pieces with
        /// index and count may do so, or one whose numbers count octets: all are one unit then.
        fn read_plain(&mut self, view: &View, receipts: &Receipts, front: Option<&Self::Front>, packet: &mut M, behind: Option<&mut BatchMessages<M>>) -> Option<(UnitHeader, Timestamp)> = None;
        /// Encodes words to octets: *takes* from `say` what one packet can carry and writes what
        /// precedes the body of its unit, or the whole of a packet that has none. Of a unit that is
        /// too long for a packet it says a [part](Outgoing::part), and is asked for the next one as
        /// soon as that may leave; if it is asked for another unit instead, that one begins again.
        fn encode(&mut self, view: &View, say: &mut Outgoing<'_>, header: &mut Vec<u8>);
        /// Writes a packet that tells the peer that the association is over, and why: once when
        /// that is found here, and to a peer that does not know when the association is gone.
        /// Returns whether the association is to be remembered; a packet without octets is not
        /// sent.
        fn farewell(&self, view: &View, why: Ending, into: &mut Vec<u8>) -> bool = false;
        /// Returns whether both sides report how many packets came [marked](Report::ecn).
        fn tells_marks(&self) -> bool = false;
        /// Returns whether what was written last may be ECN-capable: TCP's new data alone may (RFC
        /// 3168 §6.1.4 to §6.1.6).
        fn may_be_marked(&self) -> bool = self.tells_marks();
        /// Returns whether the packet of the unit of this number may be behind others in a batch:
        /// it takes its unit whole, and carries nothing else. Numbers below `sent_upto` left
        /// before.
        fn runs(&self, number: u64, sent_upto: u64) -> bool = false;
        /// Writes the header of a later piece of a message, which leaves at the same moment behind
        /// the piece of `header`, to the front of `into`, if it follows from `header`. Returns its
        /// octets; `None` if it is to be [encoded](Format::encode).
        fn follow(&mut self, header: &[u8], unit: &Cargo<'_>, into: &mut [u8]) -> Option<usize> = None;
        /// Does the same for pieces in a gapped buffer: `first`, and those behind it, of its
        /// message and of others that are numbered one after the other and have as many pieces.
        /// Fills the gap before each, while the header has that length, and returns how many gaps
        /// were filled.
        fn follow_alike(&mut self, header: &[u8], first: &Cargo<'_>, pieces: SegmentsMut<'_>) -> usize = 0;
        /// Returns the octets of the header of a piece of `piece` octets that leaves in a batch, of
        /// a message with default properties, and of the header of its last piece, which has
        /// `last`. `None` if that is known only when it leaves.
        fn gaps(&self, piece: usize, last: usize) -> Option<(usize, usize)> = None;
        /// Records that a unit with this first number and a body of `octets` octets left once more:
        /// for the second time or a later one.
        fn on_repeated(&mut self, view: &View, number: u64, octets: usize) = ();
        /// Records that units were acknowledged: the longest body of those that left whole has
        /// `longest` octets, and at least one left in [parts](Outgoing::part), or none did.
        fn on_acknowledged(&mut self, longest: usize, in_parts: bool) = ();
    }
}

slot! {
    /// Whether a packet is what was sent.
    trait Integrity<M> {
        /// Checks a packet.
        ///
        /// # Errors
        /// [`Dropped::Corrupt`].
        fn verify(&self, packet: &M, at: Option<CheckAt>) -> Result<(), Dropped> = Ok(());
        /// Writes the check into a header that precedes a body.
        fn seal(&self, header: &mut [u8], body: Option<&M>, at: Option<CheckAt>) = ();
        /// Returns how many octets from the front on the format must see in one piece to locate the
        /// check; 0 if there is none.
        fn looks_at(&self) -> usize = 0;
    }
}
