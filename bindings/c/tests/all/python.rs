//! Python: the wheel is built and unpacked, and programs use it as an installed one.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use crate::programs::{Server, address_of, echo_in_rust, stackwright};
use crate::{compiled, has, here, prefix, run};

/// Returns Python, with the package on its path; `None` where there is no Python.
fn python() -> Option<Command> {
    static UNPACKED: OnceLock<PathBuf> = OnceLock::new();
    if !has("python3") {
        return None;
    }
    let package = UNPACKED.get_or_init(|| {
        let (wheels, package) = (prefix().join("wheels"), prefix().join("site-packages"));
        let library = prefix().join("lib/libstackwright.so.1");
        std::fs::create_dir_all(&wheels).expect("a folder");
        let build = "import backend, sys; \
                     print(backend.build_wheel(sys.argv[1], {'library': sys.argv[2]}))";
        let built = run(Command::new("python3")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .current_dir(here("../python"))
            .args(["-c", build])
            .args([&wheels, &library]));
        let wheel = wheels.join(built.trim());
        run(Command::new("python3").args(["-m", "zipfile", "-e"]).args([&wheel, &package]));
        package
    });
    let mut python = Command::new("python3");
    python.env("PYTHONPATH", package).env("PYTHONDONTWRITEBYTECODE", "1");
    Some(python)
}

/// Asks the server at `address`, and returns the answers.
fn ask(scheme: &str, address: &str, words: &[&str]) -> Option<String> {
    let url = format!("{scheme}://");
    let echo = here("../python/examples/echo.py");
    Some(run(python()?.arg(echo).args(["ask", &url, address]).args(words)))
}

#[test]
fn its_own_tests_pass() {
    if let Some(mut python) = python() {
        run(python.args(["-m", "unittest", "discover", "-s"]).arg(here("../python/tests")));
    }
}

#[test]
fn python_talks_to_c() {
    let (poll, echo) =
        (compiled("examples/poll.c", "poll-py", &[]), compiled("examples/echo.c", "echo-py", &[]));
    for scheme in ["artp", "xtp", "tcp"] {
        let here_any = format!("{scheme}://127.0.0.1:0");
        let server = Server::start(Command::new(&poll).arg(&here_any));
        let address = format!("127.0.0.1:{}", server.1.trim());
        let Some(said) = ask(scheme, &address, &["hello", "there"]) else { return };
        assert_eq!(said, "hello\nthere\n", "{scheme}");
        let Some(mut python) = python() else { return };
        let serve = python.arg(here("../python/examples/echo.py"));
        let server = Server::start(serve.args(["serve", &here_any]));
        let address = format!("127.0.0.1:{}", server.1.trim());
        let asked = ["ask", &format!("{scheme}://"), &address, "hello", "there"];
        assert_eq!(run(Command::new(&echo).args(asked)), "hello\nthere\n", "{scheme}");
    }
}

#[test]
fn python_talks_to_an_endpoint_in_rust() {
    if has("python3") {
        let said = echo_in_rust(|address| ask("artp", &address, &["one", "two"]));
        assert_eq!(said.as_deref(), Some("one\ntwo\n"));
    }
}

/// A request of perf begins with 2, and its reply with 3. A shorter one is none.
#[test]
fn python_talks_to_perf() {
    let Some(program) = stackwright() else { return };
    for scheme in ["artp", "xtp", "tailored", "tcp", "udp"] {
        let url = format!("{scheme}://127.0.0.1:0");
        let server = Server::start(Command::new(&program).args(["perf", "serve", "--json", &url]));
        let Some(said) = ask(scheme, address_of(&server), &["\u{2}fifteen letters"]) else {
            return;
        };
        assert_eq!(said, "\u{3}fifteen letters\n", "{scheme}");
    }
}

/// The ends of `lab table bindings`, for a moment.
#[test]
fn the_ends_of_the_table_work() {
    let end = here("../../lab/src/table/bindings/end.py");
    for words in [["artp", "echo"], ["artp", "bulk"], ["tcp", "echo"], ["tcp", "bulk"]] {
        let (Some(mut server), Some(mut asks)) = (python(), python()) else { return };
        let server = Server::start(server.arg(&end).args(words).arg("1000"));
        let asked = asks.arg(&end).args(words).args(["1000", server.1.trim(), "0.05"]);
        let figure = run(asked);
        assert!(figure.trim().parse::<f64>().is_ok_and(|figure| figure > 0.0), "{figure}");
    }
}
