//! A station as operators use one: two programs at call signs, a beacon and a digipeater.
//!
//! On a channel of ours, aprx hears what is on the air, and kissutil, of Direwolf, asks for
//! repetition. Where Xastir and Xvfb are installed, Xastir is a program of the other station: it
//! shows the beacon, and aprx hears its position. At modems, all of it is Direwolf's.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use stackwright::channel::{ChannelDescription, RadioChannel};
use stackwright_programs::processes::{Running, find};
use stackwright_programs::scratch::Scratch;

use crate::agw::Agw;
use crate::channel::{RATE, SPEED};
use crate::process::Process;
use crate::programs::{line, program};
use crate::rig::Rig;
use crate::trial;

/// Longer than a beacon waits, which begins within a minute.
const MOST: Duration = Duration::from_secs(120);

pub(crate) fn trials() -> Vec<Trial> {
    let direwolf = || at_modems(&Rig::new(9600));
    vec![
        trial("station/operator", "aprx", operator),
        trial("station/operator/direwolf", "direwolf", direwolf),
    ]
}

const SERVED: &str = "[[program]]\ncall = \"N0AAA-5\"\nrun = [\"/bin/cat\"]\n\
    [[program]]\ncall = \"N0AAA-6\"\nrun = [\"/bin/cat\", \"-u\"]\n\
    [[beacon]]\nevery = \"60 s\"\nto = \"APRS\"\nvia = [\"WIDE2-1\"]\ntext = \">a beacon\"\n\
    [ax25]\ndigipeat = { wide = 2 }\n";

fn operator() {
    if find("kissutil").is_none() {
        return println!("skipped: kissutil is not installed");
    }
    let station = |call: &str| format!("[[station]]\nname = '{call}'\nkiss = '127.0.0.1:0'\n");
    let calls = ["N0AAA", "N0BBB", "N0CCC", "N0DDD"];
    let text = format!(
        "rate = '{RATE} b/s'\nspeed = {SPEED}\nkey-up = '100 ms'\nslot = '10 ms'\n\
         persistence = 0.25\n{}",
        calls.map(station).concat()
    );
    let description = ChannelDescription::read(&text).expect("a channel");
    let channel = RadioChannel::start(&description).expect("it listens");
    let tnc = |nth| channel.tnc(nth).expect("a TNC");
    let folder = Scratch::new();
    let (log, file) = (folder.join("rf.log"), folder.join("aprx.conf"));
    let config = format!(
        "mycall N0DDD\n<logging>\nrflog {}\n</logging>\n<interface>\n\
         tcp-device 127.0.0.1 {} KISS\ncallsign N0DDD\ntx-ok true\n</interface>\n",
        log.display(),
        tnc(3).port()
    );
    fs::write(&file, config).expect("a folder of ours");
    let mut aprx = Command::new(find("aprx").expect("the trial asked for it"));
    aprx.args(["-i", "-f"]).arg(&file).stdin(Stdio::null()).stdout(Stdio::null());
    let mut aprx = Running::start(aprx.stderr(Stdio::null()));
    let _served = Process::serving("N0AAA", tnc(0), SERVED);
    let caller = Process::on_channel("N0BBB", tnc(1));
    for called in ["N0AAA-5", "N0AAA-6"] {
        let port = caller.agw.to_string();
        let (_calls, mut out) = program(&[&port, "calls", "N0BBB", called, "2048"]);
        assert_eq!(line(&mut out), "equal 0", "{called}");
    }
    // No other program may have its call sign now.
    let xastir = Xastir::start("N0BBB", caller.agw);
    let mut kissutil = Command::new("kissutil");
    kissutil.args(["-h", "127.0.0.1", "-p", &tnc(2).port().to_string()]);
    let mut kissutil = Running::start(kissutil.stdin(Stdio::piped()).stdout(Stdio::null()));
    let mut types = kissutil.input();
    let begun = Instant::now();
    let mut nth = 0;
    loop {
        let heard = fs::read(&log).unwrap_or_default();
        let heard = String::from_utf8_lossy(&heard);
        let has = |parts: &[&str]| heard.lines().any(|line| parts.iter().all(|p| line.contains(p)));
        // Our station repeats what kissutil sends; aprx hears the copy, and the beacon.
        let copy = has(&["N0CCC>APRS,N0AAA*", ":>repeat me"]);
        let beacon = has(&["N0AAA>APRS,WIDE2-1", ":>a beacon"]);
        let map = xastir.as_ref().is_none_or(|map| map.shows("N0AAA>APRS") && has(&["N0BBB>APX"]));
        if copy && beacon && map {
            break;
        }
        assert!(begun.elapsed() < MOST, "copy {copy}, beacon {beacon}, Xastir {map}: {heard}");
        // A copy of the same text is not repeated again.
        nth += 1;
        writeln!(types, "N0CCC>APRS,WIDE1-1:>repeat me {nth}").expect("it takes a line");
        thread::sleep(Duration::from_secs(1));
    }
    kissutil.kill();
    aprx.kill();
}

