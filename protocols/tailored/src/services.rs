//! What the services that an application names require: the words of a phase in a specification.

use alloc::vec::Vec;
use core::fmt;
use core::num::{NonZeroU32, NonZeroU64};

use stackwright_contract::services::{Ecn, MessageKind, MessageProperties};
use stackwright_policies::profile::{
    AssociationStart, Bounds, CheckKind, CongestionKind, DeliveryOrder, FixedRate, Path, Plan,
    Repetition, Requirements, Unmet, plan,
};
use stackwright_policies::switching::PhaseRule;
use stackwright_transport::rules::{Component, Property};

use crate::config::PACKET_LEAST;
use crate::format::{PRIORITY, TailoredFormat};

/// What the packets of this transport carry.
const CARRIES: Property =
    <TailoredFormat<stackwright_wire::SingleBuffer> as Component>::FACTS.gives;

/// What an application demands of its transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Demand {
    /// What it requires.
    pub requirements: Requirements,
    /// What it knows of the path.
    pub path: Path,
    /// How much an association holds.
    pub bounds: Bounds,
    /// Whether checks cover bodies.
    pub covers_body: bool,
    /// What it requires of each message.
    pub properties: MessageProperties,
}

/// A service that this transport does not have, and what to write instead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ServiceRefusal {
    /// A service: what is wrong with it, and what to write instead.
    Service(&'static str, &'static str),
    /// Services that do not go together.
    Unmet(Unmet),
}

impl fmt::Display for ServiceRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServiceRefusal::Service(says, instead) => write!(f, "{says}: {instead}"),
            ServiceRefusal::Unmet(unmet) => unmet.fmt(f),
        }
    }
}

impl core::error::Error for ServiceRefusal {}

const fn refused(says: &'static str, instead: &'static str) -> ServiceRefusal {
    ServiceRefusal::Service(says, instead)
}

