//! A radio channel that is ours, and programs of others at its stations: no radio, no modem.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use stackwright::ax25::LinkVersion;
use stackwright::channel::{ChannelDescription, RadioChannel};
use stackwright::contract::services::Ended;
use stackwright_programs::processes::Running;

use crate::station::Station;
use crate::trial;

const OCTETS: usize = 4 << 10;
pub(crate) const SPEED: u32 = 20;
pub(crate) const RATE: u32 = 1200;
/// Longer than any of it takes.
const MOST: Duration = Duration::from_secs(120);

pub(crate) fn trials() -> Vec<Trial> {
    let gensio = ["modulo-8", "modulo-128"].into_iter().enumerate().map(|(extended, name)| {
        let name = format!("channel/gensio-to-gensio/{name}");
        trial(&name, "gensiot", move || gensio_to_gensio(extended))
    });
    let ours = trial("channel/ours-to-gensio", "gensiot", ours_to_gensio);
    let kissutil = trial("channel/kissutil", "kissutil", kissutil_to_kissutil);
    gensio.chain([ours, kissutil]).collect()
}

/// Two stations, 20 times as fast as on the air, with a TNC each.
pub(crate) fn channel(bit_errors: f64) -> (RadioChannel, [SocketAddr; 2]) {
    channel_of(RATE, SPEED, bit_errors)
}

/// The same at another rate and speed.
pub(crate) fn channel_of(
    rate: u32,
    speed: u32,
    bit_errors: f64,
) -> (RadioChannel, [SocketAddr; 2]) {
    let text = format!(
        "rate = '{rate} b/s'\nspeed = {speed}\nbit-errors = {bit_errors}\n\
         key-up = '100 ms'\nslot = '10 ms'\npersistence = 0.25\n\
         [[station]]\nname = 'N0AAA'\nkiss = '127.0.0.1:0'\n\
         [[station]]\nname = 'N0BBB'\nkiss = '127.0.0.1:0'\n"
    );
    let description = ChannelDescription::read(&text).expect("a channel");
    let channel = RadioChannel::start(&description).expect("it listens");
    let tncs = [0, 1].map(|station| channel.tnc(station).expect("a TNC"));
    (channel, tncs)
}

fn content() -> Vec<u8> {
    (0..OCTETS).map(|place| (place * 31 % 251) as u8).collect()
}

/// A gensio that returns what it receives.
fn echo(tnc: SocketAddr) -> Running {
    let accepts = format!("ax25(laddr=N0BBB-1),conacc,kiss,tcp,127.0.0.1,{}", tnc.port());
    let mut echo = Command::new("gensiot");
    echo.args(["-i", "echo", "--server", "-a", &accepts]);
    let echo = Running::start(&mut echo);
    thread::sleep(Duration::from_millis(1500)); // it has connected to its TNC
    echo
}

/// 4 KiB from a gensio to another, and back: none of it is ours but the air.
fn gensio_to_gensio(extended: usize) {
    let (channel, [near, far]) = channel(0.0);
    let mut echo = echo(far);
    let calls = format!(
        r#"ax25(extended={extended},laddr=N0AAA,addr="0,N0BBB-1,N0AAA"),kiss,tcp,127.0.0.1,{}"#,
        near.port()
    );
    let mut caller = Command::new("gensiot");
    caller.args(["-i", "stdio(self)", &calls]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut caller = Running::start(&mut caller);
    let (mut input, mut output) = (caller.input(), caller.output());
    let (told, came) = mpsc::channel();
    thread::spawn(move || {
        let mut octets = vec![0; OCTETS];
        let read = output.read_exact(&mut octets);
        let _ = told.send(read.map(|()| octets));
    });
    input.write_all(&content()).expect("it reads");
    let came = came.recv_timeout(MOST).expect("in time").expect("all of it");
    assert!(came == content(), "the same octets");
    let counts = channel.live().counts();
    // Both ways, in frames of 256 octets at most.
    assert!(counts.delivered >= 2 * (OCTETS as u64).div_ceil(256), "{counts:?}");
    assert!(counts.dropped_at_tail == 0 && counts.on_air > Duration::from_secs(50), "{counts:?}");
    caller.kill();
    echo.kill();
}

/// The same from a station of ours, where bits are altered.
fn ours_to_gensio() {
    let (channel, [near, far]) = channel(2e-5);
    let mut echo = echo(far);
    let mut station = Station::new("N0AAA", LinkVersion::Auto, RATE * SPEED, near);
    station.open("N0BBB-1");
    station.until("it accepts", |station| station.told.opened);
    let (content, mut sent) = (content(), 0);
    station.until("it echoes", |station| {
        sent += station.send(&content[sent..]);
        station.told.octets.len() >= OCTETS
    });
    assert!(station.told.octets == content, "the same octets");
    station.finish();
    station.until("it is released", |station| station.told.ended.is_some());
    assert_eq!(station.told.ended, Some(Ended::Finished));
    assert!(channel.live().counts().sent > 0);
    echo.kill();
}

/// Direwolf's `kissutil`: a person types frames, and reads those that it hears.
struct Kissutil {
    running: Running,
    input: ChildStdin,
    lines: mpsc::Receiver<String>,
}

impl Kissutil {
    fn new(tnc: SocketAddr) -> Self {
        let mut command = Command::new("kissutil");
        command.args(["-h", "127.0.0.1", "-p", &tnc.port().to_string()]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut running = Running::start(&mut command);
        let (input, output) = (running.input(), running.output());
        let (told, lines) = mpsc::channel();
        thread::spawn(move || {
            let lines = BufReader::new(output).lines().map_while(Result::ok);
            lines.map(|line| told.send(line)).find(Result::is_err)
        });
        Kissutil { running, input, lines }
    }

    /// Types a frame until `other` hears it: what is typed before both have connected is lost.
    fn send(&mut self, frame: &str, other: &Kissutil) {
        let begin = Instant::now();
        while !other.lines.try_iter().any(|line| line.ends_with(frame)) {
            assert!(begin.elapsed() < MOST, "{frame}");
            writeln!(self.input, "{frame}").expect("it takes a line");
            thread::sleep(Duration::from_millis(300));
        }
    }
}

/// Frames that a person types, both ways.
fn kissutil_to_kissutil() {
    let (channel, tncs) = channel(0.0);
    let [mut near, mut far] = tncs.map(Kissutil::new);
    near.send("N0AAA>N0BBB:hello, is anybody there?", &far);
    far.send("N0BBB>N0AAA:yes", &near);
    // It also sets how its station accesses the channel: TXDELAY 500 ms.
    writeln!(near.input, "d 50").expect("it takes a line");
    let begin = Instant::now();
    while channel.live().access(0).key_up != Duration::from_millis(500) {
        assert!(begin.elapsed() < MOST, "{:?}", channel.live().access(0));
        thread::sleep(Duration::from_millis(10));
    }
    near.running.kill();
    far.running.kill();
}
