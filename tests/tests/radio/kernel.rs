//! AX.25 of the Linux kernel, in a machine of its own: 6.1 is the last that Debian ships with it.
//!
//! ```sh
//! tests/strangers/kernel FOLDER
//! STACKWRIGHT_KERNEL=FOLDER cargo test -p stackwright-tests --test radio -- kernel --ignored
//! ```

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use libtest_mimic::Trial;
use stackwright::ax25::header::Modulus;
use stackwright::ax25::{Config, LinkVersion};
use stackwright::contract::services::Ended;

use crate::hub::hub;
use crate::station::Station;
use crate::trial;

/// It counts the octets on its serial line at this rate.
const RATE: u32 = 100_000;
const OCTETS: usize = 2048;

pub(crate) fn trials() -> Vec<Trial> {
    vec![trial("kernel", "qemu-system-x86_64", both_ways).with_ignored_flag(true)]
}

struct Machine {
    child: Child,
    lines: Receiver<String>,
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder() -> PathBuf {
    let folder = env::var_os("STACKWRIGHT_KERNEL");
    folder.expect("STACKWRIGHT_KERNEL names what `tests/strangers/kernel` has made").into()
}

impl Machine {
    /// Starts it, with its TNC at a port of this one.
    fn start(tnc: u16) -> Self {
        let kiss = format!("socket,id=kiss,host=127.0.0.1,port={tnc}");
        let mut child = Command::new("qemu-system-x86_64")
            .args(["-m", "192", "-nographic", "-no-reboot", "-monitor", "none", "-net", "none"])
            .arg("-kernel")
            .arg(folder().join("vmlinuz"))
            .arg("-initrd")
            .arg(folder().join("initrd"))
            .args(["-append", "console=ttyS0 quiet panic=1"])
            .args(["-chardev", "stdio,id=console", "-serial", "chardev:console"])
            .args(["-chardev", &kiss, "-serial", "chardev:kiss"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it is installed");
        let (sender, lines) = channel();
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        thread::spawn(move || {
            for line in output.split(b'\n').map_while(Result::ok) {
                let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
            }
        });
        Machine { child, lines }
    }

    fn says(&self, word: &str) {
        let mut said = Vec::new();
        loop {
            match self.lines.recv_timeout(Duration::from_secs(120)) {
                Ok(line) if line.contains(word) => return,
                Ok(line) => said.push(line),
                Err(why) => panic!("{why}: {said:#?}"),
            }
        }
    }
}

/// Its serial line is a fast channel, and it answers when it has the time.
fn of_the_machine(config: Config) -> Config {
    Config { access: Duration::from_millis(50), timeout: Duration::from_secs(3), ..config }
}

/// It echoes what we send over a link of ours; then it calls, and sends a text.
fn both_ways() {
    let hub = hub();
    let mut machine = Machine::start(hub.port());
    let mut station = Station::at("N0AAA", LinkVersion::Auto, RATE, hub, of_the_machine);
    machine.says("READY");
    station.open("N0BBB-1");
    station.until("it accepts", |station| station.told.opened);
    assert_eq!(station.modulus(), Some(Modulus::Extended));
    let content: Vec<u8> = (0..OCTETS).map(|place| (place * 31 % 251) as u8).collect();
    let mut sent = 0;
    station.until("it echoes", |station| {
        sent += station.send(&content[sent..]);
        station.told.octets.len() >= OCTETS
    });
    assert!(station.told.octets == content, "the same octets");
    station.finish();
    station.until("it is released", |station| station.told.ended.is_some());
    assert_eq!(station.told.ended, Some(Ended::Finished));
    station.told = Default::default();

    station.listen("N0AAA");
    let mut input = machine.child.stdin.take().expect("a pipe");
    input.write_all(b"now\n").expect("it reads");
    let text = fs::read(folder().join("init")).expect("what it sends");
    station.until("it calls, and sends", |station| station.told.octets.len() >= text.len());
    // Its program writes CR for LF, as terminals of packet radio do.
    let received: Vec<u8> = station
        .told
        .octets
        .iter()
        .map(|octet| if *octet == b'\r' { b'\n' } else { *octet })
        .collect();
    assert!(received.starts_with(&text), "{}", String::from_utf8_lossy(&received));
}
