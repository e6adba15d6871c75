//! What strangers' servers say, word for word, and what becomes of a job.

use stackwright_contract::services::{
    Attribute, Failure, FileKind, FilesIndication, FilesRequest, Keep, Purpose, Status,
};
use stackwright_contract::{Duration, Handle};
use stackwright_ftp::client::DataMode;
use stackwright_wire::{Leaf, Message};

use crate::simulated::odd::{DataEnd, Odd, Told};
use crate::simulated::setting::{AGES, M, content};

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

// ---- the size and the end -----------------------------------------------------------------------

#[test]
fn a_whole_file_is_kept_whatever_is_said_of_its_size() {
    for size in [
        "550 gone\r\n",
        "450 busy\r\n",
        "530 no\r\n",
        "501 no\r\n",
        "213 12 bytes\r\n",
        "213 18446744073709551616\r\n",
        "213 5\r\n",
        "213 12\r\n",
    ] {
        assert_eq!(fetch(&mut hello().reply("SIZE", size)).as_deref(), Ok(HELLO), "{size}");
    }
    let mut kilobytes = hello().reply("RETR", "150 2929.7 kbytes to download\r\n");
    assert_eq!(fetch(&mut kilobytes).as_deref(), Ok(HELLO));
}

#[test]
fn a_size_larger_than_what_came_is_a_reason_to_doubt() {
    assert_eq!(fetch(&mut hello().reply("SIZE", "213 13\r\n")), Err(Failure::Short));
    let mut odd = hello().reply("RETR", "150 go (13 bytes)\r\n").reply("SIZE", "213 12\r\n");
    assert_eq!(fetch(&mut odd), Err(Failure::Short));
    for most in [1 << 63, u64::MAX] {
        let size = format!("213 {most}\r\n");
        assert_eq!(fetch(&mut hello().reply("SIZE", size)), Err(Failure::Short));
        let opening = format!("150 go ({most} bytes)\r\n");
        assert_eq!(fetch(&mut hello().reply("RETR", opening)), Err(Failure::Short));
    }
    let mut odd = hello().reply("SIZE", "213 12\r\n");
    odd.data_end = DataEnd::Abort;
    assert_eq!(fetch(&mut odd), Err(Failure::Lost), "the end was not clean");
}

#[test]
fn a_file_whose_end_is_never_confirmed_is_whole_by_its_size() {
    for last in [&b""[..], b"close!", b"421 going down\r\n"] {
        let mut odd = hello().reply("SIZE", "213 12\r\n");
        odd.final_reply = last.into();
        let since = odd.world.now();
        assert_eq!(fetch(&mut odd).as_deref(), Ok(HELLO), "{last:?}");
        assert!(odd.world.now().since(since) < Duration::from_secs(20));
    }
    let mut odd = hello();
    odd.final_reply = b"close!".into();
    assert_eq!(fetch(&mut odd), Err(Failure::Lost), "nobody knows the size");
    let mut odd = hello().reply("SIZE", "213 12\r\n");
    odd.final_reply = b"451 the disk is broken\r\n".into();
    assert_eq!(fetch(&mut odd), Err(Failure::Broken), "the server says that it is not");
}

#[test]
fn a_control_connection_that_ends_after_the_last_word_hurts_nobody() {
    let mut odd = hello();
    odd.final_reply = b"226 done\r\n".into();
    let file = odd.name();
    odd.ask(FilesRequest::Open {
        file,
        path: "/f".into(),
        purpose: Purpose::Read { as_octets: true, versioned: false },
    });
    odd.run(|told| !told.is_empty());
    for _ in 0..10 {
        odd.turn();
    }
    odd = closed_by_the_server(odd);
    odd.ask(FilesRequest::Read { file, offset: 0, length: 100 });
    odd.run(|told| told.len() > 1);
    assert!(
        matches!(&odd.told()[1], FilesIndication::Read { message, .. } if octets(message) == HELLO)
    );
    odd.ask(FilesRequest::Close { file, keep: Keep::Nothing });
    odd.world.run_for(AGES);
    assert!(matches!(odd.told()[2], FilesIndication::Closed { result: Ok(()), .. }));
}

fn closed_by_the_server(mut odd: Odd) -> Odd {
    odd.close_controls();
    for _ in 0..10 {
        odd.turn();
    }
    odd
}

