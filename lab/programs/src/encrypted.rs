//! Servers with TLS that nobody here wrote, and certificates for them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::place::{Loopback, Place};
use crate::processes::{find, run};
use crate::scratch::Scratch;
use crate::servers::{Server, Vsftpd, proftpd_with, pure_ftpd_with, vsftpd_with};

/// An authority, what it has issued, and a certificate that signs itself, all made by OpenSSL.
#[derive(Debug)]
pub struct Certificates(Scratch);

/// A certificate with its key.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The certificate, in PEM form.
    pub certificate: PathBuf,
    /// The key, in PEM form.
    pub key: PathBuf,
}

impl Default for Certificates {
    fn default() -> Self {
        Self::new()
    }
}

impl Certificates {
    /// Makes the authority.
    ///
    /// # Panics
    ///
    /// When OpenSSL cannot.
    pub fn new() -> Self {
        let made = Certificates(Scratch::new());
        made.sign_itself("authority", "/CN=an authority of tests", &[]);
        made
    }

    /// The authority's certificate, for a client to trust.
    pub fn authority(&self) -> PathBuf {
        self.0.join("authority.pem")
    }

    fn files(&self, name: &str) -> Identity {
        let certificate = self.0.join(&format!("{name}.pem"));
        Identity { certificate, key: self.0.join(&format!("{name}.key")) }
    }

    fn sign_itself(&self, name: &str, subject: &str, more: &[&str]) -> Identity {
        let identity = self.files(name);
        let mut command = openssl(&["req", "-x509", "-days", "2", "-subj", subject]);
        run(new_key(&mut command)
            .args(more)
            .arg("-keyout")
            .arg(&identity.key)
            .arg("-out")
            .arg(&identity.certificate))
        .succeeded();
        identity
    }

    /// A certificate for `localhost` that signs itself, and so says that it is an authority.
    pub fn self_signed(&self) -> Identity {
        let names = format!("subjectAltName={LOCALHOST}");
        self.sign_itself("self-signed", "/CN=localhost", &["-addext", &names])
    }

    /// A certificate of the authority for these names, such as `DNS:localhost`, from today on for
    /// this many days. With a negative number it has expired.
    ///
    /// # Panics
    ///
    /// When OpenSSL cannot.
    pub fn issue(&self, names: &str, days: i32) -> Identity {
        let identity = self.files(&format!("issued-{}-{days}", names.len()));
        let request = self.0.join("request");
        let mut command = openssl(&["req", "-new", "-subj", "/CN=a server of tests"]);
        run(new_key(&mut command).arg("-keyout").arg(&identity.key).arg("-out").arg(&request))
            .succeeded();
        let extensions = self.0.join("extensions");
        fs::write(&extensions, format!("subjectAltName={names}\n")).expect("a folder of ours");
        let authority = self.files("authority");
        let mut command =
            openssl(&["x509", "-req", "-set_serial", "7", "-days", &days.to_string()]);
        command.arg("-in").arg(&request).arg("-extfile").arg(&extensions);
        command.arg("-CA").arg(&authority.certificate).arg("-CAkey").arg(&authority.key);
        run(command.arg("-out").arg(&identity.certificate)).succeeded();
        identity
    }
}

/// The names of this machine's loopback interface, as a certificate has them.
pub const LOCALHOST: &str = "DNS:localhost,IP:127.0.0.1,IP:::1";

fn openssl(arguments: &[&str]) -> Command {
    let mut command = Command::new(find("openssl").unwrap_or_else(|| "openssl".into()));
    command.args(arguments);
    command
}

fn new_key(command: &mut Command) -> &mut Command {
    command.args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
}

impl Identity {
    /// Returns the options with which our server shows it.
    pub fn options(&self) -> [String; 4] {
        let [certificate, key] = [&self.certificate, &self.key].map(|path| path.display());
        ["--certificate".into(), certificate.to_string(), "--key".into(), key.to_string()]
    }

    /// The SHA-256 fingerprint of the certificate, in 64 digits.
    ///
    /// # Panics
    ///
    /// When OpenSSL cannot read it.
    pub fn fingerprint(&self) -> String {
        let mut command = openssl(&["x509", "-noout", "-fingerprint", "-sha256"]);
        let text = run(command.arg("-in").arg(&self.certificate)).succeeded().text();
        let digits = text.trim().rsplit('=').next().unwrap_or_default();
        digits.replace(':', "").to_lowercase()
    }
}

