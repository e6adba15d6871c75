//! Stacks described in files: where they are found, and how a flaw in one is shown.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::Path;

use stackwright::compose::graph::{DESCRIPTION_MOST, Description, Flaw};

use crate::problem::Problem;

/// The descriptions that every program has with it, by the commands that they describe.
const BUILT_IN: [(&[&str], &str); 9] = [
    (&["get", "put", "ls"], include_str!("../stacks/get.toml")),
    (&["get-tls"], include_str!("../stacks/get-tls.toml")),
    (&["get-artp"], include_str!("../stacks/get-artp.toml")),
    (&["get-xtp"], include_str!("../stacks/get-xtp.toml")),
    (&["serve"], include_str!("../stacks/serve.toml")),
    (&["serve-artp"], include_str!("../stacks/serve-artp.toml")),
    (&["serve-xtp"], include_str!("../stacks/serve-xtp.toml")),
    (&["radio"], include_str!("../stacks/radio.toml")),
    (&["radio-hub"], include_str!("../stacks/radio-hub.toml")),
];

/// A description that was read, with its text, so that flaws can be shown in it.
pub(crate) struct Described {
    /// As whoever asked for it called it.
    pub(crate) name: String,
    pub(crate) description: Description,
    text: String,
}

impl Described {
    /// One that is built in, or else a file.
    pub(crate) fn load(name: &Path) -> Result<Self, Problem> {
        let built_in =
            BUILT_IN.iter().find(|(names, _)| names.iter().any(|known| name == Path::new(known)));
        let text = match built_in {
            Some((_, text)) => (*text).to_owned(),
            None => read(name).map_err(|why| Problem::NoStack { name: name.into(), why })?,
        };
        Self::read(name.display().to_string(), text)
    }

    fn read(name: String, text: String) -> Result<Self, Problem> {
        match Description::read(&text) {
            Ok(description) => Ok(Described { name, description, text }),
            Err(flaw) => Err(flawed(&name, &text, &flaw)),
        }
    }

    /// The flaw, shown in the text.
    pub(crate) fn flawed(&self, flaw: &Flaw) -> Problem {
        flawed(&self.name, &self.text, flaw)
    }

    /// What is wrong with it for a command, though it fits in itself.
    pub(crate) fn unfit(&self, says: &str) -> Problem {
        let Described { name, .. } = self;
        Problem::Stack(Box::new(Flawed { file: name.clone(), place: None, says: says.into() }))
    }
}

/// Never more than a description may have, and an octet that tells that there is more.
fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(DESCRIPTION_MOST as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

fn flawed(file: &str, text: &str, flaw: &Flaw) -> Problem {
    let place = flaw.at().map(|at| {
        let line = text.lines().nth(at.line - 1).unwrap_or_default();
        Place { line: at.line, column: at.column, text: shown(line) }
    });
    Problem::Stack(Box::new(Flawed { file: file.into(), place, says: shown(flaw.says()) }))
}

/// A text that may come from a file, as a terminal may see it.
pub(crate) fn shown(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() && letter != '\n' { ' ' } else { letter })
        .collect()
}

/// Why a description is refused.
#[derive(Debug)]
pub(crate) struct Flawed {
    file: String,
    pub(crate) place: Option<Place>,
    says: String,
}

/// Where in the file, both counted from 1, and what stands in that line.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
    text: String,
}

/// Lines that are longer are not shown.
const LINE_MOST: usize = 120;

impl Flawed {
    /// Makes a flaw in a text; `span`: where.
    pub(crate) fn at(file: &str, text: &str, span: Option<&Range<usize>>, says: &str) -> Self {
        let place = span.map(|span| {
            let before = text.get(..span.start).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
            let text = shown(text.lines().nth(line - 1).unwrap_or_default());
            Place { line, column, text }
        });
        Flawed { file: file.into(), place, says: shown(says) }
    }

    /// The line, and a caret below the place; nothing where it is not known.
    pub(crate) fn excerpt(&self) -> Option<String> {
        let Place { line, column, text } = self.place.as_ref()?;
        let number = line.to_string();
        let fits = text.chars().count() <= LINE_MOST;
        let (left, caret) = (" ".repeat(number.len()), " ".repeat(column - 1));
        fits.then(|| format!("  {number} | {text}\n  {left} | {caret}^"))
    }
}

impl fmt::Display for Flawed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(Place { line, column, .. }) => {
                write!(f, "{}:{line}:{column}: {}", self.file, self.says)
            }
            None => write!(f, "{}: {}", self.file, self.says),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_is_found_by_the_names_of_commands() {
        let own =
            ["get-tls", "get-artp", "serve-artp", "get-xtp", "serve-xtp", "radio", "radio-hub"];
        for name in ["get", "put", "ls", "serve"].into_iter().chain(own) {
            assert_eq!(
                Described::load(Path::new(name)).map(|stack| stack.name).ok().as_deref(),
                Some(name)
            );
        }
        let problem =
            Described::load(Path::new("no/such")).err().map(|problem| problem.to_string());
        assert!(problem.is_some_and(|says| says.contains("no/such")));
    }

    #[test]
    fn a_flaw_is_shown_in_its_line() {
        let flawed = |text: &str| match Described::read("a.toml".into(), text.into()) {
            Err(Problem::Stack(flawed)) => (flawed.to_string(), flawed.excerpt()),
            _ => panic!("it has a flaw"),
        };
        let (says, excerpt) = flawed("# first\ntop = \t3\n");
        assert_eq!(
            says,
            "a.toml:2:8: `top` is a node's name, or a list of them, and a number stands there"
        );
        assert_eq!(excerpt.as_deref(), Some("  2 | top =  3\n    |        ^"));
        let (says, excerpt) = flawed(&format!("[a]\nprotocol = 3 #{}\n", "x".repeat(LINE_MOST)));
        assert!(says.starts_with("a.toml:2:12: ") && excerpt.is_none(), "{says}");
    }
}