#[test]
fn a_plain_fetch_takes_no_more_round_trips_than_its_commands_need() {
    for (greeting, turns) in [("vsFTPd", 5), ("Pure-FTPd", 5), ("ProFTPD", 5), ("hello", 7)] {
        let mut odd = hello();
        odd.greeting = format!("220 {greeting}\r\n").into_bytes();
        fetch(&mut odd).unwrap();
        assert_eq!(
            odd.verbs(),
            ["USER", "PASS", "TYPE", "FEAT", "SIZE", "EPSV", "RETR"],
            "QUIT comes when it is idle"
        );
        assert_eq!(odd.turns, turns, "TYPE and FEAT are sent at once, and SIZE and EPSV");
    }
}

/// Small devices read one command of what arrives, and drop the rest (RFC 959 §5.4 has a client
/// wait for each reply).
#[test]
fn a_server_is_told_one_command_at_a_time_until_it_is_known() {
    let device = || {
        let mut odd = hello().reply("SIZE", "213 12\r\n").reply("MDTM", "213 20000229000000\r\n");
        odd.takes_one = true;
        odd
    };
    let mut odd = device();
    assert_eq!(fetch(&mut odd).as_deref(), Ok(HELLO));
    assert_eq!(fetch(&mut odd).as_deref(), Ok(HELLO), "the session goes on");
    assert_eq!(odd.lines.iter().filter(|line| line.starts_with("USER")).count(), 1);
    let mut odd = device();
    assert_eq!(store(&mut odd, Purpose::Create { from: 0 }, HELLO), (Some(0), Ok(())));
    assert_eq!(odd.stored, HELLO);
    let attribute = Attribute::Modified(951_782_400);
    let mut odd = device().features(&["MFMT", "MDTM", "SIZE"]).reply("MFMT", "213 set\r\n");
    let set = |token| FilesRequest::Set { token, path: "/f".into(), attribute };
    assert_eq!(done(&mut odd, set), Ok(()));
    assert_eq!(fetch(&mut odd).as_deref(), Ok(HELLO));
    for odd in [device(), device().reply("CWD", "550 no\r\n")] {
        let mut odd = odd;
        stat(&mut odd, "/f").expect("it is there");
    }
}

/// A server that lets no more than some log in: the others' jobs wait for these.
#[test]
fn one_session_too_many_is_no_failure() {
    for refusal in ["421 too many\r\n", "530 too many\r\n", "close!", "500 no\r\n"] {
        let mut odd = hello().reply("SIZE", "213 12\r\n");
        odd.sessions_most = 2;
        odd.one_too_many = refusal.into();
        let files: Vec<Handle> = (0..6).map(|_| odd.name()).collect();
        for &file in &files {
            let purpose = Purpose::Read { as_octets: true, versioned: false };
            odd.ask(FilesRequest::Open { file, path: "/f".into(), purpose });
            odd.ask(FilesRequest::Read { file, offset: 0, length: 1000 });
            odd.ask(FilesRequest::Read { file, offset: 1000, length: 1000 });
        }
        let ends = |told: &Told| match told {
            FilesIndication::Read { file, offset: 1000, .. } => Some(*file),
            FilesIndication::Closed { file, result } => panic!("{file:?}: {result:?}"),
            _ => None,
        };
        let mut closed = 0;
        while closed < files.len() {
            odd.run(|told| told.iter().filter_map(ends).count() > closed);
            let file = odd.told().iter().filter_map(ends).nth(closed).expect("it was waited for");
            odd.world.ask(odd.client, FilesRequest::Close { file, keep: Keep::Nothing });
            odd.world
                .application_mut(odd.client)
                .0
                .retain(|told| !matches!(told, FilesIndication::Closed { result: Ok(()), .. }));
            closed += 1;
        }
        let users = odd.lines.iter().filter(|line| line.starts_with("USER")).count();
        assert!(
            users <= 4,
            "{refusal:?}: what was refused is not asked for again: {:?}",
            odd.lines
        );
    }
}

/// A wrong password is one, however many sessions are refused for it.
#[test]
fn a_wrong_password_is_told_as_one() {
    let mut odd = hello().reply("PASS", "530 no\r\n");
    let files: Vec<Handle> = (0..3).map(|_| odd.name()).collect();
    for &file in &files {
        let purpose = Purpose::Read { as_octets: true, versioned: false };
        odd.ask(FilesRequest::Open { file, path: "/f".into(), purpose });
    }
    odd.run(|told| told.len() == 3);
    for told in odd.told() {
        assert!(
            matches!(told, FilesIndication::Closed { result: Err(Failure::NotLoggedIn), .. }),
            "{told:?}"
        );
    }
}

