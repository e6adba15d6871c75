//! The key schedule of a seal: HKDF-SHA-256 (RFC 5869) of the application's secret.

use super::Secret;
use super::agreed::{Agreed, Direction};
use super::library::{Aead, Cipher, Extracted};

/// The label that separates these keys from others derived from the same secret.
const PURPOSE: &[u8] = b"Stackwright ARTP seal 1";

/// Derives the keys of one session.
pub(super) struct Schedule {
    cipher: Cipher,
    /// The application's secret and both sides' salts, mixed.
    secret: Extracted,
    agreed: Agreed,
}

impl Schedule {
    pub(super) fn new(cipher: Cipher, secret: &Secret, agreed: Agreed) -> Self {
        Schedule { cipher, secret: Extracted::new(&agreed.salts, &secret.0), agreed }
    }

    pub(super) fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// Returns the key of a generation.
    pub(super) fn key(&self, direction: Direction, generation: u16) -> Key {
        let mut octets = [0; 44];
        let [high, low] = generation.to_be_bytes();
        let what = [self.cipher as u8, direction as u8, high, low];
        self.secret.expand(&[PURPOSE, &what, &self.agreed.proposals], &mut octets);
        Key::new(self.cipher, &octets)
    }
}

/// A key, and the start of its nonces.
pub(super) struct Key {
    cipher: Aead,
    start: [u8; 12],
}

impl Key {
    fn new(cipher: Cipher, octets: &[u8; 44]) -> Self {
        let (key, start) = octets.split_first_chunk().expect("44 octets");
        let start = start.try_into().expect("44 octets");
        Key { cipher: Aead::new(cipher, key), start }
    }

    /// Returns the nonce, which differs for each datagram under one key (as in RFC 8446 §5.3).
    fn nonce(&self, counter: u64) -> [u8; 12] {
        let mut nonce = self.start;
        for (octet, count) in nonce[4..].iter_mut().zip(counter.to_be_bytes()) {
            *octet ^= count;
        }
        nonce
    }

    /// Encrypts in place and returns the tag; `None` if it is longer than the cipher can encrypt.
    pub(super) fn seal(
        &self,
        counter: u64,
        associated: &[u8],
        octets: &mut [u8],
    ) -> Option<[u8; 16]> {
        self.cipher.seal(self.nonce(counter), associated, octets)
    }

    /// Encrypts `plain` into `into`, which is as long; otherwise as [`Key::seal`].
    pub(super) fn seal_into(
        &self,
        counter: u64,
        associated: &[u8],
        plain: &[u8],
        into: &mut [u8],
    ) -> Option<[u8; 16]> {
        self.cipher.seal_into(self.nonce(counter), associated, plain, into)
    }

    /// Decrypts in place, if the tag is valid.
    #[must_use]
    pub(super) fn open(
        &self,
        counter: u64,
        associated: &[u8],
        octets: &mut [u8],
        tag: [u8; 16],
    ) -> bool {
        self.cipher.open(self.nonce(counter), associated, octets, tag)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn octets(hexadecimal: &str) -> Vec<u8> {
        let digits = hexadecimal.as_bytes().as_chunks::<2>().0;
        let octet =
            |pair: &[u8; 2]| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.iter().map(octet).collect()
    }

    /// Checks both directions, and that no alteration of one bit is accepted.
    fn is(cipher: Cipher, [key, nonce, associated, plain, sealed, tag]: [&str; 6]) {
        let key_and_start = [octets(key), octets(nonce)].concat().try_into().unwrap();
        let key = Key::new(cipher, &key_and_start);
        let (associated, plain, tag) =
            (octets(associated), octets(plain), octets(tag).try_into().unwrap());
        let mut text = plain.clone();
        assert_eq!(key.seal(0, &associated, &mut text), Some(tag));
        assert_eq!(text, octets(sealed));
        for (counter, bit, place) in [(1, 0, 0), (0, 1, 0), (0, 1, text.len() - 1)] {
            let mut altered = text.clone();
            altered[place] ^= bit;
            assert!(!key.open(counter, &associated, &mut altered, tag));
        }
        assert!(!key.open(0, &associated[1..], &mut text.clone(), tag));
        assert!(!key.open(
            0,
            &associated,
            &mut text.clone(),
            (u128::from_be_bytes(tag) ^ 1).to_be_bytes()
        ));
        assert!(key.open(0, &associated, &mut text, tag));
        assert_eq!(text, plain);
    }

    /// McGrew and Viega, *The Galois/Counter Mode of Operation*, test case 16.
    #[test]
    fn aes_256_gcm() {
        is(
            Cipher::Aes256Gcm,
            [
                "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
                "cafebabefacedbaddecaf888",
                "feedfacedeadbeeffeedfacedeadbeefabaddad2",
                "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
                 1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39",
                "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa\
                 8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
                "76fc6ece0f4e1768cddf8853bb2d551b",
            ],
        );
    }

    /// RFC 8439 §2.8.2.
    #[test]
    fn chacha20_poly1305() {
        let text = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, \
                    sunscreen would be it.";
        let text: alloc::string::String =
            text.bytes().map(|octet| alloc::format!("{octet:02x}")).collect();
        is(
            Cipher::ChaCha20Poly1305,
            [
                "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
                "070000004041424344454647",
                "50515253c0c1c2c3c4c5c6c7",
                &text,
                "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6\
                 3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36\
                 92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc\
                 3ff4def08e4b7a9de576d26586cec64b6116",
                "1ae10b594f09e26a7e902ecbd0600691",
            ],
        );
    }

    /// RFC 5869 appendix A.1.
    #[test]
    fn hkdf_sha_256() {
        let salt = octets("000102030405060708090a0b0c");
        let mut made = [0; 42];
        Extracted::new(&salt, &[0x0b; 22])
            .expand(&[&octets("f0f1f2f3f4"), &octets("f5f6f7f8f9")], &mut made);
        let expected =
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865";
        assert_eq!(made[..], octets(expected));
    }
}
