//! `group perf`: casts of all members at once, or one at a time.

use std::mem;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use hdrhistogram::Histogram;
use serde_json::json;
use stackwright::contract::services::{
    Credit, Ended, GroupNotice, GroupOrder, GroupProperties, Groups, GroupsIndication,
    GroupsRequest, Rank,
};
use stackwright::contract::{Facts, Guarantees, IndicationOf, Outlet, RequestOf};
use stackwright::wire::{Header as _, Message as _};
use stackwright_parts::Stack;

use super::{Joining, LOOK, NAME};
use crate::interrupts::interrupts;
use crate::perf::{Kind, LONGEST, SHORTEST, Word, processor, shown};
use crate::problem::Problem;
use crate::quantity::{octets, patience};
use crate::report::say;
use crate::stacks::Message;

#[derive(Args)]
#[command(after_help = "\
All members cast as fast as they may, and each reports what it delivered. With --requests only the
first casts, and waits each time: in total order until its own cast is delivered to it, else until
that of the next member is, which answers. All members need the same options but --at and --octets.

Example, each in a terminal of its own:
  stackwright group perf --at 127.0.0.1:4370 --with 127.0.0.1:4371,127.0.0.1:4372
  stackwright group perf --at 127.0.0.1:4371 --with 127.0.0.1:4370,127.0.0.1:4372
  stackwright group perf --at 127.0.0.1:4372 --with 127.0.0.1:4370,127.0.0.1:4371")]
pub(crate) struct GroupPerf {
    #[command(flatten)]
    joining: Joining,
    /// In which order casts are delivered.
    #[arg(long, value_enum, default_value_t = CastOrder::Fifo, conflicts_with = "stack")]
    order: CastOrder,
    /// Begin when N members are there [default: those that --with names, and this one].
    #[arg(long, value_name = "N")]
    members: Option<usize>,
    /// Length of a cast, at least 16 octets [default: 1000; 64 with --requests].
    #[arg(long, value_name = "OCTETS", value_parser = octets)]
    size: Option<u64>,
    /// Cast for this long, in seconds or with a unit (500ms, 2m).
    #[arg(long, default_value = "5s", value_parser = patience)]
    time: Duration,
    /// Cast this many octets, such as 100MB, instead of casting for a time.
    #[arg(long, value_parser = octets, conflicts_with = "time")]
    octets: Option<u64>,
    /// Measure latency: one cast in flight.
    #[arg(long)]
    requests: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum CastOrder {
    /// Those of each member in the order in which it sent them.
    Fifo,
    /// And none before what its sender had delivered.
    Causal,
    /// The same at all members, of what a quorum has.
    Total,
}

impl CastOrder {
    /// Returns the layers of it above the membership, from below.
    fn layers(self) -> &'static [&'static str] {
        match self {
            CastOrder::Fifo => &[],
            CastOrder::Causal => &["causal"],
            CastOrder::Total => &["safe", "total"],
        }
    }
}

/// The longest cast that leaves as one packet.
const PACKET: usize = 1200;
/// The longest cast: some of them are within the credit.
const SIZE_MOST: usize = Credit::ROOM.octets / 4;
/// Octets that are free before a cast: headers are written there.
const HEADROOM: usize = 128;
/// What ends a measurement.
const GONE: &str = "a member is gone, or was silent for longer than --detect";
/// Casts between two looks at what has arrived.
const TURN: usize = 64;

const NEEDS: Facts = Facts {
    needs: Guarantees::VIEWS.and(Guarantees::ORDERED).and(Guarantees::ONCE),
    ..Facts::named("perf")
};

type PerfStack = Stack<Groups<Message>>;

