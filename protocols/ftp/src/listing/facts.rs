//! The facts of MLST and MLSD (RFC 3659 §7): `type=file;size=5;modify=20000229000000; name`.

use alloc::string::String;
use core::str;

use stackwright_contract::services::{FileKind, FileVersion, FolderEntry, Status};

use super::ListedLine;
use super::parse::checked;
use crate::time;

/// Parses a line of MLSD, without its end.
pub fn parse(line: &[u8]) -> ListedLine {
    let Ok(line) = str::from_utf8(line) else { return ListedLine::Unknown };
    match entry(line) {
        Some((Some(entry), _)) => checked(entry),
        Some((None, _)) => ListedLine::Nothing,
        None if line.is_empty() => ListedLine::Nothing,
        None => ListedLine::Unknown,
    }
}

/// Parses the facts in the text of a reply to MLST. The name there is a path, or the name of the
/// folder itself: it counts for nothing.
pub fn find_status(text: &str) -> Option<Status> {
    let lines = text.lines().map(|line| line.strip_prefix(' ').unwrap_or(line));
    lines
        .filter_map(|line| {
            let (_, status) = entry(line)?;
            Some(Status { version: version(line), ..status })
        })
        .next()
}

/// Returns the version that facts tell: by size and time of modification, as they are written, and
/// whatever identifies the file or its content.
fn version(line: &str) -> Option<FileVersion> {
    const DIGESTS: [&str; 4] = ["hash", "md5", "sha", "crc"];
    let (facts, _) = line.split_once(' ')?;
    let mut identity = [None, None, None, None];
    for fact in facts.split_terminator(';') {
        let name = fact.split_once('=')?.0.to_ascii_lowercase();
        let place = match &*name {
            "size" => 0,
            "modify" => 1,
            "unique" => 2,
            name if DIGESTS.iter().any(|digest| name.contains(digest)) => 3,
            _ => continue,
        };
        identity[place] = Some(fact);
    }
    let [Some(_), Some(_), ..] = identity else { return None };
    let identity: String = identity.into_iter().flatten().flat_map(|fact| [fact, ";"]).collect();
    Some(FileVersion::of(identity.as_bytes()))
}

/// Returns the entry, if the line is about something in the folder and not the folder itself or the
/// one above it, and the status.
fn entry(line: &str) -> Option<(Option<FolderEntry>, Status)> {
    // Each fact ends with a semicolon, so that the name may hold any.
    let (facts, name) = line.split_once(' ')?;
    if !facts.ends_with(';') {
        return None;
    }
    let mut status = Status::new(FileKind::Other, 0);
    let (mut of_folder, mut target, mut typed) = (true, None, false);
    for fact in facts.split_terminator(';') {
        let (fact, value) = fact.split_once('=')?;
        match () {
            () if fact.eq_ignore_ascii_case("type") => {
                typed = true;
                (status.kind, of_folder) = kind(value);
                target = link_target(value);
            }
            () if fact.eq_ignore_ascii_case("size") => {
                status.size = value.parse().ok()?;
                if !typed {
                    status.kind = FileKind::File;
                }
            }
            () if fact.eq_ignore_ascii_case("modify") => status.modified = time::parse(value),
            () if fact.eq_ignore_ascii_case("UNIX.mode") => {
                status.mode = u16::from_str_radix(value, 8).ok().map(|mode| mode & 0o777);
            }
            () if fact.eq_ignore_ascii_case("unique") => status.unique = Some(unique(value)),
            () => {}
        }
    }
    if status.kind != FileKind::File {
        status.size = 0;
    }
    let entry = FolderEntry { target, ..FolderEntry::new(name, status) };
    Some((of_folder.then_some(entry), status))
}

/// Returns the kind, and whether it is one of something in the folder.
fn kind(value: &str) -> (FileKind, bool) {
    let is = |name: &str| value.eq_ignore_ascii_case(name);
    match () {
        () if is("file") => (FileKind::File, true),
        () if is("dir") => (FileKind::Folder, true),
        () if is("cdir") || is("pdir") => (FileKind::Folder, false),
        // As servers write it: OS.unix=slink:target, OS.unix=symlink.
        () if value.to_ascii_lowercase().starts_with("os.unix=s") && value.contains("link") => {
            (FileKind::Link, true)
        }
        () => (FileKind::Other, true),
    }
}

fn link_target(value: &str) -> Option<String> {
    let (name, target) = value.split_once(':')?;
    name.to_ascii_lowercase().ends_with("link").then(|| target.into())
}

/// Returns a number for an identifier: its value if it is a hexadecimal number, and otherwise its
/// hash (FNV-1a), since only equality counts (RFC 3659 §7.5.2).
fn unique(value: &str) -> u64 {
    let hash = |hash: u64, octet: u8| (hash ^ u64::from(octet)).wrapping_mul(0x100_0000_01b3);
    u64::from_str_radix(value, 16)
        .unwrap_or_else(|_| value.bytes().fold(0xcbf2_9ce4_8422_2325, hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_in_any_case_and_order() {
        let line =
            b"Size=5;TYPE=file;x.y=z;modify=20000229000000.5;unix.mode=0640;UNIQUE=fe0Ag1;  a; b";
        let ListedLine::Entry(entry) = parse(line) else { panic!() };
        assert_eq!(entry.name, " a; b");
        let status = entry.status;
        assert_eq!((status.kind, status.size), (FileKind::File, 5));
        assert_eq!((status.modified, status.mode), (Some(951_782_400), Some(0o640)));
        assert!(status.unique.is_some_and(|number| number != unique("fe0Ag2")));
        assert_eq!(unique("ff"), 255);
        let ListedLine::Entry(link) = parse(b"type=OS.unix=slink:a/b; l") else { panic!() };
        assert_eq!((link.status.kind, link.target.as_deref()), (FileKind::Link, Some("a/b")));
    }

    #[test]
    fn the_folder_itself_is_none_of_its_entries() {
        assert_eq!(parse(b"type=cdir;modify=20000229000000; /x"), ListedLine::Nothing);
        assert_eq!(parse(b"type=pdir; .."), ListedLine::Nothing);
        assert_eq!(parse(b"type=dir; .."), ListedLine::Nothing);
        assert_eq!(parse(b""), ListedLine::Nothing);
    }

    #[test]
    fn what_is_no_entry_is_unknown() {
        for line in [&b"type=file; ../x"[..], b"type=file;", b"type=file x", b"hello", b" x"] {
            assert_eq!(parse(line), ListedLine::Unknown);
        }
        assert_eq!(parse(b"type=file;size=-1; x"), ListedLine::Unknown);
        assert_eq!(parse(b"type=file; r\xe4k"), ListedLine::Unknown);
    }

    #[test]
    fn a_status_is_found_in_a_reply() {
        let text = "Listing of /a b\n type=dir;modify=20000229000000; /a b\nEnd";
        let status = find_status(text).unwrap();
        assert_eq!((status.kind, status.modified), (FileKind::Folder, Some(951_782_400)));
        assert_eq!(find_status("Listing x\nEnd of it"), None);
    }
}
