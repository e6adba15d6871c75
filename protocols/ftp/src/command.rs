//! The commands: one table for the parser and the help.

use alloc::format;
use alloc::string::String;
use core::net::SocketAddr;

use crate::address;
use crate::form::deflate::LEVEL;
use crate::form::{Mode, Representation, Structure};

/// A command of RFC 959 and its extensions, as far as this server knows it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command<'a> {
    /// Names the user.
    User(&'a str),
    /// Gives the password.
    Pass(&'a str),
    /// Names an account: accepted and not needed.
    Acct,
    /// Changes the working folder.
    Cwd(&'a str),
    /// Changes to the folder above.
    Cdup,
    /// Asks for the working folder.
    Pwd,
    /// Ends the session.
    Quit,
    /// Has the server connect to this address for data (PORT, EPRT).
    Port(SocketAddr),
    /// Has the server listen for data.
    Pasv,
    /// Has the server listen for data and reply with a port alone.
    Epsv(EpsvArgument),
    /// Sets the representation of files.
    Type(Representation),
    /// Sets the mode of transmission.
    Mode(Mode),
    /// Sets the structure of files.
    Stru(Structure),
    /// Retrieves a file.
    Retr(&'a str),
    /// Stores a file.
    Stor(&'a str),
    /// Sets the octet at which the next transfer begins.
    Rest(u64),
    /// Aborts the transfer.
    Abor,
    /// Lists a folder, or one file.
    List(&'a str),
    /// Lists the names alone.
    Nlst(&'a str),
    /// Asks how many octets a transfer would have.
    Size(&'a str),
    /// Asks for the operating system.
    Syst,
    /// Asks for the commands.
    Help,
    /// Does nothing but draw a reply.
    Noop,
    /// Asks for the extensions.
    Feat,
    /// Sets options of an extension.
    Opts(&'a str),
    /// Allocates space: accepted and not needed.
    Allo,
}

/// The argument of EPSV (RFC 2428 §3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EpsvArgument {
    /// None: the protocol of the control association.
    Absent,
    /// The protocol: 1 is IPv4, 2 is IPv6.
    Family(u8),
    /// `ALL`: no other command for data associations follows.
    All,
}

/// The reason for which a line is no command. Each has its reply code.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Mistake {
    /// 500
    #[error("that is not a command")]
    Unknown,
    /// 501
    #[error("the argument is missing, or is not of the right form")]
    Argument,
    /// 502
    #[error("that command is not implemented")]
    NotImplemented,
    /// 504
    #[error("that command is not implemented for that argument")]
    Parameter,
    /// 522
    #[error("that network protocol is not supported, use (1,2)")]
    Family,
}

impl Mistake {
    /// Returns the reply code (RFC 959 §4.2).
    pub fn code(self) -> u16 {
        match self {
            Mistake::Unknown => 500,
            Mistake::Argument => 501,
            Mistake::NotImplemented => 502,
            Mistake::Parameter => 504,
            Mistake::Family => 522,
        }
    }
}

/// A row of the table.
struct Verb {
    name: &'static str,
    /// The line of the help, with the specification.
    help: &'static str,
    parse: for<'a> fn(&'a str) -> Result<Command<'a>, Mistake>,
}

const fn verb(
    name: &'static str,
    help: &'static str,
    parse: for<'a> fn(&'a str) -> Result<Command<'a>, Mistake>,
) -> Verb {
    Verb { name, help, parse }
}

const VERBS: &[Verb] = &[
    verb("ABOR", "abort the transfer (RFC 959)", |a| alone(a, Command::Abor)),
    verb("ACCT", "accepted and not needed (RFC 959)", |_| Ok(Command::Acct)),
    verb("ALLO", "accepted and not needed (RFC 959)", |_| Ok(Command::Allo)),
    verb("CDUP", "to the folder above (RFC 959)", |a| alone(a, Command::Cdup)),
    verb("CWD", "change the working folder (RFC 959)", |a| argument(a).map(Command::Cwd)),
    verb("EPRT", "the server connects for data, any protocol (RFC 2428)", eprt),
    verb("EPSV", "the server listens for data, any protocol (RFC 2428)", epsv),
    verb("FEAT", "list the extensions (RFC 2389)", |a| alone(a, Command::Feat)),
    verb("HELP", "list the commands (RFC 959)", |_| Ok(Command::Help)),
    verb("LIST", "list a folder (RFC 959)", |a| Ok(Command::List(a))),
    verb("MODE", "S, B or Z: stream, blocks, compressed (RFC 959)", mode),
    verb("NLST", "list the names in a folder (RFC 959)", |a| Ok(Command::Nlst(a))),
    verb("NOOP", "nothing (RFC 959)", |_| Ok(Command::Noop)),
    verb("OPTS", "options of an extension (RFC 2389)", |a| argument(a).map(Command::Opts)),
    verb("PASS", "the password (RFC 959)", |a| Ok(Command::Pass(a))),
    verb("PASV", "the server listens for data (RFC 959)", |a| alone(a, Command::Pasv)),
    verb("PORT", "the server connects for data (RFC 959)", |a| {
        address::parse_port(a).map(Command::Port).ok_or(Mistake::Argument)
    }),
    verb("PWD", "the name of the working folder (RFC 959)", |a| alone(a, Command::Pwd)),
    verb("QUIT", "end the session (RFC 959)", |a| alone(a, Command::Quit)),
    verb("REST", "the next transfer begins at an octet (RFC 3659)", |a| {
        number(a).map(Command::Rest)
    }),
    verb("RETR", "fetch a file (RFC 959)", |a| argument(a).map(Command::Retr)),
    verb("SIZE", "the size of a file (RFC 3659)", |a| argument(a).map(Command::Size)),
    verb("STOR", "store a file (RFC 959)", |a| argument(a).map(Command::Stor)),
    verb("STRU", "F or R: file, records (RFC 959)", structure),
    verb("SYST", "the operating system (RFC 959)", |a| alone(a, Command::Syst)),
    verb("TYPE", "A or I (RFC 959)", representation),
    verb("USER", "the user's name (RFC 959)", |a| argument(a).map(Command::User)),
    // Old names that some clients still use (RFC 1123 §4.1.3.1).
    verb("XCUP", "as CDUP (RFC 775)", |a| alone(a, Command::Cdup)),
    verb("XCWD", "as CWD (RFC 775)", |a| argument(a).map(Command::Cwd)),
    verb("XPWD", "as PWD (RFC 775)", |a| alone(a, Command::Pwd)),
];

/// Commands that are specified and not implemented: their reply differs from that to nonsense (RFC
/// 959 §4.2, 502).
const NOT_IMPLEMENTED: &[&str] = &[
    "APPE", "DELE", "MDTM", "MKD", "MLSD", "MLST", "REIN", "RMD", "RNFR", "RNTO", "SITE", "SMNT",
    "STAT", "STOU", "AUTH", "PBSZ", "PROT", "CCC", "ADAT", "ENC", "MIC", "CONF", "LANG", "HOST",
];

impl<'a> Command<'a> {
    /// Parses a line. The verb may be in any case; the argument is the rest of the line after one
    /// space.
    ///
    /// # Errors
    /// The reason for which it is no command.
    pub fn parse(line: &'a str) -> Result<Self, Mistake> {
        let (name, argument) = line.split_once(' ').unwrap_or((line, ""));
        // A CR or NUL would reach a file's name or a reply; other control characters are odd, but
        // they are names.
        if argument.contains(['\r', '\0']) {
            return Err(Mistake::Argument);
        }
        match VERBS.iter().find(|verb| verb.name.eq_ignore_ascii_case(name)) {
            Some(verb) => (verb.parse)(argument),
            None if NOT_IMPLEMENTED.iter().any(|known| known.eq_ignore_ascii_case(name)) => {
                Err(Mistake::NotImplemented)
            }
            None => Err(Mistake::Unknown),
        }
    }
}

/// Returns the lines of the help.
pub fn help() -> impl Iterator<Item = String> {
    VERBS.iter().map(|verb| format!(" {:4} {}", verb.name, verb.help))
}

fn alone<'a>(argument: &str, command: Command<'a>) -> Result<Command<'a>, Mistake> {
    if argument.is_empty() { Ok(command) } else { Err(Mistake::Argument) }
}

fn argument(argument: &str) -> Result<&str, Mistake> {
    if argument.is_empty() { Err(Mistake::Argument) } else { Ok(argument) }
}

fn number(argument: &str) -> Result<u64, Mistake> {
    // `parse` would accept a plus sign, which is no part of the grammar.
    let digits = !argument.is_empty() && argument.bytes().all(|octet| octet.is_ascii_digit());
    argument.parse().ok().filter(|_| digits).ok_or(Mistake::Argument)
}

fn mode(argument: &str) -> Result<Command<'_>, Mistake> {
    match argument.to_ascii_uppercase().as_str() {
        "S" => Ok(Command::Mode(Mode::Stream)),
        "B" => Ok(Command::Mode(Mode::Block)),
        "Z" => Ok(Command::Mode(Mode::Deflate { level: LEVEL })),
        "" => Err(Mistake::Argument),
        _ => Err(Mistake::Parameter),
    }
}

fn structure(argument: &str) -> Result<Command<'_>, Mistake> {
    match argument.to_ascii_uppercase().as_str() {
        "F" => Ok(Command::Stru(Structure::File)),
        "R" => Ok(Command::Stru(Structure::Record)),
        "" => Err(Mistake::Argument),
        _ => Err(Mistake::Parameter),
    }
}

