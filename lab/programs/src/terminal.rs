//! A program at a terminal, which `script` (of util-linux) makes.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::processes::{Running, eventually, find};

/// How long a person would wait.
const PATIENCE: Duration = Duration::from_secs(20);

/// A terminal, and the program that runs there. The program is killed when this is dropped.
#[derive(Debug)]
pub struct Terminal {
    running: Running,
    keyboard: ChildStdin,
    shown: Arc<Mutex<Vec<u8>>>,
    /// How much of what is shown was waited for.
    seen: usize,
}

impl Terminal {
    /// Runs a line of a shell at a terminal of `columns` and `rows`, with `home` as the person's
    /// folder and the present one; `None` if `script` is not installed.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    pub fn start(home: &Path, line: &str, columns: u16, rows: u16) -> Option<Self> {
        find("script")?;
        let line = format!("stty cols {columns} rows {rows}; {line}");
        let mut command = Command::new("script");
        command.args(["--quiet", "--flush", "--return", "--command", &line, "/dev/null"]);
        command.env("HOME", home).env("SHELL", "/bin/sh").env("TERM", "xterm-256color");
        command.env("TZ", "UTC").current_dir(home);
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME").env_remove("NO_COLOR");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut running = Running::start(&mut command);
        let (keyboard, mut screen) = (running.input(), running.output());
        let shown = Arc::new(Mutex::new(Vec::new()));
        let writing = Arc::clone(&shown);
        thread::spawn(move || {
            let mut octets = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut octets) {
                let mut shown = writing.lock().unwrap_or_else(PoisonError::into_inner);
                shown.extend_from_slice(&octets[..length]);
            }
        });
        Some(Self { running, keyboard, shown, seen: 0 })
    }

    /// Types keys.
    ///
    /// # Panics
    ///
    /// When the program has ended.
    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the program runs");
        self.keyboard.flush().expect("the program runs");
    }

    /// Waits until `text` is shown, behind what was waited for before.
    ///
    /// # Panics
    ///
    /// When it is not shown.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) {
        let find = |shown: &[u8]| {
            let mut found = shown.windows(text.len());
            found.position(|octets| octets == text.as_bytes())
        };
        let is_found = eventually(PATIENCE, || find(&self.shown()[self.seen..]).is_some());
        let shown = self.shown();
        let rest = &shown[self.seen..];
        assert!(is_found, "{text:?} is not shown: {:?}", String::from_utf8_lossy(rest));
        self.seen += find(rest).unwrap_or_default() + text.len();
    }

    /// Returns all that was written to the terminal.
    pub fn shown(&self) -> Vec<u8> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits for the end of the program, and returns its exit code.
    ///
    /// # Panics
    ///
    /// When it does not end.
    pub fn end(mut self) -> Option<i32> {
        let running = &mut self.running;
        assert!(eventually(PATIENCE, || running.ended().is_some()), "it does not end");
        self.running.ended().and_then(|status| status.code())
    }
}
