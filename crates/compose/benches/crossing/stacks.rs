//! The four-header stack in the contract: four protocols that do not know each other.
//!
//! Each checks what it decodes, and drops what is not for it. `CHECKS` turns the three sums off, so
//! that what is left is the cost of headers and of composition.

use core::marker::PhantomData;

use stackwright_compose::{Over, stack};
use stackwright_contract::services::{
    Datagrams, DatagramsIndication, DatagramsRequest, MessageProperties,
};
use stackwright_contract::{Context, Facts, IndicationTo, Outlet, Protocol, RequestTo};
use stackwright_wire::check::{Crc16, Crc32c, Internet};
use stackwright_wire::{Header, Message, SingleBuffer};

use crate::headers::{CallSign, Check16, Check32, Frame, Ipv4, Record, Segment};
use crate::{BothWays, Ends, NAME, Station};

/// Both directions of a layer that puts a header before payload and passes every other word
/// through.
///
/// `wrap` and `unwrap` stand for the bodies of its handlers, and are inlined as these would be.
///
/// Such a layer alters the word in place and has one exit. Two exits, one for payload and one for
/// the rest, would be two calls into the same neighbour, and the compiler inlines gladly only what
/// is called once.
macro_rules! protocol {
    ($layer:ident, $header_room:expr) => {
        impl<M: Message, const CHECKS: bool> Protocol for $layer<M, CHECKS> {
            const FACTS: Facts = Facts {
                header_room: $header_room,
                reads_payload: true,
                ..Facts::named(stringify!($layer))
            };
            type Provides = Datagrams<M>;
            type Uses = Datagrams<M>;

            #[inline(always)]
            fn handle_request(
                &mut self,
                cx: &Context,
                mut request: RequestTo<Self>,
                out: &mut impl Outlet<Self>,
            ) {
                if let DatagramsRequest::Send { batch: messages, .. } = &mut request
                    && self.wrap(cx, messages.single_mut()).is_none()
                {
                    return;
                }
                out.request(request);
            }

            #[inline(always)]
            fn handle_indication(
                &mut self,
                cx: &Context,
                mut indication: IndicationTo<Self>,
                out: &mut impl Outlet<Self>,
            ) {
                if let DatagramsIndication::Delivered { batch: messages, .. } = &mut indication
                    && self.unwrap(cx, messages.single_mut()).is_none()
                {
                    return;
                }
                out.indicate(indication);
            }
        }
    };
}

/// Why a message is dropped: one function each, out of the way of good messages. A reason that were
/// an argument would be loaded before it is known whether there is a fault.
macro_rules! reasons {
    ($($reason:ident: $says:literal;)*) => { $(
        #[cold]
        #[inline(never)]
        fn $reason(cx: &Context) -> Option<()> {
            cx.dropped("radio", $says);
            None
        }
    )* };
}

reasons! {
    malformed: "a malformed header";
    altered: "the check does not agree";
    too_long: "more than the header can say";
    other_length: "a record of another length";
    other_transfer: "a record of another transfer";
    out_of_order: "a packet out of order";
    not_sent: "a packet that acknowledges what was not sent";
    not_ours: "for somebody else, or of another protocol";
    cut_off: "a datagram that was cut off";
}

/// The records of a file transfer.
pub(crate) struct Records<M, const CHECKS: bool> {
    tag: [u8; 2],
    message: PhantomData<M>,
}

protocol!(Records, Record::LENGTH);

impl<M: Message, const CHECKS: bool> Records<M, CHECKS> {
    fn new(station: &Station) -> Self {
        Records { tag: station.tag.to_be_bytes(), message: PhantomData }
    }

    #[inline(always)]
    fn wrap(&mut self, cx: &Context, message: &mut M) -> Option<()> {
        let Ok(length) = u16::try_from(message.len()) else {
            return too_long(cx);
        };
        message.push(&Record { kind: (), length, tag: self.tag });
        Some(())
    }

    #[inline(always)]
    fn unwrap(&mut self, cx: &Context, message: &mut M) -> Option<()> {
        let Ok(Record { length, tag, .. }) = message.pull() else { return malformed(cx) };
        if usize::from(length) != message.len() {
            return other_length(cx);
        }
        if tag != self.tag {
            return other_transfer(cx);
        }
        Some(())
    }
}

/// Packets with numbers and a check.
pub(crate) struct Packets<M, const CHECKS: bool> {
    next: u32,
    expected: u32,
    window: u16,
    message: PhantomData<M>,
}

protocol!(Packets, Check32::LENGTH + Segment::LENGTH);

