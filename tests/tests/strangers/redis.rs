//! `group store` and clients of Redis: what redis-cli and redis-benchmark do, and what they are
//! told while replicas are killed. `STACKWRIGHT_KILLS=60` kills as many.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use fastrand::Rng;
use libtest_mimic::Trial;
use stackwright_programs::processes::{Running, eventually, stackwright};

use crate::setting::{stranger, trial};

/// Replicas killed, unless the environment says how many.
const KILLS: usize = 4;
const SEED: u64 = 51;
/// What takes longer than this counts as a hang. It is said what the longest took.
const HANGS: Duration = Duration::from_secs(10);
/// How long is waited for what comes.
const LONG: Duration = Duration::from_secs(60);

pub(crate) fn trials() -> Vec<Trial> {
    let both = ["redis-cli", "redis-benchmark"];
    vec![
        trial("redis/store".into(), &both, false, clients),
        trial("redis/store/killed".into(), &both, false, killed),
    ]
}

struct Replicas {
    members: Vec<String>,
    running: Vec<(Running, BufReader<ChildStdout>)>,
    ports: Ports,
}

/// Where clients come; 0 while it is not there.
type Ports = Arc<[AtomicU16; 3]>;

impl Replicas {
    fn new() -> Self {
        // Not what the system chose: that may be another's while its replica is dead.
        static NEXT: AtomicU16 = AtomicU16::new(27_000);
        let first = NEXT.fetch_add(3, Relaxed);
        let members = (first..first + 3).map(|port| format!("127.0.0.1:{port}")).collect();
        let mut all = Replicas { members, running: Vec::new(), ports: Ports::default() };
        for place in 0..3 {
            let one = all.start(place, place > 0);
            all.running.push(one);
        }
        all.wait_for_voters();
        all
    }

    fn start(&self, place: usize, join: bool) -> (Running, BufReader<ChildStdout>) {
        let others = self.members.iter().filter(|one| **one != self.members[place]);
        let others: Vec<&str> = others.map(String::as_str).collect();
        let mut command = Command::new(stackwright());
        command.args(["group", "store", "--json", "--redis", "127.0.0.1:0"]);
        command.args(["--at", &self.members[place], "--with", &others.join(",")]);
        command.args(join.then_some("--join")).stdout(Stdio::piped());
        let mut running = Running::start(&mut command);
        let mut said = BufReader::new(running.output());
        let mut line = String::new();
        said.read_line(&mut line).expect("a line");
        let said_of = serde_json::from_str::<serde_json::Value>(&line).expect("JSON");
        let at = said_of["redis"].as_str().unwrap_or_else(|| panic!("no address: {line}"));
        let at = at.rsplit(':').next();
        let port = at.and_then(|port| port.parse().ok()).expect("a port");
        self.ports[place].store(port, Relaxed);
        (running, said)
    }

    fn kill(&mut self, place: usize) {
        self.ports[place].store(0, Relaxed);
        self.running[place].0.kill();
    }

    /// Waits until each says that all three vote.
    fn wait_for_voters(&self) {
        let vote = |place: usize| {
            Connection::open(&self.ports, place)
                .and_then(|mut one| one.say("INFO"))
                .is_ok_and(|info| info.contains("\nvoters:3\r\n") && info.contains("quorum:yes"))
        };
        assert!(eventually(LONG, || (0..3).all(vote)), "all three vote");
    }

    fn cli(&self, place: usize, words: &[&str]) -> String {
        let port = self.ports[place].load(Relaxed).to_string();
        let output = stranger("redis-cli").args(["-p", &port]).args(words).output();
        let output = output.expect("redis-cli runs");
        String::from_utf8(output.stdout).expect("text").trim_end().into()
    }
}

/// A connection that says one command at a time.
struct Connection(BufReader<TcpStream>);

impl Connection {
    fn open(ports: &Ports, place: usize) -> io::Result<Self> {
        let port = ports[place].load(Relaxed);
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
        stream.set_read_timeout(Some(HANGS))?;
        stream.set_nodelay(true)?;
        Ok(Connection(BufReader::new(stream)))
    }

    /// Returns the reply; of a string, the string.
    fn say(&mut self, command: &str) -> io::Result<String> {
        self.0.get_mut().write_all(format!("{command}\r\n").as_bytes())?;
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let length = line.strip_prefix('$').and_then(|length| length.trim_end().parse().ok());
        if let Some(length) = length {
            let mut octets = vec![0; length];
            self.0.read_exact(&mut octets)?;
            self.0.read_line(&mut String::new())?;
            line = String::from_utf8(octets).expect("text");
        }
        Ok(line.trim_end().into())
    }
}