impl GroupPerf {
    pub(super) fn run(&self) -> Result<(), Problem> {
        self.joining.check()?;
        if self.joining.multicast && self.joining.with.is_empty() && self.members.is_none() {
            let why = "without --with it is not known how many members there are to be";
            return Err(Problem::Unfit { what: "--members".into(), why });
        }
        let size = self.size.unwrap_or(if self.requests { 64 } else { 1000 });
        let size = usize::try_from(size).unwrap_or(usize::MAX).max(SHORTEST);
        if size > SIZE_MOST {
            let (what, why) = ("--size".into(), "a cast has 262144 octets at most");
            return Err(Problem::Unfit { what, why });
        }
        let pieces: &[&str] = if size > PACKET { &["fragments"] } else { &[] };
        let layers = [self.order.layers(), pieces].concat();
        let (mut driver, mut stack) = self.joining.layered("group-talk", &layers, &NEEDS)?;
        let interrupted = interrupts()?;
        let mut ear = Ear::new(self.members(), self.requests && self.order != CastOrder::Total);
        let mut casting = Casting::new(self, size)?;
        driver.request(&mut stack, self.joining.open(), &mut ear);
        loop {
            if let Some(why) = ear.ended {
                self.joining.ended(why)?;
                let outcome = casting.outcome.ok_or(Problem::Interrupted)?;
                self.tell(&outcome);
                return Ok(());
            }
            if casting.begun.is_some() && casting.outcome.is_none() && !ear.is_whole {
                let (url, why) = (self.joining.group.to_string(), GONE.into());
                return Err(Problem::Measurement { url, why });
            }
            let mut asks = ear.answers();
            casting.go_on(&mut ear, &mut asks);
            if (casting.is_over(&ear) || interrupted.load(Relaxed))
                && !mem::replace(&mut casting.leaves, true)
            {
                asks.push(GroupsRequest::Close { name: NAME });
            }
            let wait = if asks.is_empty() { casting.wait() } else { Duration::ZERO };
            driver.requests(&mut stack, asks, &mut ear);
            driver.turn(&mut stack, &mut ear, Some(wait))?;
        }
    }

    /// Returns how many members there are to be.
    fn members(&self) -> usize {
        let Joining { at, with, .. } = &self.joining;
        let others = with.iter().filter(|other| *other != at).count();
        self.members.unwrap_or(others + 1).max(1)
    }

    fn tell(&self, outcome: &Outcome) {
        let Outcome { took, processor, sent, casts, octets, .. } = *outcome;
        let seconds = took.as_secs_f64();
        let latencies = (!outcome.latencies.is_empty()).then_some(&outcome.latencies);
        let lost = sent.saturating_sub(casts);
        if self.json {
            let latencies = latencies.map(|all| {
                let at = |quantile| all.value_at_quantile(quantile) as f64 / 1e3;
                json!({ "p50": at(0.5), "p90": at(0.9), "p99": at(0.99), "max": at(1.0), "mean": all.mean() / 1e3 })
            });
            let order = self.order.to_possible_value().map(|order| order.get_name().to_owned());
            let order = order.filter(|_| self.joining.stack.is_none());
            return say!(
                "{}",
                json!({ "order": order, "members": self.members(), "sent": outcome.own,
                        "casts": casts, "lost": lost, "octets": octets, "seconds": seconds,
                        "processor": processor.as_secs_f64(), "latencies_us": latencies })
            );
        }
        let (amount, rate) = (shown::amount(octets), shown::rate(octets, took));
        let often = casts as f64 / seconds.max(1e-9);
        say!("{casts} casts of {} members in {seconds:.2} s: {often:.0} a second", self.members());
        say!("  {amount} delivered here, {rate}");
        if lost > 0 {
            say!("  {lost} of {sent} casts were not delivered");
        }
        if let Some(all) = latencies {
            let at = |quantile| shown::short(Duration::from_nanos(all.value_at_quantile(quantile)));
            say!("  latency: median {}, 99 % {}, max {}", at(0.5), at(0.99), at(1.0));
        }
        let each = processor.div_f64((octets as f64 / 1e6).max(1e-9));
        say!("  processor time: {} per megabyte here", shown::short(each));
    }
}

/// What this member casts.
struct Casting {
    payload: Vec<u8>,
    requests: bool,
    /// How many casts, and for how long.
    most: u64,
    time: Option<Duration>,
    /// When it began, and the processor time then.
    begun: Option<(Instant, Duration)>,
    sent: u64,
    /// When the last was cast, where it is waited for.
    asked: Option<Instant>,
    latencies: Histogram<u64>,
    has_ended: bool,
    outcome: Option<Outcome>,
    has_reported: bool,
    leaves: bool,
    /// It casts more as soon as it may.
    has_more: bool,
}