/// A server that has room for one data association.
#[test]
fn a_limit_of_data_associations_is_no_failure() {
    let mut odd = hello().reply("RETR", "150 go\r\n").reply("RETR", "425 too many\r\n");
    odd = odd.reply("RETR", "150 go\r\n");
    let files: Vec<Handle> = (0..2).map(|_| odd.name()).collect();
    for &file in &files {
        let purpose = Purpose::Read { as_octets: true, versioned: false };
        odd.ask(FilesRequest::Open { file, path: "/f".into(), purpose });
        odd.ask(FilesRequest::Read { file, offset: 0, length: 1000 });
    }
    let first = |told: &Told| match told {
        FilesIndication::Read { file, .. } => Some(*file),
        FilesIndication::Closed { file, result: Err(why) } => panic!("{file:?}: {why}"),
        _ => None,
    };
    odd.run(|told| told.iter().any(|told| first(told).is_some()));
    let file = odd.told().iter().find_map(first).expect("it was waited for");
    odd.ask(FilesRequest::Close { file, keep: Keep::Nothing });
    odd.run(|told| told.iter().filter_map(first).count() == 2);
}

#[test]
fn a_session_that_is_kept_quits_at_once_where_no_more_jobs_come() {
    let mut odd = hello();
    fetch(&mut odd).unwrap();
    assert!(!odd.verbs().contains(&"QUIT"), "it is kept for the next job");
    odd.ask(FilesRequest::Leave);
    odd.turn();
    assert_eq!(odd.verbs().last(), Some(&"QUIT"));
}

#[test]
fn an_active_fetch_takes_no_more() {
    let mut config = crate::simulated::setting::client_config();
    config.data = DataMode::Active;
    let mut odd = Odd::with(config).reply("PORT", "500 no\r\n");
    odd.greeting = b"220 (vsFTPd 3.0.3)\r\n".into();
    let failed = fetch(&mut odd);
    assert_eq!((failed, odd.turns), (Err(Failure::Unsupported), 4));
    assert_eq!(odd.verbs()[4..], ["SIZE", "PORT"]);
}

#[test]
fn a_read_from_the_middle_does_not_begin_at_the_first_octet() {
    let mut odd = hello().reply("SIZE", "213 20\r\n");
    assert_eq!(fetch_from(&mut odd, 8).as_deref(), Ok(HELLO));
    let from_rest = odd.verbs().into_iter().skip_while(|verb| *verb != "REST");
    assert_eq!(from_rest.collect::<Vec<_>>(), ["REST", "RETR"]);
    assert!(odd.lines.contains(&"REST 8".into()) && !odd.lines.contains(&"ABOR".into()));
}

/// It says 350, and sends the file from its beginning.
#[test]
fn a_server_that_ignores_rest_sends_nothing_that_counts() {
    for opening in ["150 go\r\n", "150 go (12 bytes)\r\n", "150 go (4 bytes)\r\n"] {
        let mut odd = hello().reply("SIZE", "213 12\r\n").reply("RETR", opening);
        assert_eq!(fetch_from(&mut odd, 8), Err(Failure::Damaged), "{opening}");
    }
}

/// MLST tells its size where SIZE does not.
#[test]
fn a_size_that_mlst_tells_is_one() {
    let facts = "250-Listing\r\n type=file;size=12;modify=20260101000000; /f\r\n250 End\r\n";
    let mut odd = hello().features(&["MLST type*;size*;modify*;"]).reply("MLST", facts);
    let file = odd.name();
    let purpose = Purpose::Read { as_octets: true, versioned: true };
    odd.ask(FilesRequest::Open { file, path: "/f".into(), purpose });
    odd.ask(FilesRequest::Read { file, offset: 8, length: 1000 });
    let is_last = |told: &Told| matches!(told, FilesIndication::Closed { .. });
    odd.run(|told| told.iter().any(is_last));
    assert!(odd.told().iter().any(|told| {
        matches!(told, FilesIndication::Closed { result: Err(Failure::Damaged), .. })
    }));
}

