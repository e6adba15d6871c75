//! `perf` to a group: a sender and three receivers, each a process in a network namespace of its
//! own (as root), or all on one host.

use std::io::{BufRead, BufReader};
use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::group_talk::Talker;

const PROGRAM: &str = env!("CARGO_BIN_EXE_stackwright");
const RECEIVERS: usize = 3;

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().expect("iproute2 is installed");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn may(arguments: &[&str]) -> bool {
    let mut quiet = Command::new("ip");
    quiet.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Network namespaces on one switch; the last is the switch.
struct Switch {
    names: Vec<String>,
}

impl Switch {
    /// Puts it up; `None` where that is not permitted.
    fn new() -> Option<Self> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = |nth| format!("stackwright-group-{}-{number}-{nth}", std::process::id());
        let names: Vec<_> = (0..=RECEIVERS + 1).map(name).collect();
        if !may(&["netns", "add", &names[0]]) {
            eprintln!("skipped: this user may not make network namespaces");
            return None;
        }
        let all = Switch { names };
        all.names[1..].iter().for_each(|name| ip(&["netns", "add", name]));
        let switch = all.names.last().expect("there are some");
        // A switch that tracks members does not know those that have just joined.
        ip(&["-n", switch, "link", "add", "switch", "type", "bridge", "mcast_snooping", "0"]);
        ip(&["-n", switch, "link", "set", "switch", "up"]);
        for (nth, name) in all.names[..=RECEIVERS].iter().enumerate() {
            let (port, address) = (format!("port{nth}"), format!("10.99.0.{}/24", nth + 1));
            let near = ["link", "add", "name", "wire", "netns", name, "type", "veth"];
            ip(&[&near[..], &["peer", "name", &port, "netns", switch]].concat());
            ip(&["-n", switch, "link", "set", &port, "master", "switch", "up"]);
            ip(&["-n", name, "address", "add", &address, "dev", "wire"]);
            let address = format!("fd00:99::{}/64", nth + 1);
            ip(&["-n", name, "address", "add", &address, "dev", "wire", "nodad"]);
            ip(&["-n", name, "link", "set", "wire", "up"]);
            ip(&["-n", name, "route", "add", "default", "dev", "wire"]);
        }
        Some(all)
    }

    /// Returns the program on a host: the first sends.
    fn host(&self, nth: usize) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[nth], PROGRAM]);
        command
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.names.iter().for_each(|name| {
            may(&["netns", "del", name]);
        });
    }
}

/// `perf serve`, and what it says.
struct Receiver {
    process: Child,
    said: BufReader<std::process::ChildStdout>,
}

impl Receiver {
    fn start(mut command: Command, url: &str) -> Self {
        command.args(["perf", "serve", url, "--json"]).stdout(Stdio::piped());
        let mut process = command.spawn().expect("it starts");
        let said = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut receiver = Receiver { process, said };
        assert_eq!(receiver.says()["event"], "serving");
        receiver
    }

    fn says(&mut self) -> Value {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("it says something");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn sends(mut command: Command, url: &str, arguments: &[&str]) -> Value {
    let output = command.args(["perf", "run", url, "--json"]).args(arguments).output();
    let output = output.expect("it runs");
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaints}");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {complaints}"))
}

const ALL: &str = "4MB";
const OCTETS: u64 = 4_000_000;

/// Sends to all receivers, and looks at what each side says of it.
fn all_have_all(url: &str, host: impl Fn(usize) -> Command) {
    let mut receivers: Vec<_> =
        (1..=RECEIVERS).map(|nth| Receiver::start(host(nth), url)).collect();
    let sent = sends(host(0), url, &["--octets", ALL, "--members", "3"]);
    assert_eq!((&sent["octets"], &sent["receivers"]), (&OCTETS.into(), &3.into()), "{sent}");
    assert_eq!(sent["receivers_dropped"], 0, "{sent}");
    for receiver in &mut receivers {
        let told = receiver.says();
        assert_eq!((&told["event"], &told["octets"]), (&"measured".into(), &OCTETS.into()));
    }
}

#[test]
fn three_hosts_receive_what_one_sends() {
    let Some(switch) = Switch::new() else { return };
    all_have_all("xtp://239.77.1.1", |nth| switch.host(nth));
    // The device is the second of each host.
    all_have_all("xtp://[ff12::77:1%252]", |nth| switch.host(nth));
}

#[test]
fn three_hosts_receive_what_one_sends_without_udp() {
    let Some(switch) = Switch::new() else { return };
    for url in ["xtp+ip://239.77.1.1", "xtp+ip://[ff15::77:1]"] {
        all_have_all(url, |nth| switch.host(nth));
    }
}

