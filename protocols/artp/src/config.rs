//! The configuration of ARTP.

use alloc::boxed::Box;
use core::fmt;
use core::ptr::fn_addr_eq;
use core::str::FromStr;

use stackwright_contract::services::Credit;
use stackwright_policies::{
    acknowledgement, congestion, connection, flow, inquiry, integrity, lifetime, ordering, rate,
    recovery, rtt,
};
use stackwright_transport::words::{MILLISECOND, Nanoseconds, SECOND};
use stackwright_transport::{Limits, Policies, Slots, configuration, slots};
use stackwright_wire::Message;

use crate::message::Messages;
use crate::protection::Protection;
use crate::state::{Format, Secrets};

/// The packets of the window at first.
pub(crate) const WINDOW_FIRST: u32 = 4096;

/// The settings of ARTP. The defaults of [`Config::new`] suit the Internet and local networks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The longest packet, header included, in octets: 191 … 65507. Packets are longer than 1200
    /// octets only if the path to the peer has passed one of this length when the session opened
    /// (RFC 8899); otherwise, and where the path is later found to drop long packets, they have at
    /// most 1200; at most 548 or 256 where it drops these as well.
    pub packet: u16,
    /// How many packets may be in flight, and how many are kept for an application that does not
    /// read. It begins with at most 4096, and grows where the path holds as much, the application
    /// keeps up, and the [limits](Config::limits) of the layer leave memory for it: 32768 packets
    /// are twice what 100 Mb/s hold with a round trip of 1.5 s. The window of an application that
    /// was behind for four round trips is 4096 again.
    pub window: u32,
    /// The longest datagram that is accepted, in octets; `u32::MAX` or more: any that the
    /// application has room for. The shorter of this and the first credit of the layer above is
    /// proposed to the peer. For incomplete datagrams a peer can make this end reserve four times
    /// as much and a window of packets, plus one datagram of the longest before the session ends,
    /// and 64 packets that arrived in part.
    pub longest: usize,
    /// The limits that all sessions of the layer share for incomplete datagrams, and for windows of
    /// more than 4096 packets. A request is refused if the share of one session is not available.
    pub limits: Limits,
    /// The send buffer: the most that may be on its way from this side, and not acknowledged. How
    /// many octets that are grows with the path: 64 KiB, or two congestion windows and what leaves
    /// within a second, and two of the longest datagrams sent. On a slow path, ten megabytes would
    /// wait for hours. A datagram that is longer than what was ever allowed leaves when nothing is
    /// on its way.
    pub send: Credit,
    /// The most octets of packets that are written contiguously because they leave together. A
    /// driver sends such a batch by one system call, without another copy. 0: each packet has
    /// memory of its own.
    pub run: usize,
    /// How long sequence numbers are gathered before they are acknowledged.
    pub gather: Nanoseconds,
    /// The most sequence numbers that one delayed acknowledgement covers, for short packets. A side
    /// that only receives has no measured round trip, and waits for at most 2.
    pub gather_most: u64,
    /// The most full packets, or packets that hold as many octets, that one delayed acknowledgement
    /// covers.
    pub gather_full: u32,
    /// How long the first answer is waited for.
    pub timeout_first: Nanoseconds,
    /// How often a request for a session is sent before the peer is considered absent, and how
    /// often the requesting side sends its confirmation.
    pub tries: u32,
    /// The least time beyond the round trip that an acknowledgement is waited for, unless other
    /// acknowledgements show that a packet is lost: the peer may [gather](Config::gather), and a
    /// steady path has jitter as well.
    pub timeout_least: Nanoseconds,
    /// The peer is considered dead if no acknowledgement arrived for this long while one is due, or
    /// for three round trips plus four times their variation, whichever is longer. After fewer than
    /// eight consecutive timeouts, which take 255 to 319 times the first, the limit is three times
    /// as long.
    pub silence: Nanoseconds,
    /// After this time without a packet from the peer, while nothing is in flight, a probe of 36
    /// octets asks for an answer, or after two thirds of the agreed [`idle`](Config::idle) timeout;
    /// `None`: never, as in the document. It is repeated after SRTT + max(`timeout_least`, 4 ·
    /// RTTVAR), and then each time after twice the wait, until the idle timeout; without one, five
    /// probes decide, which take 31 of these, but not before three times
    /// [`silence`](Config::silence): an end that receives is as patient as one that sends. So a
    /// peer that is gone is noticed `idle` after its last packet, and an outage that is shorter by
    /// a probe's wait does no harm. Where air time costs, switch off this and
    /// [`idle`](Config::idle) at both ends.
    pub keepalive: Option<Nanoseconds>,
    /// After this time without a packet from the peer the peer is considered gone: the longest of
    /// this, of three times [`silence`](Config::silence), and of what the peer proposes, up to ten
    /// minutes, is that of both ends, in flight or not; but not before three retransmission
    /// timeouts. `None`: this end proposes nothing.
    pub idle: Option<Nanoseconds>,
    /// The packet reordering threshold: how many packets may overtake one that is not lost; `None`:
    /// only time decides, as in the document.
    pub reordering: Option<u64>,
    /// Acknowledgements name ranges if the peer supports them, and repeat them until the peer must
    /// know; otherwise they list each packet, twice at most, as in the document.
    pub ranges: bool,
    /// Datagrams may have more than 65535 fragments if the peer supports it.
    pub large: bool,
    /// Packets that were made before the path stopped passing long ones leave in parts, if the peer
    /// supports it. Otherwise they are never acknowledged, and the session ends by silence.
    pub parts: bool,
    /// A datagram that fits into one packet, and is not protected, takes eight octets less if the
    /// peer supports it.
    pub single: bool,
    /// Datagrams may expire as their senders request, if the peer supports it; otherwise the
    /// request is ignored, and an endpoint refuses it.
    pub expires: bool,
    /// Routers may mark packets on congestion instead of dropping them (RFC 3168), if the peer
    /// supports it.
    pub ecn: bool,
    /// The time of day at the start of the clock, in microseconds since 1970.
    pub epoch: u64,
    /// Random octets, drawn anew at each start, that a third party must not know. Salts are derived
    /// from them, and keys from the salts.
    pub secret: [u8; 16],
    /// The key of the [tokens](crate::header::Unknown) that show a peer that this end has lost the
    /// session. With the key of the last run, a peer notices a restart as soon as it sends
    /// anything;
    /// `None`: a random one, and it notices by silence alone. It must not be known to anyone else.
    pub reset_key: Option<[u8; 32]>,
    /// The congestion control: CUBIC by default.
    pub congestion: Congestion,
    /// The protection of datagrams.
    pub protection: Protection,
    /// How many sessions may be half open before further peers have to prove that they receive our
    /// packets.
    pub half_open_most: usize,
    /// The first sequence number, for tests.
    pub first: Option<u32>,
}

