//! ARTP's engine with thousands of packets in flight, of which some are lost. Messages leave in
//! bursts of seven packets.

use std::collections::VecDeque;

use fastrand::Rng;
use stackwright_artp::{Config, Format, Messages, Secrets};
use stackwright_contract::Instant;
use stackwright_contract::services::{Batch, Credit, MessageProperties};
use stackwright_gate::subject::{Figure, Subject};
use stackwright_policies::{
    acknowledgement, congestion, connection, flow, inquiry, integrity, lifetime, ordering, rate,
    recovery, rtt,
};
use stackwright_transport::words::{MILLISECOND, Phase, SECOND};
use stackwright_transport::{Association, Configuration, Memory, Policies, Slots, configuration};
use stackwright_wire::{BufferTree, Message};

/// Packets in flight: the flow window. The congestion window has no bound, or loss would shrink it.
const WINDOW: u32 = 4096;
/// Packets of a burst.
const BURST: usize = 7;
/// Octets of a message, which leaves in a burst of short packets: copying is not what is counted.
const PAYLOAD: usize = BURST * 360;
/// The longest packet.
const PACKET: u16 = 400;
/// Octets before a packet, for the headers below.
const HEADROOM: usize = 32;
/// Packets that arrive in one step.
const ARRIVE: usize = 84;
/// Steps of a round.
const STEPS: usize = 100;
/// From one step to the next, in nanoseconds.
const STEP: u64 = 100_000;
/// Room for everything.
const EVERYTHING: Credit = Credit { octets: usize::MAX, messages: usize::MAX };

