//! Numbers on casts, a log of them, and questions for those that are missing: every cast of a
//! member reaches all that stay, in its sender's order, once.
//!
//! A message for one member is a cast that the others do not deliver: so it is repeated, ordered
//! and counted as any other.

mod repeat;
mod report;

pub use repeat::{FetchHeader, RepeatHeader};

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use stackwright_contract::services::{
    Batch, CastCounts, Credit, GroupKind, GroupNotice, GroupOrder, GroupProperties, GroupView, Rank,
};
use stackwright_contract::{Duration, Facts, Guarantees, Instant, Participant};
use stackwright_wire::{Header, Message};

use crate::layer::{GroupHooks, GroupPlace};
use crate::log::{Cast, Log};
use crate::room::Room;
use crate::wire::{self, Reader};
use report::Star;

const NAME: &str = "group nak";

/// Casts of one answer, at most.
const REPEATED_MOST: u32 = 64;

/// Casts that a member is answered with in one turn, at most: a sender's window.
const ANSWERED_MOST: u32 = Credit::ROOM.messages as u32;

/// What the logs of all senders have, at most: in a large view each has a smaller window.
const LOG_MOST: usize = 64 << 20;

/// How long what was asked for is not asked for again: a turn.
const ASKED: Duration = Duration::from_millis(20);

/// When members report, and how far a sender may be ahead of the slowest.
#[derive(Clone, Copy, Debug)]
pub struct NakConfig {
    /// A report of what a member has leaves at least this often: it says, too, that it lives.
    pub report: Duration,
    /// While there is nothing new, each report leaves after twice the time of the last, up to this
    /// one; `None`: reports are all that says that a member lives.
    pub idle: Option<Duration>,
    /// Own casts that some member may lack: then the layer above has no more credit.
    pub window: Credit,
    /// A member whose application takes nothing for this long falls silent, so that the others go
    /// on without it.
    pub patience: Duration,
}

impl Default for NakConfig {
    fn default() -> Self {
        NakConfig {
            report: Duration::from_millis(50),
            idle: None,
            window: Credit::ROOM,
            patience: Duration::from_secs(1),
        }
    }
}

/// The header of a cast, and of what members say of casts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct NakHeader {
    /// 0: a cast; 1: a report; 5: one to the first of a large view, 6: what that says; outside of a
    /// view 2: of the layers above, 3: casts are asked for, 4: one is repeated.
    pub kind: u8,
    /// Of a cast, for whom; of a report, whether its sender votes.
    pub detail: u8,
    /// Of a cast, its sender's rank.
    pub origin: u16,
    /// Of a cast, its number, from 1 in each view.
    pub number: u32,
}

const CAST: u8 = 0;
const REPORT: u8 = 1;
const ABOVE: u8 = 2;
const FETCH: u8 = 3;
const REPEAT: u8 = 4;
const REPORT_TO_FIRST: u8 = 5;
const FIRST_SAYS: u8 = 6;

/// The hooks of the layer.
pub struct Nak<M> {
    config: NakConfig,
    view: Option<InView<M>>,
    /// What the layers above have room for, and since when it was too little.
    room: Room,
    full: Option<Instant>,
    /// Octets that the layer above may have in the log, and what of it was not given yet.
    window: usize,
    above: Room,
    /// A layer above delivers nobody's casts before others that they follow.
    in_step: bool,
    /// The last view, its mark and its log, for members that are still on their way out of it.
    old: Option<(Arc<GroupView>, u32, Log<M>)>,
    /// Since when, and with how many casts, a member of either view was answered.
    answered: BTreeMap<Participant, (Instant, u32)>,
    /// A view of more members is a large one.
    pub(crate) large: usize,
}

struct InView<M> {
    view: Arc<GroupView>,
    tag: u32,
    me: usize,
    log: Log<M>,
    sent: u32,
    /// Whether it has the state, and counts for a quorum.
    votes: bool,
    /// What each member of a small view has of each sender; and what all others have, as far as it
    /// is known.
    others: Vec<Vec<u32>>,
    all: Vec<u32>,
    /// In a large view, where reports are known that others say by themselves: reports go through
    /// the first.
    star: Option<Star>,
    /// Up to which own cast all members have what was here when it was cast; and what was cast, and
    /// here, when that was found out.
    settled: u32,
    mark: (u32, Vec<u32>),
    /// What was asked for of each sender's casts.
    asked: Vec<Asked>,
    /// Something came that was not reported yet.
    came: bool,
    reports: Instant,
    /// How long after the last report the next one leaves.
    pause: Duration,
    /// Nothing more is delivered but what is to be filled.
    frozen: bool,
    fills: Option<Fill>,
}

