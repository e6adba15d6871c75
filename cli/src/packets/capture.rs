//! A capture file, pcapng or pcap, packet by packet: read in pieces, by a parser that is not ours.

use std::io::Read;

use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{
    Block, InterfaceDescriptionBlock, LegacyPcapBlock, OptionCode, PcapBlockOwned, PcapError,
    PcapHeader, PcapNGOption, create_reader,
};
use stackwright::wire::capture::{LinkType, PacketDirection};

/// How much of a file is in memory at first, and at most: a block, that is a packet and its
/// comments, is no longer.
const PIECE: usize = 64 * 1024;
const PIECE_MOST: usize = 4 * 1024 * 1024;

/// How many interfaces are remembered of a section. Nobody has as many.
const INTERFACES_MOST: usize = 4096;

/// An interface as the file describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Interface {
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) link: LinkType,
    /// Units of time in a second.
    pub(crate) units: u64,
    /// Seconds to be added to every time.
    pub(crate) offset: i64,
}

/// A packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Packet {
    /// Counted from 1.
    pub(crate) number: u64,
    /// Nanoseconds after 1970 began, where it is told.
    pub(crate) time: Option<i128>,
    /// On which interface; `None` where that was not described.
    pub(crate) interface: Option<Interface>,
    pub(crate) direction: Option<PacketDirection>,
    pub(crate) comments: Vec<String>,
    /// What is in the file.
    pub(crate) octets: Vec<u8>,
    /// How many octets it had.
    pub(crate) original: usize,
}

/// Why a file cannot be read on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("not a capture")]
    NotACapture,
    #[error("the file ends within a packet")]
    Cut,
    #[error("the rest is damaged")]
    Damaged,
    #[error("a block is longer than {PIECE_MOST} octets")]
    TooLong,
    #[error("the rest cannot be read")]
    Disk,
}

impl<I> From<PcapError<I>> for Unreadable {
    fn from(error: PcapError<I>) -> Self {
        match error {
            PcapError::UnexpectedEof | PcapError::Incomplete(_) | PcapError::Eof => Unreadable::Cut,
            PcapError::BufferTooSmall => Unreadable::TooLong,
            PcapError::ReadError => Unreadable::Disk,
            _ => Unreadable::Damaged,
        }
    }
}

/// Reads as much as is asked for, if there is as much: the parser decides by its first piece what
/// kind of file it is.
struct Filling<R>(R);

impl<R: Read> Read for Filling<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.0.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(octets) => filled += octets,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                // What came before it is read first.
                Err(_) if filled > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

/// The packets of a file.
pub(crate) struct Packets<'a> {
    reader: Box<dyn PcapReaderIterator + Send + 'a>,
    piece: usize,
    section: Section,
    number: u64,
}

/// What is known of the section that is being read.
#[derive(Default)]
struct Section {
    big_endian: bool,
    interfaces: Vec<Interface>,
}

impl<'a> Packets<'a> {
    /// Begins to read.
    pub(crate) fn of(file: impl Read + Send + 'a) -> Result<Self, Unreadable> {
        let reader = create_reader(PIECE, Filling(file)).map_err(|error| match error {
            PcapError::ReadError => Unreadable::Disk,
            _ => Unreadable::NotACapture,
        })?;
        Ok(Packets { reader, piece: PIECE, section: Section::default(), number: 0 })
    }

    /// How many packets were read.
    pub(crate) fn count(&self) -> u64 {
        self.number
    }

    /// The next one; `None` at the end.
    pub(crate) fn another(&mut self) -> Result<Option<Packet>, Unreadable> {
        loop {
            match self.reader.next() {
                Ok((length, block)) => {
                    let packet = self.section.hear(&block);
                    drop(block);
                    self.reader.consume(length);
                    if let Some(packet) = packet {
                        self.number += 1;
                        return Ok(Some(Packet { number: self.number, ..packet }));
                    }
                }
                Err(PcapError::Eof) => return Ok(None),
                Err(PcapError::Incomplete(_)) => self.reader.refill()?,
                Err(PcapError::BufferTooSmall) if self.piece < PIECE_MOST => {
                    self.piece *= 2;
                    self.reader.grow(self.piece);
                    self.reader.refill()?;
                }
                Err(error) => {
                    let why = error.into();
                    // The parser may have asked for more behind the last block.
                    let all = why == Unreadable::Cut && self.reader.data().is_empty();
                    return if all { Ok(None) } else { Err(why) };
                }
            }
        }
    }
}

