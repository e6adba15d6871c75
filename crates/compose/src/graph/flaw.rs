//! Why a graph is refused.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt;

use stackwright_contract::rules::Misfit;

/// A place in the text of a description, both counted from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct At {
    /// The line.
    pub line: usize,
    /// The column, in characters.
    pub column: usize,
}

/// What a flaw is about, so that a reader of the text can find the place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum About {
    Graph,
    Node(String),
    /// Which of the lowers of the n-th port.
    Lower {
        node: String,
        nth: usize,
        lower: usize,
    },
    #[cfg(feature = "std")]
    Protocol {
        node: String,
    },
    #[cfg(feature = "std")]
    Key {
        node: String,
        key: String,
    },
    #[cfg(feature = "std")]
    Value {
        node: String,
        key: String,
    },
}

/// One reason why a graph, or a description of one, is refused: a sentence, and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flaw(Box<Inner>);

#[derive(Clone, PartialEq, Eq, Debug)]
struct Inner {
    says: String,
    at: Option<At>,
    about: About,
    misfit: Option<Misfit>,
}

impl Flaw {
    pub(super) fn new(about: About, says: String) -> Self {
        Flaw(Box::new(Inner { says, at: None, about, misfit: None }))
    }

    pub(super) fn misfit_of(about: About, misfit: Misfit) -> Self {
        let says = format!("{}", misfit.explain());
        Flaw(Box::new(Inner { says, at: None, about, misfit: Some(misfit) }))
    }

    /// Returns the sentence, without the place.
    pub fn says(&self) -> &str {
        &self.0.says
    }

    /// Returns where it is, in a description that was read from a text.
    pub fn at(&self) -> Option<At> {
        self.0.at
    }

    /// Returns the refusal of the rule book, where it is one.
    pub fn misfit(&self) -> Option<Misfit> {
        self.0.misfit
    }

    /// What it is about.
    #[cfg(feature = "std")]
    pub(super) fn about(&self) -> &About {
        &self.0.about
    }

    /// Returns the same flaw, at a place that is known now.
    #[cfg(feature = "std")]
    #[must_use]
    pub(super) fn located(mut self, at: Option<At>) -> Self {
        self.0.at = self.0.at.or(at);
        self
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(At { line, column }) = self.0.at {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.0.says)
    }
}

impl core::error::Error for Flaw {}

/// `; is `name` meant?` for a name that is near to what stands there, else nothing.
pub(super) fn suggestion<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(unknown, known).map_or_else(String::new, |name| format!("; is `{name}` meant?"))
}

/// Where so few letters are wrong, missing or exchanged that it is probably meant.
#[cfg(feature = "std")]
fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.into_iter().map(|name| (strsim::osa_distance(unknown, name), name));
    let most = unknown.chars().count().div_ceil(3);
    near.filter(|(distance, _)| *distance <= most)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Comparing names takes more than there is without the standard library.
#[cfg(not(feature = "std"))]
fn nearest<'a>(_unknown: &str, _known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    None
}
