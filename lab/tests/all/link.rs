//! `lab link` on this machine's kernel: what it makes, carries, counts, and removes however it
//! ends.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::Value;

fn lab(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(arguments);
    command
}

/// Whether a link can be made here at all, and those programs are there; if not, says what is
/// missing.
pub(crate) fn can(programs: &[&str]) -> bool {
    let there = |program: &&&str| Command::new(program).arg("-V").output().is_err();
    let missing = if !rustix::process::geteuid().is_root() {
        "root"
    } else if !Path::new("/dev/net/tun").exists() {
        "/dev/net/tun"
    } else if let Some(program) = ["ip"].iter().chain(programs).find(there) {
        program
    } else {
        return true;
    };
    eprintln!("skipped: this takes {missing}");
    false
}

/// Which namespaces there are of that process.
fn namespaces(process: u32) -> Vec<String> {
    let all = fs::read_dir("/run/netns").into_iter().flatten().flatten();
    let names = all.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name.starts_with(&format!("lab-{process}-"))).collect()
}

/// A link that is up.
pub(crate) struct Link {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    up: Value,
}

impl Link {
    pub(crate) fn up(arguments: &[&str]) -> Link {
        let mut process = lab(&["link", "--json"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program that was built with this test");
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let mut link = Link { process, input, output, up: Value::Null };
        link.up = link.says();
        assert_eq!(link.up["event"], "up");
        assert_eq!(namespaces(link.process.id()).len(), 2);
        link
    }

    /// Its next line.
    fn says(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a pipe");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("`{line}` is no JSON: {error}"))
    }

    pub(crate) fn text(&self, side: &str, what: &str) -> &str {
        self.up[side][what].as_str().expect("it says so")
    }

    /// Does `work` at that side, in a thread that never leaves it.
    fn at<T: Send + 'static>(
        &self,
        side: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let name = Path::new("/run/netns").join(self.text(side, "namespace"));
        let namespace = fs::File::open(name).expect("it is up");
        thread::spawn(move || {
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
                .expect("root may");
            work()
        })
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.process), signal).expect("it lives");
    }

    /// Waits for the end, which must be a good one that leaves nothing, and returns what it says
    /// last.
    fn ends(mut self) -> Value {
        let done = self.says();
        let status = self.process.wait().expect("it is ours");
        let mut complaints = String::new();
        self.process
            .stderr
            .take()
            .expect("a pipe")
            .read_to_string(&mut complaints)
            .expect("a pipe");
        assert!(status.success(), "{status}: {complaints}");
        assert_eq!(done["event"], "done");
        assert_eq!(namespaces(self.process.id()), Vec::<String>::new());
        done
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        // Only of a test that has failed is it still there; it ends and cleans up as it is asked
        // to.
        if let Ok(None) = self.process.try_wait() {
            self.signal(Signal::TERM);
            let _ = self.process.wait();
        }
    }
}

/// Waits until a process has gone into its namespace.
fn wait_until_inside(process: &mut Child, namespace: &str) {
    let there = fs::metadata(Path::new("/run/netns").join(namespace)).expect("it is up").ino();
    let place = format!("/proc/{}/ns/net", process.id());
    while fs::metadata(&place).is_ok_and(|here| here.ino() != there) {
        assert!(process.try_wait().expect("it is ours").is_none(), "it has ended");
        thread::yield_now();
    }
}

#[test]
fn twenty_echoes_are_counted_and_nothing_is_left() {
    if !can(&["ping"]) {
        return;
    }
    let link = Link::up(&["--delay", "3 ms", "--seed", "7"]);
    let echoes = Command::new("ip")
        .args(["netns", "exec", link.text("a", "namespace")])
        .args(["ping", "-n", "-c", "20", "-i", "0.01", link.text("b", "address")])
        .output();
    let echoes = String::from_utf8(echoes.expect("`ip` is there").stdout).expect("text");
    assert!(echoes.contains("20 packets transmitted, 20 received"), "{echoes}");

    // A server that nobody ends.
    let mut server = Command::new("ip")
        .args(["netns", "exec", link.text("b", "namespace"), "sleep", "1000"])
        .spawn()
        .expect("`ip` is there");
    wait_until_inside(&mut server, link.text("b", "namespace"));
    link.signal(Signal::INT);
    let done = link.ends();
    assert_eq!(server.wait().expect("it is ours").signal(), Some(Signal::TERM.as_raw()));
    for way in ["forward", "back"] {
        let icmp = &done[way]["icmp"];
        assert_eq!((&icmp["offered"], &icmp["delivered"]), (&20.into(), &20.into()), "{way}");
        // What the model says, which no slow machine alters.
        assert_eq!(icmp["transit"]["median_ms"].as_f64().map(f64::round), Some(3.0));
        assert_eq!(done[way]["missed"], 0);
    }
}

