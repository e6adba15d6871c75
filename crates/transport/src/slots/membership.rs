//! The slot for who reports: one peer, or the members of a group.

use crate::words::{Report, Signals, View};

/// How many members a group has, and had.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GroupCounts {
    /// The members now.
    pub members: usize,
    /// Those that left by themselves.
    pub left: u64,
    /// Those that were dropped.
    pub dropped: u64,
}

/// Why a member was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberFault {
    /// It answered no question for too long.
    Silent,
    /// It held up the others, and took too little.
    Slow,
}

impl MemberFault {
    /// Returns the reason in words.
    pub const fn words(self) -> &'static str {
        match self {
            MemberFault::Silent => "it was silent for too long",
            MemberFault::Slow => "it held up the others for too long",
        }
    }
}

/// A member that was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DroppedMember {
    /// Its name, as its [reports](Report::member) bear it.
    pub member: u64,
    /// Why.
    pub why: MemberFault,
}

/// Who reports: one peer, or the members of a group, of which each reports for itself. `()` is one
/// peer, and costs nothing.
///
/// It is chosen by a configuration, and not while a program runs. The other slots hear one peer in
/// either case: the slowest of the members.
#[allow(unused_variables, reason = "a default answer looks at nothing")]
pub trait Membership: Default + Send {
    /// Merges a packet that reports with what other members have reported. Returns whether it
    /// counts: `report` and `credit` are then what the whole group says. Otherwise the group has
    /// not said anything new.
    fn merge(
        &mut self,
        view: &View,
        signals: Signals,
        report: &mut Report,
        credit: &mut Option<u64>,
    ) -> bool {
        true
    }

    /// Returns whether the answer that was merged last measures the round trip.
    fn measures(&self) -> bool {
        true
    }

    /// Records that the inquiry of this number left.
    fn on_asked(&mut self, view: &View, number: u32) {}

    /// Returns the next member that was dropped, once.
    fn take_dropped(&mut self) -> Option<DroppedMember> {
        None
    }

    /// Returns the counts of members; `None` where there is one peer.
    fn counts(&self) -> Option<GroupCounts> {
        None
    }
}

impl Membership for () {}