struct Outcome {
    took: Duration,
    processor: Duration,
    /// Casts that this member has sent, and all of them.
    own: u64,
    sent: u64,
    /// What was delivered here.
    casts: u64,
    octets: u64,
    latencies: Histogram<u64>,
}

impl Casting {
    fn new(perf: &GroupPerf, size: usize) -> Result<Self, Problem> {
        let latencies = Histogram::new_with_max(LONGEST, 3).map_err(std::io::Error::other)?;
        Ok(Casting {
            payload: vec![0; size - Word::LENGTH],
            requests: perf.requests,
            most: perf.octets.map_or(u64::MAX, |octets| octets.div_ceil(size as u64)),
            time: perf.octets.is_none().then_some(perf.time),
            begun: None,
            sent: 0,
            asked: None,
            latencies,
            has_ended: false,
            outcome: None,
            has_reported: false,
            leaves: false,
            has_more: false,
        })
    }

    /// Casts what it may, and notes what has come of it.
    fn go_on(&mut self, ear: &mut Ear, asks: &mut Vec<GroupsRequest<Message>>) {
        self.has_more = false;
        if self.begun.is_none() && ear.is_whole {
            self.begun = Some((Instant::now(), processor()));
        }
        let Some((begun, before)) = self.begun else { return };
        let now = Instant::now();
        if let Some(asked) = self.asked.take_if(|_| ear.answered == self.sent) {
            self.latencies.saturating_record((now - asked).as_nanos() as u64);
        }
        let casts = !self.requests || ear.me == Rank(0);
        let ends =
            !casts || self.sent >= self.most || self.time.is_some_and(|it| now - begun >= it);
        let turn = if ends { 0 } else { TURN };
        for _ in 0..turn {
            if self.asked.is_some() || self.sent >= self.most {
                break;
            }
            let kind = if self.requests { Kind::Request } else { Kind::Data };
            if !ear.cast(asks, kind, self.sent + 1, &self.payload) {
                break;
            }
            self.sent += 1;
            self.asked = self.requests.then_some(now);
        }
        self.has_more = !ends && self.asked.is_none() && ear.takes(self.payload.len());
        if let Some(number) = ear.asked.take()
            && !ear.cast(asks, Kind::Reply, number, &self.payload)
        {
            ear.asked = Some(number);
        }
        if ends && self.asked.is_none() && !self.has_ended {
            self.has_ended = ear.cast(asks, Kind::End, self.sent, &[]);
        }
        if self.outcome.is_none()
            && let Some(sent) = ear.all_sent()
        {
            let (took, processor) = (begun.elapsed(), processor() - before);
            let (own, casts, octets) = (self.sent, ear.casts, ear.octets);
            let latencies = self.latencies.clone();
            self.outcome = Some(Outcome { took, processor, own, sent, casts, octets, latencies });
        }
        if self.outcome.is_some() && !self.has_reported {
            self.has_reported = ear.cast(asks, Kind::Report, 0, &[]);
        }
    }

    /// Returns whether nobody waits for anything any more.
    fn is_over(&self, ear: &Ear) -> bool {
        self.has_reported && (ear.reports >= ear.ends.len() || !ear.is_whole)
    }

    /// Returns how long nothing is to be cast.
    fn wait(&self) -> Duration {
        let passed = self.begun.map_or(Duration::ZERO, |(begun, _)| begun.elapsed());
        let rest = self.time.map_or(LOOK, |time| time.saturating_sub(passed));
        if self.has_more {
            Duration::ZERO
        } else if rest == Duration::ZERO {
            LOOK
        } else {
            LOOK.min(rest)
        }
    }
}

