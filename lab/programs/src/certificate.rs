//! A certificate for servers on this machine, which signs itself.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::processes::find;

/// A certificate for `localhost` and its key, valid for two days.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The file of the certificate, in PEM.
    pub certificate: PathBuf,
    /// The file of its key, in PEM.
    pub key: PathBuf,
    /// The SHA-256 fingerprint of the certificate, as openssl writes it.
    pub fingerprint: String,
}

impl Certificate {
    /// Makes one in `folder`, with openssl.
    ///
    /// # Errors
    ///
    /// When that is not there, or fails.
    pub fn make(folder: &Path) -> io::Result<Self> {
        let [certificate, key] = ["certificate", "key"].map(|name| folder.join(name));
        let mut made = openssl()?;
        made.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]);
        made.args(["-nodes", "-days", "2", "-subj", "/CN=localhost"]);
        made.args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]);
        output(made.arg("-keyout").arg(&key).arg("-out").arg(&certificate))?;
        let mut shown = openssl()?;
        shown.args(["x509", "-noout", "-fingerprint", "-sha256", "-in"]).arg(&certificate);
        let text = String::from_utf8_lossy(&output(&mut shown)?.stdout).into_owned();
        let fingerprint = text.trim().split_once('=').map(|(_, digits)| digits.to_owned());
        let fingerprint = fingerprint.ok_or_else(|| io::Error::other(text))?;
        Ok(Certificate { certificate, key, fingerprint })
    }

    /// Returns the options with which our server shows it.
    pub fn options(&self) -> [String; 4] {
        let [certificate, key] = [&self.certificate, &self.key].map(|path| path.display());
        ["--certificate".into(), certificate.to_string(), "--key".into(), key.to_string()]
    }
}

fn openssl() -> io::Result<Command> {
    let program = find("openssl").ok_or_else(|| io::Error::other("openssl is not installed"))?;
    Ok(Command::new(program))
}

fn output(command: &mut Command) -> io::Result<Output> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(output);
    }
    let complaints = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(io::Error::other(format!("{command:?}: {complaints}")))
}
