//! A client that secures its associations (RFC 4217), above a layer that is only said to be there.

mod scene;

use std::net::SocketAddr;

use stackwright_contract::services::{
    Ended, Failure, FilesRequest, Keep, Purpose, StreamsIndication as Told, StreamsRequest as Ask,
};
use stackwright_contract::{
    CommandError, Duration, Fingerprint, Handle, Participant, Protocol, Secure, SecurityError,
    SessionGroup, TlsRole,
};
use stackwright_ftp::client::{Config, DataMode, TlsMode};
use stackwright_wire::Message;

use crate::simulated::setting::{M, client_config, door};
use scene::Scene;

const FILE: Handle = Handle { index: 7, generation: 0 };
/// What the layer below answers a handshake with that resumed a session.
const RESUMED: Result<u32, CommandError> = Ok(Secure::RESUMED);

#[test]
fn nothing_but_auth_leaves_before_an_explicit_handshake() {
    let mut scene = Scene::new(TlsMode::Explicit);
    scene.connected();
    assert_eq!(scene.reply("220 ProFTPD\r\n"), "AUTH TLS\r\n");
    assert_eq!(scene.commands(), [], "the server has not agreed");
    assert_eq!(scene.reply("234 go\r\n"), "", "the handshake comes first");
    let (association, Secure { role, identity, sessions }) = scene.secures();
    assert_eq!((association, role, identity), (scene.control, TlsRole::Client, 3));
    assert!(matches!(sessions, SessionGroup::Begins(_)));
    scene.controlled(association, Ok(Secure::FULL));
    assert_eq!(scene.said(), "USER anonymous\r\n");
    assert_eq!(scene.reply("331 password\r\n"), "PASS anonymous@\r\n");
    assert_eq!(scene.reply("230 in\r\n"), "PBSZ 0\r\nPROT P\r\n");
    assert_eq!(scene.reply("200 PBSZ=0\r\n"), "");
    assert_eq!(scene.reply("200 private\r\n"), "TYPE I\r\nFEAT\r\n");
}

#[test]
fn an_implicit_handshake_comes_before_everything() {
    let mut scene = Scene::new(TlsMode::Implicit);
    let (association, Secure { role, identity, sessions }) = scene.secures();
    assert_eq!((association, role, identity), (scene.control, TlsRole::Client, 3));
    assert!(matches!(sessions, SessionGroup::Begins(_)));
    scene.connected();
    assert_eq!(scene.said(), "");
    scene.controlled(association, Ok(Secure::FULL));
    assert_eq!(scene.said(), "", "the server greets");
    assert_eq!(scene.reply("220 ProFTPD\r\n"), "USER anonymous\r\n");
    assert_eq!(scene.reply("230 in\r\n"), "PBSZ 0\r\nPROT P\r\n");
}

#[test]
fn plaintext_behind_the_reply_to_auth_is_not_believed() {
    for behind in ["230 you are in\r\n", "331 password?\r\n230 in\r\n", "230-half a reply\r\n"] {
        let mut scene = Scene::new(TlsMode::Explicit);
        scene.connected();
        scene.reply("220 ProFTPD\r\n");
        assert_eq!(scene.reply(&format!("234 go\r\n{behind}")), "");
        let (association, _) = scene.secures();
        scene.controlled(association, Ok(Secure::FULL));
        assert_eq!(scene.said(), "USER anonymous\r\n", "{behind}");
        assert_eq!(scene.reply("331 password\r\n"), "PASS anonymous@\r\n", "{behind}");
    }
}

#[test]
fn a_server_that_refuses_auth_is_not_spoken_to_in_the_clear() {
    for refusal in ["500 what\r\n", "502 not here\r\n", "431 later\r\n", "220 hm\r\n", "530 no\r\n"]
    {
        let mut scene = Scene::new(TlsMode::Explicit);
        scene.connected();
        scene.reply("220 ProFTPD\r\n");
        assert_eq!(scene.reply(refusal), "", "{refusal}");
        assert!(scene.commands().is_empty() && scene.aborts(scene.control));
        let failure = Failure::Insecure(SecurityError::Declined);
        assert_eq!(scene.closed(), Some(Err(failure)), "{refusal}");
    }
}

