//! `group perf`: three processes that cast to each other.

use std::net::UdpSocket;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_stackwright");
const MEMBERS: usize = 3;

/// Runs a member at each of three addresses, and returns what each says.
fn measured(arguments: &[&str]) -> Vec<Value> {
    let bind = |_| UdpSocket::bind("127.0.0.1:0").expect("a port");
    let sockets: Vec<_> = (0..MEMBERS).map(bind).collect();
    let address = |one: &UdpSocket| one.local_addr().expect("bound").to_string();
    let all: Vec<_> = sockets.iter().map(address).collect();
    drop(sockets);
    let start = |nth: usize| {
        let mut program = Command::new(PROGRAM);
        program.args(["group", "perf", "--json", "--detect", "10s", "--at", &all[nth]]);
        program.args(["--with", &all.join(",")]).args(arguments).stdout(Stdio::piped());
        if nth > 0 {
            program.arg("--join");
        }
        program.spawn().expect("it starts")
    };
    let says = |member: Child| {
        let output = member.wait_with_output().expect("it ends");
        assert!(output.status.success());
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    let members: Vec<_> = (0..MEMBERS).map(start).collect();
    members.into_iter().map(says).collect()
}

#[test]
fn all_members_deliver_what_all_cast() {
    for (arguments, casts, size) in [
        (["--order", "fifo", "--size", "1000"], 300, 1000),
        (["--order", "causal", "--size", "100"], 3000, 100),
        // Longer than a packet.
        (["--order", "total", "--size", "10000"], 30, 10_000),
    ] {
        for said in measured(&[&arguments[..], &["--octets", "100kB"]].concat()) {
            assert_eq!((&said["order"], &said["members"]), (&arguments[1].into(), &3.into()));
            assert_eq!((&said["sent"], &said["lost"]), (&(casts / 3).into(), &0.into()), "{said}");
            let delivered = (&said["casts"], &said["octets"]);
            assert_eq!(delivered, (&casts.into(), &(casts * size).into()), "{said}");
            assert_eq!(said["latencies_us"], Value::Null);
        }
    }
}

/// In total order its own cast comes back; else the next member answers.
#[test]
fn one_cast_in_flight_has_a_latency() {
    for (order, each) in [("total", 1), ("fifo", 2)] {
        let all = measured(&["--order", order, "--requests", "--octets", "64kB"]);
        assert!(all.iter().all(|said| said["casts"] == each * 1000), "{all:?}");
        let has_latency = |said: &&Value| said["latencies_us"]["p50"].as_f64() > Some(0.0);
        assert_eq!(all.iter().filter(has_latency).count(), 1, "{all:?}");
    }
}
