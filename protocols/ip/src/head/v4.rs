//! The header of IPv4 (RFC 791), read and written.

use core::net::{IpAddr, Ipv4Addr};

use stackwright_wire::check::Internet;
use stackwright_wire::internet::{Ipv4, Ipv4Options, complete_ipv4};
use stackwright_wire::{Header, Malformed, Message};

use crate::head::{Fragment, Head, ICMP, Key};

/// Octets of a header without options.
pub(crate) const LENGTH: usize = <Ipv4 as Header>::LENGTH;

/// The bit of a header's fourth word that keeps routers from fragmenting.
const DF: u8 = 0x40;

/// The options that lead a packet along the routers that its sender names (RFC 791 §3.1): nobody
/// needs them but to pass a filter (RFC 7126 §4.3).
const SOURCE_ROUTES: [u8; 2] = [131, 137];

/// The protocol and the addresses, as a header has them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Plain {
    /// Source and destination.
    hosts: u64,
    protocol: u8,
}

impl Plain {
    /// Reads the header of a packet of `octets` octets that has no options, is no fragment and not
    /// ICMP; returns its own octets, too. `None`: it is another, or one that [`read`] refuses.
    #[inline(always)]
    pub(crate) fn read(front: &[u8; LENGTH], octets: usize) -> Option<(Plain, usize)> {
        let total = usize::from(u16::from_be_bytes([front[2], front[3]]));
        let fragment = u16::from_be_bytes([front[6] & !DF, front[7]]);
        let [.., a, b, c, d, e, f, g, h] = *front;
        let plain =
            Plain { hosts: u64::from_be_bytes([a, b, c, d, e, f, g, h]), protocol: front[9] };
        let is_plain = front[0] == 0x45
            && fragment == 0
            && plain.protocol != ICMP
            && (LENGTH..=octets).contains(&total)
            && agrees(front);
        is_plain.then_some((plain, total))
    }

    pub(crate) fn key(self) -> Key {
        let [peer, own] =
            [self.hosts >> 32, self.hosts].map(|host| IpAddr::V4((host as u32).into()));
        Key { own, peer, protocol: self.protocol }
    }
}

/// Returns whether the check agrees of a header, which is not all zero: the ones' complement sum is
/// the rest of a division by 2^16 - 1, in either order of octets (RFC 1071 §2 (B)).
#[inline(always)]
fn agrees(front: &[u8; LENGTH]) -> bool {
    let (words, _) = front.as_chunks::<4>();
    let sum: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    sum.is_multiple_of(0xffff)
}

/// Reads the header of a packet of `octets` octets, as far as its options.
#[inline]
pub(crate) fn read(front: &[u8], octets: usize) -> Result<Head, &'static str> {
    let header = Ipv4::decode(front).map_err(|malformed| match malformed {
        Malformed::Field("reserved") => "a header whose reserved bit is set",
        _ => "a packet shorter than its header",
    })?;
    let length = usize::from(header.ihl) * 4;
    let total = usize::from(header.total_length);
    if length < LENGTH || length > front.len() {
        return Err("a header length that is impossible");
    }
    if total < length || total > octets {
        return Err("a total length that is impossible");
    }
    if Internet::of(&front[..length]) != 0 {
        return Err("a header whose check does not agree");
    }
    let fragment = (header.mf || header.fragment_offset > 0).then(|| Fragment {
        identification: header.identification.into(),
        offset: u32::from(header.fragment_offset) * 8,
        more: header.mf,
    });
    Ok(Head {
        source: IpAddr::V4(header.source.into()),
        destination: IpAddr::V4(header.destination.into()),
        protocol: header.protocol,
        ecn: header.ecn,
        hops: header.ttl,
        next_at: 9,
        length: length as u16,
        total,
        fragment,
        df: header.df,
    })
}

/// Reads a header whose first octet says that it has options, or is malformed.
#[cold]
pub(crate) fn read_with_options<M: Message>(packet: &mut M) -> Result<Head, &'static str> {
    let (octets, first) = (packet.len(), packet.front(1).map_or(0, |front| front[0]));
    let length = usize::from(first & 0xf) * 4;
    let Some(front) = packet.front(length.max(LENGTH)) else {
        return Err("a packet shorter than its header");
    };
    let head = read(front, octets)?;
    for option in Ipv4Options::new(&front[LENGTH..length]) {
        match option {
            Ok(option) if SOURCE_ROUTES.contains(&option.kind) => {
                return Err("a packet with a source route");
            }
            // All others are for measurements, and ignored (RFC 1122 §3.2.1.8).
            Ok(_) => {}
            Err(_) => return Err("an option that is malformed"),
        }
    }
    Ok(head)
}

/// Writes what all headers of an association have in common. The check is the complement of the
/// sum: [`complete`] adds what is missing.
pub(crate) fn template(
    octets: &mut [u8],
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: u8,
    ttl: u8,
) {
    let mut header = Ipv4 {
        version: (),
        ihl: 5,
        dscp: 0,
        ecn: 0,
        total_length: 0,
        identification: 0,
        reserved: (),
        df: true,
        mf: false,
        fragment_offset: 0,
        ttl,
        protocol,
        checksum: 0,
        source: source.octets(),
        destination: destination.octets(),
    };
    header.encode(octets);
    header.checksum = Internet::of(&octets[..LENGTH]);
    header.encode(octets);
}

/// Completes a template. The identification stays 0: a packet that is not fragmented needs none
/// (RFC 6864 §4.1).
#[inline(always)]
pub(crate) fn complete(octets: &mut [u8; LENGTH], ecn: u8, payload: usize, df: bool) {
    let total = (LENGTH + payload) as u16;
    let mut check = u16::from_be_bytes([octets[10], octets[11]]);
    check = Internet::update(check, 0, total);
    octets[2..4].copy_from_slice(&total.to_be_bytes());
    if ecn != 0 {
        check = Internet::update(check, 0, ecn.into());
        octets[1] |= ecn;
    }
    if !df {
        check = Internet::update(check, u16::from(DF) << 8, 0);
        octets[6] &= !DF;
    }
    octets[10..12].copy_from_slice(&check.to_be_bytes());
}

/// Alters a header, with its options, so that it is a fragment's, before `payload` octets.
pub(crate) fn be_fragment(front: &mut [u8], payload: usize, fragment: Fragment) {
    let total = (front.len() + payload) as u16;
    let place = (fragment.offset / 8) as u16 | u16::from(fragment.more) << 13;
    front[2..4].copy_from_slice(&total.to_be_bytes());
    front[4..6].copy_from_slice(&(fragment.identification as u16).to_be_bytes());
    front[6..8].copy_from_slice(&place.to_be_bytes());
    complete_ipv4(front);
}

/// Takes a hop off a packet's header, which has more than one.
#[inline]
pub(crate) fn take_hop(front: &mut [u8]) {
    let word = u16::from_be_bytes([front[8], front[9]]);
    let check = u16::from_be_bytes([front[10], front[11]]);
    let check = Internet::update(check, word, word - 0x100);
    front[8] -= 1;
    front[10..12].copy_from_slice(&check.to_be_bytes());
}
