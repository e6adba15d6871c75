//! Where TLS begins (RFC 4217), above a layer that is only said to be there.

use std::net::SocketAddr;

use stackwright_contract::services::{
    Credit, Ended, FilesIndication, FilesRequest, StreamsIndication, StreamsRequest,
};
use stackwright_contract::{
    Command, CommandError, Duration, Handle, PathLimits, Secure, SecurityError, SessionGroup,
    TlsRole,
};
use stackwright_ftp::server::{
    Config, Indication as Told, Request, SecurityLevel, SessionReuse, Trouble,
};

use crate::simulated::scopes::Session;
use crate::simulated::setting::server_config;

fn session(security: SecurityLevel) -> Session {
    let mut session = Session::with(Config { security, ..server_config() });
    session.flush();
    session
}

fn secures(session: &mut Session) -> Secure {
    session.asked.streams(|request| match request {
        StreamsRequest::Control { command: Command::Secure(secure), .. } => Some(*secure),
        _ => None,
    })
}

fn said(session: &mut Session, lines: &str) -> String {
    session.say(lines);
    session.flush()
}

#[test]
fn what_was_sent_behind_auth_is_not_obeyed() {
    let mut session = session(SecurityLevel::Offered);
    assert!(said(&mut session, "FEAT\r\n").contains(" AUTH TLS\r\n"));
    assert!(said(&mut session, "USER ftp\r\n").starts_with("331 "));
    let text = said(&mut session, "AUTH TLS\r\nNOOP\r\nUSER evil\r\nPASS");
    assert_eq!(text, "234 TLS begins.\r\n");
    let Secure { role, sessions, .. } = secures(&mut session);
    assert_eq!(role, TlsRole::Server);
    let SessionGroup::Begins(group) = sessions else { panic!("it begins a group") };
    session.hear(StreamsIndication::Controlled { association: session.control, outcome: Ok(0) });
    assert_eq!(session.flush(), "");
    // The user of before is forgotten, and so is the line that was begun.
    assert!(said(&mut session, "PASS x\r\n").starts_with("503 "));
    assert!(said(&mut session, "AUTH TLS\r\n").starts_with("503 "), "it is encrypted already");
    assert!(said(&mut session, "PROT P\r\n").starts_with("503 "), "PBSZ comes first");
    assert_eq!(said(&mut session, "PBSZ 1024\r\n"), "200 PBSZ=0\r\n");
    let text = said(&mut session, "PROT P\r\nCCC\r\nUSER ftp\r\nPASS x\r\n");
    let codes: Vec<_> = text.lines().map(|line| &line[..3]).collect();
    assert_eq!(codes, ["200", "530", "331", "230"]);
    assert!(said(&mut session, "CCC\r\n").starts_with("534 "));

    // A data association is secured before it is open, in the group of its session.
    session.say("EPSV\r\n");
    let listener = session.asked.streams(|request| match request {
        StreamsRequest::Listen { listener, .. } => Some(*listener),
        _ => None,
    });
    let local: SocketAddr = "[fe80::1%4]:5000".parse().expect("an address");
    session.hear(StreamsIndication::Listening { listener, local: local.into() });
    let secure = session.asked.secures();
    let association = awaited(&mut session);
    // A client that stores may never read: it is given no session for the next association.
    assert_eq!(secure, [(association, SessionGroup::Borrows(group))]);
    session.say("RETR a\r\n");
    assert_eq!(session.asked.secures(), [(association, SessionGroup::Joins(group))]);
}

/// A session with TLS, where data is protected.
fn protected() -> Session {
    protected_with(SessionReuse::Prefer)
}

fn protected_with(session_reuse: SessionReuse) -> Session {
    let security = SecurityLevel::Offered;
    let mut session = Session::with(Config { security, session_reuse, ..server_config() });
    session.flush();
    said(&mut session, "AUTH TLS\r\n");
    secured(&mut session, None, Secure::FULL);
    said(&mut session, "PBSZ 0\r\nPROT P\r\nUSER ftp\r\nPASS x\r\nTYPE I\r\n");
    session
}