/// Casts that were asked for.
#[derive(Clone, Copy)]
struct Asked {
    /// From when on they may be asked for again.
    again: Instant,
    /// The last of them, and up to which more are missing.
    last: u32,
    upto: u32,
}

/// A target that is to be here.
struct Fill {
    upto: CastCounts,
    /// When what is missing is asked for next.
    asks: Instant,
    /// Whether it is delivered: it is the one that was agreed.
    delivers: bool,
}

impl<M: Message> InView<M> {
    /// Returns up to which cast of a sender is taken.
    fn most(&self, origin: usize) -> u32 {
        match &self.fills {
            Some(Fill { upto, .. }) => upto.get(origin).copied().unwrap_or(0),
            None if self.frozen => 0,
            None => u32::MAX,
        }
    }

    /// Returns up to which cast of a sender is delivered.
    fn delivers(&self, origin: usize) -> u32 {
        let only_fetches = self.fills.as_ref().is_some_and(|fill| !fill.delivers);
        if only_fetches { 0 } else { self.most(origin) }
    }
}

impl<M: Message> Nak<M> {
    /// Makes the hooks.
    pub const fn new(config: NakConfig) -> Self {
        let (room, above, window) = (Room::NONE, Room::NONE, config.window.octets);
        let (view, full, old) = (None, None, None);
        let answered = BTreeMap::new();
        let large = wire::LARGE;
        Nak { config, view, room, full, window, above, in_step: false, old, answered, large }
    }

    /// Returns how many octets its logs keep.
    #[cfg(test)]
    pub(crate) fn octets(&self) -> usize {
        let old = self.old.as_ref().map_or(0, |(.., log)| log.octets());
        old + self.view.as_ref().map_or(0, |own| own.log.octets())
    }

    fn install(&mut self, at: &mut dyn GroupPlace<M>, view: Arc<GroupView>) {
        let (mut back, members) = (Credit::NONE, view.members.len());
        self.answered.clear();
        if let Some(mut last) = self.view.take() {
            // What was cast in the last view is in the log of the old, and no longer in this one's.
            for number in 1..=last.sent {
                if let Some(cast) = last.log.get(last.me, number) {
                    back += Batch::from(cast.message.share()).cost();
                }
            }
            last.fills = None;
            self.old = Some((last.view, last.tag, last.log));
        }
        if let Some(Rank(me)) = view.me {
            let (now, report) = (at.cx().now(), self.config.report);
            // Where reports say that a member lives, all have to hear them.
            let is_star = members > self.large && self.config.idle.is_some();
            let reporters = if is_star { 0 } else { members };
            self.view = Some(InView {
                tag: wire::tag(0, &view),
                me: me.into(),
                log: Log::new(members),
                sent: 0,
                votes: false,
                others: alloc::vec![alloc::vec![0; members]; reporters],
                all: alloc::vec![if members > 1 { 0 } else { u32::MAX }; members],
                star: is_star.then(|| Star::new(&view, now, report)),
                settled: 0,
                mark: (0, alloc::vec![0; members]),
                asked: alloc::vec![Asked { again: now, last: 0, upto: 0 }; members],
                came: false,
                reports: now,
                pause: report,
                frozen: false,
                fills: None,
                view,
            });
        }
        self.fit_window(members);
        self.give(at, back);
    }

    /// Members share what the log may have.
    fn fit_window(&mut self, members: usize) {
        let octets = self.config.window.octets.min(LOG_MOST / members.max(1));
        let before = core::mem::replace(&mut self.window, octets);
        self.above.give(Credit::of_octets(octets.saturating_sub(before)));
        self.above.use_up(Credit::of_octets(before.saturating_sub(octets)));
    }

    fn give(&mut self, at: &mut dyn GroupPlace<M>, credit: Credit) {
        at.give(self.above.pass(credit));
    }

