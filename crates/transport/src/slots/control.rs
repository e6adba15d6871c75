//! The slots for all that is not data.

use core::ops::Range;

use stackwright_contract::{Instant, Trouble};

use super::slot;
use crate::receipts::Receipts;
use crate::words::{
    Dropped, Ending, Nanoseconds, Occasion, Opening, Phase, Report, ReportRequest, Signals,
    UnitHeader, View,
};

/// What an arriving packet tells about the association itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketInfo {
    /// The signals of the association.
    pub signals: Signals,
    /// The length, in octets.
    pub octets: usize,
    /// Whether it reports on something that was sent: its sender receives our packets.
    pub reports: bool,
    /// Its sender's number after the last.
    pub next: Option<u64>,
    /// Whether it carries data.
    pub unit: bool,
}

slot! {
    /// Opens, closes, answers, gives signals. Says nothing about data.
    trait Connection {
        /// Opens the association for the layer above.
        fn open(&mut self, view: &View) = ();
        /// Closes this side's half: the layer above sends no more.
        fn finish(&mut self) = ();
        /// Records that the peer is known, which considers this side gone after `idle` without a
        /// packet; `None`: it does not say when.
        fn on_begun(&mut self, idle: Option<Nanoseconds>) = ();
        /// Returns the silence that both sides have agreed to bear, whether or not something is in
        /// flight.
        fn agreed_silence(&self) -> Nanoseconds = 0;
        /// Records that time has passed.
        fn on_time(&mut self, view: &View) = ();
        /// Records that the layer above takes no more, perhaps not even what has arrived and is
        /// `unread`: together with [`finish`](Connection::finish), both halves are closed.
        fn stop(&mut self, unread: bool) = ();
        /// Returns whether the peer has closed its half, and all that it sent is here.
        fn heard_all(&self, view: &View) -> bool = false;
        /// Ends the association on this side, whatever is still to arrive: the peer is told why, as
        /// far as it can be. Returns whether it is being told; otherwise the association ends at
        /// once.
        fn abandon(&mut self, view: &View, why: Ending) -> bool = false;
        /// Handles a packet that arrived.
        ///
        /// # Errors
        /// If it does not belong to this association.
        fn admit(&mut self, view: &View, tidings: &PacketInfo) -> Result<(), Dropped> = Ok(());
        /// Records that a router or a host reports trouble with a packet of ours in flight.
        fn on_trouble(&mut self, view: &View, what: Trouble) = ();
        /// Returns whether `octets` octets of data may leave now; for 0, whether inquiries may.
        fn may_send(&self, octets: usize) -> bool = true;
        /// Returns the signals that any packet that leaves now carries.
        fn signals(&self, view: &View, occasion: Occasion) -> Signals = Signals::NONE;
        /// Returns whether a packet must leave for their sake.
        fn due(&self, view: &View) -> bool = false;
        /// Records that a packet with these signals left.
        fn on_said(&mut self, view: &View, signals: Signals, octets: usize) = ();
        /// Returns what the opening has shown of the path, once.
        fn take_opening(&mut self) -> Option<Opening> = None;
        /// Returns whether the peer began it and has not shown that it receives our packets.
        fn is_half_open(&self) -> bool = false;
        /// Returns whether the peer, which began it, may have forged its address: where there is no
        /// place for others, it gives way.
        fn is_stranger(&self) -> bool = self.is_half_open();
        /// Returns whether the peer was told that the association is over, and only its answer is
        /// awaited.
        fn has_parted(&self) -> bool = false;
        /// Returns when something was last received, if the policy keeps that.
        fn heard(&self) -> Instant = Instant::START;
        /// Returns the phase of the association.
        fn phase(&self, view: &View) -> Phase;
        /// Returns when it has something to send, or has waited long enough.
        fn deadline(&self) -> Instant = Instant::END;
    }
}

