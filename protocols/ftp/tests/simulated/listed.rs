//! What strangers' servers list, in which words, and what becomes of it.

use stackwright_contract::services::{
    Failure, FilesIndication, FilesRequest, FolderEntry, Keep, Purpose,
};

use crate::odd::{Odd, Told};
use crate::setting::AGES;
use crate::strange::{HELLO, fetch, settle};

/// Lists a folder: its entries, or why that failed.
fn list(odd: &mut Odd, path: &str) -> Result<Vec<FolderEntry>, Failure> {
    let file = odd.name();
    let mut seen = odd.told().len();
    odd.ask(FilesRequest::Open { file, path: path.into(), purpose: Purpose::List });
    let mut all = Vec::new();
    loop {
        odd.ask(FilesRequest::Next { file });
        odd.run(|told| told[seen..].iter().any(is_last_or_entries));
        let told = &odd.told()[seen..];
        let position = told.iter().position(is_last_or_entries).expect("it was waited for");
        seen += position + 1;
        match &told[position] {
            FilesIndication::Entries { entries, .. } if entries.is_empty() => break,
            FilesIndication::Entries { entries, .. } => all.extend(entries.iter().cloned()),
            FilesIndication::Closed { result, .. } => return Err(result.unwrap_err()),
            other => panic!("{other:?}"),
        }
    }
    odd.ask(FilesRequest::Close { file, keep: Keep::Nothing });
    settle(odd);
    Ok(all)
}

fn is_last_or_entries(told: &Told) -> bool {
    matches!(told, FilesIndication::Entries { .. } | FilesIndication::Closed { .. })
}

fn names(entries: &[FolderEntry]) -> Vec<&str> {
    entries.iter().map(|entry| entry.name.as_str()).collect()
}

const LINES: &str = "total 1\r\n-rw-r--r-- 1 u g 5 Jan 15 08:00 a\r\n";

#[test]
fn a_folder_is_entered_before_it_is_listed() {
    for (path, folder) in [
        ("/with space/", "with space"),
        ("/[a]", "[a]"),
        ("/-dash/", "-dash"),
        ("//", "/"),
        ("//etc/x/", "/etc/x"),
    ] {
        let mut odd = Odd::new().sends(LINES);
        assert_eq!(list(&mut odd, path).map(|entries| entries.len()), Ok(1));
        assert!(odd.lines.contains(&format!("CWD {folder}")), "{:?}", odd.lines);
        assert_eq!(odd.lines.last().map(String::as_str), Some("LIST"));
    }
}

#[test]
fn a_folder_that_is_not_there_is_not_an_empty_one() {
    let mut odd = Odd::new().reply("CWD", "550 no such folder\r\n").sends("");
    assert_eq!(list(&mut odd, "/x"), Err(Failure::NotFound));
    assert_eq!(list(&mut odd, "/"), Ok(vec![]), "the session goes on where it was");
    let mut odd = Odd::new().reply("LIST", "550 No files found.\r\n");
    assert_eq!(list(&mut odd, "/x"), Ok(vec![]));
}

#[test]
fn the_next_job_begins_where_the_server_put_the_user() {
    let mut odd = Odd::new().sends(LINES);
    list(&mut odd, "/x").unwrap();
    odd.content = HELLO.into();
    fetch(&mut odd).unwrap();
    let back = odd.lines.iter().position(|line| line == "CWD /home").expect("it goes home");
    assert!(odd.lines[back..].contains(&"RETR f".into()));
    assert_eq!(odd.lines.iter().filter(|line| line.starts_with("USER")).count(), 1);
    // Where the server does not tell the way home, the session is given up.
    let mut odd = Odd::new().sends(LINES).reply("PWD", "502 no\r\n");
    list(&mut odd, "/x").unwrap();
    odd.content = HELLO.into();
    fetch(&mut odd).unwrap();
    assert_eq!(odd.lines.iter().filter(|line| line.starts_with("USER")).count(), 2);
}

#[test]
fn mlsd_is_used_where_it_is_offered_and_list_where_it_is_not_there() {
    let facts = "type=cdir; /\r\ntype=file;size=5;modify=20000229000000;UNIX.mode=0640; a b\r\n";
    let mut odd = Odd::new().features(&["MLST type*;size*;"]).sends(facts);
    let entries = list(&mut odd, "/").unwrap();
    let status = entries[0].status;
    assert_eq!(names(&entries), ["a b"]);
    assert_eq!((status.size, status.modified), (5, Some(951_782_400)));
    let mut odd =
        Odd::new().features(&["MLST type*;size*;"]).sends(LINES).reply("MLSD", "502 no\r\n");
    assert_eq!(names(&list(&mut odd, "/").unwrap()), ["a"]);
}