/// The version is asked for before each transfer, in the best way there is, and told with it.
#[test]
fn a_version_is_told_where_size_and_time_are() {
    let version = |odd: &mut Odd| {
        let file = odd.name();
        let seen = odd.told().len();
        let purpose = Purpose::Read { as_octets: true, versioned: true };
        odd.ask(FilesRequest::Open { file, path: "/f".into(), purpose });
        odd.run(|told| told.len() > seen);
        let FilesIndication::Opened { version, .. } = odd.told()[seen] else { panic!() };
        odd.ask(FilesRequest::Close { file, keep: Keep::Nothing });
        settle(odd);
        version
    };
    let by_time =
        |size: &str, time: &str| version(&mut hello().reply("SIZE", size).reply("MDTM", time));
    let first = by_time("213 12\r\n", "213 20260101000000\r\n");
    assert!(first.is_some() && first == by_time("213 12\r\n", "213 20260101000000\r\n"));
    for (size, time) in [
        ("213 13\r\n", "213 20260101000000\r\n"),
        ("213 12\r\n", "213 20260101000001\r\n"),
        ("213 12\r\n", "213 20260101000000.5\r\n"),
    ] {
        let other = by_time(size, time);
        assert!(other.is_some() && other != first, "{size}{time}");
    }
    for (size, time) in [
        ("550 no\r\n", "213 20260101000000\r\n"),
        ("213 12\r\n", "550 no\r\n"),
        ("213 12\r\n", "213 yesterday\r\n"),
    ] {
        assert_eq!(by_time(size, time), None, "{size}{time}");
    }
    let by_facts = |facts: &str| {
        let reply = format!("250-Listing\r\n {facts} /f\r\n250 End\r\n");
        let mut odd = hello().features(&["MLST type*;size*;modify*;unique*;"]).reply("MLST", reply);
        let told = version(&mut odd);
        assert!(!odd.verbs().contains(&"MDTM"), "{:?}", odd.lines);
        // A status tells the same.
        assert_eq!(stat(&mut odd, "/f").ok().and_then(|status| status.version), told);
        told
    };
    let first = by_facts("type=file;size=12;modify=20260101000000;unique=a;");
    assert!(first.is_some());
    for other in [
        "type=file;size=13;modify=20260101000000;unique=a;",
        "type=file;size=12;modify=20260101000001;unique=a;",
        "type=file;size=12;modify=20260101000000;unique=b;",
        "type=file;size=12;modify=20260101000000;unique=a;X.hash=1;",
    ] {
        let other = by_facts(other);
        assert!(other.is_some() && other != first);
    }
    let same = "type=file;modify=20260101000000;perm=r;size=12;UNIX.mode=0644;unique=a;";
    assert_eq!(by_facts(same), first, "in whatever order, and whoever may read it");
    assert_eq!(by_facts("type=file;size=12;"), None);
}

// ---- status -------------------------------------------------------------------------------------

#[test]
fn a_status_is_asked_in_the_best_way_there_is() {
    let mut odd = Odd::new()
        .features(&["MLST type*;"])
        .reply("MLST", "250-Listing f\r\n type=file;size=7; /f\r\n250 End\r\n");
    assert_eq!(stat(&mut odd, "/f"), Ok(Status::new(FileKind::File, 7)));
    let mut odd = Odd::new().reply("SIZE", "213 7\r\n").reply("MDTM", "213 20000229000000\r\n");
    odd = odd.reply("CWD", "550 no\r\n");
    let status = Status { modified: Some(951_782_400), ..Status::new(FileKind::File, 7) };
    let told = stat(&mut odd, "/f");
    assert_eq!(told.map(|told| Status { version: None, ..told }), Ok(status));
    // There are servers that tell a size of a folder; it is one if it can be entered.
    let mut odd = Odd::new().reply("SIZE", "213 4096\r\n").reply("MDTM", "213 20000229000000\r\n");
    assert_eq!(stat(&mut odd, "/f"), Ok(Status::new(FileKind::Folder, 0)));
    let mut odd = Odd::new().reply("SIZE", "550 not a plain file\r\n");
    assert_eq!(stat(&mut odd, "/f"), Ok(Status::new(FileKind::Folder, 0)));
    let mut odd = Odd::new().reply("SIZE", "550 no\r\n").reply("CWD", "550 no\r\n");
    assert_eq!(stat(&mut odd, "/f"), Err(Failure::NotFound));
    // Nobody knows SIZE, and CWD says that there is no such folder.
    let mut odd = Odd::new().reply("CWD", "550 path does not exist\r\n");
    assert_eq!(stat(&mut odd, "/f"), Err(Failure::NotFound));
    assert_eq!(stat(&mut Odd::new(), "/"), Ok(Status::new(FileKind::Folder, 0)));
}

