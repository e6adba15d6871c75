//! A flood of forged SYNs: nothing is kept of them, and a real client is served meanwhile.

use std::net::IpAddr;

use stackwright_compose::Over;
use stackwright_contract::services::{Credit, DatagramsRequest, Ended};
use stackwright_contract::{Address, Duration, Participant};
use stackwright_simulator::{Conditions, Heard, SimulatedDatagrams, SimulatedHosts};
use stackwright_tcp::Config;
use stackwright_wire::check::Internet;
use stackwright_wire::internet::{Tcp, pseudo_header};
use stackwright_wire::{Header, Message};

use crate::forged::SILENT;
use crate::layers::{Ends, PORT, Scene, Talker, name};
use crate::scene::{M, octets};

const HALF_OPEN: usize = 16;

/// Returns a SYN from one of many ports.
fn syn([own, peer]: [IpAddr; 2], nth: u32) -> M {
    let mut octets = vec![0; Tcp::LENGTH];
    let source_port = 1024 + (nth % 60_000) as u16;
    let header = Tcp { source_port, sequence_number: nth, syn: true, ..SILENT };
    let header = Tcp { destination_port: PORT, ..header };
    header.encode(&mut octets);
    let mut check = Internet::new();
    check.add(&pseudo_header(own, peer, 6, octets.len() as u32).to_be_bytes());
    check.add(&octets);
    octets[16..18].copy_from_slice(&check.value().to_be_bytes());
    M::with_headroom(64, &octets)
}

fn a_real_client_is_served(forged: u32, names: usize) {
    let talkers = [
        Talker::new(1, octets(50_000), Ends::Finishes),
        Talker::new(names, octets(50_000), Ends::Finishes),
    ];
    let config = |last| Config { half_open_most: HALF_OPEN, ..Config::new([last; 16]) };
    let conditions = Conditions { delay: Duration::from_millis(5), ..Conditions::IDEAL };
    let mut scene = Scene::of(1, conditions, talkers, config);
    let hosts = [3, 2].map(|last| IpAddr::from([10, 0, 0, last]));
    let credit = Credit { octets: 1 << 20, messages: 1 << 10 };
    let below = SimulatedDatagrams::new(hosts[0], credit);
    let flood = Over::new(SimulatedHosts::new(hosts[0], 6), below);
    let flood = scene.world.add(hosts[0], flood, Heard::default());
    let remote = Participant::from(Address::InternetProtocol { host: hosts[1], protocol: 6 });
    let (association, local) = (name(1), None);
    scene.world.ask(flood, DatagramsRequest::Open { association, remote, local, credit });
    let (mut most, mut served) = (0, None);
    for nth in 0..forged {
        let (batch, properties) = (syn(hosts, nth).into(), Default::default());
        scene.world.ask(flood, DatagramsRequest::Send { association, batch, properties });
        if nth == 4000 {
            scene.opens();
        }
        if nth % 8 == 7 {
            // Four thousand in a second.
            scene.world.run_for(Duration::from_millis(2));
            scene.world.application_mut(flood).0.clear();
        }
        most = most.max(scene.world.stack(scene.stations[1]).upper.associations());
        let client = &scene.sides(0)[0];
        if served.is_none() && client.ended.is_some() {
            assert_eq!(client.ended, Some(Ended::Finished));
            served = Some(nth);
        }
    }
    assert!((HALF_OPEN..HALF_OPEN + 3).contains(&most), "{most} connections");
    assert!(served.is_some(), "during the flood: {served:?}");
    let servers = scene.sides(1).iter().filter(|side| side.heard.len() == 50_000);
    assert_eq!(servers.count(), 1);
}

#[test]
fn ten_thousand_forged_requests_leave_nothing_and_a_real_client_is_served() {
    a_real_client_is_served(10_000, HALF_OPEN + 4);
}

#[test]
#[ignore = "a million, in release"]
fn a_million_forged_requests_leave_nothing_and_a_real_client_is_served() {
    a_real_client_is_served(1_000_000, HALF_OPEN + 4);
}
