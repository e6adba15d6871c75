//! Packet radio: KISS through Direwolf's modems, with its `kissutil`, and a hub.
//!
//! | file | what |
//! | --- | --- |
//! | `rig.rs` | two modems that hear each other, without a radio |
//! | `station.rs` | our end |
//! | `kissutil.rs` | a stranger's end |
//! | `hub.rs` | programs that share a modem |
//! | `frames.rs` | frames of AX.25 as octets |
//!
//! Frames take their time: at 1200 bit/s, a hundred of 40 octets are on the air for half a minute.

mod frames;
mod hub;
mod kissutil;
#[allow(dead_code, reason = "some is for links")]
mod station;

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use stackwright_programs::processes::{Running, eventually, run, stackwright};
use stackwright_programs::rig;
use stackwright_programs::scratch::Scratch;

use crate::setting::trial;
use frames::{connected_mode, ui};
use kissutil::Kissutil;
use rig::Rig;
use station::Station;

pub(crate) fn trials() -> Vec<Trial> {
    let direwolf = &["direwolf", "kissutil", "python3"];
    let with_tshark = &["direwolf", "kissutil", "python3", "tshark"];
    vec![
        trial("radio/direwolf/exchange/1200".into(), direwolf, false, || exchange(1200)),
        trial("radio/direwolf/exchange/9600".into(), direwolf, false, || exchange(9600)),
        trial("radio/direwolf/restarts".into(), direwolf, false, restarts),
        trial("radio/kissutil/terminal".into(), &["kissutil"], false, terminal),
        trial("radio/direwolf/device".into(), direwolf, false, device),
        trial("radio/direwolf/hub".into(), direwolf, false, hub::is_shared),
        trial("radio/direwolf/monitor".into(), with_tshark, false, monitor),
    ]
}

/// How long a hundred frames may take, with whatever else this machine does.
const PATIENCE: Duration = Duration::from_secs(180);

/// A hundred frames each way, every one whole and in order.
fn exchange(baud: u32) {
    let rig = Rig::new(baud);
    let mut station = Station::new(rig.kiss(0), baud);
    let mut kissutil = Kissutil::new(rig.kiss(1));
    station.until(PATIENCE, |told| told.states == [true]);
    let text = |nth: usize| format!("{nth:03} abcdefghij");
    let frames: Vec<Vec<u8>> = (0..100).map(|nth| ui("N0AAA", "N0BBB", &text(nth))).collect();
    station.send_all(&frames, PATIENCE);
    let marks = station.told.left.iter().map(|(mark, _)| *mark);
    assert!(marks.eq(0..100), "each has left, in order: {:?}", station.told.left);
    let last_left = station.told.left[99].1;
    let mut came: Vec<String> = Vec::new();
    let arrived = eventually(Duration::from_secs(20), || {
        came.extend(kissutil.lines().filter(|line| line.contains("N0AAA>N0BBB")));
        came.len() >= 100
    });
    let (last_came, logs) = (Instant::now(), rig.logs());
    assert!(arrived, "{} of 100 came\n{logs}", came.len());
    for (nth, line) in came.iter().enumerate() {
        assert!(line.ends_with(&text(nth)), "frame {nth}: {line}");
    }
    // Told at about the time when it has left. The audio is on its way for some tenths of a second.
    let early = last_came.saturating_duration_since(last_left);
    assert!(early < Duration::from_secs(3), "it was told {early:?} before the frame came");

    (0..100).for_each(|nth| kissutil.send(&format!("N0BBB>N0AAA:{}", text(nth))));
    station.until(PATIENCE, |told| told.frames.len() >= 100);
    for (nth, frame) in station.told.frames.iter().enumerate() {
        assert_eq!(*frame, ui("N0BBB", "N0AAA", &text(nth)), "frame {nth}");
    }
    assert_eq!(station.told.states, [true], "and the line stayed up");
}