impl Config {
    /// Returns the defaults with this `secret`, for which there can be no default.
    pub const fn new(secret: [u8; 16]) -> Self {
        Config {
            packet: 1200,
            window: 1 << 15,
            longest: usize::MAX,
            limits: Limits { octets: 1 << 30, each: 16 << 10 },
            send: Credit { octets: 10 << 20, messages: 4096 },
            run: 65_507,
            gather: 50 * MILLISECOND,
            gather_most: 32,
            gather_full: 2,
            timeout_first: SECOND,
            tries: 10,
            timeout_least: 200 * MILLISECOND,
            silence: 30 * SECOND,
            keepalive: Some(10 * SECOND),
            idle: Some(30 * SECOND),
            reordering: Some(3),
            ranges: true,
            large: true,
            parts: true,
            single: true,
            expires: false,
            ecn: true,
            epoch: 0,
            secret,
            reset_key: None,
            congestion: Congestion::Cubic,
            protection: Protection::Absent,
            half_open_most: 64,
            first: None,
        }
    }
}

/// The congestion control algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Congestion {
    /// The document's (§1.4.5): no slow start, one packet more each round trip, half after a loss.
    /// It takes minutes to fill a fast and long path: seven for 100 Mb/s with a round trip of 200
    /// ms.
    Document,
    /// RFC 6582: slow start, half after a loss, two packets after a timeout.
    NewReno,
    /// RFC 9438: finds the rate of a fast path soon, and shares it with today's TCP.
    #[default]
    Cubic,
    /// draft-ietf-ccwg-bbr: models the path, so that random loss costs no more than the octets that
    /// are lost.
    Bbr,
    /// A judge of the application's own.
    Own(Judge),
}

