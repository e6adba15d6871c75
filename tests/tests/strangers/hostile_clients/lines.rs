//! What is said on the control association: lines without end, Telnet's commands, aborts, farewells
//! in the middle.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rustix::net::{SendFlags, send};
use stackwright_programs::content::{assert_same, octets};
use stackwright_programs::control::{Control, announcement};
use stackwright_programs::processes::eventually;
use stackwright_programs::servers::loopback;

use super::{BIG, GROWTH, Prey};
use crate::scripted::reset;

/// A line of 100 000 octets is refused, and the association goes on or ends; one without end costs
/// no memory.
pub(super) fn long_line(prey: &Prey) {
    let mut control = prey.guest();
    let mut line = vec![b'A'; 100_000];
    line.extend_from_slice(b"\r\n");
    if control.send(&line).is_ok() {
        match control.reply() {
            Ok(reply) => {
                assert!(matches!(reply.code, 421 | 500 | 501), "{reply:?}");
                if reply.code != 421 {
                    control
                        .ask("NOOP")
                        .and_then(|reply| reply.is(200))
                        .expect("the next line is a new one");
                }
            }
            Err(error) => assert_ne!(error.kind(), ErrorKind::WouldBlock, "no answer at all"),
        }
    }
    let before = prey.memory();
    let mut control = prey.guest();
    for _ in 0..512 {
        // 64 MB without an end; a server that hangs up is right.
        if control.send(&[b'A'; 131_072]).is_err() {
            break;
        }
    }
    let grown = prey.memory().saturating_sub(before);
    assert!(grown < GROWTH, "{grown} kB for a line without end");
    prey.unharmed();
}

pub(super) fn unterminated_line(prey: &Prey) {
    for line in [&b""[..], b"U", b"USER anonymous", b"USER anonymous\r", b"\xFF"] {
        let mut control = Control::connect(prey.server.address).expect("a greeting");
        control.send(line).expect("a connection");
        control.stream().shutdown(Shutdown::Write).expect("a connection");
        // The server has nothing more to wait for.
        let mut rest = Vec::new();
        let ended = control.stream().read_to_end(&mut rest);
        let stuck = ended.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
        assert!(!stuck, "{line:?}: the server keeps a connection that has ended");
    }
    // What is not a line is not a command.
    let mut control = prey.guest();
    control.send(b"DELE small").expect("a connection");
    drop(control);
    prey.unharmed();
}

/// Telnet's commands anywhere in a line are answered or skipped, and never part of a name.
pub(super) fn telnet_commands(prey: &Prey) {
    let mut control = Control::connect(prey.server.address).expect("a greeting");
    for (line, code) in [
        (&b"US\xFF\xFB\x01ER anony\xFF\xFD\x18mous\r\n"[..], 331),
        (b"\xFF\xF1PASS guest@\xFF\xF6example.org\r\n", 230),
        (b"\xFF\xFC\x03\xFF\xFE\x03NOOP\r\xFF\xF1\n", 200),
        (b"TYPE \xFF\xF1I\r\n", 200),
        (b"SIZE sm\xFF\xF9all\r\n", 213),
        (b"\xFF\xF4\xFF\xF2NOOP\r\n", 200),
    ] {
        control.send(line).expect("a connection");
        let reply = control.reply().expect("a reply");
        // A guest may be let in without a password.
        assert!(reply.code == code || (code == 331 && reply.code == 230), "{line:?}: {reply:?}");
    }
    // A doubled FF is one octet of the name: such a file does not exist, but the line is in order.
    control.send(b"SIZE sm\xFF\xFFall\r\n").expect("a connection");
    let reply = control.reply().expect("a reply");
    assert!(matches!(reply.code, 500..=599), "{reply:?}");
    // Refusals, as the standard wants them.
    let mut control = Control::connect(prey.server.address).expect("a greeting");
    control.send(b"\xFF\xFD\x18\xFF\xFB\x18NOOP\r\n").expect("a connection");
    let mut answer = Vec::new();
    let heard = eventually(Duration::from_secs(10), || {
        let mut octets = [0; 512];
        let length = control.stream().read(&mut octets).unwrap_or(0);
        answer.extend_from_slice(&octets[..length]);
        answer.ends_with(b"\r\n")
    });
    assert!(heard, "{answer:?}");
    for refusal in [&b"\xFF\xFC\x18"[..], b"\xFF\xFE\x18"] {
        assert!(
            answer.windows(3).any(|window| window == refusal),
            "{refusal:?} is not in {answer:?}"
        );
    }
    prey.unharmed();
}

