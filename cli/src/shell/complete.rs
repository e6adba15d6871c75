//! Completion: commands, names on the server, names of this machine.

use std::fs;
use std::sync::Arc;
use std::sync::mpsc::channel;

use clap::CommandFactory;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::arguments::Line;
use super::commands::PATIENCE;
use super::input::{Event, Name, Teller};
use super::words::{self, Words};
use crate::client::names;
use crate::printable::Printable;

pub(super) struct Completion {
    teller: Arc<Teller>,
    commands: Vec<String>,
}

/// What a word of a command names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Command,
    Remote,
    Local,
    Nothing,
}

impl Completion {
    pub(super) fn new(teller: Arc<Teller>) -> Self {
        let mut line = Line::command();
        line.build();
        let commands = line.get_subcommands().map(|command| command.get_name().to_owned());
        Completion { teller, commands: commands.collect() }
    }

    fn names(&self, kind: Kind, folder: &str) -> Vec<Name> {
        match kind {
            Kind::Command => {
                let commands = self.commands.iter().cloned();
                commands.map(|name| Name { name, is_folder: false }).collect()
            }
            Kind::Remote => {
                let (answer, heard) = channel();
                self.teller.tell(Event::Names { folder: folder.into(), answer });
                heard.recv_timeout(PATIENCE).unwrap_or_default()
            }
            Kind::Local => local(folder),
            Kind::Nothing => Vec::new(),
        }
    }
}

impl Completer for Completion {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let words = words::split(&line[..pos]);
        let (start, typed) = match words.words.last() {
            Some(word) if !words.is_between => (word.start, words::literal(&word.text)),
            _ => (pos, String::new()),
        };
        let kind = kind(&words);
        let (folder, begun) = match kind {
            Kind::Command | Kind::Nothing => ("", &*typed),
            Kind::Remote | Kind::Local => names::split(&typed),
        };
        let quote = words.open.filter(|quote| *quote != '\\');
        let mut found = self.names(kind, folder);
        found.retain(|name| {
            // Hidden files are shown to those who ask for them.
            let is_asked = begun.starts_with('.') || !name.name.starts_with('.');
            name.name.starts_with(begun) && is_asked
        });
        found.sort_by(|one, other| one.name.cmp(&other.name));
        let pairs = found.into_iter().map(|Name { name, is_folder }| {
            let text = words::quoted(&format!("{folder}{name}"), quote);
            let open = quote.map(String::from).unwrap_or_default();
            let end = match (is_folder, quote) {
                (true, _) => "/".into(),
                (false, Some(quote)) => format!("{quote} "),
                (false, None) => " ".into(),
            };
            let slash = if is_folder { "/" } else { "" };
            Pair {
                display: format!("{}{slash}", Printable(&name)),
                replacement: format!("{open}{text}{end}"),
            }
        });
        Ok((start, pairs.collect()))
    }
}

/// Returns what the last word of a line names.
fn kind(words: &Words) -> Kind {
    let texts: Vec<_> = words.words.iter().map(|word| word.text.as_str()).collect();
    let [command, arguments @ ..] = &texts[..] else { return Kind::Command };
    if arguments.is_empty() && !words.is_between {
        return Kind::Command;
    }
    let before = match (words.is_between, arguments) {
        (false, [before @ .., _]) => before,
        _ => arguments,
    };
    let is_target = matches!(before.last(), Some(&("-o" | "--to")));
    match (*command, is_target) {
        ("get", true) | ("put", false) | ("lcd" | "lls", _) => Kind::Local,
        ("put", true) | ("get" | "ls" | "cd" | "cat" | "rm" | "mkdir" | "rmdir" | "mv", _) => {
            Kind::Remote
        }
        ("mirror", _) => {
            let reverse = texts.iter().any(|word| matches!(*word, "-R" | "--reverse"));
            let second = before.iter().any(|word| !word.starts_with('-'));
            if reverse == second { Kind::Remote } else { Kind::Local }
        }
        ("help", _) => Kind::Command,
        _ => Kind::Nothing,
    }
}

fn local(folder: &str) -> Vec<Name> {
    let folder = if folder.is_empty() { "." } else { folder };
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let names = entries.filter_map(|entry| {
        let is_folder = entry.path().is_dir();
        Some(Name { name: entry.file_name().into_string().ok()?, is_folder })
    });
    names.collect()
}

impl Helper for Completion {}
impl Highlighter for Completion {}
impl Hinter for Completion {
    type Hint = String;
}
impl Validator for Completion {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_has_its_kind() {
        for (line, expected) in [
            ("", Kind::Command),
            ("ge", Kind::Command),
            ("get ", Kind::Remote),
            ("get a b", Kind::Remote),
            ("get a -o ", Kind::Local),
            ("put x", Kind::Local),
            ("put x --to y", Kind::Remote),
            ("mirror ", Kind::Remote),
            ("mirror a ", Kind::Local),
            ("mirror -R ", Kind::Local),
            ("mirror -R a b", Kind::Remote),
            ("help g", Kind::Command),
            ("pwd ", Kind::Nothing),
        ] {
            assert_eq!(kind(&words::split(line)), expected, "{line}");
        }
    }
}
