//! Selects the policies that meet requirements on a path. The reasons are written here, and nowhere
//! else.

use alloc::vec::Vec;

use stackwright_transport::rules::{Component, Property, check};

use super::choice::{Choice, Plan};
use super::{
    AssociationStart, CheckKind, CongestionKind, DeliveryOrder, Path, Repetition, Requirements,
    Unmet,
};
use crate::{
    acknowledgement, congestion, connection, flow, framing, inquiry, integrity, lifetime, ordering,
    rate, recovery, rtt, switching,
};

/// Defines the policies that can be selected for a slot, with their facts.
macro_rules! selected {
    ($($(#[$doc:meta])* $Slot:ident in $slot:literal { $($Variant:ident: $Policy:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, Debug)]
            pub(super) enum $Slot {
                $($Variant),*
            }

            impl $Slot {
                fn facts(self) -> stackwright_transport::rules::Facts {
                    match self {
                        $($Slot::$Variant => <$Policy as Component>::FACTS),*
                    }
                }
            }

            impl Selected for $Slot {
                fn choice(self, reason: &'static str) -> Choice {
                    let policy = match self {
                        $($Slot::$Variant => stringify!($Policy)),*
                    };
                    Choice { slot: $slot, name: self.facts().name, policy, reason }
                }
            }
        )*
    };
}

/// A policy that is selected for a slot.
pub(super) trait Selected: Copy {
    fn choice(self, reason: &'static str) -> Choice;
}

/// The facts of a policy do not depend on the kind of message.
type M = stackwright_wire::SingleBuffer;

selected! {
    Connecting in "connection" {
        Agreed: connection::Agreed,
        TwoStage: connection::TwoStage,
        Implicit: connection::Implicit,
        Unanswered: connection::Unanswered,
    }
    Reporting in "acknowledgement" {
        Absent: acknowledgement::Absent,
        PeriodicList: acknowledgement::PeriodicList,
        AckRanges: acknowledgement::AckRanges,
        OnRequest: acknowledgement::OnRequest<true>,
        FirstMissing: acknowledgement::OnRequest<false>,
        GapAtOnce: acknowledgement::GapAtOnce<acknowledgement::OnRequest<true>>,
        FirstGapAtOnce: acknowledgement::GapAtOnce<acknowledgement::OnRequest<false>>,
    }
    Asking in "inquiry" {
        Absent: inquiry::Absent,
        Polls: inquiry::Polls,
        WindowEnd: inquiry::KeepAlive<inquiry::WindowEnd>,
        TailProbe: inquiry::KeepAlive<inquiry::TailProbe>,
    }
    Recovering in "recovery" {
        Absent: recovery::Absent,
        RackTlp: recovery::RackTlp,
        SelectiveRepeat: recovery::SelectiveRepeat,
        GoBackN: recovery::GoBackN,
        LimitedRackTlp: recovery::LimitedRetransmissions<recovery::RackTlp>,
        LimitedSelectiveRepeat: recovery::LimitedRetransmissions<recovery::SelectiveRepeat>,
    }
    Timing in "rtt" { Fixed: rtt::Fixed, Rfc6298: rtt::Rfc6298 }
    Flowing in "flow" { Absent: flow::Absent, CreditWindow: flow::CreditWindow }
    Sharing in "congestion" {
        Absent: congestion::Absent,
        Aimd: congestion::Aimd,
        NewReno: congestion::NewReno,
        Bbr: congestion::Bbr,
        Cubic: congestion::Cubic,
        Fitted: congestion::Fitted,
        Probing: congestion::Probing,
    }
    Pacing in "rate" { Absent: rate::Absent, Paced: rate::Paced, PacedByCongestion: rate::PacedByCongestion }
    Ordering in "ordering" {
        Absent: ordering::Absent,
        Sequenced: ordering::Sequenced,
        Total: ordering::Total<M>,
        ByEpoch: ordering::ByEpoch<M>,
    }
    Framing in "framing" {
        Fragments: framing::Fragments<M>,
        MessageEnd: framing::MessageEnd<M>,
        OctetStream: framing::OctetStream,
    }
    Living in "lifetime" {
        Absent: lifetime::Absent,
        Timestamps: lifetime::Timestamps,
        Deadline: lifetime::Deadline,
    }
    SwitchingBy in "switching" { InPhases: switching::InPhases, Negotiated: switching::Negotiated }
    Checking in "integrity" {
        Absent: integrity::Absent,
        Internet: integrity::Internet,
        Crc32c: integrity::Crc32c,
        Cxor: integrity::Cxor,
    }
}

/// One policy per slot, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Selection {
    pub(super) connection: (Connecting, &'static str),
    pub(super) acknowledgement: (Reporting, &'static str),
    pub(super) inquiry: (Asking, &'static str),
    pub(super) recovery: (Recovering, &'static str),
    pub(super) rtt: (Timing, &'static str),
    pub(super) flow: (Flowing, &'static str),
    pub(super) congestion: (Sharing, &'static str),
    pub(super) rate: (Pacing, &'static str),
    pub(super) ordering: (Ordering, &'static str),
    pub(super) framing: (Framing, &'static str),
    pub(super) lifetime: (Living, &'static str),
    pub(super) integrity: (Checking, &'static str),
    pub(super) switching: Option<(SwitchingBy, &'static str)>,
}

impl Selection {
    pub(super) fn choices(&self) -> impl Iterator<Item = Choice> {
        fn of<S: Selected>((what, reason): (S, &'static str)) -> Choice {
            what.choice(reason)
        }
        [
            of(self.connection),
            of(self.acknowledgement),
            of(self.inquiry),
            of(self.recovery),
            of(self.rtt),
            of(self.flow),
            of(self.congestion),
            of(self.rate),
            of(self.ordering),
            of(self.framing),
            of(self.lifetime),
            of(self.integrity),
        ]
        .into_iter()
        .chain(self.switching.map(of))
    }
}

/// Selects a policy for each slot.
///
/// `format` is what the format carries: what its facts say that it gives.
///
/// # Errors
/// The requirement that cannot be met, and what would meet it.
pub fn plan(requirements: &Requirements, path: &Path, format: Property) -> Result<Plan, Unmet> {
    contradictions(requirements)?;
    let carries = |property| format.has(property);
    if requirements.reliable && !carries(Property::SPANS) {
        return Err(Unmet::Format("reliable delivery", Property::SPANS));
    }
    let at_once = requirements.start == AssociationStart::FirstPacket;
    if requirements.reliable && at_once && !carries(Property::INQUIRIES) {
        return Err(Unmet::Format("an opening with the first packet", Property::INQUIRIES));
    }
    if requirements.flow_control && !carries(Property::CREDIT) {
        return Err(Unmet::Format("flow control", Property::CREDIT));
    }
    if requirements.resends.is_some() && !carries(Property::GAPS) {
        return Err(Unmet::Format("an end to sending again", Property::GAPS));
    }
    let repair = repair(requirements, path, format).limited(requirements);
    let asks = !matches!(repair.inquiry.0, Asking::Absent | Asking::TailProbe);
    let sharing = congestion(requirements, path, asks);
    let select = Selection {
        connection: connection(requirements, format),
        acknowledgement: repair.acknowledgement,
        inquiry: repair.inquiry,
        recovery: repair.recovery,
        rtt: match requirements.reliable {
            true => (Timing::Rfc6298, "the delay varies, and the timeout must know by how much"),
            false => (Timing::Fixed, "nothing is waited for"),
        },
        flow: match requirements.reliable && carries(Property::CREDIT) {
            true => (Flowing::CreditWindow, "a receiver that does not read stops the sender"),
            false if requirements.reliable => (Flowing::Absent, "the format carries no credit"),
            false => (
                Flowing::Absent,
                "what a slow receiver cannot take is dropped, and nothing is sent again",
            ),
        },
        congestion: sharing,
        rate: rate(requirements, path, sharing.0),
        ordering: match requirements.order {
            _ if requirements.switches() => {
                (Ordering::ByEpoch, "a packet says its phase, and goes by the rules of that one")
            }
            DeliveryOrder::Any => (Ordering::Absent, "nothing waits for what is late"),
            DeliveryOrder::Sequenced => {
                (Ordering::Sequenced, "what is late is dropped, so that nothing waits for it")
            }
            DeliveryOrder::Total => (Ordering::Total, "all in the order in which it was sent"),
        },
        framing: framing(requirements, format)?,
        lifetime: match requirements.expires {
            false => (Living::Absent, "nothing expires"),
            true if carries(Property::TIMES) => {
                (Living::Timestamps, "what is late is dropped at both ends")
            }
            true => (
                Living::Deadline,
                "what is late is not sent; the format carries no times to tell the peer",
            ),
        },
        integrity: match requirements.checked {
            false => (Checking::Absent, "the layer below checks"),
            true if carries(Property::CHECK_FIELD) => match requirements.check {
                CheckKind::Internet => (Checking::Internet, "no layer below checks"),
                CheckKind::Crc32c => (Checking::Crc32c, "CRC-32C was asked for, and finds more"),
                CheckKind::Cxor => (
                    Checking::Cxor,
                    "CXOR was asked for: it costs less than a copy, and misses more than CRC-32C",
                ),
            },
            true => return Err(Unmet::Format("a check for altered octets", Property::CHECK_FIELD)),
        },
        switching: match (requirements.switches(), requirements.negotiates) {
            (false, _) => None,
            (true, false) => {
                Some((SwitchingBy::InPhases, "both sides know the rules: no message waits"))
            }
            (true, true) => Some((
                SwitchingBy::Negotiated,
                "what promises less waits for nothing; what promises more, for the peer's answer",
            )),
        },
    };
    let mut facts = Vec::from(select.facts(format));
    facts.extend(select.switching.map(|(switching, _)| switching.facts()));
    check(&facts).map_err(Unmet::Misfit)?;
    Ok(Plan { requirements: *requirements, path: *path, select })
}

fn contradictions(requirements: &Requirements) -> Result<(), Unmet> {
    let Requirements { reliable, order, .. } = *requirements;
    let (total, go_back_n) =
        (order == DeliveryOrder::Total, requirements.repetition == Repetition::GoBackN);
    let bounded = requirements.resends.is_some();
    let controls = !matches!(requirements.congestion, CongestionKind::Any | CongestionKind::Absent);
    let late = "an order in which the late are lost";
    let unreliable = "delivery that is not reliable";
    let expiry = "messages that expire";
    let at_once = requirements.start == AssociationStart::FirstPacket;
    let switches = requirements.switches();
    let pairs = [
        (switches && !reliable, "rules that change with the phase", unreliable),
        (total && !reliable, "total order", unreliable),
        (total && requirements.expires, "total order", expiry),
        (order == DeliveryOrder::Sequenced && reliable, late, "reliable delivery"),
        (
            requirements.repetition != Repetition::Any && !reliable,
            "sending again what is lost",
            unreliable,
        ),
        (bounded && !reliable, "an end to sending again", unreliable),
        (bounded && go_back_n, "an end to sending again", "sending again all that followed a loss"),
        (go_back_n && !total, "sending again all that followed a loss", "any other order"),
        (requirements.gaps_at_once && !reliable, "reports of gaps", unreliable),
        (requirements.flow_control && !reliable, "flow control", unreliable),
        (controls && !reliable, "congestion control", unreliable),
        (requirements.expires && reliable && at_once, expiry, "an opening with the first packet"),
    ];
    match pairs.into_iter().find(|(clash, ..)| *clash) {
        Some((_, one, other)) => Err(Unmet::Contradiction(one, other)),
        None => Ok(()),
    }
}

fn connection(requirements: &Requirements, format: Property) -> (Connecting, &'static str) {
    use AssociationStart::{Decided, FirstPacket, Known};
    match (requirements.start, format.has(Property::SIGNALS)) {
        (Decided, true) => {
            (Connecting::TwoStage, "the other application decides before anything is sent")
        }
        (Decided | FirstPacket, false) => {
            (Connecting::Agreed, "the format carries no signals: arrange it elsewhere")
        }
        (Known, _) => (Connecting::Agreed, "both sides know of it: no round trip is lost"),
        (FirstPacket, true) if requirements.reliable => (
            Connecting::Implicit,
            "the first packet has data in it; a peer is sent three times what came from it until it shows that it hears",
        ),
        (FirstPacket, true) => {
            (Connecting::Unanswered, "every packet opens, since nothing is answered")
        }
    }
}

/// How what is lost is found and sent again.
struct Repair {
    acknowledgement: (Reporting, &'static str),
    inquiry: (Asking, &'static str),
    recovery: (Recovering, &'static str),
}

impl Repair {
    /// Returns the same with an end to sending again, where one is required.
    fn limited(self, requirements: &Requirements) -> Self {
        let recovering = match self.recovery.0 {
            _ if requirements.resends.is_none() => return self,
            Recovering::RackTlp => Recovering::LimitedRackTlp,
            Recovering::SelectiveRepeat => Recovering::LimitedSelectiveRepeat,
            other => other,
        };
        let reason = "sends again as often as was asked for; then the peer is told not to wait";
        Repair { recovery: (recovering, reason), ..self }
    }
}

/// The answer says what is missing.
const ANSWERED: (Recovering, &str) =
    (Recovering::SelectiveRepeat, "sends again exactly what the answer says is missing");

/// Questions of a sender whose first packet opens.
const INSISTS: (Asking, &str) =
    (Asking::WindowEnd, "asks with the last packet that may leave, and insists");

fn repair(requirements: &Requirements, path: &Path, format: Property) -> Repair {
    if !requirements.reliable {
        return Repair {
            acknowledgement: (Reporting::Absent, "nothing is sent again, so no report is needed"),
            inquiry: (Asking::Absent, "the receiver reports by itself, or not at all"),
            recovery: (Recovering::Absent, "what is lost is not needed any more"),
        };
    }
    // A sender that asks spares the return path; one that is told of everything is quick.
    let at_once = requirements.start == AssociationStart::FirstPacket;
    let asks = format.has(Property::INQUIRIES)
        && (path.reports_are_dear || !format.has(Property::COUNTS_PACKETS));
    let polls = if at_once {
        INSISTS
    } else {
        (Asking::Polls, "asks now and then, so that one report speaks for many packets")
    };
    match (requirements.repetition, requirements.gaps_at_once) {
        (Repetition::GoBackN, gaps) => Repair {
            acknowledgement: if gaps {
                (Reporting::FirstGapAtOnce, "a gap is reported as soon as it shows")
            } else {
                (Reporting::FirstMissing, "the first missing number is all that go-back-N needs")
            },
            inquiry: polls,
            recovery: (Recovering::GoBackN, "go-back-N was asked for: a receiver keeps no gaps"),
        },
        (_, true) => Repair {
            acknowledgement: (
                Reporting::GapAtOnce,
                "a gap is reported as soon as it shows, and all else when it is asked",
            ),
            inquiry: polls,
            recovery: ANSWERED,
        },
        _ if asks => Repair {
            acknowledgement: (
                Reporting::OnRequest,
                "reports when it is asked: reports are expensive here",
            ),
            inquiry: polls,
            recovery: ANSWERED,
        },
        (repetition, false) if at_once => Repair {
            acknowledgement: (
                Reporting::AckRanges,
                "every report tells all that arrived, so that one may be lost",
            ),
            inquiry: (
                Asking::TailProbe,
                "asks where the tail of a burst stays unacknowledged, and carries the opening and the end",
            ),
            recovery: match repetition {
                Repetition::Selective => {
                    (Recovering::SelectiveRepeat, "sends again what a report misses, and no more")
                }
                _ => OVERTAKEN,
            },
        },
        (repetition, false) => Repair {
            acknowledgement: (
                Reporting::PeriodicList,
                "reports soon what arrived, whatever the order",
            ),
            inquiry: (Asking::Absent, "the receiver reports by itself, or not at all"),
            recovery: match repetition {
                Repetition::Selective => OVERTAKEN_ALONE,
                _ => OVERTAKEN,
            },
        },
    }
}

const OVERTAKEN: (Recovering, &str) =
    (Recovering::RackTlp, "sends again what later packets have overtaken, and probes the tail");

const OVERTAKEN_ALONE: (Recovering, &str) = (
    Recovering::RackTlp,
    "sends again, one by one, what later packets have overtaken: the format's lists say which",
);

const FITTED: &str =
    "begins with CUBIC, and gives way to BBR while that would deliver a fifth more";

fn congestion(requirements: &Requirements, path: &Path, asks: bool) -> (Sharing, &'static str) {
    let asked_for = "it was asked for";
    match requirements.congestion {
        CongestionKind::Any => {}
        CongestionKind::Absent => {
            return (Sharing::Absent, "none was asked for: the path must be your own");
        }
        CongestionKind::Aimd => return (Sharing::Aimd, asked_for),
        CongestionKind::NewReno => return (Sharing::NewReno, asked_for),
        CongestionKind::Cubic => return (Sharing::Cubic, asked_for),
        CongestionKind::Bbr => return (Sharing::Bbr, asked_for),
        CongestionKind::Fitted => return (Sharing::Fitted, FITTED),
        CongestionKind::Probing => return (Sharing::Probing, asked_for),
    }
    if !requirements.reliable {
        return (Sharing::Absent, "without reports, loss is not known: choose a rate");
    }
    match (path.shared, path.starves(), asks) {
        (false, ..) => (Sharing::Absent, "the path is dedicated"),
        (true, true, true) => {
            (Sharing::Probing, "most loss here is no congestion: two inquiries find out which is")
        }
        (true, true, false) => (
            Sharing::Bbr,
            "loss without congestion would starve a window: the rate is measured, and loss counts only with a queue",
        ),
        (true, false, false) if requirements.throughput && path.loss.is_none() => (
            Sharing::Bbr,
            "much is to be sent, and whether loss here is congestion is not known: the rate is measured",
        ),
        (true, false, _) => {
            (Sharing::Cubic, "other flows get their share, and a fast path is filled soon")
        }
    }
}

fn rate(requirements: &Requirements, path: &Path, sharing: Sharing) -> (Pacing, &'static str) {
    if requirements.rate.is_some() {
        return (Pacing::Paced, "a rate was asked for, and is never exceeded");
    }
    match path.rate.filter(|_| !path.shared || !requirements.reliable) {
        Some(_) => {
            (Pacing::Paced, "the rate is known: what is sent faster would only queue, or be lost")
        }
        None if sharing == Sharing::Bbr => (
            Pacing::PacedByCongestion,
            "as fast as was measured: a burst would queue, and be measured as a longer path",
        ),
        None if matches!(sharing, Sharing::Cubic | Sharing::NewReno | Sharing::Fitted) => (
            Pacing::PacedByCongestion,
            "a window leaves over a round trip: at once, it would overflow a short queue",
        ),
        None => (Pacing::Absent, "the windows say how fast"),
    }
}

fn framing(
    requirements: &Requirements,
    format: Property,
) -> Result<(Framing, &'static str), Unmet> {
    let total = requirements.order == DeliveryOrder::Total;
    if !requirements.bounds && total {
        return Ok((Framing::OctetStream, "octets are all that counts"));
    }
    if format.has(Property::FRAGMENTS) {
        return Ok((
            Framing::Fragments,
            "each fragment carries its index, whatever the order of arrival",
        ));
    }
    if format.has(Property::MARKS) && total {
        return Ok((Framing::MessageEnd, "in order, a mark at the end is enough"));
    }
    Err(Unmet::Format("messages that keep their bounds", Property::FRAGMENTS))
}

impl Selection {
    /// Returns what the rule book checks: the facts of these policies, and of a format that carries
    /// `format`.
    fn facts(&self, format: Property) -> [stackwright_transport::rules::Facts; 13] {
        let mut carrier = stackwright_transport::rules::Facts::of("the format", "writes packets");
        carrier.gives = format;
        [
            carrier,
            self.connection.0.facts(),
            self.acknowledgement.0.facts(),
            self.inquiry.0.facts(),
            self.recovery.0.facts(),
            self.rtt.0.facts(),
            self.flow.0.facts(),
            self.congestion.0.facts(),
            self.rate.0.facts(),
            self.ordering.0.facts(),
            self.framing.0.facts(),
            self.lifetime.0.facts(),
            self.integrity.0.facts(),
        ]
    }
}