/// What was told.
struct Ear {
    /// How many members there are to be.
    members: usize,
    /// The next member answers requests.
    answers: bool,
    me: Rank,
    /// All are there, and vote.
    is_whole: bool,
    blocks: bool,
    credit: Credit,
    owed: Credit,
    casts: u64,
    octets: u64,
    /// Of each member, what it has cast in all.
    ends: Vec<Option<u64>>,
    reports: usize,
    /// A request that is to be answered, and the last that was.
    asked: Option<u64>,
    answered: u64,
    ended: Option<Ended>,
}

impl Ear {
    fn new(members: usize, answers: bool) -> Self {
        Ear {
            members,
            answers: answers && members > 1,
            me: Rank(0),
            is_whole: false,
            blocks: false,
            credit: Credit::NONE,
            owed: Credit::NONE,
            casts: 0,
            octets: 0,
            ends: vec![None; members],
            reports: 0,
            asked: None,
            answered: 0,
            ended: None,
        }
    }

    /// Returns what is answered to what was told.
    fn answers(&mut self) -> Vec<GroupsRequest<Message>> {
        let (association, mut asks) = (NAME, Vec::new());
        if mem::take(&mut self.blocks) {
            asks.push(GroupsRequest::Tell { association, order: GroupOrder::Blocked });
        }
        let credit = mem::take(&mut self.owed);
        if credit != Credit::NONE {
            asks.push(GroupsRequest::Credit { association, credit });
        }
        asks
    }

    fn takes(&self, payload: usize) -> bool {
        self.credit.covers(Credit { octets: Word::LENGTH + payload, messages: 1 })
    }

    /// Casts, if there is credit.
    fn cast(
        &mut self,
        asks: &mut Vec<GroupsRequest<Message>>,
        kind: Kind,
        number: u64,
        payload: &[u8],
    ) -> bool {
        if !self.takes(payload.len()) {
            return false;
        }
        self.credit -= Credit { octets: Word::LENGTH + payload.len(), messages: 1 };
        let mut message = Message::with_headroom(HEADROOM, payload);
        message.push(&Word { kind, number });
        let (batch, properties) = (message.into(), GroupProperties::default());
        asks.push(GroupsRequest::Send { association: NAME, batch, properties });
        true
    }

    /// Returns how many casts there are in all, as soon as all members have cast them.
    fn all_sent(&self) -> Option<u64> {
        self.ends.iter().copied().sum()
    }

    fn delivered(&mut self, from: Rank, word: Word, octets: usize) {
        match word.kind {
            Kind::Data | Kind::Request | Kind::Reply => {
                self.casts += 1;
                self.octets += octets as u64;
            }
            Kind::End => {
                if let Some(end) = self.ends.get_mut(usize::from(from.0)) {
                    *end = Some(word.number);
                }
            }
            Kind::Report => self.reports += 1,
            Kind::Counting => {}
        }
        match word.kind {
            Kind::Request if self.answers && self.me == Rank(1) => self.asked = Some(word.number),
            Kind::Request if !self.answers && self.me == from => self.answered = word.number,
            Kind::Reply => self.answered = word.number,
            _ => {}
        }
    }
}

impl Outlet<PerfStack> for Ear {
    fn indicate(&mut self, told: IndicationOf<PerfStack>) {
        match told {
            GroupsIndication::Delivered { batch, properties, .. } => {
                self.owed += batch.cost();
                for mut message in batch {
                    let octets = message.len();
                    if let Some(word) = Word::begins(message.front(Word::LENGTH).into_iter()) {
                        self.delivered(properties.member, word, octets);
                    }
                }
            }
            GroupsIndication::Told { notice: GroupNotice::View(view), .. } => {
                let all_vote = view.members.iter().all(|member| member.votes);
                self.is_whole = view.me.is_some() && view.members.len() == self.members && all_vote;
                self.me = view.me.unwrap_or(Rank(u16::MAX));
            }
            GroupsIndication::Told { notice: GroupNotice::Block, .. } => self.blocks = true,
            GroupsIndication::Opened { credit, .. } | GroupsIndication::Credit { credit, .. } => {
                self.credit += credit;
            }
            GroupsIndication::Ended { why, .. } => self.ended = Some(why),
            _ => {}
        }
    }

    fn request(&mut self, request: RequestOf<PerfStack>) {
        match request {}
    }
}
