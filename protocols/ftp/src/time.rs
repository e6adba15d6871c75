//! Dates and times: of listings, and in the form `YYYYMMDDHHMMSS` (RFC 3659 §2.3).

use alloc::format;
use alloc::string::String;

pub(crate) const DAY: u64 = 86_400;

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH: u64 = 719_468;

/// Returns year, month from 0 and day from 1 of a day since 1970-01-01, in the Gregorian calendar
/// (the era method: 400 years are 146 097 days, and years begin in March so that the odd day comes
/// last).
pub(crate) fn date(day: u64) -> (u64, usize, u64) {
    let day = day + EPOCH;
    let era = day / 146_097;
    let of_era = day % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year_later, month) = if month < 10 { (0, month + 2) } else { (1, month - 10) };
    (era * 400 + year_of_era + year_later, month as usize, day)
}

/// Returns the day since 1970-01-01 of a date; the month counts from 0, the day from 1. `None`
/// where there is no such day, or it was before.
fn day(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, of_march) =
        if month < 2 { (year.checked_sub(1)?, month + 10) } else { (year, month - 2) };
    let (era, year_of_era) = (year / 400, year % 400);
    let of_year = (153 * of_march + 2) / 5 + day.checked_sub(1)?;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    (era * 146_097 + of_era).checked_sub(EPOCH)
}

/// Returns the day since 1970-01-01 of a date that exists.
pub(crate) fn day_of(year: u64, month: u64, of_month: u64) -> Option<u64> {
    let day = day(year, month, of_month)?;
    // Dates such as 30 February are those of the next month: no such day.
    (date(day) == (year, month as usize, of_month)).then_some(day)
}

/// Formats seconds since 1970 as `YYYYMMDDHHMMSS`, in UTC.
pub fn format(seconds: u64) -> String {
    let (year, month, day) = date(seconds / DAY);
    let of_day = seconds % DAY;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}{:02}{day:02}{hour:02}{minute:02}{second:02}", month + 1)
}

/// Parses `YYYYMMDDHHMMSS`, with or without a fraction, as seconds since 1970. `None` where there
/// is no such time.
pub fn parse(text: &str) -> Option<u64> {
    let (digits, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let numbers = |text: &str| !text.is_empty() && text.bytes().all(|octet| octet.is_ascii_digit());
    if digits.len() != 14 || !numbers(digits) || !numbers(fraction) {
        return None;
    }
    let number = |from: usize, to: usize| digits[from..to].parse::<u64>().ok();
    let (year, month, of_month) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
    let (hour, minute, second) = (number(8, 10)?, number(10, 12)?, number(12, 14)?);
    // A leap second counts as the first of the next minute.
    if !(1..=12).contains(&month) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(day_of(year, month - 1, of_month)? * DAY + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_time_is_read_as_it_was_written() {
        assert_eq!(format(951_782_400), "20000229000000");
        assert_eq!(parse("20000229000000.5"), Some(951_782_400));
        for day in (0..200_000).step_by(7) {
            let seconds = day * DAY + day % DAY;
            assert_eq!(parse(&format(seconds)), Some(seconds));
        }
    }

    #[test]
    fn what_is_no_time() {
        for text in [
            "",
            "1970",
            "19691231235959",
            "20230229000000",
            "20230100000000",
            "20231301000000",
            "20230101240000",
            "2023010100000x",
            "20230101000000.",
            "+2023010100000",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
