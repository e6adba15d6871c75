//! Octets of a control association as lines and commands.

use stackwright_ftp::address;
use stackwright_ftp::command::Command;
use stackwright_ftp::{LineEvent, Lines};

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
            Err(mistake) => assert!(matches!(mistake.code(), 500..=504 | 522)),
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
    let argument = match command {
        Command::User(argument)
        | Command::Pass(argument)
        | Command::Cwd(argument)
        | Command::Retr(argument)
        | Command::Stor(argument)
        | Command::List(argument)
        | Command::Nlst(argument)
        | Command::Size(argument)
        | Command::Opts(argument) => argument,
        Command::Rest(offset) => {
            let again = format!("REST {offset}");
            assert_eq!(Command::parse(&again), Ok(Command::Rest(*offset)));
            return;
        }
        Command::Port(target) => {
            let again = format!("EPRT {}", address::format_eprt(*target));
            assert_eq!(Command::parse(&again), Ok(Command::Port(*target)));
            return;
        }
        _ => return,
    };
    assert!(!argument.contains(['\r', '\n', '\0']), "an argument ends no line");
    let verb = line.split(' ').next().unwrap_or_default();
    let expected = line.get(verb.len() + 1..).unwrap_or_default();
    assert_eq!(*argument, expected, "the argument is the rest of the line");
}
