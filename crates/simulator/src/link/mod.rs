//! A model of a link: when a packet arrives, and whether.
//!
//! What happens to a packet, in this order:
//!
//! | | | file |
//! | --- | --- | --- |
//! | 1 | longer than the MTU: dropped | here |
//! | 2 | beyond the policer's rate: dropped | `policer.rs` |
//! | 3 | no place in the queue: dropped; or it would wait too long: marked, else dropped | `queue.rs`, `codel.rs` |
//! | 4 | it waits for its turn, and takes its time at the link's rate | `queue.rs` |
//! | 5 | lost, where the link is down when its turn comes | `outages.rs` |
//! | 6 | its fate: lost, doubled, altered, late, held back; drawn or scripted | `chance.rs`, `fate.rs` |
//! | 7 | its ECN field is mangled | `ecn.rs` |
//! | 8 | in flight for the delay, which may change | here, `delay_steps.rs` |
//!
//! Rate, MTU and the treatment of ECN may change, too: `steps.rs`.

mod bit_errors;
mod chance;
mod codel;
mod conditions;
mod counts;
mod delay_steps;
pub(crate) mod description;
mod ecn;
mod fate;
mod loss;
mod outages;
mod policer;
mod profile;
mod queue;
mod steps;

use stackwright_contract::{Duration, Instant};

pub use conditions::{Conditions, Reorder};
pub use counts::Counts;
pub use delay_steps::{DelayStep, StepLength, SteppedDelay};
pub use description::{LinkDescription, LinkFlaw, OctetCount, Time};
pub use ecn::EcnTreatment;
pub use fate::{Deed, Event};
pub use loss::{GilbertElliott, Loss};
pub use outages::{Outages, Passes};
pub use policer::Policer;
pub use profile::{NamedProfile, Profile};
pub use queue::{Discipline, Queue};
pub use steps::LinkStep;

pub(crate) use bit_errors::BitErrors;
pub(crate) use chance::happens;
pub(crate) use queue::{bits_at, serialisation};

use chance::{Chance, RESEND_FIRST};
use delay_steps::Stepped;
use fate::Fate;
use policer::Bucket;
use queue::{Dropped, Sender};

/// What a link has to know of a packet.
pub trait LinkPacket {
    /// Returns how many octets it occupies.
    fn octets(&self) -> usize;

    /// Returns how many of its octets errors can reach: all of them by default.
    fn exposed(&self) -> usize {
        self.octets()
    }

    /// Returns how many bits it has on the air of a [`Channel`](crate::Channel), where framing may
    /// stuff some in; by default those of its octets.
    fn air_bits(&self) -> u64 {
        8 * self.octets() as u64
    }

    /// Returns a copy.
    fn twin(&self) -> Self;

    /// Returns its ECN field: 0b10 for ECT(0), 0b01 for ECT(1), 0b11 for CE (RFC 3168 §5). By
    /// default it is 0: a queue drops it, where it would mark another.
    fn ecn(&self) -> u8 {
        0
    }

    /// Sets its ECN field, if it has one.
    fn set_ecn(&mut self, _ecn: u8) {}

    /// Flips the bit `bit` of those that errors can reach; counted round from the first again if it
    /// has fewer, no bit if it has none.
    fn alter(&mut self, bit: u64);
}

/// The outcome for a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Carried<P> {
    /// It never arrives.
    Lost,
    /// It arrives.
    Once(Instant, P),
    /// It arrives, and so does a copy of it.
    Twice([(Instant, P); 2]),
}

/// One direction of a link between two stations. It holds no packet: it only computes times.
#[derive(Clone, Debug)]
pub struct Link {
    conditions: Conditions,
    source: Source,
    policed: Bucket,
    sender: Sender,
    stepped: Stepped,
    /// The arrival of the last packet that later ones may not overtake.
    last: Instant,
    counts: Counts,
    log: Option<Vec<Event>>,
}

