//! The head of a frame of AX.25: addresses, control field and protocol identifier (v2.2 §3). It is
//! syntax, which several protocols read: a link, the rules of the air, what shows frames.
//!
//! Flags, stuffed bits and the frame check sequence are the TNC's; a frame begins with its
//! destination here, and ends with its information.

mod heard;

pub use heard::LinksHeard;

use stackwright_wire::{Header, Malformed};

use crate::CallSign;

/// An address of the address field (§3.12).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct AddressField {
    /// Six characters, padded with spaces, each shifted left by one bit.
    pub name: [u8; 6],
    /// Of destination and source, the C bit; of a digipeater, the H bit: it has repeated the frame.
    pub mark: bool,
    /// Reserved; both set unless a network agrees otherwise.
    #[bits(2)]
    pub reserved: u8,
    /// Tells stations of one call sign apart.
    #[bits(4)]
    pub ssid: u8,
    /// Whether no address follows.
    pub last: bool,
}

/// The most digipeaters of a path. Version 2.2 has two; what is older has eight, and is in use.
pub const DIGIPEATERS_MOST: usize = 8;

/// The longest head: ten addresses, a control field of two octets, and the protocol identifier.
pub const HEAD_MOST: usize = (2 + DIGIPEATERS_MOST) * AddressField::LENGTH + 2 + 1;

impl AddressField {
    const fn new(call: CallSign, mark: bool, last: bool) -> Self {
        let [name @ .., _] = call.octets();
        AddressField { name, mark, reserved: 0b11, ssid: call.ssid(), last }
    }

    fn call(&self) -> Result<CallSign, Malformed> {
        let [a, b, c, d, e, f] = self.name;
        let octets = [a, b, c, d, e, f, self.ssid << 1];
        CallSign::from_octets(octets).map_err(|_| Malformed::Field("name"))
    }
}

/// Whether a frame is a command or a response (§6.1.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The C bit of the destination alone is set.
    Command,
    /// The C bit of the source alone is set.
    Response,
    /// Both are alike, as before version 2.0: the frame does not say.
    Unsaid,
}

/// The digipeaters of a frame, in order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct DigipeaterPath {
    /// Without gaps.
    calls: [Option<CallSign>; DIGIPEATERS_MOST],
    /// A bit for each, from the lowest: it has repeated the frame.
    repeated: u8,
}

impl DigipeaterPath {
    /// No digipeaters.
    pub const DIRECT: Self = DigipeaterPath { calls: [None; DIGIPEATERS_MOST], repeated: 0 };

    /// Returns the path through these digipeaters; `None`: there are more than eight.
    pub fn through(calls: &[CallSign]) -> Option<Self> {
        let mut path = DigipeaterPath::DIRECT;
        calls.iter().try_for_each(|call| path.push(*call, false))?;
        Some(path)
    }

    fn push(&mut self, call: CallSign, repeated: bool) -> Option<()> {
        let free = self.len();
        *self.calls.get_mut(free)? = Some(call);
        self.repeated |= u8::from(repeated) << free;
        Some(())
    }

    /// Returns the number of digipeaters.
    pub fn len(&self) -> usize {
        self.calls.iter().flatten().count()
    }

    /// Returns whether there are no digipeaters.
    pub fn is_empty(&self) -> bool {
        self.calls[0].is_none()
    }

    /// Returns the digipeaters, and whether each has repeated the frame.
    pub fn iter(&self) -> impl Iterator<Item = (CallSign, bool)> {
        let repeated = self.repeated;
        let calls = self.calls.into_iter().flatten().enumerate();
        calls.map(move |(place, call)| (call, repeated >> place & 1 == 1))
    }

    /// Returns whether every digipeater has repeated the frame: only then is it for its
    /// destination.
    pub fn is_travelled(&self) -> bool {
        self.iter().all(|(_, repeated)| repeated)
    }

