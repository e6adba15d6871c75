//! What is transferred: octets that follow from a seed, in the sizes everybody measures.

/// A file as a test knows it before it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sized {
    /// The number of octets.
    pub octets: usize,
    /// How names of tests and tables write this number.
    pub name: &'static str,
}

/// From nothing to a hundred million octets.
pub const SIZES: [Sized; 9] = [
    Sized { octets: 0, name: "0B" },
    Sized { octets: 1, name: "1B" },
    Sized { octets: 100, name: "100B" },
    Sized { octets: 1_000, name: "1kB" },
    Sized { octets: 10_000, name: "10kB" },
    Sized { octets: 100_000, name: "100kB" },
    Sized { octets: 1_000_000, name: "1MB" },
    Sized { octets: 10_000_000, name: "10MB" },
    Sized { octets: 100_000_000, name: "100MB" },
];

impl Sized {
    /// What the file of this size is called in a served folder.
    pub fn file(self) -> String {
        format!("{}.bin", self.name)
    }

    /// The octets themselves: the same in every run.
    pub fn content(self) -> Vec<u8> {
        octets(self.octets as u64 + 1, self.octets)
    }
}

/// `length` octets that follow from `seed`. Every value occurs, so `FF`, `CR` and `NUL` are all met
/// on the way.
pub fn octets(seed: u64, length: usize) -> Vec<u8> {
    // SplitMix64: full period, and good enough that no two pages are alike.
    let mut state = seed;
    let mut content = Vec::with_capacity(length + 8);
    while content.len() < length {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = state;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        content.extend_from_slice(&(word ^ (word >> 31)).to_le_bytes());
    }
    content.truncate(length);
    content
}

/// Says where two contents part. Printing them would help nobody.
///
/// # Panics
///
/// When they differ.
#[track_caller]
pub fn assert_same(arrived: &[u8], sent: &[u8]) {
    if arrived == sent {
        return;
    }
    let place = arrived.iter().zip(sent).position(|(a, b)| a != b);
    match place {
        Some(place) => {
            panic!("octet {place} differs ({} arrived, {} sent)", arrived.len(), sent.len())
        }
        None => panic!("{} octets arrived, {} were sent", arrived.len(), sent.len()),
    }
}
