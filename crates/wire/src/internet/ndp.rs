//! The messages of neighbour discovery (RFC 4861 §4): ICMPv6 whose bodies end in options.

use crate::Header;

/// A neighbour solicitation or advertisement before its options (RFC 4861 §4.3, §4.4). A
/// solicitation has type 135 and no flags, an advertisement type 136.
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub struct Neighbor {
    /// Which of the two.
    pub icmp_type: u8,
    /// Zero.
    pub code: u8,
    /// Internet check over a pseudo-header and the message.
    pub checksum: u16,
    /// Whether its sender is a router.
    pub router: bool,
    /// Whether it answers a solicitation.
    pub solicited: bool,
    /// Whether its link-layer address replaces one that is known: the override flag.
    pub overrides: bool,
    /// Sent as zero, ignored when received.
    #[bits(29)]
    pub rsrvd: u32,
    /// The host that is asked for, or that answers.
    pub target: [u8; 16],
}

/// A router advertisement before its options (RFC 4861 §4.2).
#[derive(Header, Clone, PartialEq, Eq, Debug)]
pub struct RouterAdvertisement {
    /// 134.
    pub icmp_type: u8,
    /// Zero.
    pub code: u8,
    /// Internet check over a pseudo-header and the message.
    pub checksum: u16,
    /// The hop limit of outgoing packets; 0: not said.
    pub hop_limit: u8,
    /// Addresses are available by DHCPv6.
    pub managed: bool,
    /// Other configuration is available by DHCPv6.
    pub other: bool,
    /// Sent as zero, ignored when received.
    #[bits(6)]
    pub rsrvd: u8,
    /// How long its sender is a default router, in seconds; 0: it is none.
    pub lifetime: u16,
    /// How long a neighbour is reachable after a confirmation, in milliseconds; 0: not said.
    pub reachable_time: u32,
    /// Time between solicitations, in milliseconds; 0: not said.
    pub retransmit_time: u32,
}

/// What an option of neighbour discovery says (RFC 4861 §4.6).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NdpOption<'a> {
    /// Its type: 1 is the source's link-layer address, 2 the target's, 3 a prefix, 5 the MTU.
    pub kind: u8,
    /// What follows type and length, with its padding.
    pub value: &'a [u8],
}

/// Iterates over the options of neighbour discovery. It ends at the first that is malformed: where
/// [`is_whole`](NdpOptions::is_whole) says so, the packet must be dropped (RFC 4861 §4.6).
#[derive(Clone, Copy, Debug)]
pub struct NdpOptions<'a>(&'a [u8]);

impl<'a> NdpOptions<'a> {
    /// Returns the options in `octets`, which are all that follows the body of a message.
    pub const fn of(octets: &'a [u8]) -> Self {
        NdpOptions(octets)
    }

    /// Returns whether all that is left consists of well-formed options.
    pub fn is_whole(mut self) -> bool {
        self.by_ref().for_each(drop);
        self.0.is_empty()
    }

    /// Returns the value of the first option of a type.
    pub fn find(mut self, kind: u8) -> Option<&'a [u8]> {
        Some(Iterator::find(&mut self, |option| option.kind == kind)?.value)
    }
}

impl<'a> Iterator for NdpOptions<'a> {
    type Item = NdpOption<'a>;

    fn next(&mut self) -> Option<NdpOption<'a>> {
        let [kind, units, ..] = *self.0 else { return None };
        // A length of zero would never end.
        let length = usize::from(units) * 8;
        let value = self.0.get(2..length)?;
        self.0 = &self.0[length..];
        Some(NdpOption { kind, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_at_a_malformed_one() {
        let mtu = [5, 1, 0, 0, 0, 0, 5, 0xdc];
        let source = [1, 1, 2, 0, 0, 0, 0, 1];
        let both = [mtu, source].concat();
        let options = NdpOptions::of(&both);
        assert!(options.is_whole());
        assert!(options.map(|option| option.kind).eq([5, 1]));
        assert_eq!(options.find(1), Some(&source[2..]));
        assert_eq!(options.find(2), None);
        for bad in [&[1][..], &[1, 0], &[1, 0, 0, 0, 0, 0, 0, 0], &[1, 2, 0, 0, 0, 0, 0, 0]] {
            let octets = [&mtu, bad].concat();
            assert!(!NdpOptions::of(&octets).is_whole(), "{bad:?}");
            assert_eq!(NdpOptions::of(&octets).count(), 1);
        }
    }

    /// The octets of RFC 4861 §4.2 and §4.4, in order.
    #[test]
    fn the_layouts_are_those_of_the_rfc() {
        let mut octets = [0; Neighbor::LENGTH];
        octets[..5].copy_from_slice(&[136, 0, 0x12, 0x34, 0b0110_0000]);
        octets[23] = 9;
        let neighbor = Neighbor::decode(&octets).expect("an advertisement");
        assert!(!neighbor.router && neighbor.solicited && neighbor.overrides);
        assert_eq!((neighbor.checksum, neighbor.target[15]), (0x1234, 9));
        let octets = [134, 0, 0, 0, 64, 0x80, 7, 8, 0, 0, 0, 1, 0, 0, 0, 2];
        let router = RouterAdvertisement::decode(&octets).expect("an advertisement");
        assert!(router.managed && !router.other);
        assert_eq!((router.lifetime, router.reachable_time, router.retransmit_time), (0x708, 1, 2));
    }
}
