//! ICMP errors that this host sends: about which packets, how many, and what they quote (RFC 1122
//! §3.2.2, RFC 1812 §4.3.2, RFC 4443 §2.4).

use alloc::vec;
use alloc::vec::Vec;
use core::net::IpAddr;

use stackwright_base::map::{Hashing as _, Keyed, Map as _};
use stackwright_contract::services::DatagramsIndication;
use stackwright_contract::{Context, Instant, Trouble};
use stackwright_wire::check::Internet;
use stackwright_wire::internet::Icmp;
use stackwright_wire::{Header, Message};

use crate::address::{is_group, is_host};
use crate::head::{Head, ICMP, ICMP6};
use crate::head::{v4, v6};
use crate::icmp::{check, is_error, quoted};
use crate::interface::{Owner, owner, source_of};
use crate::{Ip, NAME, Out};

/// What is wrong with a packet, as its sender is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Fault {
    /// No route leads to its destination.
    NoRoute,
    /// Its next hop cannot be reached.
    Unreachable,
    /// Nobody here has its protocol.
    NoProtocol,
    /// Nobody here has its port.
    NoPort,
    /// The next link takes packets of at most so many octets.
    TooLong(u32),
    /// Its hops are used up.
    NoHops,
    /// Its fragments did not all come in time.
    Incomplete,
    /// Its header has an error at an octet; the code is that of IPv6.
    Problem { code: u8, at: u32 },
}

impl Fault {
    /// Returns type, code, and what follows the check.
    fn of_version(self, is_ipv4: bool, head: &Head) -> (u8, u8, u32) {
        match (self, is_ipv4) {
            (Fault::NoRoute, true) => (3, 0, 0),
            (Fault::NoRoute, false) => (1, 0, 0),
            (Fault::Unreachable, true) => (3, 1, 0),
            (Fault::Unreachable, false) => (1, 3, 0),
            (Fault::NoProtocol, true) => (3, 2, 0),
            (Fault::NoProtocol, false) => (4, v6::UNRECOGNISED_NEXT, head.next_at.into()),
            (Fault::NoPort, true) => (3, 3, 0),
            (Fault::NoPort, false) => (1, 4, 0),
            (Fault::TooLong(mtu), true) => (3, 4, mtu.min(0xffff)),
            (Fault::TooLong(mtu), false) => (2, 0, mtu),
            (Fault::NoHops, true) => (11, 0, 0),
            (Fault::NoHops, false) => (3, 0, 0),
            (Fault::Incomplete, true) => (11, 1, 0),
            (Fault::Incomplete, false) => (3, 1, 0),
            (Fault::Problem { at, .. }, true) => (12, 0, at << 24),
            (Fault::Problem { code, at }, false) => (4, code, at),
        }
    }

    /// Returns whether it is told about a packet to a group, too (RFC 4443 §2.4 e.3).
    fn concerns_groups(self) -> bool {
        matches!(self, Fault::TooLong(_) | Fault::Problem { code: v6::UNRECOGNISED_OPTION, .. })
    }
}

/// How many errors may be sent: so many at once, and so many a second.
#[derive(Clone, Copy, Debug)]
struct Rate {
    burst: u64,
    a_second: u64,
}

const TO_ALL: Rate = Rate { burst: 100, a_second: 1000 };
const TO_ONE: Rate = Rate { burst: 10, a_second: 10 };

/// Peers whose buckets are kept; one that takes the place of another has a full one.
const PEERS: usize = 64;

/// A token bucket, in billionths of an error.
#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: u64,
    at: Instant,
}

/// A token.
const ONE: u64 = 1_000_000_000;

impl Bucket {
    fn full(rate: Rate, at: Instant) -> Self {
        Bucket { tokens: rate.burst * ONE, at }
    }

