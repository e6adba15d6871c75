//! The program on the run-time graph: files moved by described stacks, and what is said of such
//! stacks.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Once};

use serde_json::Value;
use stackwright_programs::content::{assert_same, octets};
use stackwright_programs::processes::{Outcome, run, stackwright, use_program};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Server, ours};

/// The program that was built with this test, wherever the tests' folder looks for it.
fn the_program() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| use_program(env!("CARGO_BIN_EXE_stackwright").into()));
}

fn say(arguments: &[&str]) -> Outcome {
    the_program();
    run(Command::new(stackwright()).args(arguments))
}

fn serve(folder: &Path, options: &[&str]) -> Server {
    the_program();
    ours(folder, false, options)
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a scratch folder's name is a text")
}

fn complaints(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.complaints).into_owned()
}

/// Longer than what is done on the stack's own thread, and no multiple of a block.
const LENGTH: usize = 3_000_001;

/// Moves a file there and back, and lists the folder.
fn moves(server: &Server, far: &Scratch, stack: &[&str]) {
    let near = Scratch::new();
    let content = octets(7, LENGTH);
    fs::write(far.join("file"), &content).expect("a folder of ours");
    let fetched = near.join("fetched");
    let (url, back) = (server.url("file"), server.url("back"));
    say(&[&["get", &url, path(&fetched)], stack].concat()).succeeded();
    assert_same(&fs::read(&fetched).expect("it was fetched"), &content);
    say(&[&["put", path(&fetched), &back], stack].concat()).succeeded();
    assert_same(&fs::read(far.join("back")).expect("it was stored"), &content);
    let listed = say(&[&["ls", &server.url(""), "--json"], stack].concat()).succeeded().text();
    let mut names: Vec<_> = listed.lines().map(|line| json(line)["name"].clone()).collect();
    names.sort_by_key(ToString::to_string);
    assert_eq!(names, ["back", "file"], "{listed}");
}

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
}

#[test]
fn a_file_moves_between_graphs_and_static_stacks() {
    for (client, options) in [
        (&["--stack", "get"][..], &["--writable", "--stack", "serve"][..]),
        (&["--stack", "get", "--active"], &["--writable"]),
        (&[], &["--writable", "--stack", "serve"]),
    ] {
        let far = Scratch::new();
        moves(&serve(far.path(), options), &far, client);
    }
}

#[test]
fn a_file_moves_where_a_file_describes_the_stack_in_another_order() {
    let (far, files) = (Scratch::new(), Scratch::new());
    // Nodes are made in the order of their lanes, not in that of the file.
    let near = "top = \"c\"\n[d]\nprotocol = \"disk\"\n[t]\nprotocol = \"tcp\"\n[c]\nprotocol = \"copy\"\nover = [\"f\", \"d\"]\n\
                [f]\nprotocol = \"ftp client\"\nover = \"t\"\nactive = true\ntimeout = 20\nsessions = 1\n";
    let there = "top = \"s\"\n[disk]\nwritable = true\n[s]\nprotocol = \"ftp server\"\nover = [\"tcp\", \"disk\"]\nwritable = true\n\
                 sessions = 3\nidle = 60\ngreeting = \"hello\"\n[tcp]\n";
    fs::write(files.join("near.toml"), near).expect("a folder of ours");
    fs::write(files.join("there.toml"), there).expect("a folder of ours");
    let server = serve(far.path(), &["--stack", path(&files.join("there.toml"))]);
    moves(&server, &far, &["--stack", path(&files.join("near.toml"))]);
    let dialogue =
        say(&["ls", &server.url(""), "--stack", path(&files.join("near.toml")), "--verbose"]);
    assert!(complaints(&dialogue.succeeded()).contains("220 hello"));
}

#[test]
fn a_file_moves_over_datagrams() {
    let (far, files) = (Scratch::new(), Scratch::new());
    // Stop-and-wait has one association with each peer, so that there is one session. UDP sends no
    // regions of files.
    let streams =
        "[ordered]\nover = \"stop-and-wait\"\n[stop-and-wait]\nover = \"udp\"\n[udp]\n[disk]\n";
    let near = "top = \"copy\"\n[copy]\nover = [\"ftp\", \"disk\"]\n[ftp]\nprotocol = \"ftp client\"\nover = \"ordered\"\n\
                sessions = 1\n";
    let there = "top = \"ftp\"\n[ftp]\nprotocol = \"ftp server\"\nover = [\"ordered\", \"disk\"]\n";
    fs::write(files.join("near.toml"), [near, streams].concat()).expect("a folder of ours");
    fs::write(files.join("there.toml"), [there, streams].concat()).expect("a folder of ours");
    let server = serve(far.path(), &["--writable", "--stack", path(&files.join("there.toml"))]);
    moves(&server, &far, &["--stack", path(&files.join("near.toml")), "--active"]);
}

