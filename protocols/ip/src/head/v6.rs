//! The header of IPv6 (RFC 8200), with its extension headers, read and written.

use core::net::IpAddr;

use stackwright_wire::internet::{Extension, ExtensionOptions, Extensions, Ipv6};
use stackwright_wire::{Header, Message};

use crate::head::{Fragment, Head};

/// Octets of a header without extension headers, and of a fragment header.
pub(crate) const LENGTH: usize = <Ipv6 as Header>::LENGTH;
pub(crate) const FRAGMENT: usize = 8;

/// Octets of all extension headers of a packet, at most: a chain that is longer than any sender
/// needs hides the transport from filters (RFC 8504 §5.3).
const CHAIN_MOST: usize = 256;
/// Extension headers of a packet, at most.
const EXTENSIONS_MOST: usize = 8;

/// Where the octet is that says which protocol follows the header.
const NEXT_HEADER: u16 = 6;
/// No next header (RFC 8200 §4.7).
pub(crate) const NOTHING: u8 = 59;

/// Codes of a parameter problem (RFC 4443 §3.4).
pub(crate) const ERRONEOUS: u8 = 0;
pub(crate) const UNRECOGNISED_NEXT: u8 = 1;
pub(crate) const UNRECOGNISED_OPTION: u8 = 2;

/// What is wrong with extension headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wrong {
    pub(crate) reason: &'static str,
    /// Code and place of the parameter problem that the sender is told (RFC 4443 §3.4).
    pub(crate) problem: Option<(u8, u32)>,
}

impl Wrong {
    const fn silent(reason: &'static str) -> Self {
        Wrong { reason, problem: None }
    }

    const fn told(reason: &'static str, code: u8, at: usize) -> Self {
        Wrong { reason, problem: Some((code, at as u32)) }
    }
}

/// Reads the header of a packet of `octets` octets without its extension headers: its protocol is
/// then the first of them.
#[inline]
pub(crate) fn read(front: &[u8], octets: usize) -> Result<Head, &'static str> {
    let header = Ipv6::decode(front).map_err(|_| "a packet shorter than its header")?;
    let total = LENGTH + usize::from(header.payload_length);
    if total > octets {
        return Err("a total length that is impossible");
    }
    Ok(Head {
        source: IpAddr::V6(header.source.into()),
        destination: IpAddr::V6(header.destination.into()),
        protocol: header.next_header,
        ecn: header.traffic_class & 3,
        hops: header.hop_limit,
        next_at: NEXT_HEADER,
        length: LENGTH as u16,
        total,
        fragment: None,
        df: true,
    })
}

/// Reads the extension headers up to the payload, or to a fragment header: what follows that one
/// is read when the packet is whole.
#[cold]
pub(crate) fn read_chain<M: Message>(packet: &mut M, head: &mut Head) -> Result<(), Wrong> {
    let most = (head.total - LENGTH).min(CHAIN_MOST);
    let Some(front) = packet.front(LENGTH + most) else {
        return Err(Wrong::silent("extension headers that are not in memory"));
    };
    let mut count = 0;
    for extension in Extensions::new(head.protocol, &front[LENGTH..]) {
        let Ok(Extension { kind, at, octets, next }) = extension else {
            return Err(Wrong::silent("extension headers that do not end"));
        };
        let at = LENGTH + at;
        count += 1;
        if count > EXTENSIONS_MOST {
            return Err(Wrong::silent("more extension headers than are read"));
        }
        match kind {
            // A hop-by-hop header is the first (RFC 8200 §4.1).
            Extensions::HOP_BY_HOP if count > 1 => {
                let reason = "a hop-by-hop header that is not the first";
                return Err(Wrong::told(reason, UNRECOGNISED_NEXT, head.next_at.into()));
            }
            Extensions::HOP_BY_HOP | Extensions::DESTINATION => {
                read_options(octets, at, head.destination.is_multicast())?;
            }
            // Type 0 of RFC 5095, and all that is not known (RFC 8200 §4.4).
            Extensions::ROUTING if octets[3] > 0 => {
                let reason = "a routing header with segments left";
                return Err(Wrong::told(reason, ERRONEOUS, at + 2));
            }
            Extensions::FRAGMENT => {
                let word = u16::from_be_bytes([octets[2], octets[3]]);
                let identification = [octets[4], octets[5], octets[6], octets[7]];
                head.fragment = Some(Fragment {
                    identification: u32::from_be_bytes(identification),
                    offset: (word & !7).into(),
                    more: word & 1 == 1,
                });
            }
            _ => {}
        }
        (head.protocol, head.next_at) = (next, at as u16);
        head.length = (at + octets.len()) as u16;
        if head.fragment.is_some() {
            break;
        }
    }
    Ok(())
}

/// Handles options that are not known as their type asks (RFC 8200 §4.2): all are skipped but
/// those whose type says that the packet is of no use without them.
fn read_options(octets: &[u8], at: usize, to_group: bool) -> Result<(), Wrong> {
    for option in ExtensionOptions::new(octets) {
        let Ok(option) = option else {
            return Err(Wrong::silent("an option that is malformed"));
        };
        let reason = "an option that is not known and must be";
        match option.kind >> 6 {
            0 => {}
            1 => return Err(Wrong::silent(reason)),
            3 if to_group => return Err(Wrong::silent(reason)),
            _ => {
                return Err(Wrong::told(reason, UNRECOGNISED_OPTION, at + option.at));
            }
        }
    }
    Ok(())
}

/// Writes what all headers of an association have in common. Of two versions there is none:
/// nothing is written.
pub(crate) fn template(
    octets: &mut [u8],
    source: IpAddr,
    destination: IpAddr,
    next_header: u8,
    hop_limit: u8,
) {
    let (IpAddr::V6(source), IpAddr::V6(destination)) = (source, destination) else { return };
    let header = Ipv6 {
        version: (),
        traffic_class: 0,
        flow_label: 0,
        payload_length: 0,
        next_header,
        hop_limit,
        source: source.octets(),
        destination: destination.octets(),
    };
    header.encode(octets);
}

/// Completes a template.
#[inline]
pub(crate) fn complete(octets: &mut [u8; LENGTH], ecn: u8, payload: usize) {
    octets[1] |= ecn << 4;
    octets[4..6].copy_from_slice(&(payload as u16).to_be_bytes());
}

/// Returns the fragment header of `fragment` before a payload of `protocol` (RFC 8200 §4.5).
pub(crate) fn fragment_header(protocol: u8, fragment: Fragment) -> [u8; FRAGMENT] {
    let mut octets = [0; FRAGMENT];
    octets[0] = protocol;
    let word = fragment.offset as u16 | u16::from(fragment.more);
    octets[2..4].copy_from_slice(&word.to_be_bytes());
    octets[4..8].copy_from_slice(&fragment.identification.to_be_bytes());
    octets
}
