//! Files over the air: the program's `get` and `put` with addresses by radio, and the folder that a
//! station serves, at the TNCs of a simulated channel that is twenty times as fast as one.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use serde_json::Value;
use stackwright::channel::{ChannelDescription, RadioChannel};
use stackwright::contract::CallSign;
use stackwright_programs::content::octets;
use stackwright_programs::processes::{Outcome, PATIENCE, Running, eventually, run, stackwright};
use stackwright_programs::scratch::Scratch;

pub(crate) const SPEED: u32 = 20;

/// A channel with three TNCs, a station that serves a folder at the second, and a place for what is
/// fetched.
struct Air {
    channel: RadioChannel,
    rate: u32,
    served: Scratch,
    fetched: Scratch,
    /// Where the client's journals are.
    state: Scratch,
    stations: Vec<Running>,
}

impl Air {
    /// `relay`: stations 0 and 1 hear each other only through the third, which repeats.
    fn new(rate: u32, bit_errors: f64, relay: bool) -> Self {
        Self::with(rate, bit_errors, relay, "")
    }

    /// The same; the file of the station says `more`.
    fn with(rate: u32, bit_errors: f64, relay: bool, more: &str) -> Self {
        let hears =
            |there: &str| if relay { format!("hears = [{there}]\n") } else { String::new() };
        let text = format!(
            "rate = '{rate} b/s'\nspeed = {SPEED}\nbit-errors = {bit_errors}\nkey-up = '100 ms'\n\
             persistence = 1\nslot = '20 ms'\n\
             [[station]]\nname = 'N0AAA'\nkiss = '127.0.0.1:0'\n{}\
             [[station]]\nname = 'N0BBB'\nkiss = '127.0.0.1:0'\n{}\
             [[station]]\nname = 'R1LAY'\nkiss = '127.0.0.1:0'\n",
            hears("'R1LAY'"),
            hears("'R1LAY'"),
        );
        let channel = ChannelDescription::read(&text).expect("a channel");
        let channel = RadioChannel::start(&channel).expect("it listens");
        let (served, fetched) = (Scratch::new(), Scratch::new());
        let tnc = |nth| channel.tnc(nth).expect("a TNC");
        let mut stations = vec![station("N0BBB", tnc(1), rate, &offers(&served, more))];
        if relay {
            stations.push(station("R1LAY", tnc(2), rate, "[ax25]\ndigipeat = true\n"));
        }
        Air { rate, channel, served, fetched, state: Scratch::new(), stations }
    }

    /// Kills the station that serves the folder, and starts it again.
    fn restart(&mut self) {
        self.stations[0].kill();
        let tnc = self.channel.tnc(1).expect("a TNC");
        self.stations[0] = station("N0BBB", tnc, self.rate, &offers(&self.served, ""));
    }

    /// Runs a command of a client at the first TNC.
    fn run(&self, command: &str, words: &[&str], more: &str) -> Outcome {
        run(&mut self.command(command, words, more))
    }

    fn command(&self, command: &str, words: &[&str], more: &str) -> Command {
        let tnc = self.channel.tnc(0).expect("a TNC");
        let url = |path: &str| {
            format!("ftp+xstp+ax25://N0BBB@{tnc}{path}?rate={}{more}", self.rate * SPEED)
        };
        let mut program = self.own(&[command, "--call", "N0AAA"]);
        for word in words {
            match word.strip_prefix("air:") {
                Some(path) => program.arg(url(path)),
                None => program.arg(word),
            };
        }
        program
    }

    /// A command that needs no address.
    fn own(&self, words: &[&str]) -> Command {
        let mut program = Command::new(stackwright());
        program.env("XDG_STATE_HOME", self.state.path()).args(words);
        program
    }

