//! What is lost, how long it takes, how much, how fast, for how long.

use core::num::{NonZeroU32, NonZeroU64};
use core::ops::Range;

use stackwright_contract::Instant;

use super::slot;
use crate::sending::Acknowledged;
pub use crate::sending::Suspect;
use crate::words::{Dropped, Estimate, Nanoseconds, Report, Sample, Timestamp, View};

/// What a report makes suspect: named first, or each report would cost the whole flight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Suspects {
    /// Nothing.
    None,
    /// All packets in flight that have numbers in this span.
    Within(Range<u64>),
    /// All that the report says is missing.
    Missing,
}

slot! {
    /// What is lost. The units and their octets are the engine's.
    trait Recovery {
        /// Whether a unit is kept until it is heard of.
        fn keeps(&self) -> bool = true;
        /// What a report makes suspect.
        fn suspects(&self, view: &View, report: &Report) -> Suspects = Suspects::None;
        /// Whether packets are lost of which the same is known. It is asked once for each range of
        /// them, in each span.
        fn is_lost(&self, suspect: &Suspect, report: &Report) -> bool = false;
        /// A unit is lost when it was heard of one that left so many packets later; `None`: that
        /// means nothing.
        fn tolerance(&self) -> Option<u64> = None;
        /// The same in time: when it was heard of one that left so much later; `None`: that means
        /// nothing.
        fn lag(&self, view: &View) -> Option<Nanoseconds> = None;
        /// A unit is lost when nothing was heard of it for so long; `None`: that means nothing.
        fn patience(&self, view: &View) -> Option<Nanoseconds> = None;
        /// The newest unit is sent once more when nothing at all was heard for so long; `None`:
        /// never.
        fn probes_after(&self, view: &View) -> Option<Nanoseconds> = None;
        /// The peer is dead when no acknowledgement arrived for this long while one is owed, though
        /// what was sent timed out `timeouts` times meanwhile; `None`: it may be alive.
        fn dead_after(&self, view: &View, timeouts: u32) -> Option<Nanoseconds> = None;
    }
}

slot! {
    /// How long the way there and back takes.
    trait Rtt {
        /// What is believed now.
        fn estimate(&self) -> Estimate;
        /// It was measured.
        fn on_sample(&mut self, sample: Sample) = ();
        /// Something was not heard of in time.
        fn on_timeout(&mut self) = ();
    }
}

slot! {
    /// How much the two ends take, in the format's numbers.
    trait Flow {
        /// The number from which on nothing may be sent.
        fn limit(&self, view: &View) -> u64 = u64::MAX;
        /// The peer lets us send up to this number.
        fn on_credit(&mut self, credit: u64) = ();
        /// Whether a unit is taken.
        ///
        /// # Errors
        /// [`Dropped::BeyondWindow`] or [`Dropped::NoRoom`].
        fn admit(&self, view: &View, span: &Range<u64>) -> Result<(), Dropped> = Ok(());
        /// How far the peer may send; `None` where that is not said.
        fn credit(&self, view: &View) -> Option<u64> = None;
        /// This credit was said.
        fn on_credit_said(&mut self, credit: u64) = ();
        /// The application has taken something. `true`: so much that the peer should hear of it
        /// now.
        fn on_taken(&mut self, view: &View) -> bool = false;
        /// A shut window is tried again when it has been shut for so long; `None`: it never shuts.
        fn tries_after(&self, view: &View) -> Option<Nanoseconds> = None;
    }
}

slot! {
    /// How much the network takes.
    trait Congestion {
        /// The most octets in flight; 0: none leaves now.
        fn window(&self) -> u64;
        /// A unit left, or several at one moment.
        fn on_sent(&mut self, view: &View) = ();
        /// So much arrived. The view is of before.
        fn on_acknowledged(&mut self, view: &View, acknowledged: &Acknowledged) = ();
        /// So many octets were lost.
        fn on_lost(&mut self, view: &View, octets: u64) = ();
        /// So many packets arrived that met congestion: where no router could say so, one or more
        /// would have been lost.
        fn on_marked(&mut self, view: &View, packets: u32) = ();
        /// Whether it does something about that: nobody else may let routers mark what it sends
        /// (RFC 3168 §6).
        fn heeds_marks(&self) -> bool = false;
        /// Nothing was heard for so long that all in flight is believed lost.
        fn on_silence(&mut self, view: &View) = ();
        /// Whether it wants to ask: a probe is an inquiry.
        fn asks(&self, view: &View) -> bool = false;
        /// The question of this number left.
        fn on_asked(&mut self, view: &View, number: u32) = ();
        /// It was answered.
        fn on_answer(&mut self, view: &View, number: u32, took: Nanoseconds) = ();
        /// When it wants to ask again.
        fn deadline(&self) -> Instant = Instant::END;
        /// How fast it wants what is sent to leave, in octets per second; `None`: the window alone
        /// bounds it. It is asked when something arrived.
        fn pace(&self) -> Option<NonZeroU64> = None;
    }
}

slot! {
    /// How fast.
    trait Rate {
        /// When the next packet may leave.
        fn ready(&self, view: &View) -> Instant = Instant::START;
        /// Whether what leaves at a moment changes its answer for what leaves at the same moment;
        /// else it is asked, and told, once for several packets.
        fn heeds_sent(&self) -> bool = true;
        /// A packet left, and so many of its octets are of a unit.
        fn on_sent(&mut self, view: &View, octets: usize, body: usize) = ();
        /// What bounds what is in flight wants units to leave so fast from now on, in octets per
        /// second: it measures how fast they arrive, and not what stands before them.
        fn on_pace(&mut self, view: &View, pace: NonZeroU64) = ();
    }
}

slot! {
    /// Whether something is still of use, and what time it is elsewhere.
    trait Lifetime {
        /// Whether a message that waits `since` then, and is wished for so many microseconds, is of
        /// no use any more.
        fn is_over(&self, view: &View, since: Instant, wish: Option<NonZeroU32>) -> bool = false;
        /// What is written on it.
        fn stamp(&self, view: &View, since: Instant, wish: Option<NonZeroU32>) -> Timestamp = Timestamp::default();
        /// By one's own clock, now, in microseconds since 1970.
        fn clock(&self, view: &View) -> u64 = 0;
        /// Whether a packet that bears this is of use; `reports`: it says what was received.
        ///
        /// # Errors
        /// [`Dropped::Expired`].
        fn admit(&self, view: &View, stamp: Timestamp, reports: bool) -> Result<(), Dropped> = Ok(());
        /// A report that bears this stamp answered something so long after it was sent.
        fn on_sample(&mut self, view: &View, took: Nanoseconds, stamp: Timestamp) = ();
    }
}
