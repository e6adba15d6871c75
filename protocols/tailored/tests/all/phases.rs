//! Services that change while data flow. `SEEDS=100 cargo test --release -p stackwright-tailored
//! phases` switches a million times.

use std::collections::BTreeMap;

use fastrand::Rng;
use stackwright_contract::Duration;
use stackwright_contract::services::MessageProperties;
use stackwright_policies::profile::{Bounds, PolicyValues};
use stackwright_policies::switching::{self, PhaseRule, PhaseRules};
use stackwright_policies::{ordering, recovery};
use stackwright_simulator::{Conditions, Deed, Event};
use stackwright_tailored::configurations::{AnyOrder, Phased};
use stackwright_tailored::header::{TailoredHeader, TailoredKind};
use stackwright_tailored::{Config, Named, TailoredHost, TailoredKey, Tailoring};
use stackwright_transport::words::{Dropped, SECOND};
use stackwright_transport::{Configuration, Slots, configuration};
use stackwright_trial::Trial;
use stackwright_trial::setting::{M, bad, seeds};
use stackwright_wire::Header as _;
use stackwright_wire::check::Internet;

configuration! {
    /// What is lost in some phases is not sent again for ever.
    Abandoning<M> like AnyOrder {
        Ordering: ordering::ByEpoch<M>,
        Recovery: recovery::LimitedRetransmissions<recovery::RackTlp>,
    } switching [switching::InPhases]
}

pub(super) const ANY: PhaseRule = PhaseRule { ordered: false, fenced: false, resends: None };
pub(super) const ORDERED: PhaseRule = PhaseRule { ordered: true, ..ANY };
const RULES: PhaseRules = [
    Some(ANY),
    Some(ORDERED),
    Some(PhaseRule { fenced: true, ..ANY }),
    Some(PhaseRule { resends: Some(1), ..ORDERED }),
];

pub(super) fn ends<C: Configuration<Message = M>>(rules: PhaseRules) -> impl Fn(usize) -> Slots<C>
where
    Named<C>: Tailoring<Configuration = C, Message = M>,
    C::Integrity: stackwright_policies::profile::FromValues,
{
    let bounds = Bounds { window: 64, silence: 600 * SECOND, ..Bounds::DEFAULT };
    let values = PolicyValues { bounds, phases: rules, ..PolicyValues::RELIABLE };
    move |side| {
        let config = Config { packet: 600, ..Config::new([side as u8; 16]) };
        let key = TailoredKey { ours: side == 0, number: 7 };
        TailoredHost::new(Named::<C>::new(values), config).association(key, 9)
    }
}

/// What was sent, and what has arrived of it.
#[derive(Default)]
struct Record {
    /// Of each message the number of its epoch, and its phase.
    sent: Vec<(u32, usize)>,
    arrived: Vec<bool>,
    /// Before this one, all of every epoch arrived that is not given up.
    settled: usize,
    abandoned: Vec<bool>,
}

impl Record {
    fn send<C: Configuration<Message = M>>(
        &mut self,
        trial: &mut Trial<C>,
        phase: usize,
        random: &mut Rng,
        by_priority: bool,
    ) {
        let nth = self.sent.len();
        let epoch = match self.sent.last() {
            Some((epoch, last)) => epoch + u32::from(*last != phase),
            None => 0,
        };
        self.sent.push((epoch, phase));
        self.arrived.push(false);
        self.abandoned.push(false);
        let mut octets = (nth as u32).to_be_bytes().to_vec();
        octets.resize(if random.u8(..5) == 0 { 1500 } else { 40 }, nth as u8);
        let usual = MessageProperties::default();
        let priority = if by_priority { random.u8(..) } else { usual.priority };
        let properties = MessageProperties { priority, ..usual };
        let now = trial.now();
        trial.ends[0].send(now, &octets, properties);
    }

    /// Notes what arrives, and whether it may.
    fn hear(&mut self, octets: &[u8], by_priority: bool) {
        let nth = u32::from_be_bytes(*octets.first_chunk().expect("a number")) as usize;
        assert!(octets[4..].iter().all(|octet| *octet == nth as u8), "it is whole");
        assert!(!self.arrived[nth], "message {nth} came twice");
        self.arrived[nth] = true;
        let (epoch, phase) = self.sent[nth];
        let rule = RULES[phase].expect("a phase");
        if rule.ordered && !by_priority {
            let of_epoch = (nth + 1..).zip(&self.sent[nth + 1..]);
            let mut later = of_epoch.take_while(|(_, (other, _))| *other == epoch);
            assert!(!later.any(|(later, _)| self.arrived[later]), "{nth} comes late");
        }
        for fenced in nth + 1..self.sent.len() {
            let (other, phase) = self.sent[fenced];
            let is_fenced = other > epoch && RULES[phase].is_some_and(|rule| rule.fenced);
            assert!(!is_fenced || !self.arrived[fenced], "{fenced} came through its fence");
        }
    }