/// Has a file of 10 octets asked for, which the disk opens.
fn retrieve(session: &mut Session) {
    session.say("RETR a\r\n");
    let file = session.asked.files(|request| match request {
        FilesRequest::Open { file, .. } => Some(*file),
        _ => None,
    });
    session.hear_files(FilesIndication::Opened {
        file,
        size: Some(10),
        modified: None,
        version: None,
    });
}

fn secured(session: &mut Session, data: Option<Handle>, how: u32) {
    let association = data.unwrap_or(session.control);
    session.hear(StreamsIndication::Controlled { association, outcome: Ok(how) });
}

/// Has the server listen for data, and returns the listener and the name of the arrival.
fn passive(session: &mut Session) -> (Handle, Handle) {
    session.say("EPSV\r\n");
    let listener = session.asked.streams(|request| match request {
        StreamsRequest::Listen { listener, .. } => Some(*listener),
        _ => None,
    });
    let local: SocketAddr = "[fe80::1%4]:5000".parse().expect("an address");
    session.hear(StreamsIndication::Listening { listener, local: local.into() });
    (listener, awaited(session))
}

/// Returns the data association that is awaited, and commanded to be secure before it is open.
fn awaited(session: &mut Session) -> Handle {
    let secures = session.asked.secures();
    let association = session.asked.streams(|request| match request {
        StreamsRequest::Await { association, .. } => Some(*association),
        _ => None,
    });
    assert!(matches!(secures[..], [(name, SessionGroup::Borrows(_))] if name == association));
    association
}

fn arrives(session: &mut Session, association: Handle) {
    let [local, remote] = ["[fe80::1%4]:5000", "[fe80::2%4]:40001"]
        .map(|address| address.parse::<SocketAddr>().expect("an address").into());
    let credit = Credit::of_octets(1 << 20);
    let path = PathLimits::UNBOUNDED;
    session.hear(StreamsIndication::Opened { association, local, remote, credit, path });
}

/// A client behind the same address as the right one, which has resumed its session before, is
/// quicker at its port: it gets nothing, and does not keep the right one from the file.
#[test]
fn a_data_connection_that_does_not_resume_is_a_thiefs_once_one_did() {
    let mut session = protected();
    // Nobody has resumed yet: some clients never do.
    for how in [Secure::FULL, Secure::RESUMED] {
        let (listener, data) = passive(&mut session);
        arrives(&mut session, data);
        assert!(!session.asked.has_closed(listener), "another one may come");
        secured(&mut session, Some(data), how);
        assert!(session.asked.has_closed(listener));
        session.hear(StreamsIndication::Ended { name: data, why: Ended::Reset(0) });
        session.flush();
    }
    let (listener, thief) = passive(&mut session);
    arrives(&mut session, thief);
    secured(&mut session, Some(thief), Secure::FULL);
    assert!(session.asked.has_closed(thief) && !session.asked.has_closed(listener));
    assert!(session.asked.1.iter().any(|told| matches!(told, Told::DataRefused { .. })));
    let right = awaited(&mut session);
    arrives(&mut session, right);
    secured(&mut session, Some(right), Secure::RESUMED);
    assert!(session.asked.has_closed(listener) && !session.asked.has_aborted(right));
}

