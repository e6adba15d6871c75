//! Their side: a process, of which each line is read.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::net::TcpListener;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use stackwright_tls::ServerIdentity;

use crate::certificates::{Authority, NAME};
use crate::strangers::ours::Ours;

/// An authority and an identity, as files for programs of others.
pub(crate) struct Files {
    pub(crate) identity: ServerIdentity,
    paths: [String; 3],
    _folder: tempfile::TempDir,
}

impl Files {
    pub(crate) fn of(authority: &Authority) -> Self {
        let (certificate, key) = authority.issue_pem(NAME, 2050);
        let folder = tempfile::tempdir().unwrap();
        let texts = [("certificate", &certificate), ("key", &key), ("root", &authority.root_pem)];
        let paths = texts.map(|(name, text)| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        });
        let identity = ServerIdentity::from_pem(certificate.as_bytes(), key.as_bytes()).unwrap();
        Files { identity, paths, _folder: folder }
    }

    pub(crate) fn identity_paths(&self) -> [&str; 2] {
        [&self.paths[0], &self.paths[1]]
    }

    pub(crate) fn root(&self) -> &str {
        &self.paths[2]
    }
}

/// Returns whether there is such a program. Says if not, and fails where all have to be there.
pub(crate) fn find(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    if !found {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{program} is missing");
        eprintln!("skipped: {program} is missing");
    }
    found
}

/// Returns a port that is free at this moment.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub(crate) struct Theirs {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    errors: Receiver<String>,
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

impl Theirs {
    pub(crate) fn python(arguments: &[&str]) -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all/strangers/peer.py");
        Self::start(Command::new("python3").arg(script).args(arguments))
    }

    pub(crate) fn openssl(arguments: &[&str]) -> Self {
        Self::start(Command::new("openssl").args(arguments))
    }

    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines_of = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (lines, errors) = (lines(lines_of.0), lines(lines_of.1));
        Theirs { input: child.stdin.take(), child, lines, errors }
    }

    pub(crate) fn write(&mut self, text: &str) {
        self.input.as_mut().unwrap().write_all(text.as_bytes()).unwrap();
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Waits for a line that begins like this, and returns the rest.
    #[track_caller]
    pub(crate) fn says(&mut self, start: &str) -> String {
        self.find(start, std::thread::sleep)
    }

    /// The same while our side runs.
    #[track_caller]
    pub(crate) fn says_while(&mut self, start: &str, ours: &mut Ours) -> String {
        self.find(start, |_| ours.turn())
    }

    #[track_caller]
    fn find(&mut self, start: &str, mut meanwhile: impl FnMut(Duration)) -> String {
        let since = Instant::now();
        loop {
            if let Ok(line) = self.lines.try_recv() {
                if let Some(rest) = line.strip_prefix(start) {
                    return rest.to_owned();
                }
                continue;
            }
            if since.elapsed() > Duration::from_secs(30) {
                let errors: Vec<_> = self.errors.try_iter().collect();
                panic!("it never said {start:?}: {errors:#?}");
            }
            meanwhile(Duration::from_millis(10));
        }
    }

    /// Waits for an error that contains this.
    #[track_caller]
    pub(crate) fn says_error(&mut self, part: &str) {
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(10) {
            match self.errors.recv_timeout(Duration::from_millis(100)) {
                Ok(line) if line.contains(part) => return,
                _ => {}
            }
        }
        panic!("it never said {part:?}");
    }
}
