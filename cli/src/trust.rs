//! TLS of a client: whether it is asked for, and whom it trusts.

use std::sync::Arc;

use clap::Args;
use stackwright::contract::Fingerprint;
use stackwright::ftp::client::TlsMode;
use stackwright::tls::rustls::RootCertStore;
use stackwright::tls::{ExpectedServer, Trust};

use crate::problem::Problem;
use crate::remote::{Below, Remote};

#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TlsArguments {
    /// Encrypt with TLS (AUTH TLS), and refuse a server that does not. Its certificate must be one
    /// that this system trusts, or that of --pin.
    ///
    /// ftps://… is encrypted without this option, from the start and at port 990.
    #[arg(long)]
    pub(crate) tls: bool,
    /// Encrypt, and trust only the certificate with this SHA-256 fingerprint, as `stackwright serve
    /// --tls` shows it, whatever its name and issuer.
    #[arg(long, value_name = "SHA256")]
    pub(crate) pin: Option<Fingerprint>,
}

/// How the connections of a client are secured.
#[derive(Clone, Default)]
pub(crate) struct Secured {
    pub(crate) mode: TlsMode,
    /// Whom the client expects; nobody where it does not encrypt.
    pub(crate) server: Option<ExpectedServer>,
}

/// Returns what the address and the command line say of TLS.
pub(crate) fn choose(remote: &Remote, asked: &TlsArguments) -> Result<Secured, Problem> {
    let mode = match remote.below {
        Below::Tls => TlsMode::Implicit,
        Below::Tcp if asked.tls || asked.pin.is_some() => TlsMode::Explicit,
        Below::Radio if asked.tls || asked.pin.is_some() => {
            let why = "amateur radio does not allow what nobody else can read: leave it out";
            return Err(Problem::Unfit { what: "--tls".into(), why });
        }
        Below::Artp | Below::Xtp if asked.tls || asked.pin.is_some() => {
            let why = "TLS encrypts FTP over TCP only: use an address ftp://… or ftps://…";
            return Err(Problem::Unfit { what: "--tls".into(), why });
        }
        Below::Tcp | Below::Artp | Below::Xtp | Below::Radio => return Ok(Secured::default()),
    };
    Ok(Secured { mode, server: Some(expect(&remote.host, asked.pin)?) })
}

/// Expects the server with this certificate, or with any for this host that the system trusts.
pub(crate) fn expect(host: &str, pin: Option<Fingerprint>) -> Result<ExpectedServer, Problem> {
    let trust = pin.map_or_else(system, |pin| Ok(Trust::Pinned(pin)))?;
    let name = host.trim_matches(['[', ']']).trim_end_matches('.');
    let name = name.split_once('%').map_or(name, |(address, _zone)| address);
    let why = "no certificate can name this host";
    ExpectedServer::new(name, trust).map_err(|_| Problem::Url { url: host.into(), why })
}

/// Trusts the authorities that this system trusts.
fn system() -> Result<Trust, Problem> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        Err(Problem::NoAuthorities)
    } else {
        Ok(Trust::Authorities(Arc::new(roots)))
    }
}