#[test]
fn one_code_stands_for_several_reasons() {
    for (reply, failure) in [
        ("550 Permission denied.\r\n", Failure::Denied),
        ("550 f: No such file or directory\r\n", Failure::NotFound),
        ("550 File exists\r\n", Failure::Exists),
        ("553 no\r\n", Failure::Denied),
        ("552 no\r\n", Failure::Full),
        ("451 no\r\n", Failure::Broken),
    ] {
        let (_, result) =
            store(&mut Odd::new().reply("STOR", reply), Purpose::Create { from: 0 }, b"");
        assert_eq!(result, Err(failure), "{reply}");
    }
}

// ---- the other words ----------------------------------------------------------------------------

fn done(odd: &mut Odd, request: impl FnOnce(Handle) -> FilesRequest<M>) -> Result<(), Failure> {
    let told = ask(odd, request);
    let FilesIndication::Done { result, .. } = told else { panic!("{told:?}") };
    result
}

#[test]
fn names_folders_and_attributes() {
    let path = || String::from("/a b");
    let mut odd = Odd::new()
        .features(&["MFMT", "AVBL"])
        .reply("MKD", "257 \"/a b\" made\r\n")
        .reply("RNFR", "350 to?\r\n")
        .reply("RNTO", "250 ok\r\n")
        .reply("MFMT", "213 Modify=20000229000000; a b\r\n")
        .reply("SITE", "200 ok\r\n")
        .reply("DELE", "250 ok\r\n")
        .reply("DELE folder", "550 is a folder\r\n")
        .reply("DELE full", "550 is a folder\r\n")
        .reply("RMD", "250 ok\r\n")
        .reply("RMD full", "550 Directory not empty\r\n")
        .reply("AVBL", "213 12345\r\n");
    let ok = Ok(());
    assert_eq!(done(&mut odd, |token| FilesRequest::MakeFolder { token, path: path() }), ok);
    let rename = |token| FilesRequest::Rename { token, from: path(), to: "/c".into() };
    assert_eq!(done(&mut odd, rename), ok);
    let injects = |token| FilesRequest::Rename { token, from: path(), to: "c\r\nDELE x".into() };
    assert_eq!(done(&mut odd, injects), Err(Failure::BadName));
    for attribute in [Attribute::Modified(951_782_400), Attribute::Mode(0o640)] {
        assert_eq!(
            done(&mut odd, |token| FilesRequest::Set { token, path: path(), attribute }),
            ok
        );
    }
    let remove =
        |path: &'static str| move |token| FilesRequest::Remove { token, path: path.into() };
    assert_eq!(done(&mut odd, remove("/a b")), ok);
    assert_eq!(done(&mut odd, remove("/folder")), ok);
    assert_eq!(done(&mut odd, remove("/full")), Err(Failure::NotEmpty));
    let told = ask(&mut odd, |token| FilesRequest::Room { token, path: "/".into() });
    assert!(matches!(told, FilesIndication::Room { result: Ok(12345), .. }), "{told:?}");
    assert_eq!(
        odd.lines[4..],
        [
            "MKD a b",
            "RNFR a b",
            "RNTO c",
            "MFMT 20000229000000 a b",
            "SITE CHMOD 640 a b",
            "DELE a b",
            "DELE folder",
            "RMD folder",
            "DELE full",
            "RMD full",
            "AVBL"
        ]
    );
    let mut bare = Odd::new();
    let told = ask(&mut bare, |token| FilesRequest::Room { token, path: "/".into() });
    let unsupported = Err(Failure::Unsupported);
    assert!(matches!(told, FilesIndication::Room { result: Err(Failure::Unsupported), .. }));
    assert_eq!(
        done(&mut bare, |token| FilesRequest::MakeFolder { token, path: path() }),
        unsupported
    );
}

