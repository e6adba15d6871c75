//! By its answers: each member asks three others, in turn, and one that does not answer through
//! three more (SWIM). What a member costs does not grow with the group.
//!
//! It stands below the layer that numbers casts, so that a question waits for nothing, and every
//! packet of a member says that it lives. Who often gets no answer is slow itself, and waits longer
//! before it suspects (Lifeguard, arXiv 1707.00788).

use alloc::vec::Vec;

use stackwright_contract::services::{
    Batch, GroupKind, GroupNotice, GroupOrder, GroupProperties, Rank,
};
use stackwright_contract::{Duration, Facts, Guarantees, Instant};
use stackwright_wire::{Header, Message};

use crate::layer::{GroupHooks, GroupPlace};
use crate::wire::LARGE;

const NAME: &str = "group ring";

/// Members that each one asks, and through which it asks again.
const NEIGHBOURS: usize = 3;

/// Looks within the silence that is allowed: one asks each fourth, and waits two for an answer.
const LOOKS: u32 = 6;
const ASKS: u32 = 4;
const WAITS: u32 = 2;

/// How many times as long a member waits that often gets no answer, at most.
const HEALTH_MOST: u32 = 8;

/// The header of what members ask each other; on other messages there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct RingHeader {
    /// 16: a question, 17: its answer, 18: ask another, 19: another lives, 20: another is
    /// suspected. The layers above use smaller numbers in this place.
    pub kind: u8,
    /// Reserved, 0.
    pub reserved: u8,
    /// Of a question and its answer, on behalf of which rank, or 65535; else, which other.
    pub member: u16,
}

const ASK: u8 = 16;
const ANSWER: u8 = 17;
const ASK_ANOTHER: u8 = 18;
const LIVES: u8 = 19;
const SUSPECTED: u8 = 20;

/// On behalf of no other.
const NOBODY: u16 = u16::MAX;

/// The hooks of the layer.
#[derive(Debug)]
pub struct RingDetector {
    silence: Duration,
    view: Option<InRing>,
    /// When it looks next, and how often it did.
    looks: Instant,
    count: u32,
    /// How many times as long it waits for an answer, less one.
    health: u32,
    /// Nothing is answered until then: the application here takes nothing.
    mute: Instant,
    /// A view of more members is a large one.
    pub(crate) large: usize,
}

#[derive(Debug)]
struct InRing {
    me: usize,
    /// Of each member when it was heard; `None`: it is suspected.
    heard: Vec<Option<Instant>>,
    /// Who was asked, and has not answered.
    asked: Vec<Asked>,
    /// When all were last told that this member lives.
    told: Option<Instant>,
    /// Those of a large view that ask each other were not greeted yet.
    greets: bool,
}

#[derive(Clone, Copy, Debug)]
struct Asked {
    rank: usize,
    since: Instant,
    /// Others were asked to ask it, too.
    indirectly: bool,
}

impl RingDetector {
    /// The silence of those who name none.
    pub const SILENCE: Duration = Duration::from_millis(500);

    /// Makes the hooks. A member that ends is suspected after one to two and a half times
    /// `silence`.
    pub const fn new(silence: Duration) -> Self {
        let (looks, mute) = (Instant::END, Instant::START);
        RingDetector { silence, view: None, looks, count: 0, health: 0, mute, large: LARGE }
    }

    fn often(&self) -> Duration {
        self.silence / LOOKS
    }

    fn say<M: Message>(at: &mut dyn GroupPlace<M>, to: Option<usize>, kind: u8, member: u16) {
        let mut message = M::with_headroom(64, &[]);
        message.push(&RingHeader { kind, reserved: 0, member });
        let (kind, member) = match to {
            Some(rank) => (GroupKind::Send, Rank(rank as u16)),
            None => (GroupKind::Cast, Rank(0)),
        };
        at.send(message.into(), GroupProperties { kind, member, ..GroupProperties::default() });
    }

    /// Tells all others of a member: in a large view through the first that lives.
    fn tell<M: Message>(&self, at: &mut dyn GroupPlace<M>, kind: u8, member: u16) {
        Self::say(at, self.through(), kind, member);
    }

    /// Returns who tells all others for this member.
    fn through(&self) -> Option<usize> {
        let own = self.view.as_ref().filter(|_| self.is_large())?;
        let first = own.heard.iter().position(Option::is_some);
        first.filter(|first| *first != own.me)
    }

    /// Returns whether this member tells all others for the rest.
    fn is_first(&self) -> bool {
        self.is_large() && self.through().is_none()
    }

    fn is_large(&self) -> bool {
        self.view.as_ref().is_some_and(|own| own.heard.len() > self.large)
    }

