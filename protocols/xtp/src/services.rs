//! The services, each a configuration of the engine (XTP's report §2; XTP 4.0 numbers them).

use stackwright_contract::services::{Datagrams, MessageProperties, Streams, Transfer};
use stackwright_contract::{Guarantees, Participant};
use stackwright_policies::{
    acknowledgement, congestion, connection, flow, framing, inquiry, integrity, lifetime, ordering,
    rate, recovery, rtt,
};
use stackwright_transport::words::{Nanoseconds, SECOND};
use stackwright_transport::{Configuration, Policies, Slots, configuration};
use stackwright_wire::Message;

use crate::config::Config;
use crate::format::{self, Terms, Xtp4};
use crate::header::XtpOptions;
use crate::key::ContextKey;

/// A service: what an association promises.
pub trait XtpService: Sized + 'static {
    /// Its name in stacks.
    const NAME: &'static str;
    /// Its number in the traffic specifier.
    const NUMBER: u8;
    /// What it promises, for the rule book of stacks.
    const GIVES: Guarantees;
    /// Whether every packet of data opens until the peer has answered: nothing is sent again.
    const OPENS_ALWAYS: bool = false;
    /// Whether the peer answers.
    const ANSWERED: bool = true;
    /// Whether all messages have a number: nothing is sent again, and a message is known to begin.
    const NUMBERS: bool = false;
    /// Whether the sides tell each other how fast they send and take data.
    const TERMS: bool = false;
    /// XtpOptions that all its packets bear.
    const OPTIONS: XtpOptions = XtpOptions::NONE;
    /// What it offers to the layer above.
    type Transfer<M: Message>: Transfer<Message = M, Properties: From<MessageProperties> + Into<MessageProperties>>;
    /// Its policies.
    type Configuration<M: Message>: Configuration<Message = M, Format = Xtp4<M>>;

    /// Makes the policies of one context.
    fn slots<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Self::Configuration<M>>;
}

/// Makes the policies of a context with the key `own`; the side that opens has one. The peer's key
/// is known where the peer opened.
pub fn context<M: Message, S: XtpService>(
    config: &Config,
    own: Option<ContextKey>,
    peer: Option<u64>,
    remote: Participant,
) -> Slots<S::Configuration<M>> {
    let terms = Terms {
        service: S::NUMBER,
        packet: usize::from(config.packet),
        longest: if S::Transfer::<M>::MESSAGES { config.longest } else { usize::MAX },
        options: S::OPTIONS.with(XtpOptions::NOCHECK.when(!config.checks_data)),
        opens_always: S::OPENS_ALWAYS,
        is_answered: S::ANSWERED,
        numbers: S::NUMBERS,
        sync: config.sync,
        sends: S::TERMS.then_some(config.sends),
    };
    let there = format::place(remote);
    let format = Xtp4::new(terms, own, peer, (config.local, there));
    S::slots(format, config)
}

/// Messages, all, once, in order (Connection).
#[derive(Debug)]
pub enum Connection {}

/// A stream of octets, with congestion control, which the report has not. It is a Connection to the
/// peer.
#[derive(Debug)]
pub enum Stream {}

/// A request and its answer, as one association: each side says one thing
/// (Transaction).
#[derive(Debug)]
pub enum Transaction {}

/// Datagrams that are acknowledged, and sent again until they are; an association is a datagram, or
/// a few (AckDgram).
#[derive(Debug)]
pub enum AcknowledgedDatagram {}

/// Datagrams that nobody acknowledges (UnackDgram).
#[derive(Debug)]
pub enum UnacknowledgedDatagram {}

/// A stream of octets of which no more is on its way than the receiver has buffers for, at a rate
/// that both sides agree on (BulkData). It is a Connection to the peer.
#[derive(Debug)]
pub enum BulkData {}

/// Messages at a rate that both sides agree on; what is lost is not sent again (IsoStream).
#[derive(Debug)]
pub enum IsochronousStream {}

