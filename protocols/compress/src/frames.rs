//! Which frames carry what.
//!
//! ```text
//! compressed  addresses  UI  PID  rule (4 bits), residue, payload
//! beacon      addresses  UI  PID  0xF1, check of the rules (32 bits)
//! ```

use alloc::vec::Vec;

use stackwright_contract::CallSign;
use stackwright_contract::ax25::{
    Addresses, ControlField, DigipeaterPath, HEAD_MOST, Head, Modulus, Role, Unnumbered,
};
use stackwright_contract::services::Credit;
use stackwright_wire::Message;

use crate::packets::{LinkHosts, ReplacedHeader};
use crate::rules::{RULE_OCTETS_MOST, RULES_MOST, RuleSet};

/// The protocol identifier of compressed packets. None is assigned: it is one of those that AX.25
/// v2.2 §3.4 reserves, so that no other program takes them for its own.
pub const PID: u8 = 0xc5;
/// That of packets of IPv4 as they are.
pub(crate) const IPV4_PID: u8 = 0xcc;

/// The first octet of a beacon: no rule has this number; and the version of its form.
const BEACON: u8 = (RULES_MOST as u8) << 4 | 1;
const BEACON_OCTETS: usize = 5;
/// What a beacon costs at most.
pub(crate) const BEACON_MOST: Credit = Credit { octets: HEAD_MOST + BEACON_OCTETS, messages: 1 };

/// Octets before a frame, for the layers below.
pub(crate) const HEADROOM: usize = 32;

/// What a frame carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Carried {
    /// A packet of IPv4, as it is.
    Ipv4,
    /// Part of a header by a rule, and the rest of the packet.
    Compressed,
    /// The check of the rules that its sender has; `None`: in another form.
    Beacon(Option<u32>),
}

/// What was read of an unnumbered frame.
pub(crate) struct Seen {
    pub(crate) source: CallSign,
    pub(crate) destination: CallSign,
    path: DigipeaterPath,
    pub(crate) carried: Carried,
    octets: [u8; READ_MOST],
    /// How many of them were read, and where the information begins.
    read: usize,
    information_at: usize,
    /// The octets of the information.
    length: usize,
}

const READ_MOST: usize = HEAD_MOST + RULE_OCTETS_MOST + 1;

impl Seen {
    /// Reads a frame; `None`: it carries nothing that is compressed, or could be.
    pub(crate) fn of<M: Message>(frame: &M) -> Option<Self> {
        let mut octets = [0; READ_MOST];
        let read = frame.copy_to(&mut octets);
        let (addresses, at) = Addresses::decode(&octets[..read]).ok()?;
        let Addresses { source, destination, path, .. } = addresses;
        let control = ControlField::unnumbered(Unnumbered::Ui, false);
        let (found, control_octets) =
            ControlField::decode(&octets[at..read], Modulus::Eight).ok()?;
        let pid_at = at + control_octets;
        let information = octets.get(pid_at + 1..read)?;
        let carried = match (octets[pid_at], information) {
            _ if found != control => return None,
            (IPV4_PID, _) => Carried::Ipv4,
            (PID, [BEACON, a, b, c, d]) => {
                Carried::Beacon(Some(u32::from_be_bytes([*a, *b, *c, *d])))
            }
            (PID, [first, ..]) if first >> 4 == BEACON >> 4 => Carried::Beacon(None),
            (PID, _) => Carried::Compressed,
            _ => return None,
        };
        let (information_at, length) = (pid_at + 1, frame.len() - pid_at - 1);
        Some(Seen { source, destination, path, carried, octets, read, information_at, length })
    }

    /// Returns whether it has arrived at the station with that call sign.
    pub(crate) fn is_for(&self, call: CallSign) -> bool {
        self.destination == call && self.path.is_travelled()
    }

    fn information(&self) -> &[u8] {
        &self.octets[self.information_at..self.read]
    }

    fn hosts(&self) -> LinkHosts {
        LinkHosts { source: self.source.host(), destination: self.destination.host() }
    }

    pub(crate) fn compressed(&self, rules: &RuleSet) -> Option<ReplacedHeader> {
        rules.compress(self.information(), self.length, self.hosts())
    }

    pub(crate) fn expanded(&self, rules: &RuleSet) -> Option<ReplacedHeader> {
        rules.expand(self.information(), self.length, self.hosts())
    }

    /// Returns the frame with another protocol identifier and another header.
    pub(crate) fn replaced<M: Message>(&self, mut frame: M, pid: u8, header: &ReplacedHeader) -> M {
        frame.advance(self.information_at + header.replaces);
        let front = frame.push_front(self.information_at + header.octets.len());
        let (head, information) = front.split_at_mut(self.information_at);
        head.copy_from_slice(&self.octets[..self.information_at]);
        head[self.information_at - 1] = pid;
        information.copy_from_slice(&header.octets);
        frame
    }

    /// Returns the beacon that goes to the same station by the same path.
    pub(crate) fn beacon(&self, check: u32) -> Vec<u8> {
        let Seen { source, destination, path, .. } = *self;
        let addresses = Addresses { source, destination, role: Role::Command, path };
        let control = ControlField::unnumbered(Unnumbered::Ui, false);
        let head = Head::new(&addresses, control, Modulus::Eight, Some(PID));
        [head.as_octets(), &[BEACON], &check.to_be_bytes()].concat()
    }
}
