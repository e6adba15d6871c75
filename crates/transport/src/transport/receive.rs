//! A packet is received, complete messages are delivered, and the layer above is told the phase of
//! the association.

use alloc::vec::Vec;
use core::mem;

use stackwright_base::Place;
use stackwright_contract::services::{Batch, BatchMessages, Credit, Ecn, Ended, Transfer as _};
use stackwright_wire::Message as _;

use super::{Associations, Farewell, Host, Located, MessageOf};
use crate::engine::Delivery;
use crate::slots::DroppedMember;
use crate::words::{Dropped, Ending, Phase};

/// The credit for everything.
const EVERYTHING: Credit = Credit { octets: usize::MAX, messages: usize::MAX };

impl<H: Host> Associations<H> {
    /// Handles what came, or new credit above. If it has nothing to send in response now, the usual
    /// case, the batch need not return to it.
    #[inline]
    pub(super) fn turn(&mut self, at: &mut impl Place<Self>) {
        // The opening is announced before all else: both may have come together.
        if !at.association().told {
            self.conclude(at);
        }
        Self::deliver(at);
        let now = at.cx().now();
        let engine = &mut at.association().engine;
        if engine.is_closing() {
            engine.hurry(now);
        }
        if engine.may_transmit(now) || engine.has_released() {
            self.conclude(at);
            return at.later();
        }
        let session = at.association();
        if mem::replace(&mut session.only_messages, true) {
            // They have changed nothing else: neither its phase, nor when the peer is asked again
            // for what it was sent.
            let deadline = session.engine.next_receiving();
            debug_assert!(
                session
                    .engine
                    .next_deadline(now)
                    .is_none_or(|all| all >= deadline.min(session.armed))
            );
            return Self::arm_at(at, deadline);
        }
        self.conclude(at);
        Self::arm(at, now);
    }

    /// Delivers what has arrived, as far as there is credit.
    pub(super) fn deliver(at: &mut impl Place<Self>) {
        let now = at.cx().now();
        while at.association().engine.inbox() > 0 {
            // A closed association takes nothing any more.
            let closing = at.association().engine.is_closing();
            let room = if closing { EVERYTHING } else { at.room() };
            let engine = &mut at.association().engine;
            let taken = match H::Transfer::MESSAGES {
                true => engine.take(now, room),
                false => engine.take_octets(now, room.octets),
            };
            match taken {
                Some((message, properties)) if !closing => at.deliver(message, properties.into()),
                Some(_) => {}
                None if Self::never_fits(at) => {}
                None => return,
            }
        }
    }

    /// Ends the association if the next message is longer than the layer above ever takes:
    /// everything behind it would wait for ever. Returns whether that is so.
    #[cold]
    fn never_fits(at: &mut impl Place<Self>) -> bool {
        let (now, room) = (at.cx().now(), at.room().octets);
        let session = at.association();
        // Credit that was first given later, or beyond the first, counts as well.
        session.takes = session.takes.max(room);
        let fits = !H::Transfer::MESSAGES
            || session.takes == 0
            || session.engine.next_octets() <= session.takes;
        if !fits {
            let takes = u32::try_from(session.takes).unwrap_or(u32::MAX);
            session.engine.give_up(now, Ending::TooLong(takes));
            at.later();
        }
        !fits
    }

    /// Returns the credit for a message that is delivered as it comes. A layer above that has
    /// closed has none, nor one that was not told that the association is open.
    #[inline(always)]
    pub(super) fn room_at_once(at: &mut impl Place<Self>) -> Credit {
        let session = at.association();
        match session.engine.is_closing() || !session.told {
            true => Credit::default(),
            false if H::Transfer::MESSAGES => at.room(),
            false => Credit { messages: usize::MAX, ..at.room() },
        }
    }

