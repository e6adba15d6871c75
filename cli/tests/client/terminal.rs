//! The program at a terminal, which `script` (of util-linux) makes.

use std::io::{Read, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use stackwright_programs::processes::{Running, eventually, find, stackwright};
use stackwright_programs::scratch::Scratch;

use crate::program;

/// How long a person would wait.
const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Terminal {
    running: Running,
    keyboard: ChildStdin,
    shown: Arc<Mutex<Vec<u8>>>,
    /// How much of what is shown was waited for.
    seen: usize,
}

impl Terminal {
    /// Runs the program at a terminal, where a person has `home`; `None` without `script`.
    pub(crate) fn start(home: &Scratch, arguments: &[&str]) -> Option<Self> {
        if find("script").is_none() {
            eprintln!("script is not installed: not tried");
            return None;
        }
        let _ = program(); // it is known which one
        let line = format!("stty cols 100 rows 30; exec {} \"$@\"", stackwright().display());
        let words: Vec<_> = arguments.iter().map(|word| format!("'{word}'")).collect();
        let script = format!("set -- {}; {line}", words.join(" "));
        let mut command = Command::new("script");
        command.args(["--quiet", "--flush", "--return", "--command", &script, "/dev/null"]);
        command.env("HOME", home.path()).env("SHELL", "/bin/sh").env("TERM", "xterm");
        command.env_remove("XDG_STATE_HOME").current_dir(home.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut running = Running::start(&mut command);
        let (keyboard, mut screen) = (running.input(), running.output());
        let shown = Arc::new(Mutex::new(Vec::new()));
        let writing = Arc::clone(&shown);
        thread::spawn(move || {
            let mut octets = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut octets) {
                writing.lock().expect("no thread panicked").extend_from_slice(&octets[..length]);
            }
        });
        Some(Terminal { running, keyboard, shown, seen: 0 })
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the program runs");
        self.keyboard.flush().expect("the program runs");
    }

    /// Waits until `text` is shown, behind what was waited for before.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, text: &str) {
        let (seen, shown) = (self.seen, Arc::clone(&self.shown));
        let find = || {
            let shown = shown.lock().expect("no thread panicked");
            let mut found = shown[seen..].windows(text.len());
            found.position(|octets| octets == text.as_bytes())
        };
        let is_found = eventually(PATIENCE, || find().is_some());
        let all = String::from_utf8_lossy(&self.shown.lock().expect("no thread panicked")[seen..])
            .into_owned();
        assert!(is_found, "{text:?} is not shown: {all:?}");
        self.seen += find().unwrap_or_default() + text.len();
    }

    /// Returns the exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        let running = &mut self.running;
        assert!(eventually(PATIENCE, || running.ended().is_some()), "it does not end");
        self.running.ended().and_then(|status| status.code())
    }
}
