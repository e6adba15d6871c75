//! The headers (ARTP §1.4.1). All numbers are big-endian.

use stackwright_wire::{FieldValue, Header};

/// The header of every packet.
///
/// *Deduced*: the document's widths sum up to 19 octets and its text says 20. `options` with 16
/// bits fills the rows, and is the same as a reserved octet and 8 bits as long as there are fewer
/// than 256 octets of options.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Packet {
    /// The version: 1; 2 if an option must be understood.
    #[bits(4)]
    pub version: Version,
    /// The kind of the packet: what follows the options.
    #[bits(4)]
    pub kind: PacketKind,
    /// The session (SID); 0 for what is exchanged before there is one.
    pub session: u8,
    /// The octets of options (OPTSZ).
    pub options: u16,
    /// The packet's sequence number in its session (SEQ). Wraps.
    pub sequence: u32,
    /// When it was sent, in seconds since 1970 (TS).
    pub seconds: u32,
    /// The microseconds of that time (TS), below a million.
    #[bits(32)]
    pub microseconds: Microseconds,
    /// How long it is of use from then on, in microseconds (EXP); 0: for ever.
    pub expiry: u32,
}

/// The version of a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Version {
    /// The document's version.
    One,
    /// This implementation's: the options [`Large`](crate::option::Large) and
    /// [`Part`](crate::option::Part) must be understood.
    Two,
}

/// The kind of a packet (PT). *Chosen*: the document gives the order and no values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PacketKind {
    /// A fragment of a datagram.
    Data = 1,
    /// Control items of applications and sessions.
    Control = 2,
    /// Sequence numbers of packets that arrived.
    Acknowledge = 3,
    /// A datagram in one packet, unprotected. An extension, used if both sides support it.
    Single = 4,
    /// The answer to a packet of no session. An extension.
    Unknown = 5,
}

/// Microseconds of a second, below a million.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Microseconds(u32);

impl Microseconds {
    /// Returns the microseconds of a time in microseconds.
    pub const fn of(time: u64) -> Self {
        Microseconds((time % 1_000_000) as u32)
    }

    /// Returns the number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl FieldValue for Version {
    #[inline]
    fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            1 => Some(Version::One),
            2 => Some(Version::Two),
            _ => None,
        }
    }

    #[inline]
    fn to_bits(&self) -> u64 {
        match self {
            Version::One => 1,
            Version::Two => 2,
        }
    }
}

impl FieldValue for PacketKind {
    #[inline]
    fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            1 => Some(PacketKind::Data),
            2 => Some(PacketKind::Control),
            3 => Some(PacketKind::Acknowledge),
            4 => Some(PacketKind::Single),
            5 => Some(PacketKind::Unknown),
            _ => None, // 0 catches packets of zeros
        }
    }

    #[inline]
    fn to_bits(&self) -> u64 {
        *self as u64
    }
}

impl FieldValue for Microseconds {
    #[inline]
    fn from_bits(bits: u64) -> Option<Self> {
        (bits < 1_000_000).then_some(Microseconds(bits as u32))
    }

    #[inline]
    fn to_bits(&self) -> u64 {
        u64::from(self.0)
    }
}

/// The header before a fragment in a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Fragment {
    /// The datagram's number, which the sending application chooses (DSEQ).
    pub datagram: u32,
    /// The fragment's index (FRAG). *Chosen*: counted from 0.
    pub index: u16,
    /// The number of fragments (NFRAG), at least 1.
    pub count: u16,
}

/// The header before a datagram in one packet that bears no signature, and does not say that it has
/// none: eight octets less than as a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Single {
    /// The datagram's number, as in [`Fragment`].
    pub datagram: u32,
}

/// The octets before a fragment without options.
pub(crate) const BARE: usize = Packet::LENGTH + Fragment::LENGTH;

/// The header of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct OptionHeader {
    /// The octets of the option, these four included (SZ).
    pub size: u16,
    /// The option's identifier (OPTID).
    pub id: u16,
}