/// A congestion judge of the application's own: what
/// [`slots::Congestion`] is implemented for, made anew
/// for each session.
///
/// ```
/// use stackwright_artp::{Congestion, Config, Judge};
/// use stackwright_transport::slots;
///
/// /// Always as many octets in flight.
/// struct Fixed(u64);
///
/// impl slots::Congestion for Fixed {
///     fn window(&self) -> u64 {
///         self.0
///     }
/// }
///
/// let judge = Judge { name: "fixed", make: |packet| Box::new(Fixed(20 * packet)) };
/// let config = Config { congestion: Congestion::Own(judge), ..Config::new([0; 16]) };
/// assert_eq!(config.congestion.to_string(), "fixed");
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Judge {
    /// Its name, for people.
    pub name: &'static str,
    /// Makes the judge of a session whose packets have at most this many octets.
    pub make: fn(packet: u64) -> Box<dyn slots::Congestion>,
}

impl PartialEq for Judge {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && fn_addr_eq(self.make, other.make)
    }
}

impl Eq for Judge {}

impl FromStr for Congestion {
    type Err = ();

    /// Reads `document`, `new-reno`, `cubic` or `bbr`.
    fn from_str(name: &str) -> Result<Self, ()> {
        match name {
            "document" => Ok(Congestion::Document),
            "new-reno" => Ok(Congestion::NewReno),
            "cubic" => Ok(Congestion::Cubic),
            "bbr" => Ok(Congestion::Bbr),
            _ => Err(()),
        }
    }
}

impl fmt::Display for Congestion {
    /// Writes the name, which [`from_str`](Self::from_str) reads unless it is that of a judge of
    /// the application's own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Congestion::Document => "document",
            Congestion::NewReno => "new-reno",
            Congestion::Cubic => "cubic",
            Congestion::Bbr => "bbr",
            Congestion::Own(judge) => judge.name,
        })
    }
}

impl Congestion {
    fn policy(self, packet: u16) -> congestion::OneOf {
        let packet = u64::from(packet);
        match self {
            Congestion::Document => congestion::OneOf::Aimd(congestion::Aimd::new(packet)),
            Congestion::NewReno => congestion::OneOf::NewReno(congestion::NewReno::new(packet)),
            Congestion::Cubic => congestion::OneOf::Cubic(congestion::Cubic::new(packet)),
            Congestion::Bbr => congestion::OneOf::Bbr(Box::new(congestion::Bbr::new(packet))),
            Congestion::Own(judge) => congestion::OneOf::Own((judge.make)(packet)),
        }
    }
}

configuration! {
    /// ARTP as the document describes it: each packet is acknowledged by itself, sent again by
    /// itself, and delivered as it arrives.
    pub Artp<M> {
        Format: Format<M>,
        Ordering: ordering::Absent,
        Framing: Messages<M>,
        Integrity: integrity::Absent,
        Connection: connection::TwoStage,
        Acknowledgement: acknowledgement::PeriodicList,
        Inquiry: inquiry::Absent,
        Recovery: recovery::RackTlp,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::OneOf,
        Rate: rate::PacedByCongestion,
        Lifetime: lifetime::Timestamps,
    }
}

impl Config {
    /// Returns for how long this end bears silence: it receives for as long as it would send.
    pub(crate) fn bears(&self) -> Option<Nanoseconds> {
        // A sender waits three times as long where few timeouts have passed.
        self.idle.map(|idle| idle.max(3 * self.silence))
    }
}

/// Makes the policies of one session.
pub fn policies<M: Message>(session: u8, config: &Config, secrets: Secrets) -> Slots<Artp<M>> {
    let window = u64::from(config.window);
    Slots::from(Policies {
        format: Format::new(session, config, secrets),
        ordering: ordering::Absent,
        framing: Messages::new(config),
        integrity: integrity::Absent,
        connection: connection::TwoStage::new(config.timeout_first)
            .tries(config.tries)
            .keepalive(config.keepalive)
            .bearing(config.silence.saturating_mul(3))
            .idle(config.bears()),
        acknowledgement: acknowledgement::PeriodicList::new(
            config.gather,
            config.gather_most.min((window / 4).max(2)),
        )
        .full(config.gather_full)
        .ranges(config.ranges)
        .first_at_once(),
        inquiry: inquiry::Absent,
        recovery: recovery::RackTlp::new(config.silence).threshold(config.reordering),
        rtt: rtt::Rfc6298::new(
            rtt::SampleSource::Units,
            config.timeout_first,
            config.timeout_least,
        ),
        flow: flow::CreditWindow::new(window.min(u64::from(WINDOW_FIRST)))
            .growing_to(window, u64::from(config.packet)),
        congestion: config.congestion.policy(config.packet),
        rate: rate::PacedByCongestion::new(),
        lifetime: lifetime::Timestamps::new(config.epoch),
    })
}
