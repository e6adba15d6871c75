//! What spares typing: bookmarks, `~/.netrc`, completions, manual pages.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::Once;

use stackwright_programs::processes::{Outcome, Running, run, stackwright, use_program};
use stackwright_programs::scratch::Scratch;

fn program(home: &Scratch) -> Command {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| use_program(env!("CARGO_BIN_EXE_stackwright").into()));
    let mut command = Command::new(stackwright());
    command.env("HOME", home.path()).env_remove("XDG_CONFIG_HOME").env_remove("NETRC");
    command
}

fn say(home: &Scratch, arguments: &[&str]) -> Outcome {
    run(program(home).args(arguments))
}

/// Serves `folder` to one user, and returns the port.
fn serve(home: &Scratch, folder: &Scratch) -> (Running, u64) {
    let password = home.join("password");
    fs::write(&password, "secret\n").expect("a folder of ours");
    let mut command = program(home);
    command.arg("serve").arg(folder.path()).args(["--json", "--listen", "127.0.0.1:0"]);
    command.args(["--user", "ann", "--password-file"]).arg(&password);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running::start(&mut command);
    let line = BufReader::new(running.output()).lines().next().expect("a line").expect("of text");
    let told: serde_json::Value = serde_json::from_str(&line).expect("JSON");
    let url = told["url"].as_str().expect("an address").trim_end_matches('/');
    let port = url.rsplit(':').next().expect("a port").parse().expect("a number");
    (running, port)
}

#[test]
fn a_bookmark_and_netrc_stand_for_an_address_a_user_and_a_password() {
    let (home, folder) = (Scratch::new(), Scratch::new());
    fs::create_dir(folder.join("deep")).expect("a folder of ours");
    fs::write(folder.join("deep/a file"), "its text").expect("a folder of ours");
    let (_server, port) = serve(&home, &folder);
    let url = format!("ftp://127.0.0.1:{port}/deep/");
    say(&home, &["bookmark", "add", "work", &url]).succeeded();
    assert_eq!(
        say(&home, &["bookmark", "list"]).succeeded().text().trim_end(),
        format!("{:<16} {url}", "work")
    );

    let netrc = home.join(".netrc");
    fs::write(&netrc, "machine 127.0.0.1 login ann password secret\n").expect("a folder of ours");
    fs::set_permissions(&netrc, Permissions::from_mode(0o644)).expect("ours");
    let target = home.join("got");
    let target = target.to_str().expect("text");
    say(&home, &["get", "work:a file", target]).exited(2);
    fs::set_permissions(&netrc, Permissions::from_mode(0o600)).expect("ours");
    say(&home, &["get", "work:a file", target]).succeeded();
    assert_eq!(fs::read_to_string(target).expect("it was fetched"), "its text");

    say(&home, &["bookmark", "remove", "work"]).succeeded();
    say(&home, &["bookmark", "remove", "work"]).exited(2);
    say(&home, &["get", "work:a file", target]).exited(2);
    say(&home, &["bookmark", "add", "a b", &url]).exited(2);
    say(&home, &["bookmark", "add", "work", "nonsense"]).exited(2);
}

#[test]
fn shells_and_man_are_told_of_every_command() {
    let home = Scratch::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = say(&home, &["completions", shell]).succeeded().text();
        for word in ["dissector", "bookmark", "mirror", "--password-file", "limit-rate"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let pages = home.join("man");
    say(&home, &["manual", pages.to_str().expect("text")]).succeeded();
    let page = fs::read_to_string(pages.join("stackwright-get.1")).expect("a page for each");
    assert!(page.contains(".TH") && page.contains("timeout"), "{page}");
}

/// A shared library to find, map and relocate is a part of each start (`src/power.rs`).
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn the_program_needs_no_library_of_mathematics() {
    let program = fs::read(env!("CARGO_BIN_EXE_stackwright")).expect("the program");
    let name = b"libm.so.6\0";
    assert!(!program.windows(name.len()).any(|octets| octets == name), "it has one more function");
}
