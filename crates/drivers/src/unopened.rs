//! Why the operating system opens no socket.

use std::io;

use rustix::io::Errno;
use stackwright_contract::services::Ended;

/// Returns why a socket could not be opened or bound, to a port that was named or to `any`.
pub(crate) fn unbound(error: impl Into<io::Error>, any: bool) -> Ended {
    match Errno::from_io_error(&error.into()).unwrap_or(Errno::IO) {
        Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM | Errno::NOSPC => {
            Ended::Exhausted
        }
        Errno::ADDRINUSE if any => Ended::Exhausted,
        // A group, and no interface or no route for it.
        Errno::NODEV | Errno::NETUNREACH | Errno::HOSTUNREACH | Errno::NETDOWN => {
            Ended::Unreachable
        }
        _ => Ended::Unavailable,
    }
}

/// Returns why a socket could not be connected. Only then does the system look for a free port, if
/// none was named.
pub(crate) fn unconnected(error: impl Into<io::Error>) -> Ended {
    match Errno::from_io_error(&error.into()).unwrap_or(Errno::IO) {
        Errno::AGAIN | Errno::ADDRNOTAVAIL | Errno::ADDRINUSE | Errno::NOBUFS | Errno::NOMEM => {
            Ended::Exhausted
        }
        _ => Ended::Unreachable,
    }
}