fn clients() {
    let replicas = Replicas::new();
    let says = |place: usize, words: &[&str], reply: &str| {
        assert_eq!(replicas.cli(place, words), reply, "{words:?}");
    };
    says(0, &["set", "active", "gs1"], "OK");
    says(0, &["get", "active"], "gs1");
    says(1, &["set", "active", "gs2", "nx"], "");
    says(1, &["incr", "count"], "1");
    says(2, &["incrby", "count", "41"], "42");
    says(2, &["setnx", "passing", "1"], "1");
    says(2, &["expire", "passing", "1"], "1");
    assert!(eventually(LONG, || replicas.cli(0, &["get", "passing"]).is_empty()), "it expires");
    says(2, &["ttl", "active"], "-1");
    let mut keys: Vec<_> = replicas.cli(2, &["keys", "*"]).lines().map(str::to_owned).collect();
    keys.sort();
    assert_eq!(keys, ["active", "count"]);
    let mut scanned: Vec<_> = replicas.cli(2, &["--scan"]).lines().map(str::to_owned).collect();
    scanned.sort();
    assert_eq!(scanned, keys);
    assert!(replicas.cli(1, &["info"]).contains("\nvoters:3\r\n"));
    says(1, &["lpush", "a", "b"], "ERR unknown command 'lpush'");
    says(1, &["get"], "ERR wrong number of arguments for 'get' command");
    for more in [&["-n", "2000", "-c", "10"][..], &["-n", "5000", "-c", "10", "-P", "16"]] {
        let port = replicas.ports[1].load(Relaxed).to_string();
        let mut benchmark = stranger("redis-benchmark");
        benchmark.args(["-p", &port, "-t", "set,get,incr", "-q"]).args(more);
        let output = benchmark.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout).replace('\r', "\n");
        let figures: Vec<_> = said.lines().filter(|line| line.contains("per second")).collect();
        assert!(output.status.success() && figures.len() == 3, "{said}");
        eprintln!("{}", figures.join("\n"));
    }
}

/// A client that counts, and what it was told.
struct Counting {
    ports: Ports,
    connection: Option<Connection>,
    random: Rng,
    /// When it asked, when it was answered, and with which number.
    numbers: Vec<(Instant, Instant, u64)>,
    /// Increments that may or may not have been done.
    unknown: usize,
    refused: usize,
    longest: Duration,
    /// The values that were acknowledged.
    set: Vec<String>,
}

impl Counting {
    fn new(client: u64, ports: Ports) -> Self {
        Counting {
            ports,
            connection: None,
            random: Rng::with_seed(SEED + client),
            numbers: Vec::new(),
            unknown: 0,
            refused: 0,
            longest: Duration::ZERO,
            set: Vec::new(),
        }
    }

    /// Says a command, at a replica that is there; returns the reply, if one came, and whether it
    /// may have been done.
    fn say(&mut self, command: &str) -> Result<(Instant, Instant, String), bool> {
        if self.connection.is_none() {
            let place = self.random.usize(..3);
            self.connection = Connection::open(&self.ports, place).ok();
        }
        let Some(open) = &mut self.connection else {
            thread::sleep(Duration::from_millis(10));
            return Err(false);
        };
        let asked = Instant::now();
        let said = open.say(command);
        let answered = Instant::now();
        self.longest = self.longest.max(answered - asked);
        assert!(answered - asked < HANGS, "{command} hangs");
        let Ok(said) = said else {
            // Its replica was killed.
            self.connection = None;
            return Err(true);
        };
        let Some(error) = said.strip_prefix('-') else { return Ok((asked, answered, said)) };
        let known = ["NOQUORUM ", "LOADING ", "TIMEOUT ", "UNKNOWN "];
        assert!(known.iter().any(|known| error.starts_with(known)), "{error}");
        self.connection = None;
        thread::sleep(Duration::from_millis(10));
        Err(error.starts_with("UNKNOWN "))
    }

