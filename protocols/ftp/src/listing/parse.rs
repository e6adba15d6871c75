//! The form of a line of LIST, which no specification fixes (RFC 959 §4.1.3).

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

/// Parses a line of LIST, without its end.
pub fn parse(line: &[u8]) -> ListedLine {
    let Ok(line) = str::from_utf8(line) else { return ListedLine::Unknown };
    let forms = [eplf::parse, dos::parse, netware::parse, unix::parse];
    match forms.into_iter().find_map(|form| form(line)) {
        Some(entry) => checked(entry),
        None if is_sum(line) => ListedLine::Nothing,
        None => ListedLine::Unknown,
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

/// Returns whether a line is empty, or a sum of blocks in any language: `total 12`.
fn is_sum(line: &str) -> bool {
    let mut words = line.split_ascii_whitespace();
    match (words.next(), words.next(), words.next()) {
        (None, ..) => true,
        (Some(word), Some(number), None) => {
            word.chars().all(char::is_alphabetic)
                && number.chars().all(|digit| digit.is_ascii_digit() || matches!(digit, '.' | ','))
        }
        _ => false,
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

    fn entry(line: &str) -> FolderEntry {
        match parse(line.as_bytes()) {
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

    #[test]
    fn what_is_nothing_is_not_unknown() {
        for nothing in ["", "total 12", "insgesamt 4", "drwxr-xr-x 2 u g 5 Jan 15 08:00 .", "\t"] {
            assert_eq!(parse(nothing.as_bytes()), ListedLine::Nothing, "{nothing}");
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
            assert_eq!(parse(unknown.as_bytes()), ListedLine::Unknown, "{unknown}");
        }
        assert_eq!(parse(b"-rw-r--r-- 1 u g 5 Jan 15 08:00 r\xe4k"), ListedLine::Unknown);
    }

    #[test]
    fn no_line_is_too_odd() {
        let line = "-rw-r--r-- 1 u g 5 Jan 15 08:00 \u{e4}x -> \u{20ac}";
        for (start, _) in line.char_indices() {
            for (end, _) in line.char_indices().filter(|(end, _)| *end >= start) {
                parse(&line.as_bytes()[start..end]);
                parse(format!("+{}", &line[start..end]).as_bytes());
            }
        }
    }
}
