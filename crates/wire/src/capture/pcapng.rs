//! The file: blocks of draft-ietf-opsawg-pcapng, all numbers with the least significant octet
//! first.

use alloc::vec::Vec;
use core::net::SocketAddr;

use super::frame::Frame;
use crate::Header;

/// The most of one packet that is written; its true length is told. Wireshark refuses longer ones.
const CAPTURED_MOST: usize = 262_144;

/// The types of blocks (§4.1, §4.2, §4.3).
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// The codes of options: of any block (§3.5), a section (§4.1), an interface (§4.2), a packet
/// (§4.3).
const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const SECTION_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_DESCRIPTION: u16 = 3;
const INTERFACE_RESOLUTION: u16 = 9;
const PACKET_FLAGS: u16 = 2;

/// Time is told in units of 10^-9 seconds (§4.2, if_tsresol).
const NANOSECONDS: u8 = 9;

/// The header of a block (§3.1). A block ends with its length once more, so that a file can be read
/// backwards.
#[derive(Header)]
#[header(little_endian)]
struct BlockHead {
    /// What it is.
    kind: u32,
    /// Its length in octets, all of them.
    total_length: u32,
}

/// A section header (§4.1).
#[derive(Header)]
#[header(little_endian)]
#[expect(dead_code, reason = "what is fixed is written without being looked at")]
struct SectionHead {
    /// Tells the byte order.
    #[bits(32)]
    #[fixed(0x1a2b_3c4d)]
    magic: (),
    /// The version of the format.
    #[bits(16)]
    #[fixed(1)]
    major: (),
    /// The version of the format.
    #[bits(16)]
    #[fixed(0)]
    minor: (),
    /// All ones: not known yet.
    #[bits(64)]
    #[fixed(0xffff_ffff_ffff_ffff)]
    section_length: (),
}

/// An interface description (§4.2).
#[derive(Header)]
#[header(little_endian)]
#[expect(dead_code, reason = "what is fixed is written without being looked at")]
struct InterfaceHead {
    /// The first header of its packets.
    link_type: u16,
    /// Must be zero.
    #[bits(16)]
    #[fixed(0)]
    reserved: (),
    /// The most octets of a packet that are written.
    captured_most: u32,
}

/// An enhanced packet (§4.3).
#[derive(Header)]
#[header(little_endian)]
struct PacketHead {
    /// The interface's place among those of the section.
    interface: u32,
    /// The upper half of the time.
    time_high: u32,
    /// The lower half of the time.
    time_low: u32,
    /// The octets of it that follow.
    captured: u32,
    /// The octets that it has.
    original: u32,
}

/// The header of an option (§3.5). Its value is padded to 32 bits, and its length does not count
/// that.
#[derive(Header)]
#[header(little_endian)]
struct OptionHead {
    /// What its value means.
    code: u16,
    /// The octets of its value.
    length: u16,
}

/// The first header of the packets of an interface: the LinkType of §4.2, whose numbers the tcpdump
/// group assigns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkType(pub u16);

impl LinkType {
    /// A header of [`Ethernet`](crate::internet::Ethernet).
    pub const ETHERNET: LinkType = LinkType(1);
    /// An AX.25 frame, without its check.
    pub const AX25: LinkType = LinkType(3);
    /// The type of KISS, and where that says data, an AX.25 frame.
    pub const AX25_KISS: LinkType = LinkType(202);
    /// A header of IPv4 or IPv6.
    pub const RAW: LinkType = LinkType(101);
    /// A header of [`Cooked`](super::Cooked).
    pub const LINUX_SLL: LinkType = LinkType(113);
    /// A header of [`Cooked2`](super::Cooked2).
    pub const LINUX_SLL2: LinkType = LinkType(276);
    /// A private format: Wireshark is told in its preferences (DLT_USER).
    pub const USER0: LinkType = LinkType(147);

    /// Returns the link type of an association between two addresses: [`RAW`](LinkType::RAW) where
    /// both are Internet addresses.
    pub fn between(source: Option<SocketAddr>, destination: Option<SocketAddr>) -> Self {
        if source.is_some() && destination.is_some() { LinkType::RAW } else { LinkType::USER0 }
    }
}

/// An interface of a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InterfaceId(u32);

/// The direction of a packet (§4.3.1, bits 0 and 1 of the flags).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketDirection {
    /// It was received.
    Inbound = 1,
    /// It was sent.
    Outbound = 2,
}

