//! What a frame does to a link.

use stackwright_contract::services::Ended;
use stackwright_wire::Message;

use super::incoming::{Carried, Standing};
use super::{Act, Env, Key, Link, LinkState, Selective};
use crate::config::LinkVersion;
use crate::header::{ControlField, Modulus, Role, Supervisory, Unnumbered, pid};
use crate::xid::XidParameters;

/// How often the window is sent from the same number on before the link ends, though the peer
/// answers.
const STANDSTILL_MOST: u16 = 30;

impl<M: Message> Link<M> {
    /// Returns whether SABM means that the peer has begun anew: it knew that the link was open, and
    /// what was under way is lost. Else its opening, or the answer, was lost or doubled.
    pub(crate) fn is_confirmed(&self) -> bool {
        matches!(self.state, LinkState::Connected | LinkState::TimerRecovery) && self.confirmed
    }

    /// The peer has begun anew.
    pub(crate) fn lost(&mut self, env: &mut Env<'_, M>) {
        self.over(Ended::Reset(0), env);
    }

    /// Handles a frame of the peer. `information`: with its protocol identifier.
    pub(crate) fn receive(
        &mut self,
        control: ControlField,
        role: Role,
        mut information: M,
        its_pid: Option<u8>,
        env: &mut Env<'_, M>,
    ) {
        self.counts.received += 1;
        let open = matches!(self.state, LinkState::Connected | LinkState::TimerRecovery);
        match control {
            ControlField::Unnumbered { kind, poll } => {
                self.unnumbered(kind, role, poll, information, env);
            }
            ControlField::Information { poll, .. } | ControlField::Supervisory { poll, .. }
                if !open =>
            {
                if self.state == LinkState::AwaitingRelease && poll && role != Role::Response {
                    env.respond(Unnumbered::Dm, true);
                }
            }
            ControlField::Information { .. } if role == Role::Response => {
                env.cx.dropped(crate::NAME, "an I frame that is a response");
            }
            ControlField::Information { sent, received, poll } => {
                self.confirmed = true;
                let carried = Carried { pid: its_pid.unwrap_or(pid::NONE), information };
                self.information(sent, received, poll, carried, env);
            }
            ControlField::Supervisory { kind, received, poll } => {
                self.confirmed = true;
                self.supervisory(kind, role, received, poll, &mut information, env);
                information.reclaim(env.pool);
            }
        }
    }

