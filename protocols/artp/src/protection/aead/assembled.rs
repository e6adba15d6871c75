//! By AWS-LC.

use aws_lc_rs::aead::{AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};

use super::Cipher;

/// Less safe is a key of which the caller sees to it that no nonce comes twice, as everybody does here.
pub(in super::super) struct Aead(LessSafeKey);

impl Aead {
    pub(in super::super) fn new(cipher: Cipher, key: &[u8; 32]) -> Self {
        let algorithm = match cipher {
            Cipher::Aes256Gcm => &AES_256_GCM,
            Cipher::ChaCha20Poly1305 => &CHACHA20_POLY1305,
        };
        Aead(LessSafeKey::new(UnboundKey::new(algorithm, key).expect("both have keys of 32 octets")))
    }

    /// Encrypts in place; gives the tag. `None`: it is longer than the cipher can.
    pub(in super::super) fn seal(
        &self,
        nonce: [u8; 12],
        associated: &[u8],
        octets: &mut [u8],
    ) -> Option<[u8; 16]> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.0.seal_in_place_separate_tag(nonce, Aad::from(associated), octets).ok()?;
        tag.as_ref().try_into().ok()
    }

    /// The same of what stays as it is, into as many octets.
    pub(in super::super) fn seal_into(
        &self,
        nonce: [u8; 12],
        associated: &[u8],
        plain: &[u8],
        into: &mut [u8],
    ) -> Option<[u8; 16]> {
        let (nonce, mut tag) = (Nonce::assume_unique_for_key(nonce), [0; 16]);
        let beside = Aad::from(associated);
        self.0.seal_out_of_place_scatter(nonce, beside, plain, into, &[], &mut tag).ok()?;
        Some(tag)
    }

    /// Decrypts in place, where the tag agrees.
    #[must_use]
    pub(in super::super) fn open(
        &self,
        nonce: [u8; 12],
        associated: &[u8],
        octets: &mut [u8],
        tag: [u8; 16],
    ) -> bool {
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.0.open_in_place_separate_tag(nonce, Aad::from(associated), &tag, octets).is_ok()
    }
}
