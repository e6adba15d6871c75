//! What is said of an association that is secured: by TLS, or by a layer like it.

use core::fmt;

/// How an association is to be secured.
///
/// It is a few numbers: certificates, keys and expected names are in the configuration of the layer
/// that secures, which finds them by index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Secure {
    /// The role in the handshake, whichever side opened the association.
    pub role: TlsRole,
    /// As a client: the index of the server that is expected. As a server: the index of the own
    /// identity.
    pub identity: u32,
    /// The associations that share sessions with it.
    pub sessions: SessionGroup,
}

impl Secure {
    /// What the command returns after a full handshake, or one that resumed another session than
    /// its group's.
    pub const FULL: u32 = 0;
    /// What the command returns where the handshake resumed a session of its group: the peer holds
    /// the secret of the association that began the group.
    pub const RESUMED: u32 = 1;
    /// What the command returns in place of `FULL` where the peer could not resume: it has used
    /// the sessions of its group once, which is as often as TLS 1.3 wants it to (RFC 8446 §C.4).
    pub const SPENT: u32 = 2;
}

/// The role in a handshake.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TlsRole {
    /// Begins the handshake and verifies the server.
    Client,
    /// Waits for the handshake and shows a certificate.
    Server,
}

/// Associations that share sessions, by a number that the layer above chooses: an association for
/// control and those for data that belong to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SessionGroup {
    /// This association begins the group of this number.
    Begins(u64),
    /// This one belongs to it.
    Joins(u64),
    /// This one does, and its peer is given no session for the next one: it may never read what
    /// it is sent, and an association that is closed with unread octets is reset.
    Borrows(u64),
}

impl SessionGroup {
    /// Returns the number of the group.
    pub const fn number(self) -> u64 {
        match self {
            SessionGroup::Begins(number)
            | SessionGroup::Joins(number)
            | SessionGroup::Borrows(number) => number,
        }
    }
}

/// Why an association is not secure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SecurityError {
    /// The peer was asked for a secure association, and declined.
    #[error("the other side does not encrypt it")]
    Declined,
    /// What arrived is not TLS.
    #[error("the other side does not speak TLS here")]
    NotTls,
    /// The certificate has expired.
    #[error("the other side's certificate has expired")]
    Expired,
    /// The certificate is not valid yet: one of the clocks may be wrong.
    #[error("the other side's certificate is not valid yet (or this computer's clock is wrong)")]
    NotYetValid,
    /// The certificate is for another name.
    #[error("the other side's certificate is for another name")]
    OtherName,
    /// No trusted authority has issued the certificate.
    #[error("the other side's certificate is issued by an unknown authority")]
    UnknownIssuer,
    /// The certificate has been revoked.
    #[error("the other side's certificate has been revoked")]
    Revoked,
    /// It is not the certificate whose fingerprint was given.
    #[error("the other side's certificate is not the one that was pinned")]
    NotPinned,
    /// The certificate is malformed, for another purpose, or missing.
    #[error("the other side's certificate is missing or cannot be used")]
    BadCertificate,
    /// The two sides have no version or algorithm in common.
    #[error("the two sides have no version or algorithm of TLS in common")]
    Incompatible,
    /// The peer ended it with an alert (RFC 8446 §6.2).
    #[error("the other side refused: {}", AlertText(*.0))]
    Alert(u8),
    /// The peer broke the protocol, or octets were altered on the way.
    #[error("the other side broke the rules of TLS, or octets were altered on their way")]
    Broken,
    /// The handshake was not over in time.
    #[error("the handshake took too long")]
    TooSlow,
    /// The peer ended the association before the handshake was over.
    #[error("the other side closed the connection during the handshake")]
    Cut,
    /// The association cannot resume a session of its group any more: all that the peer gave were
    /// used, each of which serves once. Another group may have enough.
    #[error("the other side gave too few sessions that can be resumed")]
    UsedUp,
    /// What was to be sent cannot be read here, and so not encrypted: a region of a file.
    #[error("what was to be sent cannot be encrypted: it is a region of a file")]
    Unreadable,
    /// The layer has no such server or identity.
    #[error("no such server or certificate is configured")]
    Unconfigured,
}

/// The SHA-256 digest of a certificate (in DER).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint(pub [u8; 32]);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::str::FromStr for Fingerprint {
    type Err = BadFingerprint;

    /// Reads 64 hexadecimal digits, in any case; colons between octets are allowed.
    fn from_str(text: &str) -> Result<Self, BadFingerprint> {
        let mut digits = text.chars().filter(|character| *character != ':');
        let mut octets = [0; 32];
        for octet in &mut octets {
            for _ in 0..2 {
                let digit = digits.next().and_then(|digit| digit.to_digit(16));
                *octet = *octet << 4 | digit.ok_or(BadFingerprint)? as u8;
            }
        }
        if digits.next().is_some() { Err(BadFingerprint) } else { Ok(Fingerprint(octets)) }
    }
}

/// A text is no fingerprint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a fingerprint has 64 hexadecimal digits (SHA-256)")]
pub struct BadFingerprint;

/// The names of RFC 8446 §6.
struct AlertText(u8);

impl fmt::Display for AlertText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            10 => "it did not expect that message (unexpected_message)",
            20 => "octets were altered on their way (bad_record_mac)",
            22 => "a record was too long (record_overflow)",
            40 => "no acceptable set of parameters (handshake_failure)",
            42 => "this side's certificate is damaged (bad_certificate)",
            43 => "this side's certificate is of an unsupported kind (unsupported_certificate)",
            44 => "this side's certificate was revoked (certificate_revoked)",
            45 => "this side's certificate has expired (certificate_expired)",
            46 => "it cannot accept this side's certificate (certificate_unknown)",
            47 => "a field was out of range (illegal_parameter)",
            48 => "it does not know the issuer of this side's certificate (unknown_ca)",
            49 => "access is denied (access_denied)",
            50 => "it could not decode a message (decode_error)",
            51 => "a cryptographic check failed (decrypt_error)",
            70 => "it does not support this version of TLS (protocol_version)",
            71 => "it requires stronger ciphers (insufficient_security)",
            80 => "an internal error (internal_error)",
            86 => "an inappropriate fallback (inappropriate_fallback)",
            90 => "its user has cancelled (user_canceled)",
            109 => "an extension is missing (missing_extension)",
            110 => "an unsupported extension (unsupported_extension)",
            112 => "it does not know the name that was asked for (unrecognized_name)",
            116 => "it requires a certificate of this side (certificate_required)",
            120 => "no application protocol in common (no_application_protocol)",
            number => return write!(f, "alert {number}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::{String, ToString as _};
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_fingerprint_is_read_as_it_is_written() {
        let fingerprint = Fingerprint(core::array::from_fn(|index| index as u8 * 7));
        let text = fingerprint.to_string();
        assert_eq!((text.len(), text.parse()), (64, Ok(fingerprint)));
        assert_eq!(text.to_uppercase().parse(), Ok(fingerprint));
        let colons: Vec<_> = text.as_bytes().chunks(2).map(String::from_utf8_lossy).collect();
        assert_eq!(colons.join(":").parse(), Ok(fingerprint));
        for bad in ["", &text[1..], &text.replace('0', "g"), &(text.clone() + "0")] {
            assert_eq!(bad.parse::<Fingerprint>(), Err(BadFingerprint), "{bad}");
        }
    }

    #[test]
    fn an_alert_is_named() {
        let told = |number| SecurityError::Alert(number).to_string();
        assert!(told(48).ends_with("(unknown_ca)"));
        assert!(told(200).ends_with("alert 200"));
    }
}
