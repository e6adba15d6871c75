//! The dates of listings, which have no time zone, and some of them no year or no time of day.

use stackwright_contract::services::Status;

use crate::time::{self, DAY};

/// How far ahead of this clock a file may be modified and still be of this year: by its zone, and
/// by a clock that is not quite right.
const AHEAD: u64 = DAY + 3600;

/// The names of months, as far as they tell one from the other: of English, German, French,
/// Spanish, Italian, Portuguese, Dutch and Swedish. The longest that fits counts.
const MONTHS: [(&str, u64); 33] = [
    ("jan", 0),
    ("ene", 0),
    ("gen", 0),
    ("feb", 1),
    ("f\u{e9}v", 1),
    ("fev", 1),
    ("mar", 2),
    ("m\u{e4}r", 2),
    ("mrz", 2),
    ("mrt", 2),
    ("apr", 3),
    ("avr", 3),
    ("abr", 3),
    ("mai", 4),
    ("may", 4),
    ("mag", 4),
    ("mei", 4),
    ("maj", 4),
    ("jun", 5),
    ("juin", 5),
    ("giu", 5),
    ("jul", 6),
    ("juil", 6),
    ("lug", 6),
    ("aug", 7),
    ("ao\u{fb}", 7),
    ("ago", 7),
    ("se", 8),
    ("o", 9),
    ("nov", 10),
    ("dec", 11),
    ("d\u{e9}c", 11),
    ("d", 11),
];

/// When a file was modified, as a list shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct When {
    /// As if its zone were UTC, in seconds since 1970.
    pub(super) seconds: u64,
    /// How many seconds later it may be; 0 where the zone is known, too.
    pub(super) rough: u32,
}

impl When {
    /// Returns the status of a file with this time, where there is one.
    pub(super) fn of(when: Option<Self>, status: Status) -> Status {
        let rough = when.map_or(0, |when| when.rough);
        Status { modified: when.map(|when| when.seconds), rough, ..status }
    }
}

/// Returns the month of a name, from 0.
pub(super) fn month(name: &str) -> Option<u64> {
    let name = name.to_lowercase();
    let of = MONTHS.iter().filter(|(begin, _)| name.starts_with(begin));
    of.max_by_key(|(begin, _)| begin.len()).map(|(_, month)| *month)
}

/// Returns a date with its time of day; the month counts from 0.
pub(super) fn at(year: u64, month: u64, day: u64, clock: Clock) -> Option<When> {
    let midnight = time::day_of(year, month, day)? * DAY;
    Some(When { seconds: midnight + clock.seconds, rough: clock.rough })
}

/// Returns a date without a year: it is the last that was, by the time `now`.
pub(super) fn last(month: u64, day: u64, clock: Clock, now: Option<u64>) -> Option<When> {
    let now = now?;
    let (year, ..) = time::date(now / DAY);
    // It may be next year there already, and 29 February is not in every year.
    let years = (0..=9).filter_map(|back| at((year + 1).checked_sub(back)?, month, day, clock));
    years.into_iter().find(|when| when.seconds <= now + AHEAD)
}

/// A time of day, and how many seconds later it may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Clock {
    pub(super) seconds: u64,
    rough: u32,
}

impl Clock {
    /// That of a date which tells none.
    pub(super) const WHOLE_DAY: Self = Clock { seconds: 0, rough: DAY as u32 };

    /// Parses `08:00`, `8:00:30`, `08:00:30.5`, `09:52PM`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
        let afternoon = match &text[digits.len()..] {
            "" => None,
            half if half.eq_ignore_ascii_case("AM") => Some(false),
            half if half.eq_ignore_ascii_case("PM") => Some(true),
            _ => return None,
        };
        let mut parts = digits.split('.').next()?.split(':');
        let mut number = |most: u64| {
            let part = parts.next()?;
            let is_number = matches!(part.len(), 1 | 2) && part.bytes().all(|c| c.is_ascii_digit());
            part.parse().ok().filter(|number| is_number && *number <= most)
        };
        let (hour, minute, second) = (number(23)?, number(59)?, number(60));
        let hour = match afternoon {
            Some(afternoon) => hour % 12 + if afternoon { 12 } else { 0 },
            None => hour,
        };
        let rough = if second.is_some() { 1 } else { 60 };
        Some(Clock { seconds: hour * 3600 + minute * 60 + second.unwrap_or(0), rough })
    }
}

/// Takes away the zone of a time, `+0100`, that a list tells behind it.
pub(super) fn in_zone(when: When, zone: &str) -> Option<When> {
    let (sign, digits) = zone.split_at_checked(1)?;
    let is_number = digits.len() == 4 && digits.bytes().all(|digit| digit.is_ascii_digit());
    let number: u64 = digits.parse().ok().filter(|_| is_number)?;
    let offset = number / 100 * 3600 + number % 100 * 60;
    let seconds = match sign {
        "+" => when.seconds.checked_sub(offset)?,
        "-" => when.seconds.checked_add(offset)?,
        _ => return None,
    };
    // To the minute, it is still not known to the second.
    Some(When { seconds, rough: if when.rough == 1 { 0 } else { when.rough } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_have_names_in_many_languages() {
        for (name, number) in [
            ("Jan", 0),
            ("MAY", 4),
            ("M\u{e4}rz", 2),
            ("juin", 5),
            ("juil.", 6),
            ("ao\u{fb}t", 7),
            ("Okt", 9),
            ("out", 9),
            ("set", 8),
            ("Dez", 11),
            ("dic", 11),
            ("d\u{e9}c.", 11),
        ] {
            assert_eq!(month(name), Some(number), "{name}");
        }
        assert_eq!(month("xyz"), None);
    }

    #[test]
    fn a_date_without_a_year_is_the_last_one() {
        let clock = Clock::parse("08:00").expect("a time");
        let year = |month, day, now: &str| {
            let now = time::parse(now).expect("a time");
            last(month, day, clock, Some(now)).map(|when| time::date(when.seconds / DAY).0)
        };
        assert_eq!(year(0, 15, "20260120000000"), Some(2026));
        assert_eq!(year(11, 31, "20260101000000"), Some(2025), "the year before");
        assert_eq!(year(0, 1, "20251231230000"), Some(2026), "its zone is ahead");
        assert_eq!(year(0, 3, "20251231230000"), Some(2025));
        assert_eq!(year(1, 29, "20260301000000"), Some(2024), "only that year had one");
        assert_eq!(year(1, 30, "20260301000000"), None);
        assert_eq!(last(0, 15, clock, None), None, "it is not known what year it is");
    }

    #[test]
    fn times_of_day() {
        let seconds = |text| Clock::parse(text).map(|clock| (clock.seconds, clock.rough));
        assert_eq!(seconds("08:00"), Some((28_800, 60)));
        assert_eq!(seconds("8:00:30.25"), Some((28_830, 1)));
        assert_eq!(seconds("12:01AM"), Some((60, 60)));
        assert_eq!(seconds("09:52PM"), Some((78_720, 60)));
        for wrong in ["", "8", "24:00", "08:60", "a:b", "08:0x"] {
            assert_eq!(seconds(wrong), None, "{wrong}");
        }
    }
}
