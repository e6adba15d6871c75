//! Total order: the first member of the view says in which order casts are delivered. What it did
//! not order goes by rank at the end of the view, at all members the same; what follows a cast that
//! was lost with those who had it is lost, too.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use stackwright_contract::services::{
    Batch, Credit, GroupKind, GroupNotice, GroupOrder, GroupProperties, Rank,
};
use stackwright_contract::{Facts, Guarantees};
use stackwright_wire::{Header, Message};

use crate::layer::{GroupHooks, GroupPlace};
use crate::room::Room;
use crate::wire::Reader;

const NAME: &str = "group total";

/// Runs that one order names, at most: it fits into a packet.
const RUNS_MOST: usize = 256;

/// Own casts that wait for their turn: beyond it the layer above has no more credit.
const OWN_MOST: Credit = Credit::ROOM;

/// What waits for its turn, of each sender. One that keeps to its credit stays below it: what it
/// may have in the log, what waits for an order, and what a view change held back.
const WAITS_MOST: Credit =
    Credit { octets: 4 * Credit::ROOM.octets, messages: 4 * Credit::ROOM.messages };

/// The header of a cast.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub(crate) struct TotalHeader {
    /// 0: a message; 1: an order of the first member, runs of two numbers of 16 bits: a rank, and
    /// how many of its casts come next.
    #[bits(2)]
    pub kind: u8,
    /// The low bits of the number of the view in which that was: a cast may wait for the next.
    #[bits(6)]
    pub view: u8,
    /// Of an order, how many runs it has; of a message, the low bits of how many casts its sender
    /// had delivered in the view.
    #[bits(24)]
    pub count: u32,
}

/// What the header has room for.
const COUNT_MOST: u32 = (1 << 24) - 1;
const VIEW_MOST: u32 = (1 << 6) - 1;

const MESSAGE: u8 = 0;
const ORDER: u8 = 1;

/// The hooks of the layer.
pub struct TotalOrder<M> {
    view: Option<InView<M>>,
    /// What the layer above has room for; below, what waits here uses up none: it waits for the
    /// group, not for the application.
    room: Room,
    /// Credit from below, but for what its own orders and headers use up.
    below: Room,
    /// Own casts that wait for their turn.
    own: Credit,
    /// Room that a sender beyond its credit has taken from all: given back when it has its turn.
    kept: Credit,
}

struct InView<M> {
    me: Rank,
    /// The low bits of its number.
    number: u8,
    /// How many casts were delivered.
    delivered: u32,
    /// Casts end with the view.
    ends: bool,
    /// Of each sender, what waits for its turn.
    waits: Vec<Waits<M>>,
    /// Whose turn it is, and how many of its casts come then.
    turns: VecDeque<(u16, u16)>,
    /// What the first member has not ordered yet.
    unordered: VecDeque<(u16, u16)>,
}

/// Casts of a sender, and what they cost.
struct Waits<M> {
    casts: VecDeque<Cast<M>>,
    cost: Credit,
}

struct Cast<M> {
    batch: Batch<M>,
    from: GroupProperties,
    /// How many casts its sender had delivered in the view, in 24 bits; `None`: it is of an earlier
    /// one.
    after: Option<u32>,
}

impl<M: Message> TotalOrder<M> {
    /// Makes the hooks.
    pub const fn new() -> Self {
        let (own, kept) = (Credit::NONE, Credit::NONE);
        TotalOrder { view: None, room: Room::NONE, below: Room::NONE, own, kept }
    }

    fn deliver(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, from: GroupProperties) {
        self.room.use_up(batch.cost());
        at.deliver(batch, from);
    }

    /// Gives credit for the own casts that had their turn.
    fn pay(&mut self, at: &mut dyn GroupPlace<M>) {
        if OWN_MOST.covers(self.own) {
            at.give(self.below.take());
        }
    }

