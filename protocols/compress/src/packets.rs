//! Packets by rules (RFC 8724 §7.2, §7.5).
//!
//! *Erratum*: the residue is padded to whole octets before the payload, not behind it, so that the
//! payload is where it was. No rule needs more octets for that: at least four bits of each header
//! are known.

use alloc::vec::Vec;
use core::net::Ipv4Addr;

use stackwright_wire::check::Internet;

use crate::bits::{BitReader, BitWriter};
use crate::rules::{Action, Field, IPV4, Rule, RuleSet};

/// The bits of the number of a rule.
const NUMBER: u32 = 4;
/// Where IPv4 has the check of its header.
const CHECK: usize = 10;

/// The addresses that follow from the call signs of the stations of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkHosts {
    /// Of the sender.
    pub source: Ipv4Addr,
    /// Of the receiver.
    pub destination: Ipv4Addr,
}

impl LinkHosts {
    const fn of(&self, action: &Action) -> Option<u32> {
        match action {
            Action::Source => Some(self.source.to_bits()),
            Action::Destination => Some(self.destination.to_bits()),
            _ => None,
        }
    }
}

/// A header in place of another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReplacedHeader {
    /// The octets that take its place.
    pub octets: Vec<u8>,
    /// How many octets they replace.
    pub replaces: usize,
}

impl RuleSet {
    /// Returns the shortest residue by a rule that describes a packet of IPv4, of whose `length`
    /// octets these are the first; `None`: no rule makes it shorter.
    pub fn compress(
        &self,
        octets: &[u8],
        length: usize,
        hosts: LinkHosts,
    ) -> Option<ReplacedHeader> {
        let by = |rule: &Rule| {
            let octets = rule.compress(octets, length, hosts)?;
            (octets.len() < rule.octets).then_some((octets, rule.octets))
        };
        let all = self.rules.iter().filter_map(by);
        // What matters is what is saved: rules describe headers of different lengths.
        let best = all.min_by_key(|(octets, replaces)| octets.len() as isize - *replaces as isize);
        best.map(|(octets, replaces)| ReplacedHeader { octets, replaces })
    }

    /// Returns the header of a packet of which these octets, the first of `length`, were made;
    /// `None`: no rule has made them.
    pub fn expand(&self, octets: &[u8], length: usize, hosts: LinkHosts) -> Option<ReplacedHeader> {
        let mut bits = BitReader::new(octets);
        let rule = self.rule(bits.read(NUMBER)? as u8)?;
        let mut header = BitWriter::default();
        for Field { bits: own, action } in &rule.fields {
            let residue = bits.read(action.residue(*own))?;
            let value = match action {
                Action::Mapped(values) => *values.get(residue as usize)?,
                Action::Sent => residue,
                // Computed once all others are known.
                Action::Length | Action::DataLength | Action::Check => 0,
                Action::Source | Action::Destination => hosts.of(action)?,
            };
            header.write(value, *own);
        }
        let (mut octets, replaces) = (header.into_octets(), bits.octets());
        if replaces >= rule.octets {
            return None; // it was sent as it was
        }
        let length = u16::try_from(length.checked_sub(replaces)? + rule.octets).ok()?;
        let mut at = 0;
        for Field { bits, action } in &rule.fields {
            let value = match action {
                Action::Length => Some(length),
                Action::DataLength => Some(length - IPV4 as u16),
                _ => None,
            };
            if let Some(value) = value {
                octets[at / 8..at / 8 + 2].copy_from_slice(&value.to_be_bytes());
            }
            at += *bits as usize;
        }
        if rule.fields.iter().any(|field| field.action == Action::Check) {
            let check = check_of(&octets);
            octets[CHECK..CHECK + 2].copy_from_slice(&check.to_be_bytes());
        }
        Some(ReplacedHeader { octets, replaces })
    }
}

impl Rule {
    /// Returns the residue, behind the number of the rule; `None`: it describes other packets.
    fn compress(&self, octets: &[u8], length: usize, hosts: LinkHosts) -> Option<Vec<u8>> {
        let header = octets.get(..self.octets)?;
        let (mut bits, mut residue) = (BitReader::new(header), BitWriter::default());
        residue.write(self.number.into(), NUMBER);
        for Field { bits: own, action } in &self.fields {
            let value = bits.read(*own)?;
            let is = |known: u32| (value == known).then_some(0);
            let sent = match action {
                Action::Mapped(values) => values.iter().position(|known| *known == value)? as u32,
                Action::Sent => value,
                Action::Length => is(length as u32)?,
                Action::DataLength => is(length.checked_sub(IPV4)? as u32)?,
                Action::Check => is(check_of(header).into())?,
                Action::Source | Action::Destination => is(hosts.of(action)?)?,
            };
            residue.write(sent, action.residue(*own));
        }
        Some(residue.into_octets())
    }
}

/// Returns the check of IPv4's header, whatever stands in its place.
fn check_of(header: &[u8]) -> u16 {
    let mut check = Internet::new();
    check.add(&header[..CHECK]);
    check.add(&header[CHECK + 2..IPV4]);
    check.value()
}
