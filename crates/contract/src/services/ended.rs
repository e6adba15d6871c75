//! The reasons for the end of a name.

use crate::SecurityError;

/// The code with which one side ended an association: a number that both applications know, as
/// DIAG, GOAWAY and RESET_STREAM carry one. 0 gives no reason.
pub type Code = u32;

/// The reason for the end of an association, or of a listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Ended {
    /// Both sides have finished.
    #[error("both sides have finished")]
    Finished,
    /// It was aborted on this side.
    #[error("it was aborted here")]
    Aborted,
    /// Its listener was closed before a peer arrived, or the listener itself was closed.
    #[error("the listener was closed")]
    Unlistened,
    /// The address does not answer, or cannot be used here.
    #[error("the other side cannot be reached")]
    Unreachable,
    /// The address is in use, or this program may not use it.
    #[error("the address is in use, or this program may not use it")]
    Unavailable,
    /// This system has no port, descriptor or memory left for it.
    #[error("this system has no port or descriptor left: open fewer at a time")]
    Exhausted,
    /// The peer's application refused it. Asking again does not help.
    #[error(
        "the other side refused the connection: its application does not admit this side, and asking again will not help"
    )]
    Refused(Code),
    /// The peer, or the network, ended it after it was open.
    #[error("the other side reset the connection")]
    Reset(Code),
    /// A region of a file turned out shorter than it was when it was sent.
    #[error("the file became shorter while it was sent")]
    SourceShort,
    /// The time limit has passed.
    #[error("it took too long")]
    Expired,
    /// Messages arrived, repeatedly, whose seal or signature is invalid: made with another key, or
    /// forged.
    #[error("what arrived is not sealed or signed with the other side's key")]
    Forged,
    /// A message was longer than its receiver takes, or than its format can express.
    #[error("a message was longer than its receiver takes, which is at most {longest} octets")]
    TooLong {
        /// The longest message that it takes, in octets.
        longest: u32,
    },
    /// More messages were begun than one side holds until they are complete.
    #[error(
        "more messages were begun than the receiver can hold until they are complete: send fewer at a time"
    )]
    Overrun,
    /// The octets ended without the peer's word that they are all (TLS: no close_notify): some may
    /// be missing.
    #[error("the connection was cut: what arrived may not be all")]
    Truncated,
    /// It is not secure.
    #[error("the connection is not secure: {0}")]
    Insecure(SecurityError),
}
