//! Any octets as the headers of the Internet's protocols, and as their options.

use stackwright::tcp::options::TcpOptions;
use stackwright_wire::internet::{
    Arp, Ax25Arp, Ethernet, Extensions, Icmp, Ipv4, Ipv4Options, Ipv6, NdpOptions, Neighbor,
    RouterAdvertisement, Tcp, Udp,
};

use crate::headers::check;

/// What is decoded is encoded to what it was decoded from; lists of options come to an end.
pub fn inet_headers(octets: &[u8]) {
    check::<Ethernet>(octets);
    check::<Arp>(octets);
    check::<Ax25Arp>(octets);
    check::<Ipv4>(octets);
    check::<Ipv6>(octets);
    check::<Icmp>(octets);
    check::<Neighbor>(octets);
    check::<RouterAdvertisement>(octets);
    check::<Udp>(octets);
    check::<Tcp>(octets);
    assert!(TcpOptions::new(octets).count() <= octets.len());
    assert!(Ipv4Options::new(octets).count() <= octets.len() + 1);
    assert!(NdpOptions::of(octets).count() <= octets.len() + 1);
    let Some((first, rest)) = octets.split_first() else { return };
    assert!(Extensions::new(*first, rest).count() <= octets.len() + 1);
}
