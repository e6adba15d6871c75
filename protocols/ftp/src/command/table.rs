//! The table of commands.

use alloc::format;
use alloc::string::String;

use super::{
    Access, Command, Data, Folders, Information, Mistake, NameCommand, ParameterCommand, Transfers,
    grammar,
};
use grammar::{alone, number, some};

/// A command of the table.
pub struct Row {
    /// The verb; with its second word, where the verb alone is no command.
    pub name: &'static str,
    /// The form of the argument.
    pub argument: &'static str,
    /// What it does.
    pub help: &'static str,
    /// The specification.
    pub specification: &'static str,
    /// The line of FEAT.
    pub brings: Brings,
    /// What it needs.
    pub needs: CommandNeeds,
    /// Whether it is obeyed while a transfer runs. Others wait for the end.
    pub overtakes: bool,
    parse: for<'a> fn(&'a str) -> Result<Command<'a>, Mistake>,
    /// The beginning of the name, for the search.
    key: u64,
}

/// The line that a command brings to the reply to FEAT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Brings {
    /// None.
    Nothing,
    /// This one.
    Feature(&'static str),
    /// This one, where associations can be protected.
    Secured(&'static str),
    /// The facts of MLST, with a mark at those that are told.
    Facts,
}

/// What a command needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandNeeds {
    /// Nothing.
    Nothing,
    /// A user.
    Login,
    /// A user who may change files.
    Write,
    /// A user, and a data association.
    Data,
    /// A user who may change files, and a data association.
    Store,
}

impl CommandNeeds {
    /// Returns whether it needs a user.
    pub const fn login(self) -> bool {
        !matches!(self, CommandNeeds::Nothing)
    }

    /// Returns whether it needs the right to change files.
    pub const fn write(self) -> bool {
        matches!(self, CommandNeeds::Write | CommandNeeds::Store)
    }

    /// Returns whether it needs a data association.
    pub const fn data(self) -> bool {
        matches!(self, CommandNeeds::Data | CommandNeeds::Store)
    }
}

const fn row(
    name: &'static str,
    argument: &'static str,
    help: &'static str,
    specification: &'static str,
    parse: for<'a> fn(&'a str) -> Result<Command<'a>, Mistake>,
) -> Row {
    let (brings, needs) = (Brings::Nothing, CommandNeeds::Login);
    let key = key(name.as_bytes());
    Row { name, argument, help, specification, brings, needs, overtakes: false, parse, key }
}

impl Row {
    const fn needs(self, needs: CommandNeeds) -> Self {
        Row { needs, ..self }
    }

    const fn brings(self, feature: &'static str) -> Self {
        Row { brings: Brings::Feature(feature), ..self }
    }

    const fn told(self, brings: Brings) -> Self {
        Row { brings, ..self }
    }

    const fn overtakes(self) -> Self {
        Row { overtakes: true, ..self }
    }
}

const RFC959: &str = "RFC 959";
const RFC775: &str = "RFC 775";
const RFC2228: &str = "RFC 2228";
const RFC3659: &str = "RFC 3659";
const RFC4217: &str = "RFC 4217";
const SCPS: &str = "CCSDS 717.0";

