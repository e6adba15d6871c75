//! What is missing: it is asked for, repeated, and a target filled.

use alloc::boxed::Box;
use alloc::vec::Vec;

use stackwright_contract::Participant;
use stackwright_contract::services::{
    CastCounts, GroupNotice, GroupOrder, GroupView, Outsider, Rank,
};
use stackwright_wire::{Header, Message};

use super::{
    ABOVE, ANSWERED_MOST, ASKED, Asked, FETCH, Fill, NAME, Nak, NakHeader, REPEAT, REPEATED_MOST,
    detail, properties,
};
use crate::layer::GroupPlace;
use crate::log::Cast;

/// What follows where casts are asked for; the first is that of the [`NakHeader`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct FetchHeader {
    /// The mark of the view.
    pub tag: u32,
    /// How many.
    pub count: u16,
}

/// What precedes a cast that is repeated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Header)]
pub struct RepeatHeader {
    /// The mark of the view.
    pub tag: u32,
    /// The rank for which it is, where it is for one member.
    pub member: u16,
}

impl<M: Message> Nak<M> {
    /// Asks `to` for what is missing of a sender's casts.
    pub(super) fn ask(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        to: Participant,
        origin: usize,
        upto: u32,
    ) {
        let (Some(own), now) = (&mut self.view, at.cx().now()) else { return };
        // Once the answer is here, there may be another question.
        let asked = own.asked[origin];
        let is_answered = || own.log.have()[origin] >= asked.last;
        if asked.again > now && !is_answered() {
            return;
        }
        let Some((first, count)) = own.log.missing(origin, upto) else { return };
        let count = count.min(REPEATED_MOST);
        own.asked[origin] = Asked { again: now + ASKED, last: first + count - 1, upto };
        let mut message = M::with_headroom(64, &[]);
        message.push(&FetchHeader { tag: own.tag, count: count as u16 });
        let origin = origin as u16;
        message.push(&NakHeader { kind: FETCH, detail: 0, origin, number: first });
        let incarnation = own.view.members[own.me].incarnation;
        outside(at, to, incarnation, message);
    }

    /// Asks who has answered for the rest, where `number` was the last that was asked for.
    fn ask_on(&mut self, at: &mut dyn GroupPlace<M>, to: Participant, origin: usize, number: u32) {
        let asked = self.view.as_ref().and_then(|own| own.asked.get(origin).copied());
        if let Some(Asked { last, upto, .. }) = asked
            && last == number
            && number < upto
        {
            self.ask(at, to, origin, upto);
        }
    }

    /// Answers a question for casts of this view, or of the last.
    fn repeat(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        to: Participant,
        header: NakHeader,
        FetchHeader { tag, count }: FetchHeader,
    ) {
        let current = self.view.as_ref().map(|own| (&own.view, own.tag, &own.log));
        let old = self.old.as_ref().map(|(view, tag, log)| (view, *tag, log));
        // A question is short and its answer long: only members of that view are answered.
        let is_its = |view: &GroupView| view.members.iter().any(|member| member.participant == to);
        let mut logs = [current, old].into_iter().flatten();
        let Some((.., log)) = logs.find(|(view, of, _)| *of == tag && is_its(view)) else {
            return at.cx().dropped(NAME, "a question for casts of a view that it is not in");
        };
        let (origin, now) = (usize::from(header.origin), at.cx().now());
        // It asks again only when an answer may be lost.
        let (since, repeated) = self.answered.entry(to).or_insert((now, 0));
        if now.since(*since) >= ASKED {
            (*since, *repeated) = (now, 0);
        }
        for number in 0..u32::from(count).min(REPEATED_MOST) {
            let Some(number) = header.number.checked_add(number) else { return };
            let Some(cast) = log.get(origin, number) else { continue };
            if *repeated == ANSWERED_MOST {
                return at.cx().dropped(NAME, "a member asks for more than a turn's casts");
            }
            *repeated += 1;
            let mut message = cast.message.share();
            message.push(&RepeatHeader { tag, member: cast.to.member.0 });
            let detail = detail(cast.to);
            message.push(&NakHeader { kind: REPEAT, detail, number, ..header });
            outside(at, to, 0, message);
        }
    }

