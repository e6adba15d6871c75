//! The form of a line of LIST, which no specification fixes (RFC 959 §4.1.3).

use alloc::string::String;
use core::str;

use stackwright_contract::services::FolderEntry;

use super::{dos, eplf, netware, unix};

/// Why a line of a listing is left out.
pub const UNREADABLE: &str = "a line of a listing that is of no known form";

/// What a line of a listing says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListedLine {
    /// A name in the folder.
    Entry(FolderEntry),
    /// Nothing that is in the folder: an empty line, a sum, the folder itself.
    Nothing,
    /// It has no known form, or a name that is none.
    Unknown,
}

/// Parses a line of LIST, without its end. `now`, in seconds since 1970, tells the year of dates
/// that have none.
pub fn parse(line: &[u8], now: Option<u64>) -> ListedLine {
    let Ok(line) = str::from_utf8(line) else { return ListedLine::Unknown };
    let entry = eplf::parse(line)
        .or_else(|| dos::parse(line))
        .or_else(|| netware::parse(line, now))
        .or_else(|| unix::parse(line, now));
    match entry {
        Some(entry) => checked(entry),
        None if sum(line).is_some() => ListedLine::Nothing,
        None => ListedLine::Unknown,
    }
}

/// Returns the system in whose form a line is that is not parsed: their listings do not tell the
/// length of a file in octets, or names that can be asked for.
pub fn system(line: &[u8]) -> Option<&'static str> {
    let line = str::from_utf8(line).ok()?;
    let words = || line.split_ascii_whitespace();
    let first = words().next()?;
    let versioned = |(_, version): (&str, &str)| {
        !version.is_empty() && version.bytes().all(|digit| digit.is_ascii_digit())
    };
    match () {
        () if first.rsplit_once(';').is_some_and(versioned) => Some("VMS"),
        () if first == "Directory" && line.contains(":[") => Some("VMS"),
        () if words().take(2).eq(["Volume", "Unit"]) => Some("MVS"),
        () if words().take(2).eq(["Name", "VV.MM"]) => Some("MVS"),
        () if words().any(|word| matches!(word, "*STMF" | "*FILE" | "*MEM" | "*DIR" | "*LIB")) => {
            Some("AS/400")
        }
        () => None,
    }
}

/// Lets an entry pass if its name is one: a name that is a path would lead elsewhere.
pub(super) fn checked(entry: FolderEntry) -> ListedLine {
    match entry.name.as_str() {
        "." | ".." => ListedLine::Nothing,
        name if name.is_empty() || name.contains(['/', '\r', '\n', '\0']) => ListedLine::Unknown,
        _ => ListedLine::Entry(entry),
    }
}

/// Returns the number in a sum of blocks in any language, `total 12`; of an empty line, 0.
pub fn sum(line: &str) -> Option<u64> {
    let mut words = line.split_ascii_whitespace();
    match (words.next(), words.next(), words.next()) {
        (None, ..) => Some(0),
        (Some(word), Some(number), None) if word.chars().all(char::is_alphabetic) => {
            let digits: String =
                number.chars().filter(|digit| !matches!(digit, '.' | ',')).collect();
            // Also where it has a unit, or is larger than any number.
            let is_number = digits.bytes().all(|digit| digit.is_ascii_digit());
            is_number.then(|| digits.parse().unwrap_or(u64::MAX))
        }
        _ => None,
    }
}

/// The words of a line that blanks or tabs separate, and what is behind each.
pub(super) struct Words<'a>(pub(super) &'a str);

impl<'a> Words<'a> {
    const BLANKS: [char; 2] = [' ', '\t'];

