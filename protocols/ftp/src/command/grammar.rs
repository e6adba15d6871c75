//! The forms of arguments.

use alloc::format;
use core::ops::Range;

use super::{
    Command, Data, EpsvArgument, Information, Mistake, NameCommand, ParameterCommand,
    ProtectionLevel, Row,
};
use crate::facts::Facts;
use crate::form::{Mode, Representation, Structure};
use crate::{address, time};

/// The level of compression, unless `OPTS MODE Z LEVEL` sets another.
pub(crate) const DEFLATE_LEVEL: u8 = 6;

type Parsed<'a> = Result<Command<'a>, Mistake>;

/// Returns `command`, where it has no argument.
pub(super) fn alone<'a>(argument: &str, command: impl Into<Command<'a>>) -> Parsed<'a> {
    if argument.is_empty() { Ok(command.into()) } else { Err(Mistake::Argument) }
}

/// Returns an argument that must not be absent.
pub(super) fn some(argument: &str) -> Result<&str, Mistake> {
    if argument.is_empty() { Err(Mistake::Argument) } else { Ok(argument) }
}

pub(super) fn number(argument: &str) -> Result<u64, Mistake> {
    // `parse` would accept a plus sign, which is no part of the grammar.
    let digits = !argument.is_empty() && argument.bytes().all(|octet| octet.is_ascii_digit());
    argument.parse().ok().filter(|_| digits).ok_or(Mistake::Argument)
}

/// Returns the octets from the first to the last.
fn octets(first: &str, last: &str) -> Result<Range<u64>, Mistake> {
    let (first, last) = (number(first)?, number(last)?);
    let end = last.checked_add(1).ok_or(Mistake::Argument)?;
    if first <= last { Ok(first..end) } else { Err(Mistake::Argument) }
}

/// `RANG first last`, where `RANG 1 0` stands for all (draft-bryan-ftp-range §3).
pub(super) fn rang(argument: &str) -> Parsed<'_> {
    let (first, last) = argument.split_once(' ').ok_or(Mistake::Argument)?;
    let octets = if (first, last) == ("1", "0") { None } else { Some(octets(first, last)?) };
    Ok(NameCommand::Rang(octets).into())
}

/// `XSHA256 path` or `XSHA256 "path" [first [end]]`. The end is not part of the range; it is that
/// of the file where it is absent.
pub(super) fn xsha256(argument: &str) -> Parsed<'_> {
    let Some(quoted) = argument.strip_prefix('"') else {
        return Ok(NameCommand::XSha256 { path: some(argument)?, octets: None }.into());
    };
    let (path, rest) = quoted.rsplit_once('"').ok_or(Mistake::Argument)?;
    let mut numbers = rest.split_ascii_whitespace().map(number);
    let first = numbers.next().transpose()?;
    let end = numbers.next().transpose()?.unwrap_or(u64::MAX);
    let octets = match first {
        _ if numbers.next().is_some() => return Err(Mistake::Argument),
        Some(first) if first <= end => Some(first..end),
        Some(_) => return Err(Mistake::Argument),
        None => None,
    };
    Ok(NameCommand::XSha256 { path: some(path)?, octets }.into())
}

pub(super) fn mfmt(argument: &str) -> Parsed<'_> {
    let (when, path) = argument.split_once(' ').ok_or(Mistake::Argument)?;
    let modified = time::parse(when).ok_or(Mistake::Argument)?;
    Ok(NameCommand::Mfmt { modified, path: some(path)? }.into())
}

pub(super) fn chmod(argument: &str) -> Parsed<'_> {
    let (mode, path) = argument.split_once(' ').ok_or(Mistake::Argument)?;
    let digits = (3..=4).contains(&mode.len()) && mode.bytes().all(|digit| digit.is_ascii_digit());
    // Nothing here makes a file that changes who runs it.
    let mode = u16::from_str_radix(mode, 8).ok().filter(|mode| digits && *mode <= 0o777);
    Ok(NameCommand::Chmod { mode: mode.ok_or(Mistake::Argument)?, path: some(path)? }.into())
}

/// `ALLO octets [R octets]` (RFC 959 §5.3.2).
pub(super) fn representation(argument: &str) -> Parsed<'_> {
    let mut words = argument.split_ascii_whitespace();
    let word = words.next().ok_or(Mistake::Argument)?;
    let second = words.next().unwrap_or_default();
    let representation = match word.to_ascii_uppercase().as_str() {
        "A" if second.is_empty() || second.eq_ignore_ascii_case("N") => Representation::Ascii,
        // Seven bits are those of ASCII.
        "L7" if second.is_empty() => Representation::Ascii,
        "I" | "L8" if second.is_empty() => Representation::Image,
        "L" if second == "8" => Representation::Image,
        _ => return Err(Mistake::Parameter),
    };
    match words.next() {
        None => Ok(ParameterCommand::Type(representation).into()),
        Some(_) => Err(Mistake::Parameter),
    }
}

