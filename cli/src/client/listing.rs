//! A listing, a line for each entry as it arrives: for people, or as JSON.

use std::io::{self, Write};

use anstream::ColorChoice;
use anstyle::{AnsiColor, Style};
use indicatif::HumanBytes;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use stackwright::contract::services::{FileKind, FolderEntry, Status};

use crate::printable::{Printable, PrintableLines};

/// What of an entry is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The size as people say it, and the name.
    Short,
    /// Kind, permissions, size, date and name. Columns are of a fixed width, so that a line can be
    /// shown before the next is known.
    Long {
        /// Whether the size has a unit; otherwise it is exact.
        human: bool,
    },
    Json,
}

impl Form {
    pub(crate) fn of(json: bool, long: bool, human: bool) -> Self {
        match (json, long) {
            (true, _) => Form::Json,
            (false, true) => Form::Long { human },
            (false, false) => Form::Short,
        }
    }
}

/// In seconds: a date that is no more exact has no time of day.
const DAY: u32 = 86_400;

/// Shows entries on standard output.
pub(crate) struct Listing {
    form: Form,
    /// Of dates: the zone of this machine, read only where dates are shown.
    zone: Option<TimeZone>,
    folder: Style,
    link: Style,
}

impl Listing {
    /// Makes a listing with colours where standard output is a terminal, and `NO_COLOR` is not set.
    pub(crate) fn new(form: Form) -> Self {
        let colored = anstream::AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        Self::colored(form, colored, matches!(form, Form::Long { .. }).then(TimeZone::system))
    }

    fn colored(form: Form, colored: bool, zone: Option<TimeZone>) -> Self {
        let style = |color: AnsiColor| {
            if colored { color.on_default().bold() } else { Style::new() }
        };
        Listing { form, zone, folder: style(AnsiColor::Blue), link: style(AnsiColor::Cyan) }
    }

    /// Shows entries. Where nobody reads them any more (`| head`), they are not shown.
    pub(crate) fn show(&self, entries: &[FolderEntry]) {
        let mut lines = Vec::new();
        for entry in entries {
            // Writing to memory does not fail.
            let _ = self.line(&mut lines, entry);
        }
        let _ = io::stdout().write_all(&lines);
    }

    fn line(&self, out: &mut impl Write, entry: &FolderEntry) -> io::Result<()> {
        let status = &entry.status;
        match self.form {
            Form::Json => return writeln!(out, "{}", PrintableLines(told(entry))),
            Form::Short if status.kind == FileKind::File => {
                write!(out, "{:>12}  ", HumanBytes(status.size).to_string())?;
            }
            Form::Short => write!(out, "{:>12}  ", "")?,
            Form::Long { human } => {
                let size = match (status.kind, human) {
                    (FileKind::Folder | FileKind::Link, _) => String::new(),
                    (_, true) => HumanBytes(status.size).to_string(),
                    (_, false) => status.size.to_string(),
                };
                write!(out, "{} {size:>12}  {:16}  ", mode(status), self.date(status))?;
            }
        }
        let name = Printable(&entry.name);
        match (status.kind, &entry.target) {
            (FileKind::Folder, _) => writeln!(out, "{}{name}{:#}/", self.folder, self.folder),
            (FileKind::Link, target) => {
                write!(out, "{}{name}{:#} ->", self.link, self.link)?;
                target.iter().try_for_each(|target| write!(out, " {}", Printable(target)))?;
                writeln!(out)
            }
            _ => writeln!(out, "{name}"),
        }
    }

