//! What two applications say to each other when they use all that ARTP offers, and what is promised
//! about it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use fastrand::Rng;
use stackwright_artp::header::ControlKind;
use stackwright_artp::{Artp, Item};
use stackwright_contract::services::{MessageKind, MessageProperties};
use stackwright_contract::{Duration, Instant};
use stackwright_transport::words::{Ending, Phase};
use stackwright_trial::Trial;
use stackwright_wire::BufferTree;

/// Two ends of ARTP.
pub(crate) type Ends = Trial<Artp<BufferTree>>;

/// How a conversation failed: in words.
pub(crate) type Failure = String;

/// What is said.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversation {
    /// How many datagrams from each end.
    pub(crate) counts: [u32; 2],
    /// The longest, in octets. Most are short, and some have none.
    pub(crate) longest: usize,
    /// Whether every other one is wished for a while only, and for how long, at least and at most,
    /// in microseconds.
    pub(crate) lifetime: Option<[u32; 2]>,
    /// The time between two of them.
    pub(crate) every: Duration,
    /// Whether readers stop now and then for a second or two.
    pub(crate) pauses: bool,
    /// All must be over by then.
    pub(crate) limit: Duration,
    /// No more packets may be needed.
    pub(crate) packets_most: u64,
}

impl Default for Conversation {
    fn default() -> Self {
        Conversation {
            counts: [20, 10],
            longest: 3000,
            lifetime: None,
            every: Duration::ZERO,
            pauses: true,
            limit: Duration::from_secs(600),
            packets_most: 50_000,
        }
    }
}

/// One datagram.
struct Said {
    octets: Vec<u8>,
    properties: MessageProperties,
    sent: Option<Instant>,
    /// Nothing expires on the wire before it is known what time it is at the other end.
    expires: bool,
    heard: Option<Instant>,
}

/// What was heard, and when: for those who look closer.
pub(crate) struct Outcome {
    /// Of each end's datagrams: how many of those that were to live for ever, and of the others.
    pub(crate) heard: [[usize; 2]; 2],
    /// The longest that a datagram lived longer than it was wished to, in microseconds.
    pub(crate) late_most: i64,
}

/// The number of an application's control message stands in its only item.
fn named(octets: &[u8], properties: &MessageProperties) -> Option<u32> {
    match properties.kind {
        MessageKind::Data => properties.number,
        MessageKind::Control => octets.get(4..8)?.try_into().ok().map(u32::from_be_bytes),
    }
}

impl Conversation {
    fn script(&self, random: &mut Rng, side: usize) -> BTreeMap<u32, Said> {
        let first = u32::MAX - random.u32(..10);
        let one = |nth: u32| {
            let number = first.wrapping_add(nth);
            let control = random.u8(..) < 20;
            let mut octets = Vec::new();
            if control {
                Item { kind: ControlKind::Request, id: 0x80, value: &number.to_be_bytes() }
                    .write(&mut octets);
            } else {
                let most = if random.u8(..) < 26 { self.longest } else { self.longest.min(200) };
                octets.resize(if random.u8(..) < 26 { 0 } else { random.usize(..=most) }, 0);
                random.fill(&mut octets);
            }
            let lifetime = self
                .lifetime
                .filter(|_| random.bool())
                .map(|[least, most]| random.u32(least..=most));
            let properties = MessageProperties {
                lifetime: lifetime.and_then(NonZeroU32::new),
                number: (!control).then_some(number),
                priority: [128, 128, 0, 255][random.usize(..4)],
                kind: if control { MessageKind::Control } else { MessageKind::Data },
                ..MessageProperties::default()
            };
            (number, Said { octets, properties, sent: None, expires: false, heard: None })
        };
        (0..self.counts[side]).map(one).collect()
    }

