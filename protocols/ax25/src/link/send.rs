//! What a link sends next, and what is asked of it from above.

use stackwright_contract::services::Ended;
use stackwright_wire::Message;

use super::incoming::Incoming;
use super::outgoing::Outgoing;
use super::{Act, Ending, Env, Frame, Learned, Link, LinkState, Selective};
use crate::config::{Config, LinkVersion};
use crate::header::{ControlField, Head, Modulus, Role, Supervisory};

impl<M: Message> Link<M> {
    /// Returns whether an I or an S frame is to be sent.
    pub(crate) fn wants_to_send(&self) -> bool {
        if !matches!(self.state, LinkState::Connected | LinkState::TimerRecovery) {
            return false;
        }
        let owes = self.owes;
        owes.enquiry
            || owes.answer
            || owes.reject
            || owes.acknowledgement
            || self.incoming.wanted != 0
            || self.may_send_information()
    }

    /// Whether an I frame may leave: a burst ends with a question, and the next one waits for the
    /// answer. On one channel for both directions the peer does not speak before this side is
    /// silent.
    fn may_send_information(&self) -> bool {
        self.state == LinkState::Connected
            && !self.clock.asked
            && self.outgoing.sendable().is_some()
    }

    /// Makes the frame that leaves next.
    pub(crate) fn next_frame(&mut self, env: &mut Env<'_, M>) -> Option<Frame<M>> {
        if !matches!(self.state, LinkState::Connected | LinkState::TimerRecovery) {
            return None;
        }
        let mut frame = self.next_supervisory(env).or_else(|| self.next_information(env));
        if frame.is_none() && self.owes.acknowledgement {
            frame = Some(self.ready(Role::Response, false, env));
        }
        self.counts.sent += u64::from(frame.is_some());
        frame
    }

    fn next_supervisory(&mut self, env: &mut Env<'_, M>) -> Option<Frame<M>> {
        if core::mem::take(&mut self.owes.enquiry) {
            self.ask();
            let frame = self.ready(Role::Command, true, env);
            return Some(Frame { timed: true, ..frame });
        }
        if let Some(frame) = self.selective_reject(env) {
            return Some(frame);
        }
        if core::mem::take(&mut self.owes.reject) {
            let poll = core::mem::take(&mut self.owes.answer);
            return Some(self.supervisory_frame(Supervisory::Reject, Role::Response, poll, env));
        }
        // RNR is not said by an I frame.
        let busy = self.incoming.waits() && !self.incoming.told_busy;
        if core::mem::take(&mut self.owes.answer) {
            return Some(self.ready(Role::Response, true, env));
        }
        if busy && self.owes.acknowledgement {
            return Some(self.ready(Role::Response, false, env));
        }
        None
    }

    /// RR, or RNR where octets wait for credit.
    fn ready(&mut self, role: Role, poll: bool, env: &Env<'_, M>) -> Frame<M> {
        let busy = self.incoming.waits();
        self.incoming.told_busy = busy;
        self.owes.acknowledgement = false;
        let kind = if busy { Supervisory::ReceiveNotReady } else { Supervisory::ReceiveReady };
        self.supervisory_frame(kind, role, poll, env)
    }

    fn supervisory_frame(
        &mut self,
        kind: Supervisory,
        role: Role,
        poll: bool,
        env: &Env<'_, M>,
    ) -> Frame<M> {
        let received = self.incoming.expected;
        let control = ControlField::Supervisory { kind, received, poll };
        let head = Head::new(&self.addresses(role), control, self.modulus, None);
        self.has_acknowledged();
        Frame { octets: env.frame(&head), timed: false }
    }

    /// SREJ of what is wanted. It ends the peer's wait where it is the last that answers P=1: then
    /// it is that of V(R), and acknowledges.
    fn selective_reject(&mut self, env: &Env<'_, M>) -> Option<Frame<M>> {
        let mut numbers = [0; 128];
        let mut count = 0;
        while let Some(number) = self.incoming.next_wanted(self.modulus) {
            numbers[count] = number;
            count += 1;
            if self.selective != Selective::Multiple {
                break;
            }
        }
        // The last is the oldest.
        let (oldest, more) = numbers[..count].split_last_mut()?;
        let last = self.incoming.wanted == 0 && *oldest == self.incoming.expected;
        let poll = last && core::mem::take(&mut self.owes.answer);
        let shift = match self.modulus {
            Modulus::Eight => 5,
            Modulus::Extended => 1,
        };
        more.iter_mut().for_each(|number| *number <<= shift);
        more.reverse();
        let kind = Supervisory::SelectiveReject;
        let control = ControlField::Supervisory { kind, received: *oldest, poll };
        let head = Head::new(&self.addresses(Role::Response), control, self.modulus, None);
        let mut octets = env.frame(&head);
        if !more.is_empty() {
            octets.join(M::with_headroom(0, more));
        }
        self.has_acknowledged();
        Some(Frame { octets, timed: false })
    }