    fn unnumbered(
        &mut self,
        kind: Unnumbered,
        role: Role,
        poll: bool,
        mut information: M,
        env: &mut Env<'_, M>,
    ) {
        use LinkState::{AwaitingConnection, AwaitingRelease, AwaitingV22Connection};
        match (kind, self.state) {
            (Unnumbered::Xid, _) => {
                let length = information.len();
                let octets = information.front(length);
                let theirs = octets.and_then(|octets| XidParameters::decode(octets).ok());
                self.xid(role, poll, theirs, env);
            }
            (Unnumbered::Test, _) => {
                if role != Role::Response {
                    let (role, information) = (Role::Response, Some(information));
                    env.acts.push_back(Act::Say { kind, role, poll, information, timed: false });
                }
            }
            // It was delivered; what it asks for is an answer of the link.
            (Unnumbered::Ui, LinkState::Connected | LinkState::TimerRecovery) => self.polled(),
            (Unnumbered::Ui, _) => env.respond(Unnumbered::Dm, true),
            (Unnumbered::Sabm, AwaitingConnection) | (Unnumbered::Sabme, AwaitingV22Connection) => {
                env.respond(Unnumbered::Ua, poll);
            }
            (Unnumbered::Sabm, AwaitingV22Connection) => {
                env.respond(Unnumbered::Ua, poll);
                // Both open, and the other one wants less: its SABM holds.
                self.version = LinkVersion::V20;
                self.state = AwaitingConnection;
                self.set_version(Modulus::Eight, env.config);
            }
            (Unnumbered::Sabme, AwaitingConnection) => {
                env.cx.dropped(crate::NAME, "SABME of a peer that was sent SABM");
            }
            (Unnumbered::Sabm | Unnumbered::Sabme, AwaitingRelease) => {
                env.respond(Unnumbered::Dm, poll);
            }
            (Unnumbered::Sabm | Unnumbered::Sabme, _) => {
                env.respond(Unnumbered::Ua, poll);
                let extended = kind == Unnumbered::Sabme;
                let modulus = if extended { Modulus::Extended } else { Modulus::Eight };
                self.set_version(modulus, env.config);
                self.connect(env);
            }
            (Unnumbered::Disc, AwaitingConnection | AwaitingV22Connection) => {
                env.respond(Unnumbered::Dm, poll);
            }
            (Unnumbered::Disc, AwaitingRelease) => env.respond(Unnumbered::Ua, poll),
            (Unnumbered::Disc, _) => {
                env.respond(Unnumbered::Ua, poll);
                let whole = self.outgoing.is_drained();
                self.over(if whole { Ended::Finished } else { Ended::Reset(0) }, env);
            }
            (Unnumbered::Ua, AwaitingConnection | AwaitingV22Connection) if poll => {
                let negotiates = self.state == AwaitingV22Connection;
                self.answered(env);
                if !core::mem::replace(&mut self.opened, true) {
                    env.acts.push_back(Act::Opened);
                }
                self.connect(env);
                if negotiates {
                    self.unanswered_extended = 0;
                    self.negotiate(env);
                } else if self.is_doubtful() {
                    self.clock.tries = 1;
                    self.enquire();
                }
            }
            (Unnumbered::Dm, AwaitingV22Connection) | (Unnumbered::Frmr, AwaitingV22Connection)
                if self.version == LinkVersion::Auto && (poll || kind == Unnumbered::Frmr) =>
            {
                self.unanswered_extended = self.unanswered_extended.saturating_sub(1);
                self.fall_back(env);
            }
            (Unnumbered::Dm, AwaitingConnection) if poll && self.unanswered_extended > 0 => {
                self.unanswered_extended -= 1; // it is to SABME
            }
            (Unnumbered::Dm, AwaitingConnection | AwaitingV22Connection) if poll => {
                self.over(Ended::Refused(0), env);
            }
            (Unnumbered::Ua | Unnumbered::Dm, AwaitingRelease) if poll => {
                self.over(Ended::Finished, env);
            }
            (Unnumbered::Dm, LinkState::Connected | LinkState::TimerRecovery) => {
                self.over(Ended::Reset(0), env);
            }
            (Unnumbered::Frmr, LinkState::Connected | LinkState::TimerRecovery) => {
                self.give_up(Ended::Reset(0), env);
            }
            _ => env.cx.dropped(crate::NAME, "an unnumbered frame that answers nothing"),
        }
    }

    fn information(
        &mut self,
        sent: u8,
        received: u8,
        poll: bool,
        carried: Carried<M>,
        env: &mut Env<'_, M>,
    ) {
        if self.is_doubtful() {
            return env.cx.dropped(crate::NAME, "an I frame that may be counted otherwise");
        }
        if !self.acknowledged(received, env) {
            return self.invalid(false, env);
        }
        // A peer that speaks is there (Check_I_Frame_Ackd starts T3 anew).
        self.t3 = self.t3.map(|_| env.now() + env.config.idle);
        let selective = self.selective != Selective::Absent;
        match self.incoming.standing(sent, self.modulus, selective) {
            Standing::Next => {
                let (modulus, acts) = (self.modulus, &mut *env.acts);
                let mut why_not = None;
                let deliver = |octets| match octets {
                    Ok(octets) => acts.push_back(Act::Deliver(octets)),
                    Err(why) => why_not = Some(why),
                };
                if !self.incoming.take(carried, modulus, deliver) {
                    env.cx.dropped(crate::NAME, "an I frame beyond what is held");
                    self.owes.acknowledgement = true;
                }
                if let Some(why) = why_not {
                    self.undelivered(why, env);
                }
                if self.incoming.waits() && !self.incoming.told_busy {
                    self.owes.acknowledgement = true; // RNR
                }
            }
            Standing::Ahead if selective => self.incoming.hold(sent, carried, self.modulus),
            Standing::Ahead => {
                if !core::mem::replace(&mut self.incoming.rejected, true) {
                    self.owes.reject = true;
                }
            }
            Standing::Repeated => {}
        }
        if poll {
            self.polled();
        } else if self.incoming.unacknowledged >= self.modulus.count() / 2 {
            self.owes.acknowledgement = true;
        } else {
            self.acknowledge_later(env);
        }
        self.release_when_drained(env);
    }

