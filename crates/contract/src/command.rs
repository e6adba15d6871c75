//! Commands to a layer below: the other half of what the x-Kernel calls xControl.

use crate::{Fingerprint, Secure, SecurityError};
use crate::{PhaseRule, RuleRefusal};

/// A command on an association, asked for by `Control` and answered by `Controlled`.
///
/// It is `Copy`, so that a word has one thing to drop: what it carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Command {
    /// Declares that payload delivered from now on is not read above: it may come as regions of
    /// files, and milliseconds later where more comes together then. Returns 0.
    Unread,
    /// Secures the association from here on (RFC 4217 §4), or as soon as it is open. Answered when
    /// the handshake is over, with [`Secure::FULL`] or [`Secure::RESUMED`]. An association that
    /// could not be secured ends. Commanded again before the handshake has begun, the later
    /// counts, and both are answered.
    ///
    /// What was delivered before is plaintext: the layer above discards what it has not handled
    /// yet, or ends the association, because an attacker may have sent it (CVE-2011-1575). What
    /// arrives afterwards is part of the handshake.
    Secure(Secure),
    /// Negotiates parameters again (AX.25 §4.3.3.7 XID, XTP's traffic specifier). Returns 0.
    Renegotiate,
    /// Enters a phase: what is sent from now on goes by the rules of this one, and what was sent
    /// before by those of its own. Phases are numbered from 0 as both sides know them, and an
    /// association begins in the first. Returns 0; declined where there is no such phase.
    Phase(u8),
    /// Requires a rule for what is sent from now on, which the peer has to accept. What promises
    /// less than the rule before waits for nothing; what promises more waits until the peer has
    /// accepted, a round trip. Answered then, with 0; refused, or where the peer does not answer,
    /// messages that wait go by the rule of the first phase.
    Require(PhaseRule),
    /// Asks the peer to send by this rule from now on. Answered when it has agreed, with 0.
    Wish(PhaseRule),
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
    /// Messages do not go by the rule that was asked for.
    #[error("{0}")]
    Refused(RuleRefusal),
    /// The association could not be secured.
    #[error("{why}{}", Shown(.certificate))]
    Insecure {
        /// Why.
        why: SecurityError,
        /// The peer's certificate where it is not trusted: for a person to compare and pin.
        certificate: Option<Fingerprint>,
    },
}

/// The end of a sentence that shows a certificate.
struct Shown<'a>(&'a Option<Fingerprint>);

impl core::fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.0.map_or(Ok(()), |certificate| write!(f, " (its SHA-256 fingerprint: {certificate})"))
    }
}
