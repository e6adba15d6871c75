//! Listings of folders, in the form of `ls -l`, which every client parses.

use alloc::format;
use alloc::string::String;

use stackwright_contract::services::{FileKind, FolderEntry, Status};

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const DAY: u64 = 86_400;

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

/// Parses a line of LIST: nine columns, of which the name may contain spaces. `None` where it is of
/// another form.
pub fn parse(line: &str) -> Option<FolderEntry> {
    let mut rest = line;
    let mut columns = [""; 8];
    for column in &mut columns {
        rest = rest.trim_start_matches(' ');
        let end = rest.find(' ')?;
        (*column, rest) = rest.split_at(end);
    }
    let mut name = rest.strip_prefix(' ')?;
    let kind = match columns[0].as_bytes().first()? {
        b'-' => FileKind::File,
        b'd' => FileKind::Folder,
        b'l' => {
            name = name.split(" -> ").next()?;
            FileKind::Other
        }
        b'b' | b'c' | b'p' | b's' => FileKind::Other,
        _ => return None,
    };
    if name.is_empty()
        || name == "."
        || name == ".."
        || name.contains(['/', '\r', '\0'])
        || !MONTHS.contains(&columns[5])
    {
        return None;
    }
    let size = columns[4].parse().ok()?;
    // The date has no year, or no time: what is not known is not made up.
    Some(FolderEntry::new(name, Status::new(kind, size)))
}

/// Returns year, month from 0 and day from 1 of a day since 1970-01-01, in the Gregorian calendar
/// (the era method: 400 years are 146 097 days, and years begin in March so that the odd day comes
/// last).
fn date(day: u64) -> (u64, usize, u64) {
    let day = day + 719_468;
    let era = day / 146_097;
    let of_era = day % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year_later, month) = if month < 10 { (0, month + 2) } else { (1, month - 10) };
    (era * 400 + year_of_era + year_later, month as usize, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, kind: FileKind, size: u64, modified: u64) -> FolderEntry {
        let status = Status { modified: Some(modified), ..Status::new(kind, size) };
        FolderEntry::new(name, status)
    }

    #[test]
    fn dates() {
        assert_eq!(date(0), (1970, 0, 1));
        assert_eq!(date(951_782_400 / DAY), (2000, 1, 29));
        assert_eq!(date(951_868_800 / DAY), (2000, 2, 1));
        assert_eq!(date(4_107_456_000 / DAY), (2100, 1, 28));
        assert_eq!(date(4_107_542_400 / DAY), (2100, 2, 1));
        assert_eq!(date(1_767_225_599 / DAY), (2025, 11, 31));
    }

    #[test]
    fn a_line_is_read_as_it_was_written() {
        for one in [
            entry("a b  c", FileKind::File, 1 << 40, 1_700_000_000),
            entry("d", FileKind::Folder, 0, 1_800_000_000),
        ] {
            let text = line(&one, true, Some(1_800_000_100));
            let read = parse(text.trim_end()).unwrap();
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
    fn strangers_lines() {
        let read =
            parse("lrwxrwxrwx    1 0        0               4 Nov 21 03:44 link -> real").unwrap();
        assert_eq!((read.name.as_str(), read.status.kind), ("link", FileKind::Other));
        assert!(parse("total 12").is_none());
        assert!(parse("-rw-r--r-- 1 0 0 4 Nov 21 03:44 ../x").is_none());
        assert!(parse("").is_none());
    }
}
