//! The packets of every service of XTP, between two stations of a world: with losses, aborts and
//! refusals, they are read alike by us, by Wireshark and by a reader that shares no code with ours.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde_json::Value;
use stackwright::compose::Over;
use stackwright::contract::services::{
    Credit, Datagrams, DatagramsIndication as Told, DatagramsRequest as Asked,
};
use stackwright::contract::{Context, Duration, Handle};
use stackwright::wire::{BufferTree as M, Message as _};
use stackwright::xtp::services::{
    AcknowledgedDatagram, Connection, IsochronousStream, Transaction, UnacknowledgedDatagram,
    XtpService,
};
use stackwright::xtp::{Config, Layer, PORT, layer};
use stackwright_simulator::{Application, Asks, Conditions, SimulatedDatagrams, World};

use crate::{wireshark, xtp};

type Stack<S> = Over<Layer<M, S>, SimulatedDatagrams<M>>;

/// Services of messages.
trait Service: XtpService<Transfer<M> = Datagrams<M>> {}
impl<S: XtpService<Transfer<M> = Datagrams<M>>> Service for S {}

/// What is said in a world.
#[derive(Clone, Copy)]
struct Scene {
    seed: u64,
    /// How many octets the client says, and the server answers to each message.
    message: usize,
    answer: usize,
    loss: f64,
    /// Whether the server aborts in place of an answer.
    aborts: bool,
    checks_data: bool,
    version: u8,
}

impl Scene {
    const PLAIN: Self = Scene {
        seed: 1,
        message: 100,
        answer: 0,
        loss: 0.0,
        aborts: false,
        checks_data: true,
        version: 4,
    };
}

struct Side {
    opens: bool,
    scene: Scene,
}

impl Side {
    fn says<S: Service>(&self, association: Handle, octets: usize, asks: &mut Asks<Stack<S>>) {
        let batch = M::with_headroom(128, &vec![7; octets]).into();
        asks.push_back(Asked::Send { association, batch, properties: Default::default() });
    }
}

impl<S: Service> Application<Stack<S>> for Side {
    fn hear(&mut self, _: &Context, told: Told<M>, asks: &mut Asks<Stack<S>>) {
        match told {
            Told::Opened { association, .. } if self.opens => {
                self.says::<S>(association, self.scene.message, asks);
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
                    self.says::<S>(association, self.scene.answer, asks);
                }
                asks.push_back(Asked::Close { name: association });
            }
            _ => {}
        }
    }
}

/// Runs a client of the service `A` and a server of `B`. Returns a capture of what left the client
/// and what reached it.
fn captured<A: Service, B: Service>(scene: Scene) -> Vec<u8> {
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
        local: SocketAddr::new(addresses[side], PORT),
        retries: 40,
        ..Config::new([side as u8; 16])
    };
    let below = |side: usize| {
        SimulatedDatagrams::new(addresses[side], Credit { octets: 1 << 20, messages: 1024 })
    };
    let application = |side| Side { opens: side == 0, scene };
    let upper = layer::<M, A>(config(0), 1);
    let client = world.add(addresses[0], Over::new(upper, below(0)), application(0));
    let upper = layer::<M, B>(config(1), 2);
    let server = world.add(addresses[1], Over::new(upper, below(1)), application(1));
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
fn read(capture: &[u8]) -> Vec<Value> {
    wireshark::agrees("xtp", capture, &[PORT]);
    xtp::is_read_alike(&datagrams(capture))
}

/// Which kinds of packets, and which options, are in it.
fn seen(capture: &[u8]) -> (BTreeSet<String>, BTreeSet<String>) {
    let read = read(capture);
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let kinds = read.iter().map(|packet| text(&packet["format"])).collect();
    let options = read.iter().flat_map(|packet| packet["options"].as_array().expect("a list"));
    (kinds, options.map(text).collect())
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

/// All kinds and options of a service on good links and on bad ones, in both versions of IP.
fn service<S: Service>(answers: bool, kinds: &[&str], options: &[&str]) {
    let long = |answers| if answers { 20_000 } else { 0 };
    let scenes = [
        Scene { answer: if answers { 100 } else { 0 }, ..Scene::PLAIN },
        Scene { message: 20_000, answer: long(answers), loss: 0.15, seed: 3, ..Scene::PLAIN },
        Scene { message: 5000, answer: long(answers), checks_data: false, ..Scene::PLAIN },
        Scene { version: 6, answer: long(answers), ..Scene::PLAIN },
    ];
    let (all_kinds, all_options) = seen(&scenes.map(captured::<S, S>).concat());
    // Where the other reader is not installed, it says nothing.
    if !all_kinds.is_empty() {
        assert_eq!(all_kinds, names(kinds), "service {}", S::NUMBER);
        assert_eq!(all_options, names(options), "service {}", S::NUMBER);
    }
}

const ALL: [&str; 5] = ["FIRST", "DATA", "CNTL", "ECNTL", "TCNTL"];
const CLOSING: [&str; 7] = ["NOCHECK", "SREQ", "DREQ", "RCLOSE", "WCLOSE", "EOM", "END"];

#[test]
fn packets_of_a_connection_are_read_alike() {
    service::<Connection>(true, &ALL, &CLOSING);
}

#[test]
fn packets_of_a_transaction_are_read_alike() {
    service::<Transaction>(true, &ALL, &CLOSING);
}

#[test]
fn packets_of_an_acknowledged_datagram_are_read_alike() {
    service::<AcknowledgedDatagram>(false, &ALL, &CLOSING);
}

#[test]
fn packets_of_an_unacknowledged_datagram_are_read_alike() {
    let options = ["NOCHECK", "NOERR", "NOFLOW", "RCLOSE", "WCLOSE", "EOM", "END"];
    service::<UnacknowledgedDatagram>(false, &["FIRST"], &options);
}

#[test]
fn packets_of_an_isochronous_stream_are_read_alike() {
    let kinds = ["FIRST", "TCNTL"];
    let options = ["NOCHECK", "NOERR", "NOFLOW", "SREQ", "RCLOSE", "WCLOSE", "EOM", "END", "BTAG"];
    service::<IsochronousStream>(false, &kinds, &options);
}

#[test]
fn aborts_and_refusals_are_read_alike() {
    let aborts = Scene { answer: 100, aborts: true, ..Scene::PLAIN };
    let captures = [
        captured::<Connection, Connection>(aborts),
        captured::<Transaction, Transaction>(aborts),
        // The server has another service.
        captured::<Connection, Transaction>(Scene::PLAIN),
        captured::<AcknowledgedDatagram, Connection>(Scene { version: 6, ..Scene::PLAIN }),
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