impl<M: Message, const CHECKS: bool> Packets<M, CHECKS> {
    fn new(station: &Station) -> Self {
        Packets { next: 0, expected: 0, window: station.window, message: PhantomData }
    }

    #[inline(always)]
    fn wrap(&mut self, _: &Context, message: &mut M) -> Option<()> {
        let Packets { next: number, expected: acknowledged, window, .. } = *self;
        self.next = number.wrapping_add(1);
        message.push(&Segment {
            number,
            acknowledged,
            window,
            asks: true,
            last: false,
            reserved: (),
        });
        message.push(&Check32 { check: self.check(message) });
        Some(())
    }

    #[inline(always)]
    fn unwrap(&mut self, cx: &Context, message: &mut M) -> Option<()> {
        if message.len() < Check32::LENGTH + Segment::LENGTH {
            return malformed(cx); // asked once for both headers
        }
        let Ok(Check32 { check }) = message.pull() else { return malformed(cx) };
        if check != self.check(message) {
            return altered(cx);
        }
        let Ok(Segment { number, acknowledged, .. }) = message.pull() else { return malformed(cx) };
        if number != self.expected {
            return out_of_order(cx);
        }
        if acknowledged > self.next {
            return not_sent(cx);
        }
        self.expected = number.wrapping_add(1);
        Some(())
    }

    #[inline]
    fn check(&self, message: &M) -> u32 {
        let mut check = Crc32c::new();
        if CHECKS {
            message.each(|octets| check.add(octets));
        }
        check.value()
    }
}

/// Internet datagrams.
pub(crate) struct Internets<M, const CHECKS: bool> {
    identification: u16,
    protocol: u8,
    local: [u8; 4],
    remote: [u8; 4],
    message: PhantomData<M>,
}

protocol!(Internets, Ipv4::LENGTH);

impl<M: Message, const CHECKS: bool> Internets<M, CHECKS> {
    fn new(station: &Station) -> Self {
        let Station { transport: protocol, local, remote, .. } = *station;
        Internets { identification: 0, protocol, local, remote, message: PhantomData }
    }