#[test]
fn a_relay_is_a_server_on_a_client() {
    let (far, files) = (Scratch::new(), Scratch::new());
    fs::write(far.join("file"), octets(8, LENGTH)).expect("a folder of ours");
    let server = serve(far.path(), &[]);
    // Both ends of the relay share one adapter.
    let relay = format!(
        "top = \"ftp server\"\n[\"ftp server\"]\nover = [\"tcp\", \"ftp client\"]\n[tcp]\n\
         [\"ftp client\"]\nover = \"tcp\"\nserver = \"{}\"\n",
        server.address
    );
    fs::write(files.join("relay.toml"), relay).expect("a folder of ours");
    let relay = serve(files.path(), &["--stack", path(&files.join("relay.toml"))]);
    let fetched = files.join("fetched");
    say(&["get", &relay.url("file"), path(&fetched)]).succeeded();
    assert_same(&fs::read(&fetched).expect("it was fetched"), &octets(8, LENGTH));
}

/// Passes on what goes through it (CONNECT), and counts the associations.
fn proxy() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let (address, passed) = (listener.local_addr().expect("bound"), Arc::<AtomicUsize>::default());
    let count = Arc::clone(&passed);
    std::thread::spawn(move || {
        for near in listener.incoming().map_while(Result::ok) {
            let mut request = BufReader::new(near.try_clone().expect("a descriptor")).lines();
            let first = request.next().expect("a request").expect("a line");
            while request.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let to = first.split(' ').nth(1).expect("CONNECT host:port");
            let far = TcpStream::connect(to).expect("the server");
            count.fetch_add(1, Relaxed);
            (&near).write_all(b"HTTP/1.1 200 OK\r\n\r\n").expect("the client waits");
            let ends = [(&near, &far), (&far, &near)];
            for (from, to) in ends.map(|(from, to)| (from.try_clone(), to.try_clone())) {
                let (mut from, mut to) = (from.expect("a descriptor"), to.expect("a descriptor"));
                std::thread::spawn(move || {
                    let _ = std::io::copy(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Write);
                });
            }
        }
    });
    (address, passed)
}

#[test]
fn a_described_stack_goes_through_the_commands_proxy_or_is_refused() {
    let (far, files) = (Scratch::new(), Scratch::new());
    let server = serve(far.path(), &["--writable"]);
    let stack = files.join("stack.toml");
    let with = "top = \"copy\"\n[copy]\nover = [\"ftp client\", \"disk\"]\n[\"ftp client\"]\nover = \"proxy\"\n[proxy]\nover = \"tcp\"\n[tcp]\n[disk]\n";
    fs::write(&stack, with).expect("a folder of ours");
    let (address, passed) = proxy();
    let proxy = format!("http://{address}");
    moves(&server, &far, &["--stack", path(&stack), "--proxy", &proxy]);
    let through = passed.load(Relaxed);
    assert!(through >= 6, "each command has a control and a data connection: {through}");
    // Nothing goes past a proxy that is asked for.
    let near = files.join("near");
    let outcome =
        say(&["get", &server.url("file"), path(&near), "--stack", "get", "--proxy", &proxy]);
    let outcome = outcome.exited(1);
    let says = "no `proxy` of it takes the command's";
    assert!(complaints(&outcome).contains(says), "{}", complaints(&outcome));
    assert!(!near.exists() && passed.load(Relaxed) == through);
}

