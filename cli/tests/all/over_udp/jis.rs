//! Pictures where every tenth datagram is lost, and what is said of their packets.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use stackwright_programs::picture::Picture;
use stackwright_programs::processes::Running;
use stackwright_programs::scratch::Scratch;

use crate::over_udp::relay::{ADDRESS, Relay};
use crate::over_udp::{path, program, say, wireshark};

#[test]
fn a_picture_arrives_in_spite_of_loss_and_its_packets_are_shown() {
    let scratch = Scratch::new();
    let file = Picture { columns: 60, rows: 40, coefficients: 40 }.file(1);
    fs::write(scratch.join("noise.jpg"), &file).expect("a folder of ours");
    let mut command = program();
    command.args(["jis", "serve", path(scratch.path()), "--listen", "127.0.0.1:0"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut server = Running::start(&mut command);
    let mut line = String::new();
    BufReader::new(server.output()).read_line(&mut line).expect("text");
    let port = line.trim().trim_end_matches('/').rsplit(':').next();
    let port: u16 = port.and_then(|port| port.parse().ok()).expect("a port");
    let relay = Relay::start(port);
    let url = format!("jis://{ADDRESS}:{port}/noise.jpg");
    let fetched = say(&["jis", "get", &url, "-o", "-"]).succeeded();
    assert!(fetched.output == file, "{} octets", fetched.output.len());
    let missing = say(&["jis", "get", &format!("jis://{ADDRESS}:{port}/other.jpg"), "-o", "-"]);
    assert!(!missing.status.success());
    let carried = relay.stop();
    assert!(carried.lost >= 5, "{} were lost", carried.lost);
    let seen = wireshark::agrees("jis", &carried.capture, &[port]);
    for header in [
        "TailoredHeader",
        "OpeningToken",
        "ReportHeader",
        "NumberSpan",
        "ReqHead",
        "name",
        "TableHead",
        "BlocksHead",
        "pieces",
        "EndHead",
        "RefusedHead",
        "text",
    ] {
        assert!(seen.iter().any(|name| name == header), "{header} is not among {seen:?}");
    }
}