    fn is_over(&mut self) -> bool {
        let is_settled = |nth: usize| self.arrived[nth] || self.abandoned[nth];
        while self.settled < self.sent.len() && is_settled(self.settled) {
            self.settled += 1;
        }
        self.settled == self.sent.len()
    }
}

/// Sends in one random phase after the other, and notes what arrives.
fn switch(seed: u64, switches: usize, by_priority: bool) -> Record {
    let mut random = Rng::with_seed(seed);
    let mut trial = Trial::new(ends::<Abandoning<M>>(RULES), &bad(seed), seed);
    let mut record = Record::default();
    let (mut left, mut phase) = (switches, 0);
    let now = trial.now();
    trial.ends[0].open(now);
    loop {
        while left > 0 && trial.ends[0].association.sending().waiting() < 24 {
            let other = (phase + random.u8(1..4)) % 4;
            (left, phase) = (left - 1, other);
            assert!(trial.ends[0].association.enter(phase));
            for _ in 0..random.usize(1..5) {
                record.send(&mut trial, phase.into(), &mut random, by_priority);
            }
        }
        trial.speak(|_, _, _| {});
        let now = trial.now();
        while let Some((octets, _)) = trial.ends[1].take(now) {
            record.hear(&octets, by_priority);
        }
        while let Some(nth) = trial.ends[0].association.take_abandoned() {
            record.abandoned[nth as usize] = true;
        }
        if left == 0 && record.is_over() {
            return record;
        }
        assert!(trial.step(), "seed {seed}: it stands still, {:?}", trial.reasons());
        assert!(trial.packets() < 400_000, "seed {seed}: a storm");
    }
}

#[test]
fn each_message_goes_by_the_rules_of_its_phase() {
    for seed in seeds(50) {
        let record = switch(seed, 200, seed % 2 == 0);
        for (nth, (_, phase)) in record.sent.iter().enumerate() {
            let may_miss = RULES[*phase].is_some_and(|rule| rule.resends.is_some());
            assert!(may_miss || record.arrived[nth], "seed {seed}: message {nth} is lost");
        }
    }
}

/// A path of 100 ms there and back, over which the first message has come; and how many packets
/// the end that opens has sent.
fn open(lost: &[u64]) -> (Trial<Phased<M>>, u64) {
    let conditions = Conditions { delay: Duration::from_millis(50), ..Conditions::IDEAL };
    let lose = |nth: &u64| Event { nth: *nth, deed: Deed::Lose };
    let events = [lost.iter().map(lose).collect(), Vec::new()];
    let mut trial = Trial::scripted(ends::<Phased<M>>(RULES), &conditions, events);
    let now = trial.now();
    trial.ends[0].open(now);
    trial.ends[0].send(now, &[0], MessageProperties::default());
    let (until, mut packets) = (now + Duration::from_secs(5), 0);
    loop {
        trial.speak(|_, side, _| packets += u64::from(side == 0));
        if !trial.until(until) {
            break;
        }
    }
    assert!(trial.ends[1].take(trial.now()).is_some());
    (trial, packets)
}

/// When a message left for the first time, and when it was delivered.
#[derive(Clone, Copy, Debug)]
struct Times {
    left: Duration,
    delivered: Duration,
}

/// Sends messages of one octet, with their phases, and returns their times since then; also whether
/// their packets say that they begin an epoch.
fn times(trial: &mut Trial<Phased<M>>, phases: &[u8]) -> (Vec<Times>, Vec<bool>) {
    let start = trial.now();
    let (mut left, mut delivered, mut first) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (nth, phase) in phases.iter().enumerate() {
        assert!(trial.ends[0].association.enter(*phase));
        trial.ends[0].send(start, &[nth as u8], MessageProperties::default());
    }
    while delivered.len() < phases.len() {
        let since = trial.now().since(start);
        trial.speak(|_, side, octets| {
            let header = TailoredHeader::decode(octets).expect("a header");
            if side == 0 && header.kind == TailoredKind::Unit {
                let nth = octets[octets.len() - 1];
                left.entry(nth).or_insert(since);
                let said = first.entry(nth).or_insert((header.epoch, header.first));
                assert_eq!(*said, (header.epoch, header.first), "it is sent again as it was");
            }
        });
        let now = trial.now();
        while let Some((octets, _)) = trial.ends[1].take(now) {
            delivered.insert(octets[0], now.since(start));
        }
        assert!(delivered.len() == phases.len() || trial.step(), "it stands still");
    }
    let times = left.into_iter().zip(delivered.into_values());
    let first = first.into_values().map(|(_, first)| first).collect();
    (times.map(|((_, left), delivered)| Times { left, delivered }).collect(), first)
}

