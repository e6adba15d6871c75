//! Why a campaign file is refused: a sentence, and where.

use std::fmt;
use std::ops::Range;

/// One reason, with its place in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Flaw {
    /// Counted from 1; the column in characters. `None` where it is about the file as a whole.
    at: Option<(usize, usize)>,
    says: String,
}

impl Flaw {
    /// A flaw of the whole file.
    pub(crate) fn whole(says: impl Into<String>) -> Self {
        Flaw { at: None, says: says.into() }
    }

    /// A flaw of what stands at `span` of `text`.
    pub(crate) fn at(text: &str, span: &Range<usize>, says: impl Into<String>) -> Self {
        let before = text.get(..span.start).unwrap_or(text);
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or(before).chars().count() + 1;
        Flaw { at: Some((line, column)), says: says.into() }
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.at {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.says)
    }
}

/// `; is `name` meant?` where so few letters of a known name are wrong that it probably is; else which there are.
pub(crate) fn suggestion<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let near = known.iter().map(|name| (strsim::osa_distance(unknown, name), name));
    let most = unknown.chars().count().div_ceil(3);
    let near = near.filter(|(distance, _)| *distance <= most).min_by_key(|(distance, _)| *distance);
    match (near, &known[..]) {
        (Some((_, name)), _) => format!("; is `{name}` meant?"),
        (None, []) => String::new(),
        (None, known) => format!("; there are {}", known.join(", ")),
    }
}
