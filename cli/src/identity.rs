//! The identity of a server: its certificate and key, given or made on the first run and kept.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::net::IpAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use stackwright::tls::ServerIdentity;

use crate::problem::Problem;
use crate::state_folder::state_folder;

/// Reads the identity from the files that the command line names; else the one that was made
/// before, or a new one, for these addresses.
pub(crate) fn server(
    files: Option<(&Path, &Path)>,
    addresses: &[IpAddr],
) -> Result<ServerIdentity, Problem> {
    if let Some((certificate, key)) = files {
        return read(certificate, key);
    }
    let folder = state_folder().ok_or(Problem::NoHome)?;
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    if !certificate.exists() {
        make(&folder, &certificate, &key, addresses)
            .map_err(|why| Problem::Path { path: folder.clone(), why })?;
    }
    read(&certificate, &key)
}

fn read(certificate: &Path, key: &Path) -> Result<ServerIdentity, Problem> {
    let of =
        |path: &Path| fs::read(path).map_err(|why| Problem::Path { path: path.to_owned(), why });
    ServerIdentity::from_pem(&of(certificate)?, &of(key)?)
        .map_err(|why| Problem::Identity { path: certificate.to_owned(), why })
}

/// Makes a key and a certificate that it signs itself. The key is written first: a certificate that
/// is there has one.
fn make(folder: &Path, certificate: &Path, key: &Path, addresses: &[IpAddr]) -> io::Result<()> {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    names.extend(Some(host.trim().to_owned()).filter(|host| !host.is_empty()));
    let given = addresses.iter().filter(|address| !address.is_unspecified());
    names.extend(given.map(IpAddr::to_string));
    names.sort();
    names.dedup();
    let made = rcgen::generate_simple_self_signed(names).map_err(io::Error::other)?;
    fs::create_dir_all(folder)?;
    write(key, made.signing_key.serialize_pem().as_bytes(), 0o600)?;
    write(certificate, made.cert.pem().as_bytes(), 0o644)
}

fn write(path: &Path, octets: &[u8], mode: u32) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(octets)?;
    file.sync_all()
}
