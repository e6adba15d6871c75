//! Status, names, folders, attributes, digests; uploads.

use stackwright_contract::services::{
    Attribute, Failure, FileKind, FilesIndication, FilesRequest, Keep, Purpose, Status,
};
use stackwright_wire::Message;

use super::{HELLO, ask, done, settle, stat, store};
use crate::simulated::odd::{Odd, Told};
use crate::simulated::setting::{M, content};

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
