//! Checks as stages: they add what passes, and leave it as it is.

use super::{BLOCK, Stage};
use crate::check::{Crc32c, Cxor, Internet};

impl Stage for Cxor {
    #[inline(always)]
    fn block(&mut self, block: &mut [u8; BLOCK]) {
        self.add_block(block);
    }

    #[inline]
    fn tail(&mut self, octets: &mut [u8]) {
        self.add(octets);
    }
}

impl Stage for Internet {
    #[inline(always)]
    fn block(&mut self, block: &mut [u8; BLOCK]) {
        self.add(block);
    }

    #[inline]
    fn tail(&mut self, octets: &mut [u8]) {
        self.add(octets);
    }
}

impl Stage for Crc32c {
    #[inline(always)]
    fn block(&mut self, block: &mut [u8; BLOCK]) {
        self.add(block);
    }

    #[inline]
    fn tail(&mut self, octets: &mut [u8]) {
        self.add(octets);
    }
}