#[test]
fn a_stack_that_does_not_fit_the_command_is_refused() {
    let (far, files) = (Scratch::new(), Scratch::new());
    let server = serve(far.path(), &["--writable"]);
    fs::write(files.join("mine"), "mine").expect("a folder of ours");
    let stack = files.join("stack.toml");
    for (text, says) in [
        (
            "top = \"ftp\"\n[ftp]\nprotocol = \"ftp client\"\nover = \"tcp\"\n[tcp]\n",
            "stack.toml:1:7: the top, `ftp`, provides Files, and the application expects Copying",
        ),
        // What shall be fetched would be stored.
        (
            "top = \"copy\"\n[copy]\nover = [\"disk\", \"ftp client\"]\n[\"ftp client\"]\nover = \"tcp\"\n[tcp]\n[disk]\n",
            "stack.toml: the copy needs the command's folder on its right",
        ),
        (
            "top = \"copy\"\n[copy]\nover = [\"a\", \"b\"]\n[a]\nprotocol = \"disk\"\nroot = \"/\"\n[b]\nprotocol = \"disk\"\n",
            "stack.toml: the copy needs the command's server on its left",
        ),
        (
            "top = \"copy\"\n[copy]\nover = [\"a\", \"b\"]\n[a]\nprotocol = \"disk\"\n[b]\nprotocol = \"disk\"\n",
            "stack.toml:6:2: `b` needs the parameter `root`, a folder",
        ),
    ] {
        fs::write(&stack, text).expect("a folder of ours");
        let outcome =
            say(&["get", &server.url("mine"), path(&files.join("mine")), "--stack", path(&stack)])
                .exited(1);
        assert!(complaints(&outcome).contains(says), "{}", complaints(&outcome));
    }
    assert_eq!((far.names(), fs::read(files.join("mine")).ok()), (vec![], Some(b"mine".to_vec())));
    let outcome = say(&["serve", path(far.path()), "--stack", "get"]).exited(1);
    let says = "get:3:7: the top, `copy`, provides Copying, and the application expects Serving";
    assert!(complaints(&outcome).contains(says), "{}", complaints(&outcome));
    // A password is asked for only when the stack fits.
    let outcome = say(&["ls", "ftp://ann@127.0.0.1:1/", "--stack", "serve"]).exited(1);
    assert!(
        complaints(&outcome).contains("the application expects Copying"),
        "{}",
        complaints(&outcome)
    );
    // A file does not open a door that the command line keeps shut.
    fs::write(&stack, "top = \"s\"\n[s]\nprotocol = \"ftp server\"\nwritable = true\nover = [\"tcp\", \"disk\"]\n[tcp]\n[disk]\n")
        .expect("a folder of ours");
    let outcome =
        say(&["serve", path(far.path()), "--listen", "0.0.0.0:0", "--stack", path(&stack)])
            .exited(2);
    assert!(complaints(&outcome).contains("could upload files"), "{}", complaints(&outcome));
}

#[test]
fn a_flaw_is_shown_where_it_is() {
    let files = Scratch::new();
    let flawed = files.join("flawed.toml");
    fs::write(&flawed, "top = \"copy\"\n\n[copy]\nover = [\"ftp\", \"disc\"]\n[ftp]\nprotocol = \"ftp client\"\nover = \"tcp\"\n[tcp]\n[disk]\n")
        .expect("a folder of ours");
    let place = format!("{}:4:16: ", path(&flawed));
    let says = "`copy` stands on `disc`, which is not in this graph; is `disk` meant?";
    for command in ["explain", "draw"] {
        let outcome = say(&[command, path(&flawed)]).exited(1);
        let caret = "  4 | over = [\"ftp\", \"disc\"]\n    |                ^\n";
        let complaints = complaints(&outcome);
        assert!(complaints.contains(&format!("{place}{says}\n{caret}")), "{complaints}");
        assert!(
            complaints.ends_with("shows an example\n") && outcome.output.is_empty(),
            "{complaints}"
        );
    }
    let told = json(&say(&["explain", path(&flawed), "--json"]).exited(1).text());
    assert_eq!((&told["line"], &told["column"]), (&4.into(), &16.into()));
    assert_eq!(told["error"], format!("{place}{says}"));
    let outcome = say(&["get", "ftp://127.0.0.1:1/x", "--stack", path(&flawed)]).exited(1);
    assert!(complaints(&outcome).contains(&place), "before anybody is called");
    let outcome = say(&["draw", "no-such-stack"]).exited(1);
    assert!(complaints(&outcome).contains("get, put, ls, serve"));
    for (text, says) in [
        (
            "top = \"disk\"\n[disk]\nroot = \"/\"\nlane = 3\n",
            ":4:1: `disk` has no parameter `lane`",
        ),
        (
            "top = \"f\"\n[f]\nprotocol = \"ftp client\"\nover = \"tcp\"\ntimeout = 0\n[tcp]\n",
            ":5:11: `timeout` of `f` is from 1 to 86400, and 0",
        ),
        (
            "top = \"f\"\n[f]\nprotocol = \"ftp client\"\nover = \"tcp\"\nserver = \"here\"\n[tcp]\n",
            ":5:10: `server` of `f` is an address and a port",
        ),
        (
            "top = \"f\"\n[f]\nprotocol = \"ftp server\"\nover = [\"tcp\", \"disk\"]\ngreeting = \"a\\r\\nb\"\n[tcp]\n[disk]\n",
            ":5:12: `greeting` of `f` must be one line",
        ),
    ] {
        fs::write(&flawed, text).expect("a folder of ours");
        let complaints = complaints(&say(&["explain", path(&flawed)]).exited(1));
        assert!(complaints.contains(says), "{complaints}");
    }
    let mut many = String::from("top = [\"t0\"]\n");
    (0..17).for_each(|node| many += &format!("[t{node}]\nprotocol = \"tcp\"\n"));
    fs::write(&flawed, many).expect("a folder of ours");
    let outcome = say(&["draw", path(&flawed)]).exited(1);
    assert!(complaints(&outcome).contains(":34:2: `t16` is one adapter too many; the limit is 16"));
}

