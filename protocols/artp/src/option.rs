//! Options: the protocol's own, in any packet, never given to an application (ARTP §1.4.1).

use stackwright_wire::{Header, Malformed};

use crate::header::OptionHeader;

/// Which option. *Chosen*: the document leaves all of them to the implementation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketOption {
    /// Up to which number the peer may send: 32 bits of it.
    Credit(u32),
    /// The numbers of an acknowledgement come in pairs, the first and the last of a range.
    Ranges,
    /// The upper halves of a fragment's index and count.
    Large(Large),
    /// The datagram is more or less urgent than 128; 0 is the most urgent.
    Priority(u8),
    /// No packet with a lower number is sent again: 32 bits of it. Datagrams that expired leave
    /// holes, which nobody else closes.
    Settled(u32),
    /// So many octets that say nothing, beside the option's own four: the last fragment of a
    /// datagram is as long as the others.
    Padding(u16),
    /// Only a part of the packet's body is here.
    Part(Part),
    /// How many packets came that routers might have marked.
    Marks(Marks),
}

/// The upper halves of a fragment's index and count: for datagrams of more than 65535 fragments, in
/// packets of version 2.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Large {
    /// Of the index.
    pub index: u16,
    /// Of the count.
    pub count: u16,
}

/// Which part of a packet's body stands here, behind its own header of data: in packets of version
/// 2, where a way takes no more than the parts of packets that were made before that was known. All
/// parts have the same number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Part {
    /// Octets of the body before it.
    pub offset: u16,
    /// Octets of the whole body.
    pub whole: u16,
}

/// The value of the option that gives credit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Credit {
    /// The first packet number that the peer may not use yet.
    pub edge: u32,
}

/// The value of the option that tells how urgent a datagram is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Priority {
    /// 0 is the most urgent; 128 where nothing is said.
    pub priority: u8,
}

/// The value of the option that says what the sender has settled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Settled {
    /// Below this packet number nothing comes any more.
    pub number: u32,
}

/// The value of the option that tells of routers' marks (RFC 3168), in an acknowledgement where
/// both sides have proposed that: what was counted of the peer's packets in this session, those
/// that are not acknowledged too. Both wrap.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Marks {
    /// Packets that came with ECT or CE.
    pub capable: u32,
    /// Of these, with CE: they met congestion.
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
    /// The most octets that one has, but for padding and marks.
    pub const OCTETS_MOST: usize = OptionHeader::LENGTH + 4;

    /// Whether a packet with it has version 2.
    pub(crate) const fn needs_understanding(&self) -> bool {
        matches!(self, PacketOption::Large(_) | PacketOption::Part(_))
    }

    /// Appends it to `octets`.
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

/// The options of a packet. Each step takes at least four octets.
#[derive(Clone, Debug)]
pub struct Options<'a> {
    octets: &'a [u8],
}

impl<'a> Options<'a> {
    /// Those in `octets`.
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
