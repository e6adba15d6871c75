//! Errors of the programs: what happened, and what to do next.

use std::fmt;
use std::process::ExitCode;

/// A failure of a command: what happened, and what to do about it.
#[derive(Debug)]
pub struct Problem {
    says: String,
    advice: Option<String>,
    code: u8,
}

impl Problem {
    /// The command failed.
    pub fn new(says: impl fmt::Display) -> Self {
        Problem { says: says.to_string(), advice: None, code: 1 }
    }

    /// The command asks for something that does not exist.
    pub fn usage(says: impl fmt::Display) -> Self {
        Problem { code: 2, ..Problem::new(says) }
    }

    /// What was run did not do all of its work.
    pub fn unfinished(says: impl fmt::Display) -> Self {
        Problem { code: 3, ..Problem::new(says) }
    }

    /// The user pressed Ctrl-C.
    pub fn interrupted() -> Self {
        Problem { code: 130, ..Problem::new("interrupted") }
    }

    /// Adds what to do next.
    pub fn advise(self, advice: impl fmt::Display) -> Self {
        Problem { advice: Some(advice.to_string()), ..self }
    }

    /// Returns what happened, as part of a longer text.
    pub fn says(&self) -> &str {
        &self.says
    }

    /// Names the part that failed.
    pub fn within(self, part: &str) -> Self {
        Problem { says: format!("{part}: {}", self.says), ..self }
    }

    /// Returns how the command ends.
    pub fn end(self, program: &str) -> ExitCode {
        self.tell(program);
        ExitCode::from(self.exit_code())
    }

    /// 1 failed, 2 wrong command line, 3 not all done, 130 interrupted.
    fn exit_code(&self) -> u8 {
        self.code
    }

    /// Prints the problem of this program on standard error.
    pub fn tell(&self, program: &str) {
        eprintln!("{program}: {}", self.says);
        if let Some(advice) = &self.advice {
            eprintln!("  {advice}");
        }
    }
}