/// ABOR in the middle of a transfer, with Telnet's interrupt and urgent mark as BSD clients send
/// them, or without.
pub(super) fn abort(prey: &Prey, urgent: bool) {
    let content = prey.with_big();
    let mut control = prey.guest();
    for _ in 0..3 {
        let mut data = control.begin("RETR big").expect("a transfer");
        data.read_exact(&mut [0; 10_000]).expect("the first octets");
        if urgent {
            send(control.stream(), b"\xFF\xF4\xFF", SendFlags::OOB).expect("an urgent send");
            control.send(b"\xF2ABOR\r\n").expect("a connection");
        } else {
            control.send(b"ABOR\r\n").expect("a connection");
        }
        control.expect(426).expect("the transfer's end");
        control.expect(226).expect("the answer to ABOR");
        let mut rest = Vec::new();
        let _ = data.read_to_end(&mut rest);
        assert!(rest.len() < BIG - 10_000, "the transfer went on to its end");
        control.ask("NOOP").and_then(|reply| reply.is(200)).expect("an association that goes on");
    }
    // An upload that is aborted leaves no trace either.
    let mut data = control.begin("STOR new").expect("a transfer");
    data.write_all(&content[..1_000_000]).expect("a connection");
    control.ask("ABOR").and_then(|reply| reply.is(426)).expect("the transfer's end");
    control.expect(226).expect("the answer to ABOR");
    assert!(
        eventually(Duration::from_secs(5), || prey.new_names().is_empty()),
        "{:?} is left",
        prey.new_names()
    );
    assert_same(&control.retrieve("big").expect("a whole transfer"), &content);
    prey.unharmed();
}

pub(super) fn abort_when_idle(prey: &Prey) {
    let mut control = prey.guest();
    for _ in 0..2 {
        let reply = control.ask("ABOR").expect("a reply");
        assert!(matches!(reply.code, 225 | 226), "{reply:?}");
    }
    // With a port that waits for its client.
    control.ask("EPSV").and_then(|reply| reply.is(229)).expect("a port");
    let reply = control.ask("ABOR").expect("a reply");
    assert!(matches!(reply.code, 225 | 226), "{reply:?}");
    assert_same(&control.retrieve("small").expect("a transfer"), &octets(2, 10_000));
    prey.unharmed();
}

/// A client that sends commands and never reads a reply: the server stops listening to it, not to
/// others.
pub(super) fn commands_without_end(prey: &Prey) {
    let before = prey.memory();
    let mut control = prey.guest();
    control.stream().set_write_timeout(Some(Duration::from_millis(500))).expect("a socket of ours");
    let commands = b"HELP\r\n".repeat(10_000);
    for _ in 0..1_000 {
        if control.send(&commands).is_err() {
            break;
        }
    }
    let grown = prey.memory().saturating_sub(before);
    assert!(grown < GROWTH, "{grown} kB for replies that nobody reads");
    prey.unharmed();
}

/// Many clients say nothing but empty lines, all in one instant: each line has its reply, and a
/// transfer of somebody else, which runs meanwhile, is whole.
pub(super) fn crowd_of_empty_lines(prey: &Prey) {
    const CLIENTS: usize = 64;
    const LINES: usize = 2048;
    let content = prey.with_big();
    let mut crowd: Vec<Control> =
        (0..CLIENTS).map(|_| Control::connect(prey.server.address).expect("a greeting")).collect();
    let mut other = prey.guest();
    let mut data = other.begin("RETR big").expect("a transfer");
    let mut arrived = vec![0; 10_000];
    data.read_exact(&mut arrived).expect("the first octets");
    let before = prey.memory();
    let stopped = prey.server.running.stop();
    for control in &mut crowd {
        control.send(&[b'\n'; LINES]).expect("a connection");
    }
    drop(stopped);
    data.read_to_end(&mut arrived).expect("the rest");
    assert_same(&arrived, &content);
    other.expect(226).expect("the transfer's end");
    for control in &mut crowd {
        for _ in 0..LINES {
            control.expect(500).expect("a reply to each line");
        }
    }
    let grown = prey.memory().saturating_sub(before);
    assert!(grown < GROWTH, "{grown} kB for a crowd of empty lines");
    prey.unharmed();
}

/// A short dialogue that ends after its first octet, its second, ... : no file appears, and the
/// server goes on.
pub(super) fn dropped_at_every_octet(prey: &Prey) {
    let listener = TcpListener::bind((loopback(false), 0)).expect("a port");
    listener.set_nonblocking(true).expect("a socket of ours");
    let announcement = announcement(listener.local_addr().expect("a bound socket"));
    let dialogue = format!(
        "USER anonymous\r\nPASS guest@example.org\r\nTYPE I\r\n{announcement}\r\nSTOR new\r\nNOOP\r\nQUIT\r\n"
    );
    for length in 0..=dialogue.len() {
        for abrupt in [false, true] {
            let mut control =
                TcpStream::connect(prey.server.address).expect("a server that is alive");
            control.write_all(&dialogue.as_bytes()[..length]).expect("a connection");
            // The server may have come as far as to connect to us; the data connection is cut, too,
            // and never ended.
            if length % 8 == 0 {
                thread::sleep(Duration::from_millis(5));
            }
            if let Ok((mut data, _)) = listener.accept() {
                let _ = data.write_all(b"the beginning of a file");
                reset(data);
            }
            if abrupt {
                reset(control);
            }
        }
    }
    while let Ok((data, _)) = listener.accept() {
        reset(data);
    }
    prey.unharmed();
    let clean = eventually(Duration::from_secs(5), || {
        if let Ok((data, _)) = listener.accept() {
            reset(data);
        }
        prey.new_names().is_empty()
    });
    assert!(clean, "{:?} appeared", prey.new_names());
}
