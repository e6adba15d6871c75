//! A certificate that the receiver signs itself and tells the sender, who trusts no other: QUIC
//! needs one.

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::PrivateKeyDer;

use crate::problem::{Problem, Tried as _};

/// Whom it names.
pub(super) const NAME: &str = "peers.invalid";

/// A certificate and its key, both in DER.
pub(super) struct Certificate {
    pub(super) certificate: Vec<u8>,
    pub(super) key: PrivateKeyDer<'static>,
}

/// # Errors
/// When there is no randomness.
pub(super) fn own() -> Result<Certificate, Problem> {
    let signed = generate_simple_self_signed([NAME.to_owned()]).tried("a certificate")?;
    let CertifiedKey { cert, signing_key } = signed;
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).tried("a key")?;
    Ok(Certificate { certificate: cert.der().to_vec(), key })
}

/// # Errors
/// When the receiver has told none.
pub(super) fn of_the_other(certificate: Option<Vec<u8>>) -> Result<Vec<u8>, Problem> {
    certificate.ok_or_else(|| Problem::new("the receiver has told no certificate"))
}
