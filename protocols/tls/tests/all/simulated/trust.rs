//! Whom a client trusts, and what it is told of a server that it does not trust.

use stackwright_contract::services::Ended;
use stackwright_contract::{CommandError, Fingerprint, SecurityError};
use stackwright_simulator::Habits;
use stackwright_tls::rustls::RootCertStore;
use stackwright_tls::{
    BadIdentity, Config, ExpectedServer, NoAuthorities, Security, ServerIdentity, TlsVersions,
    Trust,
};

use crate::simulated::setting::{
    Authority, CLIENT, EPOCH, NAME, Pair, SERVER, VERSIONS, expects, name, shows, trusting,
};

fn shake(configs: [Config; 2]) -> Pair {
    let mut pair = Pair::new(1, configs, Habits::default());
    pair.open_secure(1, CLIENT, SERVER);
    pair.run(1);
    pair
}

/// The client refuses for this reason, shows this certificate, and the server is told this alert.
#[track_caller]
fn refuses(configs: [Config; 2], why: SecurityError, certificate: Option<Fingerprint>, alert: u8) {
    for versions in VERSIONS {
        let mut pair = shake(configs.clone().map(|config| Config { versions, ..config }));
        let refused = CommandError::Insecure { why, certificate };
        assert_eq!(pair.known(0, 1).outcomes, [Err(refused)]);
        assert_eq!(pair.known(0, 1).ended, Some(Ended::Insecure(why)));
        let why = SecurityError::Alert(alert);
        let told = CommandError::Insecure { why, certificate: None };
        assert_eq!(pair.known(1, 1).outcomes, [Err(told)]);
        assert_eq!(pair.known(1, 1).ended, Some(Ended::Insecure(why)));
    }
}

#[test]
fn an_unknown_issuer_is_refused_and_its_certificate_is_shown() {
    let identity = Authority::new().issue(NAME, 2030);
    let shown = identity.fingerprint();
    let configs = [expects(Authority::new().trusted()), shows(identity)];
    refuses(configs, SecurityError::UnknownIssuer, Some(shown), 48);
}

#[test]
fn a_certificate_that_signs_itself_has_an_unknown_issuer_even_if_it_is_an_authority() {
    let (identity, shown) = Authority::itself();
    let configs = [expects(Authority::new().trusted()), shows(identity.clone())];
    refuses(configs, SecurityError::UnknownIssuer, Some(shown), 48);
    let configs = [expects(Trust::Pinned(shown)), shows(identity)];
    assert_eq!(shake(configs).known(0, 1).outcomes, [Ok(0)]);
}

#[test]
fn another_name_is_refused() {
    let authority = Authority::new();
    let identity = authority.issue("other.example", 2030);
    let shown = identity.fingerprint();
    let configs = [expects(authority.trusted()), shows(identity)];
    refuses(configs, SecurityError::OtherName, Some(shown), 42);
}

#[test]
fn a_certificate_is_valid_from_a_day_to_a_day() {
    let authority = Authority::new();
    let identity = authority.issue(NAME, 2025);
    let shown = identity.fingerprint();
    let configs = [expects(authority.trusted()), shows(identity)];
    refuses(configs.clone(), SecurityError::Expired, Some(shown), 45);
    let early = configs.map(|config| Config { epoch: 1_000_000_000, ..config });
    refuses(early, SecurityError::NotYetValid, Some(shown), 45);
}

#[test]
fn a_certificate_expires_while_the_program_runs() {
    let authority = Authority::new();
    let configs = [expects(authority.trusted()), shows(authority.issue(NAME, 2026))];
    let mut pair = shake(configs);
    assert_eq!(pair.known(0, 1).outcomes, [Ok(0)]);
    pair.run(200 * 24 * 3600);
    pair.open_secure(2, CLIENT, SERVER);
    pair.run(1);
    assert_eq!(pair.known(0, 2).ended, Some(Ended::Insecure(SecurityError::Expired)));
}