    /// When it was modified, in the zone of this machine; nothing where that is not known.
    fn date(&self, status: &Status) -> String {
        let seconds = status.modified.and_then(|seconds| i64::try_from(seconds).ok());
        let time = seconds.and_then(|seconds| Timestamp::from_second(seconds).ok());
        match (time, &self.zone) {
            // As the server shows it: its zone is not known.
            (Some(time), Some(_)) if status.rough > 0 => {
                let day_alone = status.rough >= DAY;
                let form = if day_alone { "%Y-%m-%d" } else { "%Y-%m-%d %H:%M" };
                TimeZone::UTC.to_datetime(time).strftime(form).to_string()
            }
            (Some(time), Some(zone)) => {
                zone.to_datetime(time).strftime("%Y-%m-%d %H:%M").to_string()
            }
            _ => String::new(),
        }
    }
}

/// The kind and the permissions as `ls -l` writes them; `?` for permissions that are not known.
fn mode(status: &Status) -> String {
    let kind = match status.kind {
        FileKind::File => '-',
        FileKind::Folder => 'd',
        FileKind::Link => 'l',
        FileKind::Other => '?',
    };
    let rights = |mode: u16| {
        (0..9)
            .map(move |bit| if mode & (0o400 >> bit) == 0 { '-' } else { ['r', 'w', 'x'][bit % 3] })
    };
    match status.mode {
        Some(mode) => std::iter::once(kind).chain(rights(mode)).collect(),
        None => format!("{kind}?????????"),
    }
}

/// The entry as an object of JSON.
pub(crate) fn told(entry: &FolderEntry) -> serde_json::Value {
    let FolderEntry { name, status, target } = entry;
    let mut told = json!({ "name": name, "kind": kind(status.kind), "octets": status.size });
    if let Some(modified) = status.modified {
        if status.rough > 0 {
            told["modified_within"] = status.rough.into();
        }
        told["modified"] = modified.into();
    }
    if let Some(mode) = status.mode {
        told["mode"] = format!("{mode:03o}").into();
    }
    if let Some(target) = target {
        told["target"] = target.as_str().into();
    }
    told
}

fn kind(kind: FileKind) -> &'static str {
    match kind {
        FileKind::File => "file",
        FileKind::Folder => "folder",
        FileKind::Link => "link",
        FileKind::Other => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, kind: FileKind, size: u64, mode: Option<u16>) -> FolderEntry {
        let status = Status { modified: Some(951_782_400), mode, ..Status::new(kind, size) };
        FolderEntry::new(name, status)
    }

    fn lines(form: Form, colored: bool) -> String {
        let mut link = entry("latest", FileKind::Link, 3, Some(0o777));
        link.target = Some("a\x1bb".into());
        let listing = Listing::colored(form, colored, Some(TimeZone::UTC));
        let mut lines = Vec::new();
        for entry in [
            entry("pub", FileKind::Folder, 0, Some(0o755)),
            entry("film", FileKind::File, 50_000_000, None),
            FolderEntry::new("pipe", Status::new(FileKind::Other, 0)),
            link,
        ] {
            listing.line(&mut lines, &entry).unwrap();
        }
        String::from_utf8(lines).unwrap()
    }

    #[test]
    fn the_long_form_has_columns() {
        assert_eq!(
            lines(Form::Long { human: false }, false),
            "drwxr-xr-x               2000-02-29 00:00  pub/\n\
             -?????????     50000000  2000-02-29 00:00  film\n\
             ??????????            0                    pipe\n\
             lrwxrwxrwx               2000-02-29 00:00  latest -> a\\x1bb\n"
        );
        assert!(lines(Form::Long { human: true }, false).contains("   47.68 MiB  2000-02-29"));
    }

    #[test]
    fn colours_are_around_names_alone() {
        let colored = lines(Form::Short, true);
        assert!(colored.contains("\x1b[1m\x1b[34mpub\x1b[0m/"), "{colored:?}");
        assert!(!lines(Form::Short, false).contains('\x1b'));
    }

    #[test]
    fn an_entry_is_an_object() {
        let object = told(&entry("a", FileKind::File, 7, Some(0o640)));
        let expected = r#"{"kind":"file","mode":"640","modified":951782400,"name":"a","octets":7}"#;
        assert_eq!(object.to_string(), expected);
    }
}
