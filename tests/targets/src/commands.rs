//! Octets of a control association as lines and commands.

use stackwright_ftp::command::{
    Access, Command, Data, Folders, Information, NameCommand, ParameterCommand, Transfers,
};
use stackwright_ftp::{LineEvent, Lines, address, time};

use crate::Input;

/// The longest line, in octets.
const MOST: usize = 512;

/// The first octet says how the rest is cut. However it is cut, the same lines are heard.
pub fn commands(octets: &[u8]) {
    let mut input = Input(octets);
    let pieces = input.octet();
    let heard = hear(input.clone().pieces(pieces));
    assert_eq!(heard, hear(std::iter::once(input.0)), "lines do not depend on how they are cut");
    for one in heard {
        let LineEvent::Line(line) = one else { continue };
        assert!(line.len() <= MOST && !line.contains('\n'), "a line is bounded");
        match Command::parse(&line) {
            Ok(command) => understood(&line, &command),
            Err(mistake) => assert!(matches!(mistake.code(), 500..=504 | 522 | 536)),
        }
    }
}

fn hear<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<LineEvent> {
    let mut lines = Lines::new(MOST);
    let mut all = Vec::new();
    for mut piece in pieces {
        while !piece.is_empty() {
            let (heard, taken) = lines.feed(piece);
            assert!(taken > 0 && taken <= piece.len(), "hearing makes progress");
            assert!(heard.is_some() || taken == piece.len(), "nothing complete: all was taken");
            piece = &piece[taken..];
            all.extend(heard);
        }
    }
    all
}

/// What a command holds is what the line said, and nothing in it ends a line.
fn understood(line: &str, command: &Command<'_>) {
    // What is read as a number is written as that number.
    let again = match command {
        Command::Transfers(Transfers::Rest(offset)) => Some(format!("REST {offset}")),
        Command::Data(Data::Port(target)) => {
            Some(format!("EPRT {}", address::format_eprt(*target)))
        }
        Command::Names(NameCommand::Rang(Some(octets))) => {
            Some(format!("RANG {} {}", octets.start, octets.end - 1))
        }
        Command::Names(NameCommand::Mfmt { modified, path }) => {
            Some(format!("MFMT {} {path}", time::format(*modified)))
        }
        Command::Names(NameCommand::Chmod { mode, path }) => {
            Some(format!("SITE CHMOD {mode:03o} {path}"))
        }
        _ => None,
    };
    if let Some(again) = again {
        assert_eq!(Command::parse(&again).as_ref(), Ok(command));
    }
    let Some(argument) = text(command) else { return };
    assert!(!argument.contains(['\r', '\n', '\0']), "an argument ends no line");
    assert!(line.ends_with(argument) || line.contains('"'), "an argument is the rest of the line");
}

fn text<'a>(command: &Command<'a>) -> Option<&'a str> {
    Some(match command {
        Command::Access(
            Access::User(text)
            | Access::Pass(text)
            | Access::Host(text)
            | Access::Lang(text)
            | Access::Auth(text),
        )
        | Command::Folders(Folders::Cwd(text) | Folders::Mkd(text) | Folders::Rmd(text))
        | Command::Names(
            NameCommand::Dele(text)
            | NameCommand::Rnfr(text)
            | NameCommand::Rnto(text)
            | NameCommand::Mdtm(text)
            | NameCommand::Mfmt { path: text, .. }
            | NameCommand::Size(text)
            | NameCommand::Mlst(text)
            | NameCommand::Chmod { path: text, .. }
            | NameCommand::Hash(text)
            | NameCommand::XSha256 { path: text, .. }
            | NameCommand::Avbl(text),
        )
        | Command::Transfers(
            Transfers::Retr(text)
            | Transfers::Stor(text)
            | Transfers::Appe(text)
            | Transfers::Stou(text)
            | Transfers::List(text)
            | Transfers::Nlst(text)
            | Transfers::Mlsd(text),
        )
        | Command::Parameters(
            ParameterCommand::Facts(text) | ParameterCommand::Digest(Some(text)),
        )
        | Command::Information(Information::Help(text) | Information::Stat(text)) => text,
        _ => return None,
    })
}
