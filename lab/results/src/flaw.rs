//! Why a file is refused, and at which place in it.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use crate::Problem;

/// One reason, with its place in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flaw {
    /// `None` where it is about the file as a whole.
    at: Option<Place>,
    says: String,
}

/// Line and column, counted from 1, the column in characters, and what stands in that line.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Place {
    line: usize,
    column: usize,
    text: String,
}

/// Longer lines are not shown.
const LINE_MOST: usize = 120;

impl Flaw {
    /// A flaw of the whole file.
    pub fn whole(says: impl fmt::Display) -> Self {
        Flaw { at: None, says: says.to_string() }
    }

    /// A flaw of what stands at `span` of `text`.
    pub fn at(text: &str, span: &Range<usize>, says: impl fmt::Display) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        let shown = text.lines().nth(line - 1).unwrap_or_default();
        // A terminal may see it.
        let shown =
            shown.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        Flaw { at: Some(Place { line, column, text: shown }), says: says.to_string() }
    }

    /// What the reader of TOML says.
    pub fn of(text: &str, error: &toml::de::Error) -> Self {
        match error.span() {
            Some(span) => Flaw::at(text, &span, error.message()),
            None => Flaw::whole(error.message()),
        }
    }

    /// Returns the problem to print: the place, and its line with a caret below.
    pub fn problem(&self, file: &Path) -> Problem {
        let file = file.display();
        let Some(Place { line, column, text }) = &self.at else {
            return Problem::usage(format!("{file}: {}", self.says));
        };
        let problem = Problem::usage(format!("{file}:{line}:{column}: {}", self.says));
        if text.chars().count() > LINE_MOST {
            return problem;
        }
        let (left, caret) = (" ".repeat(line.to_string().len()), " ".repeat(column - 1));
        problem.advise(format!("{line} | {text}\n  {left} | {caret}^"))
    }
}

/// Returns `; did you mean `name`?` if a known name is similar, otherwise the known names.
pub fn suggestion<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near = known.iter().map(|name| (strsim::osa_distance(unknown, name), name));
    let most = unknown.chars().count().div_ceil(3);
    let near = near.filter(|(distance, _)| *distance <= most).min_by_key(|(distance, _)| *distance);
    match (near, &known[..]) {
        (Some((_, name)), _) => format!("; did you mean `{name}`?"),
        (None, []) => String::new(),
        (None, known) => format!("; known: {}", known.join(", ")),
    }
}
