//! Multicast: one sends to a group, and the others receive (XTP 4.0, MULTI).
//!
//! | file | what |
//! | --- | --- |
//! | `format.rs` | words and octets of a context, on either side |
//! | `contexts.rs` | the contexts of a station |
//! | here | the services, each a configuration; what may be set |
//!
//! A context is found by the sender's key on both sides: packets of the sender bear it, and those
//! of receivers return it. All go to the group, so receivers hear each other.
//!
//! | packet | from | says |
//! | --- | --- | --- |
//! | FIRST, DATA | the sender | data; FIRST until something was acknowledged |
//! | CNTL | the sender | asks (SREQ); with END, that it is over |
//! | TCNTL | a receiver | answers, and misses nothing; with END, that it leaves |
//! | ECNTL | a receiver | answers, or tells unasked (NAK), and misses something |
//! | JCNTL | a receiver | asks to join: it has heard the sender, and no FIRST |
//! | JCNTL | the sender | a receiver that joins begins with `seq`; with EOM, a message begins there |
//! | DIAG 4, 11 | the sender | what is below `seq` is not sent again, to a receiver that misses some |
//!
//! *Chosen*: the definition is not to be had. What `seq` and EOM of JCNTL and `seq` of DIAG mean is
//! ours; and so is `sync` of what receivers send, which tells them apart: they ask nothing, and
//! each has another number there.

mod contexts;
mod format;

pub use contexts::GroupContexts;
pub use format::XtpGroup;

use core::convert::Infallible;
use core::num::NonZeroU64;

use stackwright_contract::Guarantees;
use stackwright_contract::services::{Datagrams, MessageProperties, Transfer};
use stackwright_policies::{
    acknowledgement, congestion, connection, flow, framing, inquiry, integrity, lifetime,
    membership, ordering, rate, recovery, rtt,
};
use stackwright_transport::words::{MILLISECOND, Nanoseconds};
use stackwright_transport::{
    Associations, Configuration, Policies, Slots, Transport, configuration,
};
use stackwright_wire::Message;

use crate::config::Config;
use crate::header::XtpOptions;
use crate::services::{Messages, Unacknowledged};

/// The settings of multicast services, under the names of the report's control block in
/// parentheses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupConfig {
    /// What concerns other services, too.
    pub common: Config,
    /// How many receivers a sender waits for: before as many have reported, nothing counts as
    /// received. If 0, it gathers those that report within half a second.
    pub members: u16,
    /// How many questions in a row a receiver may leave without an answer before it is dropped
    /// (mc_sreqs).
    pub questions: u32,
    /// A receiver that holds up the others is dropped if it takes less than half a window in as
    /// much time.
    pub patience: Nanoseconds,
    /// The longest that a receiver waits before it reports a gap: as many times the delay between
    /// two receivers as there are receivers, for about two reports of what all of them miss.
    pub slot: Nanoseconds,
    /// The octets per second that a sender sends at most; `None`: a window at once.
    pub rate: Option<NonZeroU64>,
}

impl GroupConfig {
    /// Returns the defaults with this `secret`, for which there can be no default.
    pub const fn new(secret: [u8; 16]) -> Self {
        let common = Config::new(secret);
        GroupConfig {
            common,
            members: 0,
            questions: 6,
            patience: common.silence,
            slot: 50 * MILLISECOND,
            rate: None,
        }
    }
}

/// A multicast service: what a context promises.
pub trait GroupService: Sized + 'static {
    /// Its name in stacks.
    const NAME: &'static str;
    /// Its number in the traffic specifier.
    const NUMBER: u8;
    /// What it promises, for the rule book of stacks: to each receiver, from where it began.
    const GIVES: Guarantees;
    /// Whether nobody answers.
    const UNANSWERED: bool = false;
    /// Options that all its packets bear, beside MULTI.
    const OPTIONS: XtpOptions = XtpOptions::NONE;
    /// What it offers to the layer above.
    type Transfer<M: Message>: Transfer<
            Message = M,
            Order = Infallible,
            Properties: From<MessageProperties> + Into<MessageProperties>,
        >;
    /// Its policies.
    type Configuration<M: Message>: Configuration<Message = M, Format = XtpGroup<M>>;

    /// Makes the policies of one context; `seed` is another one at each receiver.
    fn slots<M: Message>(
        format: XtpGroup<M>,
        config: &GroupConfig,
        seed: u64,
    ) -> Slots<Self::Configuration<M>>;
}

/// Messages to a group, all, once, in order, to each receiver.
#[derive(Debug)]
pub enum ReliableMulticast {}

