//! The packets of every service of XTP, between two stations of a world: with losses, aborts and
//! refusals, they are read alike by us, by Wireshark and by a reader that shares no code with ours.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde_json::Value;
use stackwright::compose::Over;
use stackwright::contract::services::{
    Credit, Datagrams, DatagramsIndication as Told, DatagramsRequest as Asked, MessageProperties,
    Streams,
};
use stackwright::contract::{Context, Duration, Handle, Protocol};
use stackwright::framed::Framed;
use stackwright::transport::words::Terms;
use stackwright::wire::{BufferTree as M, Message as _};
use stackwright::xtp::services::{
    AcknowledgedDatagram, BulkData, Connection, IsochronousStream, Stream, Transaction,
    UnacknowledgedDatagram, XtpService,
};
use stackwright::xtp::{Config, Layer, PORT, layer};
use stackwright_simulator::{Application, Asks, Conditions, Lanes, SimulatedDatagrams, World};

use crate::over_udp::{wireshark, xtp};

/// A stack of messages, which has UDP's network below.
pub(crate) trait Stack: Protocol<Provides = Datagrams<M>, Uses: Lanes<M>> + 'static {}
impl<P: Protocol<Provides = Datagrams<M>, Uses: Lanes<M>> + 'static> Stack for P {}

type Below = SimulatedDatagrams<M>;

/// A service of messages.
fn plain<S: XtpService<Transfer<M> = Datagrams<M>>>(
    config: Config,
    seed: u64,
    below: Below,
) -> Over<Layer<M, S>, Below> {
    Over::new(layer::<M, S>(config, seed), below)
}

/// A service of octets, which carries messages, each behind its length.
fn framed<S: XtpService<Transfer<M> = Streams<M>>>(
    config: Config,
    seed: u64,
    below: Below,
) -> Over<Framed<M>, Over<Layer<M, S>, Below>> {
    Over::new(Framed::default(), Over::new(layer::<M, S>(config, seed), below))
}

/// What is said in a world.
#[derive(Clone, Copy)]
struct Scene {
    seed: u64,
    /// How many octets the client says, and the server answers to each message.
    message: usize,
    answer: usize,
    /// The number and the priority of each.
    number: Option<u32>,
    priority: u8,
    loss: f64,
    /// Whether the server aborts in place of an answer.
    aborts: bool,
    checks_data: bool,
    /// The octets of packets that may leave as one batch (`Config::run`).
    run: usize,
    version: u8,
}

impl Scene {
    const PLAIN: Self = Scene {
        seed: 1,
        message: 100,
        answer: 0,
        number: None,
        priority: 128,
        loss: 0.0,
        aborts: false,
        checks_data: true,
        run: 65_507,
        version: 4,
    };
}

struct Side {
    opens: bool,
    scene: Scene,
}

impl Side {
    fn says<P: Stack>(&self, association: Handle, octets: usize, asks: &mut Asks<P>) {
        let batch = M::with_headroom(128, &vec![7; octets]).into();
        let Scene { number, priority, .. } = self.scene;
        let properties = MessageProperties { number, priority, ..MessageProperties::default() };
        asks.push_back(Asked::Send { association, batch, properties });
    }
}

impl<P: Stack> Application<P> for Side {
    fn hear(&mut self, _: &Context, told: Told<M>, asks: &mut Asks<P>) {
        match told {
            Told::Opened { association, .. } if self.opens => {
                self.says::<P>(association, self.scene.message, asks);
                if self.scene.answer == 0 {
                    asks.push_back(Asked::Close { name: association });
                }
            }
            Told::Delivered { association, .. } if self.opens => {
                asks.push_back(Asked::Close { name: association });
            }
            Told::Delivered { association, .. } if self.scene.aborts => {
                asks.push_back(Asked::Abort { association, code: 7 });
            }
            Told::Delivered { association, .. } => {
                if self.scene.answer > 0 {
                    self.says::<P>(association, self.scene.answer, asks);
                }
                asks.push_back(Asked::Close { name: association });
            }
            _ => {}
        }
    }
}

