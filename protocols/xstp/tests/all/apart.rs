//! Stations far apart, or that lose sight of each other: for an hour, or for good.

use core::num::NonZeroU64;
use std::net::{IpAddr, SocketAddr};

use stackwright_compose::Over;
use stackwright_contract::services::{Credit, Ended, StreamsIndication, StreamsRequest};
use stackwright_contract::{Duration, Handle, Instant};
use stackwright_simulator::{
    ChannelConditions, Conditions, Heard, Outages, Passes, Profile, SimulatedDatagrams,
    SimulatedHosts, StationId, World, seeds,
};
use stackwright_trial::setting::M;
use stackwright_wire::Message;
use stackwright_xstp::{Config, PROTOCOL, XstpLayer, layer};

type Stack = Over<XstpLayer<M>, Over<SimulatedHosts<M>, SimulatedDatagrams<M>>>;
type Application = Heard<StreamsIndication<M>>;

const LISTENER: Handle = Handle { index: 0, generation: 0 };
const AWAITED: Handle = Handle { index: 1, generation: 0 };
const OPENED: Handle = Handle { index: 2, generation: 0 };
const CREDIT: Credit = Credit { octets: 1 << 20, messages: 0 };

/// The air of a channel of 9 600 bits a second.
const AIR: Conditions =
    Conditions { rate: Some(1200), delay: Duration::from_millis(200), ..Conditions::IDEAL };

struct Scene {
    world: World<M>,
    server: StationId<Stack, Application>,
    client: StationId<Stack, Application>,
}

/// The settings of that channel.
fn radio() -> Config {
    let send = Credit { octets: 8000, messages: 128 };
    Config { send, ..Config::bursts(NonZeroU64::new(9600).expect("not zero"), 200, 8) }
}

fn stack(last: u8, seed: u64, config: Config) -> Stack {
    let host = IpAddr::from([44, 0, 0, last]);
    let below = SimulatedDatagrams::new(host, Credit { octets: 1 << 20, messages: 64 });
    Over::new(layer(config, seed), Over::new(SimulatedHosts::new(host, PROTOCOL), below))
}

impl Scene {
    /// The client has opened a connection, and says `octets` octets.
    fn new(seed: u64, air: &Conditions, config: Config, octets: usize) -> Self {
        let mut world = World::new(seed);
        world.network_mut().set_conditions(air.clone());
        let [server, client] = [1, 2].map(|last| {
            let host = IpAddr::from([44, 0, 0, last]);
            world.add(host, stack(last, seed, config), Heard::default())
        });
        let mut scene = Scene { world, server, client };
        scene.serve();
        let remote = SocketAddr::from(([44, 0, 0, 1], 21)).into();
        let open =
            StreamsRequest::Open { association: OPENED, remote, local: None, credit: CREDIT };
        scene.world.ask(client, open);
        scene.world.run_for(Duration::from_secs(2));
        let (association, properties) = (OPENED, Default::default());
        let batch = M::with_headroom(64, &said(octets)).into();
        scene.world.ask(client, StreamsRequest::Send { association, batch, properties });
        scene
    }

    fn serve(&mut self) {
        let local = SocketAddr::from(([44, 0, 0, 1], 21)).into();
        self.world.ask(self.server, StreamsRequest::Listen { listener: LISTENER, local });
        let (listener, association) = (LISTENER, AWAITED);
        let awaits = StreamsRequest::Await { listener, association, credit: CREDIT };
        self.world.ask(self.server, awaits);
    }

    fn heard(&self) -> Vec<u8> {
        let mut heard = Vec::new();
        for told in &self.world.application(self.server).0 {
            if let StreamsIndication::Delivered { batch, .. } = told {
                let octets = batch.share().into_octets();
                let from = heard.len();
                heard.resize(from + octets.len(), 0);
                octets.copy_to(&mut heard[from..]);
            }
        }
        heard
    }

    fn client_ended(&self) -> Option<Ended> {
        self.world.application(self.client).0.iter().find_map(|told| match told {
            StreamsIndication::Ended { why, .. } => Some(*why),
            _ => None,
        })
    }
}

fn said(octets: usize) -> Vec<u8> {
    (0..octets as u32).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect()
}

#[test]
fn a_transfer_goes_on_after_an_hour_out_of_reach_and_has_cost_little() {
    let mut scene = Scene::new(1, &AIR, radio(), 8000);
    scene.world.run_for(Duration::from_secs(3));
    let before = scene.heard().len();
    assert!((1..8000).contains(&before), "{before} octets before");
    scene.world.network_mut().set_conditions(Conditions { loss: 1.0.into(), ..AIR });
    let sent = |scene: &Scene| {
        let [server, client] = [1, 2].map(|last| IpAddr::from([44, 0, 0, last]));
        scene.world.network().counts(client, server).offered
    };
    let before = sent(&scene);
    scene.world.run_for(Duration::from_secs(3600));
    let packets = sent(&scene) - before;
    assert!((12..60).contains(&packets), "{packets} packets in an hour");
    scene.world.network_mut().set_conditions(AIR);
    scene.world.run_for(Duration::from_secs(330));
    assert!(scene.heard() == said(8000), "{} octets", scene.heard().len());
    assert_eq!(scene.client_ended(), None);
}

