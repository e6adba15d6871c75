//! TLS over real sockets with implementations that nobody here wrote: the program `openssl`, and
//! Python's `ssl`. Where one is missing its tests say so and pass; with `CI=true` they fail.

mod ours;
mod theirs;

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use crate::certificates::{Authority, NAME, expects, shows};
use ours::{Ours, name};
use stackwright_contract::services::{Ended, StreamsRequest as Ask};
use stackwright_contract::{Secure, SecurityError, SessionGroup, TlsRole};
use stackwright_tls::{Config, Security};
use theirs::{Files, Theirs, find, free_port};

const CLIENT: Secure =
    Secure { role: TlsRole::Client, identity: 0, sessions: SessionGroup::Begins(1) };
const SERVER: Secure = Secure { role: TlsRole::Server, ..CLIENT };

const fn joins(secure: Secure) -> Secure {
    Secure { sessions: SessionGroup::Joins(1), ..secure }
}

const VERSIONS: [&str; 2] = ["1.2", "1.3"];
const OCTETS: usize = 3_000_000;

/// A time at which certificates of this test are valid: now.
fn now(config: Config) -> Config {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Config { epoch: now.as_secs(), ..config }
}

#[test]
fn our_client_with_a_server_in_python() {
    if !find("python3") {
        return;
    }
    for version in VERSIONS {
        let authority = Authority::new();
        let files = Files::of(&authority);
        let [certificate, key] = files.identity_paths();
        let mut theirs = Theirs::python(&["server", version, certificate, key, "4"]);
        let port = theirs.says("port ");
        let mut ours = Ours::new(now(expects(authority.trusted())));
        for index in 1..5 {
            let secure = if index == 1 { CLIENT } else { joins(CLIENT) };
            ours.open(index, &port, secure);
            ours.sends(index, OCTETS);
            ours.until(|ours| ours.known(index).octets == OCTETS);
            assert!(ours.known(index).same, "what came back is what was sent");
            let resumed = u32::from(index > 1);
            assert_eq!(ours.known(index).outcomes, [Ok(resumed)], "TLS {version}");
            let told = theirs.says("shaken ");
            assert_eq!(told, format!("TLSv{version} {}", if index > 1 { "True" } else { "False" }));
            let facts = ours.ask_for(index, Security).unwrap();
            assert_eq!(facts.version, format!("TLS {version}"));
            assert!(facts.certificate.is_some());
        }
        for index in (1..5).rev() {
            ours.ask(Ask::Finish { association: name(index) });
            assert_eq!(ours.ended(index), Ended::Finished, "TLS {version}");
            assert!(ours.known(index).finished);
            theirs.says("whole");
        }
    }
}

#[test]
fn our_server_with_a_client_in_python() {
    if !find("python3") {
        return;
    }
    for version in VERSIONS {
        let authority = Authority::new();
        let files = Files::of(&authority);
        let mut ours = Ours::new(now(shows(files.identity.clone())));
        let port = ours.listen([SERVER, joins(SERVER)]);
        let octets = OCTETS.to_string();
        let root = files.root();
        let mut theirs = Theirs::python(&["client", version, root, &port, &octets]);
        ours.known(1).echoes = true;
        ours.known(2).echoes = true;
        assert_eq!(theirs.says_while("shaken ", &mut ours), format!("TLSv{version} False True"));
        assert_eq!(theirs.says_while("shaken ", &mut ours), format!("TLSv{version} True True"));
        assert_eq!(ours.known(1).outcomes, [Ok(0)]);
        assert_eq!(ours.known(2).outcomes, [Ok(1)], "TLS {version}: it resumes");
        for index in [2, 1] {
            ours.until(|ours| ours.known(index).finished);
            ours.ask(Ask::Finish { association: name(index) });
            assert_eq!(ours.ended(index), Ended::Finished);
        }
        theirs.says_while("whole", &mut ours);
    }
}

#[test]
fn a_server_in_python_that_cuts_the_connection() {
    if !find("python3") {
        return;
    }
    for version in VERSIONS {
        let authority = Authority::new();
        let files = Files::of(&authority);
        let [certificate, key] = files.identity_paths();
        let mut theirs = Theirs::python(&["server", version, certificate, key, "1", "cut"]);
        let port = theirs.says("port ");
        let mut ours = Ours::new(now(expects(authority.trusted())));
        ours.open(1, &port, CLIENT);
        ours.sends(1, 1000);
        let why = ours.ended(1);
        assert!(matches!(why, Ended::Truncated | Ended::Reset(_)), "{why:?}");
        assert!(!ours.known(1).finished);
    }
}

