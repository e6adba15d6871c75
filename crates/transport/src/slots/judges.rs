//! The slots that judge: what is lost, the round-trip time, credit, congestion, rate and lifetime.

use core::num::{NonZeroU32, NonZeroU64};
use core::ops::Range;

use stackwright_contract::Instant;
use stackwright_contract::ask::SendingChange;

use super::slot;
use crate::sending::Acknowledged;
pub use crate::sending::Suspect;
use crate::words::{
    Dropped, Estimate, Nanoseconds, Opening, Report, Sample, Terms, Timestamp, View,
};

/// What a report makes suspect: determined first, or each report would cost a pass over all packets
/// in flight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Suspects {
    /// Nothing.
    None,
    /// All packets in flight that have numbers in this span.
    Within(Range<u64>),
    /// All that the report says is missing.
    Missing,
}

/// What is due when the application has taken something of what was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CreditUpdate {
    /// Nothing.
    None,
    /// The peer is to be told now: there is enough more credit.
    Tell,
    /// It is time to ask what is to be [reserved](Flow::reserves).
    Reserve,
}

slot! {
    /// What is lost. The units and their octets are the engine's.
    trait Recovery wrapped by WrapsRecovery {
        /// Records what the opening has shown of the path, before any data leaves.
        fn on_opened(&mut self, opening: &Opening) = ();
        /// Records that packets were found lost, other than by a timeout.
        fn on_lost(&mut self, view: &View) = ();
        /// Records that packets were reordered: one arrived `by` later than one that left after it
        /// would have. `was_lost`: one had been found lost for that, as a report of a round trip
        /// later may tell.
        fn on_reordered(&mut self, view: &View, was_lost: bool, by: Nanoseconds) = ();
        /// Returns whether a unit is kept until it is acknowledged.
        fn keeps(&self) -> bool = true;
        /// Returns what a report makes suspect.
        fn suspects(&self, view: &View, report: &Report) -> Suspects = Suspects::None;
        /// Returns whether packets in the same state are lost. It is asked once for each range of
        /// them, in each span.
        fn is_lost(&self, view: &View, suspect: &Suspect, report: &Report) -> bool = false;
        /// Returns the packet reordering threshold: a unit is lost when one that left this many
        /// packets later was acknowledged (RFC 9002 §6.1.1); `None`: never.
        fn tolerance(&self) -> Option<u64> = None;
        /// Returns the time threshold: when one that left later was acknowledged, a unit is lost
        /// this much later than that took (RFC 8985 §6.2, RFC 9002 §6.1.2); `None`: never.
        fn lag(&self, view: &View) -> Option<Nanoseconds> = None;
        /// Returns the timeout after which a unit is lost that was not acknowledged; `None`: never.
        fn patience(&self, view: &View) -> Option<Nanoseconds> = None;
        /// Returns how long nothing at all must have been received before the newest unit is sent
        /// once more; `None`: never.
        fn probes_after(&self, view: &View) -> Option<Nanoseconds> = None;
        /// Returns how many times a unit is sent again at most; then it is
        /// [abandoned](crate::words::PieceForm::Abandoned). `None`: until it is acknowledged.
        fn resends(&self) -> Option<u16> = None;
        /// Returns the time without an acknowledgement after which the peer is dead, while one is
        /// owed, though what was sent timed out `timeouts` times meanwhile; `None`: it may be
        /// alive.
        fn dead_after(&self, view: &View, timeouts: u32) -> Option<Nanoseconds> = None;
    }
}

slot! {
    /// The round-trip time.
    trait Rtt {
        /// Returns the current estimate.
        fn estimate(&self) -> Estimate;
        /// Records what the opening has shown of the path, before any data leaves.
        fn on_opened(&mut self, opening: &Opening) = ();
        /// Records a measurement.
        fn on_sample(&mut self, sample: Sample) = ();
        /// Records that something was not acknowledged in time.
        fn on_timeout(&mut self) = ();
    }
}

slot! {
    /// How much the two ends take, in the format's numbers.
    trait Flow {
        /// Returns the number from which on nothing may be sent.
        fn limit(&self, view: &View) -> u64 = u64::MAX;
        /// Records that the peer allows sending up to this number.
        fn on_credit(&mut self, credit: u64) = ();
        /// Checks that a unit is taken.
        ///
        /// # Errors
        /// [`Dropped::BeyondWindow`] or [`Dropped::NoRoom`].
        fn admit(&self, view: &View, span: &Range<u64>) -> Result<(), Dropped> = Ok(());
        /// Returns up to which number the peer may send; `None` if that is not reported.
        fn credit(&self, view: &View) -> Option<u64> = None;
        /// Records that this credit was sent.
        fn on_credit_said(&mut self, credit: u64) = ();
        /// Records that the application has taken something. Returns what is due for it.
        fn on_taken(&mut self, view: &View) -> CreditUpdate = CreditUpdate::None;
        /// Returns how many octets are to be reserved for what the peer may send beyond the first
        /// window: more than now, to give credit for more; or fewer, where credit was used up.
        fn reserves(&self, view: &View) -> usize = 0;
        /// Records how many octets are reserved. Of more than before, it may be any part; fewer
        /// are as many as it asked for.
        fn on_reserved(&mut self, view: &View, octets: usize) = ();
        /// Returns whether it depends on how much the application has room for.
        fn heeds_room(&self) -> bool = false;
        /// Records how many octets the application has room for. Returns what is due for it.
        fn on_room(&mut self, view: &View, octets: usize) -> CreditUpdate = CreditUpdate::None;
        /// Returns after what time a shut window is tried again; `None`: it never shuts.
        fn tries_after(&self, view: &View) -> Option<Nanoseconds> = None;
    }
}

