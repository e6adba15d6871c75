//! What is said that is not data.

use core::ops::Range;

use stackwright_contract::Instant;

use super::slot;
use crate::receipts::Receipts;
use crate::words::{
    Dropped, Ending, Nanoseconds, Occasion, Phase, Report, Signals, UnitHeader, View,
};

/// What else an arriving packet tells of the association itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PacketInfo {
    /// Of the association.
    pub signals: Signals,
    /// In octets.
    pub octets: usize,
    /// It reports of something that was sent: who sent it hears us.
    pub reports: bool,
    /// Its sender's number after the last.
    pub next: Option<u64>,
}

slot! {
    /// Opens, closes, answers, gives signals. Says nothing about data.
    trait Connection {
        /// The layer above wants an association.
        fn open(&mut self, view: &View) = ();
        /// The layer above has no more to send: our half is to be closed.
        fn finish(&mut self) = ();
        /// The layer above takes no more: with [`finish`](Connection::finish), both halves are.
        fn stop(&mut self) = ();
        /// Whether the peer has closed its half, and all that it sent is here.
        fn heard_all(&self, view: &View) -> bool = false;
        /// This side ends the association, whatever is still to arrive: the peer is told why, as
        /// far as it can be. Whether it is being told; else the association is over at once.
        fn abandon(&mut self, view: &View, why: Ending) -> bool = false;
        /// A packet arrived.
        ///
        /// # Errors
        /// Where it is none of this association.
        fn admit(&mut self, view: &View, tidings: &PacketInfo) -> Result<(), Dropped> = Ok(());
        /// Whether so many octets of data may leave now; of none, whether questions may.
        fn may_send(&self, octets: usize) -> bool = true;
        /// What rides on whatever leaves now.
        fn signals(&self, view: &View) -> Signals = Signals::NONE;
        /// Whether something must leave for their sake.
        fn due(&self, view: &View) -> bool = false;
        /// A packet left, with these.
        fn on_said(&mut self, view: &View, signals: Signals, octets: usize) = ();
        /// Whether the peer began it and has not shown that it hears us.
        fn is_half_open(&self) -> bool = false;
        /// Where the association stands.
        fn phase(&self, view: &View) -> Phase;
        /// When it has something to say, or has waited long enough.
        fn deadline(&self) -> Instant = Instant::END;
    }
}

slot! {
    /// The receiver's half: when something is to be reported, and what.
    trait Acknowledgement {
        /// A unit of so many octets arrived, perhaps not for the first time, or several did: it is
        /// as if each had arrived by itself. `gap` is a hole that they show.
        fn on_received(&mut self, view: &View, unit: &UnitHeader, octets: usize, gap: Option<Range<u64>>) = ();
        /// A unit arrived for which there was no room: the peer has to hear where we stand.
        fn on_refused(&mut self, view: &View, receipts: &Receipts) = ();
        /// The peer asks.
        fn on_inquiry(&mut self, view: &View, number: u32) = ();
        /// The application took so much that the peer may send more.
        fn on_room(&mut self, view: &View, receipts: &Receipts) = ();
        /// Writes what is to be reported now, of at most `room` spans or numbers; whether there is
        /// anything.
        fn report(&self, view: &View, receipts: &Receipts, room: usize, into: &mut Report) -> bool;
        /// It left.
        fn on_reported(&mut self, view: &View, report: &Report) = ();
        /// When there will be something; where there is already, no later than now.
        fn deadline(&self) -> Instant = Instant::END;
    }
}

slot! {
    /// The sender's half: when to ask the peer what it has, and when to stop and insist.
    trait Inquiry {
        /// Whether to ask now.
        fn due(&self, view: &View, occasion: Occasion) -> bool;
        /// Whether it is of interest that nothing may follow a unit.
        fn heeds_last(&self) -> bool = false;
        /// Whether what leaves at a moment changes its answers for what leaves at the same moment;
        /// else it is asked, and told, once for several packets.
        fn heeds_sent(&self) -> bool = true;
        /// A unit left.
        fn on_sent(&mut self, view: &View) = ();
        /// The question of this number left.
        fn on_asked(&mut self, view: &View, number: u32) = ();
        /// It was answered, and what the answer says was heeded.
        fn on_answer(&mut self, view: &View, number: u32, took: Nanoseconds) = ();
        /// No data until there is an answer.
        fn holds(&self, view: &View) -> bool = false;
        /// Nobody answers.
        fn gives_up(&self) -> bool = false;
        /// When to ask again.
        fn deadline(&self, view: &View) -> Instant = Instant::END;
    }
}
