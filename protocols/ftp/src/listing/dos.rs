//! `dir` of DOS, as IIS writes it: `07-20-26  09:52AM       <DIR>          Docs`.

use alloc::string::String;

use stackwright_contract::services::{FileKind, FolderEntry, Status};

use super::date::{self, Clock, When};
use super::parse::Words;

pub(super) fn parse(line: &str) -> Option<FolderEntry> {
    let mut words = Words(line);
    let (date, time) = (words.next()?, words.next()?);
    let is_digit = |octet: u8| octet.is_ascii_digit();
    let is_date = matches!(date.len(), 8 | 10)
        && date.bytes().all(|octet| is_digit(octet) || b"-/.".contains(&octet))
        && date.bytes().filter(|octet| is_digit(*octet)).count() == date.len() - 2;
    let clock = time.trim_end_matches(['A', 'P', 'M', 'a', 'p', 'm']);
    let is_time = clock.len() == 5
        && clock.as_bytes()[2] == b':'
        && clock.bytes().filter(|octet| is_digit(*octet)).count() == 4;
    if !(is_date && is_time) {
        return None;
    }
    let size = words.next()?;
    let (kind, size) = match size {
        "<DIR>" | "<JUNCTION>" | "<SYMLINKD>" => (FileKind::Folder, 0),
        size => {
            let digits: String = size.chars().filter(|digit| !matches!(digit, ',' | '.')).collect();
            (FileKind::File, digits.parse().ok()?)
        }
    };
    let name = words.rest()?;
    // The column of the size is as wide as that of `<DIR>` and the blanks behind it.
    let name = if kind == FileKind::Folder { name.trim_start_matches(' ') } else { name };
    let when = Clock::parse(time).and_then(|clock| day(date, clock));
    Some(FolderEntry::new(name, When::of(when, Status::new(kind, size))))
}

/// Parses `07-20-26`, `07-20-2026`, `2026-07-20`, and `20.07.2026`, in which the day is first.
fn day(date: &str, clock: Clock) -> Option<When> {
    let mut numbers =
        date.split(['-', '/', '.']).map(|number| (number.len(), number.parse::<u64>()));
    let mut number = || numbers.next().and_then(|(digits, number)| Some((digits, number.ok()?)));
    let ((digits, first), (_, second), (_, third)) = (number()?, number()?, number()?);
    let (year, month, day) = match digits {
        4 => (first, second, third),
        _ if first > 12 || date.contains('.') => (third, second, first),
        _ => (third, first, second),
    };
    let year = match year {
        70..100 => 1900 + year,
        0..70 => 2000 + year,
        year => year,
    };
    date::at(year, month.checked_sub(1)?, day, clock)
}