/// All commands, by name.
#[rustfmt::skip] // one row, one or two lines
pub static TABLE: &[Row] = &[
    row("ABOR", "", "aborts the transfer", RFC959, |a| alone(a, Transfers::Abor)).overtakes(),
    row("ACCT", "name", "accepted, not needed", RFC959, |a| some(a).map(|_| Access::Acct.into())),
    row("ALLO", "octets", "accepted, not needed", RFC959, |a| some(a).map(|_| Transfers::Allo.into())),
    row("APPE", "path", "stores behind what the file has", RFC959, |a| Ok(Transfers::Appe(some(a)?).into()))
        .needs(CommandNeeds::Store),
    row("ARST", "", "failed uploads are kept, to be resumed", SCPS, |a| alone(a, ParameterCommand::Autorestart(true)))
        .brings("ARST"),
    row("AUTH", "TLS", "protects the control connection", RFC4217, |a| Ok(Access::Auth(some(a)?).into()))
        .needs(CommandNeeds::Nothing).told(Brings::Secured("AUTH TLS")),
    row("AVBL", "[path]", "how many octets can be stored", "draft-peterson-streamlined-ftp", |a| Ok(NameCommand::Avbl(a).into()))
        .brings("AVBL"),
    row("CCC", "", "refused: the control connection stays protected", RFC4217, |a| alone(a, Access::Ccc)),
    row("CDUP", "", "changes to the folder above", RFC959, |a| alone(a, Folders::Cdup)),
    row("CWD", "path", "changes the working folder", RFC959, |a| Ok(Folders::Cwd(some(a)?).into()))
        .brings("TVFS"),
    row("DELE", "path", "removes a file", RFC959, |a| Ok(NameCommand::Dele(some(a)?).into()))
        .needs(CommandNeeds::Write),
    row("EPRT", "|family|address|port|", "the server connects for data", "RFC 2428", grammar::eprt)
        .brings("EPRT"),
    row("EPSV", "[family or ALL]", "the server listens for data", "RFC 2428", grammar::epsv)
        .brings("EPSV"),
    row("FEAT", "", "lists the extensions", "RFC 2389", |a| alone(a, Information::Feat))
        .needs(CommandNeeds::Nothing),
    row("HASH", "path", "the digest of a file, or of the octets of RANG", "draft-bryan-ftpext-hash", |a| Ok(NameCommand::Hash(some(a)?).into()))
        .brings("HASH SHA-256*"),
    row("HELP", "[command]", "lists the commands, or tells of one", RFC959, |a| Ok(Information::Help(a).into()))
        .needs(CommandNeeds::Nothing),
    row("HOST", "name", "the host that is meant", "RFC 7151", |a| Ok(Access::Host(some(a)?).into()))
        .needs(CommandNeeds::Nothing).brings("HOST"),
    row("INTR", "", "interrupts the transfer; an upload is kept, to be resumed", SCPS, |a| alone(a, Transfers::Intr))
        .overtakes().brings("INTR"),
    row("LANG", "[tag]", "the language of replies: EN", "RFC 2640", |a| Ok(Access::Lang(a).into()))
        .needs(CommandNeeds::Nothing).brings("LANG EN*"),
    row("LIST", "[path or pattern]", "lists a folder, as ls -l", RFC959, |a| Ok(Transfers::List(a).into()))
        .needs(CommandNeeds::Data),
    row("MDTM", "path", "when a file was modified", RFC3659, |a| Ok(NameCommand::Mdtm(some(a)?).into()))
        .brings("MDTM"),
    row("MFMT", "time path", "sets when a file was modified", "draft-somers-ftp-mfxx", grammar::mfmt)
        .needs(CommandNeeds::Write).brings("MFMT"),
    row("MKD", "path", "makes a folder", RFC959, |a| Ok(Folders::Mkd(some(a)?).into()))
        .needs(CommandNeeds::Write),
    row("MLSD", "[path]", "lists the facts about all names in a folder", RFC3659, |a| Ok(Transfers::Mlsd(a).into()))
        .needs(CommandNeeds::Data),
    row("MLST", "[path]", "the facts about a name", RFC3659, |a| Ok(NameCommand::Mlst(a).into()))
        .told(Brings::Facts),
    row("MODE", "S, B or Z", "stream, blocks, or compressed", RFC959, grammar::mode)
        .brings("MODE Z"),
    row("NARS", "", "failed uploads leave no trace", SCPS, |a| alone(a, ParameterCommand::Autorestart(false))),
    row("NLST", "[path or pattern]", "lists the names in a folder", RFC959, |a| Ok(Transfers::Nlst(a).into()))
        .needs(CommandNeeds::Data),
    row("NOOP", "", "nothing", RFC959, |a| alone(a, Information::Noop))
        .needs(CommandNeeds::Nothing),
    row("NSUP", "", "replies have text", SCPS, |a| alone(a, ParameterCommand::Terse(false)))
        .needs(CommandNeeds::Nothing),
    row("OPTS HASH", "[SHA-256]", "the digest of HASH", "draft-bryan-ftpext-hash", |a| Ok(ParameterCommand::Digest(Some(a).filter(|a| !a.is_empty())).into()))
        .needs(CommandNeeds::Nothing),
    row("OPTS MLST", "[fact;…]", "the facts of MLST and MLSD", RFC3659, grammar::facts)
        .needs(CommandNeeds::Nothing),
    row("OPTS MODE", "Z LEVEL n", "the level of compression, 1 to 9", "draft-preston-ftpext-deflate", grammar::deflate_level)
        .needs(CommandNeeds::Nothing),
    row("OPTS UTF8", "[ON]", "names are UTF-8, always", "RFC 2640", grammar::utf8)
        .needs(CommandNeeds::Nothing).brings("UTF8"),
    row("PASS", "password", "the password", RFC959, |a| Ok(Access::Pass(a).into()))
        .needs(CommandNeeds::Nothing),
    row("PASV", "", "the server listens for data, over IPv4", RFC959, |a| alone(a, Data::Pasv)),
    row("PBSZ", "0", "the size of protected buffers", RFC4217, |a| Ok(Access::Pbsz(number(a)?).into()))
        .needs(CommandNeeds::Nothing).told(Brings::Secured("PBSZ")),
    row("PORT", "h1,h2,h3,h4,p1,p2", "the server connects for data, over IPv4", RFC959, grammar::port),
    row("PROT", "C or P", "the protection of data connections", RFC2228, grammar::protection)
        .needs(CommandNeeds::Nothing).told(Brings::Secured("PROT")),
    row("PWD", "", "the name of the working folder", RFC959, |a| alone(a, Folders::Pwd)),
    row("QUIT", "", "ends the session", RFC959, |a| alone(a, Access::Quit))
        .needs(CommandNeeds::Nothing),
    row("RANG", "first last", "the octets that the next RETR or HASH is about", "draft-bryan-ftp-range", grammar::rang)
        .brings("RANG STREAM"),
    row("REIN", "", "begins the session anew", RFC959, |a| alone(a, Access::Rein))
        .needs(CommandNeeds::Nothing),
    row("REST", "octet", "where the next transfer begins", RFC3659, |a| Ok(Transfers::Rest(number(a)?).into()))
        .brings("REST STREAM"),
    row("RETR", "path", "fetches a file", RFC959, |a| Ok(Transfers::Retr(some(a)?).into()))
        .needs(CommandNeeds::Data),
    row("RMD", "path", "removes an empty folder", RFC959, |a| Ok(Folders::Rmd(some(a)?).into()))
        .needs(CommandNeeds::Write),
    row("RNFR", "path", "names what RNTO renames", RFC959, |a| Ok(NameCommand::Rnfr(some(a)?).into()))
        .needs(CommandNeeds::Write),
    row("RNTO", "path", "renames what RNFR named", RFC959, |a| Ok(NameCommand::Rnto(some(a)?).into()))
        .needs(CommandNeeds::Write),
    row("SITE CHMOD", "mode path", "sets the permissions", "BSD", grammar::chmod)
        .needs(CommandNeeds::Write),
    row("SITE HELP", "", "lists the commands below SITE", RFC959, grammar::site_help)
        .needs(CommandNeeds::Nothing),
    row("SIZE", "path", "how many octets a transfer would have", RFC3659, |a| Ok(NameCommand::Size(some(a)?).into()))
        .brings("SIZE"),
    row("STAT", "[path]", "the state of the session, or a listing in the reply", RFC959, |a| Ok(Information::Stat(a).into()))
        .needs(CommandNeeds::Nothing).overtakes(),
    row("STOR", "path", "stores a file", RFC959, |a| Ok(Transfers::Stor(some(a)?).into()))
        .needs(CommandNeeds::Store),
    row("STOU", "[name]", "stores under a name that nothing has", RFC959, |a| Ok(Transfers::Stou(a).into()))
        .needs(CommandNeeds::Store),
    row("STRU", "F or R", "files, or records", RFC959, grammar::structure),
    row("SUPP", "", "replies have no text but what is needed", SCPS, |a| alone(a, ParameterCommand::Terse(true)))
        .needs(CommandNeeds::Nothing).brings("SUPP"),
    row("SYST", "", "the operating system", RFC959, |a| alone(a, Information::Syst))
        .needs(CommandNeeds::Nothing),
    row("TYPE", "A or I", "text, or octets as they are", RFC959, grammar::representation),
    row("USER", "name", "the user's name", RFC959, |a| Ok(Access::User(some(a)?).into()))
        .needs(CommandNeeds::Nothing),
    // Old names that some clients still use (RFC 1123 §4.1.3.1).
    row("XCUP", "", "as CDUP", RFC775, |a| alone(a, Folders::Cdup)),
    row("XCWD", "path", "as CWD", RFC775, |a| Ok(Folders::Cwd(some(a)?).into())),
    row("XMKD", "path", "as MKD", RFC775, |a| Ok(Folders::Mkd(some(a)?).into()))
        .needs(CommandNeeds::Write),
    row("XPWD", "", "as PWD", RFC775, |a| alone(a, Folders::Pwd)),
    row("XRMD", "path", "as RMD", RFC775, |a| Ok(Folders::Rmd(some(a)?).into()))
        .needs(CommandNeeds::Write),
    row("XSHA256", "path", "the SHA-256 of a file", "as other servers have it", grammar::xsha256)
        .brings("XSHA256"),
];

