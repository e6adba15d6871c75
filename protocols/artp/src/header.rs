//! What stands before the octets (ARTP §1.4.1). All numbers are big-endian.

use stackwright_wire::{FieldValue, Header};

/// The header of every packet.
///
/// *Deduced*: the document's widths sum up to 19 octets and its text says 20. `options` with 16
/// bits fills the rows, and is the same as a reserved octet and 8 bits as long as there are fewer
/// than 256 octets of options.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Packet {
    /// 1; 2 where an option must be understood.
    #[bits(4)]
    pub version: Version,
    /// What follows the options.
    #[bits(4)]
    pub kind: PacketKind,
    /// Of which session (SID); 0 for what is said before there is one.
    pub session: u8,
    /// Octets of options (OPTSZ).
    pub options: u16,
    /// The packet's number in its session (SEQ). Wraps.
    pub sequence: u32,
    /// When it was sent, in seconds since 1970 (TS).
    pub seconds: u32,
    /// And microseconds (TS), below a million.
    #[bits(32)]
    pub microseconds: Microseconds,
    /// For how long it is of use from then on, in microseconds (EXP); 0: for ever.
    pub expiry: u32,
}

/// The version of a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Version {
    /// The document's.
    One,
    /// Ours: the options [`Large`](crate::option::Large) and [`Part`](crate::option::Part) must be
    /// understood.
    Two,
}

/// What a packet is (PT). *Chosen*: the document gives the order and no values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum PacketKind {
    /// A fragment of a datagram.
    Data = 1,
    /// What applications, and sessions, tell each other.
    Control = 2,
    /// Numbers of packets that arrived.
    Acknowledge = 3,
    /// A datagram in one packet, which nothing protects. Ours, where both sides know it.
    Single = 4,
}

/// Below a million.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Microseconds(u32);

impl Microseconds {
    /// Those of a time in microseconds.
    pub const fn of(time: u64) -> Self {
        Microseconds((time % 1_000_000) as u32)
    }

    /// As a number.
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

/// Before a fragment in a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Fragment {
    /// The datagram's number, which the sending application chooses (DSEQ).
    pub datagram: u32,
    /// Which fragment (FRAG). *Chosen*: counted from 0.
    pub index: u16,
    /// Of how many (NFRAG), at least 1.
    pub count: u16,
}

/// Before a datagram in one packet that bears no signature, and does not say that it has none:
/// eight octets less than as a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Single {
    /// The datagram's number, as in [`Fragment`].
    pub datagram: u32,
}

/// The octets before a fragment of which nothing more is said.
pub(crate) const BARE: usize = Packet::LENGTH + Fragment::LENGTH;

/// Before an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct OptionHeader {
    /// Octets of the option, these four included (SZ).
    pub size: u16,
    /// Which (OPTID).
    pub id: u16,
}

/// Before a control item.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct ControlHeader {
    /// Octets of the item, these four included (SZ).
    pub size: u16,
    /// A request or a reply (TYPE).
    #[bits(8)]
    pub kind: ControlKind,
    /// Which (OPTID); below 128 those of sessions, from 128 on the applications' own.
    pub id: u8,
}

/// Whether a control item asks or answers. *Chosen*: the document gives no values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlKind {
    /// It asks.
    Request,
    /// It answers.
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
/// leaves it to the implementation. Both have the same length, so that an answer is no more than
/// what was asked with.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Proposal {
    /// The session that is proposed.
    pub session: u8,
    /// In an answer.
    #[bits(8)]
    pub verdict: Verdict,
    /// The longest packet that its sender takes, in octets.
    pub packet: u16,
    /// How many packets it takes at once.
    pub window: u32,
    /// The first packet number that it will use.
    pub first: u32,
    /// The longest datagram that it takes, in octets, in units of 65536; all ones: any.
    pub longest: u32,
    /// May acknowledgements name ranges?
    pub ranges: bool,
    /// May packets have version 2?
    pub large: bool,
    /// Will datagrams expire?
    pub expires: bool,
    /// May packets come in parts, which have version 2 as well?
    pub parts: bool,
    /// Are routers' marks of congestion told of, and heeded?
    pub marks: bool,
    /// May datagrams leave as [`Single`]?
    pub single: bool,
    /// Nothing yet.
    #[bits(26)]
    #[fixed(0)]
    pub reserved: (),
    /// Whoever shows it again has heard this packet: a secret between the two ends.
    pub nonce: u64,
    /// The peer's, in an answer; what the peer gave to come again with, in a request; else 0.
    pub echo: u64,
    /// Random: keys for this session are derived with both sides' (see the README, "Keys").
    pub salt: [u8; 16],
}

/// What is said to a request for a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is a request.
    Asked,
    /// It is granted.
    Granted,
    /// It is refused.
    Refused,
    /// Come again, and show what stands in `nonce` in your `echo`: there are so many half-open
    /// sessions that nothing is kept of one whose address may be false.
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
    /// Its application has no more to send; so it is, too, where a session is confirmed.
    Done,
    /// More datagrams were begun, or longer ones, than whoever closes it holds until they are
    /// whole.
    Overrun,
}

impl FieldValue for Reason {
    fn from_bits(bits: u64) -> Option<Self> {
        [Reason::Done, Reason::Overrun].get(bits as usize).copied()
    }

    fn to_bits(&self) -> u64 {
        *self as u64
    }
}

/// The value of the control items that confirm and close a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Token {
    /// Which session.
    pub session: u8,
    /// Why it is closed.
    #[bits(8)]
    pub reason: Reason,
    /// Nothing yet.
    #[bits(16)]
    #[fixed(0)]
    pub reserved: (),
    /// The receiver's nonce: who knows it is no stranger.
    pub token: u64,
}

/// Before the octets of a datagram, once: at the start of its first fragment (MSG).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Signed {
    /// Octets of the signature that follows (SIGSZ).
    pub signature: u32,
}

impl Signed {
    /// The octets before a datagram that nothing protects.
    pub(crate) const NOTHING: [u8; Self::LENGTH] = [0; Self::LENGTH];
}

/// What stands in the place of a signature (SIGDATA) before octets that are sealed (ENCDATA).
/// *Chosen*: to ARTP it is opaque.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Seal {
    /// Which key of this direction: each seals so much and no more.
    pub generation: u16,
    /// Which datagram of this direction: no key meets the same number twice.
    #[bits(48)]
    pub counter: u64,
    /// Agrees with these octets, what was sealed, and what it belongs to, or all was altered.
    pub tag: [u8; 16],
}

/// A signature (SIGDATA) as this implementation makes one. *Chosen*: to ARTP it is opaque.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Signature {
    /// Which datagram of this direction: none is taken twice.
    pub counter: u64,
    /// Of these octets, what was signed, and what it belongs to.
    pub signature: [u8; 64],
}

/// A packet that arrived: one of those that an acknowledgement is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct Arrived {
    /// Its number.
    pub sequence: u32,
}

/// Packets that arrived: in an acknowledgement with the option
/// [`Ranges`](crate::option::PacketOption::Ranges).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct ArrivedRange {
    /// The number of the first.
    pub first: u32,
    /// The number of the last.
    pub last: u32,
}