#[test]
fn no_file_is_asked_of_a_server_that_does_not_protect_data() {
    for refusal in ["536 not that\r\n", "504 hm\r\n", "534 policy\r\n"] {
        let mut scene = Scene::new(TlsMode::Implicit);
        let (association, _) = scene.secures();
        scene.connected();
        scene.controlled(association, Ok(Secure::FULL));
        scene.reply("220 ProFTPD\r\n");
        scene.reply("230 in\r\n");
        assert_eq!(scene.reply(&format!("503 what size\r\n{refusal}")), "");
        let failure = Failure::Insecure(SecurityError::Declined);
        assert_eq!(scene.closed(), Some(Err(failure)), "{refusal}");
        assert!(scene.aborts(scene.control));
    }
}

#[test]
fn a_handshake_that_fails_says_why() {
    let certificate = Some(Fingerprint([7; 32]));
    let insecure = |why, certificate| CommandError::Insecure { why, certificate };
    for (error, failure, aborts) in [
        (
            insecure(SecurityError::OtherName, certificate),
            Failure::Untrusted { why: SecurityError::OtherName, certificate },
            false,
        ),
        (insecure(SecurityError::NotTls, None), Failure::Insecure(SecurityError::NotTls), false),
        (insecure(SecurityError::TooSlow, None), Failure::Expired, false),
        (CommandError::Unknown, Failure::Insecure(SecurityError::Unconfigured), true),
    ] {
        let mut scene = Scene::new(TlsMode::Explicit);
        scene.connected();
        scene.reply("220 ProFTPD\r\n");
        scene.reply("234 go\r\n");
        scene.controlled(scene.control, Err(error));
        assert_eq!((scene.said(), scene.closed()), (String::new(), Some(Err(failure))));
        // A layer that ends it says so to the server by an alert, which a reset could overtake.
        assert_eq!(scene.aborts(scene.control), aborts, "{error}");
    }
}

#[test]
fn a_server_that_is_not_there_is_unreachable_with_tls_too() {
    let mut scene = Scene::new(TlsMode::Implicit);
    let why = SecurityError::Cut;
    scene.controlled(scene.control, Err(CommandError::Insecure { why, certificate: None }));
    scene.hear(Told::Ended { name: scene.control, why: Ended::Unreachable });
    assert_eq!(scene.closed(), Some(Err(Failure::Unreachable)));
    // One that leaves in the middle of the handshake was there.
    let mut scene = Scene::new(TlsMode::Implicit);
    scene.connected();
    scene.controlled(scene.control, Err(CommandError::Insecure { why, certificate: None }));
    scene.hear(Told::Ended { name: scene.control, why: Ended::Insecure(why) });
    assert_eq!(scene.closed(), Some(Err(Failure::Lost)));
}

#[test]
fn data_is_secured_in_the_group_of_its_session() {
    for tls in [TlsMode::Explicit, TlsMode::Implicit] {
        let (mut scene, data) = Scene::with_data(tls);
        scene.controlled(data, RESUMED);
        scene.reply("150 opening\r\n");
        scene.deliver(data, b"hello");
        scene.hear(Told::Finished { association: data });
        scene.reply("226 done\r\n");
        assert_eq!(scene.read().as_deref(), Some(&b"hello"[..]));
        assert_eq!(scene.closed(), None);
    }
}