/// The map of a program at AGW, on a display that nobody sees.
struct Xastir {
    _display: Running,
    _map: Running,
    folder: Scratch,
}

impl Xastir {
    fn start(call: &str, agw: u16) -> Option<Self> {
        let (Some(display), Some(map)) = (find("Xvfb"), find("xastir")) else {
            println!("without Xastir: it is not installed, or Xvfb is not");
            return None;
        };
        let folder = Scratch::new();
        let own = folder.join(".xastir");
        for place in ["config", "logs"] {
            fs::create_dir_all(own.join(place)).expect("a folder of ours");
        }
        // A type of 12 is AGW, whose port stands where others have a speed.
        let config = format!(
            "STATION_CALLSIGN:{call}\nSTATION_LAT:4736.372N\nSTATION_LONG:12219.926W\n\
             DISABLE_TRANSMIT:0\nDISABLE_POSIT_TX:0\nTNC_LOG_DATA:1\nLOGFILE_TNC:{}\n\
             DEVICE0_TYPE:12\nDEVICE0_HOST:127.0.0.1\nDEVICE0_SPEED:{agw}\n\
             DEVICE0_TXMT:1\nDEVICE0_ONSTARTUP:1\n",
            own.join("logs/tnc.log").display()
        );
        fs::write(own.join("config/xastir.cnf"), config).expect("a folder of ours");
        let mut shown = Command::new(display);
        shown.args(["-displayfd", "1", "-screen", "0", "800x600x24", "-nolisten", "tcp"]);
        let mut shown = Running::start(shown.stdout(Stdio::piped()).stderr(Stdio::null()));
        let mut number = String::new();
        BufReader::new(shown.output()).read_line(&mut number).expect("the display's number");
        let mut map = Command::new(map);
        map.env("XASTIR_USER_BASE", folder.path()).env("DISPLAY", format!(":{}", number.trim()));
        let map = Running::start(map.stdout(Stdio::null()).stderr(Stdio::null()));
        Some(Xastir { _display: shown, _map: map, folder })
    }

    /// Whether it has logged a packet.
    fn shows(&self, packet: &str) -> bool {
        let log = fs::read(self.folder.join(".xastir/logs/tnc.log")).unwrap_or_default();
        String::from_utf8_lossy(&log).contains(packet)
    }
}

/// Direwolf calls both programs by its own links, hears the beacon, and is repeated.
fn at_modems(rig: &Rig) {
    let _served = Process::at_modem("N0AAA", rig.kiss(0), 9600, SERVED);
    let direwolf = rig.agw(1).port().to_string();
    for called in ["N0AAA-5", "N0AAA-6"] {
        let (_calls, mut out) = program(&[&direwolf, "calls", "N0BBB", called, "2048"]);
        assert_eq!(line(&mut out), "equal 0", "{called} {}", rig.logs());
    }
    let mut listener = Agw::new(rig.agw(1), "N0BBB");
    listener.monitor();
    listener.unproto("APRS", "WIDE1-1", ">repeat me");
    let (mut copy, mut beacon) = (false, false);
    let begun = Instant::now();
    while !(copy && beacon) {
        assert!(begun.elapsed() < MOST, "copy {copy}, beacon {beacon}: {}", rig.logs());
        let Some(heard) = listener.event().filter(|event| event.kind == b'U') else { continue };
        let text = String::from_utf8_lossy(&heard.data);
        copy |= text.contains("Via N0AAA") && text.contains(">repeat me");
        beacon |= heard.from == "N0AAA" && text.contains(">a beacon");
    }
}
