//! The services, each a configuration of the engine (XTP's report §2; XTP 4.0 numbers them).

use core::convert::Infallible;

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
    type Transfer<M: Message>: Transfer<
            Message = M,
            Order = Infallible,
            Properties: From<MessageProperties> + Into<MessageProperties>,
        >;
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

const RELIABLE: Guarantees = Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE);
const SEQUENCED: Guarantees = Guarantees::ORDERED.and(Guarantees::ONCE).and(Guarantees::CHECKED);
const CHECKED: Guarantees = Guarantees::CHECKED;
const UNTOLD: XtpOptions = XtpOptions::NOERR.with(XtpOptions::NOFLOW);

/// One row a service: its name, its number, what it promises and offers, its policies and the
/// function that makes them; then what it has otherwise than most.
macro_rules! services {
    ($(
        $(#[$doc:meta])*
        $Service:ident: $name:literal, $number:literal, $gives:ident, $Transfer:ident,
        $Configuration:ident = $slots:ident $(, $constant:ident: $Type:ty = $value:expr)*;
    )*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub enum $Service {}

        impl XtpService for $Service {
            const NAME: &'static str = $name;
            const NUMBER: u8 = $number;
            const GIVES: Guarantees = $gives;
            $(const $constant: $Type = $value;)*
            type Transfer<M: Message> = $Transfer<M>;
            type Configuration<M: Message> = $Configuration<M>;

            fn slots<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<$Configuration<M>> {
                $slots(format, config)
            }
        }
    )*};
}

services! {
    /// Messages, all, once, in order (Connection).
    Connection: "xtp connection", 4, RELIABLE, Datagrams, Messages = messages;

    /// A stream of octets, with congestion control, which the report has not. It is a Connection to
    /// the peer.
    Stream: "xtp", 4, RELIABLE, Streams, Octets = octets;

    /// A request and its answer, as one association: each side says one thing
    /// (Transaction).
    Transaction: "xtp transaction", 3, RELIABLE, Datagrams, Messages = single;

    /// Datagrams that are acknowledged, and sent again until they are; an association is a
    /// datagram, or a few (AckDgram).
    AcknowledgedDatagram: "xtp acknowledged", 2, RELIABLE, Datagrams, Messages = messages;

    /// Datagrams that nobody acknowledges (UnackDgram).
    UnacknowledgedDatagram: "xtp unacknowledged", 1, CHECKED, Datagrams, Unacknowledged
        = unacknowledged,
        OPENS_ALWAYS: bool = true,
        ANSWERED: bool = false,
        OPTIONS: XtpOptions = UNTOLD;

    /// A stream of octets of which no more is on its way than the receiver has buffers for, at a
    /// rate that both sides agree on (BulkData). It is a Connection to the peer.
    BulkData: "xtp bulk", 4, RELIABLE, Streams, Bulk = bulk,
        TERMS: bool = true,
        OPTIONS: XtpOptions = XtpOptions::RES;

    /// Messages at a rate that both sides agree on; what is lost is not sent again (IsoStream).
    /// 4.0 has no number for it: *unspecified*.
    IsochronousStream: "xtp isochronous", 0, SEQUENCED, Datagrams, Isochronous = isochronous,
        OPENS_ALWAYS: bool = true,
        NUMBERS: bool = true,
        TERMS: bool = true,
        OPTIONS: XtpOptions = UNTOLD;
}

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
    pub Octets<M> like Messages {
        Framing: framing::OctetStream,
        Congestion: congestion::Cubic,
        Rate: rate::PacedByCongestion,
    }
}

configuration! {
    /// Datagrams that nobody acknowledges.
    pub Unacknowledged<M> like Messages {
        Ordering: ordering::Sequenced,
        Connection: connection::Unanswered,
        Acknowledgement: acknowledgement::Absent,
        Inquiry: inquiry::Absent,
        Recovery: recovery::Absent,
        Rtt: rtt::Fixed,
        Flow: flow::Bounded,
    }
}

configuration! {
    /// A stream of octets into the buffers of the receiver.
    pub Bulk<M> like Messages {
        Framing: framing::OctetStream,
        Flow: flow::Posted,
        Rate: rate::PacedByTerms,
    }
}