macro_rules! lossy {
    ($(#[$doc:meta])* $Name:ident, $Acknowledgement:ty = $acknowledgement:expr) => {
        configuration! {
            $(#[$doc])*
            pub(crate) $Name<M> {
                Format: Format<M>,
                Ordering: ordering::Absent,
                Framing: Messages<M>,
                Integrity: integrity::Absent,
                Connection: connection::TwoStage,
                Acknowledgement: $Acknowledgement,
                Inquiry: inquiry::Absent,
                Recovery: recovery::RackTlp,
                Rtt: rtt::Rfc6298,
                Flow: flow::CreditWindow,
                Congestion: congestion::Absent,
                Rate: rate::Absent,
                Lifetime: lifetime::Timestamps,
            }
        }

        impl $Name<BufferTree> {
            fn slots(side: u8) -> Slots<Self> {
                let config = Config { packet: PACKET, window: WINDOW, ..Config::new([0; 16]) };
                let nonce = 0x1234_5678 * u64::from(side);
                let secrets =
                    Secrets { first: 7, nonce, salt: [side; 16], reset: [side; 16] };
                Slots::from(Policies {
                    format: Format::new(5, &config, secrets),
                    ordering: ordering::Absent,
                    framing: Messages::new(&config),
                    integrity: integrity::Absent,
                    connection: connection::TwoStage::new(SECOND),
                    acknowledgement: $acknowledgement,
                    inquiry: inquiry::Absent,
                    recovery: recovery::RackTlp::new(30 * SECOND),
                    rtt: rtt::Rfc6298::new(rtt::SampleSource::Units, SECOND, 200 * MILLISECOND),
                    flow: flow::CreditWindow::new(WINDOW.into()),
                    congestion: congestion::Absent,
                    rate: rate::Absent,
                    lifetime: lifetime::Timestamps::new(0),
                })
            }
        }
    };
}

lossy! {
    /// Reports list what arrived since the last one.
    List, acknowledgement::PeriodicList = acknowledgement::PeriodicList::new(MILLISECOND, 2 * ARRIVE as u64)
}

lossy! {
    /// Reports name all before the first hole, and the ranges beyond it.
    Ranges, acknowledgement::PeriodicList =
        acknowledgement::PeriodicList::new(MILLISECOND, 2 * ARRIVE as u64).ranges(true)
}

pub(crate) fn add(figures: &mut Vec<Figure>) {
    let packets = (STEPS * ARRIVE) as u64;
    figures.push(Figure::new("artp/bursts/whole", packets, || Crossing(Flow::new(List::slots, 0))));
    figures.push(Figure::new("artp/bursts/list", packets, || Crossing(Flow::new(List::slots, 10))));
    figures.push(Figure::new("artp/bursts/ranges", packets, || {
        Crossing(Flow::new(Ranges::slots, 10))
    }));
    figures.push(Figure::new("artp/static/hole", 1, || Hole {
        flow: Flow::new(Ranges::slots, 0),
        report: None,
    }));
}

/// Two ends, and what is on its way between them.
struct Flow<C: Configuration<Message = BufferTree>> {
    here: Association<C>,
    there: Association<C>,
    memory: Memory<BufferTree>,
    now: Instant,
    random: Rng,
    /// Packets of a thousand that are lost.
    loss: u32,
    /// Packets that left together and none of which was lost, and the octets of each but the last.
    network: VecDeque<(BufferTree, usize)>,
    /// Packets of them.
    packets: usize,
    lost: u64,
    message: BufferTree,
    received: u64,
}

impl<C: Configuration<Message = BufferTree>> Flow<C> {
    fn new(make: fn(u8) -> Slots<C>, loss: u32) -> Self {
        let mut flow = Flow {
            here: Association::new(make(1)),
            there: Association::new(make(2)),
            memory: Memory::new(usize::from(PACKET), HEADROOM, 2 * ARRIVE).with_runs(64 << 10),
            now: Instant::from_nanoseconds(1_000_000_000),
            random: Rng::with_seed(1),
            loss,
            network: VecDeque::new(),
            packets: 0,
            lost: 0,
            message: BufferTree::with_headroom(HEADROOM, &[7; PAYLOAD]),
            received: 0,
        };
        flow.here.open(flow.now);
        for _ in 0..4 {
            flow.leave();
            flow.arrive(flow.packets);
            flow.report();
        }
        assert_eq!(flow.there.phase(flow.now), Phase::Open, "the session is open");
        flow
    }

    /// As many bursts leave as the window takes.
    fn send(&mut self) {
        loop {
            let sending = self.here.sending();
            let beyond = sending.sent_upto() - sending.settled_upto();
            if beyond + 2 * BURST as u64 > u64::from(WINDOW) || sending.waiting() > 0 {
                break;
            }
            let sent = self.here.send(
                self.now,
                self.message.share(),
                MessageProperties::default(),
                &self.memory,
            );
            assert!(sent.is_ok(), "it is not too long");
            self.leave();
        }
        self.leave();
    }

    fn leave(&mut self) {
        while let Some(run) = self.here.transmit(self.now, &mut self.memory, EVERYTHING) {
            let stride = run.longest();
            self.carry(run.into_octets(), stride);
        }
    }

    /// The packets between two that are lost stay together.
    fn carry(&mut self, mut rest: BufferTree, stride: usize) {
        let mut whole = 0;
        for _ in 0..rest.len().div_ceil(stride) {
            whole += 1;
            if self.random.u32(..1000) < self.loss {
                let before = rest.split_to((whole - 1) * stride);
                rest.advance(stride.min(rest.len()));
                self.lost += 1;
                self.push(before, stride);
                whole = 0;
            }
        }
        self.push(rest, stride);
    }

    /// The network copies them, as kernels do: packet by packet, since a long copy is counted octet
    /// by octet.
    fn push(&mut self, mut packets: BufferTree, stride: usize) {
        let length = packets.len();
        let mut octets = Vec::with_capacity(length);
        let all = packets.front(length).expect("they lie in memory");
        all.chunks(stride).for_each(|packet| octets.extend_from_slice(packet));
        if length > 0 {
            self.packets += length.div_ceil(stride);
            self.network.push_back((BufferTree::from_block(octets.into(), 0, length), stride));
        }
    }

    /// So many packets arrive, and the application takes what is whole.
    fn arrive(&mut self, mut packets: usize) {
        assert!(packets <= self.packets, "the network is never empty");
        self.packets -= packets;
        while packets > 0 {
            let Some((mut together, stride)) = self.network.pop_front() else { return };
            let count = together.len().div_ceil(stride);
            if count > packets {
                let first = together.split_to(packets * stride);
                self.network.push_front((together, stride));
                together = first;
            }
            packets -= count.min(packets);
            let mut run = Batch::new(together, stride).into_iter();
            while let Some(mut packet) = run.next() {
                let behind = (run.len() > 0).then_some(&mut run);
                let up = self.there.receive(
                    self.now,
                    None,
                    &mut packet,
                    behind,
                    &mut self.memory,
                    EVERYTHING,
                );
                self.received += up.ok().flatten().map_or(0, |delivery| delivery.messages as u64);
                while self.there.take(self.now, EVERYTHING).is_some() {
                    self.received += 1;
                }
            }
        }
    }

    /// What the other end has to say arrives at once.
    fn report(&mut self) {
        while let Some(packet) = self.there.transmit(self.now, &mut self.memory, EVERYTHING) {
            let mut packet = packet.into_single();
            let received =
                self.here.receive(self.now, None, &mut packet, None, &mut self.memory, EVERYTHING);
            assert!(matches!(received, Ok(None)), "a report is dropped: {received:?}");
        }
        self.here.released();
    }

    fn step(&mut self) {
        self.now = self.now.later(STEP);
        self.arrive(ARRIVE);
        self.report();
        self.there.handle_timeout(self.now);
        self.here.handle_timeout(self.now);
        self.send();
    }
}

struct Crossing<C: Configuration<Message = BufferTree>>(Flow<C>);

impl<C: Configuration<Message = BufferTree>> Subject for Crossing<C> {
    fn ready(&mut self) {
        self.0.send();
    }

    fn work(&mut self) -> u64 {
        let (lost, received) = (self.0.lost, self.0.received);
        for _ in 0..STEPS {
            self.0.step();
        }
        let (lost, received) = (self.0.lost - lost, self.0.received - received);
        assert_eq!(lost > 0, self.0.loss > 0, "{lost} packets were lost");
        assert!(received as usize > STEPS * ARRIVE / BURST / 2, "{received} messages arrived");
        received
    }
}

/// All packets of a window arrive but the first, and are reported. The first does not arrive late,
/// but leaves again: where none was ever late, order alone shows that it is lost (RFC 8985 §6.2,
/// step 4); otherwise it would be lost no sooner than it has been late before, and so never.
struct Hole<C: Configuration<Message = BufferTree>> {
    flow: Flow<C>,
    report: Option<BufferTree>,
}

impl<C: Configuration<Message = BufferTree>> Subject for Hole<C> {
    fn ready(&mut self) {
        let flow = &mut self.flow;
        for _ in 0..2 {
            flow.leave();
            flow.now = flow.now.later(50 * MILLISECOND);
            flow.arrive(flow.packets);
            flow.report();
        }
        assert!(flow.here.sending().is_idle(), "everything is acknowledged");
        flow.send();
        let Some((mut burst, stride)) = flow.network.pop_front() else { return };
        burst.advance(stride);
        flow.network.push_front((burst, stride));
        flow.packets -= 1;
        flow.arrive(flow.packets);
        self.report =
            flow.there.transmit(flow.now, &mut flow.memory, EVERYTHING).map(Batch::into_single);
    }

    fn work(&mut self) -> u64 {
        let flow = &mut self.flow;
        let mut report = self.report.take().expect("a hole is reported at once");
        let received =
            flow.here.receive(flow.now, None, &mut report, None, &mut flow.memory, EVERYTHING);
        assert!(matches!(received, Ok(None)), "nothing is dropped");
        let sending = flow.here.sending();
        assert!(sending.sent_upto() - sending.settled_upto() > 4000, "the first is missing");
        assert_eq!(sending.in_flight(), 0, "all others are acknowledged, and so it is lost");
        sending.sent_upto()
    }
}
