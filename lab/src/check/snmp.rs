//! What the receiving kernel counts, in its own namespace.

use crate::link::{Side, Wire};
use crate::problem::Problem;

/// Packets of `protocol` (`Tcp`, `Udp`, `Icmp`) whose checksum the kernel of the second side found wrong.
///
/// # Errors
///
/// Where it counts no such thing.
pub(super) fn checksum_errors(wire: &Wire, protocol: &str) -> Result<u64, Problem> {
    let unknown = || Problem::new(format!("/proc/net/snmp has no InCsumErrors of {protocol}"));
    let said = wire.command(Side::B, "cat").arg("/proc/net/snmp").output();
    let said = said.map_err(|error| Problem::new(format!("/proc/net/snmp cannot be read: {error}")))?;
    read(&String::from_utf8_lossy(&said.stdout), protocol).ok_or_else(unknown)
}

/// A line of names, and one of values below it.
fn read(said: &str, protocol: &str) -> Option<u64> {
    let mut lines = said.lines().filter_map(|line| line.strip_prefix(protocol)?.strip_prefix(':'));
    let place = lines.next()?.split_whitespace().position(|name| name == "InCsumErrors")?;
    lines.next()?.split_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn values_stand_below_their_names() {
        let said =
            "Icmp: InMsgs InErrors InCsumErrors\nIcmp: 9 2 1\nUdp: InDatagrams InCsumErrors\nUdp: 5 3\n";
        assert_eq!(super::read(said, "Udp"), Some(3));
        assert_eq!(super::read(said, "Icmp"), Some(1));
        assert_eq!(super::read(said, "Tcp"), None);
    }
}
