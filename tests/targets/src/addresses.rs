//! Addresses in commands and replies.

use std::net::SocketAddr;

use stackwright_ftp::address::{
    find_epsv, find_port, format_eprt, format_port, parse_eprt, parse_port,
};

/// Any text as any of them; what is read is written so that it is read again.
pub fn addresses(octets: &[u8]) {
    let text = String::from_utf8_lossy(octets);
    for address in [parse_port(&text), find_port(&text)].into_iter().flatten() {
        let SocketAddr::V4(address) = address else { panic!("six numbers are an IPv4 address") };
        let written = format_port(address);
        assert_eq!(parse_port(&written), Some(address.into()));
        assert_eq!(find_port(&format!("Entering Passive Mode ({written}).")), Some(address.into()));
    }
    if parse_port(&text).is_some() {
        assert!(find_port(&text).is_some() || text.contains(char::is_whitespace), "{text:?}");
    }
    if let Ok(address) = parse_eprt(&text) {
        assert_eq!(parse_eprt(&format_eprt(address)), Ok(address));
    }
    if let Some(port) = find_epsv(&text) {
        assert_eq!(find_epsv(&format!("Entering Extended Passive Mode (|||{port}|)")), Some(port));
    }
}
