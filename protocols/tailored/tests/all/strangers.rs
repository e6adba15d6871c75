//! Peers that nobody knows: what they are sent, and what is kept of them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::{Credit, DatagramsIndication, DatagramsRequest, Ended};
use stackwright_contract::{Context, Duration, Handle};
use stackwright_policies::profile::{Bounds, PolicyValues};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, StationId, World};
use stackwright_tailored::configurations::Selective;
use stackwright_tailored::header::{
    OpeningStage, PacketCheck, ReasonCode, ReportHeader, TailoredHeader,
};
use stackwright_tailored::{
    Config, Layer, Named, Planned, TailoredHost, TailoredKey, demand, layer_of,
};
use stackwright_transport::Slots;
use stackwright_transport::words::{Ending, Phase, SECOND};
use stackwright_trial::Trial;
use stackwright_trial::setting::M;
use stackwright_wire::{Header, Message};

type Tailored = Named<Selective<M>>;
type Stack = Over<Layer<Tailored>, SimulatedDatagrams<M>>;

const VALUES: PolicyValues = PolicyValues {
    bounds: Bounds { window: 64, silence: 20 * SECOND, ..Bounds::DEFAULT },
    ..PolicyValues::RELIABLE
};

fn host(config: Config) -> TailoredHost<Tailored> {
    TailoredHost::new(Named::new(VALUES), config)
}

fn end(side: usize) -> Slots<Selective<M>> {
    let key = TailoredKey { ours: side == 0, number: 9 };
    host(Config { packet: 600, ..Config::new([side as u8; 16]) }).association(key, 0x5ec2_e700)
}

/// What the called side says in ten minutes to a peer that opens and is never heard of again, and
/// what it was sent. Its application has a lot to say.
fn answered(forged: impl Fn(&[u8], usize) -> Vec<u8>, times: usize) -> (usize, usize) {
    let conditions = Conditions { loss: 1.0.into(), ..Conditions::IDEAL };
    let mut ends = Trial::new(end, &conditions, 1);
    let now = ends.now();
    ends.ends[0].open(now);
    ends.ends[0].send(now, &[7; 40], Default::default());
    let mut opening = Vec::new();
    while opening.is_empty() {
        ends.speak(|_, _, octets| opening = octets.to_vec());
        let at = ends.now() + Duration::from_millis(1);
        ends.until(at);
    }
    let (mut heard, mut said) = (0, 0);
    for nth in 0..times {
        let packet = forged(&opening, nth);
        heard += packet.len();
        ends.inject(1, &packet);
        let now = ends.now();
        if nth == 0 {
            (0..100).for_each(|_| ends.ends[1].send(now, &[1; 500], Default::default()));
        }
        let until = ends.now() + Duration::from_millis(300);
        let mut seen = |ends: &mut Trial<Selective<M>>| {
            ends.speak(|_, side, octets| said += if side == 1 { octets.len() } else { 0 });
        };
        seen(&mut ends);
        while ends.until(until) {
            seen(&mut ends);
        }
    }
    let until = ends.now() + Duration::from_secs(600);
    loop {
        ends.speak(|_, side, octets| said += if side == 1 { octets.len() } else { 0 });
        if !ends.until(until) {
            break;
        }
    }
    assert_eq!(ends.ends[1].phase(ends.now()), Phase::Ended(Ending::Silent), "nothing is kept");
    (heard, said)
}

#[test]
fn an_opening_is_answered_with_at_most_three_times_what_was_heard() {
    for times in [1, 2, 50] {
        let (heard, said) = answered(|opening, _| opening.to_vec(), times);
        assert!(said > 0 && said <= 3 * heard, "{times}: {said} octets for {heard}");
    }
}

