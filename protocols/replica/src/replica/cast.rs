//! What a replica casts: its operations, the time, and the state for members that join.

use stackwright_contract::Instant;
use stackwright_contract::services::{
    Credit, GroupKind, GroupOrder, GroupProperties, GroupsRequest,
};
use stackwright_wire::Message;

use super::{AHEAD, GIVEN, Gift, Pending, Replica, TELLS, TELLS_OFTEN};
use crate::machine::Machine;
use crate::pieces::{self, CAST_MOST, Operation};

impl<S: Machine> Replica<S> {
    /// Passes to `say` what the group is to be told, as far as it has room.
    pub fn pump<M: Message>(&mut self, now: Instant, mut say: impl FnMut(GroupsRequest<M>)) {
        let association = self.name;
        let credit = core::mem::take(&mut self.back);
        if credit != Credit::NONE {
            say(GroupsRequest::Credit { association, credit });
        }
        if core::mem::take(&mut self.stops) {
            self.casts.clear();
            say(GroupsRequest::Tell { association, order: GroupOrder::Blocked });
        }
        if self.blocked || self.view.is_none() {
            return;
        }
        if self.is_first() && self.tells <= now {
            let octets = pieces::time(self.time_at(now));
            if self.cast(&octets, GroupProperties::default(), &mut say) {
                let often = self.machine.waits_for_time();
                self.tells = now + if often { TELLS_OFTEN } else { TELLS };
            }
        }
        while self.give(&mut say) | self.cast_next(now, &mut say) {}
    }

    /// Casts a few pieces of the state; returns whether some left.
    fn give<M: Message>(&mut self, say: &mut impl FnMut(GroupsRequest<M>)) -> bool {
        let mut given = 0;
        while given < GIVEN
            && let Some(Gift { to, octets, left }) = self.gifts.pop_front()
        {
            let next = octets.len().min(left + CAST_MOST);
            let last = next == octets.len();
            let properties =
                GroupProperties { member: to, kind: GroupKind::State, last, number: 0 };
            if !self.cast(&octets[left..next], properties, say) {
                self.gifts.push_front(Gift { to, octets, left });
                break;
            }
            given += 1;
            if !last {
                self.gifts.push_front(Gift { to, octets, left: next });
            }
        }
        given > 0
    }

    /// Casts the next operations; returns whether they left.
    fn cast_next<M: Message>(
        &mut self,
        now: Instant,
        say: &mut impl FnMut(GroupsRequest<M>),
    ) -> bool {
        // Before the state is there, it is not known what of them was done.
        if !self.is_current {
            return false;
        }
        if self.casts.is_empty() {
            let mut ahead = 0;
            let time = self.time_at(now);
            let next = self.queue.iter().take_while(|pending| {
                let is_next = ahead < AHEAD;
                ahead += pending.octets.len();
                is_next
            });
            let next = next.map(|Pending { number, reads, octets, .. }| Operation {
                number: *number,
                time,
                reads: *reads,
                octets,
            });
            self.casts = pieces::casts(self.origin, next);
        }
        let Some((octets, upto)) = self.casts.pop_front() else { return false };
        if !self.cast(&octets, GroupProperties::default(), say) {
            self.casts.push_front((octets, upto));
            return false;
        }
        while let Some(pending) = self.queue.pop_front_if(|next| upto >= Some(next.number)) {
            self.sent.push_back(pending);
        }
        true
    }

    fn cast<M: Message>(
        &mut self,
        octets: &[u8],
        properties: GroupProperties,
        say: &mut impl FnMut(GroupsRequest<M>),
    ) -> bool {
        let cost = Credit { octets: octets.len(), messages: 1 };
        if !self.credit.covers(cost) {
            return false;
        }
        self.credit -= cost;
        let batch = M::with_headroom(64, octets).into();
        say(GroupsRequest::Send { association: self.name, batch, properties });
        true
    }
}
