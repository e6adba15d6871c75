//! Commands to a layer below: the other half of what the x-Kernel calls xControl.

/// A command on an association, asked for by `Control` and answered by `Controlled`.
///
/// It is `Copy`, so that a word has one thing to drop: what it carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Command {
    /// Declares that payload delivered from now on is not read above: it may come as regions of
    /// files, and milliseconds later where more comes together then. Returns 0.
    Unread,
    /// Starts a TLS handshake here (RFC 4217 §4). Returns 0.
    StartTls,
    /// Negotiates parameters again (AX.25 §4.3.3.7 XID, XTP's traffic specifier). Returns 0.
    Renegotiate,
    /// A command of one protocol's own.
    Own {
        /// Which.
        name: &'static str,
        /// Its argument.
        argument: u64,
    },
}

/// Why a command was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CommandError {
    /// No layer knows the command.
    #[error("no layer knows this command")]
    Unknown,
    /// It cannot be done in this state, or while another is being done.
    #[error("this cannot be done now")]
    Busy,
    /// The peer declined.
    #[error("the other side declined")]
    Declined,
}
