//! Programs in C with each other, with an endpoint in Rust, and with `stackwright perf`.

use std::env;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use stackwright_artp as artp;
use stackwright_compose::Over;
use stackwright_endpoint::{Config, Error, System, blocking::Endpoint};
use stackwright_wire::BufferTree;

use crate::{compiled, has, here, prefix, run};

/// A program that ends with its owner; it says where it listens in its first line.
pub(crate) struct Server(Child, pub(crate) String);

impl Server {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it");
        let mut line = String::new();
        let mut said = BufReader::new(child.stdout.take().expect("a pipe"));
        said.read_line(&mut line).expect("a line");
        Server(child, line)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_program_talks_to_another() {
    let (poll, echo) =
        (compiled("examples/poll.c", "poll", &[]), compiled("examples/echo.c", "echo", &[]));
    for scheme in ["artp", "xtp", "tailored", "tcp", "udp"] {
        let server = Server::start(Command::new(&poll).arg(format!("{scheme}://127.0.0.1:0")));
        let address = format!("127.0.0.1:{}", server.1.trim());
        let said = run(Command::new(&echo).args([
            "ask",
            &format!("{scheme}://"),
            &address,
            "hello",
            "there",
        ]));
        assert_eq!(said, "hello\nthere\n", "{scheme}");
    }
}

/// Runs an endpoint in Rust that sends back what comes; returns what its client says.
pub(crate) fn echo_in_rust<T: Send + 'static>(
    client: impl FnOnce(String) -> T + Send + 'static,
) -> T {
    let stack = |system: &System| {
        let config = artp::Config { epoch: system.epoch(), ..artp::Config::new(system.secret()) };
        Over::new(artp::layer::<BufferTree>(config, system.seed()), system.udp())
    };
    let here = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let endpoint = Endpoint::bind(here, Config::default(), stack).expect("an endpoint");
    let address = endpoint.local().expect("it listens").to_string();
    let client = thread::spawn(move || client(address));
    let guest = endpoint.accept().expect("a guest");
    let end = loop {
        match guest.receive() {
            Ok((octets, _)) => guest.send(&octets).expect("it is open"),
            Err(end) => break end,
        }
    };
    assert!(matches!(end, Error::Ended(_)) && end.is_finished(), "{end}");
    drop(guest);
    client.join().expect("it says")
}

#[test]
fn a_program_talks_to_an_endpoint_in_rust() {
    let said = echo_in_rust(|address| {
        let echo = compiled("examples/echo.c", "echo-rust", &[]);
        run(Command::new(echo).args(["ask", "artp://", &address, "one", "two"]))
    });
    assert_eq!(said, "one\ntwo\n");
}

/// Returns the program; with CI=true it has to be there.
pub(crate) fn stackwright() -> Option<PathBuf> {
    let program = env::var_os("STACKWRIGHT").map_or_else(
        || env::current_exe().expect("a file").with_file_name("../stackwright"),
        PathBuf::from,
    );
    assert!(program.exists() || env::var_os("CI").is_none(), "there is no {}", program.display());
    program.exists().then_some(program)
}

/// Returns where `perf serve` says that it listens.
pub(crate) fn address_of(server: &Server) -> &str {
    let address = server.1.split("://").nth(1).and_then(|rest| rest.split('"').next());
    address.expect("where it is")
}

#[test]
fn a_program_talks_to_perf() {
    let Some(program) = stackwright() else { return };
    let perf = compiled("tests/perf.c", "perf", &[]);
    for scheme in ["artp", "xtp", "tailored", "tcp", "udp"] {
        let url = format!("{scheme}://127.0.0.1:0");
        let server = Server::start(Command::new(&program).args(["perf", "serve", "--json", &url]));
        run(Command::new(&perf).args([&format!("{scheme}://"), address_of(&server), "1000"]));
    }
}

#[test]
fn programs_have_their_stack_in_a_server() {
    let Some(program) = stackwright() else { return };
    let (poll, echo) =
        (compiled("examples/poll.c", "poll", &[]), compiled("examples/echo.c", "echo", &[]));
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path().to_str().expect("text");
    let schemes = ["artp", "xtp", "udp"];
    let stacks = schemes.map(|scheme| format!("{scheme}://"));
    let host = ["host", "--json", "--at", at];
    let _host = Server::start(Command::new(&program).args(host).args(stacks));
    for scheme in schemes {
        let socket = folder.path().join(scheme);
        let began = Instant::now();
        while !socket.exists() && began.elapsed() < Duration::from_secs(20) {
            thread::sleep(Duration::from_millis(20));
        }
        let url = format!("{scheme}://127.0.0.1:0?server={at}");
        let server = Server::start(Command::new(&poll).arg(url));
        let address = format!("127.0.0.1:{}", server.1.trim());
        let url = format!("{scheme}://?server={at}");
        assert_eq!(run(Command::new(&echo).args(["ask", &url, &address, "hello"])), "hello\n");
        // A program with the stack of its own is at the other end as well.
        let own = format!("{scheme}://");
        assert_eq!(run(Command::new(&echo).args(["ask", &own, &address, "there"])), "there\n");
    }
}

/// The ends of `lab table bindings`, for a moment.
#[test]
fn the_ends_of_the_table_work() {
    let end = compiled("../../lab/src/table/bindings/end.c", "end", &[]);
    for over in ["artp", "tcp"] {
        for work in ["echo", "bulk"] {
            let server = Server::start(Command::new(&end).args([over, work, "1000"]));
            let asks = [over, work, "1000", server.1.trim(), "0.05"];
            let figure = run(Command::new(&end).args(asks));
            assert!(figure.trim().parse::<f64>().is_ok_and(|figure| figure > 0.0), "{figure}");
        }
    }
}

/// As a program outside of the tree is built: by pkg-config, and with the static library.
#[test]
fn pkg_config_tells_how_to_build() {
    if !has("pkg-config") {
        return;
    }
    let lib = prefix().join("lib");
    let flags = |what: &[&str]| {
        let said = run(Command::new("pkg-config")
            .env("PKG_CONFIG_PATH", lib.join("pkgconfig"))
            .args(what)
            .arg("stackwright"));
        said.split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    let program = prefix().join("outside");
    let mut cc = Command::new("cc");
    run(cc
        .arg(here("examples/echo.c"))
        .args(flags(&["--cflags", "--libs"]))
        .arg("-o")
        .arg(&program));
    assert!(
        !run(Command::new("ldd").arg(&program).env("LD_LIBRARY_PATH", &lib)).contains("not found")
    );
    let mut cc = Command::new("cc");
    run(cc
        .arg(here("examples/echo.c"))
        .args(flags(&["--cflags"]))
        .arg(lib.join("libstackwright.a"))
        .args(flags(&["--libs-only-l", "--static"]).iter().filter(|flag| *flag != "-lstackwright"))
        .arg("-o")
        .arg(&program));
    let usage = Command::new(&program).output().expect("it runs");
    assert_eq!(usage.status.code(), Some(2));
}
