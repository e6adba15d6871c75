//! What all CRCs with the least significant bit first have in common: the polynomial is written
//! with its bits reversed, and the register is shifted to the right. So one of 16 bits works in a
//! register of 32.
//!
//! The octets are taken 8 at a time, each with a table of its own, so that the 8 look-ups do not
//! wait for each other (M. E. Kounavis, F. L. Berry: A systematic approach to building high
//! performance, software-based, CRC generators).

/// `tables[n][x]`: what octet `x` has become when `n` more octets of zero have followed it.
pub(super) type Tables = [[u32; 256]; 8];

pub(super) const fn tables(polynomial: u32) -> Tables {
    let mut tables = [[0; 256]; 8];
    let mut octet = 0;
    while octet < 256 {
        let mut register = octet as u32;
        let mut bit = 0;
        while bit < 8 {
            register = shifted(register, polynomial);
            bit += 1;
        }
        tables[0][octet] = register;
        octet += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut octet = 0;
        while octet < 256 {
            let before = tables[table - 1][octet];
            tables[table][octet] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            octet += 1;
        }
        table += 1;
    }
    tables
}

/// Returns the register after one more bit of zero: multiplied by x.
const fn shifted(register: u32, polynomial: u32) -> u32 {
    register >> 1 ^ if register & 1 == 1 { polynomial } else { 0 }
}

/// Returns the register after `octets`.
#[inline]
pub(super) fn advance(tables: &Tables, mut register: u32, octets: &[u8]) -> u32 {
    let (eights, rest) = octets.as_chunks::<8>();
    for &[a, b, c, d, e, f, g, h] in eights {
        let front = register ^ u32::from_le_bytes([a, b, c, d]);
        let [a, b, c, d] = front.to_le_bytes();
        register = tables[7][usize::from(a)]
            ^ tables[6][usize::from(b)]
            ^ tables[5][usize::from(c)]
            ^ tables[4][usize::from(d)]
            ^ tables[3][usize::from(e)]
            ^ tables[2][usize::from(f)]
            ^ tables[1][usize::from(g)]
            ^ tables[0][usize::from(h)];
    }
    for octet in rest {
        register = register >> 8 ^ tables[0][usize::from(register as u8 ^ octet)];
    }
    register
}

/// The field of the remainders of division by `polynomial`. `one` is the polynomial 1, the highest
/// bit of a reflected register.
pub(super) struct Remainders {
    pub(super) polynomial: u32,
    pub(super) one: u32,
}

impl Remainders {
    /// Returns the register after `octets` more octets of zero, in as many steps as `octets` has
    /// bits: by squaring.
    pub(super) const fn after_zeros(&self, register: u32, mut octets: u64) -> u32 {
        let mut power = self.one >> 8; // x^8: one octet; every register has more than 8 bits
        let mut product = register;
        while octets > 0 {
            if octets & 1 == 1 {
                product = self.times(product, power);
            }
            power = self.times(power, power);
            octets >>= 1;
        }
        product
    }

    const fn times(&self, one: u32, mut other: u32) -> u32 {
        let mut product = 0;
        let mut bit = self.one;
        while bit != 0 {
            if one & bit != 0 {
                product ^= other;
            }
            other = shifted(other, self.polynomial);
            bit >>= 1;
        }
        product
    }
}