    /// Keeps a cast until its turn; `room`: what it used up below.
    fn wait(&mut self, at: &mut dyn GroupPlace<M>, room: Credit, cast: Cast<M>) {
        let member = cast.from.member;
        let Some(own) = &mut self.view else { return self.room(at, room) };
        let Some(waits) = own.waits.get_mut(usize::from(member.0)) else { return };
        let was_within = WAITS_MOST.covers(waits.cost);
        waits.cost += cast.batch.cost();
        waits.casts.push_back(cast);
        let is_within = WAITS_MOST.covers(waits.cost);
        if own.me == Rank(0) && !own.ends {
            match own.unordered.back_mut() {
                Some((rank, run)) if *rank == member.0 && *run < u16::MAX => *run += 1,
                _ => own.unordered.push_back((member.0, 1)),
            }
        }
        if is_within {
            return self.room(at, room);
        }
        // Its room fills up, which stops it; others go on without that sender, or without it.
        self.kept += room;
        if was_within {
            at.order(GroupOrder::Suspect(member));
        }
    }

    /// Delivers whose turn it is.
    fn rise(&mut self, at: &mut dyn GroupPlace<M>) {
        while let Some(own) = &mut self.view
            && let Some((rank, run)) = own.turns.front_mut()
            && let Some(next) = own.waits[usize::from(*rank)].casts.pop_front()
        {
            let cost = next.batch.cost();
            own.delivered = own.delivered.wrapping_add(1);
            own.waits[usize::from(*rank)].cost -= cost;
            if Rank(*rank) == own.me {
                self.own = less(self.own, cost);
            }
            *run -= 1;
            if *run == 0 {
                own.turns.pop_front();
            }
            self.deliver(at, next.batch, next.from);
        }
        self.pay(at);
        let is_over = |own: &InView<M>| own.waits.iter().any(|one| !WAITS_MOST.covers(one.cost));
        if self.kept != Credit::NONE && !self.view.as_ref().is_some_and(is_over) {
            let kept = core::mem::take(&mut self.kept);
            self.room(at, kept);
        }
    }

    /// The view is over: what is left goes by rank.
    fn finish(&mut self, at: &mut dyn GroupPlace<M>) {
        let Some(own) = self.view.take() else { return };
        self.own = less(self.own, own.waits[usize::from(own.me.0)].cost);
        for Cast { batch, from, after } in own.waits.into_iter().flat_map(|waits| waits.casts) {
            // Its sender had orders that nobody has who is still there, nor what they ordered.
            let more = after.map_or(0, |after| after.wrapping_sub(own.delivered) & COUNT_MOST);
            if more == 0 || more > COUNT_MOST / 2 {
                self.deliver(at, batch, from);
            }
        }
    }

    /// Orders what came, as its first member.
    fn say(&mut self, at: &mut dyn GroupPlace<M>) {
        let Some(own) = &mut self.view else { return };
        while !own.unordered.is_empty() {
            let count = own.unordered.len().min(RUNS_MOST);
            let runs = own.unordered.drain(..count);
            let octets: Vec<u8> = runs
                .flat_map(|(rank, run)| [rank.to_be_bytes(), run.to_be_bytes()])
                .flatten()
                .collect();
            let mut message = M::with_headroom(64, &octets);
            message.push(&TotalHeader { kind: ORDER, view: own.number, count: count as u32 });
            let batch: Batch<M> = message.into();
            self.below.use_up(batch.cost());
            at.send(batch, GroupProperties::default());
        }
    }

    fn ordered(&mut self, at: &mut dyn GroupPlace<M>, octets: &[u8]) {
        let Some(own) = &mut self.view else { return };
        let mut runs = Reader(octets);
        // Each run is of casts that wait somewhere.
        if own.turns.len() > own.waits.len() * WAITS_MOST.messages {
            at.cx().dropped(NAME, "an order of casts that do not come");
            return at.order(GroupOrder::Suspect(Rank(0)));
        }
        while let (Some(rank), Some(run)) = (runs.u16(), runs.u16()) {
            if usize::from(rank) < own.waits.len() && run > 0 {
                own.turns.push_back((rank, run));
            }
        }
        self.rise(at);
    }
}

/// Returns what is left: what a member cast before it fell out may come back when it has joined.
fn less(credit: Credit, cost: Credit) -> Credit {
    Credit {
        octets: credit.octets.saturating_sub(cost.octets),
        messages: credit.messages.saturating_sub(cost.messages),
    }
}

