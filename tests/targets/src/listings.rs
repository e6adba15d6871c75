//! Lines of listings.

use stackwright_contract::services::{FileKind, FolderEntry, Status};
use stackwright_ftp::listing::{ListedLine, line, parse};

use crate::Input;

/// Any text as a line, and any entry written as a line.
pub fn listings(octets: &[u8]) {
    for one in octets.split(|octet| *octet == b'\n') {
        if let ListedLine::Entry(entry) = parse(one, Some(YEAR_10000 / 2)) {
            assert!(is_name(&entry.name), "{one:?} names {:?}", entry.name);
            again(&entry, true, None);
        }
    }
    let mut input = Input(octets);
    let kind = [FileKind::File, FileKind::Folder][usize::from(input.octet() % 2)];
    let mut number = || (0..8).fold(0, |number, _| number << 8 | u64::from(input.octet()));
    // Years have four digits.
    let status = Status { modified: Some(number() % YEAR_10000), ..Status::new(kind, number()) };
    let now = Some(number() % YEAR_10000);
    let name = String::from_utf8_lossy(input.0).into_owned();
    if is_name(&name) {
        again(&FolderEntry::new(name, status), octets.len().is_multiple_of(2), now);
    }
}

/// In seconds since 1970.
const YEAR_10000: u64 = 253_402_300_800;

/// What a folder may hold, and a line can.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\r', '\n', '\0'])
}

fn again(entry: &FolderEntry, writable: bool, now: Option<u64>) {
    let written = line(entry, writable, now);
    assert!(written.ends_with("\r\n") && written.matches('\n').count() == 1);
    let ListedLine::Entry(read) = parse(written.trim_end_matches(['\r', '\n']).as_bytes(), now)
    else {
        panic!("our own line is of a known form: {written:?}")
    };
    assert_eq!(read.name, entry.name);
    if entry.status.kind == FileKind::File {
        assert_eq!(read.status.size, entry.status.size);
    }
    if entry.status.kind != FileKind::Other {
        assert_eq!(read.status.kind, entry.status.kind);
    }
}