    /// Information is acknowledged and not delivered. The link goes on: the peer's other protocols
    /// are its own affair. It is told once of each link.
    fn undelivered(&mut self, why: &'static str, env: &Env<'_, M>) {
        env.cx.dropped(crate::NAME, why);
        if !core::mem::replace(&mut self.told_undelivered, true) {
            let Key { local, remote, .. } = self.key;
            env.cx.event(crate::NAME, format_args!("{remote} sent {local} {why}: not delivered"));
        }
    }

    /// P=1: the answer tells everything.
    fn polled(&mut self) {
        self.owes.answer = true;
        if self.selective != Selective::Absent {
            self.incoming.want_all(self.modulus);
        }
    }

    fn supervisory(
        &mut self,
        kind: Supervisory,
        role: Role,
        received: u8,
        poll: bool,
        information: &mut M,
        env: &mut Env<'_, M>,
    ) {
        if kind != Supervisory::SelectiveReject && !information.is_empty() {
            // Or one of a link that counts otherwise.
            return env.cx.dropped(crate::NAME, "a supervisory frame with information");
        }
        // A station before version 2.0 does not say whether it asks or answers.
        let asks = poll && (role == Role::Command || role == Role::Unsaid && !self.clock.asked);
        let answers = poll && !asks && self.clock.asked;
        if asks {
            self.polled();
        }
        self.outgoing.peer_busy = kind == Supervisory::ReceiveNotReady;
        // SREJ acknowledges with F=1 only (§4.3.2.4).
        let acknowledges = kind != Supervisory::SelectiveReject || poll;
        if acknowledges && !self.acknowledged(received, env) {
            return self.invalid(answers, env);
        }
        if kind == Supervisory::SelectiveReject {
            self.requested(received, information, env);
        }
        let recovers = self.state == LinkState::TimerRecovery;
        let answered = answers && self.answered(env);
        if answered {
            self.state = LinkState::Connected;
            self.unanswered_extended = 0;
            self.spoken = Some(self.modulus);
        }
        let goes_back = match kind {
            Supervisory::Reject => true,
            Supervisory::SelectiveReject => false,
            // Everything that was sent before the question has arrived, or never will.
            Supervisory::ReceiveReady | Supervisory::ReceiveNotReady => answered,
        };
        if goes_back {
            self.outgoing.go_back();
        }
        if self.outgoing.standstill > STANDSTILL_MOST {
            return self.give_up(Ended::Expired, env);
        }
        if answered || !recovers && !self.clock.asked {
            self.rest(env);
        }
        self.release_when_drained(env);
    }

    /// Takes the numbers of SREJ: N(R), and those in its information.
    fn requested(&mut self, received: u8, information: &mut M, env: &Env<'_, M>) {
        let shift = match self.modulus {
            Modulus::Eight => 5,
            Modulus::Extended => 1,
        };
        let length = information.len();
        let more = information.front(length).unwrap_or_default();
        let numbers = more.iter().map(|octet| octet >> shift);
        let mut known = true;
        for number in core::iter::once(received).chain(numbers) {
            known &= self.outgoing.request(number, self.modulus);
        }
        if !known {
            env.cx.dropped(crate::NAME, "SREJ of a number that was not sent");
        }
    }

    /// Takes N(R). Returns `false` where it is not valid.
    fn acknowledged(&mut self, received: u8, env: &mut Env<'_, M>) -> bool {
        if !self.outgoing.is_valid(received, self.modulus) {
            return false;
        }
        let (octets, frames) = self.outgoing.acknowledge(received, self.modulus, env.pool);
        if octets > 0 && self.above.is_some() {
            env.acts.push_back(Act::Credit(octets));
        }
        if frames > 0 && !self.outgoing.is_outstanding() && self.state == LinkState::Connected {
            self.sample(env.now());
            // A peer may answer P=1 without F=1, or with an I frame.
            (self.clock.asked, self.clock.ambiguous, self.clock.doubted) = (false, false, false);
            self.clock.tries = 0;
            self.rest(env);
        }
        true
    }

    /// N(R) is not valid. The specification begins anew, and loses octets; a frame of an earlier
    /// link can have done it. So the peer is asked, and only its answer ends the link.
    fn invalid(&mut self, answers: bool, env: &mut Env<'_, M>) {
        env.cx.dropped(crate::NAME, "a number that was not sent is acknowledged");
        if answers {
            self.give_up(Ended::Reset(0), env);
        } else if self.state == LinkState::Connected && !self.clock.asked {
            self.clock.tries = 1;
            self.enquire();
        }
    }
}