/// A satellite in a high orbit, 2 Mb/s: what is lost by itself stops nothing, though something is
/// lost in every round trip.
#[test]
fn losses_that_are_none_of_congestion_cost_little() {
    const OCTETS: usize = 1_000_000;
    let air = |loss: f64| Conditions {
        rate: Some(250_000),
        delay: Duration::from_millis(270),
        loss: loss.into(),
        ..Conditions::IDEAL
    };
    let took = [0.0, 0.01].map(|loss| {
        let config = Config { send: Credit { octets: OCTETS, messages: 4 }, ..Config::new() };
        let mut scene = Scene::new(3, &air(loss), config, OCTETS);
        let limit = Duration::from_secs(600);
        let heard = |world: &World<M>| {
            let told = world.application(scene.server).0.iter();
            told.map(|told| match told {
                StreamsIndication::Delivered { batch, .. } => batch.octets(),
                _ => 0,
            })
            .sum::<usize>()
        };
        assert!(scene.world.run_until(|world| heard(world) == OCTETS, limit));
        scene.world.now().nanoseconds() / 1_000_000
    });
    assert!(took[1] < 2 * took[0], "{took:?} ms");
}

/// A channel of 1 200 bits a second that alters a frame in 26: what is sent again at the end of a
/// burst is asked about at once, and bursts stay as long as they were.
#[test]
fn losses_on_a_radio_channel_cost_little_more_than_what_is_sent_again() {
    const OCTETS: usize = 32_000;
    let took = |bit_errors, seed| {
        let config = Config::radio(NonZeroU64::new(1200).expect("not zero"), 236);
        let config = Config { send: Credit { octets: OCTETS, messages: 4 }, ..config };
        let mut scene = Scene::new(seed, &AIR, config, 0);
        let stations = [1, 2].map(|last| IpAddr::from([44, 0, 0, last]));
        let key_up = Duration::from_millis(300);
        let air = ChannelConditions {
            key_up,
            persistence: 0.25,
            bit_errors,
            ..ChannelConditions::ideal(150)
        };
        scene.world.network_mut().share(&stations, air);
        let begun = scene.world.now();
        let (association, properties) = (OPENED, Default::default());
        let batch = M::with_headroom(64, &said(OCTETS)).into();
        scene.world.ask(scene.client, StreamsRequest::Send { association, batch, properties });
        while scene.heard().len() < OCTETS {
            scene.world.run_for(Duration::from_secs(1));
        }
        scene.world.now().since(begun).as_secs()
    };
    let took = [0.0, 2e-5].map(|errors| seeds(5).map(|seed| took(errors, seed)).sum::<u64>());
    assert!(took[1] * 10 < took[0] * 11, "{took:?} s");
}

/// One that begins anew knows of no connection, and says so.
#[test]
fn the_peer_of_a_station_that_begins_anew_is_told() {
    let mut scene = Scene::new(2, &AIR, radio(), 8000);
    scene.world.run_for(Duration::from_secs(3));
    *scene.world.stack_mut(scene.server) = stack(1, 77, radio());
    scene.serve();
    scene.world.run_for(Duration::from_secs(60));
    assert_eq!(scene.client_ended(), Some(Ended::Reset(0)));
}

/// A small satellite that is above the horizon for eight minutes of 95, with a bit error in
/// 100 000: 100 KB take the passes that they need, and one more for where in a pass they begin.
#[test]
fn a_file_takes_no_more_passes_of_a_satellite_than_it_must() {
    const OCTETS: usize = 100_000;
    /// Of a packet, its IP header included: a frame of AX.25 holds 256 octets.
    const PACKET: u16 = 236;
    let Some(Profile::Link { forward, .. }) = Profile::named("leo-pass") else { panic!("known") };
    let Outages::Passes(Passes { period, length, .. }) = forward.outages else { panic!("passes") };
    for seed in seeds(5) {
        // However many there are, they divide a period almost evenly (the golden ratio).
        let first = period.mul_f64((seed as f64 * 0.618_034).fract());
        let passes = Outages::Passes(Passes { period, length, first });
        let air = Conditions { outages: passes, ..forward.clone() };
        let rate = NonZeroU64::new(9600).expect("not zero");
        let config = Config { half_duplex: false, ..Config::bursts(rate, PACKET, 8) };
        let config = Config { send: Credit { octets: OCTETS, messages: 4 }, ..config };
        let mut scene = Scene::new(seed, &air, config, 0);
        scene.world.run_for(period);
        let begun = scene.world.now();
        let (association, properties) = (OPENED, Default::default());
        let batch = M::with_headroom(64, &said(OCTETS)).into();
        scene.world.ask(scene.client, StreamsRequest::Send { association, batch, properties });
        let mut passed = 0;
        while scene.heard().len() < OCTETS && passed < 4 {
            scene.world.run_for(Duration::from_secs(1));
            passed = (0..10_u32)
                .map(|nth| Instant::START + first + period * nth)
                .filter(|rise| *rise < scene.world.now() && *rise + length > begun)
                .count();
        }
        assert!(scene.heard() == said(OCTETS), "{seed}: {} octets", scene.heard().len());
        let packets = OCTETS.div_ceil(usize::from(PACKET) - 40);
        let air_time = Duration::from_secs(1).mul_f64(packets as f64 * 260.0 / 1200.0);
        let most = (air_time.as_secs_f64() / length.as_secs_f64()).ceil() as usize + 1;
        assert!(passed <= most, "{seed}: {passed} passes, and not {most}");
    }
}