/// How a server encrypts.
#[derive(Clone, Debug)]
pub struct Encryption<'a> {
    /// Its certificate.
    pub identity: &'a Identity,
    /// From the first octet on, and not on demand.
    pub implicit: bool,
    /// With TLS 1.2 alone, and not with 1.3.
    pub only_12: bool,
}

impl Encryption<'_> {
    /// What makes OpenSSL speak the wanted version, in the environment of a program that uses it.
    fn environment(&self, scratch: &Scratch) -> Vec<(&'static str, PathBuf)> {
        if !self.only_12 {
            return Vec::new();
        }
        let file = scratch.join("openssl.cnf");
        let text = "openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\nMaxProtocol = TLSv1.2\n";
        fs::write(&file, text).expect("a folder of ours");
        vec![("OPENSSL_CONF", file)]
    }
}

/// vsftpd that refuses what is not encrypted, and data connections that do not resume the session
/// of their control connection. `scratch` has to live as long.
///
/// # Errors
///
/// When it does not start.
pub fn vsftpd(folder: &Path, encryption: &Encryption<'_>, scratch: &Scratch) -> io::Result<Server> {
    let (place, environment) = (Loopback { six: false }, encryption.environment(scratch));
    vsftpd_with(&place, folder, Vsftpd::Lean, &of_vsftpd(encryption), &environment)
}

/// The same at some place, with any version of TLS.
///
/// # Errors
///
/// When it does not start.
pub fn vsftpd_at(
    place: &dyn Place,
    folder: &Path,
    setup: Vsftpd,
    identity: &Identity,
) -> io::Result<Server> {
    let encryption = Encryption { identity, implicit: false, only_12: false };
    vsftpd_with(place, folder, setup, &of_vsftpd(&encryption), &[])
}

/// Lines of vsftpd's configuration.
fn of_vsftpd(encryption: &Encryption<'_>) -> String {
    let Identity { certificate, key } = encryption.identity;
    let implicit = if encryption.implicit { "YES" } else { "NO" };
    format!(
        "ssl_enable=YES\nallow_anon_ssl=YES\nforce_anon_data_ssl=YES\nforce_anon_logins_ssl=YES\n\
         require_ssl_reuse=YES\nssl_ciphers=HIGH\nimplicit_ssl={implicit}\nrsa_cert_file={}\n\
         rsa_private_key_file={}\n",
        certificate.display(),
        key.display(),
    )
}

/// pure-ftpd that refuses what is not encrypted. It knows no implicit TLS.
///
/// # Errors
///
/// When it does not start.
pub fn pure_ftpd(
    folder: &Path,
    encryption: &Encryption<'_>,
    scratch: &Scratch,
) -> io::Result<Server> {
    let Identity { certificate, key } = encryption.identity;
    let both = scratch.join("both.pem");
    let read = |path: &PathBuf| fs::read_to_string(path);
    fs::write(&both, read(key)? + &read(certificate)?)?;
    let options = ["--tls", "3", "--certfile", &both.display().to_string()];
    let environment = encryption.environment(scratch);
    pure_ftpd_with(&Loopback { six: false }, folder, &options, &environment)
}

/// proftpd that refuses what is not encrypted, and data connections that do not resume a session.
///
/// # Errors
///
/// When it does not start, or its TLS is not installed.
pub fn proftpd(folder: &Path, encryption: &Encryption<'_>) -> io::Result<Server> {
    let Identity { certificate, key } = encryption.identity;
    let modules =
        proftpd_modules().ok_or_else(|| io::Error::other("proftpd-mod-crypto is not installed"))?;
    let versions = if encryption.only_12 { "TLSv1.2" } else { "TLSv1.3" };
    let options = if encryption.implicit { "TLSOptions UseImplicitSSL\n" } else { "" };
    let lines = format!(
        "ModulePath {}\nLoadModule mod_tls.c\nTLSEngine on\nTLSRequired on\nTLSLog none\n\
         TLSProtocol {versions}\nTLSECCertificateFile {}\nTLSECCertificateKeyFile {}\n{options}",
        modules.display(),
        certificate.display(),
        key.display(),
    );
    proftpd_with(folder, &lines)
}

/// The folder of proftpd's modules, if that of TLS is there.
pub fn proftpd_modules() -> Option<PathBuf> {
    let folder = find("proftpd")?.parent()?.parent()?.join("lib/proftpd");
    folder.join("mod_tls.so").is_file().then_some(folder)
}
