//! Segmentation by the kernel (UDP GSO, `UDP_SEGMENT`): one system call sends several datagrams of
//! one length.

use std::os::fd::AsFd;
use std::time::Duration;

use nix::sys::socket::{setsockopt, sockopt};
use rustix::io::Errno;
use stackwright_contract::Instant;

use super::{BLOCK, LONGEST};

/// `UDP_MAX_SEGMENTS` of linux/udp.h, before Linux 6.9 doubled it.
const SEGMENTS_MOST: usize = 64;

/// How long a refusal is remembered: paths and devices change.
const BELIEVED: Duration = Duration::from_secs(60);

/// The segmentation of one socket.
pub(super) struct Segmentation {
    /// The octets of each datagram that the socket is set to; 0: what is sent is one datagram.
    size: usize,
    /// Longer datagrams are sent alone: the kernel refused to segment into them.
    longest: usize,
    /// Until when that is remembered; `None` if nothing was refused, or the kernel has no
    /// segmentation.
    until: Option<Instant>,
}

impl Segmentation {
    /// Asks the kernel whether it has segmentation (Linux 4.18 and later).
    pub(super) fn probe(socket: &impl AsFd) -> Self {
        let is_there = setsockopt(socket, sockopt::UdpGsoSegment, &0).is_ok();
        Segmentation { size: 0, longest: if is_there { BLOCK } else { 0 }, until: None }
    }

    /// Returns how many datagrams of `octets` octets one system call may send.
    #[inline]
    pub(super) fn most(&mut self, octets: usize, now: Instant) -> usize {
        if octets > self.longest && self.until.is_some_and(|until| until <= now) {
            (self.longest, self.until) = (BLOCK, None);
        }
        // Empty datagrams cannot be separated.
        if octets == 0 || octets > self.longest { 1 } else { SEGMENTS_MOST.min(LONGEST / octets) }
    }

    /// Records that the kernel refused to send `messages` datagrams of `octets` octets by one call.
    /// Returns whether each may be sent alone.
    #[cold]
    pub(super) fn refused(
        &mut self,
        error: Errno,
        messages: usize,
        octets: usize,
        now: Instant,
    ) -> bool {
        let longest = match error {
            // The error concerns the datagram itself: as a rule it is too long for the path.
            _ if messages == 1 => return false,
            // A device without checksums, or IPsec: no length will do.
            Errno::IO => 0,
            // Longer than the path passes unfragmented.
            Errno::INVAL | Errno::MSGSIZE => octets.saturating_sub(1),
            _ => return false,
        };
        (self.longest, self.until) = (self.longest.min(longest), Some(now + BELIEVED));
        true
    }

    /// Returns the octets of each datagram that the socket is set to.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Sets the socket to datagrams of `size` octets from now on; 0: what is sent is one datagram.
    #[inline]
    pub(super) fn set(&mut self, socket: &impl AsFd, size: usize) -> Result<(), Errno> {
        if size != self.size {
            let octets = i32::try_from(size).map_err(|_| Errno::MSGSIZE)?;
            setsockopt(socket, sockopt::UdpGsoSegment, &octets)
                .map_err(|error| Errno::from_raw_os_error(error as i32))?;
            self.size = size;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT_FIRST: Segmentation = Segmentation { size: 0, longest: BLOCK, until: None };

    fn seconds(seconds: u64) -> Instant {
        Instant::START + Duration::from_secs(seconds)
    }

    #[test]
    fn a_call_sends_what_fits_into_one_packet_of_the_kernel() {
        let mut there = AT_FIRST;
        let most = [0, 1, 1024, 10_000, LONGEST].map(|octets| there.most(octets, seconds(1)));
        assert_eq!(most, [1, 64, 63, 6, 1]);
        let mut absent = Segmentation { longest: 0, ..AT_FIRST };
        assert_eq!(absent.most(1024, Instant::END), 1, "a kernel without it never has it");
    }

    #[test]
    fn a_path_that_is_too_narrow_takes_shorter_ones_and_a_device_that_cannot_takes_none() {
        for (error, shorter) in [(Errno::INVAL, 64), (Errno::MSGSIZE, 64), (Errno::IO, 1)] {
            let mut there = AT_FIRST;
            assert!(there.refused(error, 2, 1000, seconds(1)));
            assert_eq!(
                [999, 1000, 1001].map(|octets| there.most(octets, seconds(60))),
                [shorter, 1, 1]
            );
            assert_eq!(there.most(1000, seconds(61)), 64, "after a minute it is tried again");
        }
    }

    #[test]
    fn a_second_refusal_widens_nothing_and_is_believed_for_as_long() {
        let mut there = AT_FIRST;
        assert!(
            there.refused(Errno::INVAL, 2, 100, seconds(1))
                && there.refused(Errno::INVAL, 2, 1000, seconds(31))
        );
        assert_eq!([99, 100].map(|octets| there.most(octets, seconds(90))), [64, 1]);
        assert_eq!(there.most(100, seconds(91)), 64);
    }

    #[test]
    fn one_datagram_that_is_too_long_says_nothing_of_segmentation() {
        let mut there = AT_FIRST;
        for error in [Errno::MSGSIZE, Errno::INVAL, Errno::IO] {
            assert!(!there.refused(error, 1, 1000, seconds(1)));
        }
        assert!(!there.refused(Errno::PERM, 2, 1000, seconds(1)), "nor does what is forbidden");
        assert_eq!(there.most(1000, seconds(1)), 64);
    }
}
