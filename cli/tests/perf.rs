//! A transport is measured between two processes of the program.

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use stackwright_programs::processes::{Outcome, Running, run};

const TRANSPORTS: [&str; 10] = [
    "artp",
    "udp",
    "tcp",
    "ordered+artp",
    "xtp",
    "stream+xtp",
    "acknowledged+xtp",
    "bulk+xtp",
    "isochronous+xtp",
    "tailored",
];

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_stackwright"))
}

/// A server at any free port, and its address. It ends when it is dropped.
fn serve(url: &str, options: &[&str]) -> (Running, String) {
    let mut command = program();
    command.args(["perf", "serve", "--json", url]).args(options);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut running = Running::start(&mut command);
    let mut lines = BufReader::new(running.output()).lines();
    let line = lines.next().expect("a line").expect("of text");
    let url = serde_json::from_str::<Value>(&line).expect("JSON")["url"]
        .as_str()
        .expect("an address")
        .to_owned();
    thread::spawn(move || lines.all(|line| line.is_ok()));
    (running, url)
}

fn measure(arguments: &[&str]) -> Value {
    let outcome = run(program().args(["perf", "run", "--json"]).args(arguments)).succeeded();
    serde_json::from_str(&outcome.text()).expect("one object")
}

fn complaints(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.complaints).into_owned()
}

#[test]
fn what_is_counted_is_what_was_sent() {
    for transport in TRANSPORTS {
        let (_server, url) = serve(&format!("{transport}://127.0.0.1:0"), &[]);
        // So few that UDP loses none: the receiver's buffer holds them all.
        let bulk = measure(&[&url, "--size", "1200", "--octets", "60kB"]);
        assert_eq!(bulk["octets"], 60_000, "{bulk}");
        assert_eq!(bulk["messages"], 50, "{bulk}");
        assert_eq!((&bulk["transport"], &bulk["workload"]), (&transport.into(), &"bulk".into()));
        assert_eq!(bulk["counted_by"], "receiver");
        assert!(bulk["processor_receiver"].as_f64().is_some_and(|seconds| seconds > 0.0), "{bulk}");

        let requests = measure(&[&url, "--requests", "--octets", "6400"]);
        assert_eq!(requests["messages"], 100, "{requests}");
        let at = |name: &str| requests["latencies_us"][name].as_f64().expect("a time");
        assert!(at("p50") > 0.0 && at("p50") <= at("p99") && at("p99") <= at("max"), "{requests}");

        let associations = measure(&[&url, "--associations", "20", "--repeat", "3"]);
        assert_eq!(associations["messages"], 60, "{associations}");
    }
}

#[test]
fn a_transaction_is_a_request_and_its_answer() {
    let (_server, url) = serve("transaction+xtp://127.0.0.1:0", &[]);
    let requests = measure(&[&url, "--requests", "--octets", "6400"]);
    assert_eq!((&requests["messages"], &requests["octets"]), (&100.into(), &6400.into()));
    assert!(requests["processor_receiver"].as_f64().is_some_and(|seconds| seconds > 0.0));
    for other in [&[&*url][..], &[&url, "--associations", "2"]] {
        let outcome = run(program().args(["perf", "run"]).args(other)).exited(1);
        assert!(complaints(&outcome).contains("--requests"), "{}", complaints(&outcome));
    }
}

#[test]
fn what_is_not_acknowledged_is_counted_where_it_arrives() {
    let (_server, url) = serve("unacknowledged+xtp://127.0.0.1:0", &[]);
    for _ in 0..2 {
        let bulk = measure(&[&url, "--size", "1200", "--octets", "60kB"]);
        assert_eq!((&bulk["messages"], &bulk["octets"]), (&50.into(), &60_000.into()), "{bulk}");
    }
    let outcome = run(program().args(["perf", "run", &url, "--requests"])).exited(1);
    assert!(complaints(&outcome).contains("nothing is answered"), "{}", complaints(&outcome));
}

/// Of each path it is known where octets are copied: where a header and a payload of another block
/// become a datagram, where packets are written one behind the other, where a check is made; and
/// what is written by the kernel is not copied.
#[test]
fn copies_are_counted_at_the_ends_that_are_asked() {
    const ONCE: std::ops::Range<f64> = 0.99..1.15; // with what the protocol says beside
    const NEVER: std::ops::Range<f64> = 0.0..0.1;
    let paths = [
        ("udp", "1200", "60kB", ONCE, 0.0..1.15),
        ("tcp", "10kB", "2MB", NEVER, 0.0..1.15),
        ("artp", "1200", "2MB", ONCE, 0.0..0.5),
        ("ordered+artp", "10kB", "2MB", ONCE, 0.0..1.15),
        ("xtp", "1200", "600kB", ONCE, 0.0..1.15),
        // Packets become a message.
        ("xtp", "10kB", "2MB", ONCE, 0.99..2.15),
    ];
    for (transport, size, octets, down, up) in paths {
        let (_server, url) = serve(&format!("{transport}://127.0.0.1:0"), &["--copies"]);
        for _ in 0..2 {
            let bulk = measure(&[&url, "--size", size, "--octets", octets, "--copies"]);
            let at = |name: &str| bulk[name].as_f64().unwrap_or_else(|| panic!("{name}: {bulk}"));
            let (sender, receiver) = (at("copies_sender"), at("copies_receiver"));
            assert!(down.contains(&sender) && up.contains(&receiver), "{transport} {bulk}");
        }
        let bulk = measure(&[&url, "--size", size, "--octets", octets]);
        assert!(bulk["copies_sender"].is_null() && bulk["copies_receiver"].is_f64(), "{bulk}");
    }
    let (_server, url) = serve("artp://127.0.0.1:0", &[]);
    let told = run(program().args(["perf", "run", &url, "--octets", "1MB", "--copies"]));
    let told = told.succeeded().text();
    assert!(told.contains(" here, not counted at the server"), "{told}");
    for other in ["--requests", "--cipher=aes-256-gcm"] {
        run(program().args(["perf", "run", &url, "--copies", other])).exited(2);
    }
}