/// A capture: octets in memory that are to be taken into a file.
#[derive(Debug)]
pub struct Capture {
    waiting: Vec<u8>,
    interfaces: u32,
}

impl Capture {
    /// Returns a capture that `application` writes.
    ///
    /// A text is written up to its first 65 535 octets, here and elsewhere: an option has no room
    /// for more.
    pub fn new(application: &str) -> Self {
        let mut capture = Capture { waiting: Vec::new(), interfaces: 0 };
        capture.block(SECTION, |octets| {
            put(octets, &SectionHead { magic: (), major: (), minor: (), section_length: () });
            put_text(octets, SECTION_APPLICATION, application);
            put_option(octets, END_OF_OPTIONS, &[]);
        });
        capture
    }

    /// Adds an interface, a boundary that packets cross.
    pub fn interface(&mut self, name: &str, description: &str, link: LinkType) -> InterfaceId {
        self.block(INTERFACE, |octets| {
            let LinkType(link_type) = link;
            let captured_most = CAPTURED_MOST as u32;
            put(octets, &InterfaceHead { link_type, reserved: (), captured_most });
            put_text(octets, INTERFACE_NAME, name);
            put_text(octets, INTERFACE_DESCRIPTION, description);
            put_option(octets, INTERFACE_RESOLUTION, &[NANOSECONDS]);
            put_option(octets, END_OF_OPTIONS, &[]);
        });
        self.interfaces += 1;
        InterfaceId(self.interfaces - 1)
    }

    /// Adds a packet that crossed `interface` `nanoseconds` after 1970 began (UTC).
    ///
    /// # Panics
    /// Where `interface` is of another capture and this one has fewer.
    pub fn packet(
        &mut self,
        interface: InterfaceId,
        nanoseconds: u64,
        direction: PacketDirection,
        frame: &Frame<'_>,
        comment: Option<&str>,
    ) {
        let InterfaceId(interface) = interface;
        assert!(interface < self.interfaces, "an interface comes before its packets");
        self.block(ENHANCED_PACKET, |octets| {
            let head = octets.len();
            octets.resize(head + PacketHead::LENGTH, 0);
            let mut captured = 0;
            for piece in frame.pieces() {
                let piece = &piece[..piece.len().min(CAPTURED_MOST - captured)];
                octets.extend_from_slice(piece);
                captured += piece.len();
            }
            let head = &mut octets[head..];
            PacketHead {
                interface,
                time_high: (nanoseconds >> 32) as u32,
                time_low: nanoseconds as u32,
                captured: captured as u32,
                original: u32::try_from(frame.len()).unwrap_or(u32::MAX),
            }
            .encode(head);
            pad(octets);
            if let Some(comment) = comment {
                put_text(octets, COMMENT, comment);
            }
            put_option(octets, PACKET_FLAGS, &(direction as u32).to_le_bytes());
            put_option(octets, END_OF_OPTIONS, &[]);
        });
    }

    /// Returns the number of octets to be taken. Nothing but `take` makes them fewer.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Takes the octets: whole blocks, to be appended to what was taken before.
    pub fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.waiting)
    }

    /// A block: its head, what `body` writes in whole words of 32 bits, its length once more.
    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
        let octets = &mut self.waiting;
        let start = octets.len();
        octets.resize(start + BlockHead::LENGTH, 0);
        body(octets);
        // A packet is cut, and every text is: a block is far shorter than 2^32 octets.
        let total_length = (octets.len() - start + size_of::<u32>()) as u32;
        BlockHead { kind, total_length }.encode(&mut octets[start..]);
        octets.extend_from_slice(&total_length.to_le_bytes());
    }
}

fn put<H: Header>(octets: &mut Vec<u8>, header: &H) {
    let start = octets.len();
    octets.resize(start + H::LENGTH, 0);
    header.encode(&mut octets[start..]);
}

fn put_text(octets: &mut Vec<u8>, code: u16, text: &str) {
    let cut = text.floor_char_boundary(u16::MAX.into());
    put_option(octets, code, &text.as_bytes()[..cut]);
}

/// `value` has at most 65 535 octets.
fn put_option(octets: &mut Vec<u8>, code: u16, value: &[u8]) {
    put(octets, &OptionHead { code, length: value.len() as u16 });
    octets.extend_from_slice(value);
    pad(octets);
}

/// Pads to the next word of 32 bits. Blocks begin with one, so that the length tells.
fn pad(octets: &mut Vec<u8>) {
    octets.resize(octets.len().next_multiple_of(size_of::<u32>()), 0);
}