#[test]
fn a_pinned_certificate_is_trusted_and_no_other() {
    let authority = Authority::new();
    let identity = authority.issue("other.example", 2021);
    let pin = identity.fingerprint();
    for versions in VERSIONS {
        let configs = [expects(Trust::Pinned(pin)), shows(identity.clone())];
        let mut pair = shake(configs.map(|config| Config { versions, ..config }));
        assert_eq!(pair.known(0, 1).outcomes, [Ok(0)]);
        let facts = pair.world.question(pair.stations[0], name(1), Security).unwrap();
        assert_eq!((facts.certificate, facts.resumed), (Some(pin), false));
        let version = if versions == TlsVersions::Only12 { "TLS 1.2" } else { "TLS 1.3" };
        assert_eq!(facts.version, version);
    }
    let other = authority.issue(NAME, 2030);
    let shown = other.fingerprint();
    let configs = [expects(Trust::Pinned(pin)), shows(other)];
    refuses(configs, SecurityError::NotPinned, Some(shown), 49);
}

#[test]
fn anyone_is_trusted_only_where_that_is_written() {
    let identity = Authority::new().issue("other.example", 2021);
    let mut pair = shake([expects(Trust::AnyoneEvenAnAttacker), shows(identity)]);
    assert_eq!(pair.known(0, 1).outcomes, [Ok(0)]);
}

#[test]
fn no_authority_trusts_no_one() {
    let authority = Authority::new();
    let identity = authority.issue(NAME, 2030);
    let shown = identity.fingerprint();
    let configs = [expects(Trust::Authorities(RootCertStore::empty().into())), shows(identity)];
    refuses(configs, SecurityError::UnknownIssuer, Some(shown), 48);
}

#[test]
fn authorities_and_identities_are_read_from_text() {
    let [authority, other] = [Authority::new(), Authority::new()];
    let (certificate, key) = authority.issue_pem(NAME, 2030);
    let (_, other_key) = authority.issue_pem(NAME, 2030);
    let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let bundle = ["a comment\n", &other.root_pem, broken, &authority.root_pem].concat();
    let trust = Trust::authorities(bundle.as_bytes()).unwrap();
    let both = [&*certificate, &key].concat();
    let identity = ServerIdentity::from_pem(both.as_bytes(), both.as_bytes()).unwrap();
    let mut pair = shake([expects(trust), shows(identity)]);
    assert_eq!(pair.known(0, 1).outcomes, [Ok(0)]);

    for text in ["", "no certificate", broken] {
        assert_eq!(Trust::authorities(text.as_bytes()).err(), Some(NoAuthorities));
    }
    let read = |certificate: &str, key: &str| {
        ServerIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).err()
    };
    assert_eq!(read("", &key), Some(BadIdentity::NoCertificate));
    assert_eq!(read(broken, &key), Some(BadIdentity::NoCertificate));
    assert_eq!(read(&certificate, &certificate), Some(BadIdentity::NoKey));
    assert_eq!(read(&certificate, &other_key), Some(BadIdentity::Mismatch));
    let damaged = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
    assert!(matches!(read(&certificate, damaged), Some(BadIdentity::Key(_))));
}

#[test]
fn an_address_is_a_name() {
    let authority = Authority::new();
    let server = ExpectedServer::new("10.0.0.2", authority.trusted()).unwrap();
    let client = Config { servers: vec![server], ..Config::at(EPOCH) };
    for (name, outcome) in [("10.0.0.2", None), ("10.0.0.3", Some(SecurityError::OtherName))] {
        let mut pair = shake([client.clone(), shows(authority.issue(name, 2030))]);
        assert_eq!(pair.known(0, 1).ended, outcome.map(Ended::Insecure));
        assert_eq!(pair.known(0, 1).outcomes[0].is_ok(), outcome.is_none());
    }
}

#[test]
fn versions_must_meet() {
    let [client, server] = trusting();
    let [old, new] = VERSIONS;
    let configs = [Config { versions: new, ..client }, Config { versions: old, ..server }];
    let mut pair = shake(configs);
    let told = SecurityError::Alert(70);
    assert_eq!(pair.known(0, 1).ended, Some(Ended::Insecure(told)));
    assert_eq!(pair.known(1, 1).ended, Some(Ended::Insecure(SecurityError::Incompatible)));
}

#[test]
fn what_is_not_configured_is_not_secured() {
    let [_, server] = trusting();
    let mut pair = shake([Config::at(EPOCH), server]);
    let why = SecurityError::Unconfigured;
    let refused = CommandError::Insecure { why, certificate: None };
    assert_eq!(pair.known(0, 1).outcomes, [Err(refused)]);
    assert_eq!(pair.known(0, 1).ended, Some(Ended::Insecure(why)));
    assert!(pair.known(1, 1).ended.is_some());
}
