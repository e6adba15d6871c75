//! Addresses: what kind one is, whether it has a prefix, and which of the own is a source.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns how many bits an address of this version has.
pub(crate) const fn bits(host: IpAddr) -> u8 {
    if host.is_ipv4() { 32 } else { 128 }
}

/// Returns the unspecified address of the same version.
pub(crate) const fn unspecified(host: IpAddr) -> IpAddr {
    match host {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}

/// Returns the address as a number, left aligned: the first bit is the most significant one.
fn number(host: IpAddr) -> u128 {
    match host {
        IpAddr::V4(host) => u128::from(host.to_bits()) << 96,
        IpAddr::V6(host) => host.to_bits(),
    }
}

/// Returns how many leading bits two addresses share; 0 where their versions differ.
pub(crate) fn shared_bits(one: IpAddr, other: IpAddr) -> u8 {
    if one.is_ipv4() != other.is_ipv4() {
        return 0;
    }
    ((number(one) ^ number(other)).leading_zeros() as u8).min(bits(one))
}

/// Returns whether `host` has the first `length` bits of `prefix`.
pub(crate) fn has_prefix(host: IpAddr, prefix: IpAddr, length: u8) -> bool {
    host.is_ipv4() == prefix.is_ipv4() && shared_bits(host, prefix) >= length
}

/// Returns whether `host` is the broadcast address of the prefix that `own` has (RFC 1122
/// §3.2.1.3). A prefix of 31 bits has none (RFC 3021), nor has IPv6.
pub(crate) fn is_broadcast_of(host: IpAddr, own: IpAddr, length: u8) -> bool {
    match (host, own) {
        (IpAddr::V4(host), IpAddr::V4(own)) if length < 31 => {
            let mask = u32::MAX >> length;
            host.to_bits() == own.to_bits() | mask
                || length > 0 && host.to_bits() == own.to_bits() & !mask
        }
        _ => false,
    }
}

/// Returns whether it is a group, or all hosts of the link.
pub(crate) fn is_group(host: IpAddr) -> bool {
    host.is_multicast() || host == IpAddr::V4(Ipv4Addr::BROADCAST)
}

/// Returns whether it can be the address of one host: what else is in a source is a martian (RFC
/// 1812 §5.3.7, RFC 4291 §2.5.2 and §2.7).
#[inline]
pub(crate) fn is_host(host: IpAddr) -> bool {
    match host {
        // 0/8 is this network, 240/4 is reserved.
        IpAddr::V4(host) => {
            let first = host.octets()[0];
            first != 0 && first != 127 && first < 224
        }
        IpAddr::V6(host) => {
            !(host.is_multicast()
                || host.is_unspecified()
                || host.is_loopback()
                || host.to_ipv4_mapped().is_some())
        }
    }
}

/// Returns the scope of an address (RFC 6724 §3.1): the larger, the wider.
fn scope(host: IpAddr) -> u8 {
    match host {
        IpAddr::V4(host) if host.is_link_local() || host.is_loopback() => 2,
        IpAddr::V4(_) => 14,
        IpAddr::V6(host) if host.is_multicast() => host.octets()[1] & 15,
        IpAddr::V6(host) if host.is_unicast_link_local() || host.is_loopback() => 2,
        IpAddr::V6(_) => 14,
    }
}

/// Returns the source of packets to `peer`, of the addresses that an interface has: by the rules 1,
/// 2 and 8 of RFC 6724 §5. No address here is ever deprecated, as rule 3 asks.
pub(crate) fn source(peer: IpAddr, own: impl Iterator<Item = (IpAddr, u8)>) -> Option<IpAddr> {
    let fits = |(host, length): (IpAddr, u8)| {
        // The smallest scope that reaches the peer; without one, the widest.
        let (wanted, scope) = (scope(peer), scope(host));
        let rank = if scope >= wanted { u8::MAX - scope } else { scope };
        (host == peer, scope >= wanted, rank, shared_bits(host, peer).min(length))
    };
    let same = own.filter(|(host, _)| host.is_ipv4() == peer.is_ipv4());
    // Of equals, the first.
    same.reduce(|best, next| if fits(next) > fits(best) { next } else { best })
        .map(|(host, _)| host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_prefix_has_a_broadcast_address_and_a_network() {
        let own = host("10.6.1.2");
        for (other, length, is) in [
            ("10.6.1.255", 24, true),
            ("10.6.1.0", 24, true),
            ("10.6.1.254", 24, false),
            ("10.6.255.255", 16, true),
            ("10.6.1.3", 31, false),
            ("10.6.1.2", 32, false),
        ] {
            assert_eq!(is_broadcast_of(host(other), own, length), is, "{other}/{length}");
        }
        assert!(has_prefix(host("10.6.1.9"), own, 24) && !has_prefix(host("10.6.2.9"), own, 24));
        assert!(has_prefix(host("10.6.2.9"), own, 0) && !has_prefix(host("::1"), own, 0));
    }

    /// The examples of RFC 6724 §10.1 that need no more than rules 1, 2 and 8.
    #[test]
    fn the_source_is_chosen_by_scope_and_prefix() {
        for (peer, own, expected) in [
            ("2001:db8:1::1", &["2001:db8:3::1", "fe80::1"][..], "2001:db8:3::1"),
            ("ff05::1", &["2001:db8:3::1", "fe80::1"], "2001:db8:3::1"),
            ("fe80::1", &["fe80::2", "2001:db8:1::1"], "fe80::2"),
            ("2001:db8:1::1", &["2001:db8:1::1", "2001:db8:2::1"], "2001:db8:1::1"),
            ("2001:db8:1::1", &["2001:db8:3::2", "2001:db8:1::2"], "2001:db8:1::2"),
            ("10.1.2.3", &["fe80::2", "192.0.2.1", "10.1.9.9"], "10.1.9.9"),
        ] {
            let own = own.iter().map(|own| (host(own), bits(host(own))));
            assert_eq!(source(host(peer), own), Some(host(expected)), "{peer}");
        }
        assert_eq!(source(host("::5"), [(host("10.0.0.1"), 8)].into_iter()), None);
    }
}
