//! Fragments that arrive, until their packet is whole (RFC 791 §3.2, RFC 8200 §4.5).
//!
//! Fragments that overlap are never put together: of a packet with any, all that is of it is
//! dropped until its time is over (RFC 5722, for IPv4 too). What is held is copied, so that a
//! fragment of one octet does not hold the block in which it came.

use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;

use stackwright_contract::{Duration, Instant, PathLimits};
use stackwright_wire::Message;
use stackwright_wire::internet::Extensions;

use crate::head::v4;
use crate::head::{Fragment, Head, ICMP, ICMP6, PACKET_MOST, TCP, UDP};

/// The octets that are held of one source, and in all: payload, and what it takes to hold it.
const SOURCE_MOST: usize = 128 << 10;
const ALL_MOST: usize = 1 << 20;
/// Packets that are incomplete, of all sources.
const PACKETS_MOST: usize = 256;
/// What it takes to hold a fragment, and a packet.
const FRAGMENT_COST: usize = 64;
const PACKET_COST: usize = 256;

/// How long fragments are awaited: RFC 1122 §3.3.2 leaves it to the host, RFC 8200 §4.5 says.
const TIME: Duration = Duration::from_secs(30);
const TIME6: Duration = Duration::from_secs(60);

/// Packets that are incomplete.
#[derive(Default, Debug)]
pub(crate) struct Reassembly {
    /// The oldest first.
    packets: Vec<Incomplete>,
    held: usize,
}

/// What the fragments of one packet have in common (RFC 791 §3.2, RFC 8200 §4.5).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    source: IpAddr,
    destination: IpAddr,
    identification: u32,
    /// Only of IPv4: that of IPv6 is what the first fragment says.
    protocol: u8,
}

#[derive(Debug)]
struct Incomplete {
    key: Key,
    /// The interface by which the last fragment came.
    interface: u16,
    deadline: Instant,
    /// By their place.
    parts: Vec<Part>,
    /// The header of the first fragment, with its options or extensions.
    first: Option<(Head, Vec<u8>)>,
    /// The octets of the whole payload, once its last fragment is here.
    end: Option<usize>,
    held: usize,
    /// The congestion notifications of all fragments, a bit each.
    ecn: u8,
    /// Whether fragments have overlapped: nothing of it is kept any more.
    is_condemned: bool,
}

#[derive(Debug)]
struct Part {
    start: usize,
    octets: Vec<u8>,
}

impl Part {
    fn end(&self) -> usize {
        self.start + self.octets.len()
    }
}

/// What became of a fragment.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// It is kept.
    Kept,
    /// The packet is whole: its header, and its payload behind so many free octets.
    Whole(Head, Vec<u8>),
    /// It is dropped.
    Dropped(&'static str),
    /// It is dropped, and its sender is told where the error is (of IPv6).
    Problem(&'static str, u32),
}

/// A packet whose time is over.
#[derive(Debug)]
pub(crate) struct Expired {
    pub(crate) interface: u16,
    /// Its first fragment, if that has come.
    pub(crate) first: Option<(Head, Vec<u8>)>,
}

impl Reassembly {
    /// Adds a fragment that has come by `interface`; `packet` is all of it. The whole payload is
    /// returned behind `headroom` octets.
    pub(crate) fn add(
        &mut self,
        now: Instant,
        (interface, link): (u16, PathLimits),
        head: Head,
        packet: &mut impl Message,
        headroom: usize,
    ) -> Outcome {
        let Some(fragment) = head.fragment else { return Outcome::Dropped("no fragment") };
        let header = usize::from(head.length);
        let start = fragment.offset as usize;
        let octets = head.total - header;
        let (is_ipv4, end) = (head.source.is_ipv4(), start + octets);
        if fragment.more && !octets.is_multiple_of(8) {
            return Outcome::Problem("a fragment whose length is no multiple of 8", 4);
        }
        if octets == 0 {
            return Outcome::Dropped("a fragment of nothing");
        }
        let most = if is_ipv4 { PACKET_MOST - v4::LENGTH } else { PACKET_MOST };
        if end > most {
            return Outcome::Problem("a fragment beyond the longest packet", header as u32 - 6);
        }
        let mut copy = vec![0; header + octets];
        packet.copy_to(&mut copy);
        if start == 0 && fragment.more && !holds_header(&head, &copy[header..]) {
            return Outcome::Problem("a first fragment without the whole header", 0);
        }
        if start > 0 && start < 16 && head.protocol == TCP {
            return Outcome::Dropped("a fragment within the header of TCP"); // RFC 3128
        }
        // An atomic fragment has nothing to do with any other (RFC 6946 §4).
        if start == 0 && !fragment.more {
            let mut whole = vec![0; headroom];
            whole.extend_from_slice(&copy[header..]);
            return Outcome::Whole(Head { fragment: None, ..head }, whole);
        }
        let key = Key {
            source: head.source,
            destination: head.destination,
            identification: fragment.identification,
            protocol: if is_ipv4 { head.protocol } else { 0 },
        };
        let place = match self.packets.iter().position(|packet| packet.key == key) {
            Some(place) => place,
            None => {
                self.make_room(key.source, PACKET_COST);
                let deadline = now + time(is_ipv4, link);
                self.packets.push(Incomplete::new(key, interface, deadline));
                self.held += PACKET_COST;
                self.packets.len() - 1
            }
        };
        let incomplete = &mut self.packets[place];
        incomplete.interface = interface;
        let before = incomplete.held;
        let outcome = incomplete.add(head, fragment, copy, start..end);
        self.held = self.held - before + incomplete.held;
        if incomplete.is_whole() {
            let incomplete = self.packets.remove(place);
            self.held -= incomplete.held;
            return incomplete.whole(headroom);
        }
        self.make_room(key.source, 0);
        outcome
    }

    /// Forgets the oldest packets until there is room for `more` octets of this source.
    fn make_room(&mut self, source: IpAddr, more: usize) {
        loop {
            let same = self.packets.iter().filter(|packet| packet.key.source == source);
            let held: usize = same.map(|packet| packet.held).sum();
            let place = if held + more > SOURCE_MOST {
                self.packets.iter().position(|packet| packet.key.source == source)
            } else if self.held + more > ALL_MOST
                || self.packets.len() + usize::from(more > 0) > PACKETS_MOST
            {
                Some(0)
            } else {
                None
            };
            let Some(place) = place.filter(|place| *place < self.packets.len()) else { return };
            self.held -= self.packets.remove(place).held;
        }
    }

    /// Forgets a packet whose time is over, and returns it.
    pub(crate) fn expired(&mut self, now: Instant) -> Option<Expired> {
        let place = self.packets.iter().position(|packet| packet.deadline <= now)?;
        let Incomplete { interface, first, parts, held, is_condemned, .. } =
            self.packets.remove(place);
        self.held -= held;
        let first = first.filter(|_| !is_condemned).map(|(head, mut octets)| {
            parts.first().into_iter().for_each(|part| octets.extend_from_slice(&part.octets));
            (head, octets)
        });
        Some(Expired { interface, first })
    }

    /// Returns the octets that are held.
    pub(crate) fn held(&self) -> usize {
        self.held
    }

    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.packets.iter().map(|packet| packet.deadline).min()
    }
}

