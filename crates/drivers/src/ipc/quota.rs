//! What applications may have of a server.

/// What one application may have, and all together. Beyond names, a request is answered with
/// [`Ended::Exhausted`](stackwright_contract::services::Ended::Exhausted); beyond octets, an
/// application is ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Quota {
    /// Applications at a time.
    pub applications: usize,
    /// Names of one application: listeners, associations, and those that wait for arrivals.
    pub names: u32,
    /// The same of all, those included that end after their application.
    pub names_together: usize,
    /// Octets that the server holds for an application that does not read them. An application that
    /// stops is ended when its peers have sent as many.
    pub waiting: usize,
    /// Octets that the server holds in both directions, for all: where there are more, the
    /// application with the most is ended.
    pub held_together: usize,
    /// The longest batch that an application sends, in octets.
    pub longest: usize,
}

impl Default for Quota {
    fn default() -> Self {
        Quota {
            applications: 256,
            names: 4096,
            names_together: 1 << 16,
            waiting: 64 << 20,
            held_together: 256 << 20,
            longest: 64 << 20,
        }
    }
}
