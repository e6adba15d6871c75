//! A call over XTP, UDP, IP, ARP and Ethernet of our own, from one end of a veth to the other: the
//! stack that `stackwright draw xkernel-rpc` draws, and a second one.

use std::net::SocketAddr;
use std::thread;

use stackwright::catalogue;
use stackwright::compose::graph::{
    Description, Erased, Graph, Parameter, ParameterKind, ParameterTable, ProtocolRegistry,
};
use stackwright::contract::services::Datagrams;
use stackwright::endpoint::{Config, System, blocking::Endpoint};
use stackwright::wire::BufferTree;
use stackwright::xtp::{self, services::Transaction};
use stackwright_drivers::Readiness;
use stackwright_drivers::packet::PacketSocket;
use stackwright_programs::processes::{PATIENCE, run, stackwright};

use crate::namespace::{ip, rootless};

const FILE: &str = include_str!("../../../cli/stacks/xkernel-rpc.toml");
const DEVICE: &[Parameter] = &[Parameter::required("device", ParameterKind::Text, "its name")];

type Rpc = Graph<BufferTree, Readiness, Datagrams<BufferTree>>;

fn stack(text: &str, system: &System) -> Rpc {
    let (secret, seed, devices) = (system.secret(), system.seed(), system.registry());
    let registry: ProtocolRegistry<BufferTree, Readiness> = catalogue::registry(move || seed);
    let registry = registry
        .with("xtp transaction", "", &[], move |_| {
            let config = xtp::Config::new(secret);
            Ok(Box::new(Erased(xtp::layer::<BufferTree, Transaction>(config, seed))))
        })
        .with("packet", "", DEVICE, move |table| {
            let (device, lane) = (table.text("device").unwrap_or_default(), table.lane());
            let socket = PacketSocket::<BufferTree>::open(device, &devices, lane, System::pool());
            Ok(Box::new(Erased(socket.expect("the device is there"))))
        });
    let description = Description::read(text).expect("it can be read");
    description.build(&registry).unwrap_or_else(|flaw| panic!("{}", flaw.says()))
}

#[test]
fn a_call_crosses_to_a_second_stack() {
    let drawn = run(std::process::Command::new(stackwright()).args(["draw", "xkernel-rpc"]));
    let drawn = drawn.succeeded().text();
    let places = ["rpc", "udp", "ip", "arp", "eth", "vb"].map(|node| drawn.find(node));
    assert!(places.is_sorted() && places[0].is_some(), "{drawn}");
    rootless("rpc::a_call_crosses_to_a_second_stack", || {
        ip("link set lo up");
        ip("link add va type veth peer name vb");
        ip("link set va up");
        ip("link set vb up");
        let at = SocketAddr::from(([10, 6, 0, 2], 700));
        let other = FILE.replace("10.6.0.2", "10.6.0.1");
        let other = other.replace("device = \"vb\"", "device = \"va\"");
        thread::scope(|scope| {
            scope.spawn(|| {
                let stack = |system: &System| stack(FILE, system);
                let mut server = Endpoint::bind(at, Config::default(), stack).expect("it listens");
                server.set_timeout(Some(PATIENCE));
                let call = server.accept().expect("a call");
                let (mut octets, _) = call.receive().expect("a question");
                octets.reverse();
                call.send(&octets).expect("an answer");
                assert!(call.receive().is_err_and(|end| end.is_finished()), "it was answered");
            });
            let client = Endpoint::new(Config::default(), |system| stack(&other, system));
            let mut client = client.expect("a stack");
            client.set_timeout(Some(PATIENCE));
            // An address is probed before it is used, here as there.
            let call = client.connect(at).expect("it is answered");
            let question: Vec<u8> = (0..20_000).map(|place| (place % 251) as u8).collect();
            call.send(&question).expect("it leaves");
            let (answer, _) = call.receive().expect("an answer");
            assert!(answer.iter().rev().eq(&question), "the answer to this question");
        });
    });
}
