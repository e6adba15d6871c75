//! Wrong passwords by the address that they came from. An address of many is slowed down, and no
//! other is.

use alloc::vec::Vec;
use core::net::IpAddr;

use stackwright_contract::{Duration, Instant};

/// How many wrong passwords of one address cost no more than their own penalty.
const FREE: u32 = 16;
/// The most that the penalty is multiplied by.
const FACTOR_MOST: u32 = 64;
/// After how long without another one the address is forgotten.
const MEMORY: Duration = Duration::from_secs(600);
/// How many addresses are remembered. Beyond, that of the oldest failure is forgotten.
const ADDRESSES: usize = 1024;

/// The addresses, and how often they failed.
#[derive(Debug, Default)]
pub(super) struct Failures(Vec<Failed>);

#[derive(Debug)]
struct Failed {
    address: IpAddr,
    count: u32,
    last: Instant,
}

impl Failures {
    /// Returns for how long a password from `address` is not tried.
    pub(super) fn delay(&self, now: Instant, address: IpAddr, penalty: Duration) -> Duration {
        let address = network(address);
        let failed = self.0.iter().find(|failed| failed.address == address);
        let Some(failed) = failed.filter(|failed| now.since(failed.last) < MEMORY) else {
            return Duration::ZERO;
        };
        match failed.count.checked_sub(FREE) {
            None => Duration::ZERO,
            Some(more) => {
                penalty
                    * 1u32.checked_shl(more).map_or(FACTOR_MOST, |factor| factor.min(FACTOR_MOST))
            }
        }
    }

    /// Counts a wrong password.
    pub(super) fn count(&mut self, now: Instant, address: IpAddr) {
        let address = network(address);
        self.0.retain(|failed| now.since(failed.last) < MEMORY);
        if let Some(failed) = self.0.iter_mut().find(|failed| failed.address == address) {
            failed.count = failed.count.saturating_add(1);
            failed.last = now;
            return;
        }
        if self.0.len() >= ADDRESSES
            && let Some(oldest) = (0..self.0.len()).min_by_key(|nth| self.0[*nth].last)
        {
            self.0.swap_remove(oldest);
        }
        self.0.push(Failed { address, count: 1, last: now });
    }
}

/// Returns what one host has: an IPv4 address, or the first half of an IPv6 address, whose other
/// half a host chooses (RFC 4291 §2.5.1).
pub(super) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((address.to_bits() & !u128::from(u64::MAX)).into()),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    const PENALTY: Duration = Duration::from_secs(1);

    #[test]
    fn the_penalty_grows_for_that_address_alone() {
        let mut failures = Failures::default();
        let now = Instant::START;
        let [one, other] = [1, 2].map(|last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)));
        let mut delays = Vec::new();
        for _ in 0..40 {
            failures.count(now, one);
            delays.push(failures.delay(now, one, PENALTY).as_secs());
        }
        assert_eq!(delays[..15], [0; 15]);
        assert_eq!(delays[15..23], [1, 2, 4, 8, 16, 32, 64, 64]);
        assert_eq!(delays[39], 64);
        assert_eq!(failures.delay(now, other, PENALTY), Duration::ZERO);
        assert_eq!(failures.delay(now + MEMORY, one, PENALTY), Duration::ZERO);
    }

    #[test]
    fn addresses_of_one_network_count_together_and_memory_is_bounded() {
        let mut failures = Failures::default();
        let now = Instant::START;
        for last in 0..16 {
            failures.count(now, IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, last)));
        }
        let neighbour = IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 9, 9, 9, 9));
        assert_eq!(failures.delay(now, neighbour, PENALTY), PENALTY);
        for host in 0..5000u32 {
            failures.count(now + Duration::from_nanos(u64::from(host)), IpAddr::V4(host.into()));
        }
        assert_eq!(failures.0.len(), ADDRESSES);
    }
}
