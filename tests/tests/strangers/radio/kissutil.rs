//! Direwolf's `kissutil`: a program that speaks KISS, and that a person types frames into.

use std::io::{BufRead, BufReader, Write, pipe};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use std::{fs, thread};

use stackwright_programs::processes::{Running, eventually};

/// The program, at a TNC.
pub(crate) struct Kissutil {
    input: ChildStdin,
    lines: Receiver<String>,
    running: Running,
}

impl Kissutil {
    /// Starts it, and waits until it is connected.
    pub(crate) fn new(tnc: SocketAddr) -> Self {
        let (host, port) = (tnc.ip().to_string(), tnc.port().to_string());
        let mut command = Command::new("kissutil");
        command.args(["-h", &host, "-p", &port]);
        let kissutil = Self::start(command);
        // It says nothing of it, and drops what it reads before.
        let number = kissutil.running.number();
        let connects = eventually(Duration::from_secs(20), || is_connected(number));
        assert!(connects, "kissutil connects to {tnc}");
        kissutil
    }

    /// Starts it at a serial device, in its folder: kissutil takes names of at most 29 octets.
    pub(crate) fn at_device(path: &Path) -> Self {
        let (folder, name) = (path.parent().expect("a folder"), path.file_name().expect("a name"));
        let mut command = Command::new("kissutil");
        command.current_dir(folder).arg("-p").arg(name);
        Self::start(command)
    }

    fn start(mut command: Command) -> Self {
        let (output, both) = pipe().expect("a pipe");
        command.stdin(Stdio::piped()).stderr(both.try_clone().expect("a second end")).stdout(both);
        let mut running = Running::start(&mut command);
        let input = running.input();
        drop(command); // it holds the ends that kissutil writes to
        let (told, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim_end().to_owned();
                if told.send(line).is_err() {
                    return;
                }
            }
        });
        Kissutil { input, lines, running }
    }

    /// Types a frame, such as `N0BBB>N0AAA:text`.
    pub(crate) fn send(&mut self, frame: &str) {
        writeln!(self.input, "{frame}").expect("kissutil takes a line");
    }

    /// Returns the lines that came since the last time, such as `[0] N0AAA>N0BBB:text`.
    pub(crate) fn lines(&self) -> impl Iterator<Item = String> + '_ {
        self.lines.try_iter()
    }
}

/// Whether a process has a TCP connection that is established (proc(5)).
pub(crate) fn is_connected(process: u32) -> bool {
    let connections = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let established = |socket: &str| {
        let fields = connections.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        fields
            .into_iter()
            .any(|fields| fields.get(3) == Some(&"01") && fields.get(9) == Some(&socket))
    };
    let Ok(descriptors) = fs::read_dir(format!("/proc/{process}/fd")) else { return false };
    descriptors.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok()).any(|link| {
        let socket = link.to_str().and_then(|link| link.strip_prefix("socket:["));
        socket.and_then(|socket| socket.strip_suffix(']')).is_some_and(established)
    })
}
