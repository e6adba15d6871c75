//! Where files come from and go to.

use std::fs;
use std::process::{Command, Stdio};

use stackwright_programs::processes::{Running, eventually, run, stackwright};
use stackwright_programs::scratch::Scratch;

use crate::ftp::fake::{Fake, Script};
use crate::ftp::{complaints, path, program, say};

fn shell(script: &str, arguments: &[&str]) -> stackwright_programs::processes::Outcome {
    let _ = program(); // it is known which one
    run(Command::new("sh").args(["-c", script]).arg(stackwright()).args(arguments))
}

#[test]
fn a_folder_that_is_not_there_is_no_file() {
    let server = Fake::start(Script::sending("hello"));
    let here = Scratch::new();
    let target = format!("{}/", path(&here.join("newdir")));
    let told = say(&["get", &server.url("f"), &target]).exited(1);
    assert!(complaints(&told).contains("no such folder"), "{}", complaints(&told));
    assert_eq!(here.names(), [""; 0]);
}

#[test]
fn a_file_goes_to_standard_output_and_nothing_else_does() {
    let content: Vec<u8> = (0..300_000_u32).flat_map(u32::to_be_bytes).collect();
    let server = Fake::start(Script::sending(&content));
    let told = say(&["get", &server.url("f"), "-"]).succeeded();
    assert!(told.output == content);
    say(&["get", "--json", &server.url("f"), "-"]).exited(2);
}

#[test]
fn devices_and_pipes_are_written_through() {
    let server = Fake::start(Script::sending("hello"));
    say(&["get", &server.url("f"), "/dev/null"]).succeeded();
    let here = Scratch::new();
    let fifo = here.join("fifo");
    let script = "mkfifo \"$1\"; cat \"$1\" & \"$0\" get \"$2\" \"$1\" >&2; wait; test -p \"$1\"";
    let told = shell(script, &[path(&fifo), &server.url("f")]).succeeded();
    assert_eq!(told.text(), "hello");
}

#[test]
fn files_without_a_length_are_read_to_their_end() {
    let server = Fake::start(Script::default());
    say(&["put", "/proc/version", &server.url("v")]).succeeded();
    assert_eq!(server.stored(), fs::read("/proc/version").expect("Linux has it"));
    let script = "printf hello | \"$0\" put - \"$1\"";
    shell(script, &[&server.url("f")]).succeeded();
    assert_eq!(server.stored(), b"hello");
    shell(script, &[&server.url("folder/")]).exited(2);
}

#[test]
fn a_closed_terminal_leaves_no_partial_file() {
    let mut script = Script::sending("x".repeat(1000));
    script.endless = true;
    let server = Fake::start(script.reply("SIZE", "213 1000000000000\r\n"));
    let here = Scratch::new();
    let mut command = program();
    command.args(["get", &server.url("f"), path(&here.join("f"))]).stdin(Stdio::null());
    let mut running = Running::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    assert!(eventually(std::time::Duration::from_secs(20), || server
        .lines()
        .contains(&"RETR f".into())));
    let status = Command::new("kill").args(["-HUP", &running.number().to_string()]).status();
    assert!(status.expect("kill is there").success());
    assert!(eventually(std::time::Duration::from_secs(20), || running.ended().is_some()));
    // Whether something had arrived by then, and waits to be resumed.
    let code = running.ended().and_then(|status| status.code());
    assert!(matches!(code, Some(7 | 130)), "{code:?}");
}