slot! {
    /// How much the network takes.
    trait Congestion wrapped by WrapsCongestion {
        /// Returns the most octets in flight; 0: none leaves now.
        fn window(&self) -> u64;
        /// Returns the last changes that it made of how it judges, ten at the most.
        fn changes(&self) -> &[SendingChange] = &[];
        /// Records that a unit left, or several at one moment.
        fn on_sent(&mut self, view: &View) = ();
        /// Records what was acknowledged. The view is of before.
        fn on_acknowledged(&mut self, view: &View, acknowledged: &Acknowledged) = ();
        /// Records that `octets` octets were lost.
        fn on_lost(&mut self, view: &View, octets: u64) = ();
        /// Records that `packets` packets arrived that met congestion: without ECN, one or more
        /// would have been lost.
        fn on_marked(&mut self, view: &View, packets: u32) = ();
        /// Records that marks were none of congestion: a router on the path marks everything.
        /// Before the first of them, the window was `window` octets.
        fn on_marks_refuted(&mut self, view: &View, window: u64) = ();
        /// Returns whether it reacts to marks: only such a policy may let routers mark what it
        /// sends (RFC 3168 §6).
        fn heeds_marks(&self) -> bool = false;
        /// Records what the opening has shown of the path, before any data leaves.
        fn on_opened(&mut self, view: &View, opening: &Opening) = ();
        /// Records a retransmission timeout: all that was in flight counts as lost, and its octets
        /// are not [told](Congestion::on_lost) as such.
        fn on_timeout(&mut self, view: &View) = ();
        /// Records that the last timeout was spurious, or the last episode of loss, which began
        /// when all before it was settled: what was taken for lost had arrived, or was on its way.
        fn on_spurious(&mut self, view: &View) = ();
        /// Returns whether it is to ask: a probe is an inquiry.
        fn asks(&self, view: &View) -> bool = false;
        /// Records that the inquiry of this number left.
        fn on_asked(&mut self, view: &View, number: u32) = ();
        /// Records that it was answered.
        fn on_answer(&mut self, view: &View, number: u32, took: Nanoseconds) = ();
        /// Returns when it is to ask again.
        fn deadline(&self) -> Instant = Instant::END;
        /// Returns the rate at which data is to leave, in octets per second; `None` if only the
        /// window bounds it. It is asked whenever it was told something.
        fn pace(&self) -> Option<NonZeroU64> = None;
    }
}

slot! {
    /// The rate of sending.
    trait Rate {
        /// Returns when the next packet may leave.
        fn ready(&self, view: &View) -> Instant = Instant::START;
        /// Returns the rate at which packets leave, in octets per second, where this policy knows
        /// one that the congestion judge does not.
        fn pace(&self) -> Option<NonZeroU64> = None;
        /// Returns whether packets that leave at a moment change its answer for others that leave
        /// at the same moment; otherwise it is asked, and told, once for several packets.
        fn heeds_sent(&self) -> bool = true;
        /// Records that a packet left, with `body` octets of a unit.
        fn on_sent(&mut self, view: &View, octets: usize, body: usize) = ();
        /// Records the rate at which the congestion judge has units leave from now on, in octets
        /// per second: it measures the rate at which they arrive, without what precedes them.
        /// `None`: only the window bounds it.
        fn on_pace(&mut self, view: &View, pace: Option<NonZeroU64>) = ();
        /// Records how fast the peer takes data.
        fn on_terms(&mut self, view: &View, terms: Terms) = ();
        /// Returns how fast this side takes data, for the packets that carry it; `None`: the peer
        /// is not told.
        fn terms(&self) -> Option<Terms> = None;
        /// Sets how fast this side takes data. Returns whether the peer is told.
        fn set_terms(&mut self, terms: Terms) -> bool = false;
        /// Returns whether a packet must leave to tell the peer.
        fn owes_terms(&self) -> bool = false;
        /// Records that a packet that carries them left.
        fn on_terms_said(&mut self) = ();
    }
}

slot! {
    /// Whether something is still of use, and the time at other places.
    trait Lifetime {
        /// Returns whether a message that waits since `since`, with a lifetime of `wish`
        /// microseconds, has expired.
        fn is_over(&self, view: &View, since: Instant, wish: Option<NonZeroU32>) -> bool = false;
        /// Returns the timestamp that it bears.
        fn stamp(&self, view: &View, since: Instant, wish: Option<NonZeroU32>) -> Timestamp = Timestamp::default();
        /// Returns the time of its own clock, now, in microseconds since 1970.
        fn clock(&self, view: &View) -> u64 = 0;
        /// Checks that a packet that bears this timestamp is of use; `reports`: it says what was
        /// received.
        ///
        /// # Errors
        /// [`Dropped::Expired`].
        fn admit(&self, view: &View, stamp: Timestamp, reports: bool) -> Result<(), Dropped> = Ok(());
        /// Returns how much of its lifetime is left to a packet that is of use, in microseconds.
        fn left(&self, view: &View, stamp: Timestamp) -> Option<NonZeroU32> =
            NonZeroU32::new(stamp.valid);
        /// Records that a report that bears this timestamp answered something this long after it
        /// was sent.
        fn on_sample(&mut self, view: &View, took: Nanoseconds, stamp: Timestamp) = ();
    }
}