/// kissutil takes our pseudo terminal for a serial TNC; it goes, and another comes.
fn terminal() {
    let folder = Scratch::new();
    let link = folder.join("tnc");
    let mut station = Station::at_terminal(&link, 9600);
    station.until(PATIENCE, |told| told.states == [false]);
    for round in 1..=2 {
        let mut kissutil = Kissutil::at_device(&link);
        let opens = eventually(PATIENCE, || {
            station.turn();
            station.is_up()
        });
        let said: Vec<_> = kissutil.lines().collect();
        assert!(opens, "kissutil opens {}: {said:?}", link.display());
        let text = |nth: usize| format!("{round} {nth:02}");
        (0..20).for_each(|nth| kissutil.send(&format!("N0BBB>N0AAA:{}", text(nth))));
        station.until(PATIENCE, |told| told.frames.len() >= 20);
        let frames = std::mem::take(&mut station.told.frames);
        let sent = |source, destination| {
            (0..20).map(move |nth| ui(source, destination, &format!("{round} {nth:02}")))
        };
        assert!(frames.into_iter().eq(sent("N0BBB", "N0AAA")));
        station.send_all(&sent("N0AAA", "N0BBB").collect::<Vec<_>>(), PATIENCE);
        let mut came: Vec<String> = Vec::new();
        let arrived = eventually(Duration::from_secs(20), || {
            came.extend(kissutil.lines().filter(|line| line.contains("N0AAA>N0BBB")));
            came.len() >= 20
        });
        assert!(arrived, "{came:?}");
        drop(kissutil);
        station.until(PATIENCE, |told| told.states.last() == Some(&false));
    }
}

/// Direwolf's pseudo terminal is a serial device to us.
fn device() {
    let mut rig = Rig::new(9600);
    rig.kill(0);
    let terminal = rig.restart_with_terminal(0);
    let mut station = Station::at_device(&terminal, 9600);
    let mut kissutil = Kissutil::new(rig.kiss(1));
    station.until(PATIENCE, |told| told.states.last() == Some(&true));
    let frames: Vec<Vec<u8>> =
        (0..20).map(|nth| ui("N0AAA", "N0BBB", &format!("to the device {nth:02}"))).collect();
    station.send_all(&frames, PATIENCE);
    let mut came = 0;
    let arrived = eventually(Duration::from_secs(20), || {
        came += kissutil.lines().filter(|line| line.contains("to the device")).count();
        came >= 20
    });
    assert!(arrived, "{came} of 20 came\n{}", rig.logs());
    kissutil.send("N0BBB>N0AAA:from the air");
    station.until(PATIENCE, |told| !told.frames.is_empty());
    assert_eq!(station.told.frames, [ui("N0BBB", "N0AAA", "from the air")]);
    rig.kill(0);
    station.until(PATIENCE, |told| told.states.last() == Some(&false));
}

/// The TNC is killed and started again, five times, while there is traffic: frames go on within
/// three seconds after it listens.
fn restarts() {
    let mut rig = Rig::new(9600);
    let mut station = Station::new(rig.kiss(0), 9600);
    let mut other = Station::new(rig.kiss(1), 9600);
    let mut traffic = Traffic::default();
    traffic.until("frames pass", &mut station, &mut other, |_, heard| heard > Some(5));
    for round in 0..5 {
        rig.kill(0);
        traffic.until("it is gone", &mut station, &mut other, |station, _| !station.is_up());
        // The longer it is away, the longer the station waits between two tries.
        let away = Instant::now() + Duration::from_millis(1700 * round);
        traffic.until("away", &mut station, &mut other, |_, _| away <= Instant::now());
        rig.restart(0);
        let (address, first) = (rig.kiss(0), traffic.next);
        let mut listens = None;
        traffic.until("frames pass again", &mut station, &mut other, |station, heard| {
            if listens.is_none() && (station.is_up() || TcpStream::connect(address).is_ok()) {
                listens = Some(Instant::now());
            }
            // What was sent before may still be in the audio.
            heard >= Some(first)
        });
        let took = listens.expect("frames passed").elapsed();
        eprintln!("round {round}: frames pass {took:.2?} after it listens");
        assert!(took <= Duration::from_secs(3), "round {round}: {took:?}\n{}", rig.logs());
    }
    let downs = station.told.states.iter().filter(|up| !**up).count();
    assert_eq!((downs, other.told.states.as_slice()), (5, &[true][..]));
}