/// The header of a control item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct ControlHeader {
    /// The octets of the item, these four included (SZ).
    pub size: u16,
    /// A request or a reply (TYPE).
    #[bits(8)]
    pub kind: ControlKind,
    /// The item's identifier (OPTID); sessions own those below 128, applications those from 128 on.
    pub id: u8,
}

/// Whether a control item is a request or a reply. *Chosen*: the document gives no values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlKind {
    /// A request.
    Request,
    /// A reply.
    Reply,
}

impl FieldValue for ControlKind {
    fn from_bits(bits: u64) -> Option<Self> {
        match bits {
            1 => Some(ControlKind::Request),
            2 => Some(ControlKind::Reply),
            _ => None,
        }
    }

    fn to_bits(&self) -> u64 {
        match self {
            ControlKind::Request => 1,
            ControlKind::Reply => 2,
        }
    }
}

/// The value of the control item that opens a session, and of its answer. *Chosen*: the document
/// leaves it to the implementation. Both have the same length, so that an answer is no longer than
/// its request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Proposal {
    /// The session that is proposed.
    pub session: u8,
    /// The verdict on the proposal, in an answer.
    #[bits(8)]
    pub verdict: Verdict,
    /// The longest packet that its sender accepts, in octets.
    pub packet: u16,
    /// How many packets its sender buffers.
    pub window: u32,
    /// The first sequence number that its sender will use.
    pub first: u32,
    /// The longest datagram that its sender accepts, in octets; all ones: any.
    pub longest: u32,
    /// How long its sender may delay an acknowledgement, in milliseconds.
    pub delay: u16,
    /// After how long without a packet its sender considers the peer gone, in seconds; 0: never.
    pub idle: u16,
    /// Whether acknowledgements may name ranges.
    pub ranges: bool,
    /// Whether packets may have version 2.
    pub large: bool,
    /// Whether datagrams will expire.
    pub expires: bool,
    /// Whether packets may arrive in parts, which have version 2 as well.
    pub parts: bool,
    /// Whether congestion marks of routers are reported and acted upon.
    pub marks: bool,
    /// Whether datagrams may leave as [`Single`].
    pub single: bool,
    /// Reserved.
    #[bits(26)]
    #[fixed(0)]
    pub reserved: (),
    /// A secret between the two ends: a peer that repeats it has received this packet.
    pub nonce: u64,
    /// In an answer, the peer's nonce; in a request, the cookie from the peer's answer
    /// [`Again`](Verdict::Again); otherwise 0.
    pub echo: u64,
    /// Random: the keys of this session are derived from both sides' salts (see the README,
    /// "Keys").
    pub salt: [u8; 16],
    /// What its sender's [`Unknown`] to the peer's address bears: only a sender that has lost the
    /// session can say it.
    pub reset: [u8; 16],
}

/// The verdict on a request for a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// None yet: it is a request.
    Asked,
    /// It is granted.
    Granted,
    /// It is refused.
    Refused,
    /// The request is to be repeated, with this answer's `nonce` as its `echo`: there are too many
    /// half-open sessions to keep state for an address that may be spoofed.
    Again,
}

impl FieldValue for Verdict {
    fn from_bits(bits: u64) -> Option<Self> {
        [Verdict::Asked, Verdict::Granted, Verdict::Refused, Verdict::Again]
            .get(bits as usize)
            .copied()
    }

    fn to_bits(&self) -> u64 {
        *self as u64
    }
}

/// Why a session is closed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// Its application has no more to send, and all that it sent has arrived.
    Done,
    /// More datagrams were begun than the closing side holds until they are complete.
    Overrun,
    /// Its application ends it at once, with a code.
    Aborted,
    /// A datagram was longer than its receiver takes.
    TooLong,
    /// Nothing was received from the peer for too long.
    Silent,
    /// What the peer sends does not match its seal or signature, again and again.
    Forged,
}

impl Reason {
    const ALL: [Self; 6] = [
        Reason::Done,
        Reason::Overrun,
        Reason::Aborted,
        Reason::TooLong,
        Reason::Silent,
        Reason::Forged,
    ];
}