/// Runs a client and a server. Returns a capture of what left the client and what reached it.
fn captured<A: Stack, B: Stack>(
    client: impl Fn(Config, u64, Below) -> A,
    server: impl Fn(Config, u64, Below) -> B,
    scene: Scene,
) -> Vec<u8> {
    let addresses: [IpAddr; 2] = match scene.version {
        4 => [1, 2].map(|last| Ipv4Addr::new(10, 0, 0, last).into()),
        _ => [1, 2].map(|last| Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last).into()),
    };
    let mut world = World::<M>::new(scene.seed);
    let delay = Duration::from_millis(10);
    let conditions = Conditions { delay, loss: scene.loss.into(), ..Conditions::IDEAL };
    world.network_mut().set_conditions(conditions);
    world.keep_packets(&addresses[..1]);
    let config = |side: usize| Config {
        checks_data: scene.checks_data,
        run: scene.run,
        local: SocketAddr::new(addresses[side], PORT),
        retries: 40,
        sends: Terms { rate: 1_000_000, burst: 8000 },
        ..Config::new([side as u8; 16])
    };
    let below = |side: usize| {
        SimulatedDatagrams::new(addresses[side], Credit { octets: 1 << 20, messages: 1024 })
    };
    let application = |side| Side { opens: side == 0, scene };
    let client = world.add(addresses[0], client(config(0), 1, below(0)), application(0));
    let server = world.add(addresses[1], server(config(1), 2, below(1)), application(1));
    let [listener, association] = [9, 0].map(|index| Handle { index, generation: 0 });
    let credit = Credit { octets: 1 << 20, messages: 64 };
    let local = SocketAddr::new(addresses[1], PORT).into();
    world.ask(server, Asked::Listen { listener, local });
    world.ask(server, Asked::Await { listener, association, credit });
    world.ask(client, Asked::Open { association, remote: local, local: None, credit });
    assert!(!world.run_until(|_| false, Duration::from_secs(300)), "only time ends it");
    world.take_packets()
}

/// The datagrams of a capture of ours, without the headers of IP and UDP.
fn datagrams(capture: &[u8]) -> Vec<Vec<u8>> {
    let (mut rest, mut found) = (capture, Vec::new());
    while let Some(length) = rest.get(4..8) {
        let length = u32::from_le_bytes(length.try_into().expect("four octets")) as usize;
        let (block, behind) = rest.split_at(length);
        rest = behind;
        // An enhanced packet.
        if block[..4] == [6, 0, 0, 0] {
            let held = u32::from_le_bytes(block[20..24].try_into().expect("four octets")) as usize;
            let frame = &block[28..28 + held];
            let headers = if frame[0] >> 4 == 4 { 20 + 8 } else { 40 + 8 };
            found.push(frame[headers..].to_vec());
        }
    }
    found
}

/// What is in the packets of a capture that all read alike.
pub(crate) fn read(capture: &[u8]) -> Vec<Value> {
    wireshark::agrees("xtp", capture, &[PORT]);
    xtp::is_read_alike(&datagrams(capture))
}

/// Insists that there are packets of these kinds, and with these options, and of no others. Where
/// the other reader is not installed, it says nothing.
fn are(read: &[Value], kinds: &[&str], options: &[&str]) {
    if read.is_empty() {
        return;
    }
    let seen: BTreeSet<_> = read.iter().filter_map(|packet| packet["format"].as_str()).collect();
    assert_eq!(seen, kinds.iter().copied().collect());
    let seen = read.iter().flat_map(|packet| packet["options"].as_array().expect("a list"));
    let seen: BTreeSet<_> = seen.filter_map(Value::as_str).collect();
    assert_eq!(seen, options.iter().copied().collect());
}

/// All kinds and options of a service on good links and on bad ones, in both versions of IP.
fn service<P: Stack>(
    stack: impl Fn(Config, u64, Below) -> P,
    answers: bool,
    kinds: &[&str],
    options: &[&str],
) {
    let long = |answers| if answers { 20_000 } else { 0 };
    let scenes = [
        Scene { answer: if answers { 100 } else { 0 }, ..Scene::PLAIN },
        Scene { message: 20_000, answer: long(answers), loss: 0.15, seed: 3, ..Scene::PLAIN },
        Scene { message: 5000, answer: long(answers), checks_data: false, ..Scene::PLAIN },
        Scene { version: 6, answer: long(answers), ..Scene::PLAIN },
    ];
    are(&read(&scenes.map(|scene| captured(&stack, &stack, scene)).concat()), kinds, options);
}

const ALL: [&str; 5] = ["FIRST", "DATA", "CNTL", "ECNTL", "TCNTL"];
const CLOSING: [&str; 7] = ["NOCHECK", "SREQ", "DREQ", "RCLOSE", "WCLOSE", "EOM", "END"];

#[test]
fn packets_of_a_connection_are_read_alike() {
    service(plain::<Connection>, true, &ALL, &CLOSING);
}