    /// Fetches `/f` with the built-in stack, but for the compression.
    fn get_plain(&self, copy: &str) {
        let [own, peer] = ["N0AAA", "N0BBB"].map(|text| text.parse::<CallSign>().expect("a call"));
        let tnc = self.channel.tnc(0).expect("a TNC");
        let text = include_str!("../../../cli/stacks/get-radio.toml")
            .replace("\"compress\"\n\n[compress]\ncall = \"N0CALL-2\"\nover = ", "")
            .replace("10.0.0.1=N0CALL-1", &format!("{}={peer}", peer.host()))
            .replace("10.0.0.2/8", &format!("{}/8", own.host()))
            .replace("N0CALL-2", "N0AAA")
            .replace("N0CALL-1", "N0BBB")
            .replace("rate = 1200", &format!("rate = {}", self.rate * SPEED))
            .replace("127.0.0.1:8001", &tnc.to_string());
        assert!(!text.contains("compress"), "{text}");
        let file = self.state.join("plain.toml");
        fs::write(&file, text).expect("a folder of ours");
        let url = format!("ftp://{}/f", peer.host());
        let stack = file.to_str().expect("text");
        run(&mut self.own(&["get", "-q", &url, copy, "--stack", stack])).succeeded();
    }

    /// Moves a file each way.
    fn moves(&self, length: usize, more: &str) {
        let [there, here] = [1, 2].map(|seed| octets(seed, length));
        let [copy, file] = ["copy", "file"].map(|name| self.fetched.join(name));
        fs::write(self.served.join("there"), &there).expect("a folder of ours");
        fs::write(&file, &here).expect("a folder of ours");
        let [copy_text, file_text] = [&copy, &file].map(|path| path.to_str().expect("text"));
        self.run("get", &["-q", "air:/there", copy_text], more).succeeded();
        assert!(fs::read(&copy).expect("it is there") == there, "the same octets");
        self.run("put", &["-q", file_text, "air:/here"], more).succeeded();
        let stored = fs::read(self.served.join("here")).expect("it is there");
        assert!(stored == here, "the same octets");
    }
}

/// What the station file says of a folder that is served.
fn offers(served: &Scratch, more: &str) -> String {
    format!("[serve]\nftp = {{ root = {:?}, writable = true }}\n{more}", served.path())
}

/// Starts a station, and waits until it runs.
fn station(call: &str, tnc: SocketAddr, rate: u32, more: &str) -> Running {
    station_saying(Stdio::null(), (call, tnc, rate), more)
}

/// The same; what it tells its operator goes to `said`.
fn station_saying(said: Stdio, (call, tnc, rate): (&str, SocketAddr, u32), more: &str) -> Running {
    let folder = Scratch::new();
    let file = folder.join("station.toml");
    let rate = rate * SPEED;
    let text =
        format!("call = \"{call}\"\n[tnc.vhf]\nline = \"tcp://{tnc}\"\nrate = {rate}\n{more}");
    fs::write(&file, text).expect("a folder of ours");
    let mut command = Command::new(stackwright());
    command.arg("station").arg(&file).stderr(said);
    running(command)
}

/// Starts a command that says when it runs, and waits until it does.
pub(crate) fn running(mut command: Command) -> Running {
    let mut running = Running::start(command.stdin(Stdio::null()).stdout(Stdio::piped()));
    let mut lines = BufReader::new(running.output()).lines();
    assert!(lines.any(|line| line.expect("text").starts_with("Press")), "it runs");
    running
}

#[test]
fn files_of_1_kib_cross_at_1200_bits_a_second() {
    Air::new(1200, 0.0, false).moves(1 << 10, "");
}

#[test]
fn files_of_10_kb_cross_at_9600_bits_a_second() {
    Air::new(9600, 0.0, false).moves(10_000, "");
}

/// What a layer takes off each frame, as the documentation says it.
#[test]
fn each_layer_has_the_header_that_it_shall() {
    let air = Air::new(9600, 0.0, false);
    fs::write(air.served.join("f"), octets(1, 10_000)).expect("a folder of ours");
    let get = air.command("get", &["air:/f"], "");
    let mut measured = air.own(&["perf", "layers", "--json"]);
    let said = run(measured.args(get.get_args()).current_dir(air.fetched.path())).succeeded();
    let said = said.text();
    let last = said.lines().find(|line| line.contains("\"layers\"")).expect("layers");
    let told: Value = serde_json::from_str(last).expect("JSON");
    let header = |name: &str| {
        let mut layers = told["layers"].as_array().expect("layers").iter();
        let layer = layers.find(|layer| layer["name"] == name).expect("the layer");
        layer["header_up"].as_f64().expect("octets")
    };
    for (name, octets) in [("ip", 20.0), ("resolve", 0.0), ("ax25", 16.0)] {
        assert_eq!(header(name), octets, "{name}: {told}");
    }
    // Packets without data are not told above.
    assert!((16.0..18.0).contains(&header("xstp")), "{told}");
}