    /// Notes that a member lives; returns whether it was suspected.
    fn heard<M: Message>(&mut self, at: &mut dyn GroupPlace<M>, rank: usize) -> bool {
        let Some(own) = &mut self.view else { return false };
        let Some(heard) = own.heard.get_mut(rank) else { return false };
        let was_suspected = heard.replace(at.cx().now()).is_none();
        let before = own.asked.len();
        own.asked.retain(|asked| asked.rank != rank);
        if own.asked.len() < before {
            self.health = self.health.saturating_sub(1);
        }
        if was_suspected {
            at.notice(GroupNotice::Heard(Rank(rank as u16)));
        }
        was_suspected
    }

    /// Notes that a member is silent; returns whether that is new.
    fn suspect<M: Message>(&mut self, at: &mut dyn GroupPlace<M>, rank: usize) -> bool {
        let Some(own) = &mut self.view else { return false };
        own.asked.retain(|asked| asked.rank != rank);
        let heard = own.heard.get_mut(rank).filter(|_| rank != own.me);
        let is_new = heard.is_some_and(|heard| heard.take().is_some());
        if is_new {
            at.notice(GroupNotice::Suspected(Rank(rank as u16)));
        }
        is_new
    }

    fn said<M: Message>(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        from: usize,
        RingHeader { kind, member, .. }: RingHeader,
    ) {
        let (now, often, is_first) = (at.cx().now(), self.often(), self.is_first());
        let Some(own) = &mut self.view else { return };
        let (me, other) = (own.me, usize::from(member));
        match kind {
            _ if self.mute > now => {}
            ASK => Self::say(at, Some(from), ANSWER, member),
            ANSWER if member != NOBODY => Self::say(at, Some(other), LIVES, from as u16),
            ASK_ANOTHER if other != me => {
                let lives = own.heard.get(other).is_some_and(Option::is_some);
                if is_first && lives && own.asked.iter().all(|asked| asked.rank != other) {
                    own.asked.push(Asked { rank: other, since: now, indirectly: false });
                }
                Self::say(at, Some(other), ASK, from as u16);
            }
            LIVES if other != me => {
                let is_new = self.heard(at, other);
                if is_new && is_first {
                    Self::say(at, None, LIVES, member);
                }
            }
            // Who hears the first again tells it so.
            LIVES if !is_first => {}
            SUSPECTED | LIVES
                if other == me && own.told.is_none_or(|told| now.since(told) >= often) =>
            {
                own.told = Some(now);
                self.tell(at, LIVES, member);
            }
            SUSPECTED => {
                let is_new = self.suspect(at, other);
                if is_new && self.is_first() {
                    Self::say(at, None, SUSPECTED, member);
                }
            }
            _ => {}
        }
    }

    /// Asks the next successor, and a member that is suspected: it may live again.
    fn ask<M: Message>(&mut self, at: &mut dyn GroupPlace<M>) {
        let (now, often) = (at.cx().now(), self.often());
        let (through, is_first, is_large) = (self.through(), self.is_first(), self.is_large());
        let Some(own) = &mut self.view else { return };
        let members = own.heard.len();
        let neighbours = NEIGHBOURS.min(members - 1);
        let turn = (self.count / ASKS) as usize % neighbours;
        // Of a large view many in a row may end at once: so those who ask one are far from it.
        let stride = if is_large { (members / NEIGHBOURS).max(1) } else { 1 };
        let ahead = |turn: usize| 1 + turn * stride;
        let next = (own.me + ahead(turn)) % members;
        if core::mem::take(&mut own.greets) {
            // The first packet to a member may be lost by the carrier, which has to open a way.
            let me = own.me;
            for place in (0..neighbours).map(ahead) {
                for other in [me + place, me + members - place] {
                    Self::say(at, Some(other % members), ANSWER, NOBODY);
                }
            }
            return;
        }
        let suspected = || own.heard.iter().enumerate().filter(|(_, heard)| heard.is_none());
        let nth = at.cx().random(suspected().count() as u64) as usize;
        if let Some((rank, _)) = suspected().nth(nth) {
            Self::say(at, Some(rank), ASK, NOBODY);
            // Others may not know of it, or that it lives: the first asks it, and says it again.
            match through {
                Some(first) => {
                    Self::say(at, Some(first), ASK_ANOTHER, rank as u16);
                    // It may be silent itself, and those who would ask it, too.
                    if own.asked.iter().all(|asked| asked.rank != first) {
                        own.asked.push(Asked { rank: first, since: now, indirectly: false });
                        Self::say(at, Some(first), ASK, NOBODY);
                    }
                }
                None if is_first => Self::say(at, None, SUSPECTED, rank as u16),
                None => {}
            }
        }
        let is_silent = own.heard[next].is_some_and(|heard| now.since(heard) > often);
        if is_silent && own.asked.iter().all(|asked| asked.rank != next) {
            own.asked.push(Asked { rank: next, since: now, indirectly: false });
            Self::say(at, Some(next), ASK, NOBODY);
        }
    }