impl Section {
    fn hear(&mut self, block: &PcapBlockOwned<'_>) -> Option<Packet> {
        match block {
            PcapBlockOwned::LegacyHeader(header) => self.describe(old_interface(header)),
            PcapBlockOwned::Legacy(packet) => return Some(self.old_packet(packet)),
            PcapBlockOwned::NG(Block::SectionHeader(section)) => {
                *self = Section { big_endian: section.big_endian(), interfaces: Vec::new() };
            }
            PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
                let interface = self.interface(interface);
                self.describe(interface);
            }
            PcapBlockOwned::NG(Block::EnhancedPacket(packet)) => {
                let interface = self.interfaces.get(packet.if_id as usize).cloned();
                let ticks = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
                let flags = packet.options.iter().find(|option| option.code == OptionCode(2));
                let direction =
                    flags.and_then(|flags| self.number::<4>(flags)).map(|[.., low]| low & 3);
                let comments =
                    packet.options.iter().filter(|option| option.code == OptionCode::Comment);
                return Some(Packet {
                    number: 0,
                    time: interface.as_ref().map(|interface| interface.time(ticks)),
                    direction: direction.and_then(way),
                    comments: comments.filter_map(text).collect(),
                    octets: packet.packet_data().to_vec(),
                    original: packet.origlen as usize,
                    interface,
                });
            }
            PcapBlockOwned::NG(Block::SimplePacket(packet)) => {
                return Some(Packet {
                    number: 0,
                    time: None,
                    interface: self.interfaces.first().cloned(),
                    direction: None,
                    comments: Vec::new(),
                    octets: packet.data[..packet.data.len().min(packet.origlen as usize)].to_vec(),
                    original: packet.origlen as usize,
                });
            }
            PcapBlockOwned::NG(_) => {}
        }
        None
    }

    fn describe(&mut self, interface: Interface) {
        if self.interfaces.len() < INTERFACES_MOST {
            self.interfaces.push(interface);
        }
    }

    fn interface(&self, block: &InterfaceDescriptionBlock<'_>) -> Interface {
        let option = |code| block.options.iter().find(|option| option.code == code);
        let offset = option(OptionCode::IfTsoffset).and_then(|offset| self.number(offset));
        Interface {
            name: option(OptionCode::IfName).and_then(text),
            description: option(OptionCode::IfDescription).and_then(text),
            link: LinkType(block.linktype.0 as u16),
            units: block.ts_resolution().filter(|units| *units > 0).unwrap_or(1_000_000),
            offset: offset.map_or(0, i64::from_be_bytes),
        }
    }

    fn old_packet(&self, packet: &LegacyPcapBlock<'_>) -> Packet {
        let interface = self.interfaces.first().cloned();
        let units = interface.as_ref().map_or(1_000_000, |interface| interface.units);
        let ticks = u64::from(packet.ts_sec) * units + u64::from(packet.ts_usec);
        Packet {
            number: 0,
            time: interface.as_ref().map(|interface| interface.time(ticks)),
            interface,
            direction: None,
            comments: Vec::new(),
            octets: packet.data.to_vec(),
            original: packet.origlen as usize,
        }
    }

    /// The octets of a number, the most significant one first.
    fn number<const N: usize>(&self, option: &PcapNGOption<'_>) -> Option<[u8; N]> {
        let mut number: [u8; N] = option.as_bytes().ok()?.try_into().ok()?;
        if !self.big_endian {
            number.reverse();
        }
        Some(number)
    }
}

impl Interface {
    fn time(&self, ticks: u64) -> i128 {
        let since = i128::from(ticks) * 1_000_000_000 / i128::from(self.units);
        since + i128::from(self.offset) * 1_000_000_000
    }
}

/// The older format has one interface, without a name.
fn old_interface(header: &PcapHeader) -> Interface {
    let units = if header.is_nanosecond_precision() { 1_000_000_000 } else { 1_000_000 };
    // The upper half says other things (the length of a check).
    Interface {
        name: None,
        description: None,
        link: LinkType(header.network.0 as u16),
        units,
        offset: 0,
    }
}

fn text(option: &PcapNGOption<'_>) -> Option<String> {
    option.as_bytes().ok().map(|octets| String::from_utf8_lossy(octets).into_owned())
}

fn way(flags: u8) -> Option<PacketDirection> {
    match flags {
        1 => Some(PacketDirection::Inbound),
        2 => Some(PacketDirection::Outbound),
        _ => None,
    }
}
