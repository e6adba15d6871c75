//! By RustCrypto, in Rust alone.

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::inout::InOutBuf;
use aes_gcm::aead::{AeadInOut, KeyInit};
use chacha20poly1305::ChaCha20Poly1305;
use hkdf::Hkdf;
use sha2::Sha256;

use super::Cipher;

#[allow(clippy::large_enum_variant, reason = "it lies in a box of its session")]
pub(in super::super) enum Aead {
    Aes(Aes256Gcm),
    ChaCha(ChaCha20Poly1305),
}

impl Aead {
    pub(in super::super) fn new(cipher: Cipher, key: &[u8; 32]) -> Self {
        match cipher {
            Cipher::Aes256Gcm => Aead::Aes(Aes256Gcm::new(key.into())),
            Cipher::ChaCha20Poly1305 => Aead::ChaCha(ChaCha20Poly1305::new(key.into())),
        }
    }

    /// Encrypts in place and returns the tag; `None` if it is longer than the cipher can encrypt.
    pub(in super::super) fn seal(
        &self,
        nonce: [u8; 12],
        associated: &[u8],
        octets: &mut [u8],
    ) -> Option<[u8; 16]> {
        self.encrypt(nonce, associated, octets.into())
    }

    /// Encrypts `plain` into `into`, which is as long; otherwise as [`Aead::seal`].
    pub(in super::super) fn seal_into(
        &self,
        nonce: [u8; 12],
        associated: &[u8],
        plain: &[u8],
        into: &mut [u8],
    ) -> Option<[u8; 16]> {
        self.encrypt(nonce, associated, InOutBuf::new(plain, into).ok()?)
    }

    fn encrypt(
        &self,
        nonce: [u8; 12],
        associated: &[u8],
        octets: InOutBuf<'_, '_, u8>,
    ) -> Option<[u8; 16]> {
        let nonce = nonce.into();
        let tag = match self {
            Aead::Aes(cipher) => cipher.encrypt_inout_detached(&nonce, associated, octets),
            Aead::ChaCha(cipher) => cipher.encrypt_inout_detached(&nonce, associated, octets),
        };
        tag.ok().map(Into::into)
    }

    /// Decrypts in place, if the tag is valid.
    #[must_use]
    pub(in super::super) fn open(
        &self,
        nonce: [u8; 12],
        associated: &[u8],
        octets: &mut [u8],
        tag: [u8; 16],
    ) -> bool {
        let (nonce, tag) = (nonce.into(), tag.into());
        let opened = match self {
            Aead::Aes(cipher) => {
                cipher.decrypt_inout_detached(&nonce, associated, octets.into(), &tag)
            }
            Aead::ChaCha(cipher) => {
                cipher.decrypt_inout_detached(&nonce, associated, octets.into(), &tag)
            }
        };
        opened.is_ok()
    }
}

/// The pseudorandom key that HKDF-SHA-256 (RFC 5869) extracted from a secret: keys are expanded
/// from it.
pub(in super::super) struct Extracted(Hkdf<Sha256>);

impl Extracted {
    pub(in super::super) fn new(salt: &[u8], secret: &[u8]) -> Self {
        Extracted(Hkdf::new(Some(salt), secret))
    }

    /// Fills `octets`, at most 8160.
    pub(in super::super) fn expand(&self, info: &[&[u8]], octets: &mut [u8]) {
        self.0.expand_multi_info(info, octets).expect("HKDF gives up to 8160 octets");
    }
}