#[test]
fn packets_of_a_stream_are_read_alike() {
    service(framed::<Stream>, true, &ALL, &CLOSING);
}

#[test]
fn packets_of_a_transaction_are_read_alike() {
    service(plain::<Transaction>, true, &ALL, &CLOSING);
}

#[test]
fn packets_of_an_acknowledged_datagram_are_read_alike() {
    service(plain::<AcknowledgedDatagram>, false, &ALL, &CLOSING);
}

#[test]
fn packets_of_an_unacknowledged_datagram_are_read_alike() {
    let options = ["NOCHECK", "NOERR", "NOFLOW", "RCLOSE", "WCLOSE", "EOM", "END"];
    service(plain::<UnacknowledgedDatagram>, false, &["FIRST"], &options);
}

#[test]
fn packets_of_bulk_data_are_read_alike() {
    let options = [&CLOSING[..], &["RES"]].concat();
    // What reports tells terms, too.
    service(framed::<BulkData>, true, &["FIRST", "DATA", "ECNTL", "TCNTL"], &options);
}

#[test]
fn packets_of_an_isochronous_stream_are_read_alike() {
    let kinds = ["FIRST", "CNTL", "TCNTL"];
    let options = ["NOCHECK", "NOERR", "NOFLOW", "SREQ", "RCLOSE", "WCLOSE", "EOM", "END", "BTAG"];
    service(plain::<IsochronousStream>, false, &kinds, &options);
}

/// Insists that packets that leave in batches are, octet for octet and at the same time, those that
/// leave one by one.
fn is_the_same_in_batches<P: Stack>(stack: impl Fn(Config, u64, Below) -> P) {
    for seed in 0..3 {
        let loss = 0.05 * seed as f64;
        let scene = Scene { seed, loss, message: 60_000, answer: 60_000, ..Scene::PLAIN };
        let [batches, alone] =
            [scene.run, 0].map(|run| captured(&stack, &stack, Scene { run, ..scene }));
        assert!(datagrams(&batches).len() > 40, "seed {seed}");
        assert!(batches == alone, "seed {seed}");
    }
}

#[test]
fn packets_are_the_same_in_batches() {
    is_the_same_in_batches(plain::<Connection>);
    is_the_same_in_batches(plain::<Transaction>);
    is_the_same_in_batches(plain::<IsochronousStream>);
    is_the_same_in_batches(framed::<Stream>);
    is_the_same_in_batches(framed::<BulkData>);
}

/// The tag is no octet of the data, and how urgent a message is stands in each of its packets.
#[test]
fn packets_of_messages_with_a_number_and_a_priority_are_read_alike() {
    let (number, priority) = (Some(0x0102_0304), 9);
    let scene = Scene { message: 5000, answer: 3000, number, priority, ..Scene::PLAIN };
    let read = read(&captured(plain::<Connection>, plain::<Connection>, scene));
    let tagged: Vec<_> = read.iter().filter(|packet| packet["btag"].is_string()).collect();
    assert!(
        tagged.iter().all(|packet| packet["btag"] == "0000000001020304" && packet["sort"] == 9)
    );
    assert!(read.is_empty() || !tagged.is_empty());
}

#[test]
fn aborts_and_refusals_are_read_alike() {
    let aborts = Scene { answer: 100, aborts: true, ..Scene::PLAIN };
    let captures = [
        captured(plain::<Connection>, plain::<Connection>, aborts),
        captured(plain::<Transaction>, plain::<Transaction>, aborts),
        captured(framed::<BulkData>, framed::<BulkData>, aborts),
        captured(plain::<IsochronousStream>, plain::<IsochronousStream>, aborts),
        // The server has another service.
        captured(plain::<Connection>, plain::<Transaction>, Scene::PLAIN),
        captured(
            plain::<AcknowledgedDatagram>,
            plain::<Connection>,
            Scene { version: 6, ..Scene::PLAIN },
        ),
    ];
    let diagnoses: Vec<_> = read(&captures.concat())
        .iter()
        .filter(|packet| packet["format"] == "DIAG")
        .map(|packet| (packet["code"].as_u64(), packet["value"].as_u64()))
        .collect();
    // Abandoned, with the application's code, until it is heard; no provider for the service.
    let known = [(Some(2), Some(7)), (Some(1), Some(8))];
    for expected in known {
        assert!(diagnoses.is_empty() || diagnoses.contains(&expected), "{expected:?}");
    }
    assert!(diagnoses.iter().all(|diagnosis| known.contains(diagnosis)), "{diagnoses:?}");
}