/// Returns what services with their arguments demand. Rates are in octets per second, bursts in
/// octets, deadlines in milliseconds; what is not named is not promised.
///
/// ```
/// use stackwright_tailored::demand;
/// let services = [("reliable", &[][..]), ("flow_control", &["256"])];
/// let plan = demand(services).and_then(|demand| demand.plan()).unwrap();
/// assert!(plan.choices().any(|choice| choice.name == "recovery by RACK-TLP"));
/// let ordered = demand([("ordered", &[""; 0][..])]).and_then(|demand| demand.plan());
/// assert!(ordered.unwrap_err().to_string().starts_with("total order excludes"));
/// ```
///
/// # Errors
/// What this transport does not have.
pub fn demand<'a, A: AsRef<str> + 'a>(
    services: impl IntoIterator<Item = (&'a str, &'a [A])>,
) -> Result<Demand, ServiceRefusal> {
    let mut demand = Demand::NOTHING;
    let mut opening = "implicit";
    for (name, arguments) in services {
        let word = |nth: usize| arguments.get(nth).map(AsRef::as_ref);
        let number = |nth: usize| word(nth).and_then(|word| word.parse::<u64>().ok());
        let Demand { requirements, path, bounds, covers_body, properties } = &mut demand;
        match name {
            "reliable" => requirements.reliable = true,
            "ordered" => requirements.order = DeliveryOrder::Total,
            "rising" => requirements.order = DeliveryOrder::Sequenced,
            "unordered" => requirements.order = DeliveryOrder::Any,
            "selective_retransmission" => requirements.repetition = Repetition::Selective,
            "go_back_n" => requirements.repetition = Repetition::GoBackN,
            "resends" => {
                let times = number(0).and_then(|times| u16::try_from(times).ok());
                let times = times.filter(|times| (1..=RESENDS_MOST).contains(times));
                requirements.resends = Some(times.ok_or(refused(
                    "`resends` takes how many times something is sent again, 1 to 255",
                    "write `resends(3)`",
                ))?);
            }
            "nak" => requirements.gaps_at_once = true,
            "flow_control" => {
                requirements.flow_control = true;
                let window = number(0).filter(|window| (1..=WINDOW_MOST).contains(window));
                bounds.window = window.ok_or(refused(
                    "`flow_control` takes a window of 1 to 65536 packets",
                    "write `flow_control(256)`",
                ))?;
            }
            "rate" => {
                let octets = number(0).and_then(NonZeroU64::new);
                let octets = octets.ok_or(refused(
                    "`rate` takes octets per second, and perhaps a burst in octets",
                    "write `rate(125000)`",
                ))?;
                let burst = number(1).map_or(0, |burst| u32::try_from(burst).unwrap_or(u32::MAX));
                requirements.rate = Some(FixedRate { octets, burst });
            }
            "dedicated" => {
                let rate = number(0).filter(|rate| *rate > 0);
                let rate = rate.ok_or(refused(
                    "`dedicated` takes the rate of the path, in octets per second",
                    "write `dedicated(125000)`",
                ))?;
                (path.shared, path.rate) = (false, Some(rate));
            }
            "congestion" => {
                requirements.congestion = match word(0).unwrap_or_default() {
                    "aimd" => CongestionKind::Aimd,
                    "new_reno" => CongestionKind::NewReno,
                    "cubic" => CongestionKind::Cubic,
                    "bbr" => CongestionKind::Bbr,
                    "fitted" => CongestionKind::Fitted,
                    "probing" => CongestionKind::Probing,
                    "absent" => CongestionKind::Absent,
                    _ => {
                        return Err(refused(
                            "there is no such congestion control",
                            "write `congestion(cubic)`, or aimd, new_reno, bbr, fitted, probing, \
                             absent",
                        ));
                    }
                };
            }
            "checksum" => {
                requirements.checked = true;
                for word in arguments.iter().map(AsRef::as_ref) {
                    match word {
                        "internet" => requirements.check = CheckKind::Internet,
                        "crc32c" => requirements.check = CheckKind::Crc32c,
                        "cxor" => requirements.check = CheckKind::Cxor,
                        "full" => *covers_body = true,
                        "header" => *covers_body = false,
                        _ => {
                            return Err(refused(
                                "there is no such check",
                                "write `checksum(internet)`, or crc32c, cxor, with `full` or `header`",
                            ));
                        }
                    }
                }
            }
            "deadline" => {
                requirements.expires = true;
                let milliseconds = number(0).and_then(|time| u32::try_from(time).ok());
                let lifetime = milliseconds.and_then(|time| time.checked_mul(1000));
                let lifetime = lifetime
                    .and_then(NonZeroU32::new)
                    .ok_or(refused("`deadline` takes milliseconds", "write `deadline(200)`"))?;
                properties.lifetime = Some(lifetime);
            }
            "expires" => requirements.expires = true,
            "priority" => {
                let priority = number(0).and_then(|number| u8::try_from(number).ok());
                properties.priority = priority.ok_or(refused(
                    "`priority` takes 0 to 255, the most urgent first",
                    "write `priority(128)`",
                ))?;
            }
            "alf" => path.packet = number(0).map_or(path.packet, |octets| octets as usize),
            "open" => opening = word(0).unwrap_or_default(),
            _ => {
                return Err(refused(
                    "this transport has no such service",
                    "leave it out, or do it in the application",
                ));
            }
        }
    }
    if !(usize::from(PACKET_LEAST)..=PACKET_MOST).contains(&demand.path.packet) {
        return Err(refused("`alf` takes the octets of a packet", "write `alf(1500)`"));
    }
    match opening {
        "implicit" => Ok(demand),
        "agreed" => Err(refused(
            "a listener of this transport knows nothing that is agreed elsewhere",
            "write `open(implicit)`: no round trip is lost either",
        )),
        "two_stage" => Err(refused(
            "this transport opens with the first packet",
            "write `open(implicit)`, or use ARTP, where the peer's application decides before",
        )),
        _ => Err(refused("there is no such opening", "write `open(implicit)`")),
    }
}

/// The longest window, in packets.
const WINDOW_MOST: u64 = 1 << 16;

/// The most times that something is sent again before it is abandoned.
const RESENDS_MOST: u16 = 255;

const PACKET_MOST: usize = 65_535;

