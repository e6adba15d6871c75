//! The header that a device with `IFF_VNET_HDR` and a socket with `PACKET_VNET_HDR` put before each
//! frame (virtio 1.2 §5.1.6): what is left to be done.

/// Octets of the header.
pub const LENGTH: usize = 10;

/// The transport's check holds only the sum of the pseudo-header.
const NEEDS_CHECKSUM: u8 = 1;
/// The transport's check was verified.
const IS_VALID: u8 = 2;

/// Into which packets a super-packet is to be split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentKind {
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// UDP over either.
    Udp,
}

impl SegmentKind {
    /// `gso_type` of the header.
    const fn code(self) -> u8 {
        match self {
            SegmentKind::Tcp4 => 1,
            SegmentKind::Tcp6 => 4,
            SegmentKind::Udp => 5,
        }
    }
}

/// What is left to be done with a frame. Offsets are from its first octet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Offload {
    /// The check is to be completed: where what it covers begins, and how many octets further on it
    /// stands.
    pub checksum: Option<(u16, u16)>,
    /// It is to be split: into what, how many octets of payload each, and how many octets of
    /// headers there are.
    pub split: Option<(SegmentKind, u16, u16)>,
    /// The check is complete, and was verified.
    pub valid: bool,
}

impl Offload {
    /// Decodes the header; `None` where it asks for something that was never offered.
    ///
    /// All numbers are in the order of this processor: the devices are told nothing else.
    pub fn decode(octets: [u8; LENGTH]) -> Option<Offload> {
        let [flags, kind, fields @ ..] = octets;
        let field = |at: usize| u16::from_ne_bytes([fields[at], fields[at + 1]]);
        // That the sender of a super-packet reduced its window (virtio 1.2 §5.1.6, ECN) its first
        // segment says itself.
        let segments = match kind & !0x80 {
            0 => None,
            1 => Some(SegmentKind::Tcp4),
            4 => Some(SegmentKind::Tcp6),
            5 => Some(SegmentKind::Udp),
            _ => return None,
        };
        let checksum = (flags & NEEDS_CHECKSUM != 0).then(|| (field(4), field(6)));
        let split = segments.map(|segments| (segments, field(2), field(0)));
        Some(Offload { checksum, split, valid: flags & IS_VALID != 0 })
    }

    /// Encodes the header.
    pub fn encode(self) -> [u8; LENGTH] {
        let mut octets = [0; LENGTH];
        if self.valid {
            octets[0] = IS_VALID;
        }
        if let Some((segments, size, headers)) = self.split {
            octets[1] = segments.code();
            octets[2..4].copy_from_slice(&headers.to_ne_bytes());
            octets[4..6].copy_from_slice(&size.to_ne_bytes());
        }
        if let Some((start, offset)) = self.checksum {
            octets[0] |= NEEDS_CHECKSUM;
            octets[6..8].copy_from_slice(&start.to_ne_bytes());
            octets[8..10].copy_from_slice(&offset.to_ne_bytes());
        }
        octets
    }
}
