//! The own addresses: probed, announced and defended (RFC 5227, RFC 4862 §5.4).

use core::net::IpAddr;

use stackwright_base::events::Events;
use stackwright_contract::services::{DatagramsIndication, Ended};
use stackwright_contract::{Arrivals, Context, Duration, Handle, Instant};
use stackwright_wire::Message;

use crate::version::Version;
use crate::{Above, Event, NAME, Out, Resolve, To, participant};

/// How long after a defence no other follows (RFC 5227 §2.4, DEFEND_INTERVAL).
const DEFEND_INTERVAL: Duration = Duration::from_secs(10);

/// An own address.
pub(crate) struct Own {
    pub(crate) host: IpAddr,
    stage: Stage,
    /// When it was defended last.
    defended: Option<Instant>,
    /// The association on which its link is told to be up.
    link: Option<Handle>,
}

/// What is done with an own address; the number is how many more packets that takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The link is not up.
    Waiting,
    /// Others with this address are looked for: it is tentative.
    Probing(u8),
    /// It is in use, and others are told.
    Announcing(u8),
}

impl Own {
    pub(crate) const fn new(host: IpAddr) -> Self {
        Own { host, stage: Stage::Waiting, defended: None, link: None }
    }

    /// Returns whether packets may be sent from it.
    pub(crate) const fn is_usable(&self) -> bool {
        matches!(self.stage, Stage::Announcing(_))
    }
}

impl<M: Message> Resolve<M> {
    /// Returns the own address, and its listener.
    pub(crate) fn own(&self, host: IpAddr) -> Option<(Handle, &Own)> {
        self.above.listeners().find(|(_, own)| own.host == host)
    }

    /// Returns an own address in use of the version of `host`: `wish` where that is one.
    pub(crate) fn source(&self, host: IpAddr, wish: Option<IpAddr>) -> Option<IpAddr> {
        let usable = |own: &&Own| own.is_usable() && own.host.is_ipv4() == host.is_ipv4();
        let all = || self.above.listeners().map(|(_, own)| own).filter(usable);
        let wished = all().find(|own| Some(own.host) == wish);
        wished.or_else(|| all().next()).map(|own| own.host)
    }

    /// The link came up, or has another address: addresses and associations that waited for that go
    /// on.
    pub(crate) fn go_up(&mut self, cx: &Context, out: Out<'_, M>) {
        for version in Version::BOTH {
            if !self.is_ready(version) {
                continue;
            }
            let waits = |own: &Own| own.stage == Stage::Waiting && Version::of(own.host) == version;
            let next = |above: &Arrivals<Own, Above>| {
                Some(above.listeners().find(|(_, own)| waits(own))?.0)
            };
            while let Some(listener) = next(&self.above) {
                self.probe(cx, listener, out);
            }
            self.open_waiting(version, out);
        }
    }

    /// Begins to look for others with an address: after a random time, so that hosts that start
    /// together do not ask together (RFC 5227 §2.1.1, RFC 4862 §5.4.2).
    fn probe(&mut self, cx: &Context, listener: Handle, out: Out<'_, M>) {
        let Some(own) = self.above.listener_mut(listener) else { return };
        if !self.config.probes {
            own.stage = Stage::Announcing(0);
            return self.usable(cx, listener, out);
        }
        own.stage = Stage::Probing(if own.host.is_ipv4() { 3 } else { 1 });
        let wait = cx.random(self.interval().as_nanos() as u64);
        self.timers.schedule(cx.now().later(wait), Event::Own(listener));
    }

    /// The next step of an own address is due.
    pub(crate) fn step(&mut self, cx: &Context, listener: Handle, out: Out<'_, M>) {
        let interval = self.interval();
        let Some(own) = self.above.listener_mut(listener) else { return };
        let host = own.host;
        let wait = match (own.stage, host) {
            (Stage::Waiting | Stage::Announcing(0), _) => return,
            (Stage::Probing(0), _) => {
                own.stage = Stage::Announcing(if host.is_ipv4() { 2 } else { 1 });
                self.usable(cx, listener, out);
                return self.step(cx, listener, out);
            }
            (Stage::Probing(left), host) => {
                own.stage = Stage::Probing(left - 1);
                match (host, left) {
                    // PROBE_MIN to PROBE_MAX, and ANNOUNCE_WAIT after the last.
                    (IpAddr::V4(_), 2..) => {
                        interval + Duration::from_nanos(cx.random(interval.as_nanos() as u64))
                    }
                    (IpAddr::V4(_), _) => 2 * interval,
                    (IpAddr::V6(_), _) => interval,
                }
            }
            (Stage::Announcing(left), _) => {
                own.stage = Stage::Announcing(left - 1);
                2 * interval
            }
        };
        let announces = own.is_usable();
        self.timers.schedule(cx.now() + wait, Event::Own(listener));
        match (host, announces) {
            (IpAddr::V4(host), true) => self.announce_arp(cx, host, out),
            (IpAddr::V4(host), false) => self.probe_arp(cx, host, out),
            (IpAddr::V6(host), true) => self.announce_ndp(cx, host, out),
            (IpAddr::V6(host), false) => self.probe_ndp(cx, host, out),
        }
    }

    /// Nobody else has the address.
    fn usable(&mut self, cx: &Context, listener: Handle, out: Out<'_, M>) {
        let Some(own) = self.above.listener(listener) else { return };
        cx.event(NAME, format_args!("{} is in use", own.host));
        let local = participant(own.host);
        out.indicate(DatagramsIndication::Listening { listener, local });
        self.tell_link(listener, out);
    }

    /// Opens the association of an own address that is in use, if one is awaited.
    pub(crate) fn tell_link(&mut self, listener: Handle, out: Out<'_, M>) {
        let lives = |own: &Own| own.link.is_some_and(|link| self.above.lives(link));
        let Some(own) = self.above.listener(listener) else { return };
        if !own.is_usable() || lives(own) {
            return;
        }
        let host = own.host;
        if let Some((name, credit)) = self.above.arrive(listener) {
            self.above.open(name, Above { host, to: To::Link, credit, told: true });
            if let Some(own) = self.above.listener_mut(listener) {
                own.link = Some(name);
            }
            self.tell_opened(name, out);
        }
    }

    /// Another station has the own address: a tentative one ends, and one in use is defended, at
    /// most once in ten seconds and without giving it up (RFC 5227 §2.4 (c)). IPv6 does not defend
    /// (RFC 4862 §5.4.4).
    pub(crate) fn conflict(&mut self, cx: &Context, listener: Handle, out: Out<'_, M>) {
        let Some(own) = self.above.listener_mut(listener) else { return };
        cx.event(NAME, format_args!("{} is used by another station too", own.host));
        if !own.is_usable() {
            let words = self.above.end(listener, Ended::Unavailable);
            return words.for_each(|word| out.indicate(word));
        }
        let IpAddr::V4(host) = own.host else { return };
        if own.defended.is_none_or(|at| cx.now() >= at + DEFEND_INTERVAL) {
            own.defended = Some(cx.now());
            self.announce_arp(cx, host, out);
        }
    }
}