    #[inline(always)]
    fn wrap(&mut self, cx: &Context, message: &mut M) -> Option<()> {
        let Ok(total_length) = u16::try_from(Ipv4::LENGTH + message.len()) else {
            return too_long(cx);
        };
        self.identification = self.identification.wrapping_add(1);
        let octets = message.push_front(Ipv4::LENGTH);
        let header = Ipv4 {
            version: (),
            ihl: (),
            tos: 0,
            total_length,
            identification: self.identification,
            reserved: (),
            df: true,
            mf: (),
            fragment_offset: (),
            ttl: 64,
            protocol: self.protocol,
            checksum: 0,
            source: self.local,
            destination: self.remote,
        };
        header.encode(octets);
        if CHECKS {
            let checksum = Internet::of(octets);
            octets[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        Some(())
    }

    #[inline(always)]
    fn unwrap(&mut self, cx: &Context, message: &mut M) -> Option<()> {
        let Some(octets) = message.front(Ipv4::LENGTH) else { return malformed(cx) };
        if CHECKS && Internet::of(octets) != 0 {
            return altered(cx);
        }
        let Ok(header) = message.pull::<Ipv4>() else { return malformed(cx) };
        if header.protocol != self.protocol {
            return not_ours(cx);
        }
        if header.destination != self.local {
            return not_ours(cx);
        }
        let Some(length) = usize::from(header.total_length).checked_sub(Ipv4::LENGTH) else {
            return malformed(cx);
        };
        if length > message.len() {
            return cut_off(cx);
        }
        // Links may pad.
        message.truncate(length);
        Some(())
    }
}

/// Unnumbered frames between two stations.
///
/// All frames to the other station begin alike, and all frames from anybody to us have the same
/// bits in most places: so the header is encoded once, and a frame that arrives is compared and
/// only decoded to say what is wrong with it.
pub(crate) struct Frames<M, const CHECKS: bool> {
    leaving: [u8; Frame::LENGTH],
    arriving: u128,
    message: PhantomData<M>,
}

/// The bits that every frame to us has alike: all but the source's call sign and number, and the
/// command and response bits. Of the characters of the source it has the last one, which is zero.
const ALIKE: u128 = u128::from_ne_bytes([
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x01, 0x01, 0x01, 0x01, 0x01, 0x01, 0x61, 0xff, 0xff,
]);

protocol!(Frames, Check16::LENGTH + Frame::LENGTH);

impl<M: Message, const CHECKS: bool> Frames<M, CHECKS> {
    fn new(station: &Station) -> Self {
        let frame = |to: ([u8; 6], u8), from: ([u8; 6], u8)| {
            let frame = Frame {
                destination: CallSign::new(&to.0),
                command: true,
                destination_reserved: (),
                destination_station: to.1,
                destination_last: (),
                source: CallSign::new(&from.0),
                response: false,
                source_reserved: (),
                source_station: from.1,
                source_last: (),
                control: (),
                protocol: station.network,
            };
            let mut octets = [0; Frame::LENGTH];
            frame.encode(&mut octets);
            octets
        };
        let Station { local_sign: local, remote_sign: remote, .. } = *station;
        Frames {
            leaving: frame(remote, local),
            arriving: u128::from_ne_bytes(frame(local, remote)) & ALIKE,
            message: PhantomData,
        }
    }

    #[inline(always)]
    fn wrap(&mut self, _: &Context, message: &mut M) -> Option<()> {
        message.push_front(Frame::LENGTH).copy_from_slice(&self.leaving);
        message.push(&Check16 { check: self.check(message) });
        Some(())
    }

    #[inline(always)]
    fn unwrap(&mut self, cx: &Context, message: &mut M) -> Option<()> {
        if message.len() < Check16::LENGTH + Frame::LENGTH {
            return malformed(cx); // asked once for both headers
        }
        let Ok(Check16 { check }) = message.pull() else { return malformed(cx) };
        if check != self.check(message) {
            return altered(cx);
        }
        let Some(octets) = message.front(Frame::LENGTH).and_then(<[u8]>::first_chunk) else {
            return malformed(cx);
        };
        if u128::from_ne_bytes(*octets) & ALIKE != self.arriving {
            return if Frame::decode(octets).is_ok() { not_ours(cx) } else { malformed(cx) };
        }
        message.advance(Frame::LENGTH);
        Some(())
    }

    #[inline]
    fn check(&self, message: &M) -> u16 {
        let mut check = Crc16::new();
        if CHECKS {
            message.each(|octets| check.add(octets));
        }
        check.value()
    }
}

type Buffer = SingleBuffer;

stack! {
    /// A file over packet radio.
    pub(crate) Radio = Records<Buffer, true> over Packets<Buffer, true> over Internets<Buffer, true>
        over Frames<Buffer, true>
}

stack! {
    /// The same, trusting every octet.
    pub(crate) Trusting = Records<Buffer, false> over Packets<Buffer, false> over Internets<Buffer, false>
        over Frames<Buffer, false>
}

pub(crate) fn radio(station: &Station) -> Radio {
    joined(station)
}

pub(crate) fn trusting(station: &Station) -> Trusting {
    joined(station)
}

type JoinedLowers<const CHECKS: bool> = Over<
    Records<Buffer, CHECKS>,
    Over<Packets<Buffer, CHECKS>, Over<Internets<Buffer, CHECKS>, Frames<Buffer, CHECKS>>>,
>;

fn joined<const CHECKS: bool>(station: &Station) -> JoinedLowers<CHECKS> {
    let below = Over::new(Internets::new(station), Frames::new(station));
    Over::new(Records::new(station), Over::new(Packets::new(station), below))
}

impl<const CHECKS: bool> BothWays for JoinedLowers<CHECKS> {
    #[inline(never)]
    fn down(&mut self, cx: &Context, message: SingleBuffer, ends: &mut Ends) {
        // Asked once here, this is not asked again by each of the four.
        if message.headroom() < Self::FACTS.header_room {
            return down_with_room(self, cx, &message, ends);
        }
        self.handle_request(
            cx,
            DatagramsRequest::Send {
                association: NAME,
                batch: message.into(),
                properties: MessageProperties::default(),
            },
            ends,
        );
    }

    #[inline(never)]
    fn up(&mut self, cx: &Context, message: SingleBuffer, ends: &mut Ends) {
        self.handle_indication(
            cx,
            DatagramsIndication::Delivered {
                association: NAME,
                batch: message.into(),
                properties: MessageProperties::default(),
            },
            ends,
        );
    }
}

#[cold]
#[inline(never)]
fn down_with_room<const CHECKS: bool>(
    stack: &mut JoinedLowers<CHECKS>,
    cx: &Context,
    message: &SingleBuffer,
    ends: &mut Ends,
) {
    let room = JoinedLowers::<CHECKS>::FACTS.header_room;
    stack.down(cx, SingleBuffer::with_headroom(room, message.octets()), ends);
}
