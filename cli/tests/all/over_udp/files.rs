//! Files move, or do not, and that is said.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use stackwright_programs::content::{assert_same, octets};
use stackwright_programs::processes::Running;
use stackwright_programs::scratch::Scratch;

use crate::over_udp::relay::{ADDRESS, Carried, Relay};
use crate::over_udp::{
    ARTP, Server, Transport, XTP, complaints, json, path, program, say, wireshark, xtp,
};

/// A folder with files of these lengths, each with its length as its name.
fn files() -> Scratch {
    let folder = Scratch::new();
    for length in [0, 1, 1_000_000] {
        fs::write(folder.join(&length.to_string()), octets(length as u64, length))
            .expect("a folder of ours");
    }
    folder
}

/// Fetches all files, stores one, and lists the folder.
fn moves(url: &dyn Fn(&str) -> String, far: &Path, options: &[&str]) {
    let near = Scratch::new();
    for name in ["0", "1", "1000000"] {
        let fetched = near.join(name);
        say(&[&["get", &url(name), path(&fetched)], options].concat()).succeeded();
        let [fetched, sent] =
            [fetched, far.join(name)].map(|file| fs::read(file).expect("it is there"));
        assert_same(&fetched, &sent);
    }
    say(&[&["put", path(&near.join("1000000")), &url("back")], options].concat()).succeeded();
    let [stored, sent] =
        ["back", "1000000"].map(|name| fs::read(far.join(name)).expect("it is there"));
    assert_same(&stored, &sent);
    let listed = say(&[&["ls", &url(""), "--json"], options].concat()).succeeded().text();
    let mut names: Vec<_> = listed.lines().map(|line| json(line)["name"].to_string()).collect();
    names.sort();
    assert_eq!(names, ["\"0\"", "\"1\"", "\"1000000\"", "\"back\""], "{listed}");
}

#[test]
fn files_move_both_ways() {
    for transport in [ARTP, XTP] {
        let far = files();
        let server = Server::over(transport, far.path(), &["--writable"]);
        let url = |name: &str| server.url(name);
        moves(&url, far.path(), &[]);
        moves(&url, far.path(), &["--active"]);
        moves(&url, far.path(), &["--packet", "300"]);
    }
}

/// A server at all addresses of a host is reached at each, as over TCP.
#[test]
fn a_server_at_all_addresses_is_reached_at_each() {
    for transport in [ARTP, XTP] {
        for (here, addresses) in [
            ("0.0.0.0:0", &["127.0.0.1", "127.0.0.2", "127.6.5.4"][..]),
            ("[::]:0", &["127.0.0.3", "[::1]"]),
        ] {
            let far = files();
            let server = Server::start(transport, far.path(), &[&format!("--{transport}={here}")]);
            for address in addresses {
                let near = Scratch::new();
                let fetched = near.join("fetched");
                let url = format!("ftp+{transport}://{address}:{}/1000000", server.port);
                say(&["get", &url, path(&fetched)]).succeeded();
                let fetched = fs::read(&fetched).expect("it is there");
                assert_same(&fetched, &fs::read(far.join("1000000")).expect("it is there"));
            }
        }
    }
}

/// An option that what is below FTP would ignore is refused, at both ends.
#[test]
fn an_option_that_would_be_ignored_is_refused() {
    let far = files();
    for (words, option) in [
        (&["get", "--packet", "1000", "ftp://127.0.0.1:9/file"][..], "--packet"),
        (&["ls", "--packet", "1000", "ftps://127.0.0.1:9/"], "--packet"),
        (&["get", "--proxy", "socks5://127.0.0.1:9", "ftp+artp://127.0.0.1:9/file"], "--proxy"),
        (&["ls", "--proxy", "socks5://127.0.0.1:9", "ftp+xtp://127.0.0.1:9/"], "--proxy"),
        (&["ls", "--tls", "ftp+artp://127.0.0.1:9/"], "--tls"),
        (&["serve", path(far.path()), "--packet", "1000"], "--packet"),
    ] {
        let refused = complaints(&say(words).exited(2));
        assert!(refused.contains(option), "{words:?}: {refused}");
    }
}

#[test]
fn a_described_stack_does_the_same() {
    for transport in [ARTP, XTP] {
        let far = files();
        let stack = format!("serve-{transport}");
        let options = ["--writable", "--listen", "127.0.0.1:0", "--stack", &stack];
        let server = Server::start(transport, far.path(), &options);
        moves(&|name| server.url(name), far.path(), &["--stack", &format!("get-{transport}")]);
        moves(&|name| server.url(name), far.path(), &[]);
    }
}

/// `cargo test --release -p stackwright-cli --test all -- --ignored over_udp::files::long`
#[test]
#[ignore = "it moves 100 MB twice"]
fn a_long_file_moves_both_ways_over_xtp() {
    let (far, near) = (Scratch::new(), Scratch::new());
    let sent = octets(1, 100_000_000);
    fs::write(far.join("long"), &sent).expect("a folder of ours");
    let server = Server::over(XTP, far.path(), &["--writable"]);
    let fetched = near.join("long");
    say(&["get", &server.url("long"), path(&fetched)]).succeeded();
    assert_same(&fs::read(&fetched).expect("it is there"), &sent);
    say(&["put", path(&fetched), &server.url("back")]).succeeded();
    assert_same(&fs::read(far.join("back")).expect("it is there"), &sent);
}