configuration! {
    /// Messages: a Connection, a Transaction, acknowledged datagrams.
    pub Messages<M> {
        Format: Xtp4<M>,
        Ordering: ordering::Total<M>,
        Framing: framing::MessageEnd<M>,
        Integrity: integrity::Internet,
        Connection: connection::Implicit,
        Acknowledgement: acknowledgement::GapAtOnce<acknowledgement::OnRequest<true>>,
        Inquiry: inquiry::KeepAlive<inquiry::WindowEnd>,
        Recovery: recovery::SelectiveRepeat,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::Absent,
        Rate: rate::Absent,
        Lifetime: lifetime::Absent,
    }
}

configuration! {
    /// A stream of octets over a path that others use, too.
    pub Octets<M> {
        Format: Xtp4<M>,
        Ordering: ordering::Total<M>,
        Framing: framing::OctetStream,
        Integrity: integrity::Internet,
        Connection: connection::Implicit,
        Acknowledgement: acknowledgement::GapAtOnce<acknowledgement::OnRequest<true>>,
        Inquiry: inquiry::KeepAlive<inquiry::WindowEnd>,
        Recovery: recovery::SelectiveRepeat,
        Rtt: rtt::Rfc6298,
        Flow: flow::CreditWindow,
        Congestion: congestion::Cubic,
        Rate: rate::PacedByCongestion,
        Lifetime: lifetime::Absent,
    }
}

configuration! {
    /// Datagrams that nobody acknowledges.
    pub Unacknowledged<M> {
        Format: Xtp4<M>,
        Ordering: ordering::Sequenced,
        Framing: framing::MessageEnd<M>,
        Integrity: integrity::Internet,
        Connection: connection::Unanswered,
        Acknowledgement: acknowledgement::Absent,
        Inquiry: inquiry::Absent,
        Recovery: recovery::Absent,
        Rtt: rtt::Fixed,
        Flow: flow::Bounded,
        Congestion: congestion::Absent,
        Rate: rate::Absent,
        Lifetime: lifetime::Absent,
    }
}

configuration! {
    /// A stream of octets into the buffers of the receiver.
    pub Bulk<M> {
        Format: Xtp4<M>,
        Ordering: ordering::Total<M>,
        Framing: framing::OctetStream,
        Integrity: integrity::Internet,
        Connection: connection::Implicit,
        Acknowledgement: acknowledgement::GapAtOnce<acknowledgement::OnRequest<true>>,
        Inquiry: inquiry::KeepAlive<inquiry::WindowEnd>,
        Recovery: recovery::SelectiveRepeat,
        Rtt: rtt::Rfc6298,
        Flow: flow::Posted,
        Congestion: congestion::Absent,
        Rate: rate::PacedByTerms,
        Lifetime: lifetime::Absent,
    }
}

configuration! {
    /// Messages at a rate, of which some are lost.
    pub Isochronous<M> {
        Format: Xtp4<M>,
        Ordering: ordering::Sequenced,
        Framing: framing::MessageEnd<M>,
        Integrity: integrity::Internet,
        Connection: connection::Implicit,
        Acknowledgement: acknowledgement::OnRequest<false>,
        Inquiry: inquiry::KeepAlive<inquiry::Polls>,
        Recovery: recovery::Absent,
        Rtt: rtt::Rfc6298,
        Flow: flow::Bounded,
        Congestion: congestion::Absent,
        Rate: rate::PacedByTerms,
        Lifetime: lifetime::Absent,
    }
}

/// How many times a stream that heeds the network asks in a flight, and after how many packets at
/// the soonest: as often as TCP acknowledges.
const ASKED_EACH_FLIGHT: u64 = 8;
const ASKED_AFTER: u64 = 2;

/// How many octets may leave before the peer has told what it has buffers for.
const UNPOSTED: u64 = 16 << 10;

/// How often the peer of an isochronous stream is asked what it has.
const POLLED: Nanoseconds = SECOND;

