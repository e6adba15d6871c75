//! What became of the packets that were sent one way.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use stackwright_contract::Duration;

use super::segment::Protocol;

/// Counts of packets that were sent one way, of one protocol or of all.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Counts {
    /// Sent by the kernel, each segment of a super-packet apart.
    pub(crate) offered: u64,
    /// Written to the other device, duplicates among them.
    pub(crate) delivered: u64,
    /// Lost by chance.
    pub(crate) lost: u64,
    /// Dropped since the link's queue was full, or too long to wait in.
    pub(crate) queue_drops: u64,
    /// Sent while the link was down.
    pub(crate) in_outage: u64,
    /// Longer than the link's MTU.
    pub(crate) too_long: u64,
    /// Carried twice.
    pub(crate) duplicated: u64,
    /// Delivered behind one of the same protocol that was sent later.
    pub(crate) reordered: u64,
    /// Altered under way, and delivered.
    pub(crate) altered: u64,
    /// Would have been dropped by the queue, and were marked: they met congestion (RFC 3168).
    pub(crate) marked: u64,
    /// Octets of the IP packets offered.
    pub(crate) octets_offered: u64,
    /// Octets of the IP packets delivered.
    pub(crate) octets_delivered: u64,
    /// The time under way that the model gave them.
    pub(crate) transit: Quantiles,
    /// The same without the propagation delay: waiting, sending, jitter.
    pub(crate) queueing: Quantiles,
}

/// Two quantiles of times, in milliseconds; 0 where there was none.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Quantiles {
    /// Half of the packets took no longer.
    pub(crate) median_ms: f64,
    /// 95 of 100 took no longer.
    pub(crate) p95_ms: f64,
}

/// All that is known of one way.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Report {
    /// Of all packets.
    pub(crate) all: Counts,
    /// Of TCP.
    pub(crate) tcp: Counts,
    /// Of UDP.
    pub(crate) udp: Counts,
    /// Of ICMP over IPv4.
    pub(crate) icmp: Counts,
    /// Of all else.
    pub(crate) other: Counts,
    /// How much later than the model says packets were written: what this machine took for other
    /// work.
    pub(crate) late: Quantiles,
    /// Packets that have not arrived yet.
    pub(crate) under_way: u64,
    /// Dropped since so many octets were held that memory would grow without bound.
    pub(crate) held_too_many: u64,
    /// Packets of the device that made no sense.
    pub(crate) malformed: u64,
    /// Packets that the receiving kernel did not take.
    pub(crate) refused: u64,
    /// Packets that the sending kernel dropped before they could be read; known at the end only.
    pub(crate) missed: Option<u64>,
}

/// Counts while they grow.
#[derive(Debug)]
pub(super) struct Tally {
    counts: Counts,
    /// In nanoseconds, exact to one in a thousand.
    transit: Histogram<u64>,
    /// Behind the latest of those delivered, in the order in which they were offered.
    reached: u64,
}

/// Longer than any time under way: a longer one counts as this.
const LONGEST: u64 = 3_600_000_000_000;

/// No times yet.
fn times() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST, 3).expect("sound bounds")
}

fn quantiles(times: &Histogram<u64>) -> Quantiles {
    let quantile = |part| times.value_at_quantile(part) as f64 / 1e6;
    Quantiles { median_ms: quantile(0.5), p95_ms: quantile(0.95) }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

impl Tally {
    fn new() -> Tally {
        Tally { counts: Counts::default(), transit: times(), reached: 0 }
    }

    /// A packet is offered; its number.
    fn offered(&mut self, octets: usize) -> u64 {
        self.counts.offered += 1;
        self.counts.octets_offered += octets as u64;
        self.counts.offered
    }

    fn delivered(&mut self, number: u64, octets: usize, altered: bool) {
        self.counts.delivered += 1;
        self.counts.octets_delivered += octets as u64;
        self.counts.altered += u64::from(altered);
        self.counts.reordered += u64::from(number < self.reached);
        self.reached = self.reached.max(number);
    }

    fn counts(&self, propagation: Duration) -> Counts {
        let transit = quantiles(&self.transit);
        let less = |quantile: f64| (quantile - propagation.as_secs_f64() * 1e3).max(0.0);
        let queueing =
            Quantiles { median_ms: less(transit.median_ms), p95_ms: less(transit.p95_ms) };
        Counts { transit, queueing, ..self.counts }
    }
}

/// The tallies of one way: of all packets, and of each protocol.
#[derive(Debug)]
pub(super) struct Tallies {
    all: Tally,
    each: [Tally; Protocol::ALL.len()],
    /// In nanoseconds.
    late: Histogram<u64>,
    /// As [`Report::held_too_many`].
    pub(super) held_too_many: u64,
    /// As [`Report::malformed`].
    pub(super) malformed: u64,
    /// As [`Report::refused`].
    pub(super) refused: u64,
}

/// Which of the packets offered it was: of all, and of its protocol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    of_all: u64,
    of_protocol: u64,
}

/// Why a packet does not arrive.
#[derive(Clone, Copy, Debug)]
pub(super) enum Why {
    /// By chance.
    Lost,
    /// The queue was full.
    Queue,
    /// The link was down.
    Outage,
    /// It was longer than the MTU.
    TooLong,
}

impl Tallies {
    pub(super) fn new() -> Tallies {
        let each = Protocol::ALL.map(|_| Tally::new());
        Tallies {
            all: Tally::new(),
            each,
            late: times(),
            held_too_many: 0,
            malformed: 0,
            refused: 0,
        }
    }

    /// A packet is offered.
    pub(super) fn offered(&mut self, protocol: Protocol, octets: usize) -> Number {
        let of_protocol = self.each[protocol as usize].offered(octets);
        Number { of_all: self.all.offered(octets), of_protocol }
    }

