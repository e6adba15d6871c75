//! Listings of folders: written in the form of `ls -l`, which every client parses, and read in
//! every form that is known.
//!
//! | file | form |
//! | --- | --- |
//! | `unix.rs` | `ls -l`, in its variants |
//! | `date.rs` | their dates |
//! | `dos.rs` | `dir`, as IIS writes it |
//! | `eplf.rs` | Easily Parsed LIST Format |
//! | `netware.rs` | NetWare |
//! | `facts.rs` | MLST and MLSD (RFC 3659 §7) |
//! | `parse.rs` | which of them a line has |

mod date;
mod dos;
mod eplf;
pub mod facts;
mod netware;
mod parse;
mod unix;

pub use parse::{ListedLine, UNREADABLE, parse, sum, system};

use alloc::format;
use alloc::string::String;
use core::iter;

use stackwright_contract::services::{FileKind, FolderEntry, Status};

use crate::time::{DAY, date};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Half a year: older entries show the year in place of the time.
const RECENT: u64 = 182 * DAY;

/// How far ahead of this clock a file may be modified and still count as recent: its time may come
/// from another clock, or be a fraction of a second later.
const AHEAD: u64 = 60;

/// Formats a line of LIST, with its end. `now` is in seconds since 1970, where it is known.
pub fn line(entry: &FolderEntry, writable: bool, now: Option<u64>) -> String {
    let Status { kind, size, modified, mode, .. } = entry.status;
    let usual = if writable { 0o644 } else { 0o444 };
    let mode = permissions(kind, mode.unwrap_or(usual | execute(kind)));
    let modified = modified.unwrap_or(0);
    let (year, month, day) = date(modified / DAY);
    let month = MONTHS[month];
    let recent = now.is_some_and(|now| {
        modified <= now.saturating_add(AHEAD) && now.saturating_sub(modified) < RECENT
    });
    let when = if recent {
        format!("{:02}:{:02}", modified % DAY / 3600, modified % 3600 / 60)
    } else {
        format!("{year:>5}")
    };
    let (name, arrow, target) = match &entry.target {
        Some(target) if !target.contains(['\r', '\n', '\0']) => {
            (&entry.name, " -> ", target.as_str())
        }
        _ => (&entry.name, "", ""),
    };
    format!(
        "{mode}   1 ftp      ftp      {size:>12} {month} {day:>2} {when} {name}{arrow}{target}\r\n"
    )
}

fn execute(kind: FileKind) -> u16 {
    if kind == FileKind::Folder { 0o111 } else { 0 }
}

/// Formats kind and permissions as `ls` does: `drwxr-xr-x`.
fn permissions(kind: FileKind, mode: u16) -> String {
    let first = match kind {
        FileKind::File | FileKind::Other => '-',
        FileKind::Folder => 'd',
        FileKind::Link => 'l',
    };
    let mode = if kind == FileKind::Link { 0o777 } else { mode };
    let bit = |nth: u16| {
        if mode >> (8 - nth) & 1 == 1 { ['r', 'w', 'x'][usize::from(nth % 3)] } else { '-' }
    };
    iter::once(first).chain((0..9).map(bit)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, kind: FileKind, size: u64, modified: u64) -> FolderEntry {
        let status = Status { modified: Some(modified), ..Status::new(kind, size) };
        FolderEntry::new(name, status)
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        for one in [
            entry("a b  c", FileKind::File, 1 << 40, 1_700_000_000),
            entry("d", FileKind::Folder, 0, 1_800_000_000),
        ] {
            let text = line(&one, true, Some(1_800_000_100));
            let ListedLine::Entry(read) = parse(text.trim_end().as_bytes(), Some(1_800_000_100))
            else {
                panic!("{text}")
            };
            assert_eq!(
                (read.name, read.status.kind, read.status.size),
                (one.name, one.status.kind, one.status.size)
            );
        }
        assert_eq!(
            line(&entry("x", FileKind::File, 5, 1_800_000_000), false, Some(1_800_000_100)),
            "-r--r--r--   1 ftp      ftp                 5 Jan 15 08:00 x\r\n"
        );
    }

    #[test]
    fn a_file_of_this_very_second_shows_the_time() {
        let young = entry("x", FileKind::File, 5, 1_800_000_000);
        assert!(line(&young, false, Some(1_799_999_999)).contains("Jan 15 08:00 x"));
        assert!(line(&young, false, Some(1_799_999_000)).contains("Jan 15  2027 x"));
    }

    #[test]
    fn modes_and_links_are_shown_as_they_are() {
        let mut link = entry("x", FileKind::Link, 3, 0);
        link.target = Some("a b".into());
        let text = line(&link, true, Some(1_800_000_000));
        assert!(text.starts_with("lrwxrwxrwx ") && text.ends_with(" 1970 x -> a b\r\n"), "{text}");
        let mut file = entry("x", FileKind::File, 3, 0);
        file.status.mode = Some(0o750);
        assert!(line(&file, true, None).starts_with("-rwxr-x--- "));
        let folder = entry("x", FileKind::Folder, 0, 0);
        assert!(line(&folder, true, None).starts_with("drwxr-xr-x "));
        assert!(line(&folder, false, None).starts_with("dr-xr-xr-x "));
    }
}
