//! Draws a session with the program as `docs/session.svg`, the picture of the README.
//!
//! ```text
//! cargo build --release && cargo run -p stackwright-cli --example picture
//! ```
//!
//! It serves a folder, and types at a terminal. Names, sizes and dates are always the same. Rates
//! are limited, and times are shown with one decimal: a picture made again differs where the
//! program does.

use std::fmt::Write;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use stackwright_programs::processes::{Running, stackwright};
use stackwright_programs::scratch::Scratch;
use stackwright_programs::terminal::Terminal;
use vt100::{Cell, Color, Parser, Screen};

const COLUMNS: u16 = 88;
const ROWS: u16 = 34;
/// When the files were modified: 2026-03-01 09:00 UTC.
const MODIFIED: u64 = 1_772_355_600;
/// The port of `serve` where nobody says another.
const ADDRESS: &str = "127.0.0.1:2121";

/// What is typed, and what is waited for behind it.
const KEYS: &[(&str, &str)] = &[
    ("stackwright bookmark add work ftp://127.0.0.1:2121/\r", "$ "),
    ("stackwright ls -l work:\r", "$ "),
    ("stackwright get --limit-rate 2MB/s work:film.mp4 .\r", "$ "),
    ("stackwright mirror work:photos photos --dry-run\r", "$ "),
    ("stackwright shell --limit-rate 2MB/s work:\r", "/> "),
    ("cd pho\t\r", "photos> "),
    ("get *.jpg\r", "photos> "),
    ("put film.mp4\r", "photos> "),
    ("ls\r", "photos> "),
    ("quit\r", "$ "),
];

fn main() {
    let (served, home) = (Scratch::new(), Scratch::new());
    for (name, octets) in [
        ("film.mp4", 3_000_000),
        ("paper.pdf", 84_210),
        ("photos/beach.jpg", 1_200_000),
        ("photos/forest at dawn.jpg", 1_900_000),
        ("photos/notes.txt", 1_024),
    ] {
        make(&served.join(name), octets);
    }
    touch(&served.join("photos"));
    let _server = serve(served.path());
    let folder = stackwright().parent().expect("it is in a folder").to_owned();
    let line = format!("PATH={}:$PATH PS1='$ ' exec sh -i", folder.display());
    let mut terminal = Terminal::start(home.path(), &line, COLUMNS, ROWS).expect("`script`");
    terminal.wait_for("$ ");
    for (keys, end) in KEYS {
        terminal.press(keys);
        terminal.wait_for(keys.split('\t').next().unwrap_or(keys).trim_end());
        terminal.wait_for(end);
    }
    // What is drawn behind the prompt.
    thread::sleep(Duration::from_millis(200));
    let size = |length| NonZero::new(length).expect("a terminal has room");
    let mut parser = Parser::new(size(ROWS), size(COLUMNS), 0);
    parser.process(&terminal.shown());
    let picture = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/session.svg");
    fs::write(picture, draw(parser.screen())).expect("the folder of documents");
    println!("{picture}");
}

fn make(path: &Path, octets: u64) {
    fs::create_dir_all(path.parent().expect("it has one")).expect("a folder of ours");
    let file = File::create(path).expect("a folder of ours");
    file.set_len(octets).expect("a folder of ours");
    touch(path);
}

fn touch(path: &Path) {
    let time = UNIX_EPOCH + Duration::from_secs(MODIFIED);
    File::open(path).and_then(|file| file.set_modified(time)).expect("a file of ours");
}

fn serve(folder: &Path) -> Running {
    let mut command = Command::new(stackwright());
    command.arg("serve").arg(folder).args(["--writable", "--json", "--listen", ADDRESS]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut running = Running::start(&mut command);
    let mut lines = BufReader::new(running.output()).lines();
    lines.next().expect("it says where it is").expect("text");
    thread::spawn(move || lines.all(|line| line.is_ok()));
    running
}

/// The size of a letter, and of the space around all of them, in pixels.
const LETTER: (f32, f32) = (8.4, 18.0);
const SPACE: f32 = 14.0;

/// Draws what is on a screen. It has a background of its own: it is legible on any page.
fn draw(screen: &Screen) -> String {
    let rows: Vec<Vec<(String, String)>> = (0..ROWS).map(|row| runs(screen, row)).collect();
    let used = rows.iter().rposition(|row| !row.is_empty()).map_or(0, |last| last + 1);
    let width = f32::from(COLUMNS) * LETTER.0 + 2.0 * SPACE;
    let height = used as f32 * LETTER.1 + 2.0 * SPACE;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" \
         aria-label=\"A session with stackwright\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1c2128\" stroke=\"#545d68\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" \
         font-size=\"14\" fill=\"#d1d7e0\" xml:space=\"preserve\">\n"
    );
    for (row, runs) in rows.iter().take(used).enumerate() {
        let y = SPACE + (row as f32 + 0.75) * LETTER.1;
        let length = runs.iter().map(|(text, _)| text.chars().count()).sum::<usize>();
        if length == 0 {
            continue;
        }
        let across = length as f32 * LETTER.0;
        let _ = write!(svg, "<text x=\"{SPACE}\" y=\"{y:.1}\" textLength=\"{across:.1}\">");
        for (text, style) in runs {
            let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
            match style.is_empty() {
                true => svg.push_str(&text),
                false => drop(write!(svg, "<tspan {style}>{text}</tspan>")),
            }
        }
        svg.push_str("</text>\n");
    }
    svg.push_str("</g>\n</svg>\n");
    svg
}

/// The letters of a row, together as far as they are of one style; nothing for an empty row.
fn runs(screen: &Screen, row: u16) -> Vec<(String, String)> {
    let mut runs: Vec<(String, String)> = Vec::new();
    for column in 0..COLUMNS {
        let Some(cell) = screen.cell(row, column) else { continue };
        let letters = if cell.has_contents() { cell.contents() } else { " " };
        let style = style(cell);
        match runs.last_mut() {
            Some((text, last)) if *last == style => text.push_str(letters),
            _ => runs.push((letters.into(), style)),
        }
    }
    while let Some((text, _)) = runs.last_mut() {
        text.truncate(text.trim_end().len());
        if !text.is_empty() {
            break;
        }
        runs.pop();
    }
    runs.iter_mut().for_each(|(text, _)| *text = rounded(text));
    runs
}

fn style(cell: &Cell) -> String {
    let color = match cell.fgcolor() {
        Color::Idx(4 | 12) => "#6cb6ff",
        Color::Idx(6 | 14) => "#56d4dd",
        Color::Idx(2 | 10) => "#8ddb8c",
        Color::Idx(1 | 9) => "#ff938a",
        _ => "",
    };
    let mut style = String::new();
    if !color.is_empty() && cell.has_contents() {
        let _ = write!(style, "fill=\"{color}\"");
    }
    if cell.bold() && cell.has_contents() {
        style.push_str(if style.is_empty() { "" } else { " " });
        style.push_str("font-weight=\"bold\"");
    }
    style
}

/// Times and rates with one decimal: what is behind it is other each time.
fn rounded(text: &str) -> String {
    let Some((before, took)) = text.split_once(" in ") else { return text.into() };
    let words = took.split(' ').map(|word| {
        let bare = word.trim_start_matches('(');
        match bare.parse::<f64>() {
            Ok(number) => format!("{}{number:.1}", &word[..word.len() - bare.len()]),
            Err(_) => word.into(),
        }
    });
    format!("{before} in {}", words.collect::<Vec<_>>().join(" "))
}
