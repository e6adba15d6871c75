//! The model: every packet by itself.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use stackwright_contract::Instant;
use stackwright_contract::services::Credit;

use super::super::{Acknowledged, Cause, Proven, Range, State};
use crate::words::Label;

/// One packet, as the model sees it.
#[derive(Clone, Debug)]
pub(super) struct Packet {
    pub(super) span: Range<u64>,
    pub(super) octets: usize,
    pub(super) first_octet: Option<u8>,
    pub(super) label: Label,
    /// The index of its message in the model.
    pub(super) message: usize,
    pub(super) sent_at: Instant,
    pub(super) order: u64,
    pub(super) times: u16,
    pub(super) inquiry_number: u32,
    pub(super) in_parts: bool,
    pub(super) cause: Option<Cause>,
    /// The state; `None` if it is settled.
    pub(super) state: Option<State>,
}

impl Packet {
    /// Adds how it left to the sum of a report; that it arrived may have been told before.
    fn tell_length(&self, sum: &mut Acknowledged) {
        sum.in_parts |= self.in_parts;
        sum.longest = sum.longest.max(if self.in_parts { 0 } else { self.octets });
    }
}

#[derive(Default)]
pub(super) struct Model {
    pub(super) packets: Vec<Packet>,
    /// The packets of each message that are not settled, and the octets that the application gets
    /// back.
    pub(super) messages: Vec<(u32, usize)>,
    pub(super) released: Credit,
    pub(super) orders: u64,
    pub(super) acknowledged_order: u64,
    /// The order behind what a timeout had lost and that counts as in flight again.
    pub(super) restored_order: u64,
    /// The first numbers of what was lost in this episode and is not known to have arrived, when
    /// that is over, and whether it began with a timeout.
    pub(super) doubted: BTreeSet<u64>,
    pub(super) episode_upto: u64,
    pub(super) timed_out: bool,
    pub(super) upto: u64,
    /// The numbers that were reported and are kept.
    pub(super) reported: BTreeSet<u64>,
}

impl Model {
    pub(super) fn settle(&mut self, at: usize) {
        let packet = &mut self.packets[at];
        packet.state = None;
        let (left, credit) = &mut self.messages[packet.message];
        *left -= 1;
        if *left == 0 {
            self.released.octets += *credit;
            self.released.messages += 1;
        }
    }

    pub(super) fn acknowledge(
        &mut self,
        span: Range<u64>,
        (copies, highest): (Instant, u64),
        sum: &mut Acknowledged,
        again: &mut BTreeSet<u64>,
    ) {
        for at in 0..self.packets.len() {
            let packet = self.packets[at].clone();
            if packet.state.is_none()
                || packet.span.start < span.start
                || packet.span.end > span.end
            {
                continue;
            }
            if packet.state == Some(State::Held) {
                packet.tell_length(sum);
            } else {
                self.count(&packet, (copies, highest), sum, again);
            }
            self.settle(at);
        }
    }

    /// Records that numbers are reported, which stay.
    pub(super) fn hold(
        &mut self,
        span: Range<u64>,
        before: (Instant, u64),
        sum: &mut Acknowledged,
        again: &mut BTreeSet<u64>,
    ) {
        self.reported.extend(span);
        for at in 0..self.packets.len() {
            let packet = self.packets[at].clone();
            let is_new = packet.state.is_some_and(|state| state != State::Held);
            if is_new && packet.span.clone().all(|number| self.reported.contains(&number)) {
                self.count(&packet, before, sum, again);
                self.packets[at].state = Some(State::Held);
            }
        }
    }

    /// Records that this number is expected next.
    pub(super) fn expect(&mut self, upto: u64) {
        let front = self.packets.iter().find(|packet| packet.state.is_some());
        let is_held = |front: &Packet| front.state == Some(State::Held);
        if front.is_some_and(|front| is_held(front) && front.span.contains(&upto)) {
            self.turn(State::Held, State::Lost(Cause::Probes));
            self.reported.clear();
        }
    }

    /// Accounts for a packet that is reported.
    fn count(
        &mut self,
        packet: &Packet,
        (copies, highest): (Instant, u64),
        sum: &mut Acknowledged,
        again: &mut BTreeSet<u64>,
    ) {
        sum.octets += packet.octets as u64;
        sum.units += 1;
        let arrived = match packet.state {
            Some(State::Lost(cause)) => Some(cause),
            _ => packet.cause.filter(|_| !packet.in_parts && packet.sent_at > copies),
        };
        if matches!(arrived, Some(Cause::Overtaken | Cause::TimedOut)) {
            again.insert(packet.span.start);
        }
        sum.late |= arrived == Some(Cause::Overtaken);
        sum.doubtful |= arrived == Some(Cause::TimedOut);
        if packet.times == 1 && packet.order < highest {
            let oldest = sum.overtaken.unwrap_or(packet.sent_at).min(packet.sent_at);
            sum.overtaken = Some(oldest);
        }
        packet.tell_length(sum);
        let sent_at = Some(packet.sent_at);
        if packet.times == 1 {
            sum.newest = sum.newest.max(sent_at);
        } else {
            sum.repeated = sum.repeated.max(sent_at);
        }
        if packet.times == 1 || packet.sent_at <= copies {
            sum.surely = sum.surely.max(sent_at);
            self.acknowledged_order = self.acknowledged_order.max(packet.order);
        }
    }

    pub(super) fn of(&self, state: State) -> impl Iterator<Item = &Packet> {
        self.packets.iter().filter(move |packet| packet.state == Some(state))
    }

    pub(super) fn lost(&self) -> impl Iterator<Item = &Packet> {
        let is_lost = |packet: &&Packet| matches!(packet.state, Some(State::Lost(_)));
        self.packets.iter().filter(is_lost)
    }

    pub(super) fn turn(&mut self, from: State, to: State) {
        let packets = self.packets.iter_mut();
        packets.filter(|packet| packet.state == Some(from)).for_each(|one| one.state = Some(to));
    }

    pub(super) fn lose(&mut self, settled: u64, is_lost: impl Fn(&Packet) -> bool) -> u64 {
        let mut octets = 0;
        for packet in &mut self.packets {
            if packet.state == Some(State::InFlight) && is_lost(packet) {
                if settled >= self.episode_upto {
                    (self.episode_upto, self.timed_out) = (self.upto, false);
                    self.doubted.clear();
                }
                self.doubted.insert(packet.span.start);
                packet.state = Some(State::Lost(Cause::Overtaken));
                octets += packet.octets as u64;
            }
        }
        octets
    }

    pub(super) fn begin_episode(&mut self, doubted: BTreeSet<u64>, upto: u64) {
        (self.doubted, self.episode_upto, self.timed_out) = (doubted, upto, upto > 0);
    }

    pub(super) fn prove(&mut self, again: &BTreeSet<u64>) -> Proven {
        let before = self.doubted.len();
        self.doubted.retain(|number| !again.contains(number));
        let found = self.doubted.len() < before;
        let all = found && self.doubted.is_empty();
        let late = found && !self.timed_out;
        if all {
            self.begin_episode(BTreeSet::new(), 0);
        }
        Proven { late, all }
    }

    pub(super) fn oldest(&self) -> Option<&Packet> {
        self.of(State::InFlight).min_by_key(|packet| packet.order)
    }

    pub(super) fn place(&self, number: u64) -> usize {
        self.packets.partition_point(|packet| packet.span.start < number)
    }
}
