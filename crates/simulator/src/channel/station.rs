//! One station of a channel: its queue, its transmitter, and its receiver.

use std::collections::VecDeque;

use stackwright_contract::Instant;

use super::AccessParameters;
use crate::link::BitErrors;

/// A station of a channel.
#[derive(Clone, Debug)]
pub(super) struct Station<P> {
    pub(super) access: AccessParameters,
    pub(super) waiting: VecDeque<Frame<P>>,
    /// Frames in flight: the propagation delay is the same for all signals.
    pub(super) flying: VecDeque<Flying<P>>,
    pub(super) state: State,
    /// The stations that hear it.
    pub(super) heard_by: Vec<usize>,
    /// How many other stations it hears now.
    pub(super) carriers: usize,
    /// Since when it hears exactly one station and does not send, so that it can receive; `None` if
    /// that is not so.
    pub(super) clear_since: Option<Instant>,
    /// The errors in what it receives.
    pub(super) errors: BitErrors,
}

/// A packet and the station that it is for; `None` is for all.
#[derive(Clone, Debug)]
pub(super) struct Frame<P> {
    pub(super) to: Option<usize>,
    pub(super) packet: P,
}

/// A frame in flight.
#[derive(Clone, Debug)]
pub(super) struct Flying<P> {
    pub(super) frame: Frame<P>,
    /// When its first octet arrives.
    pub(super) begins: Instant,
}

/// The state of a station's transmitter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Nothing waits.
    Idle,
    /// Packets wait, and the channel is busy.
    Deferring,
    /// Packets wait, and a decision is on the agenda.
    Deciding,
    /// Its transmitter is on, and its first frame has not begun yet.
    KeyingUp,
    /// It sends; this many frames are left of those that waited when it began.
    Sending(usize),
}

impl<P> Station<P> {
    pub(super) fn new(heard_by: Vec<usize>, access: AccessParameters) -> Self {
        Station {
            access,
            heard_by,
            waiting: VecDeque::new(),
            flying: VecDeque::new(),
            state: State::Idle,
            carriers: 0,
            clear_since: None,
            errors: BitErrors::default(),
        }
    }

    pub(super) fn is_on_air(&self) -> bool {
        matches!(self.state, State::KeyingUp | State::Sending(_))
    }

    /// Updates the state after a change of what it hears, or of whether it sends.
    pub(super) fn listen(&mut self, now: Instant) {
        self.clear_since = (self.carriers == 1 && !self.is_on_air()).then_some(now);
    }
}