    /// Opens, talks, and closes. `look` is called after each event.
    pub(crate) fn hold(
        &self,
        ends: &mut Ends,
        seed: u64,
        mut look: impl FnMut(&mut Ends) -> Result<(), Failure>,
    ) -> Result<Outcome, Failure> {
        let random = &mut Rng::with_seed(seed ^ 0x5eed);
        let mut said = [0, 1].map(|side| self.script(random, side));
        let mut next: [Vec<u32>; 2] = [0, 1].map(|side| {
            let mut numbers: Vec<u32> = said[side].keys().copied().collect();
            // In the order in which they were numbered, the last first, though the numbers wrap.
            numbers.sort_by_key(|number| number.wrapping_add(1 << 31));
            numbers.reverse();
            numbers
        });
        let until = ends.now() + self.limit;
        let (mut due, mut reads_from) = (ends.now(), [ends.now(); 2]);
        let (mut finished, mut steps, mut late_most) = (false, 0_u64, i64::MIN);
        // What came in time from a peer who had not shown that he hears us is held until he has: it
        // may be late by then.
        let mut held = [true; 2];
        ends.ends[0].open(ends.now());
        loop {
            let now = ends.now();
            for side in [0, 1] {
                let open = side == 0 || !matches!(ends.ends[1].phase(now), Phase::Idle);
                let most = if self.every.is_zero() { 16 } else { usize::MAX };
                while open && due <= now && ends.ends[side].association.sending().waiting() < most {
                    let Some(one) = next[side].pop().and_then(|number| said[side].get_mut(&number))
                    else {
                        break;
                    };
                    one.sent = Some(now);
                    one.expires =
                        ends.ends[side].association.slots().lifetime().difference().is_some();
                    if !ends.ends[side].offer(now, &one.octets, one.properties) {
                        return Err(format!(
                            "{} octets are too long for the other end",
                            one.octets.len()
                        ));
                    }
                    if !self.every.is_zero() {
                        break;
                    }
                }
            }
            if due <= now {
                due = now + self.every;
            }
            ends.speak(|_, _, _| {});
            for side in [0, 1] {
                if reads_from[side] > now {
                    continue;
                }
                while let Some((octets, properties)) = ends.ends[side].take(now) {
                    let number =
                        named(&octets, &properties).ok_or("a datagram without a number")?;
                    let one = said[1 - side]
                        .get_mut(&number)
                        .ok_or(format!("datagram {number} was never sent"))?;
                    let same =
                        one.octets == octets && one.properties.priority == properties.priority;
                    let sent = one
                        .sent
                        .filter(|_| same)
                        .ok_or(format!("datagram {number} is not what was sent"))?;
                    if one.heard.replace(now).is_some() {
                        return Err(format!("datagram {number} came twice"));
                    }
                    if let Some(wish) =
                        one.properties.lifetime.filter(|_| one.expires && !held[side])
                    {
                        let age = now.since(sent).as_micros() as i64;
                        late_most = late_most.max(age - i64::from(wish.get()));
                    }
                    if self.pauses && random.u8(..) < 16 {
                        reads_from[side] = now + Duration::from_millis(random.u64(1..2000));
                        break;
                    }
                }
            }
            held = [0, 1].map(|side| ends.ends[side].association.is_half_open());
            ends.speak(|_, _, _| {});
            bounded(ends)?;
            look(ends)?;
            // Counted where it is asked for: after each event it would take most of the time.
            let wanting = || {
                let all = said.iter().flat_map(BTreeMap::values);
                all.filter(|one| one.heard.is_none() && one.properties.lifetime.is_none()).count()
            };
            let quiet = ends.ends.iter().all(|end| {
                let sending = end.association.sending();
                sending.is_idle() && sending.is_drained() && end.association.inbox() == 0
            });
            if quiet && !finished && next.iter().all(Vec::is_empty) && wanting() == 0 {
                finished = true;
                ends.ends[0].association.close();
                continue;
            }
            if let Phase::Ended(ending) = ends.ends[0].phase(now) {
                if finished && ending == Ending::Finished {
                    break;
                }
                return Err(format!(
                    "over: {ending:?}, wanting {}, dropped {:?}",
                    wanting(),
                    ends.reasons()
                ));
            }
            steps += 1;
            if steps > 1_000_000 || ends.packets() > self.packets_most {
                return Err(format!(
                    "a storm: {steps} steps, {} packets, wanting {}",
                    ends.packets(),
                    wanting()
                ));
            }
            let waits = reads_from.iter().copied().filter(|at| *at > now);
            let speaks =
                Some(due).filter(|due| *due > now && next.iter().any(|next| !next.is_empty()));
            match waits.chain(speaks).min() {
                Some(at) => {
                    ends.until(at);
                }
                None if !ends.step() => return Err(format!("stuck, wanting {}", wanting())),
                None => {}
            }
            if ends.now() > until {
                return Err(format!(
                    "not over after {:?}, wanting {}, {} packets, dropped {:?}",
                    self.limit,
                    wanting(),
                    ends.packets(),
                    ends.reasons()
                ));
            }
        }
        let heard = said.map(|said| {
            [false, true].map(|lives| {
                said.values()
                    .filter(|one| one.heard.is_some() && one.properties.lifetime.is_some() == lives)
                    .count()
            })
        });
        Ok(Outcome { heard, late_most })
    }
}

/// What is always so: no more is on its way than both ends take, and whoever waits is woken.
fn bounded(ends: &mut Ends) -> Result<(), Failure> {
    let now = ends.now();
    for side in [0, 1] {
        let wakes = ends.ends[side].association.next_deadline(now).is_some();
        let end = &ends.ends[side];
        let sending = end.association.sending();
        if !sending.is_idle() && !wakes && !matches!(end.phase(now), Phase::Ended(_)) {
            return Err(format!("end {side} waits, and no timer is armed"));
        }
        if sending.sent_upto() - sending.settled_upto() > 1024 + 1 {
            return Err(format!(
                "end {side} has {} on their way",
                sending.sent_upto() - sending.settled_upto()
            ));
        }
        let receipts = end.association.receipts();
        if receipts.beyond().len() > 1024 {
            return Err(format!("end {side} remembers {} spans", receipts.beyond().len()));
        }
    }
    Ok(())
}