#[test]
fn a_stack_is_explained_and_drawn() {
    let explained = say(&["explain", "get"]).succeeded().text();
    assert!(explained.starts_with("`get` is accepted: it provides Copying.\n"), "{explained}");
    assert!(
        explained.contains("`copy` fits on `ftp`") && explained.contains("in lane 1."),
        "{explained}"
    );
    let told = json(&say(&["explain", "serve", "--json"]).succeeded().text());
    assert_eq!((&told["accepted"], &told["provides"][0]), (&true.into(), &"Serving".into()));
    let files = Scratch::new();
    let stack = files.join("stack.toml");
    fs::write(
        &stack,
        "top = \"stop-and-wait\"\n[stop-and-wait]\nover = \"udp\"\npatience = 50\n[udp]\n",
    )
    .expect("a folder of ours");
    let told = json(&say(&["explain", path(&stack), "--json"]).succeeded().text());
    assert_eq!(told["provides"], Value::from(vec!["Datagrams"]));
    assert!(
        told["guarantees"]
            .as_array()
            .is_some_and(|guarantees| guarantees.contains(&"reliable delivery".into()))
    );
    let drawn = say(&["draw", path(&stack)]).succeeded().text();
    assert!(
        drawn.contains("│ stop-and-wait │") && drawn.contains("Readiness: outside, lane 0"),
        "{drawn}"
    );
    let dot = say(&["draw", "put", "--dot"]).succeeded().text();
    assert!(dot.starts_with("digraph ") && dot.contains("\"ftp: ftp client\""), "{dot}");
    let listed = say(&["explain"]).succeeded().text();
    for protocol in
        ["copy", "disk", "ftp client", "ftp server", "ordered", "stop-and-wait", "tcp", "udp"]
    {
        assert!(
            listed.lines().any(|line| line.starts_with(protocol) && line.contains("provides")),
            "{listed}"
        );
    }
}

#[test]
fn features_are_drawn_and_listed() {
    let text = say(&["features"]).succeeded().text();
    let row =
        |line: &&str| line.get(..2).is_some_and(|number| number.trim().parse::<usize>().is_ok());
    let rows: Vec<_> = text.lines().filter(row).collect();
    assert_eq!(rows.len(), 48, "{text}");
    assert!(rows.iter().all(|row| row.split_whitespace().count() == 4 + 7 + 1), "{text}");
    assert_eq!(rows.iter().filter(|row| row.ends_with(" yes")).count(), 32);
    assert_eq!(text.matches("it needs timers, and `events` is Absent").count(), 1, "{text}");
    assert!(
        text.contains("├── events     Absent | Simple | DeltaList | TimingWheel")
            && text.contains("generate! {")
    );
    let rows: Vec<_> = say(&["features", "--json"]).succeeded().text().lines().map(json).collect();
    assert_eq!(rows.len(), 48);
    assert_eq!(
        rows[0]["parts"]["open"],
        "`open` needs to open associations, and `opening` is Absent"
    );
    assert_eq!((&rows[47]["row"], &rows[47]["parts"]["timers"]), (&48.into(), &true.into()));
    let completed = say(&["features", "events: Simple"]).succeeded().text();
    assert!(
        completed.starts_with("message: BufferTree, session: Present, events: Simple"),
        "{completed}"
    );
    let refused = say(&["features", "events: Wheel"]).exited(1);
    assert!(complaints(&refused).contains("`events` has no alternative `Wheel`"));
}

/// Programs share a TNC through a hub: one node on streams and on frames.
#[test]
fn a_hub_in_front_of_a_tnc_is_drawn_and_explained() {
    let files = Scratch::new();
    let stack = files.join("hub.toml");
    let text = "top = \"hub\"\n[hub]\nprotocol = \"kiss hub\"\nlisten = \"127.0.0.1:8101\"\nover = [\"tcp\", \"kiss\"]\n\
                [tcp]\n[kiss]\nover = \"line\"\nrate = 9600\nleave = \"\\u00C0\\u00FF\\u00C0\"\n[line]\nto = \"LINE\"\n";
    fs::write(&stack, text.replace("LINE", "tcp://tnc.example:8001")).expect("a folder of ours");
    let drawn = say(&["draw", path(&stack)]).succeeded().text();
    assert!(drawn.contains("hub: kiss hub") && drawn.contains("Octets"), "{drawn}");
    let explained = say(&["explain", path(&stack)]).succeeded().text();
    assert!(explained.contains("it provides Frames"), "{explained}");
    assert!(!explained.contains("altered octets"), "a line has no check: {explained}");
    fs::write(&stack, text.replace("LINE", "/dev/ttyUSB0")).expect("a folder of ours");
    let refused = complaints(&say(&["draw", path(&stack)]).failed());
    assert!(refused.contains("serial:///dev/ttyUSB0"), "{refused}");
}