/// The policies that all services with answers have, but for the framing.
macro_rules! answered {
    ($format:expr, $config:expr, $framing:expr, $connection:expr) => {
        answered!(
            $format,
            $config,
            $framing,
            $connection,
            flow::CreditWindow::new(u64::from($config.window)).asked_about(),
            rate::Absent
        )
    };
    ($format:expr, $config:expr, $framing:expr, $connection:expr, $flow:expr, $rate:expr) => {
        answered!(
            $format,
            $config,
            $framing,
            $connection,
            $flow,
            $rate,
            congestion::Absent,
            inquiry::WindowEnd::new($config.retries, u64::from($config.window / 2)),
            recovery::SelectiveRepeat::new()
        )
    };
    (
        $format:expr, $config:expr, $framing:expr, $connection:expr, $flow:expr, $rate:expr,
        $congestion:expr, $asks:expr, $recovery:expr
    ) => {{
        let config: &Config = $config;
        Slots::from(Policies {
            format: $format,
            ordering: ordering::Total::new(),
            framing: $framing,
            integrity: integrity::Internet::new(),
            connection: $connection,
            acknowledgement: acknowledgement::GapAtOnce::new(
                acknowledgement::OnRequest::<true>::new(),
            ),
            inquiry: inquiry::KeepAlive::new($asks, config.keepalive, config.silence),
            recovery: $recovery,
            rtt: rtt::Rfc6298::new(
                rtt::SampleSource::Answers,
                config.timeout_first,
                config.timeout_least,
            ),
            flow: $flow,
            congestion: $congestion,
            rate: $rate,
            lifetime: lifetime::Absent,
        })
    }};
}

const RELIABLE: Guarantees = Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE);

impl XtpService for Connection {
    const NAME: &'static str = "xtp connection";
    const NUMBER: u8 = 4;
    const GIVES: Guarantees = RELIABLE;
    type Transfer<M: Message> = Datagrams<M>;
    type Configuration<M: Message> = Messages<M>;

    fn slots<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Messages<M>> {
        let connection = connection::Implicit::new(config.linger).validating();
        answered!(format, config, framing::MessageEnd::new(config.longest), connection)
    }
}

impl XtpService for Stream {
    const NAME: &'static str = "xtp";
    const NUMBER: u8 = 4;
    const GIVES: Guarantees = RELIABLE;
    type Transfer<M: Message> = Streams<M>;
    type Configuration<M: Message> = Octets<M>;

    fn slots<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Octets<M>> {
        let connection = connection::Implicit::new(config.linger).validating();
        let (packet, window) = (u64::from(config.packet), u64::from(config.window));
        let flow = flow::CreditWindow::new(window).asked_about();
        let congestion = congestion::Cubic::new(packet);
        let (framing, rate) = (framing::OctetStream, rate::PacedByCongestion::new());
        let asks = inquiry::WindowEnd::new(config.retries, window / 2)
            .each_flight(ASKED_EACH_FLIGHT, ASKED_AFTER * packet);
        // Where packets overtake each other, a gap is no loss yet: the window would shrink for it.
        let recovery = recovery::SelectiveRepeat::new().reordering(Some(3));
        answered!(format, config, framing, connection, flow, rate, congestion, asks, recovery)
    }
}

impl XtpService for Transaction {
    const NAME: &'static str = "xtp transaction";
    const NUMBER: u8 = 3;
    const GIVES: Guarantees = RELIABLE;
    type Transfer<M: Message> = Datagrams<M>;
    type Configuration<M: Message> = Messages<M>;

    fn slots<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Messages<M>> {
        let connection = connection::Implicit::new(config.linger).validating().single();
        answered!(format, config, framing::MessageEnd::new(config.longest), connection)
    }
}

