//! The examples, as their comments say to run them, and what they print.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use stackwright_programs::picture::Picture;

const HELLO: &str = env!("CARGO_BIN_EXE_hello");
const INSIDE: &str = env!("CARGO_BIN_EXE_inside");
const CHAT: &str = env!("CARGO_BIN_EXE_chat");
const TELEMETRY: &str = env!("CARGO_BIN_EXE_telemetry");
const RELAY: &str = env!("CARGO_BIN_EXE_relay");
const ISO_IMAGE: &str = env!("CARGO_BIN_EXE_iso-image");
const LOOKUP: &str = env!("CARGO_BIN_EXE_lookup");
const MY_JUDGE: &str = env!("CARGO_BIN_EXE_my-judge");
const TAILORED: &str = env!("CARGO_BIN_EXE_tailored");
const JIS_CLIENTS: [&str; 3] = [
    env!("CARGO_BIN_EXE_jis-tailored"),
    env!("CARGO_BIN_EXE_jis-by-hand"),
    env!("CARGO_BIN_EXE_jis-by-hand-layer"),
];
const JIS_SERVER: &str = env!("CARGO_BIN_EXE_jis-server");
const JIS_TCP: [&str; 2] = [env!("CARGO_BIN_EXE_jis-tcp-server"), env!("CARGO_BIN_EXE_jis-tcp")];
const JIS_SMOLTCP: &str = env!("CARGO_BIN_EXE_jis-smoltcp");
const ANYWHERE: &str = "127.0.0.1:0";

/// A program, ended when dropped.
struct Running {
    process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(program: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new(program);
        let mut process = command
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("an example that was built");
        let output = process.stdout.take().expect("it is piped");
        Running { process, lines: BufReader::new(output).lines() }
    }

    /// One that says where it is in its first line.
    fn serving(program: &str, arguments: &[&str]) -> (Self, String) {
        let mut running = Self::start(program, arguments);
        let line = running.line();
        let place = line.rsplit(' ').next().expect("a word").to_string();
        (running, place)
    }

    fn line(&mut self) -> String {
        self.lines.next().expect("a line more").expect("text")
    }

    fn type_in(&mut self, line: &str) {
        writeln!(self.process.stdin.as_ref().expect("it is open"), "{line}").expect("it reads");
    }

