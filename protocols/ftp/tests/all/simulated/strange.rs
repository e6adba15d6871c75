//! What strangers' servers say, word for word, and what becomes of a job.

mod fetches;
mod words;

use stackwright_contract::services::{
    Failure, FilesIndication, FilesRequest, Keep, Purpose, Status,
};
use stackwright_contract::{Duration, Handle};
use stackwright_wire::{Leaf, Message};

use crate::simulated::odd::{Odd, Told};
use crate::simulated::setting::M;

/// Octets of a message.
fn octets(message: &M) -> Vec<u8> {
    let mut octets = Vec::new();
    for leaf in message.leaves() {
        if let Leaf::Octets(leaf) = leaf {
            octets.extend_from_slice(leaf);
        }
    }
    octets
}

/// Fetches a file. `Err` tells why it failed.
pub(crate) fn fetch(odd: &mut Odd) -> Result<Vec<u8>, Failure> {
    fetch_from(odd, 0)
}

fn fetch_from(odd: &mut Odd, mut offset: u64) -> Result<Vec<u8>, Failure> {
    let file = odd.name();
    let purpose = Purpose::Read { as_octets: true, versioned: false };
    let mut seen = odd.told().len();
    odd.ask(FilesRequest::Open { file, path: "/f".into(), purpose });
    let mut whole = Vec::new();
    loop {
        odd.ask(FilesRequest::Read { file, offset, length: 1000 });
        odd.run(|told| told[seen..].iter().any(is_last_or_read));
        let told = &odd.told()[seen..];
        let position = told.iter().position(is_last_or_read).expect("it was waited for");
        seen += position + 1;
        match &told[position] {
            FilesIndication::Read { message, .. } => {
                whole.extend(octets(message));
                offset += message.len() as u64;
                if message.len() < 1000 {
                    break;
                }
            }
            FilesIndication::Closed { result, .. } => return Err(result.unwrap_err()),
            other => panic!("{other:?}"),
        }
    }
    odd.ask(FilesRequest::Close { file, keep: Keep::Nothing });
    settle(odd);
    Ok(whole)
}

fn is_last_or_read(told: &Told) -> bool {
    matches!(told, FilesIndication::Read { .. } | FilesIndication::Closed { .. })
}

/// Asks one thing that has one answer.
fn ask(odd: &mut Odd, request: impl FnOnce(Handle) -> FilesRequest<M>) -> Told {
    let token = odd.name();
    let seen = odd.told().len();
    odd.ask(request(token));
    odd.run(|told| told.len() > seen);
    settle(odd);
    odd.world.application_mut(odd.client).0.remove(seen)
}

fn done(odd: &mut Odd, request: impl FnOnce(Handle) -> FilesRequest<M>) -> Result<(), Failure> {
    let told = ask(odd, request);
    let FilesIndication::Done { result, .. } = told else { panic!("{told:?}") };
    result
}

pub(crate) fn stat(odd: &mut Odd, path: &str) -> Result<Status, Failure> {
    let told = ask(odd, |token| FilesRequest::Stat {
        token,
        path: path.into(),
        part: false,
        is_file: false,
    });
    let FilesIndication::Stated { result, .. } = told else { panic!("{told:?}") };
    result
}

/// Stores a file: the size that was told when it was opened, and how it ended.
fn store(odd: &mut Odd, purpose: Purpose, octets: &[u8]) -> (Option<u64>, Result<(), Failure>) {
    let file = odd.name();
    let seen = odd.told().len();
    odd.ask(FilesRequest::Open { file, path: "/f".into(), purpose });
    odd.run(|told| told.len() > seen);
    let there = match &odd.told()[seen] {
        FilesIndication::Opened { size, .. } => *size,
        FilesIndication::Closed { result, .. } => return (None, *result),
        other => panic!("{other:?}"),
    };
    let message = M::with_headroom(0, octets);
    odd.ask(FilesRequest::Write { file, offset: there.unwrap_or(0), message });
    odd.ask(FilesRequest::Close { file, keep: Keep::Whole });
    let is_last = |told: &Told| matches!(told, FilesIndication::Closed { .. });
    odd.run(|told| told[seen..].iter().any(is_last));
    settle(odd);
    match odd.told().iter().rev().find(|told| is_last(told)) {
        Some(FilesIndication::Closed { result, .. }) => (there, *result),
        other => panic!("{other:?}"),
    }
}

/// Lets every timer expire: nothing is left.
pub(crate) fn settle(odd: &mut Odd) {
    for _ in 0..20 {
        odd.turn();
    }
    let at_once = odd.world.stack(odd.client).upper.sessions();
    assert!(at_once <= 1, "{at_once} sessions");
}

fn hello() -> Odd {
    Odd::new().sends("hello world\n")
}

pub(crate) const HELLO: &[u8] = b"hello world\n";