/// Messages to a group that nobody acknowledges.
#[derive(Debug)]
pub enum UnacknowledgedMulticast {}

configuration! {
    /// Messages that a group acknowledges.
    pub GroupMessages<M> like Messages {
        Format: XtpGroup<M>,
        Connection: connection::OneToMany,
        Acknowledgement: acknowledgement::Slotted<acknowledgement::OnRequest<true>>,
        Inquiry: inquiry::KeepAlive<inquiry::AnyAnswer<inquiry::WindowEnd>>,
        Rate: rate::Paced,
    } with membership::Buckets
}

configuration! {
    /// Messages to a group that nobody acknowledges.
    pub GroupDatagrams<M> like Unacknowledged {
        Format: XtpGroup<M>,
        Flow: flow::Absent,
        Rate: rate::Paced,
    }
}

/// Returns the pace of a sender: bursts are those of a millisecond, and no less than a packet.
fn pace(config: &GroupConfig) -> rate::Paced {
    match config.rate {
        Some(rate) => {
            let burst = u32::try_from(rate.get() / 1000).unwrap_or(u32::MAX);
            rate::Paced::new(rate, burst.max(config.common.packet.into()))
        }
        None => rate::Paced::new(NonZeroU64::MAX, 0),
    }
}

impl GroupService for ReliableMulticast {
    const NAME: &'static str = "xtp multicast";
    const NUMBER: u8 = 6;
    const GIVES: Guarantees = Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE);
    type Transfer<M: Message> = Datagrams<M>;
    type Configuration<M: Message> = GroupMessages<M>;

    fn slots<M: Message>(
        format: XtpGroup<M>,
        config: &GroupConfig,
        seed: u64,
    ) -> Slots<GroupMessages<M>> {
        let GroupConfig { common, members, questions, patience, slot, .. } = *config;
        let (window, asked) = (u64::from(common.window), acknowledgement::OnRequest::new());
        let group = membership::Buckets::new(members.into());
        Slots::from(Policies {
            format,
            ordering: ordering::Total::new(),
            framing: framing::MessageEnd::new(common.longest),
            integrity: integrity::Internet::new(),
            connection: connection::OneToMany::new(common.keepalive + common.silence),
            acknowledgement: acknowledgement::Slotted::new(asked, slot, seed),
            inquiry: inquiry::KeepAlive::new(
                inquiry::AnyAnswer::new(inquiry::WindowEnd::new(common.retries, window / 2)),
                common.keepalive,
                common.silence,
            ),
            recovery: recovery::SelectiveRepeat::new(),
            rtt: rtt::Rfc6298::new(
                rtt::SampleSource::Answers,
                common.timeout_first,
                common.timeout_least,
            ),
            flow: flow::CreditWindow::new(window).asked_about(),
            congestion: congestion::Absent,
            rate: pace(config),
            lifetime: lifetime::Absent,
        })
        .in_group(group.questions(questions).patient(patience, window / 2))
    }
}

impl GroupService for UnacknowledgedMulticast {
    const NAME: &'static str = "xtp unacknowledged multicast";
    const NUMBER: u8 = 5;
    const GIVES: Guarantees = Guarantees::CHECKED;
    const UNANSWERED: bool = true;
    const OPTIONS: XtpOptions = XtpOptions::NOERR.with(XtpOptions::NOFLOW);
    type Transfer<M: Message> = Datagrams<M>;
    type Configuration<M: Message> = GroupDatagrams<M>;

    fn slots<M: Message>(
        format: XtpGroup<M>,
        config: &GroupConfig,
        _: u64,
    ) -> Slots<GroupDatagrams<M>> {
        Slots::from(Policies {
            format,
            ordering: ordering::Sequenced::default(),
            framing: framing::MessageEnd::new(config.common.longest),
            integrity: integrity::Internet::new(),
            connection: connection::Unanswered::new(config.common.silence),
            acknowledgement: acknowledgement::Absent,
            inquiry: inquiry::Absent,
            recovery: recovery::Absent,
            rtt: rtt::Fixed(config.common.timeout_first),
            flow: flow::Absent,
            congestion: congestion::Absent,
            rate: pace(config),
            lifetime: lifetime::Absent,
        })
    }
}

/// A multicast service of XTP as a layer.
pub type GroupLayer<M, S> = Transport<GroupContexts<M, S>>;

/// Returns a multicast service of XTP with `config`. A peer must not know `seed`.
pub fn layer<M: Message, S: GroupService>(config: GroupConfig, seed: u64) -> GroupLayer<M, S> {
    Transport::new(Associations::new(GroupContexts::new(config)), seed)
}
