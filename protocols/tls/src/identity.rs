//! A certificate with its key.

use alloc::string::{String, ToString as _};
use alloc::sync::Arc;
use alloc::vec::Vec;

use ring::digest::{SHA256, digest};
use rustls::crypto::ring::sign::any_supported_type;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ResolvesServerCert;
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use stackwright_contract::Fingerprint;

/// The identity of a server: a certificate, those that lead to its authority, and the key.
#[derive(Clone, Debug)]
pub struct ServerIdentity {
    key: Arc<CertifiedKey>,
}

/// Why a certificate and a key are no identity.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadIdentity {
    /// There is no certificate.
    #[error("there is no certificate in the text (PEM: a block BEGIN CERTIFICATE)")]
    NoCertificate,
    /// There is no key, or none in a known form.
    #[error("there is no private key in the text (PEM: a block BEGIN PRIVATE KEY)")]
    NoKey,
    /// The key cannot be used.
    #[error("the private key cannot be used: {0}")]
    Key(String),
    /// The key belongs to another certificate.
    #[error("the private key does not belong to the certificate")]
    Mismatch,
}

impl ServerIdentity {
    /// Returns the identity of a certificate chain, the server's own certificate first, and its
    /// key.
    ///
    /// # Errors
    /// If they do not belong together, or cannot be used.
    pub fn new(
        chain: Vec<CertificateDer<'static>>,
        key: &PrivateKeyDer<'static>,
    ) -> Result<Self, BadIdentity> {
        if chain.is_empty() {
            return Err(BadIdentity::NoCertificate);
        }
        let key = any_supported_type(key).map_err(|error| BadIdentity::Key(error.to_string()))?;
        let key = CertifiedKey::new(chain, key);
        match key.keys_match() {
            Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch)) => {
                Err(BadIdentity::Mismatch)
            }
            Err(rustls::Error::InvalidCertificate(_)) => Err(BadIdentity::NoCertificate),
            _ => Ok(ServerIdentity { key: Arc::new(key) }),
        }
    }

    /// Reads the identity from the texts of two PEM files: the certificates, and the key (PKCS #8,
    /// PKCS #1 or SEC 1). They may be the same.
    ///
    /// # Errors
    /// If something is missing, or they do not belong together.
    pub fn from_pem(certificates: &[u8], key: &[u8]) -> Result<Self, BadIdentity> {
        let chain = CertificateDer::pem_slice_iter(certificates)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| BadIdentity::NoCertificate)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| BadIdentity::NoKey)?;
        Self::new(chain, &key)
    }

    /// Returns the fingerprint of the server's own certificate: what a client may pin.
    pub fn fingerprint(&self) -> Fingerprint {
        self.key.cert.first().map_or(Fingerprint([0; 32]), fingerprint)
    }

    pub(crate) fn resolver(&self) -> Arc<dyn ResolvesServerCert> {
        Arc::new(SingleCertAndKey::from(CertifiedKey::clone(&self.key)))
    }
}

/// Returns the fingerprint of a certificate.
pub(crate) fn fingerprint(certificate: &CertificateDer<'_>) -> Fingerprint {
    let mut octets = [0; 32];
    octets.copy_from_slice(digest(&SHA256, certificate).as_ref());
    Fingerprint(octets)
}
