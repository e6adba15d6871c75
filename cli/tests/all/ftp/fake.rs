//! A server of which each answer can be replaced, for a program of ours.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What a server says, and what it was told.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) greeting: Option<Vec<u8>>,
    /// Replies to a line, or to all lines with this verb; of a transfer, what is said before it.
    replies: BTreeMap<String, Vec<u8>>,
    /// What RETR, LIST and MLSD send, of a file behind the octet that REST names.
    pub(crate) content: Vec<u8>,
    /// Whether the content is sent again and again.
    pub(crate) endless: bool,
    /// After how many octets the first transfers are cut off, one after the other.
    pub(crate) cuts: Vec<usize>,
    /// What the content is, and MDTM says, after the first of them.
    pub(crate) changes: Option<(Vec<u8>, String)>,
    /// Whether REST is answered with 350, and nothing else.
    pub(crate) ignores_rest: bool,
    /// What is said behind a transfer, if not 226; nothing ends the session.
    pub(crate) final_reply: Option<Vec<u8>>,
    /// How many sessions there are at most, and what others are told to a line of theirs, or in
    /// place of a greeting.
    pub(crate) most: Option<(usize, &'static str, &'static str)>,
}

impl Script {
    pub(crate) fn sending(content: impl AsRef<[u8]>) -> Self {
        Script { content: content.as_ref().to_vec(), ..Script::default() }
    }

    pub(crate) fn reply(mut self, line: &str, reply: impl AsRef<[u8]>) -> Self {
        self.replies.insert(line.into(), reply.as_ref().to_vec());
        self
    }
}

/// A running server. Its threads end with the test.
pub(crate) struct Fake {
    port: u16,
    state: Arc<Mutex<State>>,
}

struct State {
    sessions: usize,
    script: Script,
    lines: Vec<String>,
    stored: Vec<u8>,
}

impl Fake {
    pub(crate) fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let state =
            Arc::new(Mutex::new(State { sessions: 0, script, lines: vec![], stored: vec![] }));
        let shared = state.clone();
        thread::spawn(move || {
            for control in listener.incoming().map_while(Result::ok) {
                let state = shared.clone();
                thread::spawn(move || {
                    let mut one_too_many = None;
                    {
                        let mut state = state.lock().expect("no thread panicked");
                        if let Some((most, line, refusal)) = state.script.most
                            && state.sessions >= most
                        {
                            one_too_many = Some((line, refusal));
                        } else {
                            state.sessions += 1;
                        }
                    }
                    let counts = one_too_many.is_none();
                    Session { one_too_many, ..Session::new(state.clone(), control) }.run();
                    state.lock().expect("no thread panicked").sessions -= usize::from(counts);
                });
            }
        });
        Fake { port, state }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("ftp://127.0.0.1:{}/{path}", self.port)
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.state.lock().expect("no thread panicked").lines.clone()
    }

    pub(crate) fn stored(&self) -> Vec<u8> {
        self.state.lock().expect("no thread panicked").stored.clone()
    }
}

struct Session {
    state: Arc<Mutex<State>>,
    control: TcpStream,
    data: Option<TcpListener>,
    rest: usize,
    /// Where it is refused, and how.
    one_too_many: Option<(&'static str, &'static str)>,
}

impl Session {
    fn new(state: Arc<Mutex<State>>, control: TcpStream) -> Self {
        Session { state, control, data: None, rest: 0, one_too_many: None }
    }

    fn say(&mut self, text: &[u8]) {
        let _ = self.control.write_all(text); // the client may be gone
    }

    fn run(mut self) {
        let greeting = self.state.lock().expect("no thread panicked").script.greeting.clone();
        if let Some(("", refusal)) = self.one_too_many {
            return self.say(refusal.as_bytes());
        }
        self.say(greeting.as_deref().unwrap_or(b"220 ready\r\n"));
        let Ok(lines) = self.control.try_clone() else { return };
        for line in BufReader::new(lines).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            let verb = line.split(' ').next().unwrap_or_default().to_owned();
            if let Some((_, refusal)) = self.one_too_many.filter(|(line, _)| *line == verb) {
                return self.say(refusal.as_bytes());
            }
            let mut state = self.state.lock().expect("no thread panicked");
            state.lines.push(line.clone());
            let replies = &state.script.replies;
            let reply = replies.get(&line).or_else(|| replies.get(&verb)).cloned();
            let length = state.script.content.len();
            drop(state);
            match verb.as_str() {
                "RETR" | "LIST" | "MLSD" | "STOR" | "APPE" => {
                    let reply = reply.unwrap_or_else(|| b"150 go\r\n".to_vec());
                    self.say(&reply);
                    if reply.starts_with(b"1") && self.transfer(&verb).is_none() {
                        return; // cut off
                    }
                }
                _ => {
                    let reply = reply.unwrap_or_else(|| self.usual(&verb, &line, length));
                    self.say(&reply);
                }
            }
        }
    }

    fn usual(&mut self, verb: &str, line: &str, length: usize) -> Vec<u8> {
        match verb {
            "USER" => "331 password\r\n".into(),
            "PASS" => "230 in\r\n".into(),
            "TYPE" => "200 ok\r\n".into(),
            "PWD" => "257 \"/\"\r\n".into(),
            // What has no / at its end is a file.
            "CWD" if line.ends_with('/') => "250 ok\r\n".into(),
            "CWD" => "550 no such folder\r\n".into(),
            "SIZE" => format!("213 {length}\r\n").into(),
            "REST" => {
                self.rest = line[5..].parse().unwrap_or(0);
                "350 ok\r\n".into()
            }
            "EPSV" => {
                let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
                let port = listener.local_addr().expect("it is bound").port();
                self.data = Some(listener);
                format!("229 ext (|||{port}|)\r\n").into()
            }
            "QUIT" => "221 bye\r\n".into(),
            _ => "502 no\r\n".into(),
        }
    }

    /// Returns `None` if the transfer is cut off.
    fn transfer(&mut self, verb: &str) -> Option<()> {
        let (mut data, _) = self.data.take()?.accept().ok()?;
        if matches!(verb, "STOR" | "APPE") {
            let mut stored = Vec::new();
            let _ = data.read_to_end(&mut stored);
            self.state.lock().expect("no thread panicked").stored = stored;
        } else {
            let mut state = self.state.lock().expect("no thread panicked");
            let rest = std::mem::take(&mut self.rest).min(state.script.content.len());
            let rest = if state.script.ignores_rest { 0 } else { rest };
            let content = state.script.content[rest..].to_vec();
            let (endless, cut) = (state.script.endless, !state.script.cuts.is_empty());
            let length = if cut { state.script.cuts.remove(0) } else { content.len() };
            drop(state);
            while data.write_all(&content[..length.min(content.len())]).is_ok() && endless {}
            if cut {
                let mut state = self.state.lock().expect("no thread panicked");
                if let Some((content, modified)) = state.script.changes.take() {
                    state.script.content = content;
                    let reply = format!("213 {modified}\r\n").into_bytes();
                    state.script.replies.insert("MDTM".into(), reply);
                }
                drop(state);
                // What was sent arrives before the end.
                thread::sleep(std::time::Duration::from_millis(300));
                return None;
            }
        }
        drop(data);
        let last = self.state.lock().expect("no thread panicked").script.final_reply.clone();
        let last = last.unwrap_or_else(|| b"226 done\r\n".into());
        self.say(&last);
        (!last.is_empty()).then_some(())
    }
}
