//! A transport is measured between two processes of the program.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
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

/// Without a line for it here: the catalogue has one.
#[test]
fn a_protocol_of_the_catalogue_is_measured_by_its_name() {
    let (_server, url) = serve("stop-and-wait://127.0.0.1:0", &[]);
    let bulk = measure(&[&url, "--size", "1200", "--octets", "600kB"]);
    assert_eq!((&bulk["octets"], &bulk["messages"]), (&600_000.into(), &500.into()), "{bulk}");
    assert_eq!(bulk["transport"], "stop-and-wait");
    let requests = measure(&[&url, "--requests", "--octets", "6400"]);
    assert_eq!(requests["messages"], 100, "{requests}");
    for (arguments, code, says) in [
        // The rule book's reason.
        (&["ordered://127.0.0.1:9"][..], 1, "`ordered` needs reliable delivery"),
        // A file does not say all of it.
        (&["tls://127.0.0.1:9"], 2, "the transport is unknown"),
        (&[&url, "--packet", "500"], 2, "stop-and-wait has no --packet"),
    ] {
        let outcome = run(program().args(["perf", "run"]).args(arguments)).exited(code);
        assert!(complaints(&outcome).contains(says), "{}", complaints(&outcome));
    }
}

#[test]
fn a_transaction_is_a_request_and_its_answer() {
    let (_server, url) = serve("transaction+xtp://127.0.0.1:0", &[]);
    let requests = measure(&[&url, "--requests", "--octets", "6400"]);
    assert_eq!((&requests["messages"], &requests["octets"]), (&100.into(), &6400.into()));
    assert!(requests["processor_receiver"].as_f64().is_some_and(|seconds| seconds > 0.0));
    for other in [&[&*url][..], &[&url, "--associations", "2"]] {
        let outcome = run(program().args(["perf", "run"]).args(other)).exited(2);
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
    let outcome = run(program().args(["perf", "run", &url, "--requests"])).exited(2);
    assert!(complaints(&outcome).contains("has no --requests"), "{}", complaints(&outcome));
}

/// Of each path it is known where octets are copied: where a header and a payload of another block
/// become a datagram, where packets are written one behind the other, where a check is made; and
/// what is written by the kernel is not copied.
#[test]
fn copies_are_counted_at_both_ends() {
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
        let (_server, url) = serve(&format!("{transport}://127.0.0.1:0"), &[]);
        for _ in 0..2 {
            let bulk = measure(&[&url, "--size", size, "--octets", octets, "--copies"]);
            let at = |name: &str| bulk[name].as_f64().unwrap_or_else(|| panic!("{name}: {bulk}"));
            let (sender, receiver) = (at("copies_sender"), at("copies_receiver"));
            assert!(down.contains(&sender) && up.contains(&receiver), "{transport} {bulk}");
        }
        let bulk = measure(&[&url, "--size", size, "--octets", octets]);
        assert!(bulk["copies_sender"].is_null() && bulk["copies_receiver"].is_null(), "{bulk}");
    }
    let (_server, url) = serve("artp://127.0.0.1:0", &[]);
    let told = run(program().args(["perf", "run", &url, "--octets", "1MB", "--copies"]));
    let told = told.succeeded().text();
    assert!(told.contains("copies per octet in user space: "), "{told}");
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

/// What a transport would ignore is refused before anything is sent: nobody is asked.
#[test]
fn what_a_transport_does_not_have_is_refused() {
    let key = "0f".repeat(32);
    let refused = [
        ("xtp://127.0.0.1:9", &["--cipher", "aes-256-gcm"][..]),
        ("tailored://127.0.0.1:9", &["--cipher", "aes-256-gcm", "--key", &key]),
        ("tcp://127.0.0.1:9", &["--cipher", "aes-256-gcm"]),
        ("udp://127.0.0.1:9", &["--packet", "1000"]),
        ("xtp://127.0.0.1:9", &["--rate", "1MB"]),
        ("artp://127.0.0.1:9", &["--members", "2"]),
        ("stream+xtp://127.0.0.1:9", &["--congestion", "bbr"]),
        ("tailored://127.0.0.1:9", &["--flight", "1MB"]),
        ("tcp://127.0.0.1:9", &["--gather", "2"]),
        ("artp://127.0.0.1:9", &["--unchecked"]),
        ("xtp://239.77.1.1:9", &["--requests"]),
        ("unacknowledged+xtp://127.0.0.1:9", &["--associations", "2"]),
    ];
    for (url, options) in refused {
        let outcome = run(program().args(["perf", "run", url]).args(options)).exited(2);
        let said = complaints(&outcome);
        let scheme = url.split(':').next().expect("it begins so");
        assert!(said.contains(scheme) && said.contains(options[0]), "{url} {options:?}: {said}");
    }
    for (url, options) in [
        ("xtp://127.0.0.1:0", ["--cipher", "aes-256-gcm"]),
        ("udp://127.0.0.1:0", ["--window", "9"]),
        ("tcp://127.0.0.1:0", ["--cores", "2"]),
    ] {
        let outcome = run(program().args(["perf", "serve", url]).args(options)).exited(2);
        assert!(complaints(&outcome).contains(options[0]), "{}", complaints(&outcome));
    }
    for useless in [&["--key", &*key][..], &["--time", "0"], &["--associations", "2", "--time=1"]] {
        run(program().args(["perf", "run", "artp://127.0.0.1:9"]).args(useless)).exited(2);
    }
    let help = run(program().args(["perf", "run", "--help"])).succeeded().text();
    assert!(help.contains("--cipher        artp, ordered+artp"), "{help}");
}

/// What is longer than a transport takes is refused with its bound, before it is sent.
#[test]
fn a_message_that_is_too_long_is_refused_with_the_bound() {
    for (transport, longest) in [("udp", "65507"), ("tcp", "65535"), ("stream+xtp", "65535")] {
        let (_server, url) = serve(&format!("{transport}://127.0.0.1:0"), &[]);
        let long = ["perf", "run", &*url, "--size", "1MB", "--octets", "2MB"];
        let said = complaints(&run(program().args(long)).exited(1));
        assert!(said.contains(longest), "{transport}: {said}");
    }
}

/// A client over a slow path hears that what it sent is counted, long before all of it is.
#[test]
fn a_client_is_told_that_the_server_counts() {
    const DATA: [u8; 18] = [0, 16, 1, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9, 9, 9, 9, 9, 9];
    let (_server, url) = serve("tcp://127.0.0.1:0", &[]);
    let mut client = TcpStream::connect(url.strip_prefix("tcp://").expect("an address"))
        .expect("the server listens");
    client.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
    client.write_all(&DATA).expect("it takes it");
    thread::sleep(Duration::from_millis(10_500));
    client.write_all(&DATA).expect("it takes it");
    let mut word = [0; 9];
    client.read_exact(&mut word).expect("a word");
    assert_eq!(word, [0, 7, 6, 0, 0, 0, 0, 0, 2], "two messages are counted so far");
}

/// At a rate, what waits to be sent would come on top of the time.
#[test]
fn a_run_at_a_rate_sends_for_its_time() {
    let (_server, url) = serve("isochronous+xtp://127.0.0.1:0", &[]);
    let run = [&*url, "--rate", "125kB", "--size", "1000", "--time", "2s"];
    let octets = measure(&run)["octets"].as_u64().expect("a number");
    // A tenth of a second of it may wait, and bursts.
    assert!((1..=350_000).contains(&octets), "{octets}");
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
fn each_layer_of_another_command_is_measured() {
    let (_server, url) = serve("ordered+artp://127.0.0.1:0", &[]);
    let measured = ["perf", "layers", "--json", "perf", "run", &url, "--octets", "60kB"];
    let told = run(program().args(measured).args(["--size", "1200", "--json"])).succeeded().text();
    let told: Value = serde_json::from_str(told.lines().last().expect("a line")).expect("JSON");
    let layers = told["layers"].as_array().expect("layers");
    let names: Vec<_> = layers.iter().filter_map(|layer| layer["name"].as_str()).collect();
    assert_eq!(names, ["framed", "ordered", "artp", "udp"], "{told}");
    for layer in layers {
        assert!(layer["nanoseconds"].as_u64().is_some_and(|took| took > 0), "{layer}");
        assert!(layer["octets_down"].as_u64().is_some_and(|octets| octets > 60_000), "{layer}");
    }
    assert_eq!(layers[0]["header_down"], 2.0, "the length of a message: {told}");
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
