//! What stations of a channel do, for displays and for those that wait for a frame to leave.

use stackwright_contract::Instant;

/// What a station did, and when.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Activity<P> {
    /// When.
    pub time: Instant,
    /// Which station.
    pub station: usize,
    /// What it did.
    pub what: OnAir<P>,
}

/// What a station can do on a channel. Of its frames, each begins and leaves once, in the order in
/// which they were sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OnAir<P> {
    /// It has something to send, and waits because it hears another station.
    Defers,
    /// Its transmitter is on.
    KeysUp,
    /// The first octet of this frame leaves.
    Begins(P),
    /// The last octet of the frame has left.
    Leaves,
    /// Its transmitter is off.
    KeysDown,
    /// It received a frame.
    Receives {
        /// Of which station.
        from: usize,
        /// Whether bits of it are altered.
        altered: bool,
    },
    /// It lost a frame of a station that it hears, because it heard another one as well, or sent.
    Loses {
        /// Of which station.
        from: usize,
    },
}
