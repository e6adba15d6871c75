//! What two ends say to each other, and what is promised about it.

use std::collections::HashMap;

use fastrand::Rng;
use stackwright_contract::services::MessageProperties;
use stackwright_contract::{Duration, Guarantees, Instant};
use stackwright_transport::Configuration;
use stackwright_transport::rules::{Facts, Property, given, promised};
use stackwright_transport::words::{Ending, Phase};
use stackwright_wire::BufferTree;

use crate::{End, Trial};

/// What a transport promises about messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Promise {
    /// Each arrives once, in any order.
    Once,
    /// Each arrives once, in order.
    InOrder,
    /// None arrives twice, and some may not arrive at all.
    AtMostOnce,
    /// The same, and none overtakes another.
    Rising,
    /// The octets arrive in order; the bounds of messages do not count.
    Octets,
}

impl Promise {
    /// What policies with these facts promise about messages; `expiring`: messages have a lifetime.
    pub fn of(facts: &[Facts], expiring: bool) -> Self {
        let promised = promised(facts);
        let reliable = promised.has(Guarantees::RELIABLE) && !expiring;
        let bounds = given(facts).has(Property::BOUNDS);
        match (reliable, promised.has(Guarantees::ORDERED)) {
            (true, true) if !bounds => Promise::Octets,
            (true, true) => Promise::InOrder,
            (true, false) => Promise::Once,
            (false, true) => Promise::Rising,
            (false, false) => Promise::AtMostOnce,
        }
    }
}

impl Promise {
    fn is_complete(self) -> bool {
        !matches!(self, Promise::AtMostOnce | Promise::Rising)
    }
}

/// What is said.
#[derive(Clone, Copy, Debug)]
pub struct Talk {
    /// How many messages from the end that opens.
    pub there: u64,
    /// How many from the other.
    pub back: u64,
    /// The longest message in octets; most are short.
    pub longest: usize,
    /// What is wished of each.
    pub properties: MessageProperties,
    /// What is promised about them.
    pub promise: Promise,
    /// All must be over by then.
    pub limit: Duration,
    /// Whether the end that opens says nothing before the association is open, as a layer above
    /// would.
    pub waits: bool,
    /// Whether the ends are closed when all is said, which must end well.
    pub closes: bool,
}

impl Default for Talk {
    fn default() -> Self {
        Talk {
            there: 60,
            back: 20,
            longest: 6000,
            properties: MessageProperties::default(),
            promise: Promise::Once,
            limit: Duration::from_secs(600),
            waits: false,
            closes: true,
        }
    }
}

/// How a talk went.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcome {
    /// A hash of all that was on the wire.
    pub trace: u64,
    /// How many packets were.
    pub packets: u64,
    /// How many messages arrived.
    pub delivered: u64,
    /// How long it took.
    pub took: Duration,
}

/// How a talk failed: in words.
pub type Failure = String;

/// What one side has heard.
struct Heard {
    seed: u64,
    count: u64,
    seen: Vec<bool>,
    delivered: u64,
    expected: u64,
    octets: Vec<u8>,
    /// All that is said to it, where messages have no bounds.
    whole: Vec<u8>,
}

fn message(seed: u64, nth: u64, longest: usize) -> Vec<u8> {
    let mut random = Rng::with_seed(seed ^ nth.wrapping_mul(77));
    let most = if random.u8(..) < 26 { longest } else { longest.min(300) };
    let mut octets = nth.to_be_bytes().to_vec();
    octets.resize(8 + random.usize(..=most.saturating_sub(8)), 0);
    random.fill(&mut octets[8..]);
    octets
}

impl Heard {
    fn new(seed: u64, count: u64, talk: &Talk) -> Self {
        let messages = if talk.promise == Promise::Octets { count } else { 0 };
        Heard {
            seed,
            count,
            seen: vec![false; count as usize],
            delivered: 0,
            expected: 0,
            octets: Vec::new(),
            whole: (0..messages).flat_map(|nth| message(seed, nth, talk.longest)).collect(),
        }
    }

    fn hear(&mut self, octets: &[u8], talk: &Talk) -> Result<(), Failure> {
        self.delivered += 1;
        if talk.promise == Promise::Octets {
            self.octets.extend_from_slice(octets);
            return Ok(());
        }
        let Some((nth, _)) = octets.split_first_chunk() else {
            return Err("a message that is too short".into());
        };
        let nth = u64::from_be_bytes(*nth);
        if nth >= self.count || octets != message(self.seed, nth, talk.longest) {
            return Err(format!("message {nth} is not what was sent"));
        }
        if std::mem::replace(&mut self.seen[nth as usize], true) {
            return Err(format!("message {nth} came twice"));
        }
        let in_order = match talk.promise {
            Promise::InOrder => nth == self.expected,
            Promise::Rising => nth >= self.expected,
            _ => true,
        };
        if !in_order {
            return Err(format!("message {nth} came before {}", self.expected));
        }
        self.expected = nth + 1;
        Ok(())
    }