/// A third TNC hears most packets with short headers, and those of a station that does not compress
/// as they are.
#[test]
fn headers_are_short_between_stations_that_compress() {
    const LENGTH: usize = 10_000;
    let air = Air::new(9600, 0.0, false);
    fs::write(air.served.join("f"), octets(1, LENGTH)).expect("a folder of ours");
    let copy = air.fetched.join("f");
    let copy = copy.to_str().expect("text");
    let draw = |compresses: bool| {
        let mut heard = TcpStream::connect(air.channel.tnc(2).expect("a TNC")).expect("it listens");
        let begun = Instant::now();
        if compresses {
            air.run("get", &["-q", "air:/f", copy], "").succeeded();
        } else {
            air.get_plain(copy);
        }
        let took = begun.elapsed();
        assert!(fs::read(copy).expect("the file") == octets(1, LENGTH), "the same octets");
        fs::remove_file(copy).expect("a folder of ours");
        thread::sleep(Duration::from_millis(300));
        heard.set_nonblocking(true).expect("a socket");
        let mut frames = Vec::new();
        let _ = heard.read_to_end(&mut frames);
        let of = |pid| frames.windows(2).filter(|two| *two == [0x03, pid]).count();
        println!("{} octets on the air in {took:?}, compressed {}", frames.len(), of(0xc5));
        (frames.len(), of(0xc5), of(0xcc))
    };
    let (short, compressed, plain) = draw(true);
    assert!(compressed > 40 && plain < 10, "{compressed} short, {plain} plain");
    let (long, beacons, plain) = draw(false);
    assert!(beacons < 10 && plain > 40, "{beacons} beacons, {plain} plain");
    assert!(short + 40 * 20 < long, "{short} octets instead of {long}");
}

/// One in six frames is lost.
#[test]
fn files_cross_where_frames_are_lost() {
    Air::new(9600, 8e-5, false).moves(5_000, "");
}

#[test]
fn files_cross_through_a_digipeater() {
    Air::new(9600, 0.0, true).moves(2_000, "&via=R1LAY");
}

#[test]
fn addresses_need_not_follow_from_call_signs() {
    let host = "[ipv4]\naddress = \"44.0.0.1/24\"\n\
                [[ipv4.neighbour]]\naddress = \"44.0.0.2\"\ncall = \"N0AAA\"\n";
    Air::with(9600, 0.0, false, host).moves(1 << 10, "&own=44.0.0.2/24&address=44.0.0.1");
}

#[test]
fn a_folder_is_listed_and_a_file_shown() {
    let mut air = Air::new(9600, 0.0, false);
    air.stations[0].kill();
    let log = air.state.join("log");
    let said = fs::File::create(&log).expect("a folder of ours").into();
    let ends = ("N0BBB", air.channel.tnc(1).expect("a TNC"), air.rate);
    air.stations[0] = station_saying(said, ends, &offers(&air.served, ""));
    fs::write(air.served.join("note"), "hello").expect("a folder of ours");
    assert!(air.run("ls", &["air:/"], "").succeeded().text().contains("note"));
    assert_eq!(air.run("cat", &["air:/note"], "").succeeded().text(), "hello");
    // The operator is told what was done, and not every line of how.
    let said = fs::read_to_string(log).expect("text");
    assert!(said.contains("has listed /") && !said.contains("USER"), "{said}");
}

#[test]
fn what_the_air_does_not_allow_is_refused() {
    let url = "ftp+xstp+ax25://N0BBB@127.0.0.1:9/f";
    for (more, says) in [
        (&[url][..], "no call sign is given"),
        (&[url, "--call", "N0CALL"], "call sign in examples"),
        (&[url, "--call", "N0AAA", "--tls"], "nobody else can read"),
        (&[url, "--call", "N0AAA", "--proxy", "socks5://h"], "--proxy"),
        (&["ftp+xstp+ax25://N0BBB/f", "--call", "N0AAA"], "where the TNC is"),
        (&["ftp://h/f", "--call", "N0AAA"], "--call"),
    ] {
        let outcome = run(Command::new(stackwright()).arg("get").args(more)).exited(2);
        let said = String::from_utf8_lossy(&outcome.complaints).into_owned();
        assert!(said.contains(says), "{more:?}: {said}");
    }
}

