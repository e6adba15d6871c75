//! All packets of a world, as a capture for Wireshark and for `stackwright dissect`.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use stackwright_contract::Instant;
use stackwright_wire::Message;
use stackwright_wire::capture::{
    self, Capture, Control, Direction, Ends, Frame, InterfaceId, LinkType, Payload,
};

use crate::{Segment, Word};

/// A capture of what leaves the stations and what reaches them: an interface for each address. Time is the world's, from
/// the beginning of 1970 on.
#[derive(Debug)]
pub(crate) struct Packets {
    capture: Capture,
    interfaces: BTreeMap<IpAddr, InterfaceId>,
    /// The numbers of the next octet of each direction of a stream: to leave, and to arrive. It arrives in order, each once.
    numbers: BTreeMap<(SocketAddr, SocketAddr, u64), [u32; 2]>,
}

impl Packets {
    pub(crate) fn new() -> Self {
        let capture = Capture::new("stackwright simulator");
        Packets { capture, interfaces: BTreeMap::new(), numbers: BTreeMap::new() }
    }

    /// What was written since it was last taken.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.capture.take()
    }

    pub(crate) fn left<M: Message>(&mut self, now: Instant, segment: &Segment<M>) {
        self.write(now, segment, segment.from.ip(), Direction::Outbound);
    }

    pub(crate) fn arrived<M: Message>(&mut self, now: Instant, segment: &Segment<M>) {
        self.write(now, segment, segment.to.ip(), Direction::Inbound);
    }

    fn write<M: Message>(&mut self, now: Instant, segment: &Segment<M>, at: IpAddr, direction: Direction) {
        let (from, to) = match direction {
            Direction::Outbound => (0, 1),
            Direction::Inbound => (1, 0),
        };
        let back = (segment.to, segment.from, segment.number);
        // What a station has heard it acknowledges with whatever it says next.
        let acknowledgement = self.numbers.get(&back).map(|numbers| numbers[to]);
        let numbers = self.numbers.entry((segment.from, segment.to, segment.number)).or_default();
        let sequence = numbers[from];
        numbers[from] = sequence.wrapping_add(occupied(&segment.word));
        let Packets { capture, interfaces, .. } = self;
        let interface = *interfaces
            .entry(at)
            .or_insert_with(|| capture.interface(&at.to_string(), "simulated", LinkType::RAW));
        let ends = Ends::between(segment.from, segment.to);
        let payload = match &segment.word {
            Word::Octets(message) | Word::Datagram(message) => Payload::of(message),
            _ => Payload::default(),
        };
        let comment = segment.altered.then_some("altered on the way: a checksum would not agree");
        let control = match &segment.word {
            Word::Ask { .. } | Word::Answer { .. } => Control::Synchronise,
            Word::Finish => Control::Finish,
            Word::Reset => Control::Reset,
            Word::Octets(_) | Word::Window(_) | Word::Datagram(_) => Control::Absent,
        };
        let time = now.nanoseconds();
        if let Word::Datagram(_) = segment.word {
            if let Some(frame) = Frame::datagram(ends, payload) {
                capture.packet(interface, time, direction, &frame, comment);
            }
            return;
        }
        let acknowledgement = acknowledgement.filter(|_| !matches!(segment.word, Word::Ask { .. }));
        let said = capture::Segment { sequence, acknowledgement, urgent: false, control };
        for frame in Frame::segments(ends, said, payload) {
            capture.packet(interface, time, direction, &frame, comment);
        }
    }
}

/// How many numbers of a stream a segment takes.
fn occupied<M: Message>(word: &Word<M>) -> u32 {
    match word {
        Word::Ask { .. } | Word::Answer { .. } | Word::Finish => 1,
        Word::Octets(message) => message.len() as u32, // numbers wrap, and so may a length
        Word::Window(_) | Word::Reset | Word::Datagram(_) => 0,
    }
}
