//! The commands of RFC 959 and its extensions: one [table](TABLE) for the parser, HELP, FEAT, the
//! rights and the documentation.
//!
//! | file | what |
//! | --- | --- |
//! | `table.rs` | the table |
//! | `grammar.rs` | the forms of arguments |

mod grammar;
mod table;

use core::net::SocketAddr;
use core::ops::Range;

pub(crate) use grammar::DEFLATE_LEVEL;
pub use table::{Brings, Needs, Row, TABLE};

use crate::form::{Mode, Representation, Structure};

/// A command, by the group that it belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command<'a> {
    /// Who uses the session, and how it is protected.
    Access(Access<'a>),
    /// The working folder, and folders.
    Folders(Folders<'a>),
    /// Names, and what is known of them.
    Names(Names<'a>),
    /// Transfers.
    Transfers(Transfers<'a>),
    /// Data associations.
    Data(Data),
    /// How transfers and replies look.
    Parameters(Parameters<'a>),
    /// What the server tells of itself.
    Information(Information<'a>),
}

/// Who uses the session, and how it is protected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Access<'a> {
    /// Names the user.
    User(&'a str),
    /// Gives the password.
    Pass(&'a str),
    /// Names an account.
    Acct,
    /// Begins the session anew.
    Rein,
    /// Ends the session.
    Quit,
    /// Names the host that is meant.
    Host(&'a str),
    /// Sets the language of replies; empty for the default.
    Lang(&'a str),
    /// Protects the control association.
    Auth(&'a str),
    /// Sets the size of protected buffers.
    Pbsz(u64),
    /// Sets the protection of data associations.
    Prot(Protection),
    /// Ends the protection of the control association.
    Ccc,
}

/// The working folder, and folders.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Folders<'a> {
    /// Changes the working folder.
    Cwd(&'a str),
    /// Changes to the folder above.
    Cdup,
    /// Asks for the working folder.
    Pwd,
    /// Makes a folder.
    Mkd(&'a str),
    /// Removes an empty folder.
    Rmd(&'a str),
}

/// Names, and what is known of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Names<'a> {
    /// Removes a file.
    Dele(&'a str),
    /// Names what RNTO renames.
    Rnfr(&'a str),
    /// Renames.
    Rnto(&'a str),
    /// Asks when a file was modified.
    Mdtm(&'a str),
    /// Sets when a file was modified.
    Mfmt {
        /// In seconds since 1970-01-01 00:00 UTC.
        modified: u64,
        /// The path.
        path: &'a str,
    },
    /// Asks how many octets a transfer would have.
    Size(&'a str),
    /// Asks for the facts about a name; empty for the working folder.
    Mlst(&'a str),
    /// Sets the permissions.
    Chmod {
        /// As Unix writes them.
        mode: u16,
        /// The path.
        path: &'a str,
    },
    /// Asks for the digest of a file, or of the octets that RANG names.
    Hash(&'a str),
    /// Asks for the SHA-256 of a file.
    XSha256 {
        /// The path.
        path: &'a str,
        /// Which octets; `None` for all.
        octets: Option<Range<u64>>,
    },
    /// Sets the octets that the next HASH is about; `None` for all.
    Rang(Option<Range<u64>>),
    /// Asks how many octets could be stored; empty for the working folder.
    Avbl(&'a str),
}

/// Transfers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Transfers<'a> {
    /// Retrieves a file.
    Retr(&'a str),
    /// Stores a file.
    Stor(&'a str),
    /// Stores behind what the file has.
    Appe(&'a str),
    /// Stores under a name that nothing has; the argument may suggest its beginning.
    Stou(&'a str),
    /// Lists a folder, or one file.
    List(&'a str),
    /// Lists the names alone.
    Nlst(&'a str),
    /// Lists the facts about all names in a folder.
    Mlsd(&'a str),
    /// Sets the octet at which the next transfer begins.
    Rest(u64),
    /// Aborts the transfer.
    Abor,
    /// Interrupts the transfer: what was stored is kept, to be resumed.
    Intr,
    /// Allocates space.
    Allo,
}

/// Data associations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Data {
    /// Has the server connect to this address for data (PORT, EPRT).
    Port(SocketAddr),
    /// Has the server listen for data.
    Pasv,
    /// Has the server listen for data and reply with a port alone.
    Epsv(EpsvArgument),
}

/// How transfers and replies look.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Parameters<'a> {
    /// Sets the representation of files.
    Type(Representation),
    /// Sets the mode of transmission; a level of compression is that of `DeflateLevel`.
    Mode(Mode),
    /// Sets the structure of files.
    Stru(Structure),
    /// Sets the level of compression.
    DeflateLevel(u8),
    /// Sets the facts that MLST and MLSD tell.
    Facts(&'a str),
    /// Sets the digest that HASH tells, or asks for it; `None` where it was asked.
    Digest(Option<&'a str>),
    /// Sets UTF-8 for names.
    Utf8(bool),
    /// Sets whether failed uploads are kept to be resumed (ARST, NARS).
    Autorestart(bool),
    /// Sets whether replies are as short as they can be (SUPP, NSUP).
    Terse(bool),
}

/// What the server tells of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Information<'a> {
    /// Asks for the commands, or for one.
    Help(&'a str),
    /// Asks for the commands below SITE.
    SiteHelp,
    /// Asks for the extensions.
    Feat,
    /// Asks for the operating system.
    Syst,
    /// Asks for the state of the session, or for a listing in the reply.
    Stat(&'a str),
    /// Does nothing but draw a reply.
    Noop,
}

/// The protection of data associations (RFC 4217 §9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Protection {
    /// None.
    Clear,
    /// Encrypted.
    Private,
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
    /// 501
    #[error("there is no such option")]
    Option,
    /// 502
    #[error("that command is not implemented")]
    NotImplemented,
    /// 504
    #[error("that command is not implemented for that argument")]
    Parameter,
    /// 522
    #[error("that network protocol is not supported, use (1,2)")]
    Family,
    /// 536
    #[error("that protection level is not supported, use C or P")]
    Protection,
}

impl Mistake {
    /// Returns the reply code (RFC 959 §4.2, RFC 2428 §2, RFC 2228 §3).
    pub fn code(self) -> u16 {
        match self {
            Mistake::Unknown => 500,
            Mistake::Argument | Mistake::Option => 501,
            Mistake::NotImplemented => 502,
            Mistake::Parameter => 504,
            Mistake::Family => 522,
            Mistake::Protection => 536,
        }
    }
}

impl<'a> Command<'a> {
    /// Parses a line. The verb may be in any case; the argument is the rest of the line after one
    /// space.
    ///
    /// # Errors
    /// The reason for which it is no command.
    pub fn parse(line: &'a str) -> Result<Self, Mistake> {
        let (row, argument) = Row::of(line)?;
        row.parse(argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verbs_in_any_case_and_arguments_as_they_are() {
        assert_eq!(Command::parse("retr  a b "), Ok(Transfers::Retr(" a b ").into()));
        assert_eq!(Command::parse("QUIT"), Ok(Access::Quit.into()));
        assert_eq!(
            Command::parse("REST 18446744073709551615"),
            Ok(Transfers::Rest(u64::MAX).into())
        );
        let chmod = Names::Chmod { mode: 0o640, path: " a b" };
        assert_eq!(Command::parse("site chmod 640  a b"), Ok(chmod.into()));
        let facts = Parameters::Facts("Type;size;");
        assert_eq!(Command::parse("opts mlst Type;size;"), Ok(facts.into()));
    }

    #[test]
    fn types_are_read_with_and_without_blanks() {
        for text in ["TYPE I", "TYPE I ", "type l8", "TYPE L 8"] {
            let image = Parameters::Type(Representation::Image);
            assert_eq!(Command::parse(text), Ok(image.into()), "{text:?}");
        }
        for text in ["TYPE A", "TYPE a n", "TYPE A N "] {
            let ascii = Parameters::Type(Representation::Ascii);
            assert_eq!(Command::parse(text), Ok(ascii.into()), "{text:?}");
        }
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
            ("MFMT 20201301000000 a", 501),
            ("MFMT 20200101000000", 501),
            ("SITE CHMOD 888 a", 501),
            ("OPTS FOO", 501),
            ("RANG 5", 501),
            ("SMNT x", 502),
            ("TYPE E", 504),
            ("TYPE L 7", 504),
            ("MODE C", 504),
            ("STRU P", 504),
            ("SITE EXEC x", 504),
            ("EPRT |3|::1|99|", 522),
            ("EPSV 3", 522),
            ("PROT S", 536),
        ] {
            assert_eq!(Command::parse(line).map_err(Mistake::code), Err(code), "{line:?}");
        }
    }
}