    fn take(&mut self, rate: Rate, now: Instant) -> bool {
        let more = now.nanoseconds_since(self.at).saturating_mul(rate.a_second);
        self.tokens = self.tokens.saturating_add(more).min(rate.burst * ONE);
        self.at = now;
        let left = self.tokens.checked_sub(ONE);
        self.tokens = left.unwrap_or(self.tokens);
        left.is_some()
    }
}

/// Limits the errors that are sent, to one peer and to all (RFC 4443 §2.4 f).
#[derive(Debug)]
pub(crate) struct Limiter {
    all: Bucket,
    peers: Vec<Option<(IpAddr, Bucket)>>,
    hashing: Keyed,
}

impl Limiter {
    pub(crate) fn new(seed: u64) -> Self {
        let all = Bucket::full(TO_ALL, Instant::START);
        Limiter { all, peers: vec![None; PEERS], hashing: Keyed::new(seed) }
    }

    fn may(&mut self, now: Instant, peer: IpAddr) -> bool {
        let place = self.hashing.hash(&peer) as usize % PEERS;
        let bucket = match &mut self.peers[place] {
            Some((same, bucket)) if *same == peer => bucket,
            other => &mut other.insert((peer, Bucket::full(TO_ONE, now))).1,
        };
        bucket.take(TO_ONE, now) && self.all.take(TO_ALL, now)
    }
}

/// The octets of the longest error: what every host receives in one piece (RFC 1812 §4.3.2.3, RFC
/// 4443 §2.4 c).
const LONGEST: usize = 576;
const LONGEST6: usize = 1280;

impl<M: Message> Ip<M> {
    /// Tells the sender of a packet, which came by the interface `by`, what is wrong with it: where
    /// it may be told, and not too often.
    #[cold]
    pub(crate) fn fault(
        &mut self,
        cx: &Context,
        by: u16,
        head: &Head,
        mut packet: M,
        fault: Fault,
        out: Out<'_, M>,
    ) {
        let is_ipv4 = head.source.is_ipv4();
        if !self.may_tell(by, head, &mut packet, fault) {
            return;
        }
        let source = match owner(&self.links, by, head.destination) {
            Owner::Own => Some(head.destination),
            _ => source_of(&self.links, by, head.source),
        };
        let Some(source) = source else { return };
        if !self.limiter.may(cx.now(), head.source) {
            return cx.dropped(NAME, "an ICMP error that is one too many");
        }
        let (icmp_type, code, rest) = fault.of_version(is_ipv4, head);
        let (longest, header, protocol) =
            if is_ipv4 { (LONGEST, v4::LENGTH, ICMP) } else { (LONGEST6, v6::LENGTH, ICMP6) };
        let quoted = packet.len().min(longest - header - Icmp::LENGTH);
        let mut octets = vec![0; Icmp::LENGTH + quoted];
        packet.copy_to(&mut octets[Icmp::LENGTH..]);
        Icmp { icmp_type, code, checksum: 0, rest }.encode(&mut octets);
        let answer = Head {
            source,
            destination: head.source,
            protocol,
            ecn: 0,
            hops: self.config.hop_limit,
            fragment: None,
            ..*head
        };
        let mut message = M::with_headroom(crate::head::HEADROOM, &octets);
        let checksum = check(&answer, &message);
        message.advance(Icmp::LENGTH);
        message.push(&Icmp { icmp_type, code, checksum, rest });
        self.answer(cx, &answer, message, out);
    }

    /// Tells whom a packet is of whose next hop does not answer: an association, or the host for
    /// which it was forwarded.
    pub(crate) fn undelivered(&mut self, cx: &Context, mut packet: M, out: Out<'_, M>) {
        cx.dropped(NAME, "a packet whose next hop does not answer");
        let Ok(head) = Head::read(&mut packet) else { return };
        if owner(&self.links, u16::MAX, head.source) != Owner::Own {
            let Some((by, _)) = self.routes.resolve(head.source) else { return };
            return self.fault(cx, by, &head, packet, Fault::Unreachable, out);
        }
        let Some((key, .., quoted)) = quoted(&mut packet) else { return };
        let Some(association) = self.table.resolve(&key) else { return };
        let Some(open) = self.above.get(association) else { return };
        let (by, what) = (open.local_participant(), Trouble::Unreachable);
        out.indicate(DatagramsIndication::Reported { association, by, what, quoted });
    }

