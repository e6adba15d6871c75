//! The Easily Parsed LIST Format (D. J. Bernstein): `+i8388621.48594,m825718503,r,s280,` and,
//! behind a tab, the name.

use stackwright_contract::services::{FileKind, FolderEntry, Status};

pub(super) fn parse(line: &str) -> Option<FolderEntry> {
    let (facts, name) = line.strip_prefix('+')?.split_once('\t')?;
    let mut status = Status::new(FileKind::Other, 0);
    for fact in facts.split(',') {
        match fact.as_bytes().first() {
            Some(b'/') => status.kind = FileKind::Folder,
            Some(b'r') => status.kind = FileKind::File,
            Some(b's') => status.size = fact[1..].parse().ok()?,
            Some(b'm') => status.modified = fact[1..].parse().ok(),
            _ => {}
        }
    }
    if status.kind != FileKind::File {
        status.size = 0;
    }
    Some(FolderEntry::new(name, status))
}
