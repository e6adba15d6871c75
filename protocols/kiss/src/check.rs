//! Checks that some hosts and TNCs put behind a frame. All are over the type and the data, before
//! they are escaped.

/// The check octet of XKISS: with it, the exclusive or of all octets is 0.
pub(crate) fn xkiss(octets: &[u8]) -> u8 {
    octets.iter().fold(0, |check, octet| check ^ octet)
}

/// Whether octets end with the check of SMACK: CRC-16/ARC, the least significant octet first.
pub(crate) fn is_smack(octets: &[u8]) -> bool {
    octets.len() > CRC_OCTETS && smack(octets) == 0
}

/// Whether octets end with the check of FlexNet, the most significant octet first.
pub(crate) fn is_flexnet(octets: &[u8]) -> bool {
    octets.len() > CRC_OCTETS && flexnet(octets) == FLEXNET_GOOD
}

/// The octets of the check of SMACK, and of FlexNet.
pub(crate) const CRC_OCTETS: usize = 2;

/// x^16 + x^15 + x^2 + 1, reversed.
static SMACK: [u16; 256] = reflected(0xA001);
/// x^16 + x^12 + x^5 + 1, reversed; the register is shifted to the left all the same.
static CCITT: [u16; 256] = reflected(0x8408);
/// What FlexNet adds with each octet, as the table of Linux' `mkiss` has it.
const FLEXNET_STEP: u16 = 0x0F87;
/// The check over octets that include their own.
const FLEXNET_GOOD: u16 = 0x7070;

const fn reflected(polynomial: u16) -> [u16; 256] {
    let mut table = [0; 256];
    let mut octet = 0;
    while octet < 256 {
        let mut register = octet as u16;
        let mut bit = 0;
        while bit < 8 {
            register = register >> 1 ^ if register & 1 == 1 { polynomial } else { 0 };
            bit += 1;
        }
        table[octet] = register;
        octet += 1;
    }
    table
}

fn smack(octets: &[u8]) -> u16 {
    let step = |check: u16, octet: &u8| check >> 8 ^ SMACK[usize::from(check as u8 ^ octet)];
    octets.iter().fold(0, step)
}

fn flexnet(octets: &[u8]) -> u16 {
    let entry = |index: u8| CCITT[usize::from(index)] ^ FLEXNET_STEP;
    let step = |check: u16, octet: &u8| check << 8 ^ entry((check >> 8) as u8 ^ octet);
    octets.iter().fold(0xFFFF, step)
}

#[cfg(test)]
pub(crate) mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// A UI frame to CQ from N0CALL-7, "Hi", behind a type that is put before it.
    pub(crate) const UI: [u8; 18] = [
        0x86, 0xA2, 0x40, 0x40, 0x40, 0x40, 0xE0, 0x9C, 0x60, 0x86, 0x82, 0x98, 0x98, 0x6F, 0x03,
        0xF0, 0x48, 0x69,
    ];

    pub(crate) fn typed(kind: u8) -> Vec<u8> {
        [&[kind][..], &UI].concat()
    }

    /// The same with SMACK's check.
    pub(crate) fn with_smack(kind: u8) -> Vec<u8> {
        let frame = typed(kind);
        [&frame[..], &smack(&frame).to_le_bytes()].concat()
    }

    /// The same with FlexNet's check.
    pub(crate) fn with_flexnet(kind: u8) -> Vec<u8> {
        let frame = typed(kind);
        [&frame[..], &flexnet(&frame).to_be_bytes()].concat()
    }

    #[test]
    fn checks_have_the_values_that_others_compute() {
        assert_eq!(smack(b"123456789"), 0xBB3D);
        assert_eq!(smack(&typed(0x80)), 0x3150);
        assert_eq!(xkiss(&typed(0)), 0x81);
        // Rows of the table in Linux' drivers/net/hamradio/mkiss.c.
        let row = |first: usize| [0, 1, 2, 3].map(|nth| CCITT[first + nth] ^ FLEXNET_STEP);
        assert_eq!(row(0), [0x0F87, 0x1E0E, 0x2C95, 0x3D1C]);
        assert_eq!(row(16), [0x1F06, 0x0E8F, 0x3C14, 0x2D9D]);
        assert_eq!(row(252), [0x3264, 0x23ED, 0x1176, 0x00FF]);
    }

    #[test]
    fn an_altered_octet_is_noticed() {
        for (frame, is_good) in
            [(with_smack(0x80), is_smack as fn(&[u8]) -> bool), (with_flexnet(0x20), is_flexnet)]
        {
            assert!(is_good(&frame));
            for bit in 0..8 * frame.len() {
                let mut altered = frame.clone();
                altered[bit / 8] ^= 1 << (bit % 8);
                assert!(!is_good(&altered), "bit {bit}");
            }
            assert!(!is_good(&frame[..2]) && !is_good(&[0, 0]) && !is_good(&[]));
        }
    }
}
