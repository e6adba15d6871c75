//! How long one measures.

use std::time::Duration;

/// How sure the figures shall be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// All tables in minutes.
    Quick,
    /// What one table wants to be believed.
    Usual,
    /// As long as it needs.
    Full,
}

impl Effort {
    /// How many rounds one cell gets whose first round took `round`.
    pub(crate) fn rounds(self, round: Duration) -> usize {
        let (seconds, least, most) = match self {
            Effort::Quick => (1.2, 3, 15),
            Effort::Usual => (8.0, 7, 51),
            // A short task needs many rounds: a thousand gets of a small file tell one part in a
            // hundred.
            Effort::Full => (60.0, 25, 2001),
        };
        let fit = seconds / round.as_secs_f64().max(1e-6);
        (fit as usize).clamp(least, most)
    }

    /// The flag that asks for it, for a command line.
    pub(crate) fn flag(self) -> &'static str {
        match self {
            Effort::Quick => " --quick",
            Effort::Usual => "",
            Effort::Full => " --full",
        }
    }
}