/// A guess of the token shows nothing, whatever else the packet says.
#[test]
fn a_guessed_token_shows_not_that_a_peer_hears() {
    let guess = |opening: &[u8], nth: usize| {
        let mut octets = opening.to_vec();
        if nth == 0 {
            return octets;
        }
        let mut header = TailoredHeader::decode(&octets).expect("a header");
        header.opening = OpeningStage::Confirmed;
        header.number = nth as u32;
        header.encode(&mut octets);
        octets[TailoredHeader::LENGTH..][..2].fill(0);
        octets[10..14].copy_from_slice(&(nth as u32).wrapping_mul(0x9e37_79b9).to_be_bytes());
        let mut sum = stackwright_wire::check::Internet::new();
        sum.add(&octets);
        octets[TailoredHeader::LENGTH..][..2].copy_from_slice(&sum.value().to_be_bytes());
        octets
    };
    let (heard, said) = answered(guess, 200);
    assert!(said > 0 && said <= 3 * heard, "{said} octets for {heard}");
}

const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2));
const LISTENER: Handle = Handle { index: 1000, generation: 0 };
const ROOM: Credit = Credit { octets: 1 << 20, messages: 64 };

#[derive(Default)]
struct Side {
    says: usize,
    heard: usize,
    ended: Vec<Ended>,
}

impl Application<Stack> for Side {
    fn hear(&mut self, _: &Context, indication: DatagramsIndication<M>, asks: &mut Asks<Stack>) {
        match indication {
            DatagramsIndication::Opened { association, .. } => {
                for _ in 0..self.says {
                    let batch = M::with_headroom(128, &[3; 100]).into();
                    let properties = Default::default();
                    asks.push_back(DatagramsRequest::Send { association, batch, properties });
                }
                if self.says > 0 {
                    asks.push_back(DatagramsRequest::Close { name: association });
                }
            }
            DatagramsIndication::Delivered { association, batch, .. } => {
                self.heard += 1;
                let credit = batch.cost();
                asks.push_back(DatagramsRequest::Credit { association, credit });
            }
            DatagramsIndication::Ended { why, .. } => self.ended.push(why),
            _ => {}
        }
    }
}

struct Scene {
    world: World<M>,
    client: StationId<Stack, Side>,
    server: StationId<Stack, Side>,
}

/// `many` associations are opened at once; the server listens if `listens`.
fn scene(many: u32, hosts: [TailoredHost<Tailored>; 2], listens: bool) -> Scene {
    let mut world = World::new(1);
    let delay = Duration::from_millis(10);
    world.network_mut().set_conditions(Conditions { delay, ..Conditions::IDEAL });
    let [client, server] = hosts;
    let [client, server] =
        [(CLIENT, client, 3), (SERVER, server, 0)].map(|(address, host, says)| {
            let credit = Credit { octets: 1 << 20, messages: 1024 };
            let datagrams = SimulatedDatagrams::new(address, credit);
            let stack = Over::new(layer_of(host, 1), datagrams);
            world.add(address, stack, Side { says, ..Side::default() })
        });
    let local = SocketAddr::from((SERVER, 7)).into();
    // Without a listener, there is another one: the layer below listens.
    let at = if listens { local } else { SocketAddr::from((SERVER, 8)).into() };
    world.ask(server, DatagramsRequest::Listen { listener: LISTENER, local: at });
    for index in 0..many {
        let association = Handle { index, generation: 0 };
        if listens {
            let listener = LISTENER;
            world.ask(server, DatagramsRequest::Await { listener, association, credit: ROOM });
        }
        world.ask(
            client,
            DatagramsRequest::Open { association, remote: local, local: None, credit: ROOM },
        );
    }
    let over = world.run_until(|_| false, Duration::from_secs(300));
    assert!(!over, "nothing ends it but time");
    Scene { world, client, server }
}

fn configs() -> [Config; 2] {
    [Config::new([1; 16]), Config::new([2; 16])]
}

fn hosts() -> [TailoredHost<Tailored>; 2] {
    configs().map(host)
}

#[test]
fn a_call_opens_says_and_ends_in_good_order() {
    let scene = scene(20, hosts(), true);
    let ended = |side: StationId<Stack, Side>| &scene.world.application(side).ended;
    assert_eq!(scene.world.application(scene.server).heard, 60);
    assert_eq!(*ended(scene.client), vec![Ended::Finished; 20]);
    assert_eq!(*ended(scene.server), vec![Ended::Finished; 20]);
}