/// Parses the option of MODE Z, as in `OPTS MODE Z LEVEL 9` (draft-preston-ftpext-deflate).
pub(crate) fn deflate_level(option: &str) -> Option<u8> {
    let mut words = option.split(' ').filter(|word| !word.is_empty());
    for expected in ["MODE", "Z", "LEVEL"] {
        words.next().filter(|word| word.eq_ignore_ascii_case(expected))?;
    }
    let level = words.next()?.parse().ok()?;
    (words.next().is_none() && (1..=9).contains(&level)).then_some(level)
}

fn representation(argument: &str) -> Result<Command<'_>, Mistake> {
    match argument.to_ascii_uppercase().as_str() {
        "A" | "A N" => Ok(Command::Type(Representation::Ascii)),
        "I" | "L 8" => Ok(Command::Type(Representation::Image)),
        "" => Err(Mistake::Argument),
        _ => Err(Mistake::Parameter),
    }
}

fn eprt(argument: &str) -> Result<Command<'_>, Mistake> {
    match address::parse_eprt(argument) {
        Ok(target) => Ok(Command::Port(target)),
        Err(address::BadEprt::Form) => Err(Mistake::Argument),
        Err(address::BadEprt::Family) => Err(Mistake::Family),
    }
}

fn epsv(argument: &str) -> Result<Command<'_>, Mistake> {
    match argument {
        "" => Ok(Command::Epsv(EpsvArgument::Absent)),
        "1" => Ok(Command::Epsv(EpsvArgument::Family(1))),
        "2" => Ok(Command::Epsv(EpsvArgument::Family(2))),
        argument if argument.eq_ignore_ascii_case("ALL") => Ok(Command::Epsv(EpsvArgument::All)),
        argument if argument.bytes().all(|octet| octet.is_ascii_digit()) => Err(Mistake::Family),
        _ => Err(Mistake::Argument),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_in_any_case_and_arguments_as_they_are() {
        assert_eq!(Command::parse("retr  a b "), Ok(Command::Retr(" a b ")));
        assert_eq!(Command::parse("QUIT"), Ok(Command::Quit));
        assert_eq!(Command::parse("type l 8"), Ok(Command::Type(Representation::Image)));
        assert_eq!(Command::parse("REST 18446744073709551615"), Ok(Command::Rest(u64::MAX)));
    }

    #[test]
    fn mistakes_have_their_codes() {
        for (line, code) in [
            ("", 500),
            ("FOO", 500),
            ("RETRx", 500),
            ("RETR", 501),
            ("RETR a\rb", 501),
            ("STOR a\0b", 501),
            ("REST +1", 501),
            ("REST 18446744073709551616", 501),
            ("PORT 1,2,3,4,5", 501),
            ("DELE x", 502),
            ("TYPE E", 504),
            ("MODE C", 504),
            ("STRU P", 504),
            ("EPRT |3|::1|99|", 522),
            ("EPSV 3", 522),
        ] {
            assert_eq!(Command::parse(line).map_err(Mistake::code), Err(code), "{line:?}");
        }
    }

    #[test]
    fn a_level_is_a_digit_but_0() {
        assert_eq!(deflate_level("mode z level 9"), Some(9));
        for option in ["", "MODE Z", "MODE Z LEVEL", "MODE Z LEVEL 0", "MODE Z LEVEL 10", "X Z L 1"]
        {
            assert_eq!(deflate_level(option), None, "{option:?}");
        }
    }

    #[test]
    fn the_table_is_sorted_so_that_help_reads_well() {
        assert!(VERBS.is_sorted_by_key(|verb| verb.name));
    }
}
