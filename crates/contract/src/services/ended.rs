//! Why a name has ended.

/// The reason for which one side ended an association: a number that both applications know, as
/// DIAG, GOAWAY and RESET_STREAM carry one. 0 says nothing.
pub type Code = u32;

/// Why an association, or a listener, is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Ended {
    /// Both sides have finished.
    #[error("both sides have finished")]
    Finished,
    /// It was aborted on this side.
    #[error("it was aborted here")]
    Aborted,
    /// Its listener was closed before a peer arrived, or the listener itself was closed.
    #[error("nobody listens any more")]
    Unlistened,
    /// The address does not answer, or cannot be used here.
    #[error("the other side cannot be reached")]
    Unreachable,
    /// The address is in use, or this program lacks the right to it.
    #[error("the address is taken, or not ours to use")]
    Unavailable,
    /// The peer's application refused it. Asking again changes nothing.
    #[error(
        "the other side refused the connection: its application decides whom it admits, and asking again will not help"
    )]
    Refused(Code),
    /// The peer, or the network, ended it after it was open.
    #[error("the other side reset the connection")]
    Reset(Code),
    /// A region of a file turned out shorter than it was when it was sent.
    #[error("the file became shorter while it was sent")]
    SourceShort,
    /// It took too long.
    #[error("it took too long")]
    Expired,
    /// What arrived did not match the peer's seal or signature, repeatedly: another key, or a
    /// forger.
    #[error("what came is not sealed with the other side's key")]
    Forged,
    /// A message was longer than the peer takes, or than its format can express.
    #[error("a message was longer than the other side takes")]
    TooLong,
    /// More messages were begun, or longer ones, than one side holds until they are complete.
    #[error(
        "more was begun than the receiver holds until it is whole: send fewer or shorter messages at a time"
    )]
    Overrun,
}
