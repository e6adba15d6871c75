//! What can go wrong.

use std::fmt;
use std::io;

use stackwright_contract::CommandError;
use stackwright_contract::services::Ended;

/// Why a call failed.
///
/// ```
/// use stackwright_contract::services::Ended;
/// let error = stackwright_endpoint::Error::from(Ended::Expired);
/// assert_eq!(error.to_string(), "it took too long");
/// let error = stackwright_endpoint::Error::from(Ended::Reset(42));
/// assert_eq!(error.to_string(), "the other side reset the connection (code 42)");
/// ```
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The timeout is over: there is no credit, or nothing came. It may be tried again.
    #[error("nothing came, or there was no credit, within the timeout: try again")]
    NotYet,
    /// The message is longer than the stack, or the peer, takes, and can never be sent. The
    /// association is as it was.
    #[error("the message is longer than can be sent, which is at most {longest} octets")]
    TooLong {
        /// The longest message that can be sent, in octets.
        longest: usize,
    },
    /// A message has no octets, which the stack cannot acknowledge. It was not sent.
    #[error("this transport carries no empty message")]
    Empty,
    /// The message cannot arrive within its lifetime, and was not sent.
    #[error("the message would arrive when it is of no use any more")]
    Late,
    /// A lifetime cannot be kept: the two ends have not agreed that messages may expire. The
    /// message was not sent.
    #[error("a lifetime cannot be kept: the two ends have not agreed that messages may expire")]
    NeverExpires,
    /// The association, or the listener, has ended.
    #[error("{}", with_code(.0))]
    Ended(#[from] Ended),
    /// A command was not done.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The operating system failed: it has no more descriptors, or cannot wait for them.
    #[error(transparent)]
    System(#[from] io::Error),
}

impl Error {
    /// Returns whether the call only ran out of time, and may be tried again.
    ///
    /// ```
    /// assert!(stackwright_endpoint::Error::NotYet.is_not_yet());
    /// ```
    pub fn is_not_yet(&self) -> bool {
        matches!(self, Error::NotYet)
    }

    /// Returns whether the association ended in good order: both sides have closed it, and what was
    /// sent has arrived as far as the stack promises that.
    ///
    /// ```
    /// use stackwright_contract::services::Ended;
    /// assert!(stackwright_endpoint::Error::Ended(Ended::Finished).is_finished());
    /// ```
    pub fn is_finished(&self) -> bool {
        matches!(self, Error::Ended(Ended::Finished))
    }
}

/// Returns why it is over, with the code of the peer's application where that has said one.
fn with_code(why: &Ended) -> String {
    match why {
        Ended::Refused(code @ 1..) | Ended::Reset(code @ 1..) => format!("{why} (code {code})"),
        _ => why.to_string(),
    }
}

/// For streams, whose calls return the standard library's errors.
///
/// ```
/// use std::io;
/// use stackwright_contract::services::Ended;
/// let error = io::Error::from(stackwright_endpoint::Error::Ended(Ended::Reset(0)));
/// assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
/// ```
impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::System(_) | Error::TooLong { .. } | Error::Command(_) => io::ErrorKind::Other,
            Error::NeverExpires | Error::Empty => io::ErrorKind::Unsupported,
            Error::NotYet => io::ErrorKind::WouldBlock,
            Error::Late => io::ErrorKind::TimedOut,
            Error::Ended(why) => match why {
                // We have finished, and it was written nevertheless.
                Ended::Finished => io::ErrorKind::BrokenPipe,
                Ended::Aborted => io::ErrorKind::ConnectionAborted,
                Ended::Reset(_) | Ended::Forged | Ended::Overrun => io::ErrorKind::ConnectionReset,
                Ended::Unreachable => io::ErrorKind::HostUnreachable,
                Ended::Unavailable => io::ErrorKind::AddrInUse,
                Ended::Unlistened | Ended::Refused(_) => io::ErrorKind::ConnectionRefused,
                Ended::Expired => io::ErrorKind::TimedOut,
                Ended::Truncated => io::ErrorKind::UnexpectedEof,
                Ended::Insecure(_) => io::ErrorKind::InvalidData,
                Ended::SourceShort | Ended::Exhausted | Ended::TooLong { .. } => {
                    io::ErrorKind::Other
                }
            },
        };
        io::Error::new(kind, error)
    }
}

/// A message that was not sent, returned with the reason.
///
/// ```
/// use stackwright_endpoint::{Error, NotSent};
/// let refused = NotSent { message: vec![1, 2, 3], why: Error::NotYet };
/// assert!(refused.to_string().ends_with("try again"));
/// ```
pub struct NotSent<M> {
    /// The message, unchanged.
    pub message: M,
    /// Why.
    pub why: Error,
}

impl<M> From<NotSent<M>> for Error {
    fn from(refused: NotSent<M>) -> Self {
        refused.why
    }
}

impl<M> fmt::Debug for NotSent<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl<M> fmt::Display for NotSent<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.why.fmt(f)
    }
}

impl<M> std::error::Error for NotSent<M> {}