    /// Returns the digipeater that repeats the frame next.
    pub fn next(&self) -> Option<CallSign> {
        self.iter().find(|(_, repeated)| !repeated).map(|(call, _)| call)
    }

    /// Sets the H bit of the digipeater that repeats the frame next.
    pub fn repeat(&mut self) {
        let next = self.iter().position(|(_, repeated)| !repeated);
        if let Some(place) = next {
            self.repeated |= 1 << place;
        }
    }

    /// Puts `call` in the place of the digipeater that repeats the frame next, with its H bit set.
    pub fn repeat_as(&mut self, call: CallSign) {
        let next = self.iter().position(|(_, repeated)| !repeated);
        if let Some(place) = next {
            self.calls[place] = Some(call);
            self.repeated |= 1 << place;
        }
    }

    /// Puts `call`, with its H bit set, before the digipeater that repeats the frame next, which
    /// becomes `next`. Returns `None`, and changes nothing, where there is no place for one more,
    /// or every digipeater has repeated the frame.
    pub fn repeat_before(&mut self, call: CallSign, next: CallSign) -> Option<()> {
        let place = self.iter().position(|(_, repeated)| !repeated)?;
        let last = DIGIPEATERS_MOST - 1;
        if self.calls[last].is_some() {
            return None;
        }
        self.calls.copy_within(place..last, place + 1);
        (self.calls[place], self.calls[place + 1]) = (Some(call), Some(next));
        self.repeated |= 1 << place;
        Some(())
    }

    /// Returns the way back, of which nothing is travelled.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let mut back = DigipeaterPath::DIRECT;
        for (free, call) in self.calls.iter().rev().flatten().enumerate() {
            back.calls[free] = Some(*call);
        }
        back
    }
}

/// The address field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Addresses {
    /// The station that the frame is for.
    pub destination: CallSign,
    /// The station that made it.
    pub source: CallSign,
    /// Whether it is a command.
    pub role: Role,
    /// The digipeaters.
    pub path: DigipeaterPath,
}

impl Addresses {
    /// Decodes the address field at the front, and returns how many octets it has.
    ///
    /// # Errors
    /// It ends too early, has too many addresses, or one that is no call sign.
    pub fn decode(octets: &[u8]) -> Result<(Self, usize), Malformed> {
        let mut at = 0;
        let mut next = || {
            let address = AddressField::decode(octets.get(at..).unwrap_or_default())?;
            at += AddressField::LENGTH;
            Ok((address.call()?, address))
        };
        let (destination, first) = next()?;
        if first.last {
            return Err(Malformed::TooShort); // nobody sent it
        }
        let (source, second) = next()?;
        let role = match (first.mark, second.mark) {
            (true, false) => Role::Command,
            (false, true) => Role::Response,
            _ => Role::Unsaid,
        };
        let (mut path, mut last) = (DigipeaterPath::DIRECT, second.last);
        while !last {
            let (call, address) = next()?;
            path.push(call, address.mark).ok_or(Malformed::Field("last"))?;
            last = address.last;
        }
        Ok((Addresses { destination, source, role, path }, at))
    }

    /// Encodes the address field into the first octets, and returns how many it has.
    ///
    /// # Panics
    /// Where there are fewer octets.
    pub fn encode(&self, octets: &mut [u8]) -> usize {
        let marks = match self.role {
            Role::Command => [true, false],
            Role::Response => [false, true],
            Role::Unsaid => [false, false],
        };
        let digipeaters = self.path.len();
        let ends = [(self.destination, marks[0]), (self.source, marks[1])];
        let mut at = 0;
        for (place, (call, mark)) in ends.into_iter().chain(self.path.iter()).enumerate() {
            AddressField::new(call, mark, place == digipeaters + 1).encode(&mut octets[at..]);
            at += AddressField::LENGTH;
        }
        at
    }
}

/// How sequence numbers are counted on a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Modulus {
    /// Numbers of three bits: SABM.
    Eight,
    /// Numbers of seven bits, in control fields of two octets: SABME.
    Extended,
}

