//! A line of octets without associations: a serial line, a byte pipe. It has no end, but may be
//! down.

use core::marker::PhantomData;

use crate::{Service, Word};

/// Octets in order, to the only other end there is.
pub struct Octets<M>(PhantomData<M>);

impl<M> Service for Octets<M> {
    const NAME: &'static str = "Octets";
    type Request = OctetsRequest<M>;
    type Indication = OctetsIndication<M>;
    type Name = ();
}

/// What may be asked of a line.
#[derive(Debug)]
pub enum OctetsRequest<M> {
    /// Sends within the credit.
    Send {
        /// The octets.
        message: M,
    },
    /// Gives more credit upward: this much was consumed, or there is room for it. Never zero.
    Credit {
        /// In octets.
        credit: usize,
    },
}

/// What a line tells.
#[derive(Debug)]
pub enum OctetsIndication<M> {
    /// Gives more credit downward. Never zero.
    Credit {
        /// In octets.
        credit: usize,
    },
    /// Delivers octets, within the credit that was given.
    Delivered {
        /// The octets.
        message: M,
    },
    /// Told once at the start, and when it changes. Down: what was sent is lost, and all credit is
    /// void.
    State {
        /// Whether the other end is there.
        up: bool,
    },
}

impl<M> Word for OctetsRequest<M> {
    type Message = M;

    fn primitive(&self) -> &'static str {
        match self {
            Self::Send { .. } => "Send",
            Self::Credit { .. } => "Credit",
        }
    }

    fn message(&self) -> Option<&M> {
        if let Self::Send { message } = self { Some(message) } else { None }
    }
}

impl<M> Word for OctetsIndication<M> {
    type Message = M;

    fn primitive(&self) -> &'static str {
        match self {
            Self::Delivered { .. } => "Delivered",
            Self::Credit { .. } => "Credit",
            Self::State { .. } => "State",
        }
    }

    fn message(&self) -> Option<&M> {
        if let Self::Delivered { message } = self { Some(message) } else { None }
    }
}