/// Commands that are specified and not implemented: their reply differs from that to nonsense (RFC
/// 959 §4.2, 502).
const NOT_IMPLEMENTED: &[&str] = &[
    "ADAT", "BETS", "CONF", "COPY", "ENC", "IDLE", "LPRT", "LPSV", "MIC", "NBES", "READ", "SMNT",
    "UPDT",
];

/// Returns the first octets of a verb in upper case, so that verbs compare as numbers.
const fn key(verb: &[u8]) -> u64 {
    let (mut key, mut nth) = (0, 0);
    while nth < 8 {
        let octet = if nth < verb.len() { verb[nth].to_ascii_uppercase() } else { 0 };
        key = key << 8 | octet as u64;
        nth += 1;
    }
    key
}

impl Row {
    /// Returns the row of a line, and the argument.
    ///
    /// # Errors
    /// The reason for which it is no command.
    pub fn of(line: &str) -> Result<(&'static Row, &str), Mistake> {
        let (verb, argument) = line.split_once(' ').unwrap_or((line, ""));
        if let Some(row) = Row::named(verb) {
            return Ok((row, argument));
        }
        let missing = match verb.to_ascii_uppercase().as_str() {
            "OPTS" => Mistake::Option,
            "SITE" => Mistake::Parameter,
            verb if NOT_IMPLEMENTED.contains(&verb) => return Err(Mistake::NotImplemented),
            _ => return Err(Mistake::Unknown),
        };
        let (second, argument) = argument.split_once(' ').unwrap_or((argument, ""));
        if second.is_empty() {
            return Err(Mistake::Argument);
        }
        let row = Row::named(&format!("{verb} {second}")).ok_or(missing)?;
        Ok((row, argument))
    }

