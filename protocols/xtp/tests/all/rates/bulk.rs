//! Bulk data goes to the buffers of the receiver, and nowhere else.

use std::net::SocketAddr;

use stackwright_compose::Over;
use stackwright_contract::services::{Credit, StreamsIndication, StreamsRequest};
use stackwright_contract::{Context, Duration, Handle};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, StationId, World};
use stackwright_transport::words::Terms;
use stackwright_wire::Message;
use stackwright_xtp::services::BulkData;
use stackwright_xtp::{Config, Layer, layer};

use crate::rates::scene::{ASSOCIATION, BELOW, M, SINK, SOURCE};
use crate::rates::{RATE, TERMS};

type Stack = Over<Layer<M, BulkData>, SimulatedDatagrams<M>>;

/// What may leave before the sink has told what it takes.
const FIRST: u64 = 16 << 10;
const PACKET: u64 = 1472;

/// A source of octets, of which each is the lowest of its number; or a sink.
#[derive(Default)]
struct Side {
    sends: usize,
    sent: usize,
    heard: usize,
}

impl Application<Stack> for Side {
    fn hear(&mut self, _: &Context, told: StreamsIndication<M>, asks: &mut Asks<Stack>) {
        match told {
            StreamsIndication::Opened { association, credit, .. }
            | StreamsIndication::Credit { association, credit } => {
                let octets = credit.octets.min(self.sends - self.sent);
                if octets > 0 {
                    let said: Vec<u8> =
                        (self.sent..self.sent + octets).map(|octet| octet as u8).collect();
                    let (batch, properties) =
                        (M::with_headroom(128, &said).into(), Default::default());
                    asks.push_back(StreamsRequest::Send { association, batch, properties });
                    self.sent += octets;
                }
            }
            StreamsIndication::Delivered { batch, .. } => {
                let mut octets = vec![0; batch.octets()];
                batch.into_octets().copy_to(&mut octets);
                for octet in octets {
                    assert_eq!(octet, self.heard as u8, "octet {}", self.heard);
                    self.heard += 1;
                }
            }
            _ => {}
        }
    }
}

fn world(
    conditions: Conditions,
    sends: usize,
    config: impl Fn(usize, Config) -> Config,
) -> (World<M>, StationId<Stack, Side>, StationId<Stack, Side>) {
    let mut world = World::new(1);
    world.network_mut().set_conditions(conditions);
    world.network_mut().keep_traffic();
    let [source, sink] = [(SOURCE, sends), (SINK, 0)].map(|(address, sends)| {
        let side = usize::from(address == SINK);
        let below = SimulatedDatagrams::new(address, Credit { octets: 1 << 16, messages: 64 });
        let config = config(side, Config::new([side as u8; 16]));
        let stack = Over::new(layer::<M, BulkData>(config, 1), below);
        world.add(address, stack, Side { sends, ..Side::default() })
    });
    (world, source, sink)
}

fn begin(
    world: &mut World<M>,
    source: StationId<Stack, Side>,
    sink: StationId<Stack, Side>,
    posted: usize,
) {
    let local = SocketAddr::from((SINK, 7)).into();
    let listener = Handle { index: 1000, generation: 0 };
    let (association, credit) = (ASSOCIATION, Credit::of_octets(posted));
    world.ask(sink, StreamsRequest::Listen { listener, local });
    world.ask(sink, StreamsRequest::Await { listener, association, credit });
    let credit = Credit::of_octets(1 << 20);
    world.ask(source, StreamsRequest::Open { association, remote: local, local: None, credit });
}

fn runs(world: &mut World<M>, time: Duration) {
    let over = world.run_until(|_| false, time);
    assert!(!over, "nothing ends it but time");
}

#[test]
fn no_more_leaves_than_the_application_has_buffers_for() {
    let conditions =
        Conditions { delay: Duration::from_millis(5), loss: 0.02.into(), ..Conditions::IDEAL };
    let (mut world, source, sink) = world(conditions, 1 << 20, |_, config| config);
    let mut posted = 4000;
    begin(&mut world, source, sink, posted);
    for step in 0..40 {
        runs(&mut world, Duration::from_secs(4));
        // The first packets left before anything was told, and what is in order waits for room.
        assert_eq!(world.application(sink).heard, posted, "step {step}: all buffers are full");
        let octets = [3000, 64_000, 100, 10_000][step % 4];
        posted += octets;
        let credit = Credit::of_octets(octets);
        world.ask(sink, StreamsRequest::Credit { association: ASSOCIATION, credit });
    }
    let ends = world.application(source).sent as u64;
    assert!(ends > posted as u64, "the source had more to say");
}

/// On a link that loses nothing, what leaves is counted.
#[test]
fn what_leaves_is_within_what_was_posted() {
    let conditions = Conditions { delay: Duration::from_millis(5), ..Conditions::IDEAL };
    let (mut world, source, sink) = world(conditions, 1 << 20, |_, config| config);
    let mut posted = 40_000_u64;
    begin(&mut world, source, sink, posted as usize);
    for octets in [0, 30_000, 50_000, 7000] {
        posted += octets;
        if octets > 0 {
            let credit = Credit::of_octets(octets as usize);
            world.ask(sink, StreamsRequest::Credit { association: ASSOCIATION, credit });
        }
        runs(&mut world, Duration::from_millis(200));
        let traffic = world.network().traffic(SOURCE, SINK);
        let headers = (BELOW + 32) * traffic.packets;
        let left = traffic.octets - headers;
        assert!(left <= posted.max(FIRST) + 2 * PACKET, "{left} left, and {posted} were posted");
        assert!(left + PACKET >= posted, "{left} left of {posted}");
    }
}

#[test]
fn bulk_data_keep_to_the_terms_of_the_sink() {
    let conditions = Conditions { delay: Duration::from_millis(5), ..Conditions::IDEAL };
    let config = |side, config| match side {
        1 => Config { takes: TERMS, ..config },
        _ => Config { sends: Terms { rate: 8 * RATE, burst: 3000 }, ..config },
    };
    let (mut world, source, sink) = world(conditions, 4 << 20, config);
    begin(&mut world, source, sink, 8 << 20);
    runs(&mut world, Duration::from_secs(2));
    let before = world.application(sink).heard;
    runs(&mut world, Duration::from_secs(10));
    let rate = (world.application(sink).heard - before) as f64 / 10.0;
    // Headers count.
    let data = f64::from(RATE) * 1392.0 / (1392.0 + 32.0);
    assert!((0.96..1.02).contains(&(rate / data)), "{rate} of {data}");
}
