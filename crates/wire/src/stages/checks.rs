//! Checks as stages: they add what passes, and leave it as it is.

use super::Stage;
use crate::check::{Crc32c, Cxor, Internet};

impl Stage for Cxor {
    #[inline(always)]
    fn block<const N: usize>(&mut self, block: &mut [u8; N]) {
        self.add_block(block);
    }

    #[inline]
    fn tail(&mut self, octets: &mut [u8]) {
        self.add_rest(octets);
    }
}

impl Stage for Internet {
    #[inline(always)]
    fn block<const N: usize>(&mut self, block: &mut [u8; N]) {
        self.add(block);
    }

    #[inline]
    fn tail(&mut self, octets: &mut [u8]) {
        self.add(octets);
    }
}

impl Stage for Crc32c {
    #[inline(always)]
    fn block<const N: usize>(&mut self, block: &mut [u8; N]) {
        self.add(block);
    }

    #[inline]
    fn tail(&mut self, octets: &mut [u8]) {
        self.add(octets);
    }
}