    fn has_all(&self, talk: &Talk) -> bool {
        match talk.promise {
            Promise::Octets => self.octets.len() == self.whole.len(),
            promise => !promise.is_complete() || self.delivered == self.count,
        }
    }
}

impl<C: Configuration<Message = BufferTree>> Trial<C> {
    /// Opens, talks and closes. `meddle` is called after each packet, with the end that sent it and
    /// how many were sent.
    ///
    /// # Errors
    /// What was promised and not kept.
    pub fn talk(
        &mut self,
        talk: &Talk,
        seed: u64,
        mut meddle: impl FnMut(&mut End<C>, u64),
    ) -> Result<Outcome, Failure> {
        let mut heard = [Heard::new(!seed, talk.back, talk), Heard::new(seed, talk.there, talk)];
        let counts = [talk.there, talk.back];
        let mut sent = [0; 2];
        let until = self.now + talk.limit;
        let mut finished = false;
        let mut steps = 0;
        self.ends[0].open(self.now);
        loop {
            for side in [0, 1] {
                let phase = self.ends[side].phase(self.now);
                let open = match side {
                    0 => !talk.waits || phase == Phase::Open,
                    _ => phase != Phase::Idle,
                };
                while open
                    && sent[side] < counts[side]
                    && self.ends[side].association.sending().waiting() < 16
                {
                    let octets = message(heard[1 - side].seed, sent[side], talk.longest);
                    self.ends[side].send(self.now, &octets, talk.properties);
                    sent[side] += 1;
                }
            }
            let mut packets = self.packets;
            self.speak(|end, _, _| {
                packets += 1;
                meddle(end, packets);
            });
            for side in [0, 1] {
                while let Some((octets, _)) = self.ends[side].take(self.now) {
                    heard[side].hear(&octets, talk)?;
                }
            }
            let quiet = self.ends.iter().all(|end| {
                let view = end.association.sending();
                view.is_idle() && view.is_drained()
            });
            let done = sent == counts && heard.iter().all(|side| side.has_all(talk)) && quiet;
            if done && !talk.closes {
                break;
            }
            if done && !finished {
                finished = true;
                self.ends[0].association.close();
                continue;
            }
            if self.ended(finished)? {
                break;
            }
            steps += 1;
            if steps > 2_000_000 || self.packets > 400_000 {
                return Err(format!(
                    "a storm: {} packets, {:?} and {:?}, deadlines {:?}",
                    self.packets,
                    self.ends[0].phase(self.now),
                    self.ends[1].phase(self.now),
                    [0, 1].map(|side| self.ends[side]
                        .next_deadline(self.now)
                        .map(|at| at.since(self.now))),
                ));
            }
            if !self.step() {
                return Err(format!(
                    "stuck: {} and {} arrived",
                    heard[0].delivered, heard[1].delivered
                ));
            }
            if self.now > until {
                return Err(format!("not over after {:?}", talk.limit));
            }
        }
        for side in &heard {
            if talk.promise == Promise::Octets && side.octets != side.whole {
                return Err("the octets are not what was sent".into());
            }
        }
        let delivered = heard.iter().map(|side| side.delivered).sum();
        let took = self.now.since(Instant::from_nanoseconds(1_000_000_000));
        Ok(Outcome { trace: self.trace(), packets: self.packets, delivered, took })
    }

    /// Whether both ends are over; it is an error where one should not be.
    fn ended(&self, finished: bool) -> Result<bool, Failure> {
        let mut over = 0;
        for (side, end) in self.ends.iter().enumerate() {
            if let Phase::Ended(ending) = end.phase(self.now) {
                if !finished || ending != Ending::Finished {
                    return Err(format!(
                        "end {side} is over: {ending:?}; dropped {:?}",
                        self.reasons()
                    ));
                }
                over += 1;
            }
        }
        // An end that is told may have nobody left to hear its answer: the one that closes counts.
        Ok(over == 2 || matches!(self.ends[0].phase(self.now), Phase::Ended(_)))
    }

    /// What was dropped, and how often.
    pub fn reasons(&self) -> HashMap<String, u64> {
        let mut reasons = HashMap::new();
        for (side, dropped) in &self.dropped {
            *reasons.entry(format!("{side}: {}", dropped.reason())).or_default() += 1;
        }
        reasons
    }
}