const DELAY: Duration = Duration::from_millis(50);

/// Ordered and then in any order, as the documents do it: what is sent in any order waits for
/// nothing that is missing, not even for the packet that begins its phase.
#[test]
fn a_weaker_phase_waits_for_nothing() {
    let (_, before) = open(&[]);
    for lost in 0..8 {
        let (mut trial, _) = open(&[before + lost]);
        let (times, first) = times(&mut trial, &[1, 1, 1, 1, 0, 0, 0, 0]);
        let begins = |nth: usize| nth == 0 || nth == 4;
        for (nth, Times { left, delivered }) in times.iter().enumerate() {
            assert_eq!(*left, Duration::ZERO, "{nth} leaves when it is sent");
            let waits = nth as u64 == lost || nth < 4 && lost < nth as u64;
            assert_eq!(*delivered > DELAY, waits, "{nth}, where {lost} is lost: {delivered:?}");
            assert_eq!(first[nth], begins(nth), "{nth}");
        }
    }
}

/// Both sides know the rules: no message waits for an answer to leave, however strong its rules.
#[test]
fn a_stronger_phase_does_not_wait_for_an_answer() {
    let (times, _) = times(&mut open(&[]).0, &[0, 0, 2, 2, 2]);
    for Times { left, delivered } in times {
        assert_eq!((left, delivered), (Duration::ZERO, DELAY));
    }
}

/// Packets of two epochs are on their way at most: a third one begins when the first is settled.
#[test]
fn a_third_phase_waits_until_the_first_is_settled() {
    let (times, _) = times(&mut open(&[]).0, &[0, 1, 0, 0]);
    assert_eq!([times[0].left, times[1].left], [Duration::ZERO; 2]);
    for Times { left, .. } in &times[2..] {
        let round_trip = 2 * DELAY;
        assert!(*left >= round_trip && *left < 2 * round_trip, "{left:?}");
    }
}

/// Sides with other rules would deliver otherwise, so that they refuse each other.
#[test]
fn phases_are_a_part_of_the_configuration() {
    let mut rules = RULES;
    rules[2] = Some(ANY);
    let make = |side| ends::<Phased<M>>(if side == 0 { RULES } else { rules })(side);
    let mut trial = Trial::new(make, &Conditions::IDEAL, 1);
    let now = trial.now();
    trial.ends[0].open(now);
    trial.ends[0].send(now, &[0], MessageProperties::default());
    trial.pass(now + Duration::from_secs(1));
    assert!(trial.ends[1].take(trial.now()).is_none());
    assert!(!trial.ends[0].association.enter(4), "there is no fifth phase");
}

/// An epoch where nothing switches, or in a report, is no packet of ours.
#[test]
fn an_epoch_where_there_is_none_is_malformed() {
    let unswitched: fn(usize) -> Slots<AnyOrder<M>> = |side| ends::<AnyOrder<M>>(RULES)(side);
    let mut trial = Trial::new(unswitched, &Conditions::IDEAL, 1);
    assert_eq!(forged(&mut trial, TailoredKind::Unit), [Dropped::Malformed]);
    let mut trial = Trial::new(ends::<Phased<M>>(RULES), &Conditions::IDEAL, 1);
    assert_eq!(forged(&mut trial, TailoredKind::Report), [Dropped::Malformed]);
}

/// Returns what is dropped of a packet of this kind, to which an epoch is added.
fn forged<C: Configuration<Message = M>>(trial: &mut Trial<C>, kind: TailoredKind) -> Vec<Dropped> {
    let now = trial.now();
    trial.ends[0].open(now);
    trial.ends[0].send(now, &[0], MessageProperties::default());
    let mut forged = None;
    while forged.is_none() {
        trial.speak(|_, side, octets| {
            let header = TailoredHeader::decode(octets).expect("a header");
            if header.kind == kind && forged.is_none() {
                let mut octets = octets.to_vec();
                TailoredHeader { epoch: 5, ..header }.encode(&mut octets);
                seal(&mut octets);
                forged = Some((1 - side, octets));
            }
        });
        assert!(forged.is_some() || trial.step());
    }
    let (side, octets) = forged.expect("a packet");
    trial.inject(side, &octets);
    trial.dropped().iter().map(|(_, why)| *why).collect()
}

/// Puts the check of a packet into it.
pub(super) fn seal(octets: &mut [u8]) {
    let check = TailoredHeader::LENGTH..TailoredHeader::LENGTH + 2;
    octets[check.clone()].fill(0);
    let mut sum = Internet::new();
    sum.add(octets);
    octets[check].copy_from_slice(&sum.value().to_be_bytes());
}
