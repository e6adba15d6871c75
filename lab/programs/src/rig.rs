//! Two Direwolf modems that hear each other, without a radio and without a sound card.

use std::fs::{self, File};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::processes::{Running, eventually};
use crate::scratch::Scratch;
use crate::servers::free_ports;

/// Samples a second of all modems.
const SAMPLES: u32 = 48_000;

/// Both modems, and what joins them.
pub struct Rig {
    modems: [Modem; 2],
    // Behind the modems, so that it ends after them.
    _channel: Running,
    folder: Scratch,
}

struct Modem {
    name: &'static str,
    kiss: u16,
    agw: u16,
    running: Running,
}

impl Rig {
    /// Starts two modems of `baud` bit/s.
    ///
    /// # Panics
    /// When they do not listen in time.
    pub fn new(baud: u32) -> Self {
        Self::with(baud, &[])
    }

    /// Starts two modems of `baud` bit/s, with options for both.
    ///
    /// # Panics
    /// When they do not listen in time.
    pub fn with(baud: u32, options: &[&str]) -> Self {
        let folder = Scratch::new();
        let names = ["A", "B"];
        let sinks = names.map(|name| {
            let fifo = folder.join(&format!("{name}.tx"));
            let fifo = fifo.display();
            format!("pcm.tx{name} {{ type file slave.pcm null file \"{fifo}\" format raw }}\n")
        });
        fs::write(folder.join(".asoundrc"), sinks.concat()).expect("a folder of ours");
        let audio = free_udp_ports();
        let mut channel = Command::new("python3");
        channel.arg(channel_program()).arg(SAMPLES.to_string());
        for (name, port) in names.iter().zip(audio) {
            channel.arg(format!("{name}:{port}"));
        }
        let channel = Running::start(quiet(&mut channel, folder.path(), "channel"));
        let fifos = names.map(|name| folder.join(&format!("{name}.tx")));
        let are_there = eventually(Duration::from_secs(10), || fifos.iter().all(|at| at.exists()));
        assert!(are_there, "the channel makes a FIFO for each modem");
        let modems = [0, 1].map(|place| {
            let (name, [kiss, agw]) = (names[place], free_ports(false));
            let setting = format!(
                "ADEVICE udp:{} tx{name}\nARATE {SAMPLES}\nACHANNELS 1\nCHANNEL 0\n\
                 MYCALL N0{name}{name}{name}\nMODEM {baud}\nAGWPORT {agw}\nKISSPORT {kiss}\n\
                 PERSIST 255\nSLOTTIME 1\nTXDELAY 20\nTXTAIL 5\n",
                audio[place]
            );
            fs::write(folder.join(&format!("{name}.conf")), setting).expect("a folder of ours");
            Modem { name, kiss, agw, running: start(folder.path(), name, options) }
        });
        let rig = Rig { modems, _channel: channel, folder };
        rig.listens(0);
        rig.listens(1);
        rig
    }

    /// Returns where a modem offers KISS.
    pub fn kiss(&self, modem: usize) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.modems[modem].kiss))
    }

    /// Returns where a modem offers its own links to programs.
    pub fn agw(&self, modem: usize) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.modems[modem].agw))
    }

    /// Waits until a modem listens at both of its ports, which it opens one after the other;
    /// returns when it did.
    pub fn listens(&self, modem: usize) -> Instant {
        let listens = [self.kiss(modem), self.agw(modem)].iter().all(|address| {
            eventually(Duration::from_secs(20), || TcpStream::connect(address).is_ok())
        });
        assert!(listens, "{} listens\n{}", self.modems[modem].name, self.logs());
        Instant::now()
    }

    /// Kills a modem.
    pub fn kill(&mut self, modem: usize) {
        self.modems[modem].running.kill();
    }

    /// Starts one that was killed.
    pub fn restart(&mut self, modem: usize) {
        let name = self.modems[modem].name;
        self.modems[modem].running = start(self.folder.path(), name, &[]);
    }

    /// Starts one that was killed, with a pseudo terminal that offers KISS too; returns its name.
    pub fn restart_with_terminal(&mut self, modem: usize) -> PathBuf {
        let name = self.modems[modem].name;
        self.modems[modem].running = start(self.folder.path(), name, &["-p"]);
        self.listens(modem);
        let log = self.folder.join(&format!("{name}.log"));
        let mut terminal = None;
        // It names its terminal after it has opened its ports.
        eventually(Duration::from_secs(20), || {
            let log = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
            let mut whole = log.split_inclusive('\n').filter(|line| line.ends_with('\n'));
            terminal = whole.find_map(|line| {
                line.split_whitespace()
                    .find(|word| word.starts_with("/dev/pts/"))
                    .map(PathBuf::from)
            });
            terminal.is_some()
        });
        terminal.unwrap_or_else(|| panic!("it names its terminal\n{}", self.logs()))
    }

    /// Returns what the modems and the channel said, for a trial that fails.
    pub fn logs(&self) -> String {
        let log = |name: &str| {
            let text = fs::read(self.folder.join(&format!("{name}.log"))).unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            let lines: Vec<&str> = text.lines().rev().take(20).collect();
            format!("{name}:\n{}\n", lines.into_iter().rev().collect::<Vec<_>>().join("\n"))
        };
        ["channel", "A", "B"].map(log).concat()
    }
}

fn start(folder: &Path, name: &str, options: &[&str]) -> Running {
    let mut modem = Command::new("direwolf");
    // Without colours, and without a line a frame about the loudness of audio.
    modem.args(["-t", "0", "-q", "d", "-c", &format!("{name}.conf")]).env("HOME", folder);
    Running::start(quiet(modem.args(options), folder, name))
}

fn quiet<'a>(command: &'a mut Command, folder: &Path, log: &str) -> &'a mut Command {
    let log = File::create(folder.join(format!("{log}.log"))).expect("a folder of ours");
    let errors = log.try_clone().expect("one more descriptor");
    command.current_dir(folder).stdin(Stdio::null()).stdout(log).stderr(errors)
}

fn channel_program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/strangers/rig/channel.py")
}

/// One for each modem. Both are held until both are known: the system may give one that is free
/// again a second time.
fn free_udp_ports() -> [u16; 2] {
    let sockets = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").expect("a free port"));
    sockets.map(|socket| socket.local_addr().expect("known").port())
}
