//! A dialogue and its files in a capture, as others read it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::process::Command;
use std::rc::Rc;

use pcap_parser::{Block, PcapBlockOwned, PcapNGSlice};
use stackwright_compose::graph::modules::Recorder;
use stackwright_copy::{CopySide, Indication as Told, Request as Ask};
use stackwright_simulator::{Habits, Heard, Tree, World};

use crate::simulated::graphs::{client_graph, woven_server};
use crate::simulated::setting::{AGES, CLIENT, M, SERVER, content, job};

/// The time at which the runs here began: 2023-11-14 22:13:20 UTC.
const BEGAN: u64 = 1_700_000_000_000_000_000;

/// Fetches and stores a file each, with a recorder below the client; the capture.
fn recorded(fetched: &[u8], stored: &[u8]) -> Vec<u8> {
    let mut world = World::<M>::new(1);
    let (far, near) = (Tree::shared(), Tree::shared());
    far.borrow_mut().put("fetched", fetched.to_vec());
    near.borrow_mut().put("stored", stored.to_vec());
    woven_server(&mut world, Habits::default(), &far);
    let file = Rc::new(RefCell::new(Vec::new()));
    let sink = file.clone();
    let mut graph = client_graph(Habits::default(), &near);
    let recorder =
        Recorder::new("ftp client over tcp", "ftp client", BEGAN, move |octets: Vec<u8>| {
            assert!(octets.len() < 3 * 64 * 1024, "it does not wait for long");
            sink.borrow_mut().extend(octets);
        });
    graph.push("ftp", "tcp", "recorder", recorder).expect("it fits there");
    let client = world.add(CLIENT, graph, Heard::default());
    for (nth, from, name) in [(0, CopySide::Left, "fetched"), (1, CopySide::Right, "stored")] {
        world.ask(
            client,
            Ask::Copy {
                job: job(nth),
                from,
                source: name.into(),
                target: name.into(),
                early: false,
            },
        );
    }
    world.run_for(AGES);
    let copied = |told: &&Told| matches!(told, Told::Copied { .. });
    assert_eq!(world.application(client).0.iter().filter(copied).count(), 2);
    file.take()
}

/// The octets of each stream, by its client's port and whether they went to the client, put
/// together by their numbers.
fn streams(file: &[u8]) -> BTreeMap<(u16, bool), Vec<u8>> {
    let mut streams = BTreeMap::<_, Vec<u8>>::new();
    for block in PcapNGSlice::from_slice(file).expect("it begins with a section") {
        let PcapBlockOwned::NG(Block::EnhancedPacket(packet)) = block.expect("whole blocks") else {
            continue;
        };
        let octets = &packet.data[..packet.caplen as usize];
        let time = u64::from(packet.ts_high) << 32 | u64::from(packet.ts_low);
        assert!((BEGAN..BEGAN + AGES.as_nanos() as u64).contains(&time));
        let (source, destination) = (&octets[12..16], &octets[16..20]);
        let address = |address: std::net::IpAddr| match address {
            std::net::IpAddr::V4(address) => address.octets(),
            std::net::IpAddr::V6(_) => unreachable!("stations have addresses of IPv4"),
        };
        let inbound = destination == address(CLIENT);
        assert_eq!(if inbound { source } else { destination }, address(SERVER));
        let port_at = if inbound { 22 } else { 20 };
        let port = u16::from_be_bytes([octets[port_at], octets[port_at + 1]]);
        let stream = streams.entry((port, inbound)).or_default();
        let sequence = u32::from_be_bytes(octets[24..28].try_into().expect("four octets"));
        if octets[33] & 2 == 0 {
            assert_eq!(sequence as usize, 1 + stream.len(), "numbers follow one another");
            stream.extend(&octets[40..]);
        } else {
            assert_eq!(sequence, 0, "a SYN comes first");
        }
    }
    streams
}

#[test]
fn hold_the_dialogue_and_the_files() {
    let (fetched, stored) = (content(300_000, 1), content(70_000, 2));
    let streams = streams(&recorded(&fetched, &stored));
    let holds = |inbound, wanted: &[u8]| {
        streams.iter().any(|((_, direction), octets)| *direction == inbound && octets == wanted)
    };
    assert!(holds(true, &fetched) && holds(false, &stored));
    let said = streams.iter().filter_map(|((_, inbound), octets)| {
        let text = String::from_utf8(octets.clone()).ok()?;
        (!*inbound && text.contains("USER")).then_some(text)
    });
    let said: String = said.collect();
    assert!(said.contains("RETR fetched\r\n") && said.contains("STOR stored\r\n"), "{said}");
}

/// What tshark says of the file; `None` where it is not installed.
fn tshark(file: &[u8], arguments: &[&str]) -> Option<String> {
    let mut on_disk = tempfile::NamedTempFile::with_suffix(".pcapng").unwrap();
    on_disk.write_all(file).unwrap();
    let output =
        Command::new("tshark").arg("-n").arg("-r").arg(on_disk.path()).args(arguments).output();
    match output {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("skipped: tshark is not installed");
            None
        }
        output => {
            let output = output.unwrap();
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
    }
}

#[test]
fn are_followed_by_wireshark() {
    let (fetched, stored) = (content(100_000, 1), content(2000, 2));
    let file = recorded(&fetched, &stored);
    let Some(said) = tshark(&file, &["-V"]) else { return };
    for unwanted in [
        "malformed",
        "retransmission",
        "previous segment not captured",
        "unseen segment",
        "bad checksum",
    ] {
        assert!(!said.to_lowercase().contains(unwanted), "{unwanted}");
    }
    for wanted in [
        "Interface name: ftp client over tcp",
        "Interface description: ftp client",
        "Request command: RETR",
        "Streams Delivered",
    ] {
        assert!(said.contains(wanted), "{wanted}");
    }
    // One of its streams is the file.
    let hexadecimal: String = fetched.iter().map(|octet| format!("{octet:02x}")).collect();
    let found = (0..4).any(|stream| {
        let follow = format!("follow,tcp,raw,{stream}");
        let said = tshark(&file, &["-q", "-z", &follow]).expect("it was there a moment ago");
        let octets = said
            .lines()
            .map(str::trim)
            .filter(|line| line.bytes().all(|octet| octet.is_ascii_hexdigit()));
        octets.collect::<String>() == hexadecimal
    });
    assert!(found, "a stream that is followed is the file");
}
