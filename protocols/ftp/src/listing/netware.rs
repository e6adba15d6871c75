//! NetWare: `d [RWCEAFMS] admin   512 Jan 16 18:53 login`.

use stackwright_contract::services::{FileKind, FolderEntry};

use super::parse::Words;
use super::unix;

pub(super) fn parse(line: &str, now: Option<u64>) -> Option<FolderEntry> {
    let mut words = Words(line);
    let kind = match words.next()? {
        "d" => FileKind::Folder,
        "-" => FileKind::File,
        _ => return None,
    };
    let rights = words.next()?;
    if !(rights.starts_with('[') && rights.ends_with(']')) {
        return None;
    }
    unix::behind_the_owner(kind, words, now)
}