    /// Returns the row of this name, in any case.
    pub fn named(name: &str) -> Option<&'static Row> {
        let key = key(name.as_bytes());
        let nth = TABLE.binary_search_by_key(&key, |row| row.key).ok()?;
        let row = &TABLE[nth];
        row.name.eq_ignore_ascii_case(name).then_some(row)
    }

    /// Parses its argument.
    ///
    /// # Errors
    /// The reason for which it is no argument of this command.
    #[inline]
    pub fn parse<'a>(&self, argument: &'a str) -> Result<Command<'a>, Mistake> {
        // A CR or NUL would reach a file's name or a reply; other control characters are odd, but
        // they are names.
        if argument.contains(['\r', '\0']) {
            return Err(Mistake::Argument);
        }
        (self.parse)(argument)
    }

    /// Returns its line of the help.
    pub fn line(&self) -> String {
        let Row { name, argument, help, specification, .. } = self;
        let name = format!("{name} {argument}");
        format!(" {:24} {help} ({specification})", name.trim_end())
    }

    /// Returns its line of the documentation.
    pub fn documented(&self) -> String {
        let Row { name, argument, help, specification, needs, .. } = self;
        let needs = match needs {
            CommandNeeds::Nothing => "nothing",
            CommandNeeds::Login => "login",
            CommandNeeds::Write => "write",
            CommandNeeds::Data => "login, data",
            CommandNeeds::Store => "write, data",
        };
        let command = format!("{name} {argument}").trim_end().replace('|', "\\|");
        format!("| `{command}` | {help} | {specification} | {needs} |")
    }
}

macro_rules! groups {
    ($($group:ident: $of:ty),*) => {
        $(impl<'a> From<$of> for Command<'a> {
            fn from(command: $of) -> Self {
                Command::$group(command)
            }
        })*
    };
}

groups!(
    Access: Access<'a>,
    Folders: Folders<'a>,
    Names: NameCommand<'a>,
    Transfers: Transfers<'a>,
    Data: Data,
    Parameters: ParameterCommand<'a>,
    Information: Information<'a>
);

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn the_table_is_sorted_so_that_it_can_be_searched_and_help_reads_well() {
        assert!(TABLE.is_sorted_by(|one, next| one.name < next.name));
        assert!(TABLE.is_sorted_by(|one, next| one.key < next.key));
        for row in TABLE {
            assert_eq!(
                Row::named(&row.name.to_ascii_lowercase()).map(|row| row.name),
                Some(row.name)
            );
        }
        assert!(NOT_IMPLEMENTED.iter().all(|name| Row::named(name).is_none()));
    }

    #[test]
    fn the_readme_documents_the_table() {
        let readme = include_str!("../../README.md");
        let rows: Vec<&str> = readme.lines().filter(|line| line.starts_with("| `")).collect();
        let expected: Vec<String> = TABLE.iter().map(Row::documented).collect();
        assert_eq!(rows, expected, "the commands of the README are those of the table");
    }
}
