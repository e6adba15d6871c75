//! Scenarios by the program: those that come with it, bad ones, and what a run leaves in files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use stackwright_programs::processes::{Outcome, Running, eventually, find, run};
use stackwright_programs::scratch::Scratch;

const SHORT: &str = "time = \"60 s\"\n[[links]]\nbetween = [\"here\", \"there\"]\nprofile = \"lan-1g\"\nloss = 0.1\n\
    [[flows]]\nfrom = \"here\"\nto = \"there\"\ntransport = { stop-and-wait = { patience = \"20 ms\" } }\n\
    workload = { messages = { count = 20, message = \"64 B\" } }\n";

fn lab(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.args(words);
    command
}

fn ours() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_str(&outcome.text()).unwrap_or_else(|why| panic!("{why}: {}", outcome.text()))
}

#[test]
fn each_scenario_that_comes_with_it_runs() {
    let mut seen = 0;
    for entry in fs::read_dir(ours()).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !name.ends_with(".toml") || name.ends_with(".stack.toml") {
            continue;
        }
        // Less of it, in a build without optimisation.
        let mut command = lab(&["run", "--json"]);
        command.arg(&path);
        if fs::read_to_string(&path).expect("it can be read").contains("bulk") {
            command.args(["--set", "flows.0.workload.bulk.octets=2 MB"]);
        }
        let result = json(&run(&mut command).succeeded());
        assert_eq!(
            (&result["ended"], &result["broken"]),
            (&Value::Bool(true), &Value::Null),
            "{name}: {result}"
        );
        seen += 1;
    }
    assert!(seen >= 6, "{seen} scenarios");
}

/// The same description as a static stack and as a graph: one trace.
#[test]
fn a_graph_runs_as_the_static_stack_does() {
    let trace = |name: &str| {
        let mut command = lab(&["run", "--json", "--seed", "5"]);
        json(&run(command.arg(ours().join(name))).succeeded())["trace"].clone()
    };
    assert_eq!(trace("short.toml"), trace("graph.toml"));
}

