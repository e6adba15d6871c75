//! The retransmit queue against a model that keeps every packet by itself.
//!
//! `SEEDS=30 cargo test --release -p stackwright-transport --lib sent` runs more seeds.

extern crate std;

mod model;

use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use std::panic;

use stackwright_contract::Instant;
use stackwright_simulator::seeds;
use stackwright_wire::{BufferTree, Message as _, Pool};

use super::{
    Acknowledged, Cause, Leaving, Numbering, Payload, Range, SentQueue, SentRange, Settling, State,
    Transmission,
};
use crate::sending::messages::Messages;
use crate::sending::pieces::Pieces;
use crate::words::{Epoch, Label};
use model::{Model, Packet};

/// A small random source (splitmix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn chance(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }
}

/// The queue and the model.
struct Pair {
    random: Random,
    numbering: Numbering,
    /// Whether what was reported may be dropped again.
    reneges: bool,
    queue: SentQueue<BufferTree>,
    pool: Pool<BufferTree>,
    messages: Messages,
    model: Model,
    now: u64,
    message: u32,
    asked: u32,
    /// A message of which more pieces are to be sent, and its index in the model.
    begun: Option<(Payload<BufferTree>, usize)>,
}

fn at(nanoseconds: u64) -> Instant {
    Instant::from_nanoseconds(nanoseconds)
}

