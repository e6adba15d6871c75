//! `ls -l`: with and without a group, in any language, with dates as people of any country write
//! them.

use alloc::string::String;

use stackwright_contract::services::{FileKind, FolderEntry, Status};

use super::date::{self, Clock, When};
use super::parse::Words;

pub(super) fn parse(line: &str, now: Option<u64>) -> Option<FolderEntry> {
    let mut words = Words(line);
    let mode = words.next()?;
    let kind = kind(mode)?;
    let mut entry = behind_the_owner(kind, words, now)?;
    if kind == FileKind::Link
        && let Some((name, target)) = entry.name.split_once(" -> ")
    {
        (entry.target, entry.name) = (Some(target.into()), String::from(name));
    }
    entry.status.mode = Some(permissions(mode));
    Some(entry)
}

/// Parses size, date and name, which are behind the owner: a group may be absent, or have blanks.
pub(super) fn behind_the_owner(
    kind: FileKind,
    mut words: Words<'_>,
    now: Option<u64>,
) -> Option<FolderEntry> {
    loop {
        let size = words.next()?;
        let Some((name, when)) = behind_the_date(Words(words.0), now) else { continue };
        let size: u64 = size.parse().ok()?;
        let size = if kind == FileKind::File { size } else { 0 };
        return Some(FolderEntry::new(name, When::of(when, Status::new(kind, size))));
    }
}

/// Returns what is behind a date, where the words are one: `Jan 15 08:00`, `15 Jan 2020`,
/// `2020-01-15 08:00`, `2020-01-15 08:00:30.5 +0100`; and the date, as far as it is told.
fn behind_the_date(mut words: Words<'_>, now: Option<u64>) -> Option<(&str, Option<When>)> {
    let first = words.next()?;
    let second = words.next()?;
    if is_iso(first) && is_time(second) {
        let numbers = || first.split('-').map(|number| number.parse::<u64>().ok());
        let mut numbers = numbers();
        let mut number = || numbers.next().flatten();
        let date = number().zip(number()).zip(number());
        let when = date.zip(Clock::parse(second)).and_then(|(((year, month), day), clock)| {
            date::at(year, month.checked_sub(1)?, day, clock)
        });
        let mut behind = Words(words.0);
        let in_zone = behind.next().zip(when).and_then(|(zone, when)| date::in_zone(when, zone));
        return match (in_zone, behind.rest()) {
            (Some(when), Some(name)) => Some((name, Some(when))),
            _ => Some((words.rest()?, when)),
        };
    }
    let is_month = |word: &str| {
        word.chars().all(|letter| letter.is_alphabetic() || letter == '.') && word.len() <= 24
    };
    let (month, day) = match () {
        () if is_month(first) && is_day(second) => (first, second),
        () if is_day(first) && is_month(second) => (second, first),
        () => return None,
    };
    let third = words.next().filter(|third| is_time(third) || is_number(third, 4))?;
    let when = date::month(month).and_then(|month| {
        let day = day.trim_end_matches(['.', ',']).parse().ok()?;
        match is_time(third) {
            true => date::last(month, day, Clock::parse(third)?, now),
            false => date::at(third.parse().ok()?, month, day, Clock::WHOLE_DAY),
        }
    });
    Some((words.rest()?, when))
}

fn is_number(word: &str, digits: usize) -> bool {
    word.len() == digits && word.bytes().all(|octet| octet.is_ascii_digit())
}

fn is_day(word: &str) -> bool {
    let word = word.trim_end_matches(['.', ',']);
    (is_number(word, 1) || is_number(word, 2)) && (1..=31).contains(&word.parse().unwrap_or(0))
}

fn is_time(word: &str) -> bool {
    let mut parts = word.split(':');
    let hour = parts.next().is_some_and(|hour| is_number(hour, 1) || is_number(hour, 2));
    hour && parts.next().is_some_and(|minute| is_number(minute, 2))
}

fn is_iso(word: &str) -> bool {
    let mut parts = word.split('-');
    let mut number = |digits| parts.next().is_some_and(|part| is_number(part, digits));
    number(4) && number(2) && number(2) && parts.next().is_none()
}

fn kind(mode: &str) -> Option<FileKind> {
    let permissions = mode.get(1..10)?;
    if !permissions.bytes().all(|octet| b"-rwxsStTlL".contains(&octet)) {
        return None;
    }
    Some(match mode.as_bytes()[0] {
        b'-' => FileKind::File,
        b'd' => FileKind::Folder,
        b'l' => FileKind::Link,
        b'b' | b'c' | b'p' | b's' | b'D' => FileKind::Other,
        _ => return None,
    })
}

/// Returns the permissions that `rwxr-s--T` stands for.
fn permissions(mode: &str) -> u16 {
    let bits = mode.bytes().skip(1).take(9).map(|octet| !b"-STlL".contains(&octet));
    bits.fold(0, |mode, bit| mode << 1 | u16::from(bit))
}