    /// Its input is over; it ends well.
    fn finish(mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().expect("it ends").success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The number before `what` in a line that begins with both.
fn counted(line: &str, what: &str) -> u32 {
    let number = line.split_once(' ').filter(|(_, rest)| rest.starts_with(what));
    number.and_then(|(number, _)| number.parse().ok()).unwrap_or_else(|| panic!("{line}"))
}

#[test]
fn inside_carries_a_stream_over_a_wire_that_loses_packets() {
    for seed in ["1", "2", "3", "4", "5"] {
        let mut inside = Running::start(INSIDE, &[seed]);
        assert_eq!(inside.line(), "1080000 octets over a lossy wire: whole", "seed {seed}");
        inside.finish();
    }
}

#[test]
fn the_first_example_of_the_readme_is_a_program_and_runs() {
    let readme = include_str!("../../README.md");
    let section = readme.split("## Use it as a library").nth(1).expect("there is such a section");
    let shown = section
        .split("```rust\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("an example");
    let (_title, program) =
        include_str!("../src/bin/hello.rs").split_once("\n\n").expect("a title");
    assert_eq!(shown, program);
    assert!(shown.lines().count() < 20, "{}", shown.lines().count());
    let mut hello = Running::start(HELLO, &[]);
    assert_eq!(hello.line(), "hello");
    hello.finish();
}

#[test]
fn everybody_in_a_chat_hears_what_one_says() {
    let (_server, place) = Running::serving(CHAT, &["serve", ANYWHERE]);
    let mut anna = Running::start(CHAT, &[&place, "anna"]);
    assert_eq!(anna.line(), "anna is here");
    let mut bert = Running::start(CHAT, &[&place, "bert"]);
    assert_eq!([anna.line(), bert.line()], ["bert is here", "bert is here"]);
    anna.type_in("hello");
    assert_eq!([anna.line(), bert.line()], ["anna: hello", "anna: hello"]);
    anna.finish();
    bert.type_in("alone");
    assert_eq!(bert.line(), "bert: alone");
    bert.finish();
}

#[test]
fn late_readings_are_dropped_and_nothing_piles_up() {
    let (mut listener, place) = Running::serving(TELEMETRY, &["listen", ANYWHERE]);
    let mut sender = Running::start(TELEMETRY, &["send", &place, "500"]);
    let sent = counted(&sender.line(), "readings sent");
    let heard = counted(&listener.line(), "readings heard");
    assert!((1..500).contains(&heard) && (heard..=500).contains(&sent), "{heard} of {sent}");
    sender.finish();
    listener.finish();
}

/// Of a listener who answers nothing for a while it is known that a reading would come too late: it
/// is refused, and the sender goes on.
#[test]
fn a_sender_outlasts_a_listener_who_stands_still() {
    let (listener, place) = Running::serving(TELEMETRY, &["listen", ANYWHERE]);
    let mut sender = Running::start(TELEMETRY, &["send", &place, "1000"]);
    let signal = |name: &str| {
        let sent = Command::new("kill").args([name, &listener.process.id().to_string()]).status();
        assert!(sent.expect("kill is everywhere").success());
    };
    thread::sleep(Duration::from_millis(200));
    signal("-STOP");
    thread::sleep(Duration::from_millis(500));
    signal("-CONT");
    assert!((1..1000).contains(&counted(&sender.line(), "readings sent")));
    sender.finish();
}

#[test]
fn a_relay_leads_onward_and_speaks_up() {
    let (_server, place) = Running::serving(CHAT, &["serve", ANYWHERE]);
    let (mut relay, at) = Running::serving(RELAY, &[ANYWHERE, &place]);
    let mut anna = Running::start(CHAT, &[&at, "anna"]);
    assert_eq!(anna.line(), "ANNA IS HERE");
    anna.type_in("hello");
    assert_eq!(anna.line(), "ANNA: HELLO");
    anna.finish();
    assert!(relay.line().ends_with(&format!("is led to {place}")));
    assert!(relay.line().ends_with("2 datagrams onward, 2 back"));
}

/// All in simulated time: 20 s of a wide path, of a narrow one, and of the wide one again.
#[test]
fn the_quality_of_pictures_falls_and_rises_with_the_path() {
    let output = Command::new(ISO_IMAGE).args(["2000", "400", "2000"]).output();
    let table = String::from_utf8(output.expect("an example that was built").stdout).expect("text");
    let numbers = |row: &str| row.split_whitespace().map_while(|word| word.parse().ok()).collect();
    let rows: Vec<Vec<f64>> = table.lines().skip(2).map(numbers).collect();
    assert!(rows.len() == 30 && rows.iter().all(|row| row.len() == 6), "{table}");
    // The last ten seconds of each part: what it has settled to.
    let settled = |part: usize, column: usize| {
        let rows = &rows[10 * part + 5..10 * part + 10];
        rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64
    };
    let of = |column| [0, 1, 2].map(|part| settled(part, column));
    let [path, pace, pixels, quality, delay] = [1, 2, 3, 4, 5].map(of);
    assert_eq!(path, [2000.0, 400.0, 2000.0]);
    assert!((0.7..1.2).contains(&(pace[1] / path[1])), "it takes what the path takes: {table}");
    for wide in [0, 2] {
        assert!(pixels[wide] > 2.0 * pixels[1], "{table}");
        assert!(quality[wide] > 20.0 + quality[1] && quality[1] > 20.0, "{table}");
    }
    assert!(delay.iter().all(|delay| *delay < 400.0), "they come before they are shown: {table}");
    let help = Command::new(ISO_IMAGE).arg("--help").output().expect("an example that was built");
    assert!(help.status.success() && help.stdout.starts_with(b"Sends pictures"), "{help:?}");
}

#[test]
fn a_judge_of_ones_own_is_put_beside_the_others_as_its_page_says() {
    let page = include_str!("../../docs/a-judge-of-ones-own.md");
    let program = include_str!("../src/bin/my-judge.rs");
    let shown: Vec<_> = page.split("```rust\n").skip(1).take(2).collect();
    for block in shown {
        let block = block.split("```").next().expect("it ends");
        assert!(program.contains(block), "{block}");
    }
    let out = std::env::temp_dir().join(format!("my-judge-{}.html", std::process::id()));
    let mut command = Command::new(MY_JUDGE);
    command.args(["--quick", "--only", "1 Mb/s", "--out"]).arg(&out);
    let output = command.output().expect("an example that was built");
    let table = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{table}");
    for told in ["mine", "new-reno", "cubic", "bbr", "1 Mb/s, 100 ms, queue 1", "1 of 1 meet"] {
        assert!(table.contains(told), "{told}: {table}");
    }
    let curves = std::fs::read_to_string(&out).expect("it was written");
    std::fs::remove_file(&out).expect("it is there");
    // The frame is drawn of lines, and each of four judges has a curve in two charts.
    assert!(curves.matches("<polyline").count() >= 8, "{curves}");
}

#[test]
fn messages_cross_a_tailored_transport_between_two_processes() {
    let (_server, place) = Running::serving(TAILORED, &["serve", ANYWHERE]);
    let mut caller = Running::start(TAILORED, &["call", &place]);
    assert_eq!(caller.line(), "1000000 octets arrived");
    caller.finish();
}

#[test]
fn a_picture_is_fetched_by_generated_clients_and_by_hand() {
    let file = Picture { columns: 40, rows: 30, coefficients: 30 }.file(1);
    let path = std::env::temp_dir().join(format!("jis-{}.jpg", std::process::id()));
    std::fs::write(&path, &file).expect("a place for temporary files");
    let name = path.to_str().expect("its name is text");
    let fetch = |client: &str, place: &str| {
        let output = Command::new(client).args([place, "any", "2", "639"]).output();
        let output = output.expect("an example that was built");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{client}: {complaints}");
        let octets = said.split(' ').next().map(str::parse);
        assert_eq!(octets, Some(Ok(2 * file.len())), "{client}: {said}");
    };
    let (_server, place) = Running::serving(JIS_SERVER, &[ANYWHERE, name]);
    JIS_CLIENTS.into_iter().for_each(|client| fetch(client, &place));
    let (_server, place) = Running::serving(JIS_TCP[0], &[ANYWHERE, name]);
    fetch(JIS_TCP[1], &place);
    std::fs::remove_file(&path).expect("it is there");
}

/// A network namespace of one TUN device, gone when this is dropped.
struct TunNamespace(String);

impl TunNamespace {
    /// `None` where there can be none; says why.
    fn up() -> Option<Self> {
        let namespace = TunNamespace(format!("smoltcp-{}", std::process::id()));
        let name = &namespace.0;
        for line in [
            format!("netns add {name}"),
            format!("-n {name} tuntap add dev tun0 mode tun"),
            format!("-n {name} address add 10.77.0.1/24 dev tun0"),
            format!("-n {name} link set tun0 up"),
        ] {
            let why = match Command::new("ip").args(line.split(' ')).output() {
                Ok(output) if output.status.success() => continue,
                Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                Err(why) => why.to_string(),
            };
            eprintln!("skipped: `ip {line}`: {why}");
            return None;
        }
        Some(namespace)
    }

    /// The arguments of `ip` that run a program here.
    fn arguments<'a>(&'a self, program: &[&'a str]) -> Vec<&'a str> {
        [&["netns", "exec", &self.0], program].concat()
    }
}

impl Drop for TunNamespace {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).output();
    }
}

/// smoltcp's TCP, on a TUN device, with the kernel's.
#[test]
fn a_picture_is_fetched_by_a_tcp_at_user_level() {
    let Some(namespace) = TunNamespace::up() else { return };
    let file = Picture { columns: 100, rows: 80, coefficients: 50 }.file(1);
    let path = std::env::temp_dir().join(format!("jis-smoltcp-{}.jpg", std::process::id()));
    std::fs::write(&path, &file).expect("a place for temporary files");
    let name = path.to_str().expect("its name is text");
    let serve = [JIS_TCP[0], "10.77.0.1:0", name];
    let (_server, place) = Running::serving("ip", &namespace.arguments(&serve));
    let fetch = ["env", "TUN=tun0", "ADDRESS=10.77.0.2/24", JIS_SMOLTCP, &place, "any", "3"];
    let output = Command::new("ip").args(namespace.arguments(&fetch)).output();
    let output = output.expect("it is there");
    let (said, complaints) = (output.stdout, String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{complaints}");
    let said = String::from_utf8_lossy(&said);
    let octets = said.split(' ').next().map(str::parse);
    assert_eq!(octets, Some(Ok(3 * file.len())), "{said}");
    std::fs::remove_file(&path).expect("it is there");
}

/// The modules of policies whose functions are in a program.
fn policies_in(program: &str) -> Vec<&'static str> {
    const MODULES: &[&str] = &[
        "recovery/selective_repeat",
        "recovery/rack_tlp",
        "recovery/go_back_n",
        "recovery/individual_timeout",
        "congestion/cubic",
        "congestion/bbr",
        "congestion/aimd",
        "congestion/new_reno",
        "congestion/probing",
        "connection/implicit",
        "connection/two_stage",
        "connection/handshake",
        "connection/unanswered",
        "acknowledgement/ack_ranges",
        "acknowledgement/periodic_list",
        "acknowledgement/on_request",
        "inquiry/tail_probe",
        "inquiry/window_end",
        "inquiry/polls",
        "integrity/internet",
        "integrity/crc32c",
        "ordering/total",
        "ordering/sequenced",
        "lifetime/timestamps",
        "profile/select",
    ];
    // Symbols give each word its length: `20stackwright_policies8recovery16selective_repeat`.
    const CRATE: &[u8] = b"20stackwright_policies";
    let octets = std::fs::read(program).expect("a program that was built");
    let starts = (0..octets.len()).filter(|at| octets[*at..].starts_with(CRATE));
    let symbols: Vec<&[u8]> = starts.map(|at| &octets[at + CRATE.len()..]).collect();
    let has = |module: &&&str| {
        let words: Vec<&str> = module.split('/').collect();
        let name: String = words.iter().map(|word| format!("{}{word}", word.len())).collect();
        symbols.iter().any(|symbol| symbol.starts_with(name.as_bytes()))
    };
    MODULES.iter().filter(has).copied().collect()
}

#[test]
fn a_tailored_program_has_the_policies_that_it_names_and_no_other() {
    let named = [
        "recovery/selective_repeat",
        "congestion/bbr",
        "connection/implicit",
        "acknowledgement/ack_ranges",
        "inquiry/tail_probe",
    ];
    assert_eq!(policies_in(TAILORED), named);
    assert_eq!(policies_in(JIS_CLIENTS[0]), named, "a protocol of a specification");
}

#[test]
fn two_processes_speak_the_protocol_of_the_page() {
    let page = include_str!("../../docs/your-protocol-in-thirty-lines.md");
    let program = include_str!("../src/bin/lookup/main.rs").split_once("\n\n").expect("a title");
    assert!(page.contains(program.1), "the page has another program");
    assert!(page.contains(include_str!("../src/bin/lookup/lookup.protocol")), "another text");
    let (_server, place) = Running::serving(LOOKUP, &["serve", ANYWHERE]);
    for (name, says) in [("printer", "printer is 10.0.0.1"), ("fax", "fax is 0.0.0.0")] {
        let mut client = Running::start(LOOKUP, &["ask", &place, name]);
        assert_eq!(client.line(), says);
        client.finish();
    }
}