    /// What is behind the words taken so far and one blank: a name may begin with blanks.
    pub(super) fn rest(&self) -> Option<&'a str> {
        self.0.strip_prefix(Self::BLANKS)
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start_matches(Self::BLANKS);
        let (word, rest) = text.split_at(text.find(Self::BLANKS).unwrap_or(text.len()));
        self.0 = rest;
        (!word.is_empty()).then_some(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use stackwright_contract::services::FileKind;

    use crate::time;

    /// 2026-07-20.
    const NOW: Option<u64> = Some(1_784_505_600);

    fn entry(line: &str) -> FolderEntry {
        match parse(line.as_bytes(), NOW) {
            ListedLine::Entry(entry) => entry,
            other => panic!("{line:?}: {other:?}"),
        }
    }

    #[track_caller]
    fn is(line: &str, name: &str, kind: FileKind, size: u64) {
        let entry = entry(line);
        let status = entry.status;
        assert_eq!((&*entry.name, status.kind, status.size), (name, kind, size), "{line:?}");
    }

    #[test]
    fn every_known_form() {
        use FileKind::{File, Folder, Link, Other};
        is("-rw-r--r--   1 u g 5 Jan 15 08:00 a b", "a b", File, 5);
        is("drwxr-xr-x 2 u g 4096 Jan  1  2020 d", "d", Folder, 0);
        is("-rw-r--r--   1 user         5 Jan 15 08:00 eight", "eight", File, 5);
        is("-rw-r--r--\t1\tu\tg\t5\tJan 15 08:00\ttab", "tab", File, 5);
        is("-rw-r--r-- 1 u g 5 JAN 15 08:00 capitals", "capitals", File, 5);
        is("-rw-r--r-- 1 u g 5 M\u{e4}r 15 08:00 german", "german", File, 5);
        is("-rw-r--r-- 1 u g 5 2020-01-15 08:00 iso", "iso", File, 5);
        is("-rw-r--r-- 1 u g 5 15 Jan 08:00 day", "day", File, 5);
        is("-rw-r--r--   1 user domain users  5 Jan 15 08:00 group", "group", File, 5);
        is("-rw-------+   1 9469            0 May  6  2011 .X", ".X", File, 0);
        is("-rw-r--r-- 1 u g 18446744073709551615 Jan 15 08:00 max", "max", File, u64::MAX);
        is("crw-rw-rw- 1 root root 1, 3 Jan 15 08:00 null", "null", Other, 0);
        is("-rw-r--r-- 1 u g 5 Jan 15 08:00  lead ", " lead ", File, 5);
        is("07-20-26  09:52AM       <DIR>          Docs", "Docs", Folder, 0);
        is("07-20-26  09:52AM             1234 a file.txt", "a file.txt", File, 1234);
        is("2026-07-20  09:52       1,234 x", "x", File, 1234);
        is("+i8388621.48594,m825718503,r,s280,\tdjb.html", "djb.html", File, 280);
        is("+i8388621.50690,m824255907,/,\t514", "514", Folder, 0);
        is("d [RWCEAFMS] admin       512 Jan 16 18:53 login", "login", Folder, 0);
        is("- [RWCEAFMS] admin    214059 Oct 20 15:27 cx.exe", "cx.exe", File, 214_059);
        is("lrwxrwxrwx 1 0 0 4 Nov 21 03:44 link -> a b", "link", Link, 0);
        assert_eq!(
            entry("lrwxrwxrwx 1 0 0 4 Nov 21 03:44 l -> a b").target.as_deref(),
            Some("a b")
        );
        assert_eq!(entry("-rwxr-s--T 1 0 0 4 Nov 21 03:44 x").status.mode, Some(0o750));
        assert_eq!(entry("+m825718503,r,s280,\tx").status.modified, Some(825_718_503));
    }

    /// Each form of a date, in the middle of 2026: its time, and how exact it is.
    #[test]
    fn dates_are_read() {
        for (date, told, rough) in [
            ("Jan 15 08:05", "20260115080500", 60),
            ("Dec 31 23:59", "20251231235900", 60),
            ("Jan 15  2020", "20200115000000", 86_400),
            ("15 Jan 08:05", "20260115080500", 60),
            ("15. M\u{e4}r 2020", "20200315000000", 86_400),
            ("2020-01-15 08:05", "20200115080500", 60),
            ("2020-01-15 08:05:30", "20200115080530", 1),
            ("2020-01-15 08:05:30.123456789 +0130", "20200115063530", 0),
            ("2020-01-15 08:05:30.0 -0800", "20200115160530", 0),
        ] {
            let status = entry(&format!("-rw-r--r-- 1 u g 5 {date} a b")).status;
            assert_eq!((status.modified, status.rough), (time::parse(told), rough), "{date}");
            assert_eq!(entry(&format!("-rw-r--r-- 1 u g 5 {date} a b")).name, "a b", "{date}");
        }
        for (line, told) in [
            ("07-20-26  09:52AM             1234 x", "20260720095200"),
            ("07-20-2026  09:52PM             1234 x", "20260720215200"),
            ("12-31-99  12:00AM       <DIR>          x", "19991231000000"),
            ("2026-07-20  09:52       1,234 x", "20260720095200"),
            ("20.07.2026  09:52       1234 x", "20260720095200"),
            ("- [RWCEAFMS] admin    214059 Oct 20 15:27 x", "20251020152700"),
        ] {
            let status = entry(line).status;
            assert_eq!((status.modified, status.rough), (time::parse(told), 60), "{line}");
        }
        // What cannot be read is not known, and the line is one all the same.
        for date in ["Foo 15 08:05", "Feb 30 08:05", "2020-13-15 08:05", "Feb 30  2020"] {
            let entry = entry(&format!("-rw-r--r-- 1 u g 5 {date} x"));
            assert_eq!((&*entry.name, entry.status.modified), ("x", None), "{date}");
        }
    }

    #[test]
    fn listings_of_systems_that_are_not_parsed_are_known() {
        for (line, of) in [
            ("A.TXT;1    2/4    12-MAR-2020 10:00:00  [1,4] (RWED,RWED,RE,RE)", Some("VMS")),
            ("Directory DKA0:[ANONYMOUS]", Some("VMS")),
            ("Volume Unit    Referred Ext Used Recfm Lrecl BlkSz Dsorg Dsname", Some("MVS")),
            (" Name     VV.MM   Created       Changed      Size  Init   Mod   Id", Some("MVS")),
            ("QSYS            77824 02/23/00 15:09:55 *DIR       home/", Some("AS/400")),
            ("hello", None),
            ("a;b", None),
        ] {
            assert_eq!(system(line.as_bytes()), of, "{line}");
            assert_eq!(parse(line.as_bytes(), NOW), ListedLine::Unknown, "{line}");
        }
    }

    #[test]
    fn what_is_nothing_is_not_unknown() {
        for nothing in ["", "total 12", "insgesamt 4", "drwxr-xr-x 2 u g 5 Jan 15 08:00 .", "\t"] {
            assert_eq!(parse(nothing.as_bytes(), NOW), ListedLine::Nothing, "{nothing}");
        }
    }

    #[test]
    fn what_has_no_known_form_or_a_path_for_a_name_is_unknown() {
        for unknown in [
            "hello",
            "ls: cannot access 'x': No such file or directory",
            "Volume Unit    Referred Ext Used Recfm Lrecl BlkSz Dsorg Dsname",
            "A.TXT;1    2/4    12-MAR-2020 10:00:00  [1,4] (RWED,RWED,RE,RE)",
            "-rw-r--r-- 1 u g 5 Jan 15 08:00 ../x",
            "-rw-r--r-- 1 u g 5 Jan 15 08:00 /pub/x",
            "-rw-r--r-- 1 u g 5 Jan 15 08:00 ",
            "-rw-r--r-- 1 u g 5 Jan 15 08:00",
            "-rw-r--r-- 1 u g -1 Jan 15 08:00 negative",
            "-rw-r--r-- 1 u g 99999999999999999999 Jan 15 08:00 over",
            "+r,s280 no tab",
            "+,\t..\u{0}",
        ] {
            assert_eq!(parse(unknown.as_bytes(), NOW), ListedLine::Unknown, "{unknown}");
        }
        assert_eq!(parse(b"-rw-r--r-- 1 u g 5 Jan 15 08:00 r\xe4k", NOW), ListedLine::Unknown);
    }

    #[test]
    fn no_line_is_too_odd() {
        let line = "-rw-r--r-- 1 u g 5 Jan 15 08:00 \u{e4}x -> \u{20ac}";
        for (start, _) in line.char_indices() {
            for (end, _) in line.char_indices().filter(|(end, _)| *end >= start) {
                parse(&line.as_bytes()[start..end], NOW);
                parse(format!("+{}", &line[start..end]).as_bytes(), NOW);
            }
        }
    }
}