#[test]
fn our_server_with_openssl_s_client() {
    if !find("openssl") {
        return;
    }
    for version in VERSIONS {
        let authority = Authority::new();
        let files = Files::of(&authority);
        let mut ours = Ours::new(now(shows(files.identity.clone())));
        let port = ours.listen([SERVER, SERVER]);
        ours.known(1).echoes = true;
        let to = format!("127.0.0.1:{port}");
        let mut theirs = Theirs::openssl(&[
            "s_client",
            "-quiet",
            "-no_ign_eof",
            if version == "1.2" { "-tls1_2" } else { "-tls1_3" },
            "-verify_return_error",
            "-verify_hostname",
            NAME,
            "-CAfile",
            files.root(),
            "-connect",
            &to,
        ]);
        theirs.write("hello from openssl\n");
        assert_eq!(theirs.says_while("hello", &mut ours), " from openssl");
        theirs.close_input();
        ours.until(|ours| ours.known(1).finished);
        ours.ask(Ask::Finish { association: name(1) });
        assert_eq!(ours.ended(1), Ended::Finished);
    }
}

#[test]
fn our_client_with_openssl_s_server() {
    if !find("openssl") {
        return;
    }
    for version in VERSIONS {
        let authority = Authority::new();
        let files = Files::of(&authority);
        let at = format!("127.0.0.1:{}", free_port());
        let mut theirs = Theirs::openssl(&[
            "s_server",
            "-accept",
            &at,
            "-rev",
            "-naccept",
            "1",
            if version == "1.2" { "-tls1_2" } else { "-tls1_3" },
            "-cert",
            files.identity_paths()[0],
            "-key",
            files.identity_paths()[1],
        ]);
        theirs.says("ACCEPT");
        let mut ours = Ours::new(now(expects(authority.trusted())));
        ours.open(1, at.split(':').nth(1).unwrap(), CLIENT);
        ours.send(1, b"olleh\n");
        ours.until(|ours| ours.known(1).all == b"hello\n");
        assert_eq!(ours.known(1).outcomes, [Ok(0)]);
        ours.ask(Ask::Finish { association: name(1) });
        assert_eq!(ours.ended(1), Ended::Finished);
    }
}

#[test]
fn openssl_refuses_our_certificate_and_we_refuse_that_of_openssl() {
    if !find("openssl") {
        return;
    }
    let authority = Authority::new();
    let files = Files::of(&authority);
    let mut ours = Ours::new(now(shows(files.identity.clone())));
    let port = ours.listen([SERVER, SERVER]);
    let other = Files::of(&Authority::new());
    let (to, root) = (format!("127.0.0.1:{port}"), other.root());
    let _theirs =
        Theirs::openssl(&["s_client", "-verify_return_error", "-CAfile", root, "-connect", &to]);
    assert_eq!(ours.ended(1), Ended::Insecure(SecurityError::Alert(48)));

    let at = format!("127.0.0.1:{}", free_port());
    let [certificate, key] = files.identity_paths();
    let mut theirs =
        Theirs::openssl(&["s_server", "-accept", &at, "-cert", certificate, "-key", key]);
    theirs.says("ACCEPT");
    let mut ours = Ours::new(now(expects(Authority::new().trusted())));
    ours.open(1, at.split(':').nth(1).unwrap(), CLIENT);
    assert_eq!(ours.ended(1), Ended::Insecure(SecurityError::UnknownIssuer));
    theirs.says_error("unknown ca");
}

#[test]
fn a_client_that_speaks_no_tls_is_told_by_an_alert() {
    let authority = Authority::new();
    let mut ours = Ours::new(now(shows(authority.issue(NAME, 2030))));
    let port = ours.listen([SERVER, SERVER]);
    let mut stream = TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(ours.ended(1), Ended::Insecure(SecurityError::NotTls));
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(matches!(answer[..], [21, 3, _, 0, 2, 2, _]), "{answer:?}");
}
