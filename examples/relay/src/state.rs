//! Two associations that belong together.

use alloc::collections::VecDeque;

use stackwright_contract::services::{Credit, Ended, MessageProperties};
use stackwright_contract::{Handle, Participant};

use crate::words::Direction;

/// Who arrived, and his association onward.
#[derive(Debug)]
pub(crate) struct Pair<M> {
    pub(crate) peer: Participant,
    sides: [Side<M>; 2],
    /// Which ended first, and why.
    pub(crate) first: Option<(Direction, Ended)>,
    pub(crate) passed: [u64; 2],
}

/// One of the two associations.
#[derive(Debug)]
pub(crate) struct Side<M> {
    pub(crate) name: Handle,
    pub(crate) state: State,
    /// How much it takes, and the most that it ever did.
    pub(crate) credit: Credit,
    pub(crate) room_most: Credit,
    /// What waits to be sent on it.
    pub(crate) waiting: VecDeque<Waiting<M>>,
}

/// A datagram, changed already, and how many octets its sender gets back for it.
#[derive(Debug)]
pub(crate) struct Waiting<M> {
    pub(crate) message: M,
    pub(crate) properties: MessageProperties,
    pub(crate) octets: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum State {
    Opening,
    Open,
    Closing,
    Over,
}

impl<M> Pair<M> {
    /// `near` arrived, and `far` was asked for.
    pub(crate) fn new(peer: Participant, near: (Handle, Credit), far: Handle) -> Self {
        let side = |name, state, credit| Side {
            name,
            state,
            credit,
            room_most: credit,
            waiting: VecDeque::new(),
        };
        Pair {
            peer,
            sides: [
                side(near.0, State::Open, near.1),
                side(far, State::Opening, Credit::default()),
            ],
            first: None,
            passed: [0; 2],
        }
    }

    /// The side from which datagrams come in that direction.
    pub(crate) fn from(&mut self, direction: Direction) -> &mut Side<M> {
        &mut self.sides[direction as usize]
    }

    /// The side to which they go.
    pub(crate) fn to(&mut self, direction: Direction) -> &mut Side<M> {
        self.from(direction.other())
    }

    pub(crate) fn held(&self) -> usize {
        self.sides.iter().flat_map(|side| &side.waiting).map(|waiting| waiting.octets).sum()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.sides.iter().all(|side| side.state == State::Over)
    }

    /// The names of those that are not over, nor closed.
    pub(crate) fn living(&mut self) -> impl Iterator<Item = &mut Side<M>> {
        self.sides.iter_mut().filter(|side| matches!(side.state, State::Opening | State::Open))
    }
}