    /// Returns whether anybody may be told what is wrong with a packet: never about an error, a
    /// fragment but the first, what came to several hosts, or from none.
    fn may_tell(&self, by: u16, head: &Head, packet: &mut M, fault: Fault) -> bool {
        let mut head = *head;
        if head.is_extended() && v6::read_chain(packet, &mut head).is_err() {
            // Only what is wrong with this very chain can be said of it.
            return matches!(fault, Fault::Problem { .. })
                && is_host(head.source)
                && (!is_group(head.destination) || fault.concerns_groups());
        }
        let is_first = head.fragment.is_none_or(|fragment| fragment.offset == 0);
        let is_of_one = is_host(head.source) && owner(&self.links, by, head.source) == Owner::Other;
        let to_one = owner(&self.links, by, head.destination) != Owner::Several;
        let at = usize::from(head.length);
        let is_about_error = match head.protocol {
            ICMP | ICMP6 => packet.front(at + 1).is_none_or(|front| is_error(&head, front[at])),
            _ => false,
        };
        is_first
            && is_of_one
            && !is_about_error
            && (to_one || head.source.is_ipv6() && fault.concerns_groups())
    }
}

/// Writes a whole ICMP check into a message of ours, at its second word.
pub(crate) fn write_check<M: Message>(head: &Head, message: &mut M) {
    let Some(Ok(front)) = message.front(Icmp::LENGTH).map(Icmp::decode) else { return };
    message.advance(Icmp::LENGTH);
    message.push(&Icmp { checksum: 0, ..front.clone() });
    let checksum = check(head, message);
    message.advance(Icmp::LENGTH);
    message.push(&Icmp { checksum, ..front });
}

/// Completes the check of a TCP or UDP message that holds the sum of its pseudo-header alone: what
/// a driver would have done that does not see it.
pub(crate) fn complete_check<M: Message>(head: &Head, message: &mut M) {
    use crate::head::{TCP, UDP};
    let at = match head.protocol {
        TCP => 16,
        UDP => 6,
        _ => return,
    };
    let octets = message.len() as u32;
    let sum = stackwright_wire::internet::pseudo_header(
        head.source,
        head.destination,
        head.protocol,
        octets,
    );
    let Some(front) = message.front(at + 2) else { return };
    if front[at..] != sum.to_be_bytes() {
        return;
    }
    let mut octets = [0; 18];
    octets[..at + 2].copy_from_slice(front);
    let mut check = Internet::new();
    message.each(|piece| check.add(piece));
    // A check of 0 says that there is none (RFC 768).
    let value = if check.value() == 0 && head.protocol == UDP { 0xffff } else { check.value() };
    octets[at..at + 2].copy_from_slice(&value.to_be_bytes());
    message.advance(at + 2);
    message.push_front(at + 2).copy_from_slice(&octets[..at + 2]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_limited_to_one_peer_and_to_all() {
        let (mut limiter, mut now) = (Limiter::new(1), Instant::START);
        let peer = |number: u32| IpAddr::V4(number.into());
        let sent =
            |limiter: &mut Limiter, now| (0..50).filter(|_| limiter.may(now, peer(9))).count();
        assert_eq!(sent(&mut limiter, now), 10);
        now = now.later(ONE / 2);
        assert_eq!(sent(&mut limiter, now), 5);
        now = now.later(ONE);
        let many = (0..100_000).filter(|number| limiter.may(now, peer(*number))).count();
        assert_eq!(many, 100, "forged sources share one bucket");
    }
}