#[test]
fn a_tnc_that_is_not_there_is_told() {
    let mut get = Command::new(stackwright());
    get.args(["get", "ftp+xstp+ax25://N0BBB@127.0.0.1:9/f", "--call", "N0AAA", "--timeout", "1s"]);
    let outcome = run(&mut get).failed();
    let said = String::from_utf8_lossy(&outcome.complaints).into_owned();
    assert!(said.contains("no TNC at tcp://127.0.0.1:9"), "{said}");
}

/// Of the file that is moved while programs are killed: it takes a few seconds.
const LENGTH: usize = 100_000;
/// How many octets may be sent twice for a kill: the distance of a journal, and a window.
const TWICE: u64 = (64 << 10) + (8 << 10);

/// Kills a side of a transfer at seeded moments, as many as `STACKWRIGHT_KILLS` says, or three;
/// `resume` goes on where it ended.
fn kill(verb: &str, kills_station: bool) {
    let mut air = Air::new(9600, 0.0, false);
    let content = octets(5, LENGTH);
    let [near, far] = [&air.fetched, &air.served].map(|folder| folder.join("f"));
    let here = near.to_str().expect("text");
    let (source, copy, words) = match verb {
        "get" => (&far, &near, ["-q", "air:/f", here]),
        _ => (&near, &far, ["-q", here, "air:/f"]),
    };
    fs::write(source, &content).expect("a folder of ours");
    let kills =
        env::var("STACKWRIGHT_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(3);
    let mut random = fastrand::Rng::with_seed(kills);
    for nth in 0..kills {
        let mut client =
            air.command(verb, &[&words[..], &["--retries", "0", "--timeout", "5"]].concat(), "");
        let mut client = Running::start(client.stdin(Stdio::null()).stderr(Stdio::null()));
        thread::sleep(Duration::from_millis((nth * 6000 + random.u64(..6000)) / kills));
        if kills_station {
            air.restart();
            assert!(eventually(PATIENCE, || client.ended().is_some()), "the client is stuck");
        } else {
            client.kill();
        }
        let target = if verb == "get" { &air.fetched } else { &air.served };
        let parts = target.names().into_iter().filter(|name| name.ends_with(".part"));
        let length = |name: String| fs::metadata(target.join(&name)).map_or(0, |found| found.len());
        let part = parts.map(length).max().unwrap_or(0);
        let has_journal = !run(&mut air.own(&["transfers", "--json"])).text().is_empty();
        // What had left a client that is killed arrives all the same: then there is nothing to
        // resume, and all of it is sent again.
        let is_whole = target.names() == ["f"];
        let told = match has_journal {
            true => run(&mut air.own(&["resume", "--json"])),
            false => air.run(verb, &[&["--json"], &words[1..]].concat(), ""),
        };
        let there = resumed_at(&told.succeeded().text());
        println!("{nth}: {part} were there, {there} known; whole: {is_whole}");
        assert!(is_whole || part.saturating_sub(there) <= TWICE, "it is sent twice");
        assert!(fs::read(copy).expect("the file") == content, "{nth}: the same octets");
        assert_eq!(target.names(), ["f"], "nothing else is left");
        fs::remove_file(copy).expect("a folder of ours");
    }
}

/// The octet at which a transfer that printed this went on.
fn resumed_at(text: &str) -> u64 {
    let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok());
    lines.filter_map(|line: serde_json::Value| line.get("resumed_at")?.as_u64()).next().unwrap_or(0)
}

#[test]
fn a_fetch_whose_client_is_killed_goes_on() {
    kill("get", false);
}

#[test]
fn a_fetch_whose_station_is_killed_goes_on() {
    kill("get", true);
}

#[test]
fn an_upload_whose_client_is_killed_goes_on() {
    kill("put", false);
}

#[test]
fn an_upload_whose_station_is_killed_goes_on() {
    kill("put", true);
}