#[test]
fn lines_are_understood_or_counted() {
    let lines = "07-20-26  09:52AM  <DIR>  Docs\r\nhello\r\n-rw-r--r-- 1 u g 5 Jan 15 08:00 last";
    let mut odd = Odd::new().sends(lines);
    assert_eq!(names(&list(&mut odd, "/").unwrap()), ["Docs", "last"]);
    for unknown in
        [&b"ls: cannot access 'x'\r\n"[..], b"-rw-r--r-- 1 u g 5 Jan 15 08:00 ../x", &[b'x'; 9000]]
    {
        assert_eq!(list(&mut Odd::new().sends(unknown), "/"), Err(Failure::Garbled));
    }
    assert_eq!(list(&mut Odd::new().sends(""), "/"), Ok(vec![]));
}

#[test]
fn a_listing_without_end_is_held_in_bounds() {
    let mut odd = Odd::new().sends(LINES.repeat(100_000));
    let file = odd.name();
    odd.ask(FilesRequest::Open { file, path: "/".into(), purpose: Purpose::List });
    odd.run(|told| !told.is_empty());
    odd.ask(FilesRequest::Next { file });
    for _ in 0..1000 {
        odd.turn();
    }
    let entries = |told: &Told| match told {
        FilesIndication::Entries { entries, .. } => entries.len(),
        _ => 0,
    };
    let most: usize = odd.told().iter().map(entries).sum();
    assert!((1..5000).contains(&most), "{most} entries without being asked for more");
    odd.ask(FilesRequest::Close { file, keep: Keep::Nothing });
    odd.world.run_for(AGES);
}

#[test]
fn a_file_is_listed_as_the_one_entry() {
    let no_folder = || Odd::new().reply("CWD", "550 not a directory\r\n");
    let facts = "250-Listing\r\n type=file;size=7;modify=20000229000000; a b\r\n250 End\r\n";
    let mut odd = no_folder().features(&["MLST type*;size*;"]).reply("MLST", facts);
    odd.content = b"type=file;size=5; x\r\n".into();
    let entries = list(&mut odd, "/x/a b").unwrap();
    assert_eq!(names(&entries), ["a b"]);
    assert_eq!((entries[0].status.size, entries[0].status.modified), (7, Some(951_782_400)));
    assert!(odd.lines.contains(&"MLST x/a b".into()), "{:?}", odd.lines);
    assert_eq!(names(&list(&mut odd, "/").unwrap()), ["x"], "the session goes on");

    let mut odd = no_folder().reply("SIZE", "213 7\r\n").reply("MDTM", "213 20000229000000\r\n");
    let entries = list(&mut odd, "/f").unwrap();
    assert_eq!((names(&entries), entries[0].status.size), (vec!["f"], 7));
    assert!(odd.verbs().ends_with(&["CWD", "SIZE", "MDTM"]), "{:?}", odd.lines);

    // What is said of the folder counts, and a folder that may not be entered is none that is
    // empty.
    let mut odd = no_folder().reply("SIZE", "501 what\r\n");
    assert_eq!(list(&mut odd, "/f"), Err(Failure::NotFound));
    let facts = facts.replace("=file", "=dir");
    let mut odd = Odd::new().reply("CWD", "550 permission denied\r\n");
    odd = odd.features(&["MLST type*;size*;"]).reply("MLST", facts);
    assert_eq!(list(&mut odd, "/f"), Err(Failure::Denied));
    let mut odd = no_folder().reply("SIZE", "213 7\r\n");
    assert_eq!(list(&mut odd, "/f/"), Err(Failure::NotFound), "a folder was asked for");
}

/// To some servers, `~` is somebody's home, and a blank before a name is none of it.
#[test]
fn names_are_told_so_that_they_are_read_as_names() {
    for (path, told) in [
        ("/~", "./~"),
        ("/~root/x", "./~root/x"),
        ("/ x", "./ x"),
        ("/-x", "-x"),
        ("//~x", "/~x"),
        ("/x~", "x~"),
    ] {
        let mut odd = Odd::new().sends(LINES);
        list(&mut odd, path).unwrap();
        assert!(odd.lines.contains(&format!("CWD {told}")), "{:?}", odd.lines);
    }
}

#[test]
fn a_time_that_no_list_told_comes_with_the_file() {
    let mut odd = Odd::new().sends(LINES).reply("MDTM", "213 20000229000000\r\n");
    list(&mut odd, "/").unwrap();
    odd.content = HELLO.into();
    assert_eq!(fetch(&mut odd).as_deref(), Ok(HELLO));
    let opened = odd.told().iter().find_map(|told| match told {
        FilesIndication::Opened { modified: Some(modified), .. } => Some(*modified),
        _ => None,
    });
    assert_eq!(opened, Some(951_782_400));
    // A server that knows no MDTM tells none, and the file all the same.
    let mut odd = Odd::new().sends(LINES);
    list(&mut odd, "/").unwrap();
    odd.content = HELLO.into();
    assert_eq!(fetch(&mut odd).as_deref(), Ok(HELLO));
    assert!(odd.verbs().contains(&"MDTM"));
}
