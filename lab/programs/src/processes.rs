//! Programs that never outlive the test that started them.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use std::{env, fs};

/// How long anything may take before it counts as stuck.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// Where a program is: on the path, among the daemons, or unpacked beside the build.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into(), built("strangers/usr/sbin")])
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

static PROGRAM: RwLock<Option<PathBuf>> = RwLock::new(None);

/// The program under test: the one that [`use_program`] named, `$STACKWRIGHT`, or the last release
/// build.
pub fn stackwright() -> PathBuf {
    let named = PROGRAM.read().unwrap_or_else(PoisonError::into_inner).clone();
    let otherwise =
        || env::var_os("STACKWRIGHT").map_or_else(|| built("release/stackwright"), PathBuf::from);
    named.unwrap_or_else(otherwise)
}

/// From now on, `program` is the program under test.
pub fn use_program(program: PathBuf) {
    *PROGRAM.write().unwrap_or_else(PoisonError::into_inner) = Some(program);
}

/// Something in the build folder of this workspace.
pub fn built(name: &str) -> PathBuf {
    let workspace = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| format!("{workspace}/target").into(), PathBuf::from)
        .join(name)
}

/// A running program, killed when dropped: a test that panics leaves nothing behind.
#[derive(Debug)]
pub struct Running {
    child: Child,
}

impl Running {
    /// Starts `command`.
    ///
    /// # Panics
    ///
    /// When it cannot be started.
    pub fn start(command: &mut Command) -> Self {
        Self::try_start(command).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts `command`.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn try_start(command: &mut Command) -> io::Result<Self> {
        // What a test leaves interrupted is not among a person's transfers.
        let says = |name: &str| command.get_envs().any(|(known, _)| known == name);
        if !says("XDG_STATE_HOME") && !says("HOME") {
            command.env("XDG_STATE_HOME", built("state"));
        }
        match command.spawn() {
            Ok(child) => Ok(Self { child }),
            Err(error) => Err(io::Error::new(error.kind(), format!("{command:?}: {error}"))),
        }
    }

    /// Its process number.
    pub fn number(&self) -> u32 {
        self.child.id()
    }

    /// Is it still there?
    pub fn alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// How it ended, once it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The number in the line `field` of its status, such as `Threads`, or `VmHWM` in kilobytes; 0
    /// once it has ended.
    pub fn status(&self, field: &str) -> u64 {
        let status =
            fs::read_to_string(format!("/proc/{}/status", self.number())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0)
    }

    /// Is it `program` by now? A process that has just been made is for a moment still a part of
    /// this one, with all that this one holds.
    pub fn is(&self, program: &OsStr) -> bool {
        let name = Path::new(program).file_name().unwrap_or_default().as_encoded_bytes();
        let comm = fs::read(format!("/proc/{}/comm", self.number())).unwrap_or_default();
        // The kernel keeps the first 15 octets (proc(5)).
        comm.strip_suffix(b"\n") == Some(&name[..name.len().min(15)])
    }

    /// Lets a reader have what the program writes to its standard output.
    ///
    /// # Panics
    ///
    /// When the output was not piped, or is taken already.
    pub fn output(&mut self) -> std::process::ChildStdout {
        self.child.stdout.take().expect("a piped output")
    }

    /// Lets a reader have what the program complains about.
    ///
    /// # Panics
    ///
    /// When the complaints were not piped, or are taken already.
    pub fn errors(&mut self) -> std::process::ChildStderr {
        self.child.stderr.take().expect("piped complaints")
    }

    /// Lets a writer have the program's standard input.
    ///
    /// # Panics
    ///
    /// When the input was not piped, or is taken already.
    pub fn input(&mut self) -> std::process::ChildStdin {
        self.child.stdin.take().expect("a piped input")
    }

    /// Stops it (SIGSTOP) until what is returned is dropped: all that is sent to it meanwhile
    /// arrives at once.
    ///
    /// # Panics
    ///
    /// When it cannot be stopped.
    pub fn stop(&self) -> Stopped {
        signal(self.number(), "-STOP");
        Stopped(self.number())
    }

    /// Ends it at once, without a chance to tidy up.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A program that is stopped; it continues (SIGCONT) when this is dropped.
#[derive(Debug)]
pub struct Stopped(u32);

impl Drop for Stopped {
    fn drop(&mut self) {
        signal(self.0, "-CONT");
    }
}

fn signal(process: u32, name: &str) {
    let status = Command::new("kill").args([name, &process.to_string()]).status();
    assert!(status.is_ok_and(|status| status.success()), "kill {name} {process}");
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What a program did, from start to end.
#[derive(Debug)]
pub struct Outcome {
    /// Its command line, for messages.
    pub command: String,
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed.
    pub output: Vec<u8>,
    /// What it complained about.
    pub complaints: Vec<u8>,
    /// The most memory it was seen with, in kilobytes.
    pub memory: u64,
}

impl Outcome {
    /// Insists on success.
    ///
    /// # Panics
    ///
    /// With everything the program said, when it failed.
    #[track_caller]
    pub fn succeeded(self) -> Self {
        assert!(self.status.success(), "{}", self.account());
        self
    }

    /// Insists on exit code `code`.
    ///
    /// # Panics
    ///
    /// With everything the program said, when it ended otherwise.
    #[track_caller]
    pub fn exited(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "{}", self.account());
        self
    }

    /// Returns it, once it is clear that it failed in what it was to do: it was asked well, and
    /// neither interrupted nor killed.
    ///
    /// # Panics
    ///
    /// With everything the program said, when it ended otherwise.
    #[track_caller]
    pub fn failed(self) -> Self {
        assert!(matches!(self.status.code(), Some(1 | 3..=7)), "{}", self.account());
        self
    }

    /// What it printed, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.output).into_owned()
    }

    fn account(&self) -> String {
        let mut account = format!("{}\nended with {}", self.command, self.status);
        for (title, octets) in [("printed", &self.output), ("complained", &self.complaints)] {
            let text = String::from_utf8_lossy(octets);
            let text: String = text.chars().take(4_000).collect();
            let _ = write!(account, "\n{title}: {text}");
        }
        account
    }
}

/// Runs a program to its end.
///
/// # Panics
///
/// When it cannot be started, or is stuck; then it is killed first.
#[track_caller]
pub fn run(command: &mut Command) -> Outcome {
    let words = format!("{command:?}");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running::start(command);
    let output = gather(running.child.stdout.take().expect("piped"));
    let complaints = gather(running.child.stderr.take().expect("piped"));
    let begin = Instant::now();
    let mut memory = 0;
    let mut pause = Duration::from_micros(200);
    let status = loop {
        if running.is(command.get_program()) {
            memory = memory.max(running.status("VmHWM"));
        }
        if let Some(status) = running.child.try_wait().expect("a child of ours") {
            break status;
        }
        assert!(begin.elapsed() < PATIENCE, "{words}\nis stuck");
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    };
    let [output, complaints] = [output, complaints].map(|reader| reader.join().unwrap_or_default());
    Outcome { command: words, status, output, complaints, memory }
}

/// Reads everything, aside: a program whose output nobody reads stops.
fn gather(mut from: impl Read + Send + 'static) -> JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut octets = Vec::new();
        let _ = from.read_to_end(&mut octets);
        octets
    })
}

/// Asks again and again until the answer is yes; says whether it ever was.
pub fn eventually(within: Duration, mut question: impl FnMut() -> bool) -> bool {
    let begin = Instant::now();
    while !question() {
        if begin.elapsed() > within {
            return false;
        }
        thread::sleep(Duration::from_millis(2));
    }
    true
}
