//! What can be chosen of ARTP, and its configuration.

use alloc::boxed::Box;
use core::fmt;
use core::str::FromStr;

use stackwright_contract::services::Credit;
use stackwright_policies::{
    acknowledgement, congestion, connection, flow, inquiry, integrity, lifetime, ordering, rate,
    recovery, rtt,
};
use stackwright_transport::words::{MILLISECOND, Nanoseconds, SECOND};
use stackwright_transport::{Limits, Policies, Slots, configuration};
use stackwright_wire::Message;

use crate::message::Messages;
use crate::protection::Protection;
use crate::state::{Format, Secrets};

/// What can be chosen. What [`Config::new`] chooses suits the Internet and local networks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// The longest packet, header included, in octets: 191 … 65507. Beyond 1200, packets are so
    /// long where the way to the peer has answered to one when the session opened (RFC 8899), and
    /// else have 1200; so they have where it is found out later that the way takes long ones no
    /// more.
    pub packet: u16,
    /// How many packets may be on their way, and how many are kept for an application that does not
    /// read.
    pub window: u32,
    /// The longest datagram that is taken, in octets, rounded down to 65536 (but at least that);
    /// `usize::MAX`: any. A peer can make this end reserve four times as much and a window of
    /// packets for datagrams that are not whole, one of the longest more before the session ends,
    /// and 64 packets that came in part.
    pub longest: usize,
    /// What all sessions of the layer may hold together of datagrams that are not whole. A request
    /// is refused when there is not what each session has to itself.
    pub limits: Limits,
    /// How much may be on its way down: the send buffer.
    pub send: Credit,
    /// How many octets of packets that leave together are written one behind the other, at most: a
    /// driver that finds them so sends them by one system call, and nobody copies them once more.
    /// 0: each has memory of its own.
    pub run: usize,
    /// How long numbers are gathered before they are acknowledged.
    pub gather: Nanoseconds,
    /// How many numbers are acknowledged at once, at most: of short packets. Who only receives
    /// never measured the way, and waits for 2 at most.
    pub gather_most: u64,
    /// How many full packets are acknowledged at once, or more that hold as much.
    pub gather_full: u32,
    /// How long the first answer is waited for.
    pub timeout_first: Nanoseconds,
    /// How often a session is asked for before the peer is believed not to be there, and how often
    /// who asked confirms it.
    pub tries: u32,
    /// How much longer than the round trip an acknowledgement is waited for at least, unless others
    /// tell that a packet is lost: the peer may [gather](Config::gather), and a steady path has
    /// jitter all the same.
    pub timeout_least: Nanoseconds,
    /// The peer is dead when no acknowledgement arrived for this long while one is owed, or for
    /// three round trips with four times their variation, whichever is longer; but with fewer than
    /// eight timeouts in a row, which take 255 times the first, that is three times as long.
    pub silence: Nanoseconds,
    /// After so long without a word from the peer he is asked whether he is there; `None`: never,
    /// as in the document. Then nobody notices that he is gone who has nothing to send.
    pub keepalive: Option<Nanoseconds>,
    /// How many packets may overtake one that is not lost; `None`: only time tells, as in the
    /// document.
    pub reordering: Option<u64>,
    /// Acknowledgements name ranges where the peer knows them.
    pub ranges: bool,
    /// Datagrams may have more than 65535 fragments where the peer knows how.
    pub large: bool,
    /// Where the way takes long packets no more, those that were made leave in parts, if the peer
    /// knows how. Else nothing is heard of them any more, and the session ends by silence.
    pub parts: bool,
    /// A datagram that fits into one packet, and that nothing protects, takes eight octets less
    /// where the peer knows how.
    pub single: bool,
    /// Datagrams may expire, as their senders wish, where the peer says so too; else that wish is
    /// let go.
    pub expires: bool,
    /// Routers may mark packets where there is congestion, and need not drop them (RFC 3168), if
    /// the peer says so too.
    pub ecn: bool,
    /// What time of day it was at the start of time, in microseconds since 1970.
    pub epoch: u64,
    /// What a stranger must not know: random octets, drawn anew at each start. Salts follow from
    /// it, and keys from these.
    pub secret: [u8; 16],
    /// What bounds what is on its way: CUBIC by default.
    pub congestion: Congestion,
    /// What protects datagrams.
    pub protection: Protection,
    /// How many sessions may be half open before strangers have to show that they hear us.
    pub half_open_most: usize,
    /// The first packet number, for tests.
    pub first: Option<u32>,
}

