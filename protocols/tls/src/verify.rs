//! Whom a client trusts.

use alloc::sync::Arc;
use alloc::vec::Vec;
use std::sync::{Mutex, PoisonError};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use stackwright_contract::Fingerprint;
use webpki::EndEntityCert;

use crate::identity::fingerprint;

/// Whom a client trusts.
#[derive(Clone, Debug)]
pub enum Trust {
    /// A server whose certificate is valid for the expected name now, and leads to one of these
    /// authorities. The program supplies them, such as those of the system.
    Authorities(Arc<RootCertStore>),
    /// The server with this certificate, whatever name, date and issuer the certificate states.
    Pinned(Fingerprint),
    /// Any server: what is sent is protected against listeners, and **not** against an attacker in
    /// between.
    AnyoneEvenAnAttacker,
}

/// A text holds no certificate of an authority.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("there is no certificate of an authority in the text (PEM: blocks BEGIN CERTIFICATE)")]
pub struct NoAuthorities;

impl Trust {
    /// Trusts the authorities in the text of a PEM file, such as that of the system. Certificates
    /// that cannot be read are skipped: a bundle of hundreds has old ones.
    ///
    /// # Errors
    /// If none is left.
    pub fn authorities(pem: &[u8]) -> Result<Self, NoAuthorities> {
        let mut roots = RootCertStore::empty();
        let certificates = CertificateDer::pem_slice_iter(pem).filter_map(Result::ok);
        match roots.add_parsable_certificates(certificates) {
            (0, _) => Err(NoAuthorities),
            _ => Ok(Trust::Authorities(Arc::new(roots))),
        }
    }
}

/// Judges certificates, and remembers the last one that was shown.
#[derive(Debug)]
pub(crate) struct Verifier {
    trust: Trust,
    algorithms: WebPkiSupportedAlgorithms,
    shown: Mutex<Option<Fingerprint>>,
}

impl Verifier {
    pub(crate) fn new(trust: Trust, algorithms: WebPkiSupportedAlgorithms) -> Self {
        Verifier { trust, algorithms, shown: Mutex::new(None) }
    }

    /// Returns the certificate that was shown last, and forgets it.
    pub(crate) fn take_shown(&self) -> Option<Fingerprint> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Returns whether a certificate names itself as its issuer. Many of these also say that they are
/// an authority, as `openssl req -x509` makes them, which no certificate of a server may be.
fn is_self_signed(certificate: &CertificateDer<'_>) -> bool {
    EndEntityCert::try_from(certificate)
        .is_ok_and(|certificate| certificate.issuer() == certificate.subject())
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown = fingerprint(end_entity);
        *self.shown.lock().unwrap_or_else(PoisonError::into_inner) = Some(shown);
        match &self.trust {
            Trust::Authorities(roots) => {
                let certificate = ParsedCertificate::try_from(end_entity)?;
                verify_server_cert_signed_by_trust_anchor(
                    &certificate,
                    roots,
                    intermediates,
                    now,
                    self.algorithms.all,
                )
                .map_err(|error| match error {
                    Error::InvalidCertificate(CertificateError::Other(_))
                        if is_self_signed(end_entity) =>
                    {
                        CertificateError::UnknownIssuer.into()
                    }
                    error => error,
                })?;
                verify_server_name(&certificate, server_name)?;
            }
            Trust::Pinned(pinned) if *pinned == shown => {}
            Trust::Pinned(_) => {
                return Err(CertificateError::ApplicationVerificationFailure.into());
            }
            Trust::AnyoneEvenAnAttacker => {}
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
