//! The program at a terminal.

use stackwright_programs::processes::stackwright;
use stackwright_programs::scratch::Scratch;
use stackwright_programs::terminal::Terminal;

use crate::client::program;

/// Runs the program at a terminal, where a person has `home`; `None` if there can be none.
pub(crate) fn start(home: &Scratch, arguments: &[&str]) -> Option<Terminal> {
    let _ = program(); // it is known which one
    let words: Vec<_> = arguments.iter().map(|word| format!("'{word}'")).collect();
    let line = format!("exec {} {}", stackwright().display(), words.join(" "));
    let terminal = Terminal::start(home.path(), &line, 100, 30);
    if terminal.is_none() {
        eprintln!("script is not installed: not tried");
    }
    terminal
}
