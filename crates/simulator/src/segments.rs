//! What travels between the adapters of different stations.

use std::marker::PhantomData;
use std::net::{IpAddr, SocketAddr};

use stackwright_contract::services::{Code, Ecn};
use stackwright_contract::{PathLimits, Service, outermost};
use stackwright_wire::{Leaf, Message};

use crate::LinkPacket;

/// The lowest service of a simulated stack: requests leave, indications have arrived.
pub struct Segments<M>(PhantomData<M>);

impl<M> Service for Segments<M> {
    const NAME: &'static str = "Segments";
    type Request = Segment<M>;
    type Indication = Segment<M>;
    /// The link: from this address to that one.
    type Name = (IpAddr, IpAddr);
}

outermost!(M => Segments<M>);

/// A segment in flight between two stations.
#[derive(Debug)]
pub struct Segment<M> {
    /// The sender's address.
    pub from: SocketAddr,
    /// The recipient's address.
    pub to: SocketAddr,
    /// The group that a datagram was sent to, of which the recipient is a member.
    pub group: Option<IpAddr>,
    /// The number of the association among all that these two ever had; 0 for datagrams.
    pub number: u64,
    /// The content.
    pub word: SegmentWord<M>,
    /// Whether it was altered in flight: what a checksum would detect.
    pub altered: bool,
    /// Its ECN codepoint.
    pub ecn: Ecn,
}

/// The content of a segment.
#[derive(Debug)]
pub enum SegmentWord<M> {
    /// Asks for an association.
    Ask {
        /// How many octets the opener can hold.
        window: usize,
    },
    /// The association is open.
    Answer {
        /// How many octets the listening side can hold.
        window: usize,
    },
    /// Octets of a stream.
    Octets(M),
    /// This many octets more can be held.
    Window(usize),
    /// No more octets follow.
    Finish,
    /// The association is over, or never was open.
    Reset {
        /// The reason, if the application of the sender gave one.
        code: Code,
    },
    /// Asks the network for the limits of the path to that address. It does not reach the peer.
    AskPath,
    /// The network's answer to that, repeated when they change.
    Path(PathLimits),
    /// A message on its own: only this may be lost, duplicated or altered.
    Datagram(M),
}

/// The headers of IPv4 and TCP: what an empty segment occupies on a link, in octets.
const HEADERS: usize = 40;
/// The headers of IPv4 and UDP.
pub(crate) const DATAGRAM_HEADERS: usize = 28;

impl<M> Segment<M> {
    pub(crate) fn new(from: SocketAddr, to: SocketAddr, number: u64, word: SegmentWord<M>) -> Self {
        Segment { from, to, group: None, number, word, altered: false, ecn: Ecn::NotEct }
    }

    /// Makes a segment of the same association, in the other direction.
    pub(crate) fn reply(&self, word: SegmentWord<M>) -> Self {
        Segment::new(self.to, self.from, self.number, word)
    }
}

impl<M: Message> Segment<M> {
    /// Makes the copy of a datagram to a group that one of its members gets.
    pub(crate) fn for_member(&self, member: IpAddr) -> Self {
        let (to, group) = (SocketAddr::new(member, self.to.port()), Some(self.to.ip()));
        Segment { to, group, ..self.twin() }
    }

    /// Returns the address that it was sent to.
    pub(crate) fn destination(&self) -> SocketAddr {
        SocketAddr::new(self.group.unwrap_or(self.to.ip()), self.to.port())
    }

    /// Returns how many octets of payload it carries.
    pub fn payload(&self) -> usize {
        match &self.word {
            SegmentWord::Octets(message) | SegmentWord::Datagram(message) => message.len(),
            _ => 0,
        }
    }
}

impl<M: Message> SegmentWord<M> {
    /// Returns the name of the content for a trace.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            SegmentWord::Ask { .. } => "ask",
            SegmentWord::Answer { .. } => "answer",
            SegmentWord::Octets(_) => "octets",
            SegmentWord::Window(_) => "window",
            SegmentWord::Finish => "finish",
            SegmentWord::Reset { .. } => "reset",
            SegmentWord::AskPath => "ask path",
            SegmentWord::Path(_) => "path",
            SegmentWord::Datagram(_) => "datagram",
        }
    }
}

impl<M: Message> LinkPacket for Segment<M> {
    fn octets(&self) -> usize {
        match self.word {
            SegmentWord::Datagram(_) => DATAGRAM_HEADERS + self.payload(),
            _ => HEADERS + self.payload(),
        }
    }

    /// Returns the exposed octets: the content. Headers are not written out, so errors in them
    /// could not be detected.
    fn exposed(&self) -> usize {
        self.payload()
    }

    fn twin(&self) -> Self {
        let word = match &self.word {
            SegmentWord::Ask { window } => SegmentWord::Ask { window: *window },
            SegmentWord::Answer { window } => SegmentWord::Answer { window: *window },
            SegmentWord::Octets(message) => SegmentWord::Octets(message.share()),
            SegmentWord::Window(octets) => SegmentWord::Window(*octets),
            SegmentWord::Finish => SegmentWord::Finish,
            SegmentWord::AskPath => SegmentWord::AskPath,
            SegmentWord::Path(path) => SegmentWord::Path(*path),
            SegmentWord::Reset { code } => SegmentWord::Reset { code: *code },
            SegmentWord::Datagram(message) => SegmentWord::Datagram(message.share()),
        };
        Segment { word, ..*self }
    }

    fn ecn(&self) -> u8 {
        self.ecn.bits()
    }

    fn set_ecn(&mut self, ecn: u8) {
        self.ecn = Ecn::of_bits(ecn);
    }

    fn alter(&mut self, bit: u64) {
        if let SegmentWord::Datagram(message) | SegmentWord::Octets(message) = &mut self.word
            && !message.is_empty()
        {
            let mut octets = octets_of(message);
            let bit = (bit % (8 * octets.len() as u64)) as usize;
            octets[bit / 8] ^= 1 << (bit % 8);
            *message = M::with_headroom(0, &octets);
            self.altered = true;
        }
    }
}

/// Copies the octets of `message`.
///
/// # Panics
/// If a part of it is still in a file: no simulated service promises to read that.
pub fn octets_of<M: Message>(message: &M) -> Vec<u8> {
    let mut octets = Vec::with_capacity(message.len());
    for leaf in message.leaves() {
        match leaf {
            Leaf::Octets(piece) => octets.extend_from_slice(piece),
            Leaf::Region(_) => {
                panic!("a region of a file was sent, which the facts here do not promise")
            }
        }
    }
    octets
}

/// Checks that `message` holds octets only.
///
/// # Panics
/// If a part of `message` is still in a file.
pub(crate) fn assert_octets_only<M: Message>(message: &M) {
    assert!(
        message.leaves().all(|leaf| matches!(leaf, Leaf::Octets(_))),
        "a region of a file was sent, which the facts here do not promise"
    );
}