// ---- replies ------------------------------------------------------------------------------------

#[test]
fn replies_may_be_in_any_character_set() {
    for (verb, reply) in [
        ("USER", &b"331 Passwort f\xfcr anonymous\r\n"[..]),
        ("RETR", b"150 Opening r\xe4k.txt (12 bytes)\r\n"),
        ("PASS", b"230-Willkommen f\xfcr\r\n alle\r\n230 f\xfcr alle\r\n"),
    ] {
        assert_eq!(fetch(&mut hello().reply(verb, reply)).as_deref(), Ok(HELLO), "{verb}");
    }
    for greeting in
        [&b"220 f\xfcr alle\r\n"[..], b"220-f\xfcr\r\n220 ok\r\n", b"220-x\r\n220 f\xfcr\r\n"]
    {
        let mut odd = hello();
        odd.greeting = greeting.into();
        assert_eq!(fetch(&mut odd).as_deref(), Ok(HELLO));
    }
    let mut odd = hello();
    odd.final_reply = b"226 \xdcbertragung fertig\r\n".into();
    assert_eq!(fetch(&mut odd).as_deref(), Ok(HELLO));
}

#[test]
fn lines_that_are_no_replies_are_skipped() {
    let mut odd = hello().reply("TYPE", "200 ok\r\n\r\n");
    odd.greeting = b"ld.so: warning\r\n\r\n220 ready\r\n".into();
    odd.final_reply = b"\r\n226 done\r\n".into();
    assert_eq!(fetch(&mut odd).as_deref(), Ok(HELLO));
}

#[test]
fn two_preliminary_replies_are_one_too_many_and_no_harm() {
    for replies in ["125 open\r\n150 opening\r\n", "150 ok\r\n150 opening (12 bytes)\r\n"] {
        assert_eq!(fetch(&mut hello().reply("RETR", replies)).as_deref(), Ok(HELLO));
    }
}

// ---- the data association -----------------------------------------------------------------------

/// RFC 959 §4.2 has it end with the same code; where nothing follows, the other one counts.
#[test]
fn a_reply_of_many_lines_may_end_with_another_code() {
    let quickly = |odd: &mut Odd| {
        let since = odd.world.now();
        let fetched = fetch(odd);
        assert!(odd.world.now().since(since) < Duration::from_secs(10), "{:?}", odd.lines);
        fetched
    };
    let mut odd = hello().reply("RETR", "150-look at this\r\n125 go\r\n");
    assert_eq!(quickly(&mut odd), Ok(HELLO.into()));
    let mut odd = hello().reply("RETR", "450-look at this\r\n550 no such file\r\n");
    assert_eq!(quickly(&mut odd), Err(Failure::NotFound));
    let mut odd = hello().reply("PASS", "220-welcome\r\n230 in\r\n");
    assert_eq!(quickly(&mut odd), Ok(HELLO.into()));
}

#[test]
fn whatever_is_no_readable_229_means_pasv() {
    for reply in [
        "227 Entering Passive Mode (10,0,0,1,7,208)\r\n",
        "229 Entering Extended Passive Mode (||2000|)\r\n",
        "200 ok\r\n",
        "202 superfluous\r\n",
        "425 cannot\r\n",
        "451 local error\r\n",
        "500 what\r\n",
        "522 (1)\r\n",
    ] {
        let mut odd = hello().reply("EPSV", reply);
        assert_eq!(fetch(&mut odd).as_deref(), Ok(HELLO), "{reply}");
        assert_eq!(odd.verbs().iter().filter(|verb| **verb == "PASV").count(), 1);
        // It is not asked again.
        assert_eq!(fetch(&mut odd).as_deref(), Ok(HELLO));
        assert_eq!(odd.verbs().iter().filter(|verb| **verb == "EPSV").count(), 1);
    }
}

#[test]
fn a_port_of_epsv_that_refuses_means_pasv() {
    // Port 1 refuses.
    let mut odd = hello().reply("EPSV", "229 ext (|||1|)\r\n");
    assert_eq!(fetch(&mut odd).as_deref(), Ok(HELLO), "{:?}", odd.lines);
    assert!(odd.verbs().contains(&"PASV"));
    let mut odd = Odd::new().reply("EPSV", "229 ext (|||1|)\r\n");
    assert_eq!(store(&mut odd, Purpose::Create { from: 0 }, HELLO), (Some(0), Ok(())));
    assert_eq!(odd.stored, HELLO);
}

#[test]
fn a_227_may_have_blanks() {
    let mut odd = hello()
        .reply("EPSV", "500 no\r\n")
        .reply("PASV", "227 Entering Passive Mode (10, 0, 0, 1, 7, 208)\r\n");
    assert_eq!(fetch(&mut odd).as_deref(), Ok(HELLO));
}
