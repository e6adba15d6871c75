//! What an association has to say leaves, as far as there is credit below.

use stackwright_base::Place;
use stackwright_contract::Instant;
use stackwright_contract::services::{Credit, MessageProperties};

use super::{Associations, Host};
use crate::words::MILLISECOND;

impl<H: Host> Associations<H> {
    /// Sends all that the association has to say, as far as there is credit below; and sets its
    /// timer.
    pub(super) fn speak(&mut self, at: &mut impl Place<Self>) {
        let now = at.cx().now();
        // If only credit is missing, credit wakes it: other deadlines are then looked at now and
        // again.
        let mut least = now;
        let takes = at.room().octets;
        at.association().engine.set_room(now, takes);
        while at.association().engine.may_transmit(now) {
            let (room, most) = (at.room_below(), at.room_below_most());
            let session = at.association();
            // More credit came, and this is all: a long wait is worse than a copy.
            let waits = !session.room_came && session.engine.waits_for_room(now, room, most);
            if room.messages == 0 || room.octets < self.packet || waits {
                at.wants_room();
                least = now.later(MILLISECOND);
                break;
            }
            session.room_came = false;
            let Some(packets) = session.engine.transmit(now, &mut self.memory, room) else { break };
            session.sent += packets.count() as u64;
            Self::bear(at);
            at.send_batch(packets);
        }
        debug_assert!(
            at.association().engine.may_transmit(now)
                || at.association().engine.is_silent(now, &mut self.memory),
            "an association that has something to say may say it"
        );
        while let Some(nth) = at.association().engine.take_abandoned() {
            at.cx().event(H::FACTS.name, format_args!("message {nth} was abandoned"));
        }
        while let Some(answer) = at.association().engine.take_answer() {
            at.controlled(answer);
        }
        let session = at.association();
        let mut released = session.engine.released();
        // Not while nothing is on its way: a message that is longer than all of the credit may then
        // be, and uses up what the layer above knows of.
        if session.told && (released.messages > 0 || !session.engine.has_sent_all()) {
            released.octets += session.allowance.more::<H>(self.host.room(), &mut session.engine);
        }
        if released != Credit::default() {
            at.give_room(released);
        }
        self.conclude(at);
        Self::arm(at, least);
    }

    /// Sets the timer to when the association is to be woken, but not before `least`.
    #[inline]
    pub(super) fn arm(at: &mut impl Place<Self>, least: Instant) {
        let now = at.cx().now();
        if let Some(deadline) = at.association().engine.next_deadline(now) {
            Self::arm_at(at, deadline.max(least));
        }
    }

    /// Sets the timer to `deadline`, if that is sooner: a later one waits for the timer that is
    /// set, which looks again.
    #[inline]
    pub(super) fn arm_at(at: &mut impl Place<Self>, deadline: Instant) {
        let session = at.association();
        if deadline < session.armed {
            session.armed = deadline;
            at.wake((), deadline);
        }
    }

    /// Sets the ECN codepoint of what leaves now.
    #[inline]
    pub(super) fn bear(at: &mut impl Place<Self>) {
        let ecn = at.association().engine.ecn();
        at.bear(MessageProperties { ecn, ..MessageProperties::default() });
    }
}
