//! The configuration of a hub.

use stackwright_contract::Participant;
use stackwright_contract::services::Credit;

use crate::{LONGEST_MOST, PORTS_MOST};

/// The configuration of a [`Hub`](super::Hub).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HubConfig {
    /// Where programs find it; `None`: nowhere, and the layer above has the TNC alone.
    pub local: Option<Participant>,
    /// The longest frame, in octets: 1 to [`LONGEST_MOST`], and no more than the TNC below takes.
    pub longest: usize,
    /// How many ports of the TNC are shared, counted from 0: 1 to 16.
    pub ports: u8,
    /// Programs, and the layer above, also receive what others of them send, as if all had a TNC of
    /// their own.
    pub echo: bool,
    /// What the layer above may send on one port before it has left: the initial credit downward.
    pub room: Credit,
}

/// How many programs may be there at once.
pub const CLIENTS_MOST: usize = 16;

/// How many octets may wait for one program. Frames beyond are lost to it.
pub const CLIENT_ROOM: usize = 64 << 10;

impl HubConfig {
    /// Returns the hub at `local` of a TNC with one port, for frames of 1024 octets, without echo.
    pub fn at(local: impl Into<Participant>) -> Self {
        let room = Credit { octets: 16 << 10, messages: 64 };
        HubConfig { local: Some(local.into()), longest: 1024, ports: 1, echo: false, room }
    }

    /// # Panics
    /// Where a value is out of its range.
    pub(super) fn check(&self) {
        let HubConfig { longest, ports, room, .. } = self;
        assert!((1..=LONGEST_MOST).contains(longest), "a frame has 1 to {LONGEST_MOST} octets");
        assert!((1..=PORTS_MOST).contains(ports), "a TNC has 1 to {PORTS_MOST} ports");
        let one = Credit { octets: *longest, messages: 1 };
        assert!(room.covers(one), "the longest frame is within the room");
    }
}