/// Every tenth datagram is lost, and all that was carried is shown alike by us and by Wireshark.
fn mends(transport: Transport, headers: &[&str]) -> Carried {
    let far = files();
    let server = Server::over(transport, far.path(), &["--writable"]);
    let relay = Relay::start(server.port);
    let url = |name: &str| format!("ftp+{transport}://{ADDRESS}:{}/{name}", server.port);
    moves(&url, far.path(), &[]);
    let carried = relay.stop();
    assert!(carried.lost > 100, "{} were lost", carried.lost);
    let seen = wireshark::agrees(transport, &carried.capture, &carried.ports);
    for header in headers {
        assert!(seen.iter().any(|there| there == header), "{header} is not in {seen:?}");
    }
    carried
}

#[test]
fn losses_are_mended_over_artp() {
    let options = ["OptionHeader", "Credit", "Fragment", "Signed", "Proposal", "Token"];
    mends(ARTP, &[&options[..], &["Close", "ArrivedRange"]].concat());
}

#[test]
fn losses_are_mended_over_xtp() {
    let segments = ["AddressHeader", "InternetAddress", "TrafficHeader", "ControlSegment"];
    let headers = [&segments[..], &["KeyExchange", "SpanCount", "SpanSegment"]].concat();
    let read = xtp::is_read_alike(&mends(XTP, &headers).packets);
    for kind in ["CNTL", "DATA", "DIAG", "ECNTL", "FIRST", "TCNTL"] {
        assert!(read.is_empty() || read.iter().any(|packet| packet["format"] == kind), "{kind}");
    }
}

#[test]
fn nobody_is_there() {
    for transport in [ARTP, XTP] {
        let outcome = say(&["ls", &format!("ftp+{transport}://127.0.0.1:1/")]).exited(3);
        let complaints = complaints(&outcome);
        assert!(complaints.contains("the other side cannot be reached"), "{complaints}");
    }
}

#[test]
fn what_is_not_there_is_refused() {
    let far = files();
    let server = Server::over(ARTP, far.path(), &[]);
    let near = Scratch::new();
    let outcome = say(&["get", &server.url("nothing"), path(near.path())]).exited(1);
    assert!(complaints(&outcome).contains("the server said: 550"), "{}", complaints(&outcome));
    let outcome = say(&["put", path(&far.join("1")), &server.url("new")]).exited(1);
    assert!(complaints(&outcome).contains("the server said: 5"), "{}", complaints(&outcome));
    assert_eq!((near.names(), far.names().len()), (Vec::new(), 3));
}

/// What is said of a transfer of a long file whose server is killed in the middle: the last line,
/// as JSON.
fn killed(server: &mut Server, arguments: &[&str]) -> String {
    let mut command = program();
    command.args(arguments).args(["--json", "--timeout", "6", "--retries", "0"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut client = Running::start(&mut command);
    let mut lines = BufReader::new(client.output()).lines().map(|line| json(&line.expect("text")));
    assert_eq!(lines.next().expect("a line")["event"], "began");
    // Until nothing is on its way any more between the two but the file.
    thread::sleep(Duration::from_millis(300));
    server.running.kill();
    let last = lines.next().expect("a line");
    assert_eq!(last["event"], "failed", "{last}");
    last["error"].as_str().expect("a text").to_owned()
}

/// A file that takes longer than the test.
fn long_file(folder: &Scratch) -> PathBuf {
    let name = folder.join("long");
    let file = fs::File::create(&name).expect("a folder of ours");
    file.set_len(4 << 30).expect("a file with a hole");
    name
}

/// The kernel of the server's machine says that nobody is at its port any more. Anybody can say
/// that of a server who was heard, so it is the client's patience with a silent one that ends: over
/// the session of the file, or the idle one of the commands.
#[test]
fn a_server_is_killed_while_it_stores() {
    let (far, near) = (Scratch::new(), Scratch::new());
    let file = long_file(&near);
    let mut server = Server::over(ARTP, far.path(), &["--writable"]);
    let url = server.url("long");
    let error = killed(&mut server, &["put", path(&file), &url]);
    let known = ["the other side took too long", "the connection to the files was lost"];
    assert!(known.iter().any(|known| error.contains(known)), "{error}");
    assert!(!far.join("long").exists());
}

/// Whoever only hears may have nothing to say just then, and is not told.
#[test]
fn a_server_is_killed_while_it_is_read() {
    let (far, near) = (Scratch::new(), Scratch::new());
    long_file(&far);
    let mut server = Server::over(ARTP, far.path(), &[]);
    let url = server.url("long");
    let error = killed(&mut server, &["get", &url, path(near.path())]);
    let says = ["the connection to the files was lost", "the other side took too long"];
    assert!(says.iter().any(|says| error.contains(says)), "{error}");
    // What arrived is hidden, for the next time.
    let names = near.names();
    assert!(names.iter().all(|name| name.starts_with(".long.")), "{names:?}");
}

#[test]
fn what_contradicts_itself_is_refused() {
    let folder = Scratch::new();
    for options in [
        &["--artp", "--listen", "127.0.0.1:0"][..],
        &["--artp", "--stack", "serve-artp"],
        &["--artp", "--xtp"],
        &["--xtp", "--listen", "127.0.0.1:0"],
        &["--xtp", "--tls"],
        &["--xtp=0.0.0.0:0", "--writable"],
        &["--xtp=127.0.0.1:0", "--packet", "190"],
        &["--artp=0.0.0.0:0", "--writable"],
        &["--artp=127.0.0.1:0", "--packet", "190"],
    ] {
        say(&[&["serve", path(folder.path())], options].concat()).exited(2);
    }
    let outcome = say(&["get", "gopher://127.0.0.1/file"]).exited(2);
    assert!(complaints(&outcome).contains("ftp+artp://"), "{}", complaints(&outcome));
}
