//! ECN (RFC 3168): a receiver echoes a mark until the sender has reacted, and says so.

use stackwright_transport::words::{EcnCounts, View};
use stackwright_wire::internet::Tcp;

/// What both sides know of marks. The engine counts marked packets as QUIC does: an echo is read as
/// one more of them, at most once a window (§6.1.2).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ecn {
    /// Whether this side wants it, and whether both do.
    wants: bool,
    agreed: bool,
    /// How many packets came marked, and whether the peer has not heard that.
    marked: u32,
    echoes: bool,
    /// What the peer has reported.
    counts: EcnCounts,
    /// What is echoed before this number is about the same congestion, and whether the peer is to
    /// hear that it was heeded.
    heeded_upto: u64,
    reduces: bool,
    /// Whether the last segment that was written was new data.
    is_new: bool,
}

impl Ecn {
    pub(super) const fn new(wants: bool) -> Self {
        let counts = EcnCounts { capable: 0, experienced: 0 };
        Ecn {
            wants,
            agreed: false,
            marked: 0,
            echoes: false,
            counts,
            heeded_upto: 0,
            reduces: false,
            is_new: false,
        }
    }

    pub(super) const fn is_agreed(&self) -> bool {
        self.agreed
    }

    /// Returns whether the last segment that was written may be marked: it is new data. A mark on
    /// anything else is not echoed, or is not heeded (§6.1.4 to §6.1.6).
    pub(super) const fn may_be_marked(&self) -> bool {
        self.agreed && self.is_new
    }

    /// Handles the peer's SYN (§6.1.1). One that comes without an offer takes an earlier one back.
    pub(super) fn on_request(&mut self, header: &Tcp) {
        self.agreed = self.wants && header.ece && header.cwr != header.ack;
    }

    /// Sets the flags of a SYN, or of its answer. What asks `again` asks without: something on the
    /// path may drop a SYN that offers it (§6.1.1.1).
    pub(super) fn on_opens(&mut self, answers: bool, again: bool, header: &mut Tcp) {
        self.wants &= answers || !again;
        header.ece = if answers { self.agreed } else { self.wants };
        header.cwr = !answers && self.wants;
    }

    /// Handles the flags of a segment that acknowledges everything before `ack`. Returns the counts
    /// that it stands for, where segments carry `segment` octets.
    pub(super) fn on_heard(
        &mut self,
        view: &View,
        header: &Tcp,
        ack: u64,
        segment: u64,
    ) -> Option<EcnCounts> {
        if !self.agreed {
            return None;
        }
        self.echoes &= !header.cwr;
        let is_news = header.ece && view.settled_upto >= self.heeded_upto;
        let segments = ack.saturating_sub(view.settled_upto).div_ceil(segment) as u32;
        let arrived = segments.max(u32::from(is_news));
        self.counts.capable = self.counts.capable.wrapping_add(arrived);
        if is_news {
            self.counts.experienced = self.counts.experienced.wrapping_add(1);
            (self.heeded_upto, self.reduces) = (view.sent_upto, true);
        }
        Some(self.counts)
    }

    /// Sets the flags of a segment, of `new` data or not; `counts`: what has arrived, if it reports
    /// that.
    pub(super) fn on_leaves(&mut self, new: bool, counts: Option<EcnCounts>, header: &mut Tcp) {
        self.is_new = new;
        if !self.agreed {
            return;
        }
        if let Some(counts) = counts {
            self.echoes |= counts.experienced != self.marked;
            self.marked = counts.experienced;
        }
        header.ece = self.echoes;
        header.cwr = new && core::mem::take(&mut self.reduces);
    }
}
