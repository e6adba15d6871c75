//! XTP over IP as protocol 36, between two network namespaces. Needs root and iproute2.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use stackwright_programs::processes::{Outcome, Running, find, run};

/// The addresses of the server, of both families.
const SERVERS: [&str; 2] = ["10.98.36.2", "[fd98:36::2]"];

/// Two namespaces with a pair of devices between them, gone when this is dropped.
struct Pair([String; 2]);

impl Pair {
    /// `None` where they cannot be made; says why.
    fn up() -> Option<Pair> {
        let name = |side| format!("xtp-{}-{side}", std::process::id());
        let pair = Pair(["a", "b"].map(name));
        let [a, b] = &pair.0;
        let mut lines = format!("netns add {a}\nnetns add {b}\n");
        lines += &format!("-n {a} link add v type veth peer name v netns {b}\n");
        for (number, side) in [a, b].into_iter().enumerate() {
            let number = number + 1;
            for rest in [
                "link set lo up".to_owned(),
                "link set v up".to_owned(),
                format!("addr add 10.98.36.{number}/30 dev v"),
                format!("addr add fd98:36::{number}/64 dev v nodad"),
            ] {
                lines += &format!("-n {side} {rest}\n");
            }
        }
        for line in lines.lines() {
            match Command::new("ip").args(line.split(' ')).stderr(Stdio::piped()).output() {
                Ok(output) if output.status.success() => {}
                Ok(output) => {
                    let why = String::from_utf8_lossy(&output.stderr).into_owned();
                    eprintln!("skipped: `ip {line}`: {}", why.trim());
                    return None;
                }
                Err(why) => {
                    eprintln!("skipped: `ip {line}`: {why}");
                    return None;
                }
            }
        }
        Some(pair)
    }

    fn command(&self, side: usize, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.0[side], program]);
        command
    }

    fn program(&self, side: usize) -> Command {
        self.command(side, env!("CARGO_BIN_EXE_stackwright"))
    }

    fn serve(&self, url: &str) -> (Running, String) {
        let mut command = self.program(1);
        command.args(["perf", "serve", "--json", url]);
        let mut running = Running::start(
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()),
        );
        let mut lines = BufReader::new(running.output()).lines();
        let line = lines.next().expect("a line").expect("of text");
        thread::spawn(move || lines.all(|line| line.is_ok()));
        let told: Value = serde_json::from_str(&line).expect("JSON");
        (running, told["url"].as_str().expect("an address").to_owned())
    }

    fn measure(&self, arguments: &[&str]) -> Value {
        let outcome = run(self.program(0).args(["perf", "run", "--json"]).args(arguments));
        serde_json::from_str(&outcome.succeeded().text()).expect("one object")
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = Command::new("ip").args(["netns", "del", name]).stderr(Stdio::null()).status();
        }
    }
}

fn complaints(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.complaints).into_owned()
}

#[test]
fn two_stations_exchange_over_protocol_36_and_wireshark_agrees() {
    let Some(pair) = Pair::up() else { return };
    let folder = tempfile::tempdir().expect("a scratch folder");
    let capture = folder.path().join("capture.pcapng");
    let capture = capture.to_str().expect("a text");
    let watcher = find("dumpcap").map(|_| {
        let mut command = pair.command(1, "dumpcap");
        command.args(["-q", "-i", "v", "-w", capture]).stderr(Stdio::piped());
        let mut watcher = command.spawn().expect("it is there");
        // It captures once it has named its file.
        let mut said = BufReader::new(watcher.stderr.take().expect("a pipe")).lines();
        assert!(said.any(|line| line.is_ok_and(|line| line.starts_with("File:"))), "it captures");
        thread::spawn(move || said.all(|line| line.is_ok()));
        watcher
    });
    for server in SERVERS {
        let (_server, url) = pair.serve(&format!("xtp+ip://{server}"));
        assert_eq!(url, format!("xtp+ip://{server}"));
        let bulk = pair.measure(&[&url, "--size", "3000", "--octets", "300kB"]);
        assert_eq!((&bulk["octets"], &bulk["messages"]), (&300_000.into(), &100.into()));
        let requests = pair.measure(&[&url, "--requests", "--octets", "640"]);
        assert_eq!(requests["messages"], 10, "{requests}");
        let associations = pair.measure(&[&url, "--associations", "5", "--repeat", "2"]);
        assert_eq!(associations["messages"], 10, "{associations}");
    }
    // XSTP, as a protocol for experiments, has ports.
    let (_server, url) = pair.serve("xstp://10.98.36.2:0");
    let bulk = pair.measure(&[&url, "--size", "3000", "--octets", "300kB"]);
    assert_eq!(bulk["messages"], 100, "{bulk}");
    // Nobody has a socket for protocol 36 any more: the kernel says so.
    let nobody = run(pair.program(0).args(["perf", "run", "xtp+ip://10.98.36.2"])).exited(3);
    assert!(complaints(&nobody).contains("perf serve"), "{}", complaints(&nobody));
    let Some(mut watcher) = watcher else {
        return eprintln!("not compared: Wireshark is not installed");
    };
    // What it holds back, it writes within a second.
    thread::sleep(Duration::from_millis(1500));
    watcher.kill().and_then(|()| watcher.wait()).expect("it ends");
    is_understood(capture);
}

/// Insists that Wireshark and `dissect` read every packet of a capture.
fn is_understood(capture: &str) {
    let fields = ["xtp.key", "xtp.checksum.status", "_ws.malformed", "xtp.spans_bad"];
    let mut tshark = Command::new("tshark");
    // ICMP bears the packets that nobody wanted, too.
    tshark.args(["-n", "-r", capture, "-Y", "(ip.proto == 36 || ipv6.nxt == 36) && !icmp"]);
    tshark.args(["-T", "fields", "-E", "separator=;"]);
    tshark.args(fields.iter().flat_map(|field| ["-e", field]));
    let said = run(&mut tshark).succeeded().text();
    let is_sound = |line: &&str| {
        line.split_once(';').is_some_and(|(key, rest)| !key.is_empty() && rest == "1;;")
    };
    let odd: Vec<_> = said.lines().filter(|line| !is_sound(line)).collect();
    assert!(odd.is_empty() && said.lines().count() > 400, "{odd:?} of {}", said.lines().count());
    let ours =
        run(Command::new(env!("CARGO_BIN_EXE_stackwright")).args(["dissect", capture, "--json"]))
            .succeeded()
            .text();
    let read = ours.lines().filter(|line| line.contains("XtpPacket"));
    assert!(read.count() > 200, "the packets in IPv4: {ours}");
}

#[test]
fn without_the_right_it_is_said_what_to_do() {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]);
    command.args([env!("CARGO_BIN_EXE_stackwright"), "perf", "run", "xtp+ip://127.0.0.1"]);
    let output = match command.output() {
        Ok(output) => output,
        Err(why) => return eprintln!("skipped: setpriv: {why}"),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("setpriv:") {
        return eprintln!("skipped: {said}");
    }
    assert!(!output.status.success() && said.contains("CAP_NET_RAW"), "{said}");
    assert!(said.contains("setcap") && said.contains("root"), "{said}");
}