/// Where it is required, the first has to, and what became of the file is told.
#[test]
fn a_data_connection_has_to_resume_where_that_is_required() {
    for (reuse, refused) in
        [(SessionReuse::Require, true), (SessionReuse::Prefer, false), (SessionReuse::Off, false)]
    {
        let mut session = protected_with(reuse);
        let (listener, data) = passive(&mut session);
        retrieve(&mut session);
        arrives(&mut session, data);
        secured(&mut session, Some(data), Secure::FULL);
        // Behind the handshake, which is over.
        assert_eq!(session.asked.has_closed(data), refused, "{reuse:?}");
        assert!(session.asked.has_closed(listener) && !session.asked.has_aborted(data));
        let text = session.flush();
        assert_eq!(text.contains("522 "), refused, "{reuse:?}: {text}");
        let told = |told: &Told| match told {
            Told::Transferred { result, .. } => Some(*result),
            _ => None,
        };
        let result = session.asked.1.iter().find_map(told);
        assert_eq!(result, refused.then_some(Err(Trouble::NotResumed)), "{reuse:?}");
        let is_told = session.asked.1.iter().any(|told| matches!(told, Told::DataRefused { .. }));
        assert_eq!(is_told, refused, "{reuse:?}");
    }
}

#[test]
fn a_client_that_resumed_need_not_where_nobody_looks() {
    let mut session = protected_with(SessionReuse::Off);
    for how in [Secure::RESUMED, Secure::FULL] {
        let (listener, data) = passive(&mut session);
        arrives(&mut session, data);
        secured(&mut session, Some(data), how);
        assert!(session.asked.has_closed(listener) && !session.asked.has_aborted(data));
        session.hear(StreamsIndication::Ended { name: data, why: Ended::Reset(0) });
        session.flush();
    }
}

/// Nothing is said before the handshake, and data is protected without a word of the client.
#[test]
fn where_tls_is_implicit_it_comes_first() {
    let config = Config { security: SecurityLevel::Off, ..server_config() };
    let mut session = Session::at(config, |local| Request::ServeSecurely { local });
    let Secure { role, sessions, .. } = secures(&mut session);
    assert!(matches!((role, sessions), (TlsRole::Server, SessionGroup::Begins(_))));
    assert_eq!(session.flush(), "", "the greeting waits");
    session.hear(StreamsIndication::Controlled { association: session.control, outcome: Ok(0) });
    assert!(session.flush().starts_with("220 "));
    assert!(said(&mut session, "AUTH TLS\r\n").starts_with("503 "), "it is encrypted already");
    assert!(said(&mut session, "USER ftp\r\nPASS x\r\n").contains("\r\n230 "));
    let (_, data) = passive(&mut session);
    arrives(&mut session, data);
    assert!(said(&mut session, "REIN\r\nUSER ftp\r\nPASS x\r\n").contains("\r\n230 "));
    let (_, data) = passive(&mut session);
    arrives(&mut session, data);
    session.flush();
    assert_eq!(said(&mut session, "PBSZ 0\r\nPROT C\r\n"), "200 PBSZ=0\r\n200 So be it.\r\n");
    let text = said(&mut session, "USER ftp\r\nPASS x\r\n");
    assert!(text.contains("\r\n230 "), "{text}");
}

#[test]
fn an_implicit_client_that_does_not_speak_tls_is_told_nothing() {
    let mut session = Session::at(server_config(), |local| Request::ServeSecurely { local });
    let association = session.control;
    let error = CommandError::Insecure { why: SecurityError::NotTls, certificate: None };
    session.hear(StreamsIndication::Controlled { association, outcome: Err(error) });
    assert_eq!(session.flush(), "");
    session.hear(StreamsIndication::Ended {
        name: association,
        why: Ended::Insecure(SecurityError::NotTls),
    });
    assert_eq!(session.server.sessions(), 0);
}

/// It has no listener where the server connects, and the transfer ends.
#[test]
fn a_thief_where_the_server_connects_costs_the_transfer() {
    let mut session = protected();
    let (_, data) = passive(&mut session);
    arrives(&mut session, data);
    secured(&mut session, Some(data), Secure::RESUMED);
    session.say("EPRT |2|fe80::2|2000|\r\nRETR a\r\n");
    let file = session.asked.files(|request| match request {
        FilesRequest::Open { file, .. } => Some(*file),
        _ => None,
    });
    session.hear_files(FilesIndication::Opened {
        file,
        size: Some(10),
        modified: None,
        version: None,
    });
    let thief = session.asked.streams(|request| match request {
        StreamsRequest::Open { association, .. } => Some(*association),
        _ => None,
    });
    arrives(&mut session, thief);
    session.asked.is_quiet();
    secured(&mut session, Some(thief), Secure::FULL);
    assert!(session.asked.has_closed(thief));
    let text = session.flush();
    assert!(text.lines().last().is_some_and(|line| line.starts_with("522 ")), "{text}");
}

