//! By *ring* or AWS-LC, which have the same interface except for sealing out of place and for how a
//! tag is passed.

#[cfg(feature = "aws-lc")]
use aws_lc_rs as library;
#[cfg(not(feature = "aws-lc"))]
use ring as library;

use library::aead::{AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey};
use library::hkdf::{HKDF_SHA256, KeyType, Prk, Salt};

use super::Cipher;

/// "Less safe" is a key whose caller guarantees that no nonce is used twice, as all callers here
/// do.
pub(in super::super) struct Aead(LessSafeKey);

impl Aead {
    pub(in super::super) fn new(cipher: Cipher, key: &[u8; 32]) -> Self {
        let algorithm = match cipher {
            Cipher::Aes256Gcm => &AES_256_GCM,
            Cipher::ChaCha20Poly1305 => &CHACHA20_POLY1305,
        };
        Aead(LessSafeKey::new(
            UnboundKey::new(algorithm, key).expect("both have keys of 32 octets"),
        ))
    }

    /// Encrypts in place and returns the tag; `None` if it is longer than the cipher can encrypt.
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

    /// Encrypts `plain` into `into`, which is as long; otherwise as [`Aead::seal`].
    #[cfg(feature = "aws-lc")]
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

    /// Encrypts `plain` into `into`, which is as long; otherwise as [`Aead::seal`]. *ring* only
    /// works in place.
    #[cfg(not(feature = "aws-lc"))]
    pub(in super::super) fn seal_into(
        &self,
        nonce: [u8; 12],
        associated: &[u8],
        plain: &[u8],
        into: &mut [u8],
    ) -> Option<[u8; 16]> {
        if plain.len() != into.len() {
            return None;
        }
        into.copy_from_slice(plain);
        self.seal(nonce, associated, into)
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
        let (nonce, associated) = (Nonce::assume_unique_for_key(nonce), Aad::from(associated));
        #[cfg(feature = "aws-lc")]
        let opened = self.0.open_in_place_separate_tag(nonce, associated, &tag, octets);
        #[cfg(not(feature = "aws-lc"))]
        let opened = self.0.open_in_place_separate_tag(nonce, associated, tag.into(), octets, 0..);
        opened.is_ok()
    }
}

/// The pseudorandom key that HKDF-SHA-256 (RFC 5869) extracted from a secret: keys are expanded
/// from it.
pub(in super::super) struct Extracted(Prk);

impl Extracted {
    pub(in super::super) fn new(salt: &[u8], secret: &[u8]) -> Self {
        Extracted(Salt::new(HKDF_SHA256, salt).extract(secret))
    }

    /// Fills `octets`, at most 8160.
    pub(in super::super) fn expand(&self, info: &[&[u8]], octets: &mut [u8]) {
        let made = self.0.expand(info, Length(octets.len())).and_then(|made| made.fill(octets));
        made.expect("HKDF gives up to 8160 octets");
    }
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}
