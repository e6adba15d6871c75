//! A hash to compare runs by.

use std::fmt::{self, Write};

/// FNV-1a over 64 bits: it need not resist attacks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    pub(crate) fn add(&mut self, octets: &[u8]) {
        for octet in octets {
            self.0 = (self.0 ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    pub(crate) fn say(&mut self, what: fmt::Arguments<'_>) {
        // Writing to a hash cannot fail.
        let _ = self.write_fmt(what);
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

impl Write for Hash {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}