    /// Takes what a target names, and nothing else.
    pub(super) fn fill(&mut self, at: &mut dyn GroupPlace<M>, upto: CastCounts, delivers: bool) {
        let (Some(own), now) = (&mut self.view, at.cx().now()) else { return };
        own.frozen = true;
        if upto.len() == own.view.members.len() {
            own.fills = Some(Fill { upto, asks: now, delivers });
            own.asked.fill(Asked { again: now, last: 0, upto: 0 });
            self.filled(at);
        }
    }

    /// Tells once that all of the target is there; else it is asked for.
    pub(super) fn filled(&mut self, at: &mut dyn GroupPlace<M>) {
        let members = self.view.as_ref().filter(|own| own.fills.is_some());
        for origin in 0..members.map_or(0, |own| own.view.members.len()) {
            self.rise(at, origin);
        }
        let (Some(own), now) = (&mut self.view, at.cx().now()) else { return };
        let Some(Fill { upto, asks, .. }) = &mut own.fills else { return };
        let lacks = |origin: usize| own.log.reach(origin) < upto[origin];
        let missing: Vec<usize> = (0..upto.len()).filter(|origin| lacks(*origin)).collect();
        if missing.is_empty() {
            own.fills = None;
            return at.notice(GroupNotice::Filled);
        }
        if *asks > now {
            return;
        }
        *asks = now + ASKED;
        let upto = upto.clone();
        for origin in missing {
            // Any of them may be the only one that has it, and may be gone.
            let Some(own) = &self.view else { return };
            let others = own.view.members.len() - 1;
            let place = at.cx().random(others as u64) as usize;
            let any = if place >= own.me { place + 1 } else { place };
            // Of many, the sender or the first is more likely to have it.
            let likely = own.star.as_ref().map(|_| at.cx().random(4));
            let rank = match likely {
                Some(0 | 1) if origin != own.me => origin,
                Some(2) if own.me != 0 => 0,
                _ => any,
            };
            let Some(member) = own.view.members.get(rank) else { continue };
            self.ask(at, member.participant, origin, upto[origin]);
        }
    }

    /// Handles a message outside of the view; returns it where it is for the layers above.
    pub(super) fn outsider(
        &mut self,
        at: &mut dyn GroupPlace<M>,
        mut outsider: Box<Outsider<M>>,
    ) -> Option<Box<Outsider<M>>> {
        let Ok(header) = outsider.message.pull::<NakHeader>() else {
            at.cx().dropped(NAME, "no header");
            return None;
        };
        if header.kind == ABOVE {
            return Some(outsider);
        }
        let from = outsider.participant;
        match header.kind {
            FETCH => {
                if let Ok(fetch) = outsider.message.pull::<FetchHeader>() {
                    self.repeat(at, from, header, fetch);
                }
            }
            REPEAT => {
                let repeat = outsider.message.pull::<RepeatHeader>().ok()?;
                let own = self.view.as_ref().filter(|own| own.tag == repeat.tag)?;
                let is_member = own.view.members.iter().any(|member| member.participant == from);
                let origin = usize::from(header.origin);
                let to = properties(header.detail, Rank(repeat.member))?;
                if is_member && origin != own.me {
                    let cast = Cast { message: outsider.message, to };
                    self.received(at, origin, header.number, cast);
                    self.ask_on(at, from, origin, header.number);
                }
            }
            _ => at.cx().dropped(NAME, "of an unknown kind"),
        }
        None
    }
}

fn outside<M: Message>(
    at: &mut dyn GroupPlace<M>,
    participant: Participant,
    incarnation: u64,
    message: M,
) {
    at.order(GroupOrder::Outside(Box::new(Outsider { participant, incarnation, message })));
}