    /// Receives a packet, and those `behind` it that are taken with it. Messages may be delivered
    /// with them.
    #[inline(always)]
    pub(super) fn receive(
        &mut self,
        at: &mut impl Place<Self>,
        header: &Located<H>,
        mut packet: MessageOf<H>,
        mut behind: Option<&mut BatchMessages<MessageOf<H>>>,
    ) {
        let (now, room) = (at.cx().now(), Self::room_at_once(at));
        let before = behind.as_ref().map_or(0, |behind| behind.len());
        let (engine, memory) = (&mut at.association().engine, &mut self.memory);
        let received = engine.receive(
            now,
            Some(&header.front),
            &mut packet,
            behind.as_deref_mut(),
            memory,
            room,
        );
        let packets = 1 + before - behind.map_or(0, |behind| behind.len());
        at.association().received += packets as u64;
        // Otherwise an attacker off the path could spoof congestion in the peer's name.
        let ecn = at.arrived().ecn;
        if ecn != Ecn::NotEct && matches!(received, Ok(_) | Err(Dropped::Duplicate)) {
            at.association().engine.on_marked(ecn, packets as u32);
        }
        match received {
            Ok(Some(Delivery { messages: 1, properties })) => {
                return at.deliver(packet, properties.into());
            }
            Ok(Some(Delivery { messages, properties })) => {
                let each = packet.len() / messages;
                return at.deliver_batch(Batch::new(packet, each), properties.into());
            }
            _ => {}
        }
        at.association().only_messages = false;
        if let Err(dropped) = received {
            at.cx().dropped(H::FACTS.name, dropped.reason());
        }
        while let Some(DroppedMember { member, why }) =
            at.association().engine.take_dropped_member()
        {
            let why = why.words();
            at.cx().event(H::FACTS.name, format_args!("member {member:016x} was dropped: {why}"));
        }
    }

    /// Tells the peer that it is over, if that was found here, and has it told when it asks.
    #[cold]
    pub(super) fn say_farewell(&mut self, at: &mut impl Place<Self>, why: Ending) {
        let mut packet = Vec::new();
        let now = at.cx().now();
        let Some(wait) = at.association().engine.farewell(now, why, &mut packet) else { return };
        let tells = matches!(why, Ending::Silent | Ending::Forged);
        let session = at.association();
        let (key, remote, stranger) = (session.key.clone(), session.remote, session.half_open);
        let farewell = Farewell { packet: &packet, wait, tells, stranger };
        self.host.bury(at.cx(), (&key, remote), farewell);
        // A stranger is told when it asks.
        if tells && !stranger && !packet.is_empty() {
            let (_, headroom) = self.host.packet();
            at.send_batch(MessageOf::<H>::with_headroom(headroom, &packet).into());
        }
    }

    /// Tells the layer above the phase of the association, if it has changed.
    pub(super) fn conclude(&mut self, at: &mut impl Place<Self>) {
        let now = at.cx().now();
        let session = at.association();
        let phase = session.engine.phase(now);
        if phase == Phase::Idle && session.half_open {
            // What came looked like an opening, and was none.
            return at.end(Ended::Unreachable);
        }
        // Where nothing else is agreed, a peer's association is open with its first packet.
        let is_open = phase == Phase::Open || H::OPENS_AT_FIRST && session.half_open;
        if session.half_open && session.engine.stranger_heard().is_none() {
            session.half_open = false;
            self.half_open -= 1;
        }
        if is_open && !session.told {
            session.told = true;
            // What the opening has shown of the path may allow more than the first credit.
            let more = session.allowance.more::<H>(self.host.room(), &mut session.engine);
            at.add_first_room(Credit::of_octets(more));
            at.opened();
        }
        let session = at.association();
        if !H::Transfer::MESSAGES
            && session.told
            && !session.heard_all
            && !session.engine.is_closing()
            && session.engine.heard_all(now)
        {
            session.heard_all = true;
            at.finished();
        }
        let session = at.association();
        match phase {
            Phase::Ended(ending) if session.engine.inbox() == 0 => {
                let told = session.told;
                self.say_farewell(at, ending);
                let why = match ending {
                    Ending::Finished => Ended::Finished,
                    Ending::Silent if told => Ended::Expired,
                    Ending::Silent => Ended::Unreachable,
                    // An association that was not open yet was refused, however the peer said it.
                    Ending::Reset(code) if told => Ended::Reset(code),
                    Ending::Refused(code) | Ending::Reset(code) => Ended::Refused(code),
                    Ending::Aborted(_) => Ended::Aborted,
                    Ending::Forged => Ended::Forged,
                    Ending::Overrun => Ended::Overrun,
                    Ending::TooLong(longest) => Ended::TooLong { longest },
                };
                at.end(why);
            }
            _ => {}
        }
    }
}
