//! Addresses of Ethernet's kind (EUI-48).

use core::net::IpAddr;

/// Returns the address that six octets in hexadecimal digits name, with colons between them.
pub fn hardware_address(text: &str) -> Option<[u8; 6]> {
    let mut parts = text.split(':');
    let mut address = [0; 6];
    for octet in &mut address {
        let part = parts.next().filter(|part| part.len() == 2 && !part.starts_with('+'))?;
        *octet = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(address)
}

/// Returns whether an address is that of a group, or of all (IEEE 802 §8.2.2).
pub const fn is_group(address: [u8; 6]) -> bool {
    address[0] & 1 != 0
}

/// Returns the address to which packets for a group of hosts are sent (RFC 1112 §6.4, RFC 2464
/// §7), or for all of them; `None` for a host that is not a group.
pub fn group_address(host: IpAddr) -> Option<[u8; 6]> {
    match host {
        IpAddr::V4(host) if host.is_broadcast() => Some([0xff; 6]),
        IpAddr::V4(host) if host.is_multicast() => {
            let [_, a, b, c] = host.octets();
            Some([0x01, 0x00, 0x5e, a & 0x7f, b, c])
        }
        IpAddr::V6(host) if host.is_multicast() => {
            let [.., a, b, c, d] = host.octets();
            Some([0x33, 0x33, a, b, c, d])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_six_pairs_of_digits() {
        assert_eq!(hardware_address("02:00:5e:00:Ff:01"), Some([2, 0, 0x5e, 0, 0xff, 1]));
        for bad in
            ["", "02:00:5e:00:ff", "02:00:5e:00:ff:01:02", "2:0:5e:0:ff:1", "02:+0:5e:00:ff:01"]
        {
            assert_eq!(hardware_address(bad), None, "{bad}");
        }
    }

    #[test]
    fn groups_have_addresses_of_groups() {
        let of = |host: &str| group_address(host.parse().expect("a host"));
        assert_eq!(of("224.128.0.251"), Some([1, 0, 0x5e, 0, 0, 0xfb]));
        assert_eq!(of("255.255.255.255"), Some([0xff; 6]));
        assert_eq!(of("ff02::1:ff12:3456"), Some([0x33, 0x33, 0xff, 0x12, 0x34, 0x56]));
        assert_eq!((of("192.0.2.1"), of("fe80::1")), (None, None));
        assert!(
            ["224.0.0.1", "ff02::1", "255.255.255.255"]
                .iter()
                .all(|at| of(at).is_some_and(is_group))
        );
    }
}
