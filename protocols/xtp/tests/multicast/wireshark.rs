//! Wireshark, and a reader that shares no code with this project, read what a group says.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use stackwright_contract::Duration;
use stackwright_contract::services::Ended;
use stackwright_simulator::Conditions;
use stackwright_wire::capture::{Capture, Frame, LinkType, PacketDirection, Payload};
use stackwright_xtp::header::XtpKind;
use stackwright_xtp::multicast::ReliableMulticast;

use crate::packets::Packets;
use crate::scene::{Scene, config};

/// The protocol number of XTP: Wireshark reads it in IP only.
const XTP: u8 = 36;

fn run(command: &mut Command) -> Option<Output> {
    match command.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("skipped: {:?} is not installed", command.get_program());
            None
        }
        output => Some(output.expect("it runs")),
    }
}

/// Writes packets, as they would be without UDP.
fn capture(packets: &[Vec<u8>]) -> PathBuf {
    let mut capture = Capture::new("stackwright");
    let boundary = capture.interface("xtp", "a group", LinkType::RAW);
    for packet in packets {
        let mut octets = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 1, XTP, 0, 0, 10, 0, 0, 1, 239, 0, 0, 1];
        octets[2..4].copy_from_slice(&(20 + packet.len() as u16).to_be_bytes());
        octets.extend(packet);
        let frame = Frame::plain(Payload::from(&octets[..]));
        capture.packet(boundary, 0, PacketDirection::Outbound, &frame, None);
    }
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("multicast.pcapng");
    std::fs::write(&file, capture.take()).expect("room for a file");
    file
}

#[test]
fn what_a_group_says_is_read_by_others() {
    // Enough for a packet of each kind: some are lost, one joins late, one is too slow.
    let conditions = Conditions { loss: 0.05.into(), ..Conditions::IDEAL };
    let mut settings = config(2);
    settings.patience = 2_000_000_000;
    settings.rate = std::num::NonZeroU64::new(200_000);
    let mut scene = Scene::<ReliableMulticast>::new(3, conditions, 2, settings);
    let slow = scene.receivers[1];
    scene.world.application_mut(slow).most = 100;
    scene.send(300, 3000);
    scene.world.run_for(Duration::from_secs(1));
    scene.join();
    assert_eq!(scene.run(120).map(|(_, why)| why), Some(Ended::Expired));
    let packets = Packets::taken(&mut scene.world);
    for kind in [XtpKind::TrafficControl, XtpKind::ErrorControl, XtpKind::JoinControl] {
        assert!(packets.heard(kind) > 0, "{kind:?} of a receiver");
    }
    for kind in [XtpKind::Control, XtpKind::JoinControl, XtpKind::Diagnostic] {
        assert!(packets.sent(kind) > 0, "{kind:?} of the sender");
    }
    let all: Vec<_> = packets.all.iter().map(|packet| packet[28..].to_vec()).collect();
    let file = capture(&all);

    let mut tshark = Command::new("tshark");
    tshark.arg("-n").arg("-r").arg(&file).args(["-T", "fields", "-E", "separator=;"]);
    for field in ["xtp.key", "xtp.cmd.options.multi", "xtp.checksum.status", "_ws.malformed"] {
        tshark.args(["-e", field]);
    }
    if let Some(output) = run(&mut tshark) {
        let said = String::from_utf8(output.stdout).expect("text");
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert_eq!(said.lines().count(), all.len(), "{complaints}");
        for line in said.lines() {
            let (key, rest) = line.split_once(';').expect("fields");
            assert!(!key.is_empty() && ["1;1;", "True;1;"].contains(&rest), "{line}");
        }
    }

    let reader = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/xtp/reader.py");
    if let Some(output) = run(Command::new("python3").arg(reader).arg(&file)) {
        let said = String::from_utf8_lossy(&output.stdout);
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{complaints}");
        assert_eq!(said.lines().count(), all.len());
        assert!(said.lines().all(|line| line.contains("MULTI")));
    }
}
