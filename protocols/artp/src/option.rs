//! Options: for the protocol itself, in any packet, never delivered to an application (ARTP
//! §1.4.1).

use stackwright_wire::{Header, Malformed};

use crate::header::OptionHeader;

/// One option. *Chosen*: the document leaves all of them to the implementation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketOption {
    /// The first sequence number that the peer may not use yet: its low 32 bits.
    Credit(u32),
    /// The numbers of an acknowledgement come in pairs, the first and the last of a range.
    Ranges,
    /// The upper halves of a fragment's index and count.
    Large(Large),
    /// The datagram's priority; 0 is the most urgent, 128 the default.
    Priority(u8),
    /// The lowest sequence number that may still be sent again: its low 32 bits. Datagrams that
    /// expired leave holes that nothing else closes.
    Settled(u32),
    /// Padding: the octets beside the option's own four, which make the last fragment of a datagram
    /// as long as the others.
    Padding(u16),
    /// The packet carries only a part of its body.
    Part(Part),
    /// How many packets arrived that routers might have marked.
    Marks(Marks),
}

/// The upper halves of a fragment's index and count: for datagrams of more than 65535 fragments, in
/// packets of version 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Large {
    /// The upper half of the index.
    pub index: u16,
    /// The upper half of the count.
    pub count: u16,
}

/// Which part of a packet's body this is, behind its own data header: in packets of version 2,
/// where the path drops packets of the length that was used before. All parts have the same
/// sequence number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Part {
    /// The octets of the body before this part.
    pub offset: u16,
    /// The octets of the whole body.
    pub whole: u16,
}

/// The value of the option that gives credit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Credit {
    /// The first sequence number that the peer may not use yet.
    pub edge: u32,
}

/// The value of the option that gives a datagram's priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Priority {
    /// 0 is the most urgent; 128 is the default.
    pub priority: u8,
}

/// The value of the option that tells what the sender has settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Settled {
    /// No packet below this sequence number is sent any more.
    pub number: u32,
}

/// The value of the option that reports routers' marks (RFC 3168), in an acknowledgement where both
/// sides have proposed that. It counts the peer's packets in this session, those included that are
/// not acknowledged. Both counters wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Marks {
    /// Packets that arrived with ECT or CE.
    pub capable: u32,
    /// Of these, packets with CE: they met congestion.
    pub experienced: u32,
}

pub(crate) const CREDIT: u16 = 1;
pub(crate) const RANGES: u16 = 2;
pub(crate) const LARGE: u16 = 3;
pub(crate) const PRIORITY: u16 = 4;
pub(crate) const SETTLED: u16 = 5;
pub(crate) const PADDING: u16 = 6;
pub(crate) const PART: u16 = 7;
pub(crate) const MARKS: u16 = 8;

impl PacketOption {
    /// The most octets of one option, except padding and marks.
    pub const OCTETS_MOST: usize = OptionHeader::LENGTH + 4;

    /// Whether a packet with this option has version 2.
    pub(crate) const fn needs_understanding(&self) -> bool {
        matches!(self, PacketOption::Large(_) | PacketOption::Part(_))
    }

    /// Appends the option to `octets`.
    pub fn write(self, octets: &mut alloc::vec::Vec<u8>) {
        let mut value = [0; 8];
        let (id, length) = match self {
            PacketOption::Credit(edge) => {
                Credit { edge }.encode(&mut value);
                (CREDIT, Credit::LENGTH)
            }
            PacketOption::Ranges => (RANGES, 0),
            PacketOption::Large(large) => {
                large.encode(&mut value);
                (LARGE, Large::LENGTH)
            }
            PacketOption::Priority(priority) => {
                Priority { priority }.encode(&mut value);
                (PRIORITY, Priority::LENGTH)
            }
            PacketOption::Settled(number) => {
                Settled { number }.encode(&mut value);
                (SETTLED, Settled::LENGTH)
            }
            PacketOption::Padding(octets) => (PADDING, usize::from(octets)),
            PacketOption::Part(part) => {
                part.encode(&mut value);
                (PART, Part::LENGTH)
            }
            PacketOption::Marks(marks) => {
                marks.encode(&mut value);
                (MARKS, Marks::LENGTH)
            }
        };
        let mut header = [0; OptionHeader::LENGTH];
        OptionHeader { size: (OptionHeader::LENGTH + length) as u16, id }.encode(&mut header);
        octets.extend_from_slice(&header);
        let end = octets.len() + length;
        octets.extend_from_slice(&value[..length.min(value.len())]);
        octets.resize(end, 0); // only padding is longer
    }

    fn read(id: u16, value: &[u8]) -> Result<Option<Self>, Malformed> {
        Ok(match id {
            CREDIT if value.len() != Credit::LENGTH => return Err(Malformed::Field("size")),
            CREDIT => Some(PacketOption::Credit(Credit::decode(value)?.edge)),
            RANGES => Some(PacketOption::Ranges),
            LARGE => Some(PacketOption::Large(Large::decode(value)?)),
            PRIORITY => value.first().map(|priority| PacketOption::Priority(*priority)),
            SETTLED if value.len() != Settled::LENGTH => return Err(Malformed::Field("size")),
            SETTLED => Some(PacketOption::Settled(Settled::decode(value)?.number)),
            PART if value.len() != Part::LENGTH => return Err(Malformed::Field("size")),
            PART => Some(PacketOption::Part(Part::decode(value)?)),
            MARKS if value.len() != Marks::LENGTH => return Err(Malformed::Field("size")),
            MARKS => Some(PacketOption::Marks(Marks::decode(value)?)),
            _ => None, // padding, and what is unknown, is skipped
        })
    }
}

/// The options of a packet. Each step consumes at least four octets.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    octets: &'a [u8],
}

impl<'a> Options<'a> {
    /// Iterates over the options in `octets`.
    pub const fn new(octets: &'a [u8]) -> Self {
        Options { octets }
    }
}

impl Iterator for Options<'_> {
    type Item = Result<PacketOption, Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.octets.is_empty() {
            let header = match OptionHeader::decode(self.octets) {
                Ok(header) => header,
                Err(malformed) => {
                    self.octets = &[];
                    return Some(Err(malformed));
                }
            };
            let size = usize::from(header.size);
            if size < OptionHeader::LENGTH || size > self.octets.len() {
                self.octets = &[];
                return Some(Err(Malformed::Field("size")));
            }
            let (option, rest) = self.octets.split_at(size);
            self.octets = rest;
            match PacketOption::read(header.id, &option[OptionHeader::LENGTH..]) {
                Ok(None) => {}
                Ok(Some(option)) => return Some(Ok(option)),
                Err(malformed) => {
                    self.octets = &[];
                    return Some(Err(malformed));
                }
            }
        }
        None
    }
}
