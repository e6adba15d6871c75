//! What our client says of a server that it does not trust, or that does not encrypt, and what
//! helps.

use std::process::Command;
use std::sync::Arc;

use libtest_mimic::Trial;
use stackwright_programs::content::SIZES;
use stackwright_programs::encrypted::{Certificates, Identity, LOCALHOST};
use stackwright_programs::processes::{Outcome, run};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Server, ours};

use crate::setting::{Setting, our_client, trial};

type Moves = fn(&Setting);

pub(crate) fn trials(setting: &Arc<Setting>) -> Vec<Trial> {
    let kinds: [(&str, &str, Moves); 6] = [
        ("other-name", "openssl", other_name),
        ("expired", "openssl", expired),
        ("self-signed", "openssl", self_signed),
        ("not-pinned", "openssl", not_pinned),
        ("server-without-tls", "vsftpd", without_tls),
        ("other-port", "openssl", other_port),
    ];
    let of = |(name, program, moves): (&str, &'static str, Moves)| {
        let with = setting.clone();
        trial(format!("tls/distrust/{name}"), &[program], false, move || moves(&with))
    };
    kinds.into_iter().map(of).collect()
}

/// Our server with this certificate.
fn server(setting: &Setting, Identity { certificate, key }: &Identity) -> Server {
    let [certificate, key] = [certificate, key].map(|path| path.display().to_string());
    let options = ["--tls", "--certificate", &certificate, "--key", &key];
    ours(setting.folder().path(), false, &options)
}

/// Fetches a file, where the system trusts the authority alone.
fn fetch(server: &Server, certificates: &Certificates, arguments: &[&str]) -> Outcome {
    let near = Scratch::new();
    let port = server.address.port();
    let mut get = our_client("get");
    get.env("SSL_CERT_FILE", certificates.authority()).env_remove("SSL_CERT_DIR");
    get.args(arguments).arg(format!("ftp://localhost:{port}/{}", SIZES[6].file()));
    let outcome = run(get.arg(near.path()));
    let is_there = near.names() == [SIZES[6].file()];
    assert_eq!(is_there, outcome.status.success(), "{:?}", near.names());
    outcome
}

fn said(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.complaints).into_owned()
}

/// The server is refused, and trusted by the command that the program says.
fn refused(setting: &Setting, certificates: &Certificates, identity: &Identity, why: &str) {
    let server = server(setting, identity);
    let text = said(&fetch(&server, certificates, &["--tls"]).exited(4));
    let fingerprint = identity.fingerprint();
    assert!(text.contains(why) && text.contains(&fingerprint), "{text}");
    let near = Scratch::new();
    let command = text.lines().find_map(|line| line.trim().strip_prefix("stackwright get "));
    let command = command.unwrap_or_else(|| panic!("{text}"));
    assert!(command.ends_with(&format!("--pin {fingerprint}")), "{text}");
    let mut again = Command::new("sh");
    again.args(["-c", &format!("exec \"$0\" get {command}")]);
    again.arg(our_client("get").get_program()).current_dir(near.path());
    run(&mut again).succeeded();
}

fn other_name(setting: &Setting) {
    let certificates = Certificates::new();
    let identity = certificates.issue("DNS:files.example", 2);
    refused(setting, &certificates, &identity, "certificate is for another name");
}

fn expired(setting: &Setting) {
    let certificates = Certificates::new();
    let identity = certificates.issue(LOCALHOST, -1);
    // It ended before it began; what a client says first is its own choice.
    let server = server(setting, &identity);
    let text = said(&fetch(&server, &certificates, &["--tls"]).exited(4));
    assert!(text.contains("has expired") && text.contains(&identity.fingerprint()), "{text}");
    let pinned = ["--pin", &identity.fingerprint()];
    fetch(&server, &certificates, &pinned).succeeded();
}

fn self_signed(setting: &Setting) {
    let certificates = Certificates::new();
    let identity = certificates.self_signed();
    refused(setting, &certificates, &identity, "issued by an unknown authority");
}

/// A pinned certificate is the only one, and no other is offered for pinning.
fn not_pinned(setting: &Setting) {
    let certificates = Certificates::new();
    let server = server(setting, &certificates.issue(LOCALHOST, 2));
    fetch(&server, &certificates, &["--tls"]).succeeded();
    let other = certificates.self_signed().fingerprint();
    let text = said(&fetch(&server, &certificates, &["--pin", &other]).exited(4));
    assert!(text.contains("not the one that was pinned") && !text.contains("--pin"), "{text}");
}

/// Nothing is fetched, and nothing of the login is said.
fn without_tls(setting: &Setting) {
    let url = setting.vsftpd(false).url(&SIZES[6].file());
    let near = Scratch::new();
    let mut get = our_client("get");
    get.args(["--tls", "--verbose"]).env_remove("SSL_CERT_FILE");
    let text = said(&run(get.arg(&url).arg(near.path())).exited(4));
    assert!(text.contains("does not encrypt") && text.contains("ftps://"), "{text}");
    assert!(!text.contains("▸ USER"), "{text}");
    assert!(near.names().is_empty());
}

/// The one way to begin where a server expects the other.
fn other_port(setting: &Setting) {
    let certificates = Certificates::new();
    let server = server(setting, &certificates.issue(LOCALHOST, 2));
    let near = Scratch::new();
    let mut get = our_client("get");
    get.env("SSL_CERT_FILE", certificates.authority()).env_remove("SSL_CERT_DIR");
    get.arg(format!("ftps://localhost:{}/{}", server.address.port(), SIZES[6].file()));
    let text = said(&run(get.arg(near.path())).exited(4));
    assert!(text.contains("does not speak TLS") && text.contains("--tls"), "{text}");
}
