//! Our client with what is odd about files, names and folders, against vsftpd, pure-ftpd and
//! proftpd.

use std::env;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, SystemTime};

use libtest_mimic::Trial;
use stackwright_programs::content::{assert_same, octets};
use stackwright_programs::processes::{Outcome, run};
use stackwright_programs::scratch::{Scratch, open_to_all};
use stackwright_programs::servers::{
    Server, Vsftpd, may_mount, proftpd, pure_ftpd, vsftpd, vsftpd_for,
};

use crate::dialogue::{follow, transcript};
use crate::interrupted::{LEFT, leave_part, resumed_at};
use crate::setting::{ignorable, our_client};

/// A server that nobody here wrote.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Daemon {
    Vsftpd,
    PureFtpd,
    Proftpd,
}

impl Daemon {
    const ALL: [Daemon; 3] = [Daemon::Vsftpd, Daemon::PureFtpd, Daemon::Proftpd];

    fn program(self) -> &'static str {
        match self {
            Daemon::Vsftpd => "vsftpd",
            Daemon::PureFtpd => "pure-ftpd",
            Daemon::Proftpd => "proftpd",
        }
    }

    fn start(self, folder: &Path) -> Server {
        match self {
            Daemon::Vsftpd => vsftpd(folder, false, Vsftpd::AsItComes),
            Daemon::PureFtpd => pure_ftpd(folder, false),
            Daemon::Proftpd => proftpd(folder),
        }
    }
}

type Move = fn(&Scene);

pub(crate) fn trials() -> Vec<Trial> {
    let kinds: [(&str, Move); 10] = [
        ("sizes", sizes),
        ("names", names),
        ("folders", folders),
        ("folder-of-10000", many),
        ("links", links),
        ("file-is-listed", listed_file),
        ("absent", absent),
        ("dialogue", dialogue),
        ("get-resumed", resumed),
        ("get-of-another", another),
    ];
    let mut trials = vec![ignorable("vsftpd/two-connections".into(), &["vsftpd"], false, || {
        let served = Scratch::new();
        let server = vsftpd_for(served.path(), 2);
        few(&Scene { server, daemon: Daemon::Vsftpd, served, near: Scratch::new() });
        None
    })];
    for daemon in Daemon::ALL {
        for (name, what) in kinds {
            let name = format!("{}/{name}", daemon.program());
            trials.push(ignorable(name, &[daemon.program()], false, move || {
                if daemon == Daemon::PureFtpd && !may_mount() {
                    return Some("pure-ftpd serves one folder only; this needs to mount".into());
                }
                what(&Scene::new(daemon));
                None
            }));
        }
    }
    trials
}

/// A daemon that serves a folder, in whose folder `in` everybody may write.
struct Scene {
    server: Server,
    daemon: Daemon,
    served: Scratch,
    near: Scratch,
}

impl Scene {
    fn new(daemon: Daemon) -> Self {
        let served = Scratch::new();
        open_to_all(&served.join("in"));
        let server = daemon.start(served.path());
        Scene { server, daemon, served, near: Scratch::new() }
    }

    fn url(&self, path: &str) -> String {
        self.server.url(&encoded(path))
    }

    fn get(&self, path: &str, to: &str) -> Outcome {
        run(our_client("get").arg(self.url(path)).arg(self.near.join(to)).arg("--json"))
    }

    fn put(&self, from: &str, path: &str) -> Outcome {
        run(our_client("put").arg(self.near.join(from)).arg(self.url(path)).arg("--json"))
    }

    /// The names in a folder.
    fn list(&self, path: &str) -> Vec<String> {
        let told = run(our_client("ls").arg(self.url(path)).arg("--json")).succeeded().text();
        let mut names: Vec<String> = told
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"))
            .filter_map(|line| line["name"].as_str().map(Into::into))
            .collect();
        names.sort();
        names
    }
}

/// All that is no letter or digit, as a URL has it.
fn encoded(path: &str) -> String {
    let plain = |octet: u8| octet.is_ascii_alphanumeric() || octet == b'/';
    let encode = |octet: u8| {
        if plain(octet) { char::from(octet).to_string() } else { format!("%{octet:02X}") }
    };
    path.bytes().map(encode).collect()
}

fn sizes(scene: &Scene) {
    let mut sizes = vec![0, 1, 1_000_000];
    // A gigabyte takes its time: it is moved where somebody asks for it.
    sizes.extend(env::var_os("STACKWRIGHT_GIGABYTE").map(|_| 1_000_000_000));
    for size in sizes {
        let content = octets(size as u64, size);
        fs::write(scene.near.join("sent"), &content).expect("a folder of ours");
        scene.put("sent", "in/file").succeeded();
        assert_same(&fs::read(scene.served.join("in/file")).expect("the file"), &content);
        fs::rename(scene.served.join("in/file"), scene.served.join("file")).expect("its own");
        scene.get("file", "arrived").succeeded();
        assert_same(&fs::read(scene.near.join("arrived")).expect("the file"), &content);
    }
}

fn names(scene: &Scene) {
    let long = "x".repeat(255);
    let wide = "日".repeat(85);
    let names = [
        "with space",
        " blanks ",
        "-dash",
        "--",
        ".hidden",
        "ünï 日本語",
        "[a]*?",
        "#?%41;type=a",
        "quote\"s'",
        "back\\slash",
        "~",
        "a&b$c`d",
        &long,
        &wide,
    ];
    for name in names {
        // Guests of pure-ftpd store no names that are hidden or odd.
        if scene.daemon == Daemon::PureFtpd
            && [" blanks ", ".hidden", "back\\slash"].contains(&name)
        {
            continue;
        }
        fs::write(scene.near.join("sent"), name).expect("a folder of ours");
        scene.put("sent", &format!("in/{name}")).succeeded();
        let stored = fs::read(scene.served.join("in").join(name));
        assert_same(&stored.unwrap_or_else(|error| panic!("{name}: {error}")), name.as_bytes());
        if !name.starts_with('.') {
            assert_eq!(scene.list("in/"), [name]);
        }
        fs::rename(scene.served.join("in").join(name), scene.served.join(name)).expect("its own");
        scene.get(name, "arrived").succeeded();
        let arrived = fs::read(scene.near.join("arrived")).expect("the file");
        assert_same(&arrived, name.as_bytes());
    }
}

