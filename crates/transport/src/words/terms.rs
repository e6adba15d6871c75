//! Terms of traffic.

use stackwright_contract::Command;

/// How fast one side takes data, or sends it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Terms {
    /// Octets per second; 0: no bound.
    pub rate: u32,
    /// Octets at once, where there is a rate; 0: no bound.
    pub burst: u32,
}

impl Terms {
    /// No bound.
    pub const NONE: Terms = Terms { rate: 0, burst: 0 };

    /// The name of the [command](Terms::command).
    const COMMAND: &'static str = "take at most";

    /// Returns the command by which a layer above sets how fast this side takes data, at any time.
    /// It is declined where the association has no such terms.
    ///
    /// ```
    /// use stackwright_transport::words::Terms;
    /// let terms = Terms { rate: 125_000, burst: 3000 };
    /// assert_eq!(Terms::of(terms.command()), Some(terms));
    /// ```
    pub const fn command(self) -> Command {
        let argument = (self.rate as u64) << 32 | self.burst as u64;
        Command::Own { name: Terms::COMMAND, argument }
    }

    /// Returns the terms that a command sets; `None`: it is another command.
    pub fn of(command: Command) -> Option<Terms> {
        match command {
            Command::Own { name: Terms::COMMAND, argument } => {
                Some(Terms { rate: (argument >> 32) as u32, burst: argument as u32 })
            }
            _ => None,
        }
    }
}
