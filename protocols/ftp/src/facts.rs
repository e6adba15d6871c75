//! The facts of MLST and MLSD (RFC 3659 §7).

use alloc::format;
use alloc::string::String;
use core::fmt::Write;

use stackwright_contract::services::{FileKind, Status};

use crate::time;

/// The facts that there are, in the order in which they are told.
const FACTS: [(&str, u8); 6] = [
    ("type", Facts::TYPE),
    ("perm", Facts::PERM),
    ("size", Facts::SIZE),
    ("modify", Facts::MODIFY),
    ("unique", Facts::UNIQUE),
    ("UNIX.mode", Facts::MODE),
];

/// Which facts a session is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Facts(u8);

impl Default for Facts {
    fn default() -> Self {
        Facts(u8::MAX)
    }
}

impl Facts {
    const TYPE: u8 = 1;
    const SIZE: u8 = 2;
    const MODIFY: u8 = 4;
    const PERM: u8 = 8;
    const UNIQUE: u8 = 16;
    const MODE: u8 = 32;

    /// Parses the argument of `OPTS MLST`: names of facts in any case, each with `;` behind it
    /// (§7.8). What is unknown is not told (§7.9). `None` where it has another form.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is_name = |name: &str| {
            let may = |octet: u8| octet.is_ascii_graphic() && !matches!(octet, b'=' | b'/');
            !name.is_empty() && name.bytes().all(may)
        };
        let mut chosen = 0;
        let mut rest = text;
        while let Some((name, behind)) = rest.split_once(';').filter(|(name, _)| is_name(name)) {
            let known = FACTS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            chosen |= known.map_or(0, |(_, fact)| *fact);
            rest = behind;
        }
        rest.is_empty().then_some(Facts(chosen))
    }

    /// Returns the line of FEAT: all facts, with a star behind those that are told.
    pub(crate) fn feature(self) -> String {
        let mut line = String::from("MLST ");
        for (name, fact) in FACTS {
            line.push_str(name);
            line.push_str(if self.0 & fact != 0 { "*;" } else { ";" });
        }
        line
    }

    /// Returns the reply to `OPTS MLST`.
    pub(crate) fn chosen(self) -> String {
        let mut line = String::from("MLST OPTS ");
        for (name, _) in FACTS.iter().filter(|(_, fact)| self.0 & fact != 0) {
            line.push_str(name);
            line.push(';');
        }
        line
    }

    /// Formats the facts of a name, without the blank and the name that follow.
    pub(crate) fn of(self, status: &Status, target: Option<&str>, writable: bool) -> String {
        let Status { kind, size, modified, mode, unique, .. } = *status;
        let mut facts = String::new();
        let mut tell = |fact: u8, name: &str, value: Option<String>| {
            if let Some(value) = value.filter(|_| self.0 & fact != 0) {
                // Writing to a string does not fail.
                let _ = write!(facts, "{name}={value};");
            }
        };
        tell(Facts::TYPE, "type", Some(kind_of(kind, target)));
        let perm = match (kind, writable) {
            (FileKind::Folder, true) => "cdeflmp",
            (FileKind::Folder, false) => "el",
            (FileKind::File, true) => "adfrw",
            (FileKind::File, false) => "r",
            // What can be done with it depends on what it leads to.
            (FileKind::Link | FileKind::Other, true) => "df",
            (FileKind::Link | FileKind::Other, false) => "",
        };
        tell(Facts::PERM, "perm", Some(perm.into()));
        tell(Facts::SIZE, "size", (kind == FileKind::File).then(|| format!("{size}")));
        tell(Facts::MODIFY, "modify", modified.map(time::format));
        tell(Facts::UNIQUE, "unique", unique.map(|unique| format!("{unique:x}")));
        tell(Facts::MODE, "UNIX.mode", mode.map(|mode| format!("{mode:04o}")));
        facts
    }
}

fn kind_of(kind: FileKind, target: Option<&str>) -> String {
    match kind {
        FileKind::File => "file".into(),
        FileKind::Folder => "dir".into(),
        FileKind::Link => match target {
            // A value cannot hold these (§7.2).
            Some(target) if !target.contains([';', ' ', '\r', '\n', '\0']) => {
                format!("OS.unix=slink:{target}")
            }
            _ => "OS.unix=slink".into(),
        },
        FileKind::Other => "OS.unix=other".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_chosen_and_told() {
        let status = Status {
            modified: Some(951_782_400),
            mode: Some(0o640),
            unique: Some(255),
            ..Status::new(FileKind::File, 5)
        };
        let all = Facts::default();
        assert_eq!(
            all.of(&status, None, true),
            "type=file;perm=adfrw;size=5;modify=20000229000000;unique=ff;UNIX.mode=0640;"
        );
        assert_eq!(all.feature(), "MLST type*;perm*;size*;modify*;unique*;UNIX.mode*;");
        let some = Facts::parse("Size;foo;TYPE;").expect("facts");
        assert_eq!(some.of(&status, None, true), "type=file;size=5;");
        assert_eq!(some.feature(), "MLST type*;perm;size*;modify;unique;UNIX.mode;");
        assert_eq!(some.chosen(), "MLST OPTS type;size;");
        for none in ["", "foo;", "foo;bar.baz;"] {
            assert_eq!(Facts::parse(none), Some(Facts(0)), "{none}");
        }
        for wrong in ["foo", "type;size", "type ;", ";", "type;;", "type; size;", " type;", "a=b;"]
        {
            assert_eq!(Facts::parse(wrong), None, "{wrong}");
        }
        let link = Status::new(FileKind::Link, 0);
        assert_eq!(all.of(&link, Some("a/b"), false), "type=OS.unix=slink:a/b;perm=;");
        assert_eq!(all.of(&link, Some("a b"), false), "type=OS.unix=slink;perm=;");
        let folder = Status::new(FileKind::Folder, 0);
        assert_eq!(all.of(&folder, None, false), "type=dir;perm=el;");
    }
}