impl FieldValue for Reason {
    fn from_bits(bits: u64) -> Option<Self> {
        Reason::ALL.get(bits as usize).copied()
    }

    fn to_bits(&self) -> u64 {
        *self as u64
    }
}

/// The value of the control items that confirm a session and probe whether the peer is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Token {
    /// The session.
    pub session: u8,
    /// Reserved.
    #[bits(24)]
    #[fixed(0)]
    pub reserved: (),
    /// The receiver's nonce: it proves that the sender is the peer.
    pub token: u64,
}

/// The answer to a packet of a session that its sender does not know at the peer's address.
/// *Chosen*: shorter than any acknowledgement of ranges, so that it never amplifies.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Unknown {
    /// The token of the peer's address and the session ([`Proposal::reset`]).
    pub reset: [u8; 16],
}

/// The value of the control item by which a peer identifies itself at an address where it is not
/// known: as a request, and as the answer to a [`Challenge`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Identity {
    /// The session.
    pub session: u8,
    /// Reserved.
    #[bits(24)]
    #[fixed(0)]
    pub reserved: (),
    /// The receiver's nonce: it proves that the sender is the peer.
    pub token: u64,
    /// The sender's nonce, which the receiver's challenge repeats.
    pub own: u64,
    /// In an answer, the challenge; otherwise 0.
    pub challenge: u64,
}

/// The value of the control item that asks a peer to prove that it receives packets at an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Challenge {
    /// The session.
    pub session: u8,
    /// Reserved.
    #[bits(24)]
    #[fixed(0)]
    pub reserved: (),
    /// The receiver's nonce: it proves that the sender has received its [`Identity`].
    pub token: u64,
    /// What the answer repeats: it cannot be guessed, and is valid for this address alone.
    pub challenge: u64,
    /// As [`Proposal::reset`], of this address; 0 for an address that the session has left.
    pub reset: [u8; 16],
}

/// The value of the control item that closes a session, and of its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Close {
    /// The session.
    pub session: u8,
    /// Why it is closed.
    #[bits(8)]
    pub reason: Reason,
    /// Reserved.
    #[bits(16)]
    #[fixed(0)]
    pub reserved: (),
    /// The code with which it was aborted, or the longest datagram that the receiver of a longer
    /// one takes, in octets; otherwise 0.
    pub detail: u32,
    /// The first sequence number that its sender has not received: it acknowledges all before.
    pub received: u32,
    /// The receiver's nonce: it proves that the sender is the peer.
    pub token: u64,
}

/// The header before the octets of a datagram, once: at the start of its first fragment (MSG).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Signed {
    /// The octets of the signature that follows (SIGSZ).
    pub signature: u32,
}

impl Signed {
    /// The octets before a datagram that is not protected.
    pub(crate) const NOTHING: [u8; Self::LENGTH] = [0; Self::LENGTH];
}

/// What replaces a signature (SIGDATA) before octets that are sealed (ENCDATA). *Chosen*: to ARTP
/// it is opaque.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Seal {
    /// The generation of this direction's key: each key seals a limited number of octets.
    pub generation: u16,
    /// The datagram's counter in this direction: no key is used twice with the same counter.
    #[bits(48)]
    pub counter: u64,
    /// The authentication tag over the sealed octets and everything they belong to.
    pub tag: [u8; 16],
}

/// A signature (SIGDATA) as this implementation makes one. *Chosen*: to ARTP it is opaque.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Signature {
    /// The datagram's counter in this direction: a counter is accepted once.
    pub counter: u64,
    /// The signature over the datagram and everything it belongs to.
    pub signature: [u8; 64],
}

/// A packet that arrived: one entry of an acknowledgement.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Arrived {
    /// Its sequence number.
    pub sequence: u32,
}

/// A range of packets that arrived: an entry of an acknowledgement with the option
/// [`Ranges`](crate::option::PacketOption::Ranges).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct ArrivedRange {
    /// The first sequence number.
    pub first: u32,
    /// The last sequence number, included.
    pub last: u32,
}