/// The source of fates.
#[derive(Clone, Debug)]
enum Source {
    Drawn(Chance),
    /// The events still to happen, in order.
    Scripted(std::iter::Peekable<std::vec::IntoIter<Event>>),
}

impl Link {
    /// Makes a link whose randomness is derived from `seed`.
    pub fn new(conditions: Conditions, seed: u64) -> Self {
        Link::with(conditions, Source::Drawn(Chance::new(seed)))
    }

    /// Makes a link without randomness: exactly `events` happen to its packets. Rate, delay and its
    /// steps, policer, queue, MTU, ECN and outages are as the conditions say; their probabilities,
    /// and which packets are lost, are not used.
    pub fn scripted(conditions: Conditions, mut events: Vec<Event>) -> Self {
        events.sort_by_key(|event| event.nth);
        Link::with(conditions, Source::Scripted(events.into_iter().peekable()))
    }

    fn with(conditions: Conditions, source: Source) -> Self {
        let (sender, counts) = (Sender::default(), Counts::default());
        let (policed, stepped) = (Bucket::default(), Stepped::default());
        let last = Instant::START;
        Link { conditions, source, policed, sender, stepped, last, counts, log: None }
    }

    /// Returns the conditions of the link.
    pub fn conditions(&self) -> &Conditions {
        &self.conditions
    }

    /// Sets the conditions of the link from now on. Its randomness, its counters, its log and its
    /// queue stay; the packets of other delay steps than before are counted anew.
    pub fn set_conditions(&mut self, conditions: Conditions) {
        if conditions.delay_steps != self.conditions.delay_steps {
            self.stepped = Stepped::default();
        }
        self.conditions = conditions;
    }

    /// Returns the counters of the link.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Keeps a log, from now on, of what happens to packets. A link that is
    /// [scripted](Link::scripted) with the log of another, kept from its first packet, gives
    /// identical arrivals.
    pub fn keep_log(&mut self) {
        self.log.get_or_insert_default();
    }

    /// Returns what happened to packets since the log is kept; a packet without deeds is not in it.
    pub fn log(&self) -> &[Event] {
        self.log.as_deref().unwrap_or_default()
    }

    /// Returns the outcome for `packet`, sent `now`. Time never goes back from one packet to the
    /// next.
    pub fn carry<P: LinkPacket>(&mut self, now: Instant, mut packet: P) -> Carried<P> {
        let nth = self.counts.offered;
        self.counts.offered += 1;
        let octets = packet.octets();
        self.counts.octets_offered += octets as u64;
        let Some(left) = self.send(now, octets, &mut packet) else { return Carried::Lost };
        let fate = self.fate(now, nth, packet.exposed());
        self.note(nth, &fate);
        if fate.lost {
            self.counts.lost += 1;
            return Carried::Lost;
        }
        self.counts.delivered += 1;
        self.counts.octets += octets as u64;
        self.counts.altered += u64::from(!fate.altered.is_empty());
        self.counts.held_back += u64::from(!fate.held.is_zero());
        let treated = self.conditions.ecn_at(now).of(packet.ecn());
        if treated != packet.ecn() {
            packet.set_ecn(treated);
        }
        let twin = fate.twin.is_some().then(|| packet.twin());
        for bit in &fate.altered {
            packet.alter(*bit);
        }
        let delay = self.delay(left);
        let arrival = self.arrive(left + delay, fate.late, fate.held);
        match (twin, fate.twin) {
            (Some(twin), Some(late)) => {
                self.counts.duplicated += 1;
                Carried::Twice([
                    (arrival, packet),
                    (self.arrive(left + delay, late, Duration::ZERO), twin),
                ])
            }
            _ => Carried::Once(arrival, packet),
        }
    }

