//! Which key seals what: HKDF-SHA-256 (RFC 5869) of the application's secret.

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{AeadInOut, KeyInit};
use chacha20poly1305::ChaCha20Poly1305;
use hkdf::Hkdf;
use sha2::Sha256;

use super::Secret;
use super::agreed::{Agreed, Direction};

/// What keys of others, made of the same secret for something else, are not made of.
const PURPOSE: &[u8] = b"Stackwright ARTP seal 1";

/// How datagrams are sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cipher {
    /// AES-256 in Galois/counter mode (NIST SP 800-38D): the faster one where the processor knows AES.
    Aes256Gcm,
    /// ChaCha20 and Poly1305 (RFC 8439): the faster one everywhere else.
    ChaCha20Poly1305,
}

/// Makes the keys of one session.
pub(super) struct Schedule {
    cipher: Cipher,
    /// The application's secret and both sides' salts, mixed.
    secret: Hkdf<Sha256>,
    agreed: Agreed,
}

impl Schedule {
    pub(super) fn new(cipher: Cipher, secret: &Secret, agreed: Agreed) -> Self {
        Schedule { cipher, secret: Hkdf::new(Some(&agreed.salts), &secret.0), agreed }
    }

    pub(super) fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    /// The key of so many generations later.
    pub(super) fn key(&self, direction: Direction, generation: u16) -> Key {
        let mut octets = [0; 44];
        let [high, low] = generation.to_be_bytes();
        let what = [self.cipher as u8, direction as u8, high, low];
        let filled = self.secret.expand_multi_info(&[PURPOSE, &what, &self.agreed.proposals], &mut octets);
        filled.expect("HKDF gives up to 8160 octets");
        Key::new(self.cipher, &octets)
    }
}

/// A key, and where its nonces begin.
pub(super) struct Key {
    cipher: Keyed,
    start: [u8; 12],
}

#[allow(clippy::large_enum_variant, reason = "it lies in a box of its session")]
enum Keyed {
    Aes(Aes256Gcm),
    ChaCha(ChaCha20Poly1305),
}

impl Key {
    fn new(cipher: Cipher, octets: &[u8; 44]) -> Self {
        let (key, start) = octets.split_at(32);
        let cipher = match cipher {
            Cipher::Aes256Gcm => Aes256Gcm::new_from_slice(key).map(Keyed::Aes),
            Cipher::ChaCha20Poly1305 => ChaCha20Poly1305::new_from_slice(key).map(Keyed::ChaCha),
        };
        let start = start.try_into().expect("44 octets");
        Key { cipher: cipher.expect("32 octets"), start }
    }

    /// No two datagrams under one key have the same (as in RFC 8446 §5.3).
    fn nonce(&self, counter: u64) -> [u8; 12] {
        let mut nonce = self.start;
        for (octet, count) in nonce[4..].iter_mut().zip(counter.to_be_bytes()) {
            *octet ^= count;
        }
        nonce
    }

    /// Encrypts in place; gives the tag. `None`: it is longer than the cipher can.
    pub(super) fn seal(&self, counter: u64, associated: &[u8], octets: &mut [u8]) -> Option<[u8; 16]> {
        let nonce = self.nonce(counter).into();
        let tag = match &self.cipher {
            Keyed::Aes(cipher) => cipher.encrypt_inout_detached(&nonce, associated, octets.into()),
            Keyed::ChaCha(cipher) => cipher.encrypt_inout_detached(&nonce, associated, octets.into()),
        };
        tag.ok().map(Into::into)
    }

    /// Decrypts in place, where the tag agrees.
    #[must_use]
    pub(super) fn open(&self, counter: u64, associated: &[u8], octets: &mut [u8], tag: [u8; 16]) -> bool {
        let (nonce, tag) = (self.nonce(counter).into(), tag.into());
        let opened = match &self.cipher {
            Keyed::Aes(cipher) => cipher.decrypt_inout_detached(&nonce, associated, octets.into(), &tag),
            Keyed::ChaCha(cipher) => cipher.decrypt_inout_detached(&nonce, associated, octets.into(), &tag),
        };
        opened.is_ok()
    }
}
