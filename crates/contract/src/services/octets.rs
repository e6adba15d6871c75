//! A line of octets without associations: a serial line, a byte pipe. It has no end, but may be down.

use core::marker::PhantomData;

use crate::Service;

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
    /// Within the room.
    Send {
        /// The octets.
        message: M,
    },
    /// The upper has consumed so many octets, or has room for so many more. Never zero.
    Receive {
        /// In octets.
        room: usize,
    },
}

/// What a line tells.
#[derive(Debug)]
pub enum OctetsIndication<M> {
    /// The lower has room for so many more octets. Never zero.
    Room {
        /// In octets.
        room: usize,
    },
    /// Octets, within the room that was given.
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