#[test]
fn messages_are_sealed_where_both_ends_have_the_cipher() {
    let sealed = ["--cipher", "chacha20-poly1305"];
    let (_server, url) = serve("artp://127.0.0.1:0", &sealed);
    let bulk = measure(&[&url, "--octets", "1MB", sealed[0], sealed[1]]);
    assert_eq!(bulk["octets"], 1_000_000, "{bulk}");
}

#[test]
fn the_congestion_control_is_told_and_never_the_systems_choice() {
    for (transport, usual) in [("artp", "cubic"), ("ordered+artp", "cubic"), ("tcp", "cubic")] {
        let (_server, url) = serve(&format!("{transport}://127.0.0.1:0"), &[]);
        assert_eq!(measure(&[&url, "--octets", "1MB"])["congestion"], usual);
        let other = measure(&[&url, "--octets", "1MB", "--congestion", "new-reno"]);
        assert_eq!(other["congestion"], if transport == "tcp" { "reno" } else { "new-reno" });
    }
    let (_server, url) = serve("udp://127.0.0.1:0", &[]);
    assert!(measure(&[&url, "--octets", "12kB", "--size", "1200"])["congestion"].is_null());
    let tcp = ["perf", "run", "tcp://127.0.0.1:9", "--congestion", "document"];
    let refused = complaints(&run(program().args(tcp)).exited(1));
    assert!(refused.contains("choose cubic, bbr or new-reno"), "{refused}");
}

#[test]
fn packet_numbers_may_wrap() {
    let first = (u32::MAX - 100).to_string();
    let (_server, url) = serve("artp://127.0.0.1:0", &["--first", &first]);
    let bulk = measure(&[&url, "--octets", "2MB", "--first", &first]);
    assert_eq!(bulk["octets"], 2_000_000, "{bulk}");
}

#[test]
fn what_is_wrong_is_told() {
    let free = std::net::UdpSocket::bind("127.0.0.1:0")
        .expect("a port")
        .local_addr()
        .expect("its number")
        .port();
    for transport in TRANSPORTS {
        let url = format!("{transport}://127.0.0.1:{free}");
        let nobody = run(program().args(["perf", "run", &url])).exited(3);
        assert!(complaints(&nobody).contains("perf serve"), "{}", complaints(&nobody));
    }
    let unknown = run(program().args(["perf", "run", "quic://127.0.0.1"])).exited(2);
    assert!(complaints(&unknown).contains("ordered+artp://"), "{}", complaints(&unknown));
    run(program().args(["perf", "run", "tcp://127.0.0.1", "--time", "1s", "--octets", "1"]))
        .exited(2);
}

/// UDP tells nobody that a client has gone, and the system gives its port to another.
#[test]
fn a_port_that_is_used_again_is_counted_anew() {
    const WORD: usize = 7; // an octet for the kind, six for the number
    let (_server, url) = serve("udp://127.0.0.1:0", &[]);
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.connect(url.strip_prefix("udp://").expect("an address")).expect("a server");
    socket.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    for messages in [3, 2] {
        for number in 0..messages {
            socket.send(&word(1, number)).expect("data");
        }
        // Its answer may be lost, and the question is then repeated.
        for _ in 0..2 {
            socket.send(&word(4, messages)).expect("the end");
            let mut report = [0; 64];
            let length = socket.recv(&mut report).expect("a report");
            assert!(length >= WORD + 16 && report[0] == 5, "{report:?}");
            let counted = report[WORD + 8..][..8].try_into().expect("eight octets");
            assert_eq!(u64::from_be_bytes(counted), u64::from(messages));
        }
    }

    fn word(kind: u8, number: u8) -> [u8; WORD] {
        [kind, 0, 0, 0, 0, 0, number]
    }
}

#[test]
fn several_cores_serve_at_one_address() {
    for transport in ["artp", "udp", "ordered+artp"] {
        let (_server, url) = serve(&format!("{transport}://127.0.0.1:0"), &["--cores", "2"]);
        // One of eight is with the other but once in a hundred runs; all that they say is counted
        // wherever they are.
        for _ in 0..8 {
            let bulk = measure(&[&url, "--size", "1200", "--octets", "60kB"]);
            assert_eq!(
                (&bulk["octets"], &bulk["messages"]),
                (&60_000.into(), &50.into()),
                "{bulk}"
            );
        }
    }
    let refused =
        run(program().args(["perf", "serve", "tcp://127.0.0.1:0", "--cores", "2"])).exited(2);
    assert!(complaints(&refused).contains("--cores"), "{}", complaints(&refused));
}