impl XtpService for AcknowledgedDatagram {
    const NAME: &'static str = "xtp acknowledged";
    const NUMBER: u8 = 2;
    const GIVES: Guarantees = RELIABLE;
    type Transfer<M: Message> = Datagrams<M>;
    type Configuration<M: Message> = Messages<M>;

    fn slots<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Messages<M>> {
        let connection = connection::Implicit::new(config.linger).validating();
        answered!(format, config, framing::MessageEnd::new(config.longest), connection)
    }
}

impl XtpService for UnacknowledgedDatagram {
    const NAME: &'static str = "xtp unacknowledged";
    const NUMBER: u8 = 1;
    const GIVES: Guarantees = Guarantees::CHECKED;
    const OPENS_ALWAYS: bool = true;
    const ANSWERED: bool = false;
    const OPTIONS: XtpOptions = XtpOptions::NOERR.with(XtpOptions::NOFLOW);
    type Transfer<M: Message> = Datagrams<M>;
    type Configuration<M: Message> = Unacknowledged<M>;

    fn slots<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Unacknowledged<M>> {
        Slots::from(Policies {
            format,
            ordering: ordering::Sequenced::default(),
            framing: framing::MessageEnd::new(config.longest),
            integrity: integrity::Internet::new(),
            connection: connection::Unanswered::new(config.silence),
            acknowledgement: acknowledgement::Absent,
            inquiry: inquiry::Absent,
            recovery: recovery::Absent,
            rtt: rtt::Fixed(config.timeout_first),
            flow: flow::Bounded::new(u64::from(config.window)),
            congestion: congestion::Absent,
            rate: rate::Absent,
            lifetime: lifetime::Absent,
        })
    }
}

impl XtpService for BulkData {
    const NAME: &'static str = "xtp bulk";
    const NUMBER: u8 = 4;
    const GIVES: Guarantees = RELIABLE;
    const TERMS: bool = true;
    const OPTIONS: XtpOptions = XtpOptions::RES;
    type Transfer<M: Message> = Streams<M>;
    type Configuration<M: Message> = Bulk<M>;

    fn slots<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Bulk<M>> {
        let connection = connection::Implicit::new(config.linger).validating();
        let rate = rate::PacedByTerms::new(config.sends, config.takes);
        let flow = flow::Posted::new(UNPOSTED, config.packet.into()).asked_about();
        answered!(format, config, framing::OctetStream, connection, flow, rate)
    }
}

impl XtpService for IsochronousStream {
    const NAME: &'static str = "xtp isochronous";
    // 4.0 has no number for it: *unspecified*.
    const NUMBER: u8 = 0;
    const GIVES: Guarantees = Guarantees::ORDERED.and(Guarantees::ONCE).and(Guarantees::CHECKED);
    const OPENS_ALWAYS: bool = true;
    const NUMBERS: bool = true;
    const TERMS: bool = true;
    const OPTIONS: XtpOptions = XtpOptions::NOERR.with(XtpOptions::NOFLOW);
    type Transfer<M: Message> = Datagrams<M>;
    type Configuration<M: Message> = Isochronous<M>;

    fn slots<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Isochronous<M>> {
        Slots::from(Policies {
            format,
            ordering: ordering::Sequenced::default(),
            framing: framing::MessageEnd::new(config.longest).numbering(),
            integrity: integrity::Internet::new(),
            connection: connection::Implicit::new(config.linger).validating(),
            acknowledgement: acknowledgement::OnRequest::new(),
            inquiry: inquiry::KeepAlive::new(
                inquiry::Polls::new(POLLED, u32::MAX, config.silence),
                config.keepalive,
                config.silence,
            ),
            recovery: recovery::Absent,
            rtt: rtt::Rfc6298::new(
                rtt::SampleSource::Answers,
                config.timeout_first,
                config.timeout_least,
            ),
            flow: flow::Bounded::new(u64::from(config.window)),
            congestion: congestion::Absent,
            rate: rate::PacedByTerms::new(config.sends, config.takes),
            lifetime: lifetime::Absent,
        })
    }
}
