//! `lab watch` in Chromium: a packet is lost by a click.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use stackwright_programs::processes::{PATIENCE, eventually, find};

/// Started by a shell, because Chromium is asked through its descriptors 3 and 4.
const START: &str = "exec \"$0\" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage \
                     --user-data-dir=\"$1\" --remote-debugging-pipe about:blank 3<&0 4>&1 >&2";

/// A browser, ended when dropped.
struct Browser {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
    /// Of the page.
    session: Option<String>,
    count: u64,
    _profile: tempfile::TempDir,
}

impl Browser {
    fn open(chromium: &std::path::Path, url: &str) -> Self {
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

    fn value(&mut self, expression: &str) -> Value {
        let params =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        self.ask("Runtime.evaluate", &params)["result"]["value"].take()
    }

    fn await_that(&mut self, expression: &str) {
        assert!(eventually(PATIENCE, || self.value(expression) == true), "never: {expression}");
    }

    fn click(&mut self, place: &Value) {
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

/// The third packet of data is lost by a click, what makes up for it is seen, and the scenario that
/// is saved then runs the same.
#[test]
fn a_packet_is_lost_by_a_click() {
    let Some(chromium) = find("chromium") else {
        return println!("skipped: chromium is not there");
    };
    let lab = env!("CARGO_BIN_EXE_lab");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/short.toml");
    let quiet = ["links.0.loss=0", "links.0.duplicate=0", "links.0.corrupt=0"];
    let mut watch = Command::new(lab);
    watch.args(["watch", scenario]).args(quiet.iter().flat_map(|set| ["--set", set]));
    let mut watch = watch.stdout(Stdio::piped()).spawn().expect("lab");
    let mut line = String::new();
    BufReader::new(watch.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
    let url = line.split_whitespace().find(|word| word.starts_with("http")).expect("an address");
    let mut browser = Browser::open(&chromium, url);

    browser.await_that("!!document.body?.dataset.trace");
    let before = browser.value("run.flights.length");
    let place = browser.value("place(0, 1, 3)");
    browser.click(&place);
    browser.await_that("document.getElementById('status').textContent.startsWith('Packet 3 from')");
    let trace = browser.value("document.body.dataset.trace");
    let button = "(() => { const box = document.getElementById('lose').getBoundingClientRect(); \
                  return { x: box.x + 9, y: box.y + 9 }; })()";
    let button = browser.value(button);
    browser.click(&button);
    browser.await_that(&format!("document.body.dataset.trace !== {trace}"));
    browser.await_that("document.getElementById('status').textContent.endsWith('is lost.')");
    let after = browser.value("run.flights.length");
    assert!(after.as_u64() > before.as_u64(), "it is sent again: {before}, {after}");

    let text = browser.value("fetch('/scenario' + location.search).then((it) => it.text())");
    let mut saved = tempfile::Builder::new().suffix(".toml").tempfile().expect("a file");
    saved.write_all(text.as_str().expect("a text").as_bytes()).expect("it is written");
    let ran = Command::new(lab).arg("run").arg(saved.path()).arg("--json").output().expect("lab");
    let ran: Value = serde_json::from_slice(&ran.stdout).expect("JSON");
    assert_eq!(ran["trace"], browser.value("document.body.dataset.trace"));
    watch.kill().and_then(|()| watch.wait()).expect("it runs");
}
