//! What is wrong with a text that a person wrote, and where.

use std::fmt;
use std::ops::Range;

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
pub(crate) const LINE_MOST: usize = 120;

impl Flawed {
    /// Makes a flaw of a text as a whole.
    pub(crate) fn whole(file: &str, says: &str) -> Self {
        Flawed { file: file.into(), place: None, says: says.into() }
    }

    /// Makes a flaw in a text, at a line and a column of it.
    pub(crate) fn new(file: &str, text: &str, at: Option<(usize, usize)>, says: &str) -> Self {
        let place = at.map(|(line, column)| {
            let text = shown(text.lines().nth(line - 1).unwrap_or_default());
            Place { line, column, text }
        });
        Flawed { file: file.into(), place, says: shown(says) }
    }

    /// Makes a flaw in a text; `span`: where.
    pub(crate) fn at(file: &str, text: &str, span: Option<&Range<usize>>, says: &str) -> Self {
        let at = span.map(|span| {
            let before = text.get(..span.start).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            (line, before.rsplit('\n').next().unwrap_or(before).chars().count() + 1)
        });
        Self::new(file, text, at, says)
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
