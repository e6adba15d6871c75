//! Certificates for tests, also for those with peers of others.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use stackwright_contract::Fingerprint;
use stackwright_tls::rustls::RootCertStore;
use stackwright_tls::rustls::pki_types::CertificateDer;
use stackwright_tls::{Config, ExpectedServer, ServerIdentity, Trust};

/// 2026-09-21: the certificates of tests are valid from 2026 to 2030.
pub(crate) const EPOCH: u64 = 1_790_000_000;
pub(crate) const NAME: &str = "files.example";

/// An authority, and what it has issued.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pub(crate) root: CertificateDer<'static>,
    pub(crate) root_pem: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let name: String = key.public_key_raw()[1..9].iter().map(u8::to_string).collect();
        params.distinguished_name.push(DnType::CommonName, name);
        let root = params.self_signed(&key).unwrap();
        let (root, root_pem) = (root.der().clone(), root.pem());
        Authority { issuer: Issuer::new(params, key), root, root_pem }
    }

    /// Returns an identity that is its own authority, and its fingerprint.
    pub(crate) fn itself() -> (ServerIdentity, Fingerprint) {
        let mut params = CertificateParams::new(vec![NAME.to_owned()]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let (certificate, key) = (params.self_signed(&key).unwrap().pem(), key.serialize_pem());
        let identity = ServerIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
        let fingerprint = identity.fingerprint();
        (identity, fingerprint)
    }

    /// Issues an identity, valid until the end of this year.
    pub(crate) fn issue(&self, name: &str, until: i32) -> ServerIdentity {
        let (certificates, key) = self.issue_pem(name, until);
        ServerIdentity::from_pem(certificates.as_bytes(), key.as_bytes()).unwrap()
    }

    pub(crate) fn issue_pem(&self, name: &str, until: i32) -> (String, String) {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.not_before, params.not_after) =
            (date_time_ymd(2020, 1, 1), date_time_ymd(until, 12, 31));
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    pub(crate) fn trusted(&self) -> Trust {
        let mut roots = RootCertStore::empty();
        roots.add(self.root.clone()).unwrap();
        Trust::Authorities(Arc::new(roots))
    }
}

pub(crate) fn expects(trust: Trust) -> Config {
    Config { servers: vec![ExpectedServer::new(NAME, trust).unwrap()], ..Config::at(EPOCH) }
}

pub(crate) fn shows(identity: ServerIdentity) -> Config {
    Config { identities: vec![identity], ..Config::at(EPOCH) }
}
