//! The four-header stack in the contract: four protocols that do not know each other.
//!
//! Each checks what it decodes, and drops what is not for it. `CHECKS` turns the three sums off, so that what is left
//! is the cost of headers and of composition.

use core::marker::PhantomData;

use stackwright_compose::{Over, stack};
use stackwright_contract::services::{Datagrams, DatagramsIndication, DatagramsRequest};
use stackwright_contract::{Context, Facts, IndicationTo, Outlet, Protocol, RequestTo};
use stackwright_wire::check::{Crc16, Crc32c, Internet};
use stackwright_wire::{Header, Leaf, Message, SingleBuffer};

use crate::headers::{CallSign, Check16, Check32, Frame, Ipv4, Kind, Record, Segment};
use crate::{BothWays, Ends, NAME, Station};

/// Both directions of a layer that passes everything but payload through unchanged.
macro_rules! protocol {
    ($layer:ident, $header_room:expr) => {
        impl<M: Message, const CHECKS: bool> Protocol for $layer<M, CHECKS> {
            const FACTS: Facts =
                Facts { header_room: $header_room, reads_payload: true, ..Facts::named(stringify!($layer)) };
            type Provides = Datagrams<M>;
            type Uses = Datagrams<M>;

            #[inline]
            fn handle_request(
                &mut self,
                cx: &Context,
                request: RequestTo<Self>,
                out: &mut impl Outlet<Self>,
            ) {
                match request {
                    DatagramsRequest::Send { association, mut message } => match self.wrap(&mut message) {
                        Ok(()) => out.request(DatagramsRequest::Send { association, message }),
                        Err(reason) => cx.dropped(Self::FACTS.name, reason),
                    },
                    other => out.request(other),
                }
            }

            #[inline]
            fn handle_indication(
                &mut self,
                cx: &Context,
                indication: IndicationTo<Self>,
                out: &mut impl Outlet<Self>,
            ) {
                match indication {
                    DatagramsIndication::Delivered { association, mut message } => {
                        match self.unwrap(&mut message) {
                            Ok(()) => out.indicate(DatagramsIndication::Delivered { association, message }),
                            Err(reason) => cx.dropped(Self::FACTS.name, reason),
                        }
                    }
                    other => out.indicate(other),
                }
            }
        }
    };
}

type Reason = &'static str;
const MALFORMED: Reason = "a malformed header";
const CHECK: Reason = "the check does not agree";

/// The records of a file transfer.
pub(crate) struct Records<M, const CHECKS: bool> {
    tag: u16,
    message: PhantomData<M>,
}

protocol!(Records, Record::LENGTH);

impl<M: Message, const CHECKS: bool> Records<M, CHECKS> {
    fn new(station: &Station) -> Self {
        Records { tag: station.tag, message: PhantomData }
    }

    #[inline]
    fn wrap(&mut self, message: &mut M) -> Result<(), Reason> {
        let length = u16::try_from(message.len()).map_err(|_| "more than a record holds")?;
        message.push(&Record { kind: Kind::Data, length, tag: self.tag });
        Ok(())
    }