impl<M: Message> Default for TotalOrder<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Message> GroupHooks<M> for TotalOrder<M> {
    const FACTS: Facts = Facts {
        needs: Guarantees::SYNCHRONY.and(Guarantees::ORDERED),
        gives: Guarantees::TOTAL.and(Guarantees::CAUSAL),
        passes: Guarantees::RELIABLE
            .and(Guarantees::ORDERED)
            .and(Guarantees::ONCE)
            .and(Guarantees::CHECKED)
            .and(Guarantees::VIEWS)
            .and(Guarantees::SYNCHRONY)
            .and(Guarantees::PRIMARY)
            .and(Guarantees::SAFE),
        header_room: TotalHeader::LENGTH,
        ..Facts::named(NAME)
    };

    fn send(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, properties: GroupProperties) {
        if properties.kind == GroupKind::Cast {
            self.own += batch.cost();
        }
        let mut message = batch.into_single();
        let (view, delivered) =
            self.view.as_ref().map_or((0, 0), |own| (own.number, own.delivered));
        message.push(&TotalHeader { kind: MESSAGE, view, count: delivered & COUNT_MOST });
        self.below.use_up(Credit::of_octets(TotalHeader::LENGTH));
        at.send(message.into(), properties);
    }

    fn delivered(&mut self, at: &mut dyn GroupPlace<M>, batch: Batch<M>, from: GroupProperties) {
        let (room, mut message) = (batch.cost(), batch.into_single());
        let Ok(header) = message.pull::<TotalHeader>() else {
            self.room(at, room);
            return at.cx().dropped(NAME, "no header");
        };
        match header.kind {
            MESSAGE if from.kind == GroupKind::Cast => {
                let is_of = |own: &InView<M>| own.number == header.view;
                let after = self.view.as_ref().is_some_and(is_of).then_some(header.count);
                self.wait(at, room, Cast { batch: message.into(), from, after });
                return self.rise(at);
            }
            MESSAGE if self.view.is_some() => self.deliver(at, message.into(), from),
            ORDER if from.member == Rank(0) => {
                let length = message.len();
                if let Some(octets) = message.front(length) {
                    let octets = octets.to_vec();
                    self.ordered(at, &octets);
                }
            }
            _ => at.cx().dropped(NAME, "of an unknown kind, or an order of another member"),
        }
        self.room(at, room);
    }

    fn room(&mut self, at: &mut dyn GroupPlace<M>, credit: Credit) {
        at.take(self.room.pass(credit));
    }

    fn credit(&mut self, at: &mut dyn GroupPlace<M>, credit: Credit) {
        self.below.give(credit);
        self.pay(at);
    }

    fn notice(&mut self, at: &mut dyn GroupPlace<M>, notice: GroupNotice<M>) {
        match &notice {
            // An order that waited for the next view would name its members.
            GroupNotice::Block => {
                self.say(at);
                if let Some(own) = &mut self.view {
                    own.ends = true;
                }
            }
            GroupNotice::View(view) => {
                if view.me.is_some() {
                    self.finish(at);
                } else {
                    self.own = Credit::NONE;
                }
                let waits = || Waits { casts: VecDeque::new(), cost: Credit::NONE };
                self.view = view.me.map(|me| InView {
                    me,
                    number: (view.number & VIEW_MOST) as u8,
                    delivered: 0,
                    ends: false,
                    waits: view.members.iter().map(|_| waits()).collect(),
                    turns: VecDeque::new(),
                    unordered: VecDeque::new(),
                });
                self.pay(at);
                let kept = core::mem::take(&mut self.kept);
                self.room(at, kept);
            }
            _ => {}
        }
        at.notice(notice);
    }

    fn ended(&mut self) {
        *self = TotalOrder::new();
    }

    fn flush(&mut self, at: &mut dyn GroupPlace<M>) {
        self.say(at);
    }

    fn wants_flush(&self) -> bool {
        self.view.as_ref().is_some_and(|own| !own.ends && !own.unordered.is_empty())
    }
}
