//! What strangers' servers list, in which words, and what becomes of it.

use stackwright_contract::services::{
    Failure, FilesIndication, FilesRequest, FolderEntry, Keep, Purpose,
};

use crate::simulated::odd::{Odd, Told};
use crate::simulated::setting::AGES;
use crate::simulated::strange::{HELLO, fetch, settle};

/// Lists a folder: its entries, or why that failed.
fn list(odd: &mut Odd, path: &str) -> Result<Vec<FolderEntry>, Failure> {
    list_all(odd, path).map(|(entries, ..)| entries)
}

/// The same, with what was left out, and whether the list may be all that is there.
fn list_all(odd: &mut Odd, path: &str) -> Result<(Vec<FolderEntry>, Vec<String>, bool), Failure> {
    let mut all_left_out = Vec::new();
    let doubtful;
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
            FilesIndication::Entries { entries, left_out, is_doubtful, .. } => {
                all.extend(entries.iter().cloned());
                all_left_out.extend(left_out.iter().cloned());
                if entries.is_empty() {
                    doubtful = *is_doubtful;
                    break;
                }
            }
            FilesIndication::Closed { result, .. } => return Err(result.unwrap_err()),
            other => panic!("{other:?}"),
        }
    }
    odd.ask(FilesRequest::Close { file, keep: Keep::Nothing });
    settle(odd);
    Ok((all, all_left_out, doubtful))
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

/// What a server says beside success, and what does not fit together.
#[test]
fn a_list_is_doubted_where_anything_speaks_against_it() {
    let doubtful = |odd: &mut Odd| list_all(odd, "/x").map(|(_, _, doubtful)| doubtful);
    let ending = |last: &str, content: &str| {
        let mut odd = Odd::new().sends(content);
        odd.final_reply = last.as_bytes().to_vec();
        odd
    };
    for fine in ["226 done\r\n", "226-Options: -l\r\n226 1 matches total\r\n", "250 ok\r\n"] {
        assert_eq!(doubtful(&mut ending(fine, LINES)), Ok(false), "{fine}");
    }
    for denial in [
        "226 Transfer done (but failed to open directory).\r\n",
        "226 Output truncated to 2000 matches\r\n",
        "226-Read error\r\n226 done\r\n",
        "226 Listing incomplete\r\n",
    ] {
        assert_eq!(doubtful(&mut ending(denial, LINES)), Ok(true), "{denial}");
        assert_eq!(doubtful(&mut ending(denial, "")), Err(Failure::Broken), "{denial}");
    }
    // The last line may be cut short, with its name.
    let cut = LINES.trim_end();
    assert_eq!(doubtful(&mut ending("226 done\r\n", cut)), Ok(true));
    // Blocks of files that are not told.
    assert_eq!(doubtful(&mut ending("226 done\r\n", "total 8\r\n")), Ok(true));
    let itself = "total 8\r\ndrwxr-xr-x 2 u g 4096 Jan 15 08:00 .\r\n";
    assert_eq!(doubtful(&mut ending("226 done\r\n", itself)), Ok(false));
    // What is listed as a file may be a folder that may not be entered.
    let mut odd = Odd::new().reply("CWD", "550 no\r\n").reply("SIZE", "213 4096\r\n");
    assert_eq!(doubtful(&mut odd), Ok(true));
    // A line that is not understood is told as it is.
    let mut odd = ending("226 done\r\n", &format!("{LINES}what is this\r\n"));
    let (entries, left_out, _) = list_all(&mut odd, "/x").expect("a list");
    assert_eq!((names(&entries), left_out), (vec!["a"], vec!["what is this".to_owned()]));
}

#[test]
fn an_empty_list_is_doubted_where_stat_tells_more() {
    for (status, doubtful) in [
        ("213-Status:\r\n-rw-r--r-- 1 u g 5 Jan 15 08:00 a\r\n213 End\r\n", true),
        ("212-Status:\r\n total 0\r\n212 End\r\n", false),
        ("211 all is well\r\n", false),
        ("502 no\r\n", false),
    ] {
        let mut odd = Odd::new().sends("").reply("STAT", status);
        let listed = list_all(&mut odd, "/x").map(|(entries, _, doubtful)| (entries, doubtful));
        assert_eq!(listed, Ok((vec![], doubtful)), "{status}");
        assert!(odd.lines.contains(&"STAT .".into()));
        // One that is known says so by itself, and costs no round trip.
        let mut odd = Odd::new().sends("").reply("STAT", status);
        odd.greeting = b"220 (vsFTPd 3.0.3)\r\n".into();
        assert_eq!(list(&mut odd, "/x"), Ok(vec![]));
        assert!(!odd.verbs().contains(&"STAT"));
    }
}

#[test]
fn a_listing_of_another_system_is_told_as_such() {
    for (lines, system) in [
        ("Directory DKA0:[ANONYMOUS]\r\n\r\nA.TXT;1   2   12-MAR-2020 10:00:00\r\n", "VMS"),
        ("QSYS            77824 02/23/00 15:09:55 *DIR       home/\r\n", "AS/400"),
        ("Volume Unit    Referred Ext Used Recfm Lrecl BlkSz Dsorg Dsname\r\n", "MVS"),
    ] {
        let listed = list(&mut Odd::new().sends(lines), "/");
        assert_eq!(listed, Err(Failure::UnknownListing(system)));
    }
}

/// `LIST` has no zone, and no year for what is young: what it tells is told as rough.
#[test]
fn dates_are_told_as_exactly_as_they_are_known() {
    let mut config = crate::simulated::setting::client_config();
    config.epoch = Some(1_784_505_600); // 2026-07-20
    let mut odd = Odd::with(config).sends(LINES);
    let status = list(&mut odd, "/").expect("a list")[0].status;
    assert_eq!((status.modified, status.rough), (Some(1_768_464_000), 60));
    let status = list(&mut Odd::new().sends(LINES), "/").expect("a list")[0].status;
    assert_eq!((status.modified, status.rough), (None, 0), "nobody knows the year");
}

#[test]
fn mdtm_is_tried_once_where_feat_does_not_list_it() {
    let mut odd =
        Odd::new().features(&["SIZE"]).reply("SIZE", "213 7\r\n").reply("CWD", "550 no\r\n");
    for _ in 0..3 {
        crate::simulated::strange::stat(&mut odd, "/f").expect("a status");
    }
    assert_eq!(odd.verbs().iter().filter(|verb| **verb == "MDTM").count(), 1);
    let mut odd =
        Odd::new().features(&["SIZE"]).reply("SIZE", "213 7\r\n").reply("CWD", "550 no\r\n");
    odd = odd.reply("MDTM", "213 20000229000000\r\n");
    let status = crate::simulated::strange::stat(&mut odd, "/f").expect("a status");
    assert_eq!(status.modified, Some(951_782_400), "it knows it all the same");
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
