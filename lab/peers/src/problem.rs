//! What can go wrong, as a sentence.

use std::fmt::{self, Display, Formatter};

/// Why a run came to nothing.
#[derive(Clone, Debug)]
pub(crate) struct Problem(String);

impl Problem {
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Problem(sentence.into())
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Says what was tried when something failed.
pub(crate) trait Tried<T> {
    /// # Errors
    /// The failure, after `what` was tried.
    fn tried(self, what: &str) -> Result<T, Problem>;
}

impl<T, E: Display> Tried<T> for Result<T, E> {
    fn tried(self, what: &str) -> Result<T, Problem> {
        self.map_err(|why| Problem::new(format!("{what}: {why}")))
    }
}