slot! {
    /// The receiver's half: when something is to be reported, and what.
    trait Acknowledgement wrapped by WrapsAcknowledgement {
        /// Records that the peer is known; `names_ranges`: whether a report names ranges, and not
        /// each number by itself.
        fn on_begun(&mut self, names_ranges: bool) = ();
        /// Records that a unit of `octets` octets arrived, perhaps not for the first time, or
        /// several did: the effect is that of units arriving one by one. `gap` is a hole that they
        /// show.
        fn on_received(&mut self, view: &View, unit: &UnitHeader, octets: usize, gap: Option<Range<u64>>) = ();
        /// Records that all of a unit had arrived before: its sender took it for lost in vain.
        fn on_again(&mut self, view: &View, span: &Range<u64>) = ();
        /// Records that a unit arrived that could not be taken for want of memory: the peer needs a
        /// report.
        fn on_refused(&mut self, view: &View, receipts: &Receipts) = ();
        /// Records that the peer sent an inquiry.
        fn on_inquiry(&mut self, view: &View, question: ReportRequest) = ();
        /// Records that the application has taken something.
        fn on_taken(&mut self, view: &View) = ();
        /// Records what another receiver of the same data reports to their sender.
        fn on_overheard(&mut self, view: &View, receipts: &Receipts, report: &Report) = ();
        /// Records that the application took enough for the peer to send more.
        fn on_room(&mut self, view: &View, receipts: &Receipts) = ();
        /// Records that the address of a side has changed: reports were lost, and all that was
        /// received is reported now, as far as the format can.
        fn on_moved(&mut self, view: &View, receipts: &Receipts) = ();
        /// Makes what is owed be reported now: the association is about to end.
        fn hurry(&mut self, view: &View) = ();
        /// Writes what is to be reported now, of at most `room` spans or numbers. Returns whether
        /// there is anything.
        fn report(&self, view: &View, receipts: &Receipts, room: usize, into: &mut Report) -> bool;
        /// Records that the report left.
        fn on_reported(&mut self, view: &View, report: &Report) = ();
        /// Returns when there will be a report; if there is one already, no later than now.
        fn deadline(&self) -> Instant = Instant::END;
    }
}

slot! {
    /// The sender's half: when to ask the peer what it has, and when to stop and insist.
    trait Inquiry wrapped by WrapsInquiry {
        /// Returns whether to ask now.
        fn due(&self, view: &View, occasion: Occasion) -> bool;
        /// Returns whether a question that leaves with it is to be answered once more when the
        /// application has taken what arrived before it.
        fn awaits_taking(&self, view: &View, occasion: Occasion) -> bool = false;
        /// Returns whether it depends on whether a unit is the last that may leave.
        fn heeds_last(&self) -> bool = false;
        /// Returns whether packets that leave at a moment change its answers for others that leave
        /// at the same moment; otherwise it is asked, and told, once for several packets.
        fn heeds_sent(&self) -> bool = true;
        /// Records that time has passed; `heard` is when something was last received, as far as the
        /// connection policy keeps that.
        fn on_time(&mut self, view: &View, heard: Instant) = ();
        /// Records that a unit left.
        fn on_sent(&mut self, view: &View) = ();
        /// Records that one was due with a unit that left, whose packet has no field for it.
        fn on_unasked(&mut self, view: &View) = ();
        /// Records that the inquiry of this number left.
        fn on_asked(&mut self, view: &View, number: u32) = ();
        /// Returns whether what the answer to this inquiry took is a round trip: not if newer ones
        /// left because none came (Karn's algorithm).
        fn believes(&self, number: u32) -> bool = true;
        /// Records that it was answered, after the answer was processed.
        fn on_answer(&mut self, view: &View, number: u32, took: Nanoseconds) = ();
        /// Returns whether data waits for an answer.
        fn holds(&self, view: &View) -> bool = false;
        /// Returns whether the peer counts as gone, because it does not answer.
        fn gives_up(&self) -> bool = false;
        /// Returns when to ask again.
        fn deadline(&self, view: &View) -> Instant = Instant::END;
    }
}
