//! The header that a device with `IFF_VNET_HDR` puts before each packet (virtio 1.2 §5.1.6): what
//! is left to be done.

/// Octets of the header.
pub(super) const LENGTH: usize = 10;

/// The transport checksum holds only the sum of the pseudo-header.
const NEEDS_CHECKSUM: u8 = 1;

/// Into which packets a super-packet is to be cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// TCP over IPv4.
    Tcp4,
    /// TCP over IPv6.
    Tcp6,
    /// UDP over either.
    Udp,
}

impl Kind {
    /// `gso_type` of the header.
    const fn code(self) -> u8 {
        match self {
            Kind::Tcp4 => 1,
            Kind::Tcp6 => 4,
            Kind::Udp => 5,
        }
    }
}

/// What is left to be done with a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Offload {
    /// The checksum is to be completed: where what it covers begins, and how many octets further on
    /// it stands.
    pub(super) checksum: Option<(u16, u16)>,
    /// It is to be cut: into what, how many octets of payload each, and how many octets of headers
    /// there are.
    pub(super) cut: Option<(Kind, u16, u16)>,
}

impl Offload {
    /// `None` where it asks for something that was never offered.
    ///
    /// All numbers are in the order of this processor: the devices are told nothing else.
    pub(super) fn decode(octets: [u8; LENGTH]) -> Option<Offload> {
        let [flags, kind, fields @ ..] = octets;
        let field = |at: usize| u16::from_ne_bytes([fields[at], fields[at + 1]]);
        let kind = match kind {
            0 => None,
            1 => Some(Kind::Tcp4),
            4 => Some(Kind::Tcp6),
            5 => Some(Kind::Udp),
            _ => return None,
        };
        let checksum = (flags & NEEDS_CHECKSUM != 0).then(|| (field(4), field(6)));
        Some(Offload { checksum, cut: kind.map(|kind| (kind, field(2), field(0))) })
    }

    pub(super) fn encode(self) -> [u8; LENGTH] {
        let mut octets = [0; LENGTH];
        if let Some((kind, size, headers)) = self.cut {
            octets[1] = kind.code();
            octets[2..4].copy_from_slice(&headers.to_ne_bytes());
            octets[4..6].copy_from_slice(&size.to_ne_bytes());
        }
        if let Some((start, offset)) = self.checksum {
            octets[0] = NEEDS_CHECKSUM;
            octets[6..8].copy_from_slice(&start.to_ne_bytes());
            octets[8..10].copy_from_slice(&offset.to_ne_bytes());
        }
        octets
    }
}
