//! `lab picture` in Chromium: all columns paint the same.

use std::io::Write as _;
use std::process::Command;

use serde_json::Value;
use stackwright_programs::picture::Picture;

use crate::browser::{Browser, Page, chromium};

/// Over a link that loses every tenth packet, each column paints all units, and the pixels are
/// those of the whole picture; so they are again with another link.
#[test]
fn all_columns_paint_all_pieces() {
    let Some(chromium) = chromium() else { return };
    let mut file = tempfile::Builder::new().suffix(".jpg").tempfile().expect("a file");
    let picture = Picture { columns: 50, rows: 30, coefficients: 20 }.file(1);
    file.write_all(&picture).expect("it is written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lab"));
    command.arg("picture").arg(file.path()).args(["--loss", "0.1", "--delay", "10"]);
    let (_page, url) = Page::of(&mut command);
    let mut browser = Browser::open(&chromium, &url);

    browser.await_that("!!document.body?.dataset.done");
    let lossy = browser.value("document.body.dataset.done");
    let all = "run.columns.forEach((one) => one.pen.drawImage(picture, 0, 0))";
    browser.value(all);
    let pixels = browser.value("checksum(run.columns[0].pen)");
    let columns: Value = serde_json::from_str(lossy.as_str().expect("a text")).expect("JSON");
    let columns = columns.as_array().expect("columns");
    assert_eq!(columns.len(), 3);
    for column in columns {
        assert_eq!(column["painted"], 1500, "{column}");
        assert_eq!(column["pixels"], pixels, "{column}");
    }
    let blank = "(() => { const pen = document.createElement('canvas').getContext('2d'); \
                 return checksum(pen); })()";
    assert_ne!(browser.value(blank), pixels, "a canvas that is not painted has other pixels");

    browser.value("(() => { $('loss').value = 0; $('link').requestSubmit(); })()");
    browser.await_that("run.loss === 0 && !!document.body.dataset.done");
    assert_eq!(browser.value("document.body.dataset.done"), lossy);
}
