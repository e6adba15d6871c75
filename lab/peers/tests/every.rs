//! Every transport under every workload, for a moment, over the loopback interface.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

const PEERS: &str = env!("CARGO_BIN_EXE_peers");

/// A `peers serve`, which ends with its standard input.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    /// Nothing where the transport is not installed, and then a sentence.
    fn start(transport: &str) -> Option<Self> {
        Self::start_at(transport, "127.0.0.1:0")
    }

    fn start_at(transport: &str, address: &str) -> Option<Self> {
        let mut child = Command::new(PEERS)
            .args(["serve", transport, address])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("peers starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("text");
        if line.is_empty() {
            let output = child.wait_with_output().expect("it ends");
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(why.contains("is not installed"), "{transport} did not listen: {why}");
            // Past the capture of the harness: a test that was skipped has to say so.
            let _ = writeln!(std::io::stderr(), "skipped: {}", why.trim());
            return None;
        }
        let said: Value = serde_json::from_str(&line).expect("one line of JSON");
        Some(Serving { child, address: said["listening"].as_str().expect("an address").to_owned() })
    }

    fn try_run(&self, transport: &str, arguments: &str) -> Output {
        let mut command = Command::new(PEERS);
        command.args(["run", transport, &self.address]).args(arguments.split_whitespace());
        command.output().expect("peers runs")
    }

    fn run(&self, transport: &str, arguments: &str) -> Value {
        let output = self.try_run(transport, arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{transport} {arguments}: {errors}");
        let figures: Value =
            serde_json::from_slice(&output.stdout).expect("exactly one JSON object");
        assert_eq!(figures["transport"], transport);
        assert_eq!(figures["counted_by"], "receiver");
        for figure in ["seconds", "processor_sender", "processor_receiver"] {
            assert!(
                figures[figure].as_f64().is_some_and(|value| value > 0.0),
                "{arguments}: {figures}"
            );
        }
        figures
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let ended = self.child.wait().expect("it ends");
        if !std::thread::panicking() {
            assert!(ended.success(), "it ends well when its standard input does");
        }
    }
}

fn integer(figures: &Value, name: &str) -> u64 {
    figures[name].as_u64().unwrap_or_else(|| panic!("{name} in {figures}"))
}

/// All three workloads, one after the other with the same receiver.
fn all(transport: &str) {
    let Some(serving) = Serving::start(transport) else { return };
    bulk(&serving, transport);
    requests(&serving, transport);
    associations(&serving, transport);
}

fn bulk(serving: &Serving, transport: &str) {
    let figures = serving.run(transport, "bulk --size 10000 --octets 2000000");
    let octets = integer(&figures, "octets");
    // Raw UDP does not know its messages, so that the last batch may bring more.
    let enough = if transport == "udp" { octets >= 2_000_000 } else { octets == 2_000_000 };
    assert!(enough, "{figures}");
    assert_eq!(integer(&figures, "messages"), octets / 10_000);
    assert!(figures.get("latencies_us").is_none());

    let figures = serving.run(transport, "bulk --size 1200 --time 0.3");
    assert!(integer(&figures, "octets") > 0, "{figures}");
    assert!(figures["seconds"].as_f64() >= Some(0.3), "{figures}");
}

fn requests(serving: &Serving, transport: &str) {
    let figures = serving.run(transport, "requests --size 64 --count 100");
    assert_eq!((integer(&figures, "messages"), integer(&figures, "octets")), (100, 6400));
    let latency = |name: &str| figures["latencies_us"][name].as_f64().expect("a figure");
    // One waits for the other, so that together they take no longer than the run; and nobody
    // answers within a microsecond.
    let seconds = figures["seconds"].as_f64().expect("a figure");
    assert!(latency("mean") > 1.0 && latency("mean") * 100.0 <= seconds * 1e6, "{figures}");
    assert!(latency("p50") > 1.0 && latency("p50") <= latency("p90"), "{figures}");
    assert!(latency("p90") <= latency("p99") && latency("p99") <= latency("max"), "{figures}");

    let figures = serving.run(transport, "requests --size 1000 --time 0.2");
    assert_eq!(integer(&figures, "octets"), integer(&figures, "messages") * 1000);
}

fn associations(serving: &Serving, transport: &str) {
    let figures = serving.run(transport, "associations --count 20 --size 64");
    assert_eq!((integer(&figures, "messages"), integer(&figures, "octets")), (20, 20 * 64));
}

macro_rules! every {
    ($($name:ident: $transport:literal,)*) => {
        $(#[test]
        fn $name() {
            all($transport);
        })*
    };
}

every! {
    tcp: "tcp",
    udp: "udp",
    quinn: "quinn",
    s2n_quic: "s2n-quic",
    kcp: "kcp",
    enet: "enet",
    srt: "srt",
}

#[test]
fn options() {
    let tcp = Serving::start("tcp").expect("the kernel has it");
    // Whatever the system prefers.
    let usual = tcp.run("tcp", "bulk --size 10000 --octets 1000000");
    assert_eq!(usual["congestion"], "cubic");
    if let Ok(available) = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        && available.contains("bbr")
    {
        let other = tcp.run("tcp", "bulk --size 10000 --octets 1000000 --congestion bbr");
        assert_eq!(other["congestion"], "bbr");
    }
    tcp.run("tcp", "bulk --size 10000 --octets 1000000 --mtu 65535");
    let udp = Serving::start("udp").expect("the kernel has it");
    udp.run("udp", "bulk --size 1472 --octets 147200 --plain");
    for transport in ["quinn", "s2n-quic", "kcp", "srt"] {
        let Some(serving) = Serving::start(transport) else { continue };
        serving.run(transport, "bulk --size 10000 --octets 1000000 --mtu 1400 --window 4000000");
    }
}

#[test]
fn over_ipv6() {
    for transport in ["tcp", "udp", "quinn", "s2n-quic", "kcp", "enet", "srt"] {
        let Some(serving) = Serving::start_at(transport, "[::1]:0") else { continue };
        serving.run(transport, "bulk --size 10000 --octets 1000000");
        serving.run(transport, "requests --count 10");
    }
}

#[test]
fn failures_are_one_sentence() {
    let serving = Serving::start("tcp").expect("the kernel has it");
    let attempts = [
        ("quinn", "bulk --size 100 --octets 1000", "this end serves tcp, not quinn"),
        ("tcp", "bulk --size 0 --octets 1000", "at least one octet"),
        ("tcp", "bulk --size 300 --octets 1000", "multiple of --size"),
        ("tcp", "requests --count 0", "nothing is to be done"),
        ("tcp", "requests --count 1 --plain", "--plain is for udp only"),
        ("quinn", "requests --count 1 --congestion bbr", "--congestion is for tcp only"),
        ("enet", "requests --count 1 --window 100000", "no window"),
        ("tcp", "requests --count 1 --mtu 600", "--mtu is from"),
    ];
    for (transport, arguments, sentence) in attempts {
        let output = serving.try_run(transport, arguments);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{arguments}: {said}");
        assert!(
            output.stdout.is_empty() && said.lines().count() == 1 && said.contains(sentence),
            "{said}"
        );
    }
    // None of which has hurt it.
    serving.run("tcp", "requests --count 1");

    let udp = Serving::start("udp").expect("the kernel has it");
    let output = udp.try_run("udp", "requests --count 1 --size 4000");
    assert!(String::from_utf8_lossy(&output.stderr).contains("at most 1472 octets"));
}

#[test]
fn nobody_listens() {
    // A port that was just given away again.
    let serving = Serving::start("tcp").expect("the kernel has it");
    let address = serving.address.clone();
    drop(serving);
    let output =
        Command::new(PEERS).args(["run", "tcp", &address, "requests", "--count", "1"]).output();
    let output = output.expect("peers runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("connecting to"));
}