#[test]
fn a_server_that_opens_the_data_association_is_asked_for_its_certificate_all_the_same() {
    let (data, tls) = (DataMode::Active, TlsMode::Explicit);
    let mut scene = Scene::logged_in_with(Config { data, tls, ..client_config() });
    let listener = scene.take(|ask| match ask {
        Ask::Listen { listener, .. } => Some(*listener),
        _ => None,
    });
    let local: Participant = "10.0.0.2:5000".parse::<SocketAddr>().expect("an address").into();
    scene.hear(Told::Listening { listener, local });
    scene.reply("213 5\r\n200 ok\r\n");
    let data = scene.take(|ask| match ask {
        Ask::Await { association, .. } => Some(*association),
        _ => None,
    });
    scene.opened(data, SocketAddr::new(door().ip(), 20));
    let (secured, Secure { role, .. }) = scene.secures();
    assert_eq!((secured, role), (data, TlsRole::Client));
}

#[test]
fn a_data_association_that_is_not_secure_fails_the_file() {
    let (mut scene, data) = Scene::with_data(TlsMode::Explicit);
    let (why, certificate) = (SecurityError::UnknownIssuer, Some(Fingerprint([9; 32])));
    scene.controlled(data, Err(CommandError::Insecure { why, certificate }));
    assert_eq!(scene.closed(), Some(Err(Failure::Untrusted { why, certificate })));
}

#[test]
fn data_without_an_announced_end_counts_as_whole_by_its_size_alone() {
    for (octets, is_whole) in [(&b"hello"[..], true), (b"hell", false), (b"", false)] {
        for reply_first in [false, true] {
            let (mut scene, data) = Scene::with_data(TlsMode::Explicit);
            scene.controlled(data, RESUMED);
            scene.reply("150 opening\r\n");
            if !octets.is_empty() {
                scene.deliver(data, octets);
            }
            let end = Told::Ended { name: data, why: Ended::Truncated };
            if reply_first {
                scene.reply("226 done\r\n");
                scene.hear(end);
            } else {
                scene.hear(end);
                scene.reply("226 done\r\n");
            }
            let expected = is_whole.then(|| octets.to_vec());
            assert_eq!(scene.read(), expected, "{octets:?}, {reply_first}");
            let closed = if is_whole { None } else { Some(Err(Failure::Lost)) };
            assert_eq!(scene.closed(), closed, "{octets:?}, {reply_first}");
        }
    }
}

/// A listing has no size, so it fails.
#[test]
fn a_listing_without_an_announced_end_is_not_believed() {
    for is_announced in [true, false] {
        let config = Config { tls: TlsMode::Explicit, ..client_config() };
        let mut scene = Scene::asked(config, "", Purpose::List).log_in(TlsMode::Explicit);
        assert_eq!(scene.reply("229 Entering (|||2000|)\r\n"), "LIST\r\n");
        let data = scene.open_data();
        let (secured, _) = scene.secures();
        assert_eq!(secured, data);
        scene.controlled(data, RESUMED);
        scene.reply("150 opening\r\n");
        scene.deliver(data, b"-rw-r--r-- 1 ftp ftp 5 Jan  1 2026 f\r\n");
        scene.hear(if is_announced {
            Told::Finished { association: data }
        } else {
            Told::Ended { name: data, why: Ended::Truncated }
        });
        scene.reply("226 done\r\n");
        assert_eq!(scene.closed().is_some(), !is_announced, "{:?}", scene.below.told);
    }
}

/// What the server has received is its to say.
#[test]
fn an_upload_counts_by_its_reply_however_the_data_association_ends() {
    for why in [Ended::Truncated, Ended::Reset(0), Ended::Finished] {
        let config = Config { tls: TlsMode::Explicit, ..client_config() };
        let purpose = Purpose::Create { from: 0 };
        let mut scene = Scene::asked(config, "/f", purpose).log_in(TlsMode::Explicit);
        assert_eq!(scene.reply("229 Entering (|||2000|)\r\n"), "STOR f\r\n");
        let data = scene.open_data();
        scene.secures();
        scene.controlled(data, RESUMED);
        scene.reply("150 go\r\n");
        let message = M::with_headroom(0, b"hello");
        scene.ask(FilesRequest::Write { file: FILE, offset: 0, message });
        scene.ask(FilesRequest::Close { file: FILE, keep: Keep::Whole });
        scene.hear(Told::Ended { name: data, why });
        assert_eq!(scene.closed(), None, "{why}");
        scene.reply("226 done\r\n");
        assert_eq!(scene.closed(), Some(Ok(())), "{why}");
    }
}

