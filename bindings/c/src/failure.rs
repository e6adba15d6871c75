//! What calls return in place of a result.

use std::ffi::{CStr, c_char, c_int};

use rustix::io::Errno;
use stackwright_contract::services::Ended;
use stackwright_endpoint::Error;

/// Why a call failed, as a number that is no errno.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(i32)]
#[allow(missing_docs, reason = "the texts below say it")]
pub enum Failure {
    Again = -1001,
    Late = -1002,
    TooLong = -1003,
    NeverExpires = -1004,
    Finished = -1005,
    Reset = -1006,
    Refused = -1007,
    Unreachable = -1008,
    Unavailable = -1009,
    Expired = -1010,
    Insecure = -1011,
    System = -1012,
    Invalid = -1013,
    Thread = -1014,
    Broken = -1015,
}

/// Each failure, the errno of the same meaning, and its text.
const FAILURES: [(Failure, Errno, &CStr); 15] = [
    (Failure::Again, Errno::AGAIN, c"nothing came, or there was no credit, in time: try again"),
    (Failure::Late, Errno::TIME, c"the message would arrive when it is of no use any more"),
    (Failure::TooLong, Errno::MSGSIZE, c"the message is longer than can be sent"),
    (Failure::NeverExpires, Errno::OPNOTSUPP, c"this transport keeps no lifetimes"),
    (Failure::Finished, Errno::PIPE, c"both sides have finished"),
    (Failure::Reset, Errno::CONNRESET, c"the other side, or the network, ended it"),
    (Failure::Refused, Errno::CONNREFUSED, c"the other side does not admit this one"),
    (Failure::Unreachable, Errno::HOSTUNREACH, c"the other side cannot be reached"),
    (Failure::Unavailable, Errno::ADDRINUSE, c"the address, or a descriptor, is not available"),
    (Failure::Expired, Errno::TIMEDOUT, c"the other side did not answer for too long"),
    (Failure::Insecure, Errno::BADMSG, c"what arrived is not the other side's, or not secure"),
    (Failure::System, Errno::IO, c"the operating system failed"),
    (Failure::Invalid, Errno::INVAL, c"an argument is null, out of range, or cannot be read"),
    (Failure::Thread, Errno::PERM, c"the endpoint belongs to another thread, or is in a call"),
    (Failure::Broken, Errno::NOTRECOVERABLE, c"a fault of the library: free the endpoint"),
];

impl From<Error> for Failure {
    #[cold]
    fn from(error: Error) -> Self {
        match error {
            Error::NotYet => Failure::Again,
            Error::TooLong { .. } => Failure::TooLong,
            Error::Late => Failure::Late,
            Error::NeverExpires => Failure::NeverExpires,
            Error::Ended(why) => why.into(),
            Error::Command(_) | Error::Empty => Failure::Invalid,
            Error::System(_) => Failure::System,
        }
    }
}

impl From<Ended> for Failure {
    #[cold]
    fn from(why: Ended) -> Self {
        match why {
            Ended::Finished => Failure::Finished,
            Ended::Unreachable => Failure::Unreachable,
            Ended::Unlistened | Ended::Unavailable | Ended::Exhausted => Failure::Unavailable,
            Ended::Refused(_) => Failure::Refused,
            Ended::Aborted | Ended::Reset(_) | Ended::SourceShort => Failure::Reset,
            Ended::Overrun | Ended::Truncated => Failure::Reset,
            Ended::Expired => Failure::Expired,
            Ended::Forged | Ended::Insecure(_) => Failure::Insecure,
            Ended::TooLong { .. } => Failure::TooLong,
        }
    }
}

/// What a call returns: a length, or a failure.
pub type Outcome = Result<usize, Failure>;

/// Returns what a call returns that counts octets.
pub(crate) fn count(outcome: Outcome) -> isize {
    // A slice has at most as many octets.
    outcome.map_or_else(|failure| failure as isize, |length| length as isize)
}

/// Returns what a call returns that counts nothing, or little.
pub(crate) fn status(outcome: Outcome) -> c_int {
    outcome.map_or_else(|failure| failure as c_int, |small| small as c_int)
}

fn find(number: c_int) -> Option<&'static (Failure, Errno, &'static CStr)> {
    FAILURES.iter().find(|(failure, ..)| *failure as c_int == number)
}

/// Returns what an error means, as a sentence; it is never freed.
#[unsafe(no_mangle)]
pub extern "C" fn sw_error_text(error: c_int) -> *const c_char {
    find(error).map_or(c"no error", |(.., text)| *text).as_ptr()
}

/// Returns the errno that is closest to an error; 0 where it is none.
#[unsafe(no_mangle)]
pub extern "C" fn sw_errno(error: c_int) -> c_int {
    find(error).map_or(0, |(_, errno, _)| errno.raw_os_error())
}
