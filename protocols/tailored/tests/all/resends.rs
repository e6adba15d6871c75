//! `resends(k)`: what was sent again `k` times is abandoned. The sender is told which messages, and
//! the receiver waits for none of them.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::{Credit, DatagramsIndication, DatagramsRequest, Ended};
use stackwright_contract::{Context, Duration, Handle};
use stackwright_policies::profile::Bounds;
use stackwright_simulator::{
    Application, Asks, Conditions, Deed, Event, SimulatedDatagrams, World,
};
use stackwright_tailored::header::{
    InquiryNumber, OpeningHashes, OpeningStage, OpeningToken, PartHeader, PieceHeader,
    TailoredHeader, TailoredKind,
};
use stackwright_tailored::{Config, Layer, Planned, TailoredHost, TailoredKey, demand, layer};
use stackwright_transport::slots::Framing as _;
use stackwright_transport::words::{Ending, Phase, SECOND};
use stackwright_transport::{Boxed, Slots};
use stackwright_trial::Trial;
use stackwright_trial::setting::{M, seeds};
use stackwright_wire::{Header, Message};

const RESENDS: usize = 2;
const WINDOW: u64 = 16;

type Ends = Trial<Boxed<M, TailoredHeader>>;
type Services = Vec<(&'static str, &'static [&'static str])>;

/// Each with `resends(2)`, unordered and ordered.
fn selections() -> impl Iterator<Item = (Services, bool)> {
    let recoveries: [Services; 3] = [
        vec![],
        vec![("selective_retransmission", &[])],
        vec![("nak", &[]), ("dedicated", &["125000"])],
    ];
    recoveries.into_iter().flat_map(|recovery| {
        [("unordered", false), ("ordered", true)].map(|(order, is_ordered)| {
            let mut services = recovery.clone();
            services.push((order, &[]));
            services.extend([("reliable", &[][..]), ("resends", &["2"])]);
            services.extend([("flow_control", &["16"][..]), ("checksum", &["crc32c"])]);
            (services, is_ordered)
        })
    })
}

/// One end of these services.
fn slots(services: &Services) -> impl Fn(usize) -> Slots<Boxed<M, TailoredHeader>> {
    let plan = demand(services.iter().copied()).and_then(|demand| demand.plan());
    let plan = plan.expect("it can be met");
    let bounds =
        Bounds { window: WINDOW, silence: 600 * SECOND, longest: 1 << 16, ..Bounds::DEFAULT };
    move |side: usize| {
        let planned = Planned::<M>::new(plan.clone(), &bounds).expect("they fit");
        let config = Config { packet: 400, ..Config::new([side as u8; 16]) };
        TailoredHost::new(planned, config)
            .association(TailoredKey { ours: side == 0, number: 7 }, 9)
    }
}

fn begun(mut ends: Ends) -> Ends {
    let now = ends.now();
    ends.ends[0].open(now);
    ends
}

/// The `nth` message: each fifth has several pieces.
fn message(nth: u32) -> Vec<u8> {
    let mut octets = nth.to_be_bytes().to_vec();
    octets.resize(if nth % 5 == 4 { 2000 } else { 40 }, 7);
    octets
}

/// Whether a packet has a part of a unit that is not the last.
fn is_earlier_part(header: &TailoredHeader, octets: &[u8]) -> bool {
    let before = TailoredHeader::LENGTH
        + header.check.octets()
        + match header.opening {
            OpeningStage::Over => 0,
            OpeningStage::Asked => OpeningHashes::LENGTH,
            OpeningStage::Answered | OpeningStage::Confirmed => OpeningToken::LENGTH,
        }
        + if header.asks { InquiryNumber::LENGTH } else { 0 }
        + if header.kind == TailoredKind::Piece { PieceHeader::LENGTH } else { 0 };
    let is_earlier = |part: PartHeader| {
        let body = octets.len() - before - PartHeader::LENGTH;
        usize::from(part.offset) + body < usize::from(part.whole)
    };
    header.part && is_earlier(PartHeader::decode(&octets[before..]).expect("a part"))
}

/// What was seen.
#[derive(Default)]
struct Seen {
    /// How often the packet of a number left with something of a message in it, and as a gap.
    left: BTreeMap<u32, usize>,
    gaps: BTreeMap<u32, usize>,
    /// How many packets left, and which of them had something of a message in it.
    packets: u64,
    places: Vec<u64>,
    delivered: Vec<u32>,
    abandoned: Vec<u32>,
}

impl Seen {
    /// All that leaves now, and is told and delivered.
    fn see(&mut self, ends: &mut Ends) {
        ends.speak(|_, side, octets| {
            let header = TailoredHeader::decode(octets).expect("a header");
            if side == 1 {
                return;
            }
            match header.kind {
                TailoredKind::Unit | TailoredKind::Piece if is_earlier_part(&header, octets) => {}
                TailoredKind::Unit | TailoredKind::Piece => {
                    *self.left.entry(header.number).or_default() += 1;
                    self.places.push(self.packets);
                }
                TailoredKind::Gap => *self.gaps.entry(header.number).or_default() += 1,
                TailoredKind::Report => {}
            }
            self.packets += 1;
        });
        let now = ends.now();
        while let Some((octets, _)) = ends.ends[1].take(now) {
            let nth = u32::from_be_bytes(*octets.first_chunk().expect("a number"));
            assert_eq!(octets, message(nth), "it is whole");
            self.delivered.push(nth);
        }
        while let Some(nth) = ends.ends[0].association.take_abandoned() {
            self.abandoned.push(nth);
        }
    }

    fn passes(&mut self, ends: &mut Ends, mut done: impl FnMut(&Ends, &Seen) -> bool) {
        let until = ends.now() + Duration::from_secs(3600);
        self.see(ends);
        while !done(ends, self) {
            let moves = ends.step();
            let phases = [0, 1].map(|side| ends.ends[side].phase(ends.now()));
            assert!(moves && ends.now() < until, "it stands still: {phases:?}");
            self.see(ends);
        }
    }
}

/// Whether the sender has nothing more to do.
fn is_quiet(ends: &Ends) -> bool {
    let sending = ends.ends[0].association.sending();
    sending.is_idle() && sending.is_drained()
}

#[test]
fn each_packet_leaves_so_often_and_what_does_not_arrive_is_told() {
    const MESSAGES: u32 = 120;
    let (mut abandoned, mut pieces) = (0, 0);
    for (services, is_ordered) in selections() {
        for seed in seeds(30) {
            let delay = Duration::from_millis(20);
            let loss = 0.2.into();
            let jitter = Duration::from_millis(seed % 3 * 15);
            let conditions = Conditions { delay, loss, jitter, ..Conditions::IDEAL };
            let mut ends = begun(Trial::new(slots(&services), &conditions, seed));
            let mut seen = Seen::default();
            let mut sent = 0;
            seen.passes(&mut ends, |_, _| true);
            while sent < MESSAGES {
                let now = ends.now();
                ends.ends[0].send(now, &message(sent), Default::default());
                sent += 1;
                seen.passes(&mut ends, |ends, _| ends.ends[0].association.sending().waiting() < 4);
            }
            seen.passes(&mut ends, |ends, _| is_quiet(ends));
            let most = seen.left.values().max().copied();
            assert_eq!(most, Some(RESENDS + 1), "{services:?}, seed {seed}");
            assert!(seen.gaps.keys().all(|number| seen.left[number] == RESENDS + 1));
            let delivered: BTreeSet<u32> = seen.delivered.iter().copied().collect();
            assert_eq!(delivered.len(), seen.delivered.len(), "each once");
            assert!(!is_ordered || seen.delivered.is_sorted(), "{services:?}, seed {seed}");
            let told: BTreeSet<u32> = seen.abandoned.iter().copied().collect();
            assert_eq!(told.len(), seen.abandoned.len(), "each is told once");
            let all: BTreeSet<u32> = delivered.union(&told).copied().collect();
            assert_eq!(all, BTreeSet::from_iter(0..MESSAGES), "{services:?}, seed {seed}");
            (abandoned, pieces) =
                (abandoned + told.len(), pieces + told.iter().filter(|nth| *nth % 5 == 4).count());
            // Nothing is held of what will not be whole.
            seen.passes(&mut ends, |ends, _| {
                ends.ends[1].association.slots().framing().held() == 0
            });
            ends.set_conditions(&Conditions { delay, ..Conditions::IDEAL });
            ends.ends[0].association.close();
            seen.passes(&mut ends, |ends, _| {
                ends.ends[0].phase(ends.now()) == Phase::Ended(Ending::Finished)
            });
        }
    }
    assert!(abandoned > pieces && pieces > 0, "{abandoned} were abandoned, {pieces} in pieces");
}

/// Nothing follows what is abandoned that could tell of it.
#[test]
fn the_last_message_is_abandoned_too() {
    for (services, _) in selections() {
        let conditions = Conditions { delay: Duration::from_millis(20), ..Conditions::IDEAL };
        // Each try shows when the packet leaves once more.
        let mut lost = Vec::new();
        let (mut ends, mut seen) = loop {
            let events = lost.iter().map(|nth| Event { nth: *nth, deed: Deed::Lose }).collect();
            let mut ends = begun(Trial::scripted(slots(&services), &conditions, [events, vec![]]));
            let mut seen = Seen::default();
            for nth in 0..2 {
                let now = ends.now();
                ends.ends[0].send(now, &message(nth), Default::default());
                seen.passes(&mut ends, |ends, _| is_quiet(ends));
            }
            if seen.delivered == [0] {
                break (ends, seen);
            }
            lost.extend(seen.places.last());
        };
        assert_eq!(lost.len(), RESENDS + 1, "{services:?}");
        assert_eq!(seen.abandoned, [1]);
        assert_eq!(seen.left.values().copied().collect::<Vec<_>>(), [1, RESENDS + 1]);
        let now = ends.now();
        ends.ends[0].send(now, &message(2), Default::default());
        seen.passes(&mut ends, |_, seen| seen.delivered == [0, 2]);
    }
}

/// Sends messages as it may, and closes behind the last.
#[derive(Default)]
struct Sender {
    ended: Option<Ended>,
}

impl Application<Stack> for Sender {
    fn hear(&mut self, _: &Context, told: DatagramsIndication<M>, asks: &mut Asks<Stack>) {
        match told {
            DatagramsIndication::Opened { association, .. } => {
                for nth in 0..SENT {
                    let batch = M::with_headroom(128, &message(nth)).into();
                    let properties = Default::default();
                    asks.push_back(DatagramsRequest::Send { association, batch, properties });
                }
                asks.push_back(DatagramsRequest::Close { name: association });
            }
            DatagramsIndication::Ended { why, .. } => self.ended = Some(why),
            _ => {}
        }
    }
}

/// Keeps what it receives.
#[derive(Default)]
struct Receiver {
    heard: BTreeSet<u32>,
}

impl Application<Stack> for Receiver {
    fn hear(&mut self, _: &Context, told: DatagramsIndication<M>, asks: &mut Asks<Stack>) {
        if let DatagramsIndication::Delivered { association, batch, .. } = told {
            let credit = batch.cost();
            asks.push_back(DatagramsRequest::Credit { association, credit });
            let mut first = [0; 4];
            let mut message = batch.into_single();
            first.copy_from_slice(message.front(4).expect("a number"));
            self.heard.insert(u32::from_be_bytes(first));
        }
    }
}

type Stack = Over<Layer<Planned<M>>, SimulatedDatagrams<M>>;

const SENT: u32 = 100;
const ROOM: Credit = Credit { octets: 1 << 20, messages: 1024 };

#[test]
fn an_event_says_which_message_was_abandoned() {
    let abandoned: usize = (0..8).map(abandoned).sum();
    assert!(abandoned > 0, "some are lost each time they leave");
}

/// Returns how many messages were abandoned, each of which an event names.
fn abandoned(seed: u64) -> usize {
    let (services, _) = selections().next().expect("there are some");
    let mut world = World::<M>::new(seed);
    world.keep_trace();
    let delay = Duration::from_millis(10);
    let loss = 0.25.into();
    world.network_mut().set_conditions(Conditions { delay, loss, ..Conditions::IDEAL });
    let [here, there] = [1, 2].map(|host| IpAddr::from([10, 0, 0, host]));
    let stack = |address| {
        let plan = demand(services.iter().copied()).and_then(|demand| demand.plan());
        let planned = Planned::new(plan.expect("it can be met"), &Bounds::DEFAULT);
        let layer = layer(planned.expect("they fit"), Config::new([7; 16]), 1);
        Over::new(layer, SimulatedDatagrams::new(address, ROOM))
    };
    let receiver = world.add(there, stack(there), Receiver::default());
    let sender = world.add(here, stack(here), Sender::default());
    let [listener, association] = [0, 1].map(|index| Handle { index, generation: 0 });
    let local = SocketAddr::from((there, 7)).into();
    world.ask(receiver, DatagramsRequest::Listen { listener, local });
    world.ask(receiver, DatagramsRequest::Await { listener, association, credit: ROOM });
    let open = DatagramsRequest::Open { association, remote: local, local: None, credit: ROOM };
    world.ask(sender, open);
    let hour = Duration::from_secs(3600);
    assert!(world.run_until(|world| world.application(sender).ended.is_some(), hour));
    assert_eq!(world.application(sender).ended, Some(Ended::Finished));
    let heard = &world.application(receiver).heard;
    let told = |nth: &u32| {
        let says = format!("tailored: message {nth} was abandoned");
        world.trace().lines().iter().any(|line| line.station == Some(here) && line.what == says)
    };
    let missing: Vec<u32> = (0..SENT).filter(|nth| !heard.contains(nth)).collect();
    assert!(missing.iter().all(told), "{missing:?}");
    missing.len()
}