    fn next_information(&mut self, env: &mut Env<'_, M>) -> Option<Frame<M>> {
        if !self.may_send_information() {
            return None;
        }
        let place = self.outgoing.sendable()?;
        let number = self.outgoing.number(place, self.modulus, env.pool);
        let poll = self.outgoing.is_last_sendable(place);
        let (sent, received) = (number, self.incoming.expected);
        let control = ControlField::Information { sent, received, poll };
        let addresses = self.addresses(Role::Command);
        let head = Head::new(&addresses, control, self.modulus, Some(self.outgoing.pid));
        let (octets, again) = self.outgoing.send(place, head.as_octets());
        self.counts.retransmitted += u64::from(again);
        self.has_acknowledged();
        if poll {
            self.ask();
        }
        Some(Frame { octets, timed: poll })
    }

    /// P=1 is sent.
    fn ask(&mut self) {
        self.clock.ambiguous |= self.clock.asked;
        self.clock.asked = true;
        self.await_departure();
    }

    /// Every frame with N(R) acknowledges.
    fn has_acknowledged(&mut self) {
        self.t2 = None;
        self.incoming.unacknowledged = 0;
        if !self.incoming.waits() {
            self.owes.acknowledgement = false;
        }
    }

    /// Sends octets, within the credit.
    pub(crate) fn push(&mut self, octets: M, env: &mut Env<'_, M>) {
        if self.ending != Ending::Open || self.last_word.is_some() {
            return env.cx.dropped(crate::NAME, "octets behind the end");
        }
        self.outgoing.push(octets);
        if self.outgoing.peer_busy && self.state == LinkState::Connected && !self.clock.asked {
            self.rest(env);
        }
    }

    /// Gives credit for octets of the peer.
    pub(crate) fn give(&mut self, credit: usize, env: &mut Env<'_, M>) {
        if let Some(octets) = self.incoming.give(credit) {
            env.acts.push_back(Act::Deliver(octets));
        }
        if self.incoming.waits() {
            return;
        }
        self.conclude(env);
        let open = matches!(self.state, LinkState::Connected | LinkState::TimerRecovery);
        if open && self.incoming.told_busy {
            // The peer waits for this word, and it may be lost: it is a question, where none is
            // under way.
            if self.state == LinkState::Connected && !self.clock.asked {
                self.clock.tries = 1;
                self.enquire();
            } else {
                self.owes.acknowledgement = true;
            }
        }
    }

    /// Releases the link when everything is acknowledged.
    pub(crate) fn finish(&mut self, env: &mut Env<'_, M>) {
        if self.ending == Ending::Open {
            self.ending = Ending::Finish;
        }
        self.release_when_drained(env);
    }

    /// Releases the link when everything is acknowledged; what still arrives is discarded. One that
    /// is not open ends at once.
    pub(crate) fn close(&mut self, env: &mut Env<'_, M>) {
        self.ending = Ending::Finish;
        self.incoming.discard();
        self.conclude(env);
        let opening =
            matches!(self.state, LinkState::AwaitingConnection | LinkState::AwaitingV22Connection);
        if opening || self.reopens {
            self.abort(Ended::Finished, env);
        }
        self.release_when_drained(env);
    }

    /// Ends the link at once: the peer is told, and the name above is free.
    pub(crate) fn abort(&mut self, why: Ended, env: &mut Env<'_, M>) {
        env.acts.push_back(Act::Ended(why));
        self.last_word = None;
        self.above = None;
        self.reopens = false;
        let open = matches!(self.state, LinkState::Connected | LinkState::TimerRecovery);
        self.ending = if open { Ending::Break } else { Ending::Finish };
        self.outgoing.clear(env.pool);
        self.incoming.discard();
        match self.state {
            LinkState::Disconnected | LinkState::AwaitingRelease => {}
            _ => self.release(env),
        }
    }

    /// Opens once more when it is released: nobody above hears of it any more.
    pub(crate) fn reopen(
        &mut self,
        version: LinkVersion,
        credit: usize,
        learned: Learned,
        config: &Config,
    ) {
        self.version = version;
        self.outgoing = Outgoing::new(config, self.key.port, learned);
        self.incoming = Incoming::new(credit);
        self.ending = Ending::Open;
        self.opened = false; // this name was not told
        self.reopens = true;
    }
}
