//! Fetches: the size and the end of a file, round trips, sessions, versions.

use stackwright_contract::services::{
    Attribute, Failure, FilesIndication, FilesRequest, Keep, Purpose,
};
use stackwright_contract::{Duration, Handle};
use stackwright_ftp::client::{self, DataMode};

use super::{HELLO, done, fetch, fetch_from, hello, octets, settle, stat, store};
use crate::simulated::odd::{DataEnd, Odd, Told};
use crate::simulated::setting::AGES;

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

/// Of a file that is longer than what is accepted unasked: its end does not answer the rest.
#[test]
fn what_arrived_before_it_was_asked_for_is_told_at_once() {
    let content: Vec<u8> = (0..300_000_u32).map(|at| at as u8).collect();
    assert!(fetch(&mut Odd::new().sends(&content)) == Ok(content));
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
fn a_session_may_end_without_a_word() {
    let config = client::Config { quits: false, ..crate::simulated::setting::client_config() };
    let mut odd = Odd::with(config).sends("hello world\n");
    fetch(&mut odd).unwrap();
    odd.ask(FilesRequest::Leave);
    odd.turn();
    assert_eq!(odd.verbs().last(), Some(&"RETR"));
    assert!(odd.is_left(), "the server is told the end");
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
