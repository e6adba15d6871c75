//! Listings of folders: written in the form of `ls -l`, which every client parses, and read in
//! every form that is known.
//!
//! | file | form |
//! | --- | --- |
//! | `unix.rs` | `ls -l`, in its variants |
//! | `dos.rs` | `dir`, as IIS writes it |
//! | `eplf.rs` | Easily Parsed LIST Format |
//! | `netware.rs` | NetWare |
//! | `facts.rs` | MLST and MLSD (RFC 3659 §7) |
//! | `parse.rs` | which of them a line has |

mod dos;
mod eplf;
pub mod facts;
mod netware;
mod parse;
mod unix;

pub use parse::{Line, UNREADABLE, parse};

use alloc::format;
use alloc::string::String;

use stackwright_contract::services::{FileKind, FolderEntry, Status};

use crate::time::{DAY, date};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Half a year: older entries show the year in place of the time.
const RECENT: u64 = 182 * DAY;

/// Formats a line of LIST, with its end. `now` is in seconds since 1970, where it is known.
pub fn line(entry: &FolderEntry, writable: bool, now: Option<u64>) -> String {
    let Status { kind, size, modified, .. } = entry.status;
    let mode = match (kind, writable) {
        (FileKind::Folder, true) => "drwxr-xr-x",
        (FileKind::Folder, false) => "dr-xr-xr-x",
        (_, true) => "-rw-r--r--",
        (_, false) => "-r--r--r--",
    };
    let modified = modified.unwrap_or(0);
    let (year, month, day) = date(modified / DAY);
    let month = MONTHS[month];
    let recent = now.is_some_and(|now| modified <= now && now - modified < RECENT);
    let when = if recent {
        format!("{:02}:{:02}", modified % DAY / 3600, modified % 3600 / 60)
    } else {
        format!("{year:>5}")
    };
    format!("{mode}   1 ftp      ftp      {size:>12} {month} {day:>2} {when} {}\r\n", entry.name)
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
            let Line::Entry(read) = parse(text.trim_end().as_bytes()) else { panic!("{text}") };
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
}
