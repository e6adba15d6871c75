//! One station of a channel: what waits, whether it sends, and what it hears.

use std::collections::VecDeque;

use stackwright_contract::Instant;

use crate::link::BitErrors;

/// A station.
#[derive(Clone, Debug)]
pub(super) struct Station<P> {
    pub(super) waiting: VecDeque<Frame<P>>,
    /// What has begun to leave and has not arrived yet: all signals are under way equally long.
    pub(super) flying: VecDeque<Flying<P>>,
    pub(super) state: State,
    /// Who hears it.
    pub(super) heard_by: Vec<usize>,
    /// How many others it hears now.
    pub(super) carriers: usize,
    /// Since when it hears exactly one and does not send, so that it understands it; `None` where
    /// that is not so.
    pub(super) clear_since: Option<Instant>,
    /// The errors in what it hears.
    pub(super) errors: BitErrors,
}

/// A packet and who it is for; `None` is for all.
#[derive(Clone, Debug)]
pub(super) struct Frame<P> {
    pub(super) to: Option<usize>,
    pub(super) packet: P,
}

/// A frame on its way.
#[derive(Clone, Debug)]
pub(super) struct Flying<P> {
    pub(super) frame: Frame<P>,
    /// When its first octet arrives.
    pub(super) begins: Instant,
}

/// What a station does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// It has nothing to send.
    Idle,
    /// It has, and hears somebody.
    Deferring,
    /// It has, and a decision is on the agenda.
    Deciding,
    /// Its transmitter is on, and its first frame has not begun yet.
    KeyingUp,
    /// It sends; so many frames are left of those that waited when it began.
    Sending(usize),
}

impl<P> Station<P> {
    pub(super) fn new(heard_by: Vec<usize>) -> Self {
        Station {
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

    /// What it hears, or whether it sends, has changed.
    pub(super) fn listen(&mut self, now: Instant) {
        self.clear_since = (self.carriers == 1 && !self.is_on_air()).then_some(now);
    }
}
