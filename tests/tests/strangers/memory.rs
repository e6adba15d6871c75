//! What a server and a client hold, as the system counts it (resident memory): the bounds are those
//! that the README of FTP promises.

use std::fs::{self, File};

use libtest_mimic::Trial;
use stackwright_programs::control::Control;
use stackwright_programs::processes::run;
use stackwright_programs::scratch::Scratch;
use stackwright_programs::servers::{Server, ours};

use crate::hostile_clients::encrypted::certified;
use crate::setting::{our_client, stranger, trial};

/// A server without clients, in kilobytes, and one with TLS. Nearly all of it are pages of the
/// program, which all that run share: how many follows from what was run once.
/// They grow with the program: within 7, 8 and 9 MB while it had 18.6 MB; with 19.2, 7.4, 8.4, 9.5;
/// with 21.9, 7.7, 9.0, 10.4 to 10.7. How much of the program the system maps around what is needed
/// differs by 500 kB from start to start: the least of three counts.
const STARTS: usize = 3;
const SERVER: u64 = 33 << 8;
const SERVER_WITH_TLS: u64 = 38 << 8;
/// The server's own data.
const DATA: u64 = 1 << 10;
/// Each session, and each with TLS.
const SESSION: u64 = 16;
const SESSION_WITH_TLS: u64 = 32;
/// A client, whatever it moves or lists. Nearly all of it are pages of the program, too.
const CLIENT: u64 = 44 << 8;

/// How many sessions are open when what is made on first use is made.
const FEW: usize = 10;
const CROWDS: [usize; 2] = [200, 1_000];
/// The names of a large folder.
const NAMES: usize = 10_000;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial("memory/server".into(), &[], false, server),
        trial("memory/server/tls".into(), &["openssl", "python3"], false, server_with_tls),
        trial("memory/client/1GB".into(), &[], false, large_file),
        trial("memory/client/10000-names".into(), &[], false, large_folder),
    ]
}

fn resident(server: &Server) -> u64 {
    server.running.status("VmRSS")
}

/// Each session has logged in, listed and fetched, and is idle.
fn server() {
    let folder = Scratch::new();
    fs::write(folder.join("file"), "some").expect("a folder of ours");
    let start = |_| ours(folder.path(), false, &["--sessions-per-address", "1000"]);
    let server = (0..STARTS).map(start).min_by_key(resident).expect("there are several");
    idle_is_bounded("memory/server", &server, SERVER);
    let mut all = Vec::new();
    let mut fill = |sessions: usize| {
        while all.len() < sessions {
            let mut control = Control::guest(server.address).expect("a login");
            control.retrieve("file").expect("a transfer");
            all.push(control);
        }
        resident(&server)
    };
    let few = fill(FEW);
    for crowd in CROWDS {
        bounded("memory/server", few, fill(crowd), crowd, SESSION);
    }
}

fn idle_is_bounded(name: &str, server: &Server, most: u64) {
    let (idle, data) = (resident(server), server.running.status("RssAnon"));
    println!("{name}: {idle} kB without sessions, {data} kB of them its data");
    assert!(idle <= most && data <= DATA, "{idle} kB without sessions, {data} kB of data");
}

fn bounded(name: &str, few: u64, many: u64, crowd: usize, most: u64) {
    let sessions = (crowd - FEW) as u64;
    let each = many.saturating_sub(few) as f64 / sessions as f64;
    println!("{name}: {many} kB with {crowd} sessions, {each:.1} kB each");
    assert!(many <= few + sessions * most, "{each} kB for each of {crowd} sessions");
}

/// The same over TLS.
fn server_with_tls() {
    let script = "
import resource, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
def resident():
    for line in open('/proc/%s/status' % sys.argv[3]):
        if line.startswith('VmRSS'):
            return int(line.split()[1])
held = []
for crowd in map(int, sys.argv[4:]):
    while len(held) < crowd:
        client = Client()
        client.login()
        data = client.data(client.port(), client.socket.session)
        client.ask('RETR small', '150')
        assert len(client.fetch(data)) == 10000
        client.expects('226')
        held.append(client)
    time.sleep(0.2)
    print(resident())
";
    let options = ["--sessions-per-address", "1000"];
    let starts = (0..STARTS).map(|_| certified("--tls=required", &options));
    let least = starts.min_by_key(|(_, prey)| resident(&prey.server));
    let (shown, prey) = least.expect("there are several");
    idle_is_bounded("memory/server/tls", &prey.server, SERVER_WITH_TLS);
    let mut python = stranger("python3");
    let client = crate::hostile_clients::encrypted::CLIENT;
    python.args(["-c", &format!("{client}{script}")]).arg(&shown.certificate);
    python.arg(prey.server.address.port().to_string());
    python.arg(prey.server.running.number().to_string()).arg(FEW.to_string());
    python.args(CROWDS.map(|crowd| crowd.to_string()));
    let text = run(&mut python).succeeded().text();
    let figures: Vec<u64> = text.lines().map(|line| line.parse().expect("a number")).collect();
    for (nth, crowd) in CROWDS.into_iter().enumerate() {
        bounded("memory/server/tls", figures[0], figures[1 + nth], crowd, SESSION_WITH_TLS);
    }
}

/// A file of 1 GB, which has holes only at the server.
fn large_file() {
    let folder = Scratch::new();
    let file = File::create(folder.join("file")).expect("a folder of ours");
    file.set_len(1 << 30).expect("a folder of ours");
    let server = ours(folder.path(), false, &["--writable", "--no-sync"]);
    let arrived = folder.join("arrived");
    let get = run(our_client("get").arg(server.url("file")).arg(&arrived)).succeeded();
    assert_eq!(fs::metadata(&arrived).expect("the file").len(), 1 << 30);
    fs::remove_file(&arrived).expect("a file of ours");
    let put = run(our_client("put").arg(folder.join("file")).arg(server.url("stored"))).succeeded();
    assert_eq!(fs::metadata(folder.join("stored")).expect("the file").len(), 1 << 30);
    for (verb, client) in [("get", get), ("put", put)] {
        println!("memory/client/1GB: {verb} {} kB", client.memory);
        assert!(client.memory <= CLIENT, "{verb}: {} kB", client.memory);
    }
}

fn large_folder() {
    let folder = Scratch::new();
    fs::create_dir(folder.join("many")).expect("a folder of ours");
    for nth in 0..NAMES {
        let name = format!("many/a file of many others, the {nth}th");
        fs::write(folder.join(&name), "").expect("a folder of ours");
    }
    let server = ours(folder.path(), false, &[]);
    let ls = run(our_client("ls").arg(server.url("many/"))).succeeded();
    assert_eq!(ls.text().lines().count(), NAMES);
    println!("memory/client/10000-names: {} kB", ls.memory);
    assert!(ls.memory <= CLIENT, "{} kB", ls.memory);
}
