//! JPEGs that follow from a seed.

/// The octets of a picture without trailing ones, and how it is made.
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    /// Units of 8 × 8 pixels in a row.
    pub columns: u16,
    /// Rows of units.
    pub rows: u16,
    /// Coefficients of each unit beside the first, at most 63: each takes 12 bits.
    pub coefficients: u8,
}

impl Picture {
    /// Returns a grey JPEG of noise, in three codes of its own.
    pub fn file(self, seed: u64) -> Vec<u8> {
        let mut file = vec![0xff, 0xd8, 0xff, 0xdb, 0, 67, 0];
        file.extend([8; 64]);
        file.extend([0xff, 0xc0, 0, 11, 8]);
        file.extend((self.rows * 8).to_be_bytes());
        file.extend((self.columns * 8).to_be_bytes());
        file.extend([1, 1, 0x11, 0]);
        // A first coefficient of four bits has the code 0.
        file.extend([0xff, 0xc4, 0, 20, 0, 1]);
        file.extend([0; 15]);
        file.push(4);
        // The end of a unit has the code 00, another coefficient, of ten bits, 01.
        file.extend([0xff, 0xc4, 0, 21, 0x10, 0, 2]);
        file.extend([0; 14]);
        file.extend([0, 10]);
        file.extend([0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0]);
        let mut bits = Bits { file, rest: 0, count: 0 };
        let mut state = seed;
        let mut random = |bits: u32| {
            // A linear congruential generator (Knuth's MMIX) is as good as any for noise.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> (64 - bits)) as u32
        };
        let mut sum = 0;
        for _ in 0..u32::from(self.columns) * u32::from(self.rows) {
            // Back towards nothing, so that no sum of differences leaves its range.
            let value = if sum > 0 { 0 } else { 8 } + random(3);
            sum += difference(value);
            bits.put(value, 5);
            for _ in 0..self.coefficients {
                bits.put(1 << 10 | random(10), 12);
            }
            if self.coefficients < 63 {
                bits.put(0, 2);
            }
        }
        bits.end()
    }
}

/// Returns the difference that four bits say (ITU-T T.81, F.1.2.1): less than nothing where the first
/// is 0.
fn difference(bits: u32) -> i32 {
    bits as i32 - if bits < 8 { 15 } else { 0 }
}

/// A scan: ones at its end, and a 0 behind each octet of ones.
struct Bits {
    file: Vec<u8>,
    rest: u32,
    count: u32,
}

impl Bits {
    fn put(&mut self, value: u32, bits: u32) {
        self.rest = self.rest << bits | value;
        self.count += bits;
        while self.count >= 8 {
            self.count -= 8;
            let octet = (self.rest >> self.count) as u8;
            self.file.push(octet);
            if octet == 0xff {
                self.file.push(0);
            }
        }
    }

    fn end(mut self) -> Vec<u8> {
        if self.count > 0 {
            let more = 8 - self.count;
            self.put((1 << more) - 1, more);
        }
        self.file.extend([0xff, 0xd9]);
        self.file
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_coefficients_keep_their_range_however_many_units_there_are() {
        let file = Picture { columns: 1000, rows: 1000, coefficients: 0 }.file(1);
        let begin = file.windows(2).position(|two| two == [0xff, 0xda]).expect("a scan") + 10;
        let scan = &file[begin..file.len() - 2];
        // Without what lies behind an octet of ones.
        let is_data = |at: &usize| *at == 0 || scan[at - 1] != 0xff;
        let octets: Vec<u8> = (0..scan.len()).filter(is_data).map(|at| scan[at]).collect();
        let bit = |at: usize| u32::from(octets[at / 8] >> (7 - at % 8) & 1);
        let mut sum = 0;
        for unit in 0..1_000_000 {
            // Of a unit's seven bits the first is a code, and the last two are its end.
            sum += difference((1..5).fold(0, |bits, at| bits << 1 | bit(7 * unit + at)));
            assert!((-1024..1024).contains(&sum), "unit {unit}: {sum}");
        }
    }
}