    #[inline]
    fn unwrap(&mut self, message: &mut M) -> Result<(), Reason> {
        let Record { kind, length, tag } = message.pull().map_err(|_| MALFORMED)?;
        if usize::from(length) != message.len() {
            return Err("a record of another length");
        }
        if tag != self.tag || kind != Kind::Data {
            return Err("a record of another transfer");
        }
        Ok(())
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

    #[inline]
    fn wrap(&mut self, message: &mut M) -> Result<(), Reason> {
        let Packets { next: number, expected: acknowledged, window, .. } = *self;
        self.next = number.wrapping_add(1);
        message.push(&Segment { number, acknowledged, window, asks: true, last: false, reserved: () });
        message.push(&Check32 { check: self.check(message) });
        Ok(())
    }

    #[inline]
    fn unwrap(&mut self, message: &mut M) -> Result<(), Reason> {
        let Check32 { check } = message.pull().map_err(|_| MALFORMED)?;
        if check != self.check(message) {
            return Err(CHECK);
        }
        let Segment { number, acknowledged, .. } = message.pull().map_err(|_| MALFORMED)?;
        if number != self.expected {
            return Err("a packet out of order");
        }
        if acknowledged > self.next {
            return Err("a packet that acknowledges what was not sent");
        }
        self.expected = number.wrapping_add(1);
        Ok(())
    }

    #[inline]
    fn check(&self, message: &M) -> u32 {
        let mut check = Crc32c::new();
        if CHECKS {
            octets(message).for_each(|octets| check.add(octets));
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

    #[inline]
    fn wrap(&mut self, message: &mut M) -> Result<(), Reason> {
        let total_length =
            u16::try_from(Ipv4::LENGTH + message.len()).map_err(|_| "more than a datagram holds")?;
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
            mf: false,
            fragment_offset: 0,
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
        Ok(())
    }

    #[inline]
    fn unwrap(&mut self, message: &mut M) -> Result<(), Reason> {
        let octets = message.front(Ipv4::LENGTH).ok_or(MALFORMED)?;
        if CHECKS && Internet::of(octets) != 0 {
            return Err(CHECK);
        }
        let header: Ipv4 = message.pull().map_err(|_| MALFORMED)?;
        if header.destination != self.local || header.protocol != self.protocol {
            return Err("a datagram for somebody else");
        }
        if header.mf || header.fragment_offset != 0 {
            return Err("a fragment");
        }
        let length = usize::from(header.total_length).checked_sub(Ipv4::LENGTH).ok_or(MALFORMED)?;
        if length > message.len() {
            return Err("a datagram that was cut off");
        }
        // Links may pad.
        message.truncate(length);
        Ok(())
    }
}

/// Unnumbered frames between two stations.
pub(crate) struct Frames<M, const CHECKS: bool> {
    protocol: u8,
    local: (CallSign, u8),
    remote: (CallSign, u8),
    message: PhantomData<M>,
}

protocol!(Frames, Check16::LENGTH + Frame::LENGTH);

impl<M: Message, const CHECKS: bool> Frames<M, CHECKS> {
    fn new(station: &Station) -> Self {
        let sign = |(characters, number): (_, u8)| (CallSign::new(&characters), number);
        Frames {
            protocol: station.network,
            local: sign(station.local_sign),
            remote: sign(station.remote_sign),
            message: PhantomData,
        }
    }

    #[inline]
    fn wrap(&mut self, message: &mut M) -> Result<(), Reason> {
        message.push(&Frame {
            destination: self.remote.0,
            command: true,
            destination_reserved: (),
            destination_station: self.remote.1,
            destination_last: (),
            source: self.local.0,
            response: false,
            source_reserved: (),
            source_station: self.local.1,
            source_last: (),
            control: (),
            protocol: self.protocol,
        });
        message.push(&Check16 { check: self.check(message) });
        Ok(())
    }

    #[inline]
    fn unwrap(&mut self, message: &mut M) -> Result<(), Reason> {
        let Check16 { check } = message.pull().map_err(|_| MALFORMED)?;
        if check != self.check(message) {
            return Err(CHECK);
        }
        let frame: Frame = message.pull().map_err(|_| MALFORMED)?;
        if (frame.destination, frame.destination_station) != self.local {
            return Err("a frame for somebody else");
        }
        if frame.protocol != self.protocol {
            return Err("a frame of another protocol");
        }
        Ok(())
    }

    #[inline]
    fn check(&self, message: &M) -> u16 {
        let mut check = Crc16::new();
        if CHECKS {
            octets(message).for_each(|octets| check.add(octets));
        }
        check.value()
    }
}

/// What a check covers. No region of a file passes a layer that reads payload.
#[inline]
fn octets<M: Message>(message: &M) -> impl Iterator<Item = &[u8]> {
    message.leaves().filter_map(|leaf| match leaf {
        Leaf::Octets(octets) => Some(octets),
        Leaf::Region(_) => None,
    })
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

type Joined<const CHECKS: bool> = Over<
    Records<Buffer, CHECKS>,
    Over<Packets<Buffer, CHECKS>, Over<Internets<Buffer, CHECKS>, Frames<Buffer, CHECKS>>>,
>;

fn joined<const CHECKS: bool>(station: &Station) -> Joined<CHECKS> {
    let below = Over::new(Internets::new(station), Frames::new(station));
    Over::new(Records::new(station), Over::new(Packets::new(station), below))
}

impl<const CHECKS: bool> BothWays for Joined<CHECKS> {
    #[inline(never)]
    fn down(&mut self, cx: &Context, message: SingleBuffer, ends: &mut Ends) {
        self.handle_request(cx, DatagramsRequest::Send { association: NAME, message }, ends);
    }

    #[inline(never)]
    fn up(&mut self, cx: &Context, message: SingleBuffer, ends: &mut Ends) {
        self.handle_indication(cx, DatagramsIndication::Delivered { association: NAME, message }, ends);
    }
}