/// So many octets, over either kind of addresses, in trains of segments of which some are lost,
/// some altered, some doubled.
fn octets_pass_whole(address: &str) {
    if !can(&[]) {
        return;
    }
    const OCTETS: usize = 8 << 20;
    let mut link =
        Link::up(&["--attended", "--loss", "0.002", "--corrupt", "0.2 %", "--duplicate", "0.002"]);
    let far = link.text("b", address).to_owned();
    let here = far.clone();
    let listener =
        link.at("b", move || TcpListener::bind((here.as_str(), 7777)).expect("it is free"));
    let listener = listener.join().expect("it does not panic");
    let receiver = thread::spawn(move || {
        let mut received = Vec::new();
        listener
            .accept()
            .expect("somebody comes")
            .0
            .read_to_end(&mut received)
            .expect("it ends in order");
        received
    });
    let octets: Vec<u8> =
        (0..OCTETS as u32).map(|nth| (nth.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect();
    let sent = octets.clone();
    let sender = link.at("a", move || {
        let mut stream = TcpStream::connect((far.as_str(), 7777)).expect("somebody listens");
        stream
            .write_all(&sent)
            .and_then(|()| stream.shutdown(Shutdown::Write))
            .expect("it is open");
    });
    sender.join().expect("it does not panic");
    assert!(
        receiver.join().expect("it does not panic") == octets,
        "other octets came than were sent"
    );

    // Its input ends, as it does when whoever asks is killed.
    link.input = None;
    let done = link.ends();
    let forward = &done["forward"];
    let figure = |name: &str| forward["tcp"][name].as_u64().expect("a number");
    for count in ["lost", "altered", "duplicated"] {
        assert!(figure(count) > 0, "{count}: {forward}");
    }
    let under_way = forward["under_way"].as_u64().expect("a number");
    assert_eq!(
        figure("offered") + figure("duplicated"),
        figure("delivered") + figure("lost") + under_way
    );
    assert_eq!((&forward["refused"], &forward["malformed"]), (&0.into(), &0.into()));
    // It was trains that came: a segment has 1500 octets at most, and there were many.
    assert!(figure("offered") > OCTETS as u64 / 1500);
}

#[test]
fn octets_pass_whole_over_ipv4() {
    octets_pass_whole("address");
}

/// Two kernels, and a router between them that marks what it would drop (RFC 3168): the marks are
/// told of, and heeded.
#[test]
fn a_queue_that_marks_loses_nothing_of_a_transfer() {
    if !can(&[]) {
        return;
    }
    let wire =
        r#"{ rate = "20 Mb/s", delay = "10 ms", queue = "1 MB", codel = { target = "5 ms" } }"#;
    let arguments =
        ["transfer", "--octets", "8 MB", "--packet", "1472", "--congestion", "cubic", "--json"];
    let said = lab(&arguments)
        .args(["--wire", wire])
        .output()
        .expect("the program that was built with this test");
    let told: Value = serde_json::from_slice(&said.stdout).expect("it says so in JSON");
    let there = &told["outcome"]["wire"][0]["all"];
    assert!(there["marked"].as_u64() > Some(0), "{there}");
    assert_eq!((&there["queue_drops"], &there["lost"]), (&0.into(), &0.into()), "{there}");
    // Where nobody heeded them, the queue would be full: 1 MB takes 400 ms.
    assert!(there["queueing"]["p95_ms"].as_f64() < Some(100.0), "{there}");
}

#[test]
fn octets_pass_whole_over_ipv6() {
    if Path::new("/proc/net/if_inet6").exists() {
        octets_pass_whole("address_ipv6");
    } else {
        eprintln!("skipped: this takes a kernel with IPv6");
    }
}

#[test]
fn what_a_killed_link_leaves_the_next_removes() {
    if !can(&[]) {
        return;
    }
    let mut killed = Link::up(&[]);
    killed.process.kill().expect("it lives");
    killed.process.wait().expect("it is ours");
    let next = Link::up(&[]);
    assert_eq!(namespaces(killed.process.id()), Vec::<String>::new());
    next.signal(Signal::TERM);
    next.ends();
}

#[test]
fn a_command_gives_its_exit_code() {
    if !can(&[]) {
        return;
    }
    let status =
        lab(&["link", "lan-1g", "--", "sh", "-c", "exit 7"]).stderr(Stdio::null()).status();
    assert_eq!(status.expect("the program that was built with this test").code(), Some(7));
}

#[test]
fn a_profile_that_is_not_there_is_suggested_about() {
    let said = lab(&["link", "geoo"]).output().expect("the program that was built with this test");
    assert_eq!(said.status.code(), Some(2));
    let complaint = String::from_utf8_lossy(&said.stderr);
    assert!(complaint.contains("`geoo`") && complaint.contains("`geo`"), "{complaint}");
}

#[test]
fn quantities_without_sense_are_refused() {
    for arguments in
        [["--rate", "10"], ["--delay", "5"], ["--loss", "1.5"], ["--queue", "64"], ["--mtu", "x"]]
    {
        let said = lab(&["link"])
            .args(arguments)
            .output()
            .expect("the program that was built with this test");
        assert_eq!(said.status.code(), Some(2), "{arguments:?}");
        let complaint = String::from_utf8_lossy(&said.stderr);
        assert!(complaint.contains(arguments[0]), "{complaint}");
    }
}

#[test]
fn a_shared_channel_joins_two_kernels() {
    if !can(&["ping"]) {
        return;
    }
    // Fast enough for a test, and with both ends on one channel all the same.
    let scratch = tempfile::tempdir().expect("a folder");
    let file = scratch.path().join("channel.toml");
    let text = "rate = \"1 Mb/s\"\nmtu = 329\nchannel = { key-up = \"2 ms\", slot = \"1 ms\", persistence = 0.5 }\n";
    fs::write(&file, text).expect("a folder of ours");
    let link = Link::up(&[file.to_str().expect("a folder's name is a text")]);
    assert_eq!(link.up["mtu"], 329);
    let echoes = Command::new("ip")
        .args(["netns", "exec", link.text("a", "namespace")])
        .args(["ping", "-n", "-c", "5", "-i", "0.2", "-s", "200", link.text("b", "address")])
        .output();
    let echoes = String::from_utf8(echoes.expect("`ip` is there").stdout).expect("text");
    assert!(echoes.contains("5 packets transmitted, 5 received"), "{echoes}");
    link.signal(Signal::INT);
    let icmp = &link.ends()["forward"]["icmp"];
    assert_eq!((&icmp["delivered"], &icmp["lost"]), (&5.into(), &0.into()));
    // Key-up, and 228 octets at 1 Mb/s, come before each.
    assert!(icmp["transit"]["median_ms"].as_f64() > Some(2.0 + 1.8), "{icmp}");
}

/// The same scenario on this machine's kernel and in the simulator, as one object.
#[test]
fn both_places_are_compared_in_one_object() {
    if !can(&[]) {
        return;
    }
    let scratch = tempfile::tempdir().expect("a folder");
    let file = scratch.path().join("both.toml");
    let text = "time = \"20 s\"\n[[links]]\nbetween = [\"a\", \"b\"]\ndelay = \"50 ms\"\nrate = \"200 kb/s\"\n\
                [[flows]]\nfrom = \"a\"\nto = \"b\"\ntransport = { artp = {} }\n\
                workload = { bulk = { octets = \"20 kB\", message = \"1 kB\" } }\n";
    fs::write(&file, text).expect("a folder of ours");
    let said = lab(&["run", "--both", "--json"]).arg(&file).output().expect("it starts");
    let compared: Value = serde_json::from_slice(&said.stdout).expect("one object");
    // A busy machine may be late, and is told apart by the code.
    assert_eq!(said.status.success(), compared["differ"].is_null(), "{compared}");
    for place in ["simulated", "real"] {
        let flow = &compared[place]["flows"][0];
        assert_eq!((&compared[place]["place"], &flow["delivered"]), (&place.into(), &20.into()));
        assert!(flow["sent_octets"].as_u64() > Some(20_000), "{flow}");
    }
    let goodput = |place: &str| compared[place]["flows"][0]["goodput_bits_per_second"].as_f64();
    let ratio = goodput("real").zip(goodput("simulated")).map(|(real, other)| real / other);
    let told = compared["ratios"][0].as_f64();
    let apart = told.zip(ratio).map(|(told, ratio)| (told - ratio).abs());
    // Numbers in JSON may have lost their last digit.
    assert!(apart.is_some_and(|apart| apart < 1e-9), "{told:?}, {ratio:?}");
}

#[test]
fn without_rights_it_says_what_to_do() {
    let mut command = lab(&["link", "wan"]);
    if rustix::process::geteuid().is_root() {
        // Nobody's number on most systems, and in any case not root's.
        command.uid(65_534).gid(65_534);
    }
    let Ok(said) = command.output() else {
        return eprintln!("skipped: this takes a program that others than root may run");
    };
    assert_eq!(said.status.code(), Some(1));
    let complaint = String::from_utf8_lossy(&said.stderr);
    assert!(complaint.contains("root") && complaint.contains("sudo"), "{complaint}");
}
