//! Programs without rights, beside a server that has them. Only root can try both.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use stackwright_programs::processes::{Running, eventually, run};
use stackwright_programs::scratch::Scratch;

use crate::over_udp::{complaints, json, path};

const HOST_FILE: &str = r#"
stack = ["artp", "xtp+ip"]

[[allow]]
user = "65534"
listen = ["0", "4330-4331"]
connect = ["127.0.0.0/8"]

[[grant]]
user = "65534"
open = ["tcp 990", "udp 990", "udp 991", "ip 36"]
"#;

/// The program, as a user without rights.
fn unprivileged(user: u32) -> Command {
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={user}")).arg(format!("--regid={user}"));
    command.args(["--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]);
    command.arg(env!("CARGO_BIN_EXE_stackwright"));
    command
}

/// Starts what reports events, and returns the first of them.
fn start(command: &mut Command, lines: usize) -> Running {
    command.arg("--json").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running::start(command);
    let mut out = BufReader::new(running.output()).lines();
    for _ in 0..lines {
        let told = json(&out.next().expect("a line").expect("of text"));
        assert_ne!(told["event"], "failed", "{told}");
    }
    thread::spawn(move || out.all(|line| line.is_ok()));
    running
}

/// Another user may use the folder, and the program.
fn can_try(folder: &Scratch) -> bool {
    let opened = fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755));
    let tried = unprivileged(65_534).arg("--version").output();
    opened.is_ok() && tried.is_ok_and(|output| output.status.success())
}

#[test]
fn a_user_without_rights_has_low_ports_and_raw_sockets_by_grants_and_all_else_by_allowances() {
    let folder = Scratch::new();
    if !can_try(&folder) {
        return eprintln!("skipped: only root can be another user");
    }
    let (at, file) = (folder.join("at"), folder.join("host.toml"));
    fs::write(&file, format!("at = {at:?}{HOST_FILE}")).expect("a folder of ours");
    fs::write(folder.join("a"), b"octets").expect("a folder of ours");
    let program = || Command::new(env!("CARGO_BIN_EXE_stackwright"));
    let said = run(program().args(["host", path(&file), "--check"])).succeeded().text();
    assert!(said.contains("stacks: 2, allowances: 1, grants: 1"), "{said}");
    let host = start(program().args(["host", path(&file)]), 3);
    let [granted, server] =
        ["granted", "server"].map(|kind| format!("--placement={kind}={}", path(&at)));

    let files = ["serve", path(folder.path()), "--listen", "127.0.0.1:990"];
    let _files = start(unprivileged(65_534).args(files).arg(&granted), 1);
    let got = run(program().args(["get", "ftp://127.0.0.1:990/a", "-"]));
    assert_eq!(got.succeeded().text(), "octets");
    // Of two hosts on raw sockets, each has an address of its own.
    for (url, here, there) in [
        ("xtp+ip://127.0.0.2", &granted, &server),
        ("xtp+ip://127.0.0.3", &server, &granted),
        ("artp://127.0.0.1:990", &granted, &server),
        ("artp://127.0.0.1:4331", &server, &server),
    ] {
        let _measured = start(unprivileged(65_534).args(["perf", "serve", url, here]), 1);
        let measure = ["perf", "run", url, there, "--octets", "60kB", "--json"];
        let measured = run(unprivileged(65_534).args(measure)).succeeded().text();
        assert_eq!(json(&measured)["octets"], 60_000, "{url} {here} {there}");
    }

    // Another server gives what is granted by the same file.
    let (mut first, file) = (host, path(&file));
    let _second = start(program().args(["host", file, "--replace"]), 4);
    let is_over = eventually(Duration::from_secs(60), || first.ended().is_some());
    assert!(is_over, "nobody has anything of the first");
    let low = ["perf", "serve", "artp://127.0.0.1:991", &granted];
    let _measured = start(unprivileged(65_534).args(low), 1);

    let refused = |user, arguments: &[&str], says: &str| {
        let said = complaints(&run(unprivileged(user).args(arguments)).failed());
        assert!(said.contains(says), "{arguments:?}: {said}");
    };
    let low = ["perf", "serve", "artp://127.0.0.1:992", &granted];
    refused(65_534, &low, "the host file needs open = [\"udp 992\"] in a [[grant]]");
    let low = ["serve", path(folder.path()), "--listen", "127.0.0.1:21", &granted];
    refused(65_534, &low, "the host file needs open = [\"tcp 21\"] in a [[grant]]");
    let other = ["perf", "serve", "artp://127.0.0.1:4332", &server];
    refused(65_534, &other, "the host file needs listen = [\"4332\"]");
    let other = ["perf", "run", "artp://192.0.2.1:4331", &server];
    refused(65_534, &other, "the host file needs connect = [\"192.0.2.1\"]");
    let url = ["perf", "run", "artp://127.0.0.1:4331", &server];
    refused(65_533, &url, "the host file needs [[allow]] with user = \"65533\"");
    let nowhere = format!("--placement=granted={}", path(&folder.join("nowhere")));
    let low = ["perf", "serve", "artp://127.0.0.1:990", &nowhere];
    refused(65_534, &low, "no server opens it at");
    let low = ["perf", "serve", "artp://127.0.0.1:990", &granted];
    refused(65_533, &low, "[[grant]] of user = \"65533\"");
}

#[test]
fn what_is_wrong_with_a_host_file_is_said() {
    let folder = Scratch::new();
    let file = folder.join("host.toml");
    for (text, says) in [
        ("stack = \"artp\"", "missing field `at`"),
        ("at = \"/x\"\nstack = \"artp\"\n[[allow]]\nuser = \"0\"\nlisten = [\"x\"]", "ports are"),
        ("at = \"/x\"\nstack = \"grants\"", "no stack has the name `grants`"),
        ("at = \"/x\"\nstack = \"nothing-there\"", "nothing-there"),
    ] {
        fs::write(&file, text).expect("a folder of ours");
        let mut command = Command::new(env!("CARGO_BIN_EXE_stackwright"));
        let said = complaints(&run(command.args(["host", path(&file), "--check"])).failed());
        assert!(said.contains(says), "{text}: {said}");
    }
}