    fn received(&mut self, at: &mut dyn GroupPlace<M>, origin: usize, number: u32, cast: Cast<M>) {
        let Some(own) = &mut self.view else { return };
        // Who has promised takes nothing but what the next view's target names: else something
        // could become safe that no target has.
        if number > own.most(origin) || !own.log.insert(origin, number, cast) {
            return;
        }
        own.came = true;
        if let Some(star) = &mut own.star {
            own.reports = own.reports.min(star.change(origin));
        }
        self.rise(at, origin);
        let Some(own) = &self.view else { return };
        if origin != own.me && own.log.have()[origin] < number {
            let to = own.view.members[origin].participant;
            self.ask(at, to, origin, number);
        }
        self.filled(at);
    }

    /// Delivers a sender's casts in order.
    fn rise(&mut self, at: &mut dyn GroupPlace<M>, origin: usize) {
        let Some(own) = &mut self.view else { return };
        let most = own.delivers(origin);
        let me = own.me;
        let is_own =
            |cast: &Cast<M>| cast.to.kind == GroupKind::Cast || usize::from(cast.to.member.0) == me;
        let cost = |cast: &Cast<M>| Credit { octets: cast.message.len(), messages: 1 };
        // The next view waits for nobody's room.
        let fills = own.fills.is_some();
        let mut is_full = false;
        while own.log.have()[origin] < most
            && let Some((number, cast)) = own.log.next(origin, |cast| {
                is_full = !fills && is_own(cast) && !self.room.covers(cost(cast));
                !is_full
            })
        {
            if is_own(cast) {
                self.room.use_up(cost(cast));
                let member = Rank(origin as u16);
                let properties = GroupProperties { member, number, ..cast.to };
                at.deliver(cast.message.share().into(), properties);
            }
        }
        if is_full {
            self.full.get_or_insert(at.cx().now());
        }
    }
}

/// Returns for whom a cast is, as an octet.
fn detail(to: GroupProperties) -> u8 {
    match to.kind {
        GroupKind::Cast => 0,
        GroupKind::Send => 1,
        GroupKind::State => 2 + u8::from(to.last),
    }
}

/// Returns for whom a cast is.
fn properties(detail: u8, member: Rank) -> Option<GroupProperties> {
    let kind = match detail {
        0 => GroupKind::Cast,
        1 => GroupKind::Send,
        2 | 3 => GroupKind::State,
        _ => return None,
    };
    Some(GroupProperties { member, kind, last: detail == 3, number: 0 })
}

impl<M: Message> GroupHooks<M> for Nak<M> {
    const FACTS: Facts = Facts {
        gives: Guarantees::RELIABLE.and(Guarantees::ORDERED).and(Guarantees::ONCE),
        passes: Guarantees::CHECKED,
        header_room: NakHeader::LENGTH + RepeatHeader::LENGTH,
        ..Facts::named(NAME)
    };

    fn open(&mut self, _: &mut dyn GroupPlace<M>, _: Participant, credit: Credit) {
        self.room.give(credit);
    }

    fn opened(&mut self, at: &mut dyn GroupPlace<M>, local: Participant, _: Credit) {
        at.opened(local, self.config.window);
    }

    fn room(&mut self, at: &mut dyn GroupPlace<M>, credit: Credit) {
        self.room.give(credit);
        self.full = None;
        for origin in 0..self.view.as_ref().map_or(0, |own| own.view.members.len()) {
            self.rise(at, origin);
        }
    }

    /// The carrier takes all that this layer sends.
    fn credit(&mut self, _: &mut dyn GroupPlace<M>, _: Credit) {}

    fn send(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, properties: GroupProperties) {
        let Some(own) = self.view.as_mut().filter(|own| !own.frozen) else {
            self.give(at, batch.cost());
            return at.cx().dropped(NAME, "there is no view to cast in");
        };
        own.sent += 1;
        let (me, number, message) = (own.me, own.sent, batch.into_single());
        let mut packet = message.share();
        if properties.kind != GroupKind::Cast {
            packet.push_front(2).copy_from_slice(&properties.member.0.to_be_bytes());
        }
        let (origin, detail) = (me as u16, detail(properties));
        packet.push(&NakHeader { kind: CAST, detail, origin, number });
        // It leaves first: what the layer above answers to its own copy is behind it.
        at.send(packet.into(), GroupProperties::default());
        self.received(at, me, number, Cast { message, to: properties });
    }