pub(super) fn mode(argument: &str) -> Parsed<'_> {
    let mode = match some(argument.trim_end())?.to_ascii_uppercase().as_str() {
        "S" => Mode::Stream,
        "B" => Mode::Block,
        "Z" => Mode::Deflate { level: DEFLATE_LEVEL },
        _ => return Err(Mistake::Parameter),
    };
    Ok(ParameterCommand::Mode(mode).into())
}

pub(super) fn structure(argument: &str) -> Parsed<'_> {
    let structure = match some(argument.trim_end())?.to_ascii_uppercase().as_str() {
        "F" => Structure::File,
        "R" => Structure::Record,
        _ => return Err(Mistake::Parameter),
    };
    Ok(ParameterCommand::Stru(structure).into())
}

/// `OPTS MODE Z LEVEL n` (draft-preston-ftpext-deflate §4).
pub(super) fn deflate_level(argument: &str) -> Parsed<'_> {
    let mut words = argument.split_ascii_whitespace();
    let is = |word: Option<&str>, expected| {
        word.is_some_and(|word: &str| word.eq_ignore_ascii_case(expected))
    };
    if !is(words.next(), "Z") || !is(words.next(), "LEVEL") {
        return Err(Mistake::Option);
    }
    let level = number(words.next().unwrap_or_default())?;
    match u8::try_from(level) {
        Ok(level @ 1..=9) if words.next().is_none() => {
            Ok(ParameterCommand::DeflateLevel(level).into())
        }
        _ => Err(Mistake::Argument),
    }
}

pub(super) fn utf8(argument: &str) -> Parsed<'_> {
    match argument.trim().to_ascii_uppercase().as_str() {
        "" | "ON" | "NLST" => Ok(ParameterCommand::Utf8(true).into()),
        "OFF" => Ok(ParameterCommand::Utf8(false).into()),
        _ => Err(Mistake::Argument),
    }
}

pub(super) fn site_help(argument: &str) -> Parsed<'_> {
    let is_known =
        argument.is_empty() || Row::named(&format!("SITE {}", argument.trim())).is_some();
    if is_known { Ok(Information::SiteHelp.into()) } else { Err(Mistake::Parameter) }
}

pub(super) fn facts(argument: &str) -> Parsed<'_> {
    Facts::parse(argument).ok_or(Mistake::Argument)?;
    Ok(ParameterCommand::Facts(argument).into())
}

pub(super) fn protection(argument: &str) -> Parsed<'_> {
    let protection = match some(argument)?.to_ascii_uppercase().as_str() {
        "C" => ProtectionLevel::Clear,
        "P" => ProtectionLevel::Private,
        "S" | "E" => return Err(Mistake::Protection),
        _ => return Err(Mistake::Parameter),
    };
    Ok(super::Access::Prot(protection).into())
}

pub(super) fn port(argument: &str) -> Parsed<'_> {
    let target = address::parse_port(argument).ok_or(Mistake::Argument)?;
    Ok(Data::Port(target).into())
}

pub(super) fn eprt(argument: &str) -> Parsed<'_> {
    match address::parse_eprt(argument) {
        Ok(target) => Ok(Data::Port(target).into()),
        Err(address::BadEprt::Form) => Err(Mistake::Argument),
        Err(address::BadEprt::Family) => Err(Mistake::Family),
    }
}

pub(super) fn epsv(argument: &str) -> Parsed<'_> {
    let argument = match argument {
        "" => EpsvArgument::Absent,
        "1" => EpsvArgument::Family(1),
        "2" => EpsvArgument::Family(2),
        argument if argument.eq_ignore_ascii_case("ALL") => EpsvArgument::All,
        argument if argument.bytes().all(|octet| octet.is_ascii_digit()) => {
            return Err(Mistake::Family);
        }
        _ => return Err(Mistake::Argument),
    };
    Ok(Data::Epsv(argument).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert_eq!(rang("0 0"), Ok(NameCommand::Rang(Some(0..1)).into()));
        assert_eq!(rang("1 0"), Ok(NameCommand::Rang(None).into()));
        assert_eq!(rang("10 9"), Err(Mistake::Argument));
        assert_eq!(rang("0 18446744073709551615"), Err(Mistake::Argument));
        let all = |path| NameCommand::XSha256 { path, octets: None }.into();
        assert_eq!(xsha256("a b"), Ok(all("a b")));
        assert_eq!(xsha256("\"a b\""), Ok(all("a b")));
        let some = NameCommand::XSha256 { path: "a", octets: Some(5..u64::MAX) }.into();
        assert_eq!(xsha256("\"a\" 5"), Ok(some));
        assert_eq!(xsha256("\"a\" 5 4"), Err(Mistake::Argument));
        assert_eq!(xsha256("\"a"), Err(Mistake::Argument));
    }

    #[test]
    fn levels() {
        assert_eq!(deflate_level("z level 9"), Ok(ParameterCommand::DeflateLevel(9).into()));
        for wrong in ["Z LEVEL 0", "Z LEVEL 10", "Z LEVEL", "Z LEVEL 1 1"] {
            assert_eq!(deflate_level(wrong), Err(Mistake::Argument), "{wrong}");
        }
        assert_eq!(deflate_level("Z SPEED 1"), Err(Mistake::Option));
    }
}