#[test]
fn digests_are_asked_in_whichever_way_there_is() {
    let digits = "01".repeat(32);
    let hash = format!("213 SHA-256 0-9 {digits} f\r\n");
    let whole =
        |token| FilesRequest::Digest { token, path: "/f".into(), octets: 0..u64::MAX, part: false };
    let prefix =
        |token| FilesRequest::Digest { token, path: "/f".into(), octets: 0..10, part: false };
    let digest = |told: Told| match told {
        FilesIndication::Digested { result, .. } => result,
        told => panic!("{told:?}"),
    };
    let mut odd = Odd::new()
        .features(&["HASH MD5*;SHA-256"])
        .reply("SIZE", "213 20\r\n")
        .reply("OPTS", "200 SHA-256\r\n")
        .reply("RANG", "350 ok\r\n")
        .reply("HASH", &hash);
    assert_eq!(digest(ask(&mut odd, whole)), Ok(([1; 32], 20)));
    assert_eq!(digest(ask(&mut odd, prefix)), Ok(([1; 32], 10)));
    assert_eq!(
        odd.lines[4..],
        ["SIZE f", "OPTS HASH SHA-256", "HASH f", "SIZE f", "RANG 0 9", "HASH f"]
    );
    let mut odd = Odd::new()
        .features(&["XSHA256"])
        .reply("SIZE", "213 20\r\n")
        .reply("XSHA256", format!("250 {}\r\n", digits));
    assert_eq!(digest(ask(&mut odd, prefix)), Ok(([1; 32], 10)));
    assert_eq!(odd.lines[5], "XSHA256 \"f\" 0 10");
    let mut empty = Odd::new().features(&["HASH SHA-256*"]).reply("SIZE", "213 0\r\n");
    assert_eq!(digest(ask(&mut empty, whole)).map(|(_, count)| count), Ok(0));
    assert_eq!(digest(ask(&mut Odd::new(), whole)), Err(Failure::Unsupported));
}

#[test]
fn a_file_is_appended_to() {
    let mut odd = Odd::new().reply("SIZE", "213 100\r\n");
    assert_eq!(store(&mut odd, Purpose::Append, HELLO), (Some(100), Ok(())));
    assert_eq!((odd.lines.last().map(String::as_str), &*odd.stored), (Some("APPE f"), HELLO));
    let mut odd = Odd::new().reply("SIZE", "550 no\r\n");
    assert_eq!(store(&mut odd, Purpose::Append, HELLO), (Some(0), Ok(())));
    assert!(!odd.verbs().contains(&"REST"));
}

#[test]
fn a_new_file_replaces_none() {
    let mut odd = Odd::new().reply("SIZE", "213 100\r\n");
    assert_eq!(store(&mut odd, Purpose::New, HELLO), (None, Err(Failure::Exists)));
    let mut odd = Odd::new().reply("SIZE", "550 no\r\n");
    assert_eq!(store(&mut odd, Purpose::New, HELLO), (Some(0), Ok(())));
    let (_, unknown) = store(&mut Odd::new(), Purpose::New, HELLO);
    assert_eq!(unknown, Err(Failure::Unsupported), "nobody knows whether it is there");
}

#[test]
fn an_upload_is_resumed_where_the_server_keeps_parts() {
    let mut odd = Odd::new()
        .features(&["ARST", "INTR", "SIZE"])
        .reply("ARST", "200 on\r\n")
        .reply("NARS", "200 off\r\n")
        .reply("SIZE", "550 no\r\n")
        .reply("SIZE", "213 100\r\n");
    assert_eq!(store(&mut odd, Purpose::Resume, HELLO), (Some(100), Ok(())));
    assert_eq!(odd.lines[4..], ["SIZE f", "ARST", "SIZE f", "EPSV", "REST 100", "STOR f"]);
    assert_eq!(odd.stored, HELLO);
    // A file without a part is nothing to go on behind.
    assert_eq!(store(&mut odd, Purpose::Resume, HELLO), (Some(0), Ok(())));
    // What follows is about the file again.
    stat(&mut odd, "/f").unwrap();
    assert!(odd.lines.contains(&"NARS".into()));
    assert_eq!(store(&mut Odd::new(), Purpose::Resume, b""), (None, Err(Failure::Unsupported)));
}

#[test]
fn a_part_is_kept_by_interrupting() {
    let mut odd = Odd::new()
        .features(&["ARST", "INTR"])
        .reply("ARST", "200 on\r\n")
        .reply("SIZE", "550 no\r\n")
        .reply("INTR", "256 Transfer interrupted at 5.\r\n");
    let file = odd.name();
    odd.ask(FilesRequest::Open { file, path: "/f".into(), purpose: Purpose::Resume });
    odd.run(|told| !told.is_empty());
    let message = M::with_headroom(0, &content(1000, 1));
    odd.ask(FilesRequest::Write { file, offset: 0, message });
    odd.run(|told| told.len() > 1);
    odd.ask(FilesRequest::Close { file, keep: Keep::Part });
    odd.run(|told| matches!(told.last(), Some(FilesIndication::Closed { result: Ok(()), .. })));
    settle(&mut odd);
    assert_eq!(odd.verbs().last(), Some(&"INTR"));
    assert!(!odd.verbs().contains(&"ABOR"));
}