    fn delivered(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, from: GroupProperties) {
        let mut message = batch.into_single();
        let Ok(header) = message.pull::<NakHeader>() else {
            return at.cx().dropped(NAME, "no header");
        };
        match header.kind {
            CAST if header.origin == from.member.0 => {
                let to = if header.detail == 0 {
                    Some(Rank(0))
                } else {
                    let to = message.front(2).and_then(|octets| Reader(octets).u16());
                    to.inspect(|_| message.advance(2)).map(Rank)
                };
                let to = to.and_then(|to| properties(header.detail, to));
                let Some(to) = to else { return at.cx().dropped(NAME, "for nobody") };
                let (origin, cast) = (usize::from(header.origin), Cast { message, to });
                self.received(at, origin, header.number, cast);
            }
            REPORT => {
                let length = message.len();
                let have = message.front(length).and_then(|octets| Reader(octets).counts());
                match have {
                    Some(have) => self.reported(at, from.member, header.detail != 0, have),
                    None => at.cx().dropped(NAME, "a report that ends early"),
                }
            }
            REPORT_TO_FIRST | FIRST_SAYS => {
                let (length, votes) = (message.len(), header.detail != 0);
                let Some(octets) = message.front(length).map(Reader) else { return };
                match header.kind {
                    REPORT_TO_FIRST => self.reported_to_first(at, from.member, votes, octets),
                    _ if from.member == Rank(0) => self.first_says(at, votes, octets),
                    _ => at.cx().dropped(NAME, "not of the first"),
                }
            }
            _ => at.cx().dropped(NAME, "of an unknown kind"),
        }
    }

    fn order(&mut self, at: &mut dyn GroupPlace<M>, order: GroupOrder<M>) {
        match order {
            GroupOrder::Install(view) => {
                self.install(at, view.clone());
                at.order(GroupOrder::Install(view));
            }
            GroupOrder::Freeze => {
                let Some(own) = &mut self.view else { return };
                own.frozen = true;
                // What an earlier ballot's target names, the next one's may not.
                own.fills = None;
                let reach = (0..own.view.members.len()).map(|origin| own.log.reach(origin));
                at.notice(GroupNotice::Frozen(reach.collect()));
            }
            GroupOrder::Fetch(upto) => self.fill(at, upto, false),
            GroupOrder::Fill(upto) => self.fill(at, upto, true),
            GroupOrder::Outside(mut outsider) => {
                let header = NakHeader { kind: ABOVE, detail: 0, origin: 0, number: 0 };
                outsider.message.push(&header);
                at.order(GroupOrder::Outside(outsider));
            }
            GroupOrder::Ready => {
                if let Some(own) = &mut self.view {
                    own.votes = true;
                }
            }
            GroupOrder::Layer(layer) => {
                let gives = layer.gives;
                self.in_step |= gives.has(Guarantees::CAUSAL) || gives.has(Guarantees::TOTAL);
                at.order(GroupOrder::Layer(layer));
            }
            GroupOrder::Blocked | GroupOrder::Suspect(_) => {}
        }
    }

    fn notice(&mut self, at: &mut dyn GroupPlace<M>, notice: GroupNotice<M>) {
        match notice {
            GroupNotice::Outside(outsider) => {
                if let Some(outsider) = self.outsider(at, outsider) {
                    at.notice(GroupNotice::Outside(outsider));
                }
            }
            other => at.notice(other),
        }
    }

    fn ended(&mut self) {
        *self = Nak { large: self.large, ..Nak::new(self.config) };
    }

    fn timeout(&mut self, at: &mut dyn GroupPlace<M>) {
        self.filled(at);
        if self.view.as_ref().is_some_and(|own| own.reports <= at.cx().now()) {
            self.report(at);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        let own = self.view.as_ref()?;
        Some(own.fills.as_ref().map_or(own.reports, |fill| own.reports.min(fill.asks)))
    }

    fn flush(&mut self, at: &mut dyn GroupPlace<M>) {
        if self.wants_flush() {
            self.report(at);
        }
    }

    fn wants_flush(&self) -> bool {
        self.view.as_ref().is_some_and(|own| own.came && !own.frozen && own.star.is_none())
    }
}
