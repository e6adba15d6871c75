//! Clients that mean harm, or fall over, against our server: it survives, it stays small, it serves the others, and nothing
//! appears that was not sent whole.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::time::Duration;
use std::{fs, thread};

use libtest_mimic::Trial;
use rustix::net::{SendFlags, send};
use stackwright_tests::content::{assert_same, octets};
use stackwright_tests::control::{Control, announcement};
use stackwright_tests::processes::eventually;
use stackwright_tests::scratch::Scratch;
use stackwright_tests::servers::{Server, loopback, ours};

use crate::scripted::reset;
use crate::setting::trial;

/// How much the server may grow by what one hostile client does, in kilobytes.
const GROWTH: u64 = 16 * 1024;

pub(crate) fn trials() -> Vec<Trial> {
    let all: [(&str, Hostility); 18] = [
        ("long-line", long_line),
        ("unterminated-line", unterminated_line),
        ("telnet-commands", telnet_commands),
        ("abort/urgent", |prey| abort(prey, true)),
        ("abort/plain", |prey| abort(prey, false)),
        ("abort/idle", abort_when_idle),
        ("names/control-characters", control_characters),
        ("names/dot-dot", dot_dot),
        ("names/symbolic-links", symbolic_links),
        ("bounce", bounce),
        ("passive/thief", thief),
        ("never-reads", never_reads),
        ("never-connects", never_connects),
        ("commands-without-end", commands_without_end),
        ("dropped-at-every-octet", dropped_at_every_octet),
        ("upload/reset", |prey| upload_cut(prey, Cut::DataReset)),
        ("upload/control-lost", |prey| upload_cut(prey, Cut::ControlLost)),
        ("upload/server-killed", |prey| upload_cut(prey, Cut::ServerKilled)),
    ];
    all.map(|(name, run)| trial(format!("hostile-client/{name}"), &[], false, move || run(&Prey::new())))
        .into()
}

type Hostility = fn(&Prey);

/// A server of its own for each trial, with a secret beside the folder that it serves.
struct Prey {
    outside: Scratch,
    server: Server,
}

const BIG: usize = 50_000_000;

impl Prey {
    fn new() -> Self {
        let outside = Scratch::new();
        let root = outside.join("root");
        fs::create_dir_all(root.join("inside")).expect("a folder of ours");
        fs::write(root.join("small"), octets(2, 10_000)).expect("a folder of ours");
        fs::write(outside.join("secret"), "secret").expect("a folder of ours");
        let server = ours(&root, false, &["--writable"]);
        Self { outside, server }
    }

    /// A file that no socket buffer swallows.
    fn with_big(&self) -> Vec<u8> {
        let content = octets(3, BIG);
        fs::write(self.outside.join("root/big"), &content).expect("room for a file");
        content
    }

    fn guest(&self) -> Control {
        Control::guest(self.server.address).expect("a login")
    }

    fn memory(&self) -> u64 {
        self.server.running.status("VmRSS")
    }

    /// The names in the served folder, besides those that were there.
    fn new_names(&self) -> Vec<String> {
        let names = fs::read_dir(self.outside.join("root")).expect("the folder").flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| !["inside", "small", "big"].contains(&&**name)).collect()
    }

    /// After everything: a well-behaved client is served, and what lies outside is as it was.
    #[track_caller]
    fn unharmed(&self) {
        let small = self.guest().retrieve("small").expect("a server that still serves");
        assert_same(&small, &octets(2, 10_000));
        assert_eq!(self.outside.names(), ["root", "secret"]);
        assert_same(&fs::read(self.outside.join("secret")).expect("the secret"), b"secret");
    }
}

