//! Why a request about files fails.

use crate::{CommandError, Fingerprint, SecurityError};

/// Why a request about a file failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Failure {
    /// Nothing has that name.
    #[error("there is no such file or folder")]
    NotFound,
    /// Not allowed, or outside the root.
    #[error("that is not allowed")]
    Denied,
    /// A file or folder has that name already.
    #[error("there is a file or folder of that name already")]
    Exists,
    /// A folder that is to be removed has entries.
    #[error("the folder is not empty")]
    NotEmpty,
    /// The name cannot be a file's name, or names the wrong kind of thing.
    #[error("the name does not fit")]
    BadName,
    /// No room.
    #[error("there is no room left on the disk")]
    Full,
    /// The file has fewer octets than the transfer counts on.
    #[error("the file is shorter than expected")]
    Short,
    /// The octets are not those that were sent.
    #[error("what arrived is not what was sent")]
    Damaged,
    /// The disk reports an error.
    #[error("the disk reports an error")]
    Broken,
    /// The far side says what the protocol does not allow.
    #[error("the other side does not keep to the protocol")]
    Garbled,
    /// A listing of which nothing was understood: of a form that belongs to this system.
    #[error("the listing is of a form that is not known ({0})")]
    UnknownListing(&'static str),
    /// The far side cannot prove its identity.
    #[error("{}", CommandError::Insecure { why: *.why, certificate: *.certificate })]
    Untrusted {
        /// What is wrong with its certificate.
        why: SecurityError,
        /// The certificate: for a person to compare and pin.
        certificate: Option<Fingerprint>,
    },
    /// The connection to the far side cannot be kept secret.
    #[error("the connection is not secure: {0}")]
    Insecure(SecurityError),
    /// What reaches the files (a connection, a server) is gone.
    #[error("the connection to the files was lost")]
    Lost,
    /// The far side did not accept the user or the password.
    #[error("the user name or the password was not accepted")]
    NotLoggedIn,
    /// The far side cannot do that.
    #[error("the other side cannot do that")]
    Unsupported,
    /// It took too long.
    #[error("the other side took too long")]
    Expired,
    /// The address does not answer.
    #[error("the other side cannot be reached")]
    Unreachable,
    /// Closed from above before it was complete.
    #[error("it was given up")]
    GivenUp,
}
