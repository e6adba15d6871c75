//! What can go wrong, said so that one knows what to do next.

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

    /// The person does not want to go on.
    pub(crate) fn interrupted() -> Self {
        Problem { code: 130, ..Problem::new("interrupted") }
    }

    /// What to do next.
    pub(crate) fn advise(self, advice: impl fmt::Display) -> Self {
        Problem { advice: Some(advice.to_string()), ..self }
    }

    /// What happened, for a text that goes on.
    pub(crate) fn says(&self) -> &str {
        &self.says
    }

    /// Says of what part.
    pub(crate) fn within(self, part: &str) -> Self {
        Problem { says: format!("{part}: {}", self.says), ..self }
    }

    /// 1 failed, 2 wrong command line, 130 interrupted.
    pub(crate) fn exit_code(&self) -> u8 {
        self.code
    }

    /// To whoever sits there.
    pub(crate) fn tell(&self) {
        eprintln!("lab: {}", self.says);
        if let Some(advice) = &self.advice {
            eprintln!("  {advice}");
        }
    }
}