/// Returns how long fragments are awaited: longer where the link takes longer for a long packet.
fn time(is_ipv4: bool, link: PathLimits) -> Duration {
    let frames = (PACKET_MOST as u64).div_ceil(u64::from(link.longest.max(1)));
    let slow = Duration::from_micros(frames.saturating_mul(u64::from(link.frame_time) * 2));
    slow.max(if is_ipv4 { TIME } else { TIME6 })
}

/// Returns whether a first fragment has all headers, that of the transport too (RFC 7112 §5, RFC
/// 1858 §3).
fn holds_header(head: &Head, payload: &[u8]) -> bool {
    let (mut protocol, mut at) = (head.protocol, 0);
    if head.source.is_ipv6() {
        for extension in Extensions::new(protocol, payload) {
            let Ok(extension) = extension else { return false };
            (protocol, at) = (extension.next, extension.at + extension.octets.len());
        }
    }
    let rest = &payload[at..];
    match protocol {
        TCP => rest.get(12).is_some_and(|offset| rest.len() >= usize::from(offset >> 4).max(5) * 4),
        UDP | ICMP | ICMP6 => rest.len() >= 8,
        _ => !rest.is_empty(),
    }
}

impl Incomplete {
    fn new(key: Key, interface: u16, deadline: Instant) -> Self {
        Incomplete {
            key,
            interface,
            deadline,
            parts: Vec::new(),
            first: None,
            end: None,
            held: PACKET_COST,
            ecn: 0,
            is_condemned: false,
        }
    }

    fn add(
        &mut self,
        head: Head,
        fragment: Fragment,
        mut copy: Vec<u8>,
        range: core::ops::Range<usize>,
    ) -> Outcome {
        if self.is_condemned {
            return Outcome::Dropped("a fragment of a packet of which some overlapped");
        }
        let (start, end) = (range.start, range.end);
        let place = self.parts.partition_point(|part| part.start < start);
        if let Some(same) = self.parts.get(place)
            && (same.start, same.end()) == (start, end)
            && same.octets == copy[head.length.into()..]
        {
            return Outcome::Dropped("a fragment that came before");
        }
        let overlaps = place > 0 && self.parts[place - 1].end() > start
            || self.parts.get(place).is_some_and(|next| next.start < end);
        let ends =
            self.end.is_some_and(|last| if fragment.more { end > last } else { end != last });
        let is_beyond = !fragment.more && self.parts.last().is_some_and(|last| last.end() > end);
        if overlaps || ends || is_beyond {
            self.is_condemned = true;
            (self.parts, self.first, self.held) = (Vec::new(), None, PACKET_COST);
            return Outcome::Dropped("a fragment that overlaps another");
        }
        if !fragment.more {
            self.end = Some(end);
        }
        self.ecn |= 1 << head.ecn;
        let octets = copy.split_off(head.length.into());
        self.held += octets.len() + FRAGMENT_COST;
        if start == 0 {
            self.first = Some((head, copy));
        }
        self.parts.insert(place, Part { start, octets });
        Outcome::Kept
    }

    /// Returns whether there is no hole.
    fn is_whole(&self) -> bool {
        // Parts do not overlap, so that none is missing where their octets are as many.
        self.end.is_some_and(|end| {
            self.parts.iter().map(|part| part.octets.len()).sum::<usize>() == end
        })
    }

    fn whole(self, headroom: usize) -> Outcome {
        // RFC 3168 §5.3: a mark holds for the whole packet; beside Not-ECT, it is a forgery.
        let ecn = match self.ecn {
            marks if marks & 0b1000 > 0 && marks & 1 > 0 => {
                return Outcome::Dropped("fragments of which only some know congestion marks");
            }
            marks if marks & 0b1000 > 0 => 3,
            marks if marks & 1 > 0 => 0,
            marks => marks.trailing_zeros() as u8,
        };
        let Some((head, _)) = self.first else { return Outcome::Dropped("no first fragment") };
        let mut whole = vec![0; headroom];
        self.parts.iter().for_each(|part| whole.extend_from_slice(&part.octets));
        Outcome::Whole(Head { fragment: None, ecn, ..head }, whole)
    }
}