impl Demand {
    /// What an application demands that names no service.
    const NOTHING: Demand = Demand {
        requirements: Requirements {
            reliable: false,
            order: DeliveryOrder::Any,
            phases: [None; 4],
            negotiates: false,
            bounds: true,
            expires: false,
            checked: false,
            check: CheckKind::Internet,
            throughput: false,
            start: AssociationStart::FirstPacket,
            repetition: Repetition::Any,
            resends: None,
            gaps_at_once: false,
            flow_control: false,
            congestion: CongestionKind::Any,
            rate: None,
        },
        path: Path { packet: 1500, ..Path::DEFAULT },
        bounds: Bounds { window: 256, ..Bounds::DEFAULT },
        covers_body: true,
        properties: MessageProperties {
            lifetime: None,
            number: None,
            priority: PRIORITY,
            kind: MessageKind::Data,
            ecn: Ecn::NotEct,
            returned: false,
        },
    };

    /// Returns what phases demand of one association, in which each packet says its phase. Of each
    /// in turn: what it demands, and whether none of its messages is delivered before all that were
    /// sent before it.
    ///
    /// # Errors
    /// What does not change with the phase: all but the order, and how often something is sent
    /// again.
    pub fn in_phases(phases: &[(Demand, bool)]) -> Result<Demand, ServiceRefusal> {
        let (mut whole, rules) = Demand::of_phases(phases)?;
        if rules.len() > whole.requirements.phases.len() {
            return Err(refused("more than four phases", "a packet tells four apart"));
        }
        for (known, rule) in whole.requirements.phases.iter_mut().zip(rules) {
            *known = Some(rule);
        }
        Ok(whole)
    }

    /// Returns what phases demand of one association whose ends negotiate while data flow by which
    /// rule messages go; the phases are as in [`in_phases`](Demand::in_phases), and any number. The
    /// association begins with the rule that promises all that they do together. Congestion
    /// control is fitted to the path, unless they name one.
    ///
    /// # Errors
    /// What does not change while data flow.
    pub fn negotiated(phases: &[(Demand, bool)]) -> Result<Demand, ServiceRefusal> {
        let (mut whole, rules) = Demand::of_phases(phases)?;
        let strongest = rules.into_iter().reduce(|one, other| PhaseRule {
            ordered: one.ordered || other.ordered,
            fenced: one.fenced || other.fenced,
            resends: one.resends.zip(other.resends).map(|(one, other)| one.max(other)),
        });
        let requirements = &mut whole.requirements;
        requirements.phases[0] = strongest;
        requirements.negotiates = true;
        if requirements.congestion == CongestionKind::Any && whole.path.shared {
            requirements.congestion = CongestionKind::Fitted;
        }
        Ok(whole)
    }

    /// Returns what phases demand together, and the rule of each.
    fn of_phases(phases: &[(Demand, bool)]) -> Result<(Demand, Vec<PhaseRule>), ServiceRefusal> {
        let shared = |demand: &Demand| Demand {
            requirements: Requirements {
                order: DeliveryOrder::Any,
                resends: None,
                ..demand.requirements
            },
            ..*demand
        };
        let (first, _) = phases.first().ok_or(refused("no phase", "write `phase NAME { … }`"))?;
        let mut whole = shared(first);
        let mut rules = Vec::with_capacity(phases.len());
        for (demand, fenced) in phases {
            let Requirements { order, resends, repetition, .. } = demand.requirements;
            let keeps = order != DeliveryOrder::Sequenced && repetition != Repetition::GoBackN;
            if shared(demand) != shared(first) || !keeps {
                return Err(refused(
                    "services that do not change while data flow",
                    "with the phase change `ordered`, `unordered`, `resends` and fences",
                ));
            }
            let ordered = order == DeliveryOrder::Total;
            rules.push(PhaseRule { ordered, fenced: *fenced, resends });
            whole.requirements.resends = whole.requirements.resends.max(resends);
        }
        Ok((whole, rules))
    }

    /// Selects the policies that meet it.
    ///
    /// # Errors
    /// Services that do not go together.
    pub fn plan(&self) -> Result<Plan, ServiceRefusal> {
        if self.requirements.expires && self.requirements.order != DeliveryOrder::Sequenced {
            return Err(refused(
                "a receiver would wait for what expired",
                "write `rising`, which forgives what is missing, or leave the expiry out",
            ));
        }
        plan(&self.requirements, &self.path, CARRIES).map_err(ServiceRefusal::Unmet)
    }
}