    /// Returns when a segment of `octets` octets, sent `now`, has finally arrived, if a lost or
    /// altered one is sent again, and one that finds the link down waits until it is up. `None` if
    /// it never does.
    ///
    /// A stream that finds the queue full waits as well, and it keeps to the MTU by itself.
    pub fn carry_surely(&mut self, now: Instant, octets: usize) -> Option<Instant> {
        let nth = self.counts.offered;
        self.counts.offered += 1;
        self.counts.octets_offered += octets as u64;
        let late = match &mut self.source {
            Source::Drawn(chance) => {
                chance.lateness(&self.conditions, now, nth, octets).unwrap_or(Deed::NEVER)
            }
            Source::Scripted(_) => {
                let fate = self.fate(now, nth, octets);
                fate.late.saturating_add(if fate.lost { RESEND_FIRST } else { Duration::ZERO })
            }
        };
        self.note(nth, &Fate { late, ..Fate::default() });
        let start = self.sender.after_all(&self.conditions, now);
        let Some(start) = self.conditions.outages.next_up(start) else {
            self.counts.in_outage += 1;
            return None;
        };
        let left = self.sender.leave(&self.conditions, now, start, octets);
        if late >= Deed::NEVER {
            self.counts.lost += 1;
            return None;
        }
        self.counts.delivered += 1;
        self.counts.octets += octets as u64;
        // The caller keeps the order of each stream; other streams do not wait for retransmissions.
        Some(left + self.delay(left) + late)
    }

    /// Returns when `packet`, of `octets` octets and sent `now`, has left; `None` if it is dropped,
    /// and could not be marked.
    fn send(
        &mut self,
        now: Instant,
        octets: usize,
        packet: &mut impl LinkPacket,
    ) -> Option<Instant> {
        let Link { conditions, policed, sender, counts, .. } = self;
        if conditions.mtu_at(now).is_some_and(|mtu| octets > mtu) {
            counts.too_long += 1;
            return None;
        }
        if conditions.policer.is_some_and(|policer| !policed.admits(policer, now, octets)) {
            counts.policed += 1;
            return None;
        }
        let start = match sender.turn(conditions, now, octets) {
            Ok(start) => start,
            Err(Dropped::ByCoDel(start)) if packet.ecn() != 0 => {
                packet.set_ecn(ecn::MARKED);
                sender.marked(conditions);
                counts.marked += 1;
                start
            }
            Err(Dropped::AtTail) => {
                counts.dropped_at_tail += 1;
                return None;
            }
            Err(Dropped::ByCoDel(_)) => {
                counts.dropped_by_codel += 1;
                return None;
            }
        };
        let left = sender.leave(conditions, now, start, octets);
        // The sender is not told: what is lost so takes its time on the link all the same.
        if conditions.outages.is_down(start) {
            counts.in_outage += 1;
            return None;
        }
        Some(left)
    }

    /// Returns the fate of the `nth` packet, sent `now`.
    fn fate(&mut self, now: Instant, nth: u64, exposed: usize) -> Fate {
        match &mut self.source {
            Source::Drawn(chance) => chance.fate(&self.conditions, now, nth, exposed),
            Source::Scripted(events) => {
                let mut fate = Fate::default();
                while let Some(event) = events.next_if(|event| event.nth <= nth) {
                    // An event of a packet that was dropped before it left has no effect.
                    if event.nth == nth {
                        fate.add(event.deed);
                    }
                }
                fate
            }
        }
    }

    fn note(&mut self, nth: u64, fate: &Fate) {
        if let Some(log) = &mut self.log {
            log.extend(fate.deeds().map(|deed| Event { nth, deed }));
        }
    }

    /// Returns the propagation delay of a packet that has left at `left`.
    fn delay(&mut self, left: Instant) -> Duration {
        let Conditions { delay, delay_steps, .. } = &self.conditions;
        self.stepped.delay(delay_steps, *delay, left)
    }

    fn arrive(&mut self, due: Instant, late: Duration, held: Duration) -> Instant {
        let mut arrival = due + late;
        if self.conditions.keeps_order {
            arrival = arrival.max(self.last);
            self.last = arrival;
        }
        arrival + held
    }
}