/// A line of 100 000 octets is refused, and the association goes on or ends; one without end costs no memory.
fn long_line(prey: &Prey) {
    let mut control = prey.guest();
    let mut line = vec![b'A'; 100_000];
    line.extend_from_slice(b"\r\n");
    if control.send(&line).is_ok() {
        match control.reply() {
            Ok(reply) => {
                assert!(matches!(reply.code, 421 | 500 | 501), "{reply:?}");
                if reply.code != 421 {
                    control.ask("NOOP").and_then(|reply| reply.is(200)).expect("the next line is a new one");
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

fn unterminated_line(prey: &Prey) {
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
fn telnet_commands(prey: &Prey) {
    let mut control = Control::connect(prey.server.address).expect("a greeting");
    for (line, code) in [
        (&b"US\xFF\xFB\x01ER anony\xFF\xFD\x18mous\r\n"[..], 331),
        (b"\xFF\xF1PASS guest@\xFF\xF6example.org\r\n", 230),
        (b"\xFF\xFC\x03\xFF\xFE\x03NOOP\r\xFF\xF1\n", 200),
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
        assert!(answer.windows(3).any(|window| window == refusal), "{refusal:?} is not in {answer:?}");
    }
    prey.unharmed();
}

/// ABOR in the middle of a transfer, with Telnet's interrupt and urgent mark as BSD clients send them, or without.
fn abort(prey: &Prey, urgent: bool) {
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

fn abort_when_idle(prey: &Prey) {
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

/// NUL, CR, LF and escape in names: refused where they would reach a file system, never echoed as they are.
fn control_characters(prey: &Prey) {
    let mut control = prey.guest();
    for command in [
        &b"RETR sm\0all\r\n"[..],
        b"STOR a\0b\r\n",
        b"STOR a\rb\r\n",
        b"STOR a\r\0b\r\n",
        b"MKD a\rb\r\n",
        b"MKD a\0b\r\n",
        b"RNFR small\0\r\n",
        b"CWD \0\r\n",
        b"SIZE a\rb\r\n",
    ] {
        // A port is ready, so that nothing but the name stands in the way.
        let _data = control.passive().expect("a port");
        control.send(command).expect("a connection");
        let reply = control.reply().expect("a reply");
        assert!(matches!(reply.code, 500..=599), "{:?}: {reply:?}", String::from_utf8_lossy(command));
        let text = reply.text.trim_end_matches("\r\n");
        assert!(!text.contains(['\r', '\0']), "{reply:?}");
    }
    // An escape may be a name; it never comes back raw.
    let reply = control.ask("CWD \x1B[31mred").expect("a reply");
    assert!(matches!(reply.code, 500..=599) && !reply.text.contains('\x1B'), "{reply:?}");
    control.ask("NOOP").and_then(|reply| reply.is(200)).expect("replies in step with commands");
    assert!(prey.new_names().is_empty(), "{:?} appeared", prey.new_names());
    prey.unharmed();
}

/// Every way out of the folder by `..`.
fn dot_dot(prey: &Prey) {
    let mut control = prey.guest();
    for path in [
        "../secret",
        "/../secret",
        "inside/../../secret",
        "/inside/../../secret",
        "./.././secret",
        "..//secret",
    ] {
        for verb in ["SIZE", "MDTM", "DELE", "RNFR"] {
            let reply = control.ask(&format!("{verb} {path}")).expect("a reply");
            assert!(matches!(reply.code, 500..=599), "{verb} {path}: {reply:?}");
        }
        let _data = control.passive().expect("a port");
        let reply = control.ask(&format!("RETR {path}")).expect("a reply");
        assert!(matches!(reply.code, 500..=599), "RETR {path}: {reply:?}");
    }
    for folder in ["..", "/..", "inside/../..", "../..", "/../../../../../../tmp", "/../root/.."] {
        let mut control = prey.guest();
        // Some servers stay at the root: right as well. What is outside must not be seen from wherever we are then.
        let _ = control.ask(&format!("CWD {folder}")).expect("a reply");
        let reply = control.ask("SIZE secret").expect("a reply");
        assert!(matches!(reply.code, 500..=599), "CWD {folder}: {reply:?}");
        for verb in ["LIST", "NLST", "MLSD"] {
            let mut data = control.passive().expect("a port");
            let reply = control.ask(&format!("{verb} {folder}")).expect("a reply");
            if reply.code == 150 || reply.code == 125 {
                let mut listed = String::new();
                data.read_to_string(&mut listed).expect("a listing");
                assert!(!listed.contains("secret"), "{verb} {folder}: {listed}");
                control.reply().expect("the listing's end");
            }
        }
    }
    let mut control = prey.guest();
    for target in ["../new", "/../new", "inside/../../new"] {
        // A server that renames nothing refuses both.
        let _ = control.ask("RNFR small").expect("a reply");
        let reply = control.ask(&format!("RNTO {target}")).expect("a reply");
        // A server that takes `..` of the root for the root renames within it.
        if reply.code == 250 {
            control.ask("RNFR new").and_then(|reply| reply.is(350)).expect("the new name, inside");
            control.ask("RNTO small").and_then(|reply| reply.is(250)).expect("the old name");
        }
        let reply = control.ask(&format!("MKD {target}")).expect("a reply");
        if reply.code == 257 {
            control.ask("RMD new").and_then(|reply| reply.is(250)).expect("a folder made inside");
        }
        let data = control.passive().expect("a port");
        let reply = control.ask(&format!("STOR {target}")).expect("a reply");
        if reply.code == 150 || reply.code == 125 {
            drop(data);
            control.expect(226).expect("the transfer's end");
        }
    }
    prey.unharmed();
}

/// Links that lead out are not followed, whatever is asked of them.
fn symbolic_links(prey: &Prey) {
    let root = prey.outside.join("root");
    symlink(prey.outside.path(), root.join("folder-link")).expect("a folder of ours");
    symlink("..", root.join("relative-link")).expect("a folder of ours");
    symlink(prey.outside.join("secret"), root.join("file-link")).expect("a folder of ours");
    symlink(prey.outside.join("planted"), root.join("new-link")).expect("a folder of ours");
    symlink("loop", root.join("loop")).expect("a folder of ours");
    let mut control = prey.guest();
    for path in
        ["folder-link/secret", "relative-link/secret", "file-link", "inside/../relative-link/secret", "loop"]
    {
        let reply = control.ask(&format!("SIZE {path}")).expect("a reply");
        assert!(matches!(reply.code, 500..=599), "SIZE {path}: {reply:?}");
        let _data = control.passive().expect("a port");
        let reply = control.ask(&format!("RETR {path}")).expect("a reply");
        assert!(matches!(reply.code, 400..=599), "RETR {path}: {reply:?}");
    }
    for path in ["folder-link/planted", "relative-link/planted", "new-link", "file-link"] {
        let data = control.passive().expect("a port");
        let reply = control.ask(&format!("STOR {path}")).expect("a reply");
        if reply.code == 150 || reply.code == 125 {
            // It may replace the link by a file of that name, inside: what the link points at must not be touched.
            (&data).write_all(b"planted").expect("a connection");
            drop(data);
            control.reply().expect("the transfer's end");
        }
    }
    for folder in ["folder-link", "relative-link"] {
        let _ = control.ask(&format!("CWD /{folder}")).expect("a reply");
        let reply = control.ask("SIZE secret").expect("a reply");
        assert!(matches!(reply.code, 500..=599), "CWD {folder}: {reply:?}");
        let _ = control.ask("CWD /").expect("a reply");
        let reply = control.ask(&format!("MKD {folder}/planted")).expect("a reply");
        assert!(matches!(reply.code, 500..=599), "MKD {folder}/planted: {reply:?}");
    }
    prey.unharmed();
}

/// The server connects to nobody but its client, and to no port of the system.
fn bounce(prey: &Prey) {
    let third = TcpListener::bind("127.0.0.2:0").expect("a second loopback address");
    third.set_nonblocking(true).expect("a socket of ours");
    let port = third.local_addr().expect("a bound socket").port();
    let mut control = prey.guest();
    for command in [
        format!("PORT 127,0,0,2,{},{}", port >> 8, port & 255),
        format!("EPRT |1|127.0.0.2|{port}|"),
        "PORT 127,0,0,1,0,22".into(),
        "PORT 127,0,0,1,3,255".into(),
        "EPRT |1|127.0.0.1|1023|".into(),
        "EPRT |1|127.0.0.1|0|".into(),
        "EPRT |2|::1|40000|".into(),
        "EPRT |1|127.0.0.1|70000|".into(),
        "EPRT |3|127.0.0.1|40000|".into(),
        "EPRT |1|localhost|40000|".into(),
        "PORT 127,0,0,1,300,1".into(),
        "PORT 127,0,0,1,200".into(),
        "PORT".into(),
    ] {
        let reply = control.ask(&command).expect("a reply");
        // 522 is for families, 500 to 504 for the rest.
        assert!(matches!(reply.code, 500 | 501 | 504 | 522), "{command}: {reply:?}");
        let reply = control.ask("RETR small").expect("a reply");
        assert!(matches!(reply.code, 425 | 503 | 150), "after {command}: {reply:?}");
        if reply.code == 150 {
            control.expect(425).expect("no data connection");
        }
    }
    assert!(third.accept().is_err(), "a third party was called");
    prey.unharmed();
}

/// Somebody else takes the port that was opened for a client, and gets nothing.
fn thief(prey: &Prey) {
    let mut control = prey.guest();
    let text = control.ask("EPSV").and_then(|reply| reply.is(229)).expect("a port").text;
    let port = text.split('|').nth(3).and_then(|port| port.parse().ok()).expect("a port");
    // From another address of this machine.
    let socket = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None)
        .expect("a socket");
    rustix::net::bind(&socket, &SocketAddr::from(([127, 0, 0, 3], 0))).expect("a third loopback address");
    let connected = rustix::net::connect(&socket, &SocketAddr::new(loopback(false), port));
    control.send(b"RETR small\r\n").expect("a connection");
    if connected.is_ok() {
        let mut stolen = TcpStream::from(socket);
        stolen.set_read_timeout(Some(Duration::from_secs(5))).expect("a socket of ours");
        let mut got = Vec::new();
        let _ = stolen.read_to_end(&mut got);
        assert!(got.is_empty(), "{} octets were stolen", got.len());
    }
    drop(control);
    prey.unharmed();
}

/// Clients that open a transfer and never read: they cost little, and the others do not wait for them.
fn never_reads(prey: &Prey) {
    let content = prey.with_big();
    // Whatever is made on first use is made now.
    assert_same(&prey.guest().retrieve("big").expect("a transfer"), &content);
    let before = prey.memory();
    let held: Vec<_> = (0..16)
        .map(|_| {
            let mut control = prey.guest();
            let data = control.begin("RETR big").expect("a transfer");
            (control, data)
        })
        .collect();
    thread::sleep(Duration::from_millis(200));
    assert_same(&prey.guest().retrieve("big").expect("a transfer beside the stuck ones"), &content);
    let grown = prey.memory().saturating_sub(before);
    assert!(grown < 2 * GROWTH, "{grown} kB for 16 clients that do not read");
    drop(held);
    prey.unharmed();
}

/// Ports that nobody ever comes to: one at a time for each association, and gone with it.
fn never_connects(prey: &Prey) {
    let open =
        || fs::read_dir(format!("/proc/{}/fd", prey.server.running.number())).map_or(0, Iterator::count);
    let before = open();
    let mut control = prey.guest();
    for _ in 0..500 {
        control.ask("EPSV").and_then(|reply| reply.is(229)).expect("a port");
    }
    assert!(open() <= before + 8, "{} descriptors for one client, {before} before", open());
    drop(control);
    let gone = eventually(Duration::from_secs(10), || open() <= before + 2);
    assert!(gone, "{} descriptors are left, {before} before", open());
    prey.unharmed();
}

/// A client that sends commands and never reads a reply: the server stops listening to it, not to others.
fn commands_without_end(prey: &Prey) {
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

/// A short dialogue that ends after its first octet, its second, ... : no file appears, and the server goes on.
fn dropped_at_every_octet(prey: &Prey) {
    let listener = TcpListener::bind((loopback(false), 0)).expect("a port");
    listener.set_nonblocking(true).expect("a socket of ours");
    let announcement = announcement(listener.local_addr().expect("a bound socket"));
    let dialogue = format!(
        "USER anonymous\r\nPASS guest@example.org\r\nTYPE I\r\n{announcement}\r\nSTOR new\r\nNOOP\r\nQUIT\r\n"
    );
    for length in 0..=dialogue.len() {
        for abrupt in [false, true] {
            let mut control = TcpStream::connect(prey.server.address).expect("a server that is alive");
            control.write_all(&dialogue.as_bytes()[..length]).expect("a connection");
            // The server may have come as far as to connect to us; the data connection is cut, too, and never ended.
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    DataReset,
    ControlLost,
    ServerKilled,
}

/// An upload that breaks in the middle: the old file stays whole, a new one does not appear.
fn upload_cut(prey: &Prey, cut: Cut) {
    // The last way takes the server with it, so it has one to spare.
    let mut spare = ours(&prey.outside.join("root"), false, &["--writable"]);
    let sent = octets(4, 2_000_000);
    for name in ["new", "small"] {
        let mut control = Control::guest(spare.address).expect("a login");
        let mut data = control.begin(&format!("STOR {name}")).expect("a transfer");
        data.write_all(&sent).expect("a connection");
        // Some of it has been taken and written.
        thread::sleep(Duration::from_millis(50));
        match cut {
            Cut::DataReset => {
                reset(data);
                let reply = control.reply().expect("a reply");
                assert!(matches!(reply.code, 426 | 451), "{reply:?}");
                control.ask("NOOP").and_then(|reply| reply.is(200)).expect("an association that goes on");
            }
            Cut::ControlLost => {
                drop(control);
                // The data connection is still there: it does not help.
                thread::sleep(Duration::from_millis(50));
                let _ = data.write_all(&sent);
                reset(data);
            }
            Cut::ServerKilled => {
                spare.running.kill();
                spare = ours(&prey.outside.join("root"), false, &["--writable"]);
            }
        }
        let absent = eventually(Duration::from_secs(5), || !prey.outside.join("root/new").exists());
        assert!(absent, "half a file under its final name");
    }
    if cut != Cut::ServerKilled {
        // Only a killed server may leave what nobody asked for, and then under another name.
        let clean = eventually(Duration::from_secs(5), || prey.new_names().is_empty());
        assert!(clean, "{:?} is left", prey.new_names());
    }
    prey.unharmed();
}