fn folders(scene: &Scene) {
    for name in ["with space", "[a]", "-dash", "*", "a/b c/d"] {
        let folder = scene.served.join(name);
        fs::create_dir_all(&folder).expect("a folder of ours");
        fs::write(folder.join("one"), name).expect("a folder of ours");
        assert_eq!(scene.list(&format!("{name}/")), ["one"], "{name}");
        scene.get(&format!("{name}/one"), "arrived").succeeded();
        assert_same(&fs::read(scene.near.join("arrived")).expect("the file"), name.as_bytes());
    }
}

fn many(scene: &Scene) {
    let folder = scene.served.join("many");
    fs::create_dir(&folder).expect("a folder of ours");
    let mut expected = Vec::new();
    // pure-ftpd lists 10 000 names at most, the folder itself and that above among them.
    for number in 0..9_998 {
        let name = format!("file {number:05}");
        File::create(folder.join(&name)).expect("room for the file");
        expected.push(name);
    }
    assert!(scene.list("many/") == expected, "all are listed");
}

fn links(scene: &Scene) {
    fs::write(scene.served.join("file"), "content").expect("a folder of ours");
    symlink("file", scene.served.join("link")).expect("a folder of ours");
    assert_eq!(scene.list(""), ["file", "in", "link"]);
    scene.get("link", "arrived").succeeded();
    assert_same(&fs::read(scene.near.join("arrived")).expect("the file"), b"content");
}

/// Some of them know no folder of that name, and some list a file like a folder.
fn listed_file(scene: &Scene) {
    fs::write(scene.served.join("a file"), "content").expect("a folder of ours");
    let outcome = run(our_client("ls").arg(scene.url("a file")).arg("--json")).succeeded();
    let line: serde_json::Value = serde_json::from_str(outcome.text().trim()).expect("one line");
    assert_eq!(line["name"], "a file", "{line}");
    assert_eq!(line["octets"], 7, "{line}");
}

fn absent(scene: &Scene) {
    run(our_client("ls").arg(scene.url("nothing/"))).exited(1);
    run(our_client("ls").arg(scene.url("nothing"))).exited(1);
    scene.get("nothing", "arrived").exited(1);
    assert_eq!(scene.near.names(), [""; 0], "nothing is left");
}

/// Each command and reply is a transition of the specification. These servers take commands before
/// they have replied to the one before.
fn dialogue(scene: &Scene) {
    fs::write(scene.served.join("file"), octets(5, 300_000)).expect("a folder of ours");
    let mut get = our_client("get");
    get.arg("--verbose").arg(scene.url("file")).arg(scene.near.join("file"));
    let said = run(&mut get).succeeded().complaints;
    follow(&transcript(&String::from_utf8_lossy(&said)), 2);
}

/// Lets a run be killed when it has left something of a file.
fn left(scene: &Scene) -> Vec<u8> {
    let content = octets(5, 3_000_000);
    fs::write(scene.served.join("file"), &content).expect("a folder of ours");
    set_age(scene, 1000);
    let mut get = our_client("get");
    get.arg(scene.url("file")).arg(scene.near.join("file"));
    leave_part(&mut get, &scene.near);
    content
}

/// Sets how many seconds ago the file was modified.
fn set_age(scene: &Scene, seconds: u64) {
    let file = File::options().write(true).open(scene.served.join("file")).expect("the file");
    file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).expect("a time");
}

fn resumed(scene: &Scene) {
    let content = left(scene);
    let told = scene.get("file", "file").succeeded().text();
    assert!(resumed_at(&told).is_some_and(|octets| octets >= LEFT), "{told}");
    assert_same(&fs::read(scene.near.join("file")).expect("the file"), &content);
    assert_eq!(scene.near.names(), ["file"], "no part is left");
}

/// A file that was modified since is fetched anew, also where it is as long and seems older.
fn another(scene: &Scene) {
    for age in [0, 2000] {
        let content: Vec<u8> = left(scene).iter().map(|octet| !octet).collect();
        fs::write(scene.served.join("file"), &content).expect("a folder of ours");
        set_age(scene, age);
        let told = scene.get("file", "file").succeeded().text();
        assert_eq!(resumed_at(&told), None, "{told}");
        assert_same(&fs::read(scene.near.join("file")).expect("the file"), &content);
    }
}

/// Many files, of a server that serves one client two connections.
fn few(scene: &Scene) {
    let folder = scene.served.join("few");
    fs::create_dir(&folder).expect("a folder of ours");
    for nth in 0..20 {
        fs::write(folder.join(format!("f{nth}")), octets(nth, 3000)).expect("a folder of ours");
    }
    let target = scene.near.join("few");
    let mut mirror = our_client("mirror");
    mirror.args(["--retries", "0", "--parallel", "4"]).arg(scene.url("few/")).arg(&target);
    run(&mut mirror).succeeded();
    for nth in 0..20 {
        let fetched = fs::read(target.join(format!("f{nth}"))).expect("the file");
        assert_same(&fetched, &octets(nth, 3000));
    }
}