    /// Looks for those who have not answered.
    fn look<M: Message>(&mut self, at: &mut dyn GroupPlace<M>) {
        let (now, wait) = (at.cx().now(), self.often() * WAITS * (1 + self.health));
        let Some(own) = &mut self.view else { return };
        let members = own.heard.len();
        let (late, rest): (Vec<_>, _) =
            own.asked.iter().copied().partition(|asked| now.since(asked.since) >= wait);
        own.asked = rest;
        let through = self.through();
        for Asked { rank, indirectly, .. } in late {
            let Some(own) = &mut self.view else { return };
            if !indirectly && members > 2 {
                let me = own.me;
                own.asked.push(Asked { rank, since: now, indirectly: true });
                let first = at.cx().random(members as u64) as usize;
                let others = (first..first + members).map(|other| other % members);
                // The first of a large view knows the way to all; and the question may be lost.
                if members > self.large {
                    Self::say(at, Some(rank), ASK, NOBODY);
                }
                let others = through.into_iter().chain(others);
                let others = others.filter(|other| ![me, rank].contains(other));
                for other in others.take(NEIGHBOURS) {
                    Self::say(at, Some(other), ASK_ANOTHER, rank as u16);
                }
                continue;
            }
            self.health = HEALTH_MOST.min(self.health + 1);
            self.suspect(at, rank);
            self.tell(at, SUSPECTED, rank as u16);
        }
    }
}

impl<M: Message> GroupHooks<M> for RingDetector {
    const FACTS: Facts = Facts {
        passes: Guarantees::CHECKED,
        header_room: RingHeader::LENGTH,
        ..Facts::named(NAME)
    };

    fn order(&mut self, at: &mut dyn GroupPlace<M>, order: GroupOrder<M>) {
        match &order {
            GroupOrder::Install(view) => {
                let now = at.cx().now();
                let (heard, large) = (|| alloc::vec![Some(now); view.members.len()], self.large);
                let ring = |Rank(me): Rank| InRing {
                    me: me.into(),
                    heard: heard(),
                    asked: Vec::new(),
                    told: None,
                    greets: view.members.len() > large,
                };
                self.view = view.me.map(ring).filter(|own| own.heard.len() > 1);
                // Members do not all ask at the same moment.
                let often = self.often();
                let part = at.cx().random(often.as_nanos() as u64);
                self.looks = now + Duration::from_nanos(part);
                self.count = at.cx().random(u64::from(ASKS)) as u32;
            }
            // The layer above has no room for more: the others are to go on without this member.
            GroupOrder::Suspect(Rank(member))
                if self.view.as_ref().is_some_and(|own| own.me == usize::from(*member)) =>
            {
                self.mute = at.cx().now() + self.silence;
            }
            _ => {}
        }
        at.order(order);
    }

    fn delivered(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        mut batch: Batch<M>,
        from: GroupProperties,
    ) {
        let rank = usize::from(from.member.0);
        if self.heard(at, rank) {
            self.tell(at, LIVES, from.member.0);
        }
        let is_own = batch.front(1).is_some_and(|front| (ASK..=SUSPECTED).contains(&front[0]));
        if !is_own {
            return at.deliver(batch, from);
        }
        at.take(batch.cost());
        match batch.into_single().pull::<RingHeader>() {
            Ok(header) => self.said(at, rank, header),
            Err(_) => at.cx().dropped(NAME, "no header"),
        }
    }

    fn ended(&mut self) {
        *self = RingDetector { large: self.large, ..RingDetector::new(self.silence) };
    }

    fn timeout(&mut self, at: &mut dyn GroupPlace<M>) {
        let (now, often) = (at.cx().now(), self.often());
        let slept = now.since(self.looks) > often;
        self.looks = now + often;
        self.count = self.count.wrapping_add(1);
        if self.mute > now {
            return;
        }
        match &mut self.view {
            // Who looks late has slept, and cannot have heard an answer meanwhile.
            Some(own) if slept => own.asked.clear(),
            _ => self.look(at),
        }
        if self.count.is_multiple_of(ASKS) {
            self.ask(at);
        }
        // A member of a large view that waits for no answer looks when it asks again.
        let waits = self.view.as_ref().is_none_or(|own| !own.asked.is_empty());
        if self.is_large() && !waits {
            let rest = ASKS - 1 - self.count % ASKS;
            self.looks = self.looks + often * rest;
            self.count = self.count.wrapping_add(rest);
        }
    }

    fn next_deadline(&self) -> Option<Instant> {
        self.view.as_ref().map(|_| self.looks)
    }
}
