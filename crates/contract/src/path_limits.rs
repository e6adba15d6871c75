//! What a path takes.

/// What a layer has to know of the path below while it handles a word: told with `Opened`, and by
/// `Changed`. A handler cannot [ask](crate::ask), because its lower is borrowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathLimits {
    /// The longest message that may be sent, in octets; `u32::MAX`: no bound, as of a stream.
    pub longest: u32,
    /// Time that the longest frame takes on the link, in microseconds; 0: unknown.
    pub frame_time: u32,
    /// Whether whoever is below completes the Internet checks of transport headers: a message may
    /// leave with the sum of its pseudo-header alone, and what arrives was verified.
    pub checks: bool,
    /// Whether a message may be empty: not where only octets have numbers to be acknowledged by.
    pub empty: bool,
}

impl PathLimits {
    /// A path without a bound.
    pub const UNBOUNDED: Self =
        PathLimits { longest: u32::MAX, frame_time: 0, checks: false, empty: true };

    /// Returns the limits of a path that takes messages of at most `octets` octets.
    pub const fn of_longest(octets: usize) -> Self {
        let longest = if octets < u32::MAX as usize { octets as u32 } else { u32::MAX };
        PathLimits { longest, ..Self::UNBOUNDED }
    }

    /// Returns the limits above a layer that puts a header of `octets` octets before each message:
    /// whoever completes checks below does not find those of the layers above it.
    #[must_use]
    pub const fn behind_header(self, octets: u32) -> Self {
        let longest = match self.longest {
            u32::MAX => u32::MAX,
            longest => longest.saturating_sub(octets),
        };
        PathLimits { longest, checks: false, empty: true, ..self }
    }
}
