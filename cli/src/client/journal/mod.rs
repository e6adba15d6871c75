//! Journals: what is known of a transfer that may be interrupted for hours, or by a reboot.
//!
//! | file | what |
//! | --- | --- |
//! | `mod.rs` | what a journal says, as TOML |
//! | `keeper.rs` | when it is written, and what is believed of it afterwards |
//! | `folder.rs` | where journals are, and which program keeps which |
//! | `running.rs` | the journals of the copies of a command |
//! | `commands.rs` | `transfers`, `resume`, `forget` |
//!
//! The octets themselves are in the [part](stackwright_drivers::files::part_path) of the target,
//! which is resumed with or without a journal. A journal adds what a part cannot tell: that there
//! is a transfer to go on with, by which command, and how much of the part survives a loss of
//! power.

mod commands;
mod folder;
mod keeper;
#[cfg(test)]
mod power;
mod running;

use std::ops::Range;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub(crate) use commands::{Forget, Resume, Transfers, forget, resume, transfers};
pub(crate) use running::Running;

/// The version of the format.
const VERSION: i64 = 1;

/// How many octets one check is of.
const BLOCK: u64 = 16 << 10;

/// How many blocks are checked: the last ones. What is before them was synced earlier still.
const BLOCKS: u64 = 4;

#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Journal {
    /// The name of its file.
    id: String,
    direction: Direction,
    source: String,
    destination: String,
    /// Of the source, as last seen; a folder has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// When the source was modified, as last seen.
    #[serde(skip_serializing_if = "Option::is_none")]
    mtime: Option<String>,
    /// How many octets of the part are on the disk: never more than what was synced. Of an upload,
    /// how many were sent: the server knows how many it has. Of a folder, those of its whole files.
    known: u64,
    /// The CRC-32C of each of the last blocks of `known`.
    crc: Vec<String>,
    /// How often it was begun or resumed.
    attempts: u32,
    #[serde(flatten)]
    state: State,
    /// The words of the command that does the same.
    command: Vec<String>,
    /// The folder where that command was given.
    folder: PathBuf,
    /// The last line: nothing that was cut short is a journal.
    version: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Direction {
    Get,
    Put,
}

impl Direction {
    fn name(self) -> &'static str {
        match self {
            Direction::Get => "get",
            Direction::Put => "put",
        }
    }
}

/// A transfer that is done has no journal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
enum State {
    /// It was under way when the journal was written.
    Running,
    Paused {
        why: String,
        /// When its program tries again, if it lives.
        #[serde(skip_serializing_if = "Option::is_none")]
        again: Option<String>,
    },
    /// It will be refused again.
    Refused { why: String },
}

/// Why a journal cannot be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unusable {
    /// It is not what was written.
    Torn,
    /// It is of a later version of this program.
    Later,
}

impl Journal {
    /// Reads what [`Journal::text`] returned.
    fn read(text: &str) -> Result<Self, Unusable> {
        let table: toml::Table = toml::from_str(text).map_err(|_| Unusable::Torn)?;
        match table.get("version").and_then(toml::Value::as_integer) {
            Some(version) if version > VERSION => Err(Unusable::Later),
            Some(VERSION) => table.try_into().map_err(|_| Unusable::Torn),
            _ => Err(Unusable::Torn),
        }
    }

    fn text(&self) -> String {
        toml::to_string(self).expect("a journal has no key that is not a text")
    }

    /// Returns the last `count` blocks of what is known, the first of them first.
    fn blocks(&self, count: u64) -> impl DoubleEndedIterator<Item = Range<u64>> + use<> {
        let (known, end) = (self.known, self.known.div_ceil(BLOCK));
        (end.saturating_sub(count)..end).map(move |nth| nth * BLOCK..known.min((nth + 1) * BLOCK))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn journal() -> Journal {
        Journal {
            version: VERSION,
            id: "7f3a".into(),
            direction: Direction::Get,
            source: "ftp://h/a%20\"b\"".into(),
            destination: "/home/op/a \\\u{7f}\u{1b}\u{e4}".into(),
            size: Some(102_400),
            mtime: Some("2026-11-25T10:00:00Z".into()),
            known: 20_000,
            crc: vec!["9ae0daaf".into(), "00000001".into()],
            attempts: 3,
            state: State::Paused { why: "the connection was lost".into(), again: None },
            command: ["get", "--limit-rate=9k", "--", "a", "b"].map(String::from).into(),
            folder: "/home/op".into(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let paused = journal();
        let running = Journal { state: State::Running, size: None, mtime: None, ..journal() };
        let refused = Journal { state: State::Refused { why: "no".into() }, ..journal() };
        for journal in [paused, running, refused] {
            assert_eq!(Journal::read(&journal.text()).as_ref(), Ok(&journal), "{}", journal.text());
        }
        assert!(journal().text().contains("\nsize = 102400\n"), "{}", journal().text());
    }

    /// Wherever it is cut off, and where a disk returns zeros.
    #[test]
    fn a_torn_journal_is_none() {
        let text = journal().text();
        let whole = text.trim_end().len();
        for end in (0..whole).filter(|end| text.is_char_boundary(*end)) {
            let cut = &text[..end];
            assert_eq!(Journal::read(cut), Err(Unusable::Torn), "{cut}");
            let zeros = format!("{cut}{}", "\0".repeat(whole - end));
            assert_eq!(Journal::read(&zeros), Err(Unusable::Torn), "{cut}");
        }
    }

    #[test]
    fn a_journal_of_a_later_version_is_left_alone() {
        let text =
            format!("{}more = [{{}}]\n", journal().text().replace("version = 1", "version = 2"));
        assert_eq!(Journal::read(&text), Err(Unusable::Later));
    }

    #[test]
    fn the_last_blocks_end_with_what_is_known() {
        let blocks =
            |known, count| Journal { known, ..journal() }.blocks(count).collect::<Vec<_>>();
        assert_eq!(blocks(0, 4), [0..0; 0]);
        assert_eq!(blocks(2 * BLOCK, 2), [0..BLOCK, BLOCK..2 * BLOCK]);
        assert_eq!(blocks(2 * BLOCK + 5, 2), [BLOCK..2 * BLOCK, 2 * BLOCK..2 * BLOCK + 5]);
    }
}
