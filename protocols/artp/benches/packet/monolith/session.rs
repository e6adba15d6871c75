//! A session is asked for and granted.

use stackwright_artp::header::{
    ControlHeader, ControlKind, Packet, PacketKind, Proposal, Token, Verdict,
};
use stackwright_artp::{Item, items};
use stackwright_contract::Instant;
use stackwright_transport::Memory;
use stackwright_transport::words::Dropped;
use stackwright_wire::{BufferTree, Header, Message};

use super::{CONFIRM, Monolith, OPEN, State, packet};

impl Monolith {
    /// What is said in session 0 about this one.
    #[cold]
    pub(super) fn arrange(
        &mut self,
        now: Instant,
        header: &Packet,
        packet: &mut BufferTree,
    ) -> Result<(), Dropped> {
        let octets = packet.len();
        let octets = packet.front(octets).ok_or(Dropped::Malformed)?;
        if header.session != 0 || header.kind != PacketKind::Control {
            return Err(Dropped::NotOurs);
        }
        let Some(Ok(item)) = items(octets).next() else { return Err(Dropped::Malformed) };
        if item.id == CONFIRM {
            let token = Token::decode(item.value)?;
            if token.session == self.session && token.token == self.ours.nonce {
                self.state = State::Open;
            }
            return Ok(());
        }
        let theirs = Proposal::decode(item.value)?;
        if item.id != OPEN || theirs.session != self.session {
            return Err(Dropped::NotOurs);
        }
        match (&self.state, item.kind, theirs.verdict) {
            (State::Idle | State::Granted, ControlKind::Request, Verdict::Asked) => {
                self.state = State::Asked
            }
            (State::Asking(_) | State::Open, ControlKind::Reply, Verdict::Granted)
                if theirs.echo == self.ours.nonce =>
            {
                (self.state, self.confirms) = (State::Open, true);
            }
            _ => return Err(Dropped::NotOurs),
        }
        if self.theirs.is_none() {
            self.ranges = self.ours.ranges && theirs.ranges;
            self.edge = self.first.wrapping_add(theirs.window);
            (self.upto, self.highest) = (theirs.first, theirs.first);
            self.said = theirs.first.wrapping_add(self.config.window);
            self.quiet_since = now;
            self.theirs = Some(theirs);
        }
        Ok(())
    }

    #[cold]
    pub(super) fn speak_of_session(
        &mut self,
        now: Instant,
        memory: &Memory<BufferTree>,
    ) -> BufferTree {
        let nonce = self.theirs.as_ref().map_or(0, |theirs| theirs.nonce);
        let mut value = [0; Proposal::LENGTH];
        let (kind, id, length) = match self.state {
            State::Asking(_) => {
                self.ours.encode(&mut value);
                self.state = State::Asking(now.later(self.config.timeout_first));
                (ControlKind::Request, OPEN, Proposal::LENGTH)
            }
            State::Asked => {
                Proposal { verdict: Verdict::Granted, echo: nonce, ..self.ours }.encode(&mut value);
                self.state = State::Granted;
                (ControlKind::Reply, OPEN, Proposal::LENGTH)
            }
            _ => {
                Token { session: self.session, reserved: (), token: nonce }.encode(&mut value);
                self.confirms = false;
                (ControlKind::Request, CONFIRM, Token::LENGTH)
            }
        };
        let mut octets = Vec::with_capacity(ControlHeader::LENGTH + length);
        Item { kind, id, value: &value[..length] }.write(&mut octets);
        let mut message = BufferTree::with_headroom(memory.headroom + Packet::LENGTH, &octets);
        self.unacknowledged = self.unacknowledged.wrapping_add(1);
        message.push(&packet(PacketKind::Control, 0, self.unacknowledged, self.clock(now), 0));
        message
    }
}