/// A receiver that comes in the midst has not all, and says so; one that is missing is said to be.
#[test]
fn late_and_missing_receivers_are_told() {
    let Some(switch) = Switch::new() else { return };
    let url = "xtp://239.77.1.1";
    let mut first = Receiver::start(switch.host(1), url);
    let sender = switch.host(0);
    let sending = thread::spawn(move || sends(sender, url, &["--time", "4s"]));
    thread::sleep(Duration::from_secs(2));
    let mut late = Receiver::start(switch.host(2), url);
    let sent = sending.join().expect("it sends");
    assert_eq!((&sent["receivers"], &sent["receivers_late"]), (&2.into(), &1.into()), "{sent}");
    let [first, late] = [&mut first, &mut late].map(Receiver::says);
    assert_eq!((&first["messages"], &first["octets"]), (&first["sent"], &sent["octets"]));
    let [messages, all] = ["messages", "sent"].map(|name| late[name].as_u64().expect("a number"));
    assert!((1..all).contains(&messages), "{late}");
    assert_eq!(first["sent"], all);

    let mut command = switch.host(0);
    command.args(["perf", "run", url, "--octets", "100kB", "--members", "3"]);
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("2 of 3 receivers"), "{said}");
}

#[test]
fn a_host_that_is_gone_costs_the_others_seconds() {
    let Some(switch) = Switch::new() else { return };
    for url in ["xtp://239.77.1.1", "xtp+ip://239.77.1.1"] {
        let mut receivers: Vec<_> =
            (1..=RECEIVERS).map(|nth| Receiver::start(switch.host(nth), url)).collect();
        let sender = switch.host(0);
        let sending =
            thread::spawn(move || sends(sender, url, &["--time", "4s", "--members", "3"]));
        thread::sleep(Duration::from_secs(2));
        drop(receivers.remove(1));
        let sent = sending.join().expect("it sends");
        let counts = (&sent["receivers"], &sent["receivers_dropped"]);
        assert_eq!(counts, (&2.into(), &1.into()), "{sent}");
        for receiver in &mut receivers {
            assert_eq!(receiver.says()["octets"], sent["octets"]);
        }
    }
}

/// A group on this host only, where the system has a route for it.
#[test]
fn three_processes_of_one_host_receive_what_one_sends() {
    let probe = UdpSocket::bind("0.0.0.0:0").expect("a port");
    let port = probe.local_addr().expect("an address").port();
    let group = std::net::Ipv4Addr::new(239, 77, 1, 1);
    let joins = probe.join_multicast_v4(&group, &std::net::Ipv4Addr::UNSPECIFIED);
    if joins.is_err() || probe.send_to(b"?", (group, port)).is_err() {
        eprintln!("skipped: this host has no route for multicast");
        return;
    }
    drop(probe);
    all_have_all(&format!("xtp://239.77.1.1:{port}"), |_| Command::new(PROGRAM));
}

/// A network that carries multicast to some of them only, from some time on.
#[test]
fn members_that_multicast_does_not_reach_any_more_stay() {
    let Some(switch) = Switch::new() else { return };
    let all = [1, 2, 3].map(|nth| format!("10.99.0.{nth}:4370"));
    let mut talkers = [0, 1, 2].map(|nth| {
        let mut program = switch.host(nth);
        program.args(["group", "talk", "--json", "--multicast", "--detect", "2s"]);
        program.args(["--at", &all[nth]]);
        Talker::run(program)
    });
    talkers.iter().for_each(|one| one.sees(&all.each_ref()));
    let bridge = switch.names.last().expect("there are some");
    for (nth, floods) in [(2, "off"), (1, "off"), (0, "off"), (2, "on")] {
        let port = format!("port{nth}");
        let what = ["type", "bridge_slave", "mcast_flood", floods];
        ip(&[&["-n", bridge, "link", "set", &port][..], &what].concat());
        // Longer than the silence for which a member is excluded.
        for line in 0..60 {
            thread::sleep(Duration::from_millis(50));
            let said = format!("port {nth} {floods}, line {line}");
            talkers[line % 3].say(&said);
            for one in &talkers {
                one.hears("the line", |heard| {
                    let view = heard["members"].as_array();
                    assert!(view.is_none_or(|view| view.len() == 3), "all stay: {heard}");
                    heard["line"] == said
                });
            }
        }
    }
}

#[test]
fn members_find_each_other_by_ipv6() {
    let Some(switch) = Switch::new() else { return };
    // Of the link, and of a site.
    for group in ["[ff12::77:3%2]:4370", "[ff15::77:3%2]:4370"] {
        let all = [1, 2, 3].map(|nth| format!("[fd00:99::{nth}]:4370"));
        let talkers = [0, 1, 2].map(|nth| {
            let mut program = switch.host(nth);
            program.args(["group", "talk", "--json", "--multicast", "--group", group]);
            program.args(["--detect", "10s", "--at", &all[nth]]);
            Talker::run(program)
        });
        talkers.iter().for_each(|one| one.sees(&all.each_ref()));
    }
}