/// A client that has lost its session is not left to wait long for another that may come.
#[test]
fn who_does_not_resume_is_told_so_soon() {
    let mut session = protected();
    let (_, data) = passive(&mut session);
    arrives(&mut session, data);
    secured(&mut session, Some(data), Secure::RESUMED);
    session.hear(StreamsIndication::Ended { name: data, why: Ended::Reset(0) });
    session.flush();
    for how in [Secure::FULL, Secure::SPENT] {
        let (listener, data) = passive(&mut session);
        retrieve(&mut session);
        session.flush();
        arrives(&mut session, data);
        secured(&mut session, Some(data), how);
        let refused = how == Secure::FULL;
        assert_eq!(session.asked.has_closed(data), refused, "the other has used up its sessions");
        assert_ne!(session.asked.has_closed(listener), refused, "the right one may come");
        assert_eq!(session.flush(), "");
        if refused {
            session.wait(Duration::from_secs(2));
            assert!(session.flush().starts_with("425 "));
        }
    }
}

/// Somebody is first at a port, and speaks no TLS: the client still comes.
#[test]
fn noise_at_a_port_does_not_keep_the_client_from_it() {
    let mut session = protected();
    let (listener, mut data) = passive(&mut session);
    retrieve(&mut session);
    session.flush();
    for _ in 0..3 {
        arrives(&mut session, data);
        let error = CommandError::Insecure { why: SecurityError::NotTls, certificate: None };
        session.hear(StreamsIndication::Controlled { association: data, outcome: Err(error) });
        let noise = data;
        assert!(!session.asked.has_closed(listener));
        data = session.asked.streams(|request| match request {
            StreamsRequest::Await { association, .. } => Some(*association),
            _ => None,
        });
        let why = Ended::Insecure(SecurityError::NotTls);
        session.hear(StreamsIndication::Ended { name: noise, why });
        assert_eq!(session.flush(), "", "it has its time");
    }
    arrives(&mut session, data);
    secured(&mut session, Some(data), Secure::RESUMED);
    let reads =
        |request: &FilesRequest<_>| matches!(request, FilesRequest::Read { .. }).then_some(());
    session.asked.files(reads);
}

#[test]
fn a_control_association_that_cannot_be_secured_ends() {
    for (error, aborts) in [
        (CommandError::Unknown, true),
        (CommandError::Insecure { why: SecurityError::NotTls, certificate: None }, false),
    ] {
        let mut session = session(SecurityLevel::Offered);
        said(&mut session, "AUTH TLS\r\n");
        secures(&mut session);
        let association = session.control;
        session.hear(StreamsIndication::Controlled { association, outcome: Err(error) });
        assert_eq!(session.asked.has_aborted(association), aborts);
        assert_eq!(said(&mut session, "NOOP\r\n"), "", "nothing is obeyed in plain");
    }
}

#[test]
fn where_tls_is_required_nobody_logs_in_without() {
    let mut session = session(SecurityLevel::Required);
    assert!(said(&mut session, "USER ftp\r\n").starts_with("530 "));
    assert!(said(&mut session, "PASS x\r\n").starts_with("530 "));
    said(&mut session, "AUTH TLS\r\n");
    session.hear(StreamsIndication::Controlled { association: session.control, outcome: Ok(0) });
    assert!(said(&mut session, "USER ftp\r\nPASS x\r\n").contains("\r\n230 "));
    assert!(said(&mut session, "EPRT |2|fe80::2|2000|\r\nLIST\r\n").contains("\r\n521 "));
}
