//! The packets of some stations, as a capture for Wireshark and for `stackwright dissect`.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use stackwright_contract::Instant;
use stackwright_wire::Message;
use stackwright_wire::capture::{
    self, Capture, Control, Ends, Frame, InterfaceId, LinkType, PacketDirection, Payload,
};

use crate::{Segment, SegmentWord};

/// A capture of what leaves some stations and of what reaches them, as if taken there: an interface
/// for each of their addresses. Time is the world's, from the beginning of 1970 on.
#[derive(Debug)]
pub(crate) struct Packets {
    capture: Capture,
    interfaces: BTreeMap<IpAddr, InterfaceId>,
    ways: BTreeMap<(SocketAddr, SocketAddr, u64), Way>,
}

/// One direction of a stream, of which segments arrive in order, each once.
#[derive(Clone, Debug, Default)]
struct Way {
    /// The sequence number of the octet that leaves next, and of the one that arrives next.
    leaves: u32,
    arrives: u32,
    /// What the segments in flight acknowledge.
    acknowledge: VecDeque<Option<u32>>,
}

impl Packets {
    pub(crate) fn of(addresses: &[IpAddr]) -> Self {
        let mut capture = Capture::new("stackwright simulator");
        let mut interface =
            |at: &IpAddr| capture.interface(&at.to_string(), "simulated", LinkType::RAW);
        let interfaces = addresses.iter().map(|at| (*at, interface(at))).collect();
        Packets { capture, interfaces, ways: BTreeMap::new() }
    }

    /// Takes what was written since the last call.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.capture.take()
    }

    pub(crate) fn left<M: Message>(&mut self, now: Instant, segment: &Segment<M>) {
        if let SegmentWord::AskPath | SegmentWord::Path(_) = segment.word {
            return; // no packet: the network and an adapter say it to each other
        }
        if let SegmentWord::Datagram(_) = segment.word {
            return self.write(
                now,
                segment,
                (0, None),
                (segment.from.ip(), PacketDirection::Outbound),
            );
        }
        let heard =
            self.ways.get(&(segment.to, segment.from, segment.number)).map(|back| back.arrives);
        // The first segment of an association has nothing to acknowledge.
        let acknowledgement = heard.filter(|_| !matches!(segment.word, SegmentWord::Ask { .. }));
        let way = self.way(segment);
        let sequence = way.leaves;
        way.leaves = sequence.wrapping_add(occupied(&segment.word));
        way.acknowledge.push_back(acknowledgement);
        self.write(
            now,
            segment,
            (sequence, acknowledgement),
            (segment.from.ip(), PacketDirection::Outbound),
        );
    }

    pub(crate) fn arrived<M: Message>(&mut self, now: Instant, segment: &Segment<M>) {
        if let SegmentWord::AskPath | SegmentWord::Path(_) = segment.word {
            return;
        }
        if let SegmentWord::Datagram(_) = segment.word {
            return self.write(
                now,
                segment,
                (0, None),
                (segment.to.ip(), PacketDirection::Inbound),
            );
        }
        let way = self.way(segment);
        let sequence = way.arrives;
        way.arrives = sequence.wrapping_add(occupied(&segment.word));
        // A reset that no station sent acknowledges nothing.
        let acknowledgement = way.acknowledge.pop_front().flatten();
        self.write(
            now,
            segment,
            (sequence, acknowledgement),
            (segment.to.ip(), PacketDirection::Inbound),
        );
    }

    fn way<M>(&mut self, segment: &Segment<M>) -> &mut Way {
        self.ways.entry((segment.from, segment.to, segment.number)).or_default()
    }

    fn write<M: Message>(
        &mut self,
        now: Instant,
        segment: &Segment<M>,
        (sequence, acknowledgement): (u32, Option<u32>),
        (at, direction): (IpAddr, PacketDirection),
    ) {
        let Packets { capture, interfaces, .. } = self;
        let Some(interface) = interfaces.get(&at).copied() else { return };
        let time = now.nanoseconds();
        let ends = Ends::between(segment.from, segment.destination());
        let comment = segment.altered.then_some("altered on the way: a checksum would not agree");
        let (payload, control) = match &segment.word {
            SegmentWord::Datagram(message) => {
                if let Some(frame) = Frame::datagram(ends, Payload::of(message)) {
                    capture.packet(interface, time, direction, &frame, comment);
                }
                return;
            }
            SegmentWord::Octets(message) => (Payload::of(message), Control::Absent),
            SegmentWord::Ask { .. } | SegmentWord::Answer { .. } => {
                (Payload::default(), Control::Synchronise)
            }
            SegmentWord::Finish => (Payload::default(), Control::Finish),
            SegmentWord::Reset { .. } => (Payload::default(), Control::Reset),
            SegmentWord::Window(_) | SegmentWord::AskPath | SegmentWord::Path(_) => {
                (Payload::default(), Control::Absent)
            }
        };
        let said = capture::TcpSegment { sequence, acknowledgement, urgent: false, control };
        for frame in Frame::segments(ends, said, payload) {
            capture.packet(interface, time, direction, &frame, comment);
        }
    }
}

/// Returns how many sequence numbers of a stream a segment takes.
fn occupied<M: Message>(word: &SegmentWord<M>) -> u32 {
    match word {
        SegmentWord::Ask { .. } | SegmentWord::Answer { .. } | SegmentWord::Finish => 1,
        SegmentWord::Octets(message) => message.len() as u32, // numbers wrap, and so may a length
        _ => 0,
    }
}
