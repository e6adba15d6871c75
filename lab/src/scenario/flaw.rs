//! What is wrong with a scenario file, and where.

use std::fmt;
use std::ops::Range;
use std::path::Path;

use crate::problem::Problem;

/// A sentence, and its place in the text.
#[derive(Debug)]
pub(crate) struct Flaw {
    /// Line and column, counted from 1, and what stands in that line.
    place: Option<(usize, usize, String)>,
    says: String,
}

/// A text in which flaws are found.
pub(super) struct Flaws<'a>(pub(super) &'a str);

/// Longer lines are not shown.
const LINE_MOST: usize = 120;

impl Flaws<'_> {
    /// A flaw of the whole.
    pub(super) fn whole(&self, says: impl fmt::Display) -> Flaw {
        Flaw { place: None, says: says.to_string() }
    }

    pub(super) fn at(&self, span: &Range<usize>, says: impl fmt::Display) -> Flaw {
        let before = self.0.get(..span.start).unwrap_or(self.0);
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count();
        let shown = self.0.lines().nth(line).unwrap_or_default();
        Flaw { place: Some((line + 1, column + 1, shown.into())), says: says.to_string() }
    }

    pub(super) fn of(&self, error: &toml::de::Error) -> Flaw {
        match error.span() {
            Some(span) => self.at(&span, error.message()),
            None => self.whole(error.message()),
        }
    }

    /// A name that nobody has, with the nearest that somebody has.
    pub(super) fn unknown(&self, span: &Range<usize>, noun: &str, name: &str, known: &[String]) -> Flaw {
        self.at(span, unknown(noun, name, known.iter().map(String::as_str)))
    }
}

/// That nobody has a name, and who has one like it.
pub(crate) fn unknown<'a>(noun: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    let near = known.map(|known| (strsim::normalized_damerau_levenshtein(name, known), known));
    let near = near.filter(|(likeness, _)| *likeness > 0.5).max_by(|one, other| one.0.total_cmp(&other.0));
    let suggestion = near.map(|(_, known)| format!("; did you mean `{known}`?")).unwrap_or_default();
    format!("there is no {noun} `{name}`{suggestion}")
}

impl Flaw {
    pub(crate) fn problem(self, path: &Path) -> Problem {
        let file = path.display();
        match self.place {
            None => Problem::usage(format!("{file}: {}", self.says)),
            Some((line, column, text)) => {
                let says = format!("{file}:{line}:{column}: {}", self.says);
                let text: String =
                    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
                if text.chars().count() > LINE_MOST {
                    return Problem::usage(says);
                }
                let caret = " ".repeat(column - 1);
                Problem::usage(says)
                    .advise(format!("{line} | {text}\n  {} | {caret}^", " ".repeat(line.to_string().len())))
            }
        }
    }
}