    /// One will not arrive.
    pub(super) fn dropped(&mut self, protocol: Protocol, why: Why) {
        for tally in self.both(protocol) {
            let counts = &mut tally.counts;
            *match why {
                Why::Lost => &mut counts.lost,
                Why::Queue => &mut counts.queue_drops,
                Why::Outage => &mut counts.in_outage,
                Why::TooLong => &mut counts.too_long,
            } += 1;
        }
    }

    /// One will arrive twice.
    pub(super) fn duplicated(&mut self, protocol: Protocol) {
        self.both(protocol).for_each(|tally| tally.counts.duplicated += 1);
    }

    /// One was marked, and not dropped.
    pub(super) fn marked(&mut self, protocol: Protocol) {
        self.both(protocol).for_each(|tally| tally.counts.marked += 1);
    }

    /// The model says how long one is under way.
    pub(super) fn under_way(&mut self, protocol: Protocol, transit: Duration) {
        let transit = nanoseconds(transit);
        self.both(protocol).for_each(|tally| tally.transit.saturating_record(transit));
    }

    /// One has arrived.
    pub(super) fn delivered(
        &mut self,
        protocol: Protocol,
        number: Number,
        octets: usize,
        altered: bool,
    ) {
        self.all.delivered(number.of_all, octets, altered);
        self.each[protocol as usize].delivered(number.of_protocol, octets, altered);
    }

    /// It is written so much later than the model says.
    pub(super) fn late(&mut self, by: Duration) {
        self.late.saturating_record(nanoseconds(by));
    }

    /// What is known of packets that are no longer under way, where they take at least
    /// `propagation`.
    pub(super) fn report(&self, propagation: Duration) -> Report {
        let [tcp, udp, icmp, other] = self.each.each_ref().map(|tally| tally.counts(propagation));
        let all = self.all.counts(propagation);
        let Tallies { held_too_many, malformed, refused, .. } = *self;
        let late = quantiles(&self.late);
        Report {
            all,
            tcp,
            udp,
            icmp,
            other,
            late,
            under_way: 0,
            held_too_many,
            malformed,
            refused,
            missed: None,
        }
    }

    /// The same, where nobody says which packets are lost: those that are not `waiting`, counted by
    /// protocol, and have not arrived.
    pub(super) fn report_rest_lost(
        &self,
        propagation: Duration,
        waiting: &[u64; Protocol::ALL.len()],
    ) -> Report {
        let lost = |counts: &mut Counts, tally: &Tally, waiting: u64| {
            let known = counts.queue_drops + counts.too_long + tally.transit.len() + waiting;
            counts.lost = counts.offered.saturating_sub(known);
        };
        let mut report = self.report(propagation);
        let Report { all, tcp, udp, icmp, other, .. } = &mut report;
        lost(all, &self.all, waiting.iter().sum());
        for (nth, counts) in [tcp, udp, icmp, other].into_iter().enumerate() {
            lost(counts, &self.each[nth], waiting[nth]);
        }
        report
    }

    fn both(&mut self, protocol: Protocol) -> impl Iterator<Item = &mut Tally> {
        [&mut self.all, &mut self.each[protocol as usize]].into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_overtakes_is_told_from_what_comes_twice() {
        let mut tallies = Tallies::new();
        let numbers: Vec<Number> = (0..4).map(|_| tallies.offered(Protocol::Udp, 100)).collect();
        let other = tallies.offered(Protocol::Tcp, 60);
        // The second comes late, the fourth comes twice, and TCP's comes last, as it was sent.
        for nth in [0, 2, 1, 3, 3] {
            tallies.delivered(Protocol::Udp, numbers[nth], 100, nth == 2);
        }
        tallies.delivered(Protocol::Tcp, other, 60, false);
        tallies.dropped(Protocol::Icmp, Why::Queue);
        for milliseconds in 1..=100 {
            tallies.under_way(Protocol::Udp, Duration::from_millis(milliseconds));
        }
        let Report { all, udp, tcp, icmp, .. } = tallies.report(Duration::from_millis(10));
        assert_eq!((udp.offered, udp.delivered, udp.reordered, udp.altered), (4, 5, 1, 1));
        assert_eq!((tcp.offered, tcp.delivered, tcp.reordered), (1, 1, 0));
        assert_eq!((all.offered, all.delivered, all.reordered), (5, 6, 1));
        assert_eq!((icmp.queue_drops, udp.queue_drops, all.queue_drops), (1, 0, 1));
        assert_eq!((all.octets_offered, all.octets_delivered), (460, 560));
        let near = |one: f64, other: f64| (one - other).abs() < other / 500.0;
        assert!(near(udp.transit.median_ms, 50.0) && near(udp.transit.p95_ms, 95.0), "{udp:?}");
        assert!(near(udp.queueing.median_ms, 40.0) && near(udp.queueing.p95_ms, 85.0), "{udp:?}");
        assert_eq!(tcp.transit, Quantiles::default());
    }

    #[test]
    fn what_is_neither_here_nor_there_is_lost() {
        let mut tallies = Tallies::new();
        for _ in 0..10 {
            tallies.offered(Protocol::Udp, 100);
        }
        tallies.dropped(Protocol::Udp, Why::Queue);
        tallies.under_way(Protocol::Udp, Duration::from_millis(1));
        let mut waiting = [0; Protocol::ALL.len()];
        waiting[Protocol::Udp as usize] = 5;
        let Report { all, udp, tcp, .. } = tallies.report_rest_lost(Duration::ZERO, &waiting);
        assert_eq!((all.lost, udp.lost, tcp.lost), (3, 3, 0));
    }
}
