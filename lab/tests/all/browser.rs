//! A Chromium without a window, asked through pipes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use stackwright_programs::processes::{PATIENCE, eventually, find};

/// Returns where Chromium is; says so where it is not.
pub(crate) fn chromium() -> Option<PathBuf> {
    let found = find("chromium");
    if found.is_none() {
        println!("skipped: chromium is not there");
    }
    found
}

/// A command of the lab that shows a page, ended when dropped.
pub(crate) struct Page(Child);

impl Page {
    /// Starts it, and returns the page's address.
    pub(crate) fn of(command: &mut Command) -> (Self, String) {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("lab");
        let mut line = String::new();
        let says = child.stdout.take().expect("a pipe");
        BufReader::new(says).read_line(&mut line).expect("a line");
        let url = line.split_whitespace().find(|word| word.starts_with("http"));
        (Page(child), url.expect("an address").into())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Started by a shell, because Chromium is asked through its descriptors 3 and 4.
const START: &str = "exec \"$0\" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
                     --user-data-dir=\"$1\" --remote-debugging-pipe about:blank 3<&0 4>&1 >&2";

/// A browser, ended when dropped.
pub(crate) struct Browser {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Of the page.
    session: Option<String>,
    count: u64,
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn open(chromium: &Path, url: &str) -> Self {
        let profile = tempfile::tempdir().expect("a folder");
        let mut child = Command::new("sh")
            .args(["-c", START])
            .arg(chromium)
            .arg(profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        let asks = child.stdin.take().expect("a pipe");
        let answers = BufReader::new(child.stdout.take().expect("a pipe"));
        let (session, count) = (None, 0);
        let mut browser = Browser { child, asks, answers, session, count, _profile: profile };
        let target = browser.ask("Target.createTarget", &json!({ "url": url }))["targetId"].clone();
        let attach = json!({ "targetId": target, "flatten": true });
        let session = browser.ask("Target.attachToTarget", &attach)["sessionId"].clone();
        browser.session = session.as_str().map(String::from);
        browser
    }

    /// Asks, and waits for the answer: its result.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.count += 1;
        let mut ask = json!({ "id": self.count, "method": method, "params": params });
        if let Some(session) = &self.session {
            ask["sessionId"] = json!(session);
        }
        write!(self.asks, "{ask}\0").expect("it is there");
        loop {
            let mut octets = Vec::new();
            self.answers.read_until(0, &mut octets).expect("an answer");
            assert!(octets.pop() == Some(0), "the browser has ended");
            let mut answer: Value = serde_json::from_slice(&octets).expect("JSON");
            if answer["id"] == self.count {
                assert!(answer["error"].is_null(), "{method}: {answer}");
                return answer["result"].take();
            }
        }
    }

    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        self.ask("Runtime.evaluate", &params)["result"]["value"].take()
    }

    pub(crate) fn await_that(&mut self, expression: &str) {
        assert!(eventually(PATIENCE, || self.value(expression) == true), "never: {expression}");
    }

    pub(crate) fn click(&mut self, place: &Value) {
        for kind in ["mousePressed", "mouseReleased"] {
            let params = json!({
                "type": kind, "x": place["x"], "y": place["y"], "button": "left", "clickCount": 1,
            });
            self.ask("Input.dispatchMouseEvent", &params);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
