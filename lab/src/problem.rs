//! Errors of the program: what happened, and what to do next.

use std::fmt;

/// A failure of a command: what happened, and what to do about it.
#[derive(Debug)]
pub(crate) struct Problem {
    says: String,
    advice: Option<String>,
    code: u8,
}

impl Problem {
    /// The command failed.
    pub(crate) fn new(says: impl fmt::Display) -> Self {
        Problem { says: says.to_string(), advice: None, code: 1 }
    }

    /// The command asks for something that does not exist.
    pub(crate) fn usage(says: impl fmt::Display) -> Self {
        Problem { code: 2, ..Problem::new(says) }
    }

    /// What was run did not do all of its work.
    pub(crate) fn unfinished(says: impl fmt::Display) -> Self {
        Problem { code: 3, ..Problem::new(says) }
    }

    /// The user pressed Ctrl-C.
    pub(crate) fn interrupted() -> Self {
        Problem { code: 130, ..Problem::new("interrupted") }
    }

    /// Adds what to do next.
    pub(crate) fn advise(self, advice: impl fmt::Display) -> Self {
        Problem { advice: Some(advice.to_string()), ..self }
    }

    /// Returns what happened, as part of a longer text.
    pub(crate) fn says(&self) -> &str {
        &self.says
    }

    /// Names the part that failed.
    pub(crate) fn within(self, part: &str) -> Self {
        Problem { says: format!("{part}: {}", self.says), ..self }
    }

    /// 1 failed, 2 wrong command line, 3 not all done, 130 interrupted.
    pub(crate) fn exit_code(&self) -> u8 {
        self.code
    }

    /// Prints the problem on standard error.
    pub(crate) fn tell(&self) {
        eprintln!("lab: {}", self.says);
        if let Some(advice) = &self.advice {
            eprintln!("  {advice}");
        }
    }
}
