//! Servers that mean harm, or leave something out, in Python's own TLS.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use libtest_mimic::Trial;
use stackwright_programs::content::octets;
use stackwright_programs::encrypted::{Certificates, Identity, LOCALHOST};
use stackwright_programs::processes::{Outcome, Running, run};
use stackwright_programs::scratch::Scratch;

use crate::setting::{our_client, stranger, trial};

const SERVER: &str = include_str!("hostile.py");
const OCTETS: usize = 300_000;

/// What the server does, how our client ends, and how much of the file arrives.
const KINDS: [(&str, i32); 7] = [
    ("honest", 0),
    // Replies behind 234 in plain, as if the login had succeeded.
    ("injects", 0),
    ("plain-behind-234", 4),
    ("refuses-prot", 4),
    ("plain-data", 4),
    // Without close_notify, whole by its size; and half of it.
    ("unannounced", 0),
    ("cut", 7),
];

pub(crate) fn trials() -> Vec<Trial> {
    let of = |(name, code): (&'static str, i32)| {
        trial(format!("tls/hostile/{name}"), &["openssl", "python3"], false, move || {
            meets(name, code);
        })
    };
    KINDS.into_iter().map(of).collect()
}

fn meets(kind: &str, code: i32) {
    let (certificates, near) = (Certificates::new(), Scratch::new());
    let identity = certificates.issue(LOCALHOST, 2);
    let content = octets(3, OCTETS);
    let source = near.join("source");
    fs::write(&source, &content).expect("a folder of ours");
    let Identity { certificate, key } = &identity;
    let mut python: Command = stranger("python3");
    python.args(["-c", SERVER, kind]).arg(certificate).arg(key).arg(&source);
    python.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut running = Running::start(&mut python);
    let mut lines = BufReader::new(running.output()).lines();
    let port = lines.next().expect("a line").expect("a port");
    let arrived = near.join("arrived");
    let mut get = our_client("get");
    get.args(["--pin", &identity.fingerprint(), "--retries", "0", "--verbose"]);
    let outcome = run(get.arg(format!("ftp://127.0.0.1:{port}/file")).arg(&arrived)).exited(code);
    assert_eq!(arrived.exists(), code == 0);
    if code == 0 {
        assert!(fs::read(arrived).expect("the file") == content);
    }
    speaks_first(kind, &outcome);
}

/// The client does not take what was in plain for the server's word.
fn speaks_first(kind: &str, outcome: &Outcome) {
    let dialogue = String::from_utf8_lossy(&outcome.complaints).into_owned();
    if kind == "injects" {
        assert!(dialogue.contains("plaintext behind the reply to AUTH"), "{dialogue}");
        assert!(!dialogue.contains("injected"), "{dialogue}");
    }
    let logs_in = dialogue.find("▸ USER");
    let secure = dialogue.find("is secure");
    assert!(logs_in.is_none() || secure < logs_in, "{dialogue}");
    let asks = dialogue.contains("▸ RETR");
    assert_eq!(asks, !matches!(kind, "refuses-prot" | "plain-behind-234"), "{dialogue}");
}
