//! Why a name has ended.

/// Why one side ended an association: a number that both applications know, as DIAG, GOAWAY and
/// RESET_STREAM carry one. 0 says nothing.
pub type Code = u32;

/// Why an association, or a listener, is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Ended {
    /// Both sides have finished.
    #[error("both sides have finished")]
    Finished,
    /// We aborted it.
    #[error("it was aborted here")]
    Aborted,
    /// Its listener was closed before anybody came, or we do not listen any more.
    #[error("nobody listens any more")]
    Unlistened,
    /// Nobody answers at that address, or it cannot be used here.
    #[error("the other side cannot be reached")]
    Unreachable,
    /// The address is somebody else's, or we lack the right to it.
    #[error("the address is taken, or not ours to use")]
    Unavailable,
    /// The peer's application does not want it: it was asked, and said no. Asking again changes nothing.
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
    /// What came was not what the other side's seal or signature says, again and again: another key, or a forger.
    #[error("what came is not sealed with the other side's key")]
    Forged,
    /// A message was longer than the other side takes, or than can be said.
    #[error("a message was longer than the other side takes")]
    TooLong,
    /// More messages were begun, or longer ones, than one side holds until they are whole.
    #[error(
        "more was begun than the receiver holds until it is whole: send fewer or shorter messages at a time"
    )]
    Overrun,
}