    fn run(mut self, client: u64, over: &AtomicBool) -> Self {
        for turn in 0.. {
            if over.load(Relaxed) {
                break;
            }
            match self.say("INCR n") {
                Ok((asked, answered, said)) => {
                    let number = said.strip_prefix(':').and_then(|number| number.parse().ok());
                    self.numbers.push((asked, answered, number.expect("a number")));
                }
                Err(true) => self.unknown += 1,
                Err(false) => self.refused += 1,
            }
            let key = format!("set:{client}:{turn}");
            if self.say(&format!("SET {key} {key}")).is_ok() {
                self.set.push(key);
            }
            thread::sleep(Duration::from_millis(2));
        }
        self
    }
}

/// Every number came once, and what was asked for later is greater.
fn check(counted: &[Counting]) {
    let mut by_start: Vec<_> = counted.iter().flat_map(|one| &one.numbers).copied().collect();
    let distinct: BTreeSet<_> = by_start.iter().map(|(.., number)| *number).collect();
    assert_eq!(distinct.len(), by_start.len(), "a number came twice");
    let mut by_end = by_start.clone();
    by_end.sort_by_key(|(_, answered, _)| *answered);
    by_start.sort_by_key(|(asked, ..)| *asked);
    let (mut ended, mut most) = (by_end.iter().peekable(), 0);
    for (asked, _, number) in &by_start {
        while let Some((_, _, before)) = ended.next_if(|(_, answered, _)| answered < asked) {
            most = most.max(*before);
        }
        assert!(*number > most, "{number} was answered after {most}");
    }
}

fn killed() {
    let kills = env::var("STACKWRIGHT_KILLS").ok().and_then(|kills| kills.parse().ok());
    let kills: usize = kills.unwrap_or(KILLS);
    let mut replicas = Replicas::new();
    let (over, mut random) = (AtomicBool::new(false), Rng::with_seed(SEED));
    let started = Instant::now();
    let counted: Vec<Counting> = thread::scope(|scope| {
        let clients: Vec<_> = (0..3)
            .map(|client| {
                let counting = Counting::new(client, replicas.ports.clone());
                let over = &over;
                scope.spawn(move || counting.run(client, over))
            })
            .collect();
        let ends = Ends(&over);
        for nth in 1..=kills {
            let place = random.usize(..3);
            replicas.kill(place);
            let next = replicas.start(place, true);
            replicas.running[place] = next;
            // The next one would end the group before this one votes.
            replicas.wait_for_voters();
            thread::sleep(
                (started + Duration::from_secs(nth as u64))
                    .saturating_duration_since(Instant::now()),
            );
        }
        drop(ends);
        clients.into_iter().map(|client| client.join().expect("no wrong answer")).collect()
    });
    check(&counted);
    let known: usize = counted.iter().map(|one| one.numbers.len()).sum();
    let unknown: usize = counted.iter().map(|one| one.unknown).sum();
    let refused: usize = counted.iter().map(|one| one.refused).sum();
    let longest = counted.iter().map(|one| one.longest).max().unwrap_or_default();
    let last: usize = replicas.cli(0, &["get", "n"]).parse().expect("a number");
    eprintln!(
        "{kills} kills in {:.1} s: {known} counted, {unknown} unknown, {refused} refused, {last} \
         at the end; the longest call took {:.2} s",
        started.elapsed().as_secs_f64(),
        longest.as_secs_f64()
    );
    assert!((known..=known + unknown).contains(&last), "{last} increments");
    for place in 0..3 {
        let mut connection = Connection::open(&replicas.ports, place).expect("it is there");
        for key in counted.iter().flat_map(|one| &one.set) {
            let said = connection.say(&format!("GET {key}")).expect("it answers");
            assert_eq!(said, *key, "what was acknowledged is there");
        }
    }
    without_quorum(&mut replicas);
}

/// Ends the clients, even where a replica does not start.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Two of three are gone: the third says so at once, and which.
fn without_quorum(replicas: &mut Replicas) {
    let mut connection = Connection::open(&replicas.ports, 1).expect("it is there");
    replicas.kill(0);
    replicas.kill(2);
    let mut said = String::from("-UNKNOWN ");
    // Until their silence is noticed nobody knows.
    while said.starts_with("-UNKNOWN ") || said.starts_with("-TIMEOUT ") {
        said = connection.say("INCR n").expect("it answers");
    }
    assert!(said.starts_with("-NOQUORUM "), "{said}");
    assert!([0, 2].iter().all(|place| said.contains(&replicas.members[*place])), "{said}");
    assert!(replicas.cli(1, &["get", "n"]).parse::<usize>().is_ok(), "what was written is read");
}
