//! `lab watch` in Chromium: a packet is lost by a click.

use std::io::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::browser::{Browser, Page, chromium};

/// The third packet of data is lost by a click, what makes up for it is seen, and the scenario that
/// is saved then runs the same.
#[test]
fn a_packet_is_lost_by_a_click() {
    let Some(chromium) = chromium() else { return };
    let lab = env!("CARGO_BIN_EXE_lab");
    let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/short.toml");
    let quiet = ["links.0.loss=0", "links.0.duplicate=0", "links.0.corrupt=0"];
    let mut watch = Command::new(lab);
    watch.args(["watch", scenario]).args(quiet.iter().flat_map(|set| ["--set", set]));
    let (_watch, url) = Page::of(&mut watch);
    let mut browser = Browser::open(&chromium, &url);

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
}