impl Modulus {
    /// Returns how many numbers there are.
    pub const fn count(self) -> u8 {
        match self {
            Modulus::Eight => 8,
            Modulus::Extended => 128,
        }
    }

    /// Returns the number `steps` after `number`.
    pub const fn add(self, number: u8, steps: u8) -> u8 {
        number.wrapping_add(steps) & (self.count() - 1)
    }

    /// Returns how many steps `number` is after `from`.
    pub const fn distance(self, from: u8, number: u8) -> u8 {
        number.wrapping_sub(from) & (self.count() - 1)
    }
}

/// A kind of supervisory frame (§4.3.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Supervisory {
    /// RR: receive ready.
    ReceiveReady = 0b00,
    /// RNR: receive not ready.
    ReceiveNotReady = 0b01,
    /// REJ: reject.
    Reject = 0b10,
    /// SREJ: selective reject.
    SelectiveReject = 0b11,
}

/// A kind of unnumbered frame (§4.3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unnumbered {
    /// SABM: set asynchronous balanced mode.
    Sabm = 0x2f,
    /// SABME: the same, with numbers of seven bits.
    Sabme = 0x6f,
    /// DISC: disconnect.
    Disc = 0x43,
    /// DM: disconnected mode.
    Dm = 0x0f,
    /// UA: unnumbered acknowledge.
    Ua = 0x63,
    /// FRMR: frame reject.
    Frmr = 0x87,
    /// UI: unnumbered information.
    Ui = 0x03,
    /// XID: exchange identification.
    Xid = 0xaf,
    /// TEST.
    Test = 0xe3,
}

impl Unnumbered {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Unnumbered::Sabm,
        Unnumbered::Sabme,
        Unnumbered::Disc,
        Unnumbered::Dm,
        Unnumbered::Ua,
        Unnumbered::Frmr,
        Unnumbered::Ui,
        Unnumbered::Xid,
        Unnumbered::Test,
    ];

    /// Returns its name, as the specification abbreviates it.
    pub const fn name(self) -> &'static str {
        match self {
            Unnumbered::Sabm => "SABM",
            Unnumbered::Sabme => "SABME",
            Unnumbered::Disc => "DISC",
            Unnumbered::Dm => "DM",
            Unnumbered::Ua => "UA",
            Unnumbered::Frmr => "FRMR",
            Unnumbered::Ui => "UI",
            Unnumbered::Xid => "XID",
            Unnumbered::Test => "TEST",
        }
    }
}

/// A control field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ControlField {
    /// An I frame, always a command.
    Information {
        /// N(S): its own number.
        sent: u8,
        /// N(R): the number that its sender expects next.
        received: u8,
        /// The P bit.
        poll: bool,
    },
    /// An S frame.
    Supervisory {
        /// Which.
        kind: Supervisory,
        /// N(R).
        received: u8,
        /// The P bit of a command, the F bit of a response.
        poll: bool,
    },
    /// A U frame.
    Unnumbered {
        /// Which.
        kind: Unnumbered,
        /// The P bit of a command, the F bit of a response.
        poll: bool,
    },
}

impl Supervisory {
    /// Returns its name, as the specification abbreviates it.
    pub const fn name(self) -> &'static str {
        match self {
            Supervisory::ReceiveReady => "RR",
            Supervisory::ReceiveNotReady => "RNR",
            Supervisory::Reject => "REJ",
            Supervisory::SelectiveReject => "SREJ",
        }
    }
}

/// P or F in a control field of one octet.
const POLL: u8 = 0x10;

impl ControlField {
    /// Returns a U frame's control field.
    pub const fn unnumbered(kind: Unnumbered, poll: bool) -> Self {
        ControlField::Unnumbered { kind, poll }
    }

