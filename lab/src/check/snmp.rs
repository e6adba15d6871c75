//! What the receiving kernel counts, in its own namespace.

use stackwright_results::Problem;

use crate::link::{Side, Wire};

/// Packets whose checksum is wrong.
pub(super) const CHECKSUM_WRONG: &str = "InCsumErrors";
/// Datagrams that the receiving program has read.
pub(super) const READ: &str = "InDatagrams";
/// Datagrams for which the receiving program left no room.
pub(super) const NO_ROOM: &str = "RcvbufErrors";

/// What the kernel of the second side has under that name for `protocol` (`Tcp`, `Udp`, `Icmp`).
///
/// # Errors
///
/// Where it counts no such thing.
pub(super) fn count(wire: &Wire, protocol: &str, name: &str) -> Result<u64, Problem> {
    let unknown = || Problem::new(format!("/proc/net/snmp has no {protocol} {name}"));
    let said = wire.command(Side::B, "cat").arg("/proc/net/snmp").output();
    let said =
        said.map_err(|error| Problem::new(format!("cannot read /proc/net/snmp: {error}")))?;
    read(&String::from_utf8_lossy(&said.stdout), protocol, name).ok_or_else(unknown)
}

/// A line of names, and one of values below it.
fn read(said: &str, protocol: &str, name: &str) -> Option<u64> {
    let mut lines = said.lines().filter_map(|line| line.strip_prefix(protocol)?.strip_prefix(':'));
    let place = lines.next()?.split_whitespace().position(|known| known == name)?;
    lines.next()?.split_whitespace().nth(place)?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn values_stand_below_their_names() {
        let said = "Icmp: InMsgs InErrors InCsumErrors\nIcmp: 9 2 1\nUdp: InDatagrams InCsumErrors\nUdp: 5 3\n";
        assert_eq!(super::read(said, "Udp", "InCsumErrors"), Some(3));
        assert_eq!(super::read(said, "Icmp", "InErrors"), Some(2));
        assert_eq!(super::read(said, "Udp", "RcvbufErrors"), None);
    }
}
