//! The peer's half of a stream: octets wait for those before them, and for credit of the layer
//! above.

use alloc::collections::BTreeMap;

use stackwright_wire::Message;

use crate::config::WINDOW_FIRST;
use crate::header::weight;

pub(crate) struct Incoming<M> {
    /// Pieces by the offset of their first octet. None overlaps another; the credit bounds them, by
    /// octets and by number.
    held: BTreeMap<u64, Piece<M>>,
    octets: usize,
    /// How many octets of the stream the layer above has.
    delivered: u64,
    /// The weight of all pieces that arrived; of those that were delivered; and the credit that was
    /// announced last.
    received: u64,
    released: u64,
    granted: u64,
    window_most: u64,
    /// How many octets the layer above accepts.
    room: usize,
    half: Half,
}

struct Piece<M> {
    octets: M,
    /// By how much its weight exceeds its octets.
    surplus: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum Half {
    Open,
    /// The stream has this many octets.
    Ends(u64),
    /// All were delivered, and the end was indicated to the layer above.
    Finished,
}

/// A fault in a datagram of the peer.
pub(crate) enum Fault {
    /// It repeats an earlier one, or exceeds the credit: it is ignored.
    Idle(&'static str),
    /// It contradicts another: no stream satisfies both.
    Impossible(&'static str),
}

impl<M: Message> Incoming<M> {
    pub(crate) fn new(window_most: usize, room: usize) -> Self {
        Incoming {
            held: BTreeMap::new(),
            octets: 0,
            delivered: 0,
            received: 0,
            released: 0,
            granted: 0,
            window_most: window_most as u64,
            room,
            half: Half::Open,
        }
    }

    /// Returns how many octets wait.
    pub(crate) fn held(&self) -> usize {
        self.octets
    }

    /// Returns how much may be in flight or wait: as much as the layer above has taken, within
    /// bounds. So the window keeps up with a sender in slow start on any path, and a peer that is to
    /// be held much for has sent as much that was taken.
    fn window(&self) -> u64 {
        self.released.max(WINDOW_FIRST as u64).min(self.window_most)
    }

    /// Returns the credit, which is announced now.
    pub(crate) fn grant(&mut self) -> u64 {
        self.granted = self.released + self.window();
        self.granted
    }

    /// Whether half of the window has become free since the credit was announced: it is announced
    /// by itself only then.
    pub(crate) fn grants_more(&self) -> bool {
        let window = self.window();
        let more = self.released + window - self.granted;
        self.half == Half::Open && more >= window.div_ceil(2)
    }

    /// Adds credit of the layer above.
    pub(crate) fn give(&mut self, room: usize) {
        self.room = self.room.saturating_add(room);
    }

    /// Handles a piece.
    pub(crate) fn push(&mut self, offset: u64, octets: M) -> Result<(), Fault> {
        let weight = weight(octets.len());
        let end = offset
            .checked_add(octets.len() as u64)
            .filter(|end| *end <= self.delivered + self.window());
        let (Some(end), true) = (end, self.received + weight <= self.granted) else {
            return Err(Fault::Idle("octets beyond the credit"));
        };
        let behind = match self.half {
            Half::Open => false,
            Half::Ends(last) => end > last,
            Half::Finished => true,
        };
        if behind {
            return Err(Fault::Idle("octets behind the finish"));
        }
        let before = self.held.range(..=offset).next_back().map_or(self.delivered, Piece::end);
        let after = self.held.range(offset..).next().map_or(end, |(start, _)| *start);
        if offset < before || end > after || octets.is_empty() {
            return Err(Fault::Idle("octets that are here"));
        }
        self.octets += octets.len();
        self.received += weight;
        let surplus = weight - octets.len() as u64;
        self.held.insert(offset, Piece { octets, surplus });
        Ok(())
    }

    /// Handles the peer's finish behind `last` octets.
    pub(crate) fn finish(&mut self, last: u64) -> Result<(), Fault> {
        if self.half != Half::Open {
            return Err(Fault::Idle("a second finish"));
        }
        let came = self.held.last_key_value().map_or(self.delivered, Piece::end);
        if last < came || last > self.delivered + self.window() {
            return Err(Fault::Impossible(
                "a finish before octets that came, or beyond the credit",
            ));
        }
        self.half = Half::Ends(last);
        Ok(())
    }

    /// Returns the next octets in order that the layer above accepts.
    pub(crate) fn next(&mut self) -> Option<M> {
        let first = self
            .held
            .first_entry()
            .filter(|first| *first.key() == self.delivered && self.room > 0)?;
        let Piece { mut octets, surplus } = first.remove();
        if octets.len() > self.room {
            let taken = octets.split_to(self.room);
            self.held.insert(self.delivered + taken.len() as u64, Piece { octets, surplus });
            octets = taken;
        } else {
            self.released += surplus;
        }
        self.octets -= octets.len();
        self.room -= octets.len();
        self.delivered += octets.len() as u64;
        self.released += octets.len() as u64;
        Some(octets)
    }

    /// Whether the end is to be indicated to the layer above now: once, behind the last octet.
    pub(crate) fn tells_finish(&mut self) -> bool {
        let tells = self.half == Half::Ends(self.delivered);
        if tells {
            self.half = Half::Finished;
        }
        tells
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.half == Half::Finished
    }
}

impl<M: Message> Piece<M> {
    /// Returns the offset behind a piece that is held.
    fn end((start, piece): (&u64, &Self)) -> u64 {
        start + piece.octets.len() as u64
    }
}