    /// Decodes a control field at the front, and returns how many octets it has.
    ///
    /// # Errors
    /// It ends too early, or is of no known kind.
    pub fn decode(octets: &[u8], modulus: Modulus) -> Result<(Self, usize), Malformed> {
        let first = *octets.first().ok_or(Malformed::TooShort)?;
        if first & 0b11 == 0b11 {
            let known = Unnumbered::ALL.into_iter().find(|kind| *kind as u8 == first & !POLL);
            let kind = known.ok_or(Malformed::Field("control"))?;
            return Ok((ControlField::Unnumbered { kind, poll: first & POLL != 0 }, 1));
        }
        let (received, poll, length) = match modulus {
            Modulus::Eight => (first >> 5, first & POLL != 0, 1),
            Modulus::Extended => {
                let second = *octets.get(1).ok_or(Malformed::TooShort)?;
                (second >> 1, second & 1 == 1, 2)
            }
        };
        if first & 1 == 0 {
            let sent = first >> 1 & (modulus.count() - 1);
            return Ok((ControlField::Information { sent, received, poll }, length));
        }
        if modulus == Modulus::Extended && first & 0xf0 != 0 {
            return Err(Malformed::Field("control"));
        }
        let kind = match first >> 2 & 0b11 {
            0b00 => Supervisory::ReceiveReady,
            0b01 => Supervisory::ReceiveNotReady,
            0b10 => Supervisory::Reject,
            _ => Supervisory::SelectiveReject,
        };
        Ok((ControlField::Supervisory { kind, received, poll }, length))
    }

    /// Encodes the control field into the first octets, and returns how many it has.
    ///
    /// # Panics
    /// Where there are fewer octets.
    pub fn encode(self, modulus: Modulus, octets: &mut [u8]) -> usize {
        let (first, received, poll) = match self {
            ControlField::Unnumbered { kind, poll } => {
                octets[0] = kind as u8 | if poll { POLL } else { 0 };
                return 1;
            }
            ControlField::Information { sent, received, poll } => (sent << 1, received, poll),
            ControlField::Supervisory { kind, received, poll } => {
                ((kind as u8) << 2 | 0b01, received, poll)
            }
        };
        match modulus {
            Modulus::Eight => {
                octets[0] = received << 5 | if poll { POLL } else { 0 } | first;
                1
            }
            Modulus::Extended => {
                octets[..2].copy_from_slice(&[first, received << 1 | u8::from(poll)]);
                2
            }
        }
    }

    /// Returns the name of its kind.
    pub const fn name(self) -> &'static str {
        match self {
            ControlField::Information { .. } => "I",
            ControlField::Supervisory { kind, .. } => kind.name(),
            ControlField::Unnumbered { kind, .. } => kind.name(),
        }
    }

    /// Returns whether a protocol identifier follows.
    pub const fn has_pid(self) -> bool {
        matches!(
            self,
            ControlField::Information { .. }
                | ControlField::Unnumbered { kind: Unnumbered::Ui, .. }
        )
    }
}

/// A head, encoded.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    octets: [u8; HEAD_MOST],
    length: usize,
}

impl Head {
    /// Encodes a head. `pid`: the protocol identifier of an I or a UI frame.
    pub fn new(
        addresses: &Addresses,
        control: ControlField,
        modulus: Modulus,
        pid: Option<u8>,
    ) -> Self {
        let mut octets = [0; HEAD_MOST];
        let mut length = addresses.encode(&mut octets);
        length += control.encode(modulus, &mut octets[length..]);
        if let Some(pid) = pid {
            octets[length] = pid;
            length += 1;
        }
        Head { octets, length }
    }

    /// Returns the octets.
    pub fn as_octets(&self) -> &[u8] {
        &self.octets[..self.length]
    }
}

/// Protocol identifiers (§3.4) that this crate knows; all others are carried, too.
pub mod pid {
    /// A segment of a longer message.
    pub const SEGMENT: u8 = 0x08;
    /// No layer 3.
    pub const NONE: u8 = 0xf0;
}
