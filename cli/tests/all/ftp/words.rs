//! What is said of what goes wrong.

use crate::ftp::fake::{Fake, Script};
use crate::ftp::{complaints, say};

#[test]
fn each_failure_is_told_with_what_the_server_said() {
    let no_ftp = "SSH-2.0-OpenSSH_9.2\r\n".repeat(30);
    let mut ssh = Script::default();
    ssh.greeting = Some(no_ftp.into());
    for (script, code, expected) in [
        (ssh, 1, "the server's answers are not FTP"),
        (
            Script::sending("hello").reply("RETR", "550 f: Permission denied\r\n"),
            4,
            "that is not allowed (the server said: 550 f: Permission denied)",
        ),
        (
            Script::sending("hello").reply("RETR", "550 f: No such file\r\n"),
            1,
            "there is no such file or folder, or it may not be used (the server said: 550 f: No such file)",
        ),
        (
            Script::sending("hello").reply("RETR", "451 I/O error\r\n"),
            1,
            "an error on that side (the server said: 451 I/O error)",
        ),
    ] {
        let told = say(&["get", &Fake::start(script).url("f"), "/dev/null"]).exited(code);
        let complaints = complaints(&told);
        assert!(complaints.contains(expected), "{complaints}");
        assert!(!complaints.contains("the disk"), "{complaints}");
    }
}

#[test]
fn an_answer_that_is_no_address_is_not_blamed_on_the_disk() {
    let script = Script::sending("hello").reply("EPSV", "500 no\r\n").reply("PASV", "227 no\r\n");
    let told = say(&["get", &Fake::start(script).url("f"), "/dev/null"]).exited(1);
    assert!(complaints(&told).contains("not FTP"), "{}", complaints(&told));
}