configuration! {
    /// Messages at a rate, of which some are lost.
    pub Isochronous<M> like Messages {
        Ordering: ordering::Sequenced,
        Acknowledgement: acknowledgement::OnRequest<false>,
        Inquiry: inquiry::KeepAlive<inquiry::Polls>,
        Recovery: recovery::Absent,
        Flow: flow::Bounded,
        Rate: rate::PacedByTerms,
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

fn implicit(config: &Config) -> connection::Implicit {
    connection::Implicit::new(config.linger).validating()
}

fn credit(config: &Config) -> flow::CreditWindow {
    flow::CreditWindow::new(config.window.into()).asked_about()
}

fn asks(config: &Config) -> inquiry::WindowEnd {
    inquiry::WindowEnd::new(config.retries, u64::from(config.window / 2))
}

fn samples(config: &Config) -> rtt::Rfc6298 {
    rtt::Rfc6298::new(rtt::SampleSource::Answers, config.timeout_first, config.timeout_least)
}

/// Makes the policies of a service all of whose octets arrive; what is not given, they share.
fn reliable<M: Message, C>(
    format: Xtp4<M>,
    config: &Config,
    connection: connection::Implicit,
    (asks, recovery): (inquiry::WindowEnd, recovery::SelectiveRepeat),
    framing: C::Framing,
    (flow, congestion, rate): (C::Flow, C::Congestion, C::Rate),
) -> Slots<C>
where
    C: Configuration<
            Message = M,
            Format = Xtp4<M>,
            Ordering = ordering::Total<M>,
            Integrity = integrity::Internet,
            Connection = connection::Implicit,
            Acknowledgement = acknowledgement::GapAtOnce<acknowledgement::OnRequest<true>>,
            Inquiry = inquiry::KeepAlive<inquiry::WindowEnd>,
            Recovery = recovery::SelectiveRepeat,
            Rtt = rtt::Rfc6298,
            Lifetime = lifetime::Absent,
        >,
{
    Slots::from(Policies {
        format,
        ordering: ordering::Total::new(),
        framing,
        integrity: integrity::Internet::new(),
        connection,
        acknowledgement: acknowledgement::GapAtOnce::new(acknowledgement::OnRequest::new()),
        inquiry: inquiry::KeepAlive::new(asks, config.keepalive, config.silence),
        recovery,
        rtt: samples(config),
        flow,
        congestion,
        rate,
        lifetime: lifetime::Absent,
    })
}

fn messages<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Messages<M>> {
    messages_over(format, config, implicit(config))
}

fn single<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Messages<M>> {
    messages_over(format, config, implicit(config).single())
}

fn messages_over<M: Message>(
    format: Xtp4<M>,
    config: &Config,
    connection: connection::Implicit,
) -> Slots<Messages<M>> {
    let insists = (asks(config), recovery::SelectiveRepeat::new());
    let framing = framing::MessageEnd::new(config.longest);
    let sends = (credit(config), congestion::Absent, rate::Absent);
    reliable(format, config, connection, insists, framing, sends)
}

fn octets<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Octets<M>> {
    let packet = u64::from(config.packet);
    let asks = asks(config).each_flight(ASKED_EACH_FLIGHT, ASKED_AFTER * packet);
    // Where packets overtake each other, a gap is no loss yet: the window would shrink for it.
    let insists = (asks, recovery::SelectiveRepeat::new().reordering(Some(3)));
    let sends = (credit(config), congestion::Cubic::new(packet), rate::PacedByCongestion::new());
    reliable(format, config, implicit(config), insists, framing::OctetStream, sends)
}

fn bulk<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Bulk<M>> {
    let insists = (asks(config), recovery::SelectiveRepeat::new());
    let flow = flow::Posted::new(UNPOSTED, config.packet.into()).asked_about();
    let rate = rate::PacedByTerms::new(config.sends, config.takes);
    let sends = (flow, congestion::Absent, rate);
    reliable(format, config, implicit(config), insists, framing::OctetStream, sends)
}

fn unacknowledged<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Unacknowledged<M>> {
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

fn isochronous<M: Message>(format: Xtp4<M>, config: &Config) -> Slots<Isochronous<M>> {
    let polls = inquiry::Polls::new(POLLED, u32::MAX, config.silence);
    Slots::from(Policies {
        format,
        ordering: ordering::Sequenced::default(),
        framing: framing::MessageEnd::new(config.longest).numbering(),
        integrity: integrity::Internet::new(),
        connection: implicit(config),
        acknowledgement: acknowledgement::OnRequest::new(),
        inquiry: inquiry::KeepAlive::new(polls, config.keepalive, config.silence),
        recovery: recovery::Absent,
        rtt: samples(config),
        flow: flow::Bounded::new(u64::from(config.window)),
        congestion: congestion::Absent,
        rate: rate::PacedByTerms::new(config.sends, config.takes),
        lifetime: lifetime::Absent,
    })
}