#[test]
fn a_run_can_be_kept() {
    let folder = Scratch::new();
    let scenario = folder.join("short.toml");
    fs::write(&scenario, SHORT).expect("room for it");
    let [trace, packets, out] =
        ["trace.jsonl", "packets.pcapng", "out.json"].map(|name| folder.join(name));
    let mut command = lab(&["run"]);
    command
        .arg(&scenario)
        .arg("--trace")
        .arg(&trace)
        .arg("--packets")
        .arg(&packets)
        .arg("--out")
        .arg(&out);
    run(&mut command).succeeded();
    let lines = fs::read_to_string(&trace).expect("a trace");
    assert!(lines.lines().count() > 40);
    for line in lines.lines() {
        let line: Value = serde_json::from_str(line).expect("an object a line");
        assert!(line["time_ns"].is_u64() && line["what"].is_string());
    }
    let packets = fs::read(&packets).expect("a capture");
    // The magic of a section header block, which is the same in both orders.
    assert_eq!(packets[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    let result: Value =
        serde_json::from_str(&fs::read_to_string(&out).expect("a result")).expect("one object");
    assert_eq!((&result["complete"], &result["flows"][0]["delivered"]), (&true.into(), &20.into()));
    let left: Vec<_> = fs::read_dir(folder.path()).expect("it is there").collect();
    assert_eq!(left.len(), 4, "nothing half-written is left: {left:?}");
}

/// Wireshark finds nothing odd in what a station sees of a wire on which nothing goes wrong.
#[test]
fn a_capture_is_what_one_station_sees() {
    let Some(tshark) = find("tshark") else { return println!("skipped: tshark is not installed") };
    let folder = Scratch::new();
    let (scenario, packets) = (folder.join("short.toml"), folder.join("packets.pcapng"));
    fs::write(&scenario, SHORT).expect("room for it");
    let look = |filter: &str| {
        let mut command = Command::new(&tshark);
        command.arg("-r").arg(&packets).args(["-Y", filter, "-o", "udp.check_checksum:TRUE"]);
        run(command.args(["-o", "tcp.check_checksum:TRUE"])).succeeded().text()
    };
    for (transport, messages) in [("\"tcp\"", "tcp.len > 0"), ("\"udp\"", "udp.length > 8")] {
        for at in ["here", "there"] {
            let mut command = lab(&["run", "--set", "links.0.loss=0.0", "--at", at, "--set"]);
            command
                .arg(format!("flows.0.transport={transport}"))
                .arg(&scenario)
                .arg("--packets")
                .arg(&packets);
            run(&mut command).succeeded();
            assert!(look(messages).lines().count() > 0, "{transport} at {at}");
            let odd = "_ws.malformed or tcp.analysis.retransmission or tcp.analysis.ack_lost_segment or \
                       tcp.analysis.lost_segment or tcp.checksum.status == 0 or udp.checksum.status == 0";
            assert_eq!(look(odd), "", "{transport} at {at}");
        }
    }
    run(lab(&["run", "--at", "moon", "--packets"]).arg(&packets).arg(&scenario)).exited(2);
}

/// The keys of a link are those of which an error tells, and each has its line in the document.
#[test]
fn the_documentation_has_every_key_of_a_link() {
    let folder = Scratch::new();
    let scenario = folder.join("bad.toml");
    fs::write(&scenario, SHORT.replacen("loss", "no-such-key", 1)).expect("room for it");
    let outcome = run(lab(&["run"]).arg(&scenario)).exited(2);
    let complaints = String::from_utf8_lossy(&outcome.complaints).into_owned();
    let known = complaints.split_once("expected one of ").expect("it says which there are").1;
    let known = known.lines().next().unwrap_or_default();
    let keys: Vec<_> = known.split(", ").collect();
    assert!(keys.len() > 15, "{complaints}");
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let document = fs::read_to_string(document).expect("it is there");
    for key in keys.into_iter().filter(|key| !["`forward`", "`back`"].contains(key)) {
        assert!(document.contains(&format!("| {key} | ")), "{key}");
    }
}

/// What was not delivered fails the command, with a code of its own; a result that is written to a
/// file says it instead.
#[test]
fn what_does_not_arrive_fails_the_command() {
    let folder = Scratch::new();
    let (scenario, out) = (folder.join("short.toml"), folder.join("out.json"));
    fs::write(&scenario, SHORT).expect("room for it");
    let short = ["run", "--set", "links.0.mtu=50"];
    let outcome = run(lab(&short).arg(&scenario)).exited(3);
    let complaints = String::from_utf8_lossy(&outcome.complaints).into_owned();
    assert!(
        complaints.contains("here > there over stop-and-wait: delivered 0 of 20"),
        "{complaints}"
    );
    assert!(outcome.text().contains("longer than its MTU"), "{}", outcome.text());
    run(lab(&short).arg(&scenario).arg("--json")).exited(3);
    let late = ["run", "--set", "time=1 ms"];
    run(lab(&late).arg(&scenario)).exited(3);
    run(lab(&short).arg(&scenario).arg("--out").arg(&out)).succeeded();
    let written = fs::read_to_string(&out).expect("a result");
    let result: Value = serde_json::from_str(&written).expect("one object");
    assert!(result["failed"].as_str().is_some_and(|says| says.contains("0 of 20")), "{result}");
    let udp = ["run", "--set", "flows.0.transport=udp", "--set", "links.0.loss=1.0"];
    run(lab(&udp).arg(&scenario)).succeeded();
}

/// What is wrong is said with its place, and exits with 2.
#[test]
fn bad_scenarios_are_told_from_good_ones() {
    let folder = Scratch::new();
    let scenario = folder.join("bad.toml");
    let replaced = |from: &str, to: &str| SHORT.replacen(from, to, 1);
    for (text, sentence) in [
        (replaced("lan-1g", "lan-1h"), "lan-1g"),
        (
            replaced("to = \"there\"", "to = \"their\""),
            "there is no station `their`; did you mean `there`?",
        ),
        (replaced("loss = 0.1", "loss = 1.1"), "bad.toml:5:8: invalid value"),
        (replaced("loss = 0.1", "lost = 0.1"), "bad.toml:5:1: unknown field `lost`"),
        (
            replaced("loss = 0.1", "outages = { from = \"2 s\", to = \"3 s\" }"),
            "bad.toml:5:11: invalid type: map, expected a list such as [{ from = \"2 s\", to = \"3 s\" }]",
        ),
        (
            replaced("loss = 0.1", "outages = [{ from = \"3 s\", to = \"2 s\" }]"),
            "bad.toml:5:1: `outages` cannot be so",
        ),
        (
            replaced("loss = 0.1", "[links.back]\nprofile = \"geo\""),
            "bad.toml:6:1: `profile` is said of a link",
        ),
        (replaced("between = [\"here\", \"there\"]\n", ""), "missing field `between`"),
        (replaced("\"20 ms\"", "20"), "bad.toml:9:44: invalid type: integer `20`, expected a time"),
        (
            SHORT.replace(
                "{ stop-and-wait = { patience = \"20 ms\" } }",
                "{ artp = { window = 0 } }",
            ),
            "bad.toml:9:33: invalid value: integer `0`",
        ),
        (replaced("stop-and-wait", "stop-and-go"), "stop-and-wait"),
        (replaced("\"64 B\"", "\"6 B\""), "bad.toml:10:12: a message must have 32 to 65000 octets"),
        (replaced("\"64 B\"", "\"64 parsecs\""), "a size such as"),
        (replaced("count = 20", "count = 0"), "no message"),
        (replaced("time = \"60 s\"", "time = 60"), "a time such as"),
        (replaced("time = \"60 s\"", "tide = \"60 s\""), "tide"),
        (
            replaced("[\"here\", \"there\"]", "[\"here\", \"here\"]"),
            "bad.toml:3:1: `between` must name two different stations",
        ),
        (replaced("[\"here\", \"there\"]", "[\"here\", \"moon\"]"), "no station `there`"),
        (
            format!("{SHORT}[[faults]]\nfrom = \"here\"\nto = \"there\"\nnth = 0\nlose = true\n"),
            "counted from 1",
        ),
        (
            format!("{SHORT}[[faults]]\nfrom = \"here\"\nto = \"there\"\nnth = 1\n"),
            "a fault must be one of",
        ),
        (
            SHORT.replace(
                "{ stop-and-wait = { patience = \"20 ms\" } }",
                "{ graph = \"none.toml\" }",
            ),
            "none.toml",
        ),
        ("\u{0}".into(), "bad.toml:1:"),
        (String::new(), "links"),
    ] {
        fs::write(&scenario, &text).expect("room for it");
        let outcome = run(lab(&["run"]).arg(&scenario)).exited(2);
        let complaints = String::from_utf8_lossy(&outcome.complaints);
        assert!(
            complaints.contains(sentence),
            "{sentence:?} is not said of\n{text}\nbut\n{complaints}"
        );
    }
    run(lab(&["run"]).arg(folder.join("nobody.toml"))).exited(1);
    fs::write(&scenario, SHORT).expect("room for it");
    run(lab(&["run", "--set", "links.7.loss=0"]).arg(&scenario)).exited(2);
    run(lab(&["run", "--set", "links.0.loss=2"]).arg(&scenario)).exited(2);
    fs::write(
        &scenario,
        format!("{SHORT}[[faults]]\nfrom = \"here\"\nto = \"there\"\nnth = 1\nlose = true\n"),
    )
    .expect("room for it");
    run(lab(&["search"]).arg(&scenario)).exited(2);
    fs::write(&scenario, SHORT).expect("room for it");
    run(lab(&["run", "--real", "--set", "links.0.profile=packet-radio-1200"]).arg(&scenario))
        .exited(2);
}

/// A folder that is full, as the kernel's own full device says it.
#[test]
fn a_result_that_cannot_be_written_is_said() {
    let folder = Scratch::new();
    let scenario = folder.join("short.toml");
    fs::write(&scenario, SHORT).expect("room for it");
    let outcome =
        run(lab(&["run", "--out"]).arg(folder.join("no/such/out.json")).arg(&scenario)).exited(1);
    assert!(String::from_utf8_lossy(&outcome.complaints).contains("create the folder first"));
    let outcome = run(lab(&["run", "--out", "/dev/full/out.json"]).arg(&scenario)).exited(1);
    assert!(String::from_utf8_lossy(&outcome.complaints).contains("/dev/full/out.json"));
}

#[test]
fn a_search_ends_with_ctrl_c() {
    let folder = Scratch::new();
    let scenario = folder.join("short.toml");
    fs::write(&scenario, SHORT).expect("room for it");
    let mut command = lab(&["search", "--seeds", "1000000000"]);
    command.arg(&scenario).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut search = Running::start(&mut command);
    // It has to be at work: before, the signal would end it as any program.
    assert!(eventually(Duration::from_secs(30), || search.status("Threads") > 1));
    let kill = format!("kill -INT {}", search.number());
    Command::new("sh").args(["-c", &kill]).status().expect("a shell");
    assert!(eventually(Duration::from_secs(30), || !search.alive()), "it ends");
}

/// In a build without optimisation, little of it.
#[test]
fn a_transfer_arrives_as_it_was_sent() {
    for words in [
        &["transfer", "--octets", "3 MB", "--json"][..],
        &[
            "transfer",
            "--octets",
            "3 MB",
            "--datagram",
            "3 MB",
            "--packet",
            "1472",
            "--version-one",
            "--json",
        ],
    ] {
        let result = json(&run(&mut lab(words)).succeeded());
        let [sender, receiver] = ["sender", "receiver"].map(|who| &result["outcome"][who]);
        assert_eq!(
            (&receiver["octets"], &receiver["doubled"]),
            (&3_000_000.into(), &0.into()),
            "{result}"
        );
        assert_eq!(sender["sum"], receiver["sum"]);
    }
    let scratch = Scratch::new();
    let file = scratch.path().join("it");
    let mut command = lab(&["transfer", "--octets", "1 MB", "--datagram", "100 kB", "--into"]);
    assert!(run(command.arg(&file)).succeeded().text().contains("writing to the file"));
    assert_eq!(fs::metadata(&file).expect("it was written").len(), 1_000_000);
    let refused = run(&mut lab(&["transfer", "--packet", "100"]));
    refused.exited(2);
}