impl Pair {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let numbering = [Numbering::Packets, Numbering::Octets][random.below(4) as usize / 3];
        // Some begin where 32 bits wrap.
        let first = [1, 1 << 32, (1 << 32) - 30, (1 << 33) - 7][random.below(4) as usize];
        let asked = [0, u32::MAX - 5][random.below(2) as usize];
        let reneges = random.chance(2);
        Pair {
            random,
            numbering,
            reneges,
            queue: SentQueue::new(numbering, first),
            pool: Pool::new(64, 4),
            messages: Messages::new(),
            model: Model { upto: first, ..Model::default() },
            now: 1000,
            message: u32::MAX - 3,
            asked,
            begun: None,
        }
    }

    fn payload(&mut self) -> (Payload<BufferTree>, usize) {
        let piece = 1 + self.random.below(9) as usize;
        let is_empty = self.numbering == Numbering::Packets && self.random.chance(20);
        let each = if is_empty { 0 } else { 1 + self.random.below(60) as usize };
        let more = if !is_empty && self.random.chance(3) { self.random.below(6) as u32 } else { 0 };
        let (message, count) = (self.message, each.div_ceil(piece).max(1) as u32);
        self.message = message.wrapping_add(more + 1);
        let label = Label { message, count, ..Label::default() };
        let pieces = Pieces::new(label, self.messages.enter(more + 1), piece, each).and(more);
        let octets: Vec<u8> =
            (0..each * (more as usize + 1)).map(|_| self.random.next() as u8).collect();
        let body = BufferTree::with_headroom(8, &octets);
        // What the framing put before it is not the application's.
        let credit = each.saturating_sub(2);
        let first = self.model.messages.len();
        self.model.messages.extend((0..=more).map(|_| (count, credit)));
        (
            Payload {
                pieces,
                body,
                since: at(self.now),
                lifetime: None,
                epoch: Epoch::default(),
                credit,
            },
            first,
        )
    }

    fn leaving(&mut self, count: usize) -> Leaving {
        let in_parts = count == 1 && self.random.chance(3);
        Leaving {
            now: at(self.now),
            inquiry_number: self.asked.wrapping_add(1),
            in_parts,
            is_kept: true,
        }
    }

    fn push(&mut self) {
        let (mut payload, mut message) = self.begun.take().unwrap_or_else(|| self.payload());
        let all = payload.pieces.count();
        let count =
            if self.random.chance(2) { all } else { 1 + self.random.below(all as u64) as usize };
        let sent = self.leaving(count);
        let (mut pieces, mut body) = (payload.pieces, payload.body.share());
        for _ in 0..count {
            let (octets, label) = (pieces.first_octets(), *pieces.label());
            let Leaving { inquiry_number, in_parts, .. } = sent;
            let end = self.model.upto
                + if self.numbering == Numbering::Packets { 1 } else { octets as u64 };
            self.model.packets.push(Packet {
                span: self.model.upto..end,
                octets,
                first_octet: if octets > 0 { body.front(1).map(|front| front[0]) } else { None },
                label,
                message,
                sent_at: at(self.now),
                order: self.model.orders,
                times: 1,
                inquiry_number,
                in_parts,
                cause: None,
                state: Some(State::InFlight),
            });
            self.model.upto = end;
            self.model.orders += 1;
            message += usize::from(label.last);
            body.advance(octets);
            pieces = pieces.skip(1);
        }
        let leaving = if count < all {
            let leaving = payload.split_to(count, payload.pieces.octets(count));
            self.begun = Some((payload, message));
            leaving
        } else {
            payload
        };
        self.queue.push(leaving, count, &sent);
    }

    fn span(&mut self) -> Range<u64> {
        let start = self.queue.settled_upto();
        let all = self.model.upto - start;
        if self.random.chance(3) {
            return start..start + self.random.below(all + 1);
        }
        let from = start + self.random.below(all + 1);
        let most = if self.random.chance(2) { 4 } else { all };
        from..(from + self.random.below(most + 1)).min(self.model.upto)
    }

    fn acknowledge(
        &mut self,
        span: Range<u64>,
        (copies, highest): (Instant, u64),
        sum: &mut Acknowledged,
        again: &mut Vec<Range<u64>>,
    ) {
        let (messages, pool, too_soon) = (&mut self.messages, &self.pool, copies);
        let mut settling = Settling { copies, too_soon, highest, messages, pool, sum, again };
        self.queue.acknowledge(span, &mut settling);
    }

    /// Some numbers are reported that stay, and one is expected.
    fn hold(&mut self) {
        let copies = at(if self.random.chance(2) { 0 } else { self.now - 3 });
        let highest = self.model.acknowledged_order;
        let (mut sum, mut expected) = (Acknowledged::default(), Acknowledged::default());
        let (mut again, mut known) = (Vec::new(), BTreeSet::new());
        for _ in 0..self.random.below(4) {
            let span = self.span();
            let (messages, pool, too_soon) = (&mut self.messages, &self.pool, copies);
            let (sum, again) = (&mut sum, &mut again);
            let mut settling = Settling { copies, too_soon, highest, messages, pool, sum, again };
            self.queue.hold(&span, &mut settling);
            self.model.hold(span, (copies, highest), &mut expected, &mut known);
        }
        assert_eq!(sum, expected);
        assert_eq!(self.queue.prove(&again), self.model.prove(&known));
        if self.random.chance(3) {
            // Of a packet of octets, some may have arrived.
            let first = self.model.packets.iter().find(|packet| packet.state.is_some());
            let numbers = first.map_or(1, |packet| packet.span.end - packet.span.start);
            let upto = self.queue.settled_upto() + self.random.below(numbers);
            self.queue.expect(upto);
            self.model.expect(upto);
        }
    }

    fn step(&mut self) {
        if !self.random.chance(3) {
            self.now += self.random.below(4);
        }
        match self.random.below(if self.reneges { 19 } else { 17 }) {
            0..4 => self.push(),
            4..9 => {
                let copies = at(if self.random.chance(2) { 0 } else { self.now - 3 });
                let before = (copies, self.model.acknowledged_order);
                let (mut sum, mut expected) = (Acknowledged::default(), Acknowledged::default());
                let (mut again, mut known) = (Vec::new(), BTreeSet::new());
                for _ in 0..self.random.below(6) {
                    let span = self.span();
                    self.acknowledge(span.clone(), before, &mut sum, &mut again);
                    self.model.acknowledge(span, before, &mut expected, &mut known);
                }
                assert_eq!(sum, expected);
                assert_eq!(self.queue.prove(&again), self.model.prove(&known));
            }
            9 => {
                let tolerance = 1 + self.random.below(4);
                let before = self.random.chance(2).then(|| at(self.now - 5));
                let (highest, settled) = (self.model.acknowledged_order, self.queue.settled_upto());
                let lost = self.model.lose(settled, |packet| {
                    packet.order + tolerance <= highest
                        || packet.order < highest
                            && before.is_some_and(|before| packet.sent_at < before)
                });
                assert_eq!(self.queue.lose_overtaken(tolerance, before, settled), lost);
                if self.random.chance(4) {
                    let (restored, before) = (self.model.restored_order, at(self.now - 8));
                    let lost = self
                        .model
                        .lose(settled, |packet| packet.order < restored && packet.sent_at < before);
                    assert_eq!(self.queue.lose_restored(before, settled), lost);
                }
            }
            10 => {
                let (span, answer, once) = (self.span(), self.asked, self.random.chance(2));
                let is_lost = |times: u16, inquiry_number: u32| {
                    if once { times == 1 } else { answer.wrapping_sub(inquiry_number) as i32 >= 0 }
                };
                let overlaps =
                    |other: &Range<u64>| other.start < span.end && other.end > span.start;
                let settled = self.queue.settled_upto();
                let judged = self.queue.judge(span.clone(), settled, |suspect| {
                    assert!(overlaps(&suspect.span));
                    is_lost(suspect.times, suspect.stamp)
                });
                let is_lost = |packet: &Packet| {
                    overlaps(&packet.span) && is_lost(packet.times, packet.inquiry_number)
                };
                assert_eq!(judged, self.model.lose(settled, is_lost));
            }
            11 => {
                let lost = self.model.of(State::InFlight).map(|packet| packet.span.start);
                let lost = lost.collect();
                self.model.begin_episode(lost, self.model.upto);
                self.model.turn(State::InFlight, State::Lost(Cause::TimedOut));
                self.queue.lose_all();
            }
            14 => {
                let restored = self.model.of(State::Lost(Cause::TimedOut));
                let orders = Vec::from_iter(restored.map(|packet| packet.order));
                if let (Some(first), Some(last)) = (orders.iter().min(), orders.iter().max()) {
                    let acknowledged = &mut self.model.acknowledged_order;
                    *acknowledged = (*acknowledged).min(*first);
                    self.model.restored_order = self.model.restored_order.max(last + 1);
                }
                self.model.begin_episode(BTreeSet::new(), 0);
                self.model.turn(State::Lost(Cause::TimedOut), State::InFlight);
                self.queue.restore();
            }
            12 => {
                let mut packets = self.model.packets.iter_mut().rev();
                let newest = packets.find(|packet| packet.state == Some(State::InFlight));
                assert_eq!(self.queue.probe(), newest.is_some());
                if let Some(newest) = newest {
                    newest.state = Some(State::Lost(Cause::Probes));
                }
            }
            13 => self.asked = self.asked.wrapping_add(1),
            17.. => self.hold(),
            _ => self.resend(),
        }
    }

    fn resend(&mut self) {
        let Some(first) = self.queue.first_lost() else { return };
        let (start, all) = (first.numbers.start, first.count);
        let place = self.model.place(start);
        let count = 1 + self.random.below(all as u64) as usize;
        if self.random.chance(20) {
            let (payload, count) = self.queue.take(start).expect("a range is lost");
            assert_eq!(count, all);
            self.messages.settle(&payload.pieces, count, payload.credit);
            (place..place + count).for_each(|at| self.model.settle(at));
            return;
        }
        let leaving = self.leaving(count);
        let body = self.queue.resend(count, &leaving).map(|range| range.payload.body.len());
        let packets = &mut self.model.packets[place..place + count];
        assert_eq!(body, Some(packets.iter().map(|packet| packet.octets).sum()));
        for packet in packets {
            let Some(State::Lost(cause)) = packet.state.replace(State::InFlight) else {
                panic!("it is not lost");
            };
            packet.cause = Some(cause);
            packet.times += 1;
            (packet.sent_at, packet.order) = (at(self.now), self.model.orders);
            (packet.inquiry_number, packet.in_parts) = (leaving.inquiry_number, leaving.in_parts);
            self.model.orders += 1;
        }
    }

    fn check(&mut self) {
        let settled = self.model.packets.iter().take_while(|packet| packet.state.is_none()).count();
        self.model.packets.drain(..settled);
        let (queue, model) = (&mut self.queue, &self.model);
        let octets = |state| model.of(state).map(|packet| packet.octets as u64).sum::<u64>();
        assert_eq!(queue.in_flight(), octets(State::InFlight));
        assert_eq!(queue.lost_packets(), model.lost().count());
        assert_eq!(queue.sent_upto(), model.upto);
        let unsettled = model.packets.iter().find(|packet| packet.state.is_some());
        assert_eq!(queue.settled_upto(), unsettled.map_or(model.upto, |packet| packet.span.start));
        assert_eq!(queue.is_empty(), unsettled.is_none());
        assert_eq!(queue.oldest_at(), model.oldest().map(|packet| packet.sent_at));
        // Asking tidies the queue up: it must be right without that, too.
        if self.random.chance(4) {
            let lost = model.lost().next().map(|packet| packet.span.start);
            assert_eq!(queue.first_lost().map(|range| range.numbers.start), lost);
        }
        assert_eq!(
            core::mem::take(&mut self.messages.released),
            core::mem::take(&mut self.model.released)
        );
    }

    /// Compares each packet of each range.
    fn check_ranges(&self) {
        let mut unsettled = self.model.packets.iter().filter(|packet| packet.state.is_some());
        for range in &self.queue.ranges {
            let (mut pieces, mut body) = (range.payload.pieces, range.payload.body.share());
            let mut start = range.numbers.start;
            for index in 0..range.count {
                let packet = unsettled.next().expect("a packet");
                assert_eq!((packet.span.start, packet.order), (start, range.order + index as u64));
                assert_eq!((packet.times, packet.sent_at), (range.times, range.sent_at));
                assert_eq!(
                    (packet.state, packet.inquiry_number),
                    (Some(range.state), range.inquiry_number)
                );
                assert_eq!(packet.in_parts, range.in_parts);
                assert_eq!((packet.octets, packet.label), (pieces.first_octets(), *pieces.label()));
                if let Some(octet) = packet.first_octet {
                    assert_eq!(body.front(1), Some(&[octet][..]));
                }
                start = packet.span.end;
                body.advance(packet.octets);
                pieces = pieces.skip(1);
            }
            assert_eq!((start, body.len()), (range.numbers.end, 0));
        }
        assert!(unsettled.next().is_none());
        let unsettled = self.model.packets.iter().filter(|packet| packet.state.is_some());
        let expected: BTreeSet<_> = unsettled.map(|packet| packet.label.message).collect();
        let numbers = self.queue.unsettled().flat_map(|(pieces, count)| {
            let first = pieces.label().message;
            (0..pieces.messages_begun(count)).map(move |nth| first.wrapping_add(nth))
        });
        assert_eq!(numbers.collect::<BTreeSet<_>>(), expected);
    }

    fn run(&mut self, steps: u64) {
        for step in 0..steps {
            self.step();
            self.check();
            if step % 8 == 0 {
                self.check_ranges();
            }
        }
        let (all, mut sum) = (0..self.model.upto, Acknowledged::default());
        self.acknowledge(all.clone(), (Instant::START, 0), &mut sum, &mut Vec::new());
        self.model.acknowledge(all, (Instant::START, 0), &mut sum, &mut BTreeSet::new());
        self.check();
        assert!(self.begun.is_some() || self.messages.partial() == 0, "all are released");
    }
}