impl Config {
    /// The default of all but `secret`, of which there can be none.
    pub const fn new(secret: [u8; 16]) -> Self {
        Config {
            packet: 1200,
            window: 4096,
            longest: 16 << 20,
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
            keepalive: None,
            reordering: Some(3),
            ranges: true,
            large: true,
            parts: true,
            single: true,
            expires: false,
            ecn: true,
            epoch: 0,
            secret,
            congestion: Congestion::Cubic,
            protection: Protection::Absent,
            half_open_most: 64,
            first: None,
        }
    }
}

/// What bounds what is on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Congestion {
    /// As the document says (§1.4.5): no slow start, a packet more each round trip, half with a
    /// loss. A fast and long path is not filled in minutes: 100 Mb/s with 200 ms there and back
    /// takes seven.
    Document,
    /// RFC 6582: a slow start, and else the same.
    NewReno,
    /// RFC 9438: finds a fast path soon, and shares it with TCP as it is today.
    #[default]
    Cubic,
    /// draft-ietf-ccwg-bbr: measures the path, so that what is lost by nature costs no more than
    /// what is lost.
    Bbr,
}

impl FromStr for Congestion {
    type Err = ();

    /// `document`, `new-reno`, `cubic` or `bbr`.
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
    /// As [`from_str`](Self::from_str) reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Congestion::Document => "document",
            Congestion::NewReno => "new-reno",
            Congestion::Cubic => "cubic",
            Congestion::Bbr => "bbr",
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
        }
    }
}

configuration! {
    /// ARTP as the document describes it: each packet acknowledged by itself, sent again by itself,
    /// delivered as it comes.
    pub Artp<M> {
        Format: Format<M>,
        Ordering: ordering::Absent,
        Framing: Messages<M>,
        Integrity: integrity::Absent,
        Connection: connection::TwoStage,
        Acknowledgement: acknowledgement::PeriodicList,
        Inquiry: inquiry::Absent,
        Recovery: recovery::IndividualTimeout,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::OneOf,
        Rate: rate::PacedByCongestion,
        Lifetime: lifetime::Timestamps,
    }
}

/// The policies of one session.
pub fn policies<M: Message>(session: u8, config: &Config, secrets: Secrets) -> Slots<Artp<M>> {
    let window = u64::from(config.window);
    Slots::from(Policies {
        format: Format::new(session, config, secrets),
        ordering: ordering::Absent,
        framing: Messages::new(config),
        integrity: integrity::Absent,
        connection: connection::TwoStage::new(config.timeout_first)
            .tries(config.tries)
            .keepalive(config.keepalive),
        acknowledgement: acknowledgement::PeriodicList::new(
            config.gather,
            config.gather_most.min((window / 4).max(2)),
        )
        .full(config.gather_full),
        inquiry: inquiry::Absent,
        recovery: recovery::IndividualTimeout::new(config.silence).reordering(config.reordering),
        rtt: rtt::Rfc6298::new(
            rtt::SampleSource::Units,
            config.timeout_first,
            config.timeout_least,
        ),
        flow: flow::CreditWindow::new(window),
        congestion: config.congestion.policy(config.packet),
        rate: rate::PacedByCongestion::new(),
        lifetime: lifetime::Timestamps::new(config.epoch),
    })
}
