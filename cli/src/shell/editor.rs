//! The line editor of a terminal: history and completion.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config};

use super::complete::Completion;
use super::input::Teller;
use crate::address;
use crate::state_folder::state_folder;

/// How many lines are remembered.
const HISTORY_MOST: usize = 1000;

pub(super) struct Editor {
    editor: rustyline::Editor<Completion, FileHistory>,
    /// Where lines are remembered, if they can be.
    history: Option<PathBuf>,
    is_colored: bool,
}

impl Editor {
    pub(super) fn new(teller: Arc<Teller>) -> rustyline::Result<Self> {
        let config = Config::builder()
            .history_ignore_space(true)
            .history_ignore_dups(true)?
            .max_history_size(HISTORY_MOST)?
            .completion_type(CompletionType::List)
            .build();
        let mut editor = rustyline::Editor::with_config(config)?;
        editor.set_helper(Some(Completion::new(teller)));
        // What cannot be remembered can be typed.
        let history = file().filter(|path| create(path).is_ok());
        if let Some(path) = &history {
            let _ = editor.load_history(path);
        }
        let is_colored = AutoStream::choice(&io::stdout()) != ColorChoice::Never;
        Ok(Editor { editor, history, is_colored })
    }

    pub(super) fn line(&mut self, prompt: &str) -> Result<String, ReadlineError> {
        let style = if self.is_colored { AnsiColor::Green.on_default() } else { Style::new() };
        let styled = format!("{style}{prompt}{style:#}");
        let line = self.editor.readline(&(prompt, &*styled))?;
        // A line with a password in an address is refused, and forgotten.
        if address::without_password(&line) == line
            && self.editor.add_history_entry(&line)?
            && let Some(path) = &self.history
        {
            let _ = self.editor.append_history(path);
        }
        Ok(line)
    }
}

/// `$XDG_STATE_HOME/stackwright/history`, else below `~/.local/state`.
fn file() -> Option<PathBuf> {
    Some(state_folder()?.join("history"))
}

/// Makes a file that nobody else can read.
fn create(path: &PathBuf) -> io::Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    OpenOptions::new().append(true).create(true).mode(0o600).open(path).map(|_| ())
}
