//! The shell: with lines from a pipe, and at a terminal.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use stackwright_programs::scratch::Scratch;

use crate::client::terminal;
use crate::client::{Server, program, read, write};

/// Runs a script in `folder`; returns the exit code, what it printed, and its complaints.
fn script(folder: &Scratch, url: &str, lines: &str) -> (Option<i32>, String, String) {
    let mut command: Command = program();
    command.args(["shell", url]).current_dir(folder.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(lines.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let text = |octets| String::from_utf8(octets).expect("text");
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_script_does_line_by_line_and_ends_with_the_first_failure() {
    let (server, here) = (Server::start(), Scratch::new());
    write(&server.folder, "docs/a b.txt", "text");
    write(&server.folder, "docs/*", "star");
    write(&here, "mine/c", "mine");
    let lines = "\
# all of it
cd docs; # no: a name
pwd";
    let (code, ..) = script(&here, &server.url(""), lines);
    assert_eq!(code, Some(1));
    let lines = "
cd docs # where the files are
pwd
ls 'a b.txt'
get a\\ b.txt '*'
put -o ../stored mine
mkdir -p x/y
rmdir x/y
mv '*' ../star
cat ../sta*
lcd mine
lpwd
!cat c
";
    let (code, text, complaints) = script(&here, &server.url(""), lines);
    assert_eq!(code, Some(0), "{complaints}");
    assert!(text.starts_with("/docs/\n         4 B  a b.txt\n"), "{text}");
    assert!(text.ends_with("/mine\nmine") && text.contains("\nstar"), "{text}");
    assert_eq!(read(&here, "a b.txt").as_deref(), Some("text"));
    assert_eq!(read(&here, "*").as_deref(), Some("star"));
    assert_eq!(read(&server.folder, "stored/c").as_deref(), Some("mine"));
    assert!(!server.folder.join("docs/x/y").exists() && server.folder.join("docs/x").exists());

    let (code, text, complaints) = script(&here, &server.url("docs"), "cat none\npwd\n");
    assert_eq!((code, &*text), (Some(1), ""), "{complaints}");
    assert!(complaints.contains("/docs/none: there is no such file"), "{complaints}");
    assert_eq!(script(&here, &server.url(""), "nonsense\n").0, Some(2));
    assert_eq!(script(&here, &server.url(""), "ls 'a\n").0, Some(2));
    assert_eq!(script(&here, "ftp://127.0.0.1:1/", "pwd\n").0, Some(3));
    assert_eq!(script(&here, &server.url("docs/a%20b.txt"), "pwd\n").0, Some(1), "no folder");
    assert_eq!(script(&here, &server.url(""), "close\nls\n").0, Some(2));
    assert_eq!(script(&here, &server.url(""), "rmdir docs\n").0, Some(1));
}

#[test]
fn a_person_types_completes_and_stops_commands() {
    let (server, home) = (Server::start(), Scratch::new());
    write(&server.folder, "docs/it's a file.txt", "text");
    write(&server.folder, "docs/other", "text");
    let url = server.url("");
    let Some(mut terminal) = terminal::start(&home, &["shell", &url]) else { return };
    terminal.wait_for("127.0.0.1:/> ");
    terminal.press("cd do\t\r");
    terminal.wait_for("127.0.0.1:/docs> ");
    terminal.press("get it\t\r");
    terminal.wait_for("it\\'s\\ a\\ file.txt");
    terminal.wait_for("file.txt: 4 B in ");
    assert_eq!(read(&home, "it's a file.txt").as_deref(), Some("text"));
    terminal.wait_for("127.0.0.1:/docs> ");
    // What is typed is given up.
    terminal.press("rm other\x03");
    terminal.wait_for("127.0.0.1:/docs> ");
    assert!(server.folder.join("docs/other").exists());
    // A command is stopped, and the shell goes on.
    // One process, and no shell that waits for it: such a shell may miss an early signal.
    write(&home, "file", "begun");
    terminal.press("!exec tail -f file\r");
    terminal.wait_for("\r\nbegun");
    terminal.press("\x03");
    terminal.wait_for("127.0.0.1:/docs> ");
    terminal.press("open ftp://me:secret@127.0.0.1:1/\r");
    terminal.wait_for("visible to all users");
    terminal.wait_for("127.0.0.1:/docs> ");
    terminal.press("\x04");
    assert_eq!(terminal.end(), Some(0));
    let history = home.join(".local/state/stackwright/history");
    let lines = fs::read_to_string(&history).expect("it is kept");
    assert!(lines.contains("get it") && !lines.contains("secret"), "{lines}");
    let mode = fs::metadata(&history).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_transfer_is_stopped_and_the_shell_goes_on() {
    let (server, home) = (Server::start(), Scratch::new());
    let film = fs::File::create(server.folder.join("film")).expect("a folder of ours");
    // It takes no room there, and would take a long time.
    film.set_len(1 << 40).expect("a folder of ours");
    let url = server.url("");
    let Some(mut terminal) = terminal::start(&home, &["shell", &url]) else { return };
    terminal.wait_for("127.0.0.1:/> ");
    terminal.press("get film\r");
    terminal.wait_for(" % ");
    terminal.press("\x03");
    terminal.wait_for("interrupted");
    terminal.wait_for("127.0.0.1:/> ");
    assert!(!home.join("film").exists());
    terminal.press("ls film\r");
    terminal.wait_for("1.00 TiB  film");
    terminal.press("quit\r");
    assert_eq!(terminal.end(), Some(0));
}

#[test]
fn a_server_that_ended_the_connection_is_reached_again() {
    let (mut server, home) = (Server::start(), Scratch::new());
    write(&server.folder, "a", "text");
    let url = server.url("");
    let Some(mut terminal) = terminal::start(&home, &["shell", &url]) else { return };
    terminal.wait_for("127.0.0.1:/> ");
    server.restart();
    terminal.press("ls\r");
    terminal.wait_for("4 B  a");
    terminal.wait_for("127.0.0.1:/> ");
    terminal.press("quit\r");
    assert_eq!(terminal.end(), Some(0));
}