/// A server of TLS 1.3 asks for what the client lacks when the handshake is over for the client.
#[test]
fn an_alert_behind_the_handshake_says_why() {
    const CERTIFICATE_REQUIRED: u8 = 116;
    for tls in [TlsMode::Explicit, TlsMode::Implicit] {
        let mut scene = Scene::new(tls);
        scene.connected();
        if tls == TlsMode::Explicit {
            scene.reply("220 ready\r\n");
            scene.reply("234 go\r\n");
        }
        let (control, _) = scene.secures();
        scene.controlled(control, Ok(Secure::FULL));
        let why = SecurityError::Alert(CERTIFICATE_REQUIRED);
        scene.hear(Told::Ended { name: control, why: Ended::Insecure(why) });
        assert_eq!(scene.closed(), Some(Err(Failure::Insecure(why))));
    }
}

/// A session whose server gave too few tickets is left for another, before any octet has moved.
#[test]
fn a_session_whose_tickets_are_used_up_is_left_for_another() {
    let config = Config { tls: TlsMode::Explicit, ..client_config() };
    let purpose = Purpose::Create { from: 0 };
    let mut scene = Scene::asked(config, "/f", purpose).log_in(TlsMode::Explicit);
    assert_eq!(scene.reply("229 Entering (|||2000|)\r\n"), "STOR f\r\n");
    scene.reply("150 go\r\n");
    let message = M::with_headroom(0, b"hello");
    scene.ask(FilesRequest::Write { file: FILE, offset: 0, message });
    scene.ask(FilesRequest::Close { file: FILE, keep: Keep::Whole });
    let data = scene.open_data();
    scene.secures();
    let sent = |scene: &Scene, data: Handle| {
        let sends =
            |ask: &Ask<M>| matches!(ask, Ask::Send { association, .. } if *association == data);
        scene.below.asked.iter().any(sends)
    };
    assert!(!sent(&scene, data), "nothing leaves before it is secure");
    let why = SecurityError::UsedUp;
    scene.controlled(data, Err(CommandError::Insecure { why, certificate: None }));
    assert_eq!(scene.closed(), None);
    assert!(scene.aborts(scene.control));
    scene.control = scene.take(|ask| match ask {
        Ask::Open { association, .. } => Some(*association),
        _ => None,
    });
    let mut scene = scene.log_in(TlsMode::Explicit);
    assert_eq!(scene.reply("229 Entering (|||2001|)\r\n"), "STOR f\r\n", "from its beginning");
    scene.reply("150 go\r\n");
    let data = scene.open_data();
    scene.secures();
    scene.controlled(data, RESUMED);
    assert!(sent(&scene, data));
    scene.reply("226 done\r\n");
    assert_eq!(scene.closed(), Some(Ok(())));
}

#[test]
fn a_transfer_is_aborted_without_expedited_octets() {
    let (mut scene, data) = Scene::with_data(TlsMode::Explicit);
    scene.controlled(data, RESUMED);
    scene.reply("150 opening\r\n");
    scene.ask(FilesRequest::Close { file: FILE, keep: Keep::Nothing });
    assert_eq!(scene.said(), "ABOR\r\n");
    assert!(scene.aborts(data));
}

#[test]
fn a_silent_handshake_is_given_up() {
    let mut scene = Scene::new(TlsMode::Explicit);
    scene.connected();
    scene.reply("220 ProFTPD\r\n");
    scene.reply("234 go\r\n");
    scene.cx.set_now(scene.cx.now() + Duration::from_secs(100));
    scene.client.handle_timeout(&scene.cx, &mut scene.below);
    assert_eq!(scene.closed(), Some(Err(Failure::Expired)));
    assert!(scene.aborts(scene.control));
}