#[test]
fn where_many_have_not_shown_that_they_hear_others_show_it_first_and_none_is_refused() {
    let [client, server] = configs();
    let scene = scene(20, [client, Config { half_open_most: 5, ..server }].map(host), true);
    for side in [scene.client, scene.server] {
        assert_eq!(scene.world.application(side).ended, vec![Ended::Finished; 20]);
    }
    assert_eq!(scene.world.application(scene.server).heard, 60);
}

#[test]
fn a_peer_that_is_configured_otherwise_is_refused_and_nobody_is_given_up() {
    let ended = |client, listens| {
        let [_, server] = hosts();
        let scene = scene(1, [client, server], listens);
        scene.world.application(scene.client).ended.clone()
    };
    let [client, _] = configs();
    let otherwise = host(client).checking_headers();
    assert_eq!(ended(otherwise, true), [Ended::Refused(ReasonCode::CONFIGURED_OTHERWISE)]);
    let another = host(Config { protocol: 7, ..client });
    assert_eq!(ended(another, true), [Ended::Refused(ReasonCode::ANOTHER_PROTOCOL)]);
    assert_eq!(ended(host(client), false), [Ended::Expired], "nothing is there to refuse");
}

#[test]
fn headers_have_the_lengths_that_the_readme_says() {
    assert_eq!((TailoredHeader::LENGTH, ReportHeader::LENGTH), (8, 16));
    assert_eq!(PacketCheck::Internet.octets(), 2);
}

/// A side that has closed ends as well: what it repeats about that is no answer.
#[test]
fn a_call_that_nobody_answers_ends() {
    for closes in [false, true] {
        let conditions = Conditions { loss: 1.0.into(), ..Conditions::IDEAL };
        let mut ends = Trial::new(end, &conditions, 1);
        let now = ends.now();
        ends.ends[0].open(now);
        ends.ends[0].send(now, &[7; 40], Default::default());
        if closes {
            ends.ends[0].association.close();
        }
        let until = ends.now() + Duration::from_secs(600);
        ends.pass(until);
        let phase = ends.ends[0].phase(ends.now());
        assert!(matches!(phase, Phase::Ended(_)), "closes: {closes}, {phase:?}");
    }
}

/// Without a check, every altered packet is read: whatever it says, nothing panics, and the
/// association ends or stays.
#[test]
fn altered_packets_that_nothing_checks_harm_no_program() {
    let services = [("reliable", &[][..]), ("ordered", &[]), ("flow_control", &["64"])];
    let plan = demand(services).and_then(|demand| demand.plan()).expect("it can be met");
    let unchecked = |side: usize| {
        let key = TailoredKey { ours: side == 0, number: 9 };
        let config = Config { packet: 600, ..Config::new([side as u8; 16]) };
        let planned = Planned::<M>::new(plan.clone(), &VALUES.bounds).expect("they fit");
        TailoredHost::new(planned, config).association(key, 7)
    };
    let (mut read, mut dropped) = (0, 0);
    for seed in 0..300 {
        let mut random = fastrand::Rng::with_seed(seed);
        let delay = Duration::from_millis(5);
        let mut ends = Trial::new(unchecked, &Conditions { delay, ..Conditions::IDEAL }, seed);
        let now = ends.now();
        ends.ends[0].open(now);
        for _ in 0..20 {
            ends.ends[0].send(now, &[5; 1500], Default::default());
            let mut seen = Vec::new();
            ends.speak(|_, side, octets| seen.push((side, octets.to_vec())));
            for (side, mut octets) in seen {
                for _ in 0..random.usize(1..4) {
                    let nth = random.usize(..octets.len().min(48));
                    octets[nth] = random.u8(..);
                }
                octets.truncate(random.usize(1..=octets.len()));
                ends.inject(1 - side, &octets);
                read += 1;
            }
            let until = ends.now() + Duration::from_millis(20);
            ends.until(until);
        }
        let until = ends.now() + Duration::from_secs(100);
        ends.pass(until);
        dropped += ends.dropped().len();
    }
    assert!(read > 1000 && dropped > 0, "{read} were read, {dropped} dropped");
}