/// Numbered frames from one station to another, ten a second.
#[derive(Default)]
struct Traffic {
    next: u16,
    heard: Option<u16>,
}

impl Traffic {
    /// Goes on until it is so; that may depend on the last number that was heard.
    fn until(
        &mut self,
        what: &str,
        from: &mut Station,
        to: &mut Station,
        mut is_so: impl FnMut(&Station, Option<u16>) -> bool,
    ) {
        let (begin, mut next) = (Instant::now(), Instant::now());
        while !is_so(from, self.heard) {
            if next <= Instant::now() {
                // While it is down, nothing is sent.
                if from.send(&ui("N0AAA", "N0BBB", &format!("{:05}", self.next)), self.next) {
                    self.next += 1;
                }
                next = Instant::now() + Duration::from_millis(100);
            }
            from.turn();
            to.turn();
            for frame in to.told.frames.drain(..) {
                let number = str::from_utf8(&frame[16..]).ok().and_then(|text| text.parse().ok());
                self.heard = Some(number.expect("a frame of ours, whole"));
            }
            assert!(begin.elapsed() < Duration::from_secs(60), "{what}");
        }
    }
}

/// Our monitor hears all kinds of frames, and tshark names every one in its capture.
fn monitor() {
    let (rig, folder) = (Rig::new(9600), Scratch::new());
    let file = folder.join("heard.pcapng");
    let mut command = Command::new(stackwright());
    command.args(["monitor", &format!("tcp://{}", rig.kiss(1)), "--json", "-w"]).arg(&file);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut monitor = Running::start(&mut command);
    let lines = said(&mut monitor);
    let mut station = Station::new(rig.kiss(0), 9600);
    station.until(PATIENCE, |told| told.states == [true]);
    let frames = connected_mode("N0AAA", "N0BBB");
    station.send_all(&frames, PATIENCE);
    let mut kissutil = Kissutil::new(rig.kiss(0));
    kissutil.send("N0CCC>CQ,RELAY-1*,WIDE:through a digipeater");
    let all = frames.len() + 1;
    let mut heard: Vec<serde_json::Value> = Vec::new();
    let arrived = eventually(Duration::from_secs(30), || {
        heard.extend(lines.try_iter());
        heard.len() >= all
    });
    assert!(arrived, "{} of {all} were heard: {heard:?}\n{}", heard.len(), rig.logs());
    let through = heard.iter().find(|frame| frame["source"] == "N0CCC").expect("it was heard");
    assert_eq!(through["destination"], "CQ,RELAY-1*,WIDE");
    assert_eq!(through["payload"]["text"], "through a digipeater");
    drop(monitor);
    let named = run(Command::new("tshark").args(["-n", "-r"]).arg(&file)).succeeded().text();
    let named: Vec<&str> = named.lines().collect();
    assert_eq!(named.len(), all, "{named:#?}");
    // Of two programs at one modem, either may be first.
    let ours = named.iter().filter(|line| !line.contains("N0CCC"));
    for (line, kind) in ours.zip(frames::KINDS) {
        assert!(line.contains("AX.25"), "{line}");
        assert!(line.contains(kind), "{kind}: {line}");
    }
    assert!(!named.iter().any(|line| line.contains("Malformed")), "{named:#?}");
}

/// What a program prints, line by line, once it is at the TNC.
fn said(program: &mut Running) -> Receiver<serde_json::Value> {
    let number = program.number();
    let connects = eventually(Duration::from_secs(20), || kissutil::is_connected(number));
    assert!(connects, "it connects");
    let output = program.output();
    let (told, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            let line = serde_json::from_str(&line).expect("a line of JSON");
            if told.send(line).is_err() {
                return;
            }
        }
    });
    lines
}