#[test]
fn behaves_as_if_each_packet_were_kept_by_itself() {
    for seed in seeds(3000) {
        let result = panic::catch_unwind(|| Pair::new(seed).run(40 + seed % 80));
        assert!(result.is_ok(), "seed {seed}");
    }
}

/// Octets of memory, but for bodies.
fn memory(queue: &SentQueue<BufferTree>) -> usize {
    queue.ranges.capacity() * size_of::<SentRange<BufferTree>>()
        + queue.lost.capacity() * size_of::<Range<u64>>()
        + queue.transmissions.capacity() * size_of::<Transmission>()
}

/// 4,096 packets in flight in bursts of 44, and one in a hundred of those that left before is
/// missing.
#[test]
fn holes_cost_little_memory() {
    let (mut queue, mut random) = (SentQueue::new(Numbering::Packets, 1), Random(1));
    let (mut messages, pool) = (Messages::new(), Pool::new(64, 1));
    let label = Label { count: 44, ..Label::default() };
    let leaving =
        Leaving { now: Instant::START, inquiry_number: 0, in_parts: false, is_kept: true };
    while queue.sent_upto() < 2 * 4096 {
        let pieces = Pieces::new(label, messages.enter(1), 1, 44);
        let body = BufferTree::with_headroom(0, &[7; 44]);
        let payload = Payload {
            pieces,
            body,
            since: Instant::START,
            lifetime: None,
            epoch: Epoch::default(),
            credit: 44,
        };
        queue.push(payload, 44, &leaving);
    }
    let (messages, sum) = (&mut messages, &mut Acknowledged::default());
    let (copies, too_soon, again) = (Instant::START, Instant::END, &mut Vec::new());
    let mut settling = Settling { copies, too_soon, highest: 0, messages, pool: &pool, sum, again };
    for number in 1..4096 {
        if !random.chance(100) {
            queue.acknowledge(number..number + 1, &mut settling);
        }
    }
    assert!(queue.in_flight() > 4096 && queue.ranges.len() < 4096 / 44 + 60);
    assert!(memory(&queue) <= 128 << 10, "{} octets", memory(&queue));
    let lost = queue.lose_overtaken(3, None, 1);
    assert!(
        (20..60).contains(&lost) && memory(&queue) <= 128 << 10,
        "{lost} of {}",
        memory(&queue)
    );
}
