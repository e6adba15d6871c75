//! A station as operators use one, on a channel of ours: two programs at call signs, a beacon and a
//! digipeater. aprx hears what is on the air, and kissutil, of Direwolf, asks for repetition.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;
use stackwright::channel::{ChannelDescription, RadioChannel};
use stackwright_programs::processes::{Running, find};
use stackwright_programs::scratch::Scratch;

use crate::channel::{RATE, SPEED};
use crate::process::Process;
use crate::programs::{line, program};
use crate::trial;

/// Longer than a beacon waits, which begins within a minute.
const MOST: Duration = Duration::from_secs(120);

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("station/operator", "aprx", operator)]
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
        if has(&["N0CCC>APRS,N0AAA*", ":>repeat me"]) && has(&["N0AAA>APRS,WIDE2-1", ":>a beacon"])
        {
            break;
        }
        assert!(begun.elapsed() < MOST, "{heard}");
        // A copy of the same text is not repeated again.
        nth += 1;
        writeln!(types, "N0CCC>APRS,WIDE1-1:>repeat me {nth}").expect("it takes a line");
        thread::sleep(Duration::from_secs(1));
    }
    kissutil.kill();
    aprx.kill();
}
