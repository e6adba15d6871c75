//! What the checks of transports cover besides their own octets.

use core::net::IpAddr;

use crate::check::Internet;

/// Returns the sum over the pseudo-header of a transport's message (RFC 9293 §3.1, RFC 8200 §8.1):
/// both hosts, the protocol, and how many octets header and data have. It is not complemented: what
/// a check field holds that is [completed below](crate::check::Internet).
///
/// Hosts of two versions have no such message; what is returned then is of no use.
pub fn pseudo_header(source: IpAddr, destination: IpAddr, protocol: u8, octets: u32) -> u16 {
    let mut check = Internet::new();
    for host in [source, destination] {
        match host {
            IpAddr::V4(host) => check.add(&host.octets()),
            IpAddr::V6(host) => check.add(&host.octets()),
        }
    }
    check.add(&[0, protocol]);
    check.add(&octets.to_be_bytes());
    !check.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A datagram whose check covers the twelve octets of RFC 768, too.
    #[test]
    fn it_completes_a_check() {
        let host = IpAddr::from([127, 0, 0, 1]);
        let mut datagram = [0x12, 0x34, 0x56, 0x78, 0, 13, 0, 0, b'h', b'e', b'l', b'l', b'o'];
        let sum = pseudo_header(host, host, 17, 13);
        datagram[6..8].copy_from_slice(&sum.to_be_bytes());
        let check = Internet::of(&datagram);
        datagram[6..8].copy_from_slice(&check.to_be_bytes());
        let mut whole = Internet::new();
        whole.add(&[127, 0, 0, 1, 127, 0, 0, 1, 0, 17, 0, 13]);
        whole.add(&datagram);
        assert_eq!(whole.value(), 0);
    }
}
