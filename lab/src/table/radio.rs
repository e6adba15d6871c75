//! E8 and E9: files by packet radio, through Direwolf's modems and over the simulated channel, each
//! in the time of the air.

use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use stackwright::channel::{ChannelDescription, RadioChannel};
use stackwright_programs::content::octets;
use stackwright_programs::processes::{Running, find, stackwright};
use stackwright_programs::rig::Rig;
use stackwright_programs::scratch::Scratch;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Column, Figure, Row, figures};
use stackwright_results::verdict::Target;

use super::{About, AnyTable, Cell, Table};
use crate::measure::{Course, Effort, Limit};

/// The document's rates and sizes.
const RATES: [u32; 2] = [1200, 9600];
const SIZES: [u64; 4] = [1, 100, 1000, 10_000];
/// Its throughput in bit/s, by rate and size: of one octet it counts what is on the air.
const DOCUMENT: [[f64; 4]; 2] =
    [[334.07, 375.21, 212.38, 220.26], [758.86, 768.16, 240.92, 248.42]];
const SOURCE: &str = "thesis of 2003, table 6.1 and figure 6.4 (two TM-D700A at 432 MHz)";
/// A link of Direwolf's own between the same modems, 10 KiB: the share of the rate that it used.
const DIREWOLF: (&str, [f64; 2]) = ("a link of Direwolf's own", [0.88, 0.78]);
/// What is wanted of 10 KB, as a share of the rate.
const WANTED: [f64; 2] = [0.70, 0.48];

/// How much of a channel a program of ours uses: whole bursts, or a frame each time.
const BURSTS: &str = "bursts";
const FRAMES: &str = "the document's frames";
const THESIS: &str = include_str!("../../../cli/stacks/thesis-radio.toml");
/// The lines of both sides in it.
const LINE: &str = "tcp://127.0.0.1:8001";
const CALLS: [&str; 2] = ["N0CALL-1", "N0CALL-2"];
/// How long one file may take.
const PATIENCE: &str = "30m";

/// A file of a size, at a rate, by modems or over the channel.
struct Task {
    modems: bool,
    rate: usize,
    size: u64,
}

const fn about(name: &'static str, title: &'static str, y: &'static str) -> About {
    About {
        name,
        title,
        measures: "The time of a whole client process that fetches one file from a station, login \
                   included, and its octets in that time. bursts: the built-in stack, which \
                   compresses headers. the \
                   document's frames: 157 octets of the file in each, one each time the \
                   transmitter is keyed. modems: two of Direwolf 1.6 over audio. channel: \
                   simulated, with the same key-up.",
        source: SOURCE,
        axes: Axes { x: "octets", y, log_x: true, log_y: true },
        limit: Limit::Work,
    }
}

/// The table of latencies.
pub(super) const LATENCY: &dyn AnyTable = &Table::<Task, Scratch> {
    about: about("radio-latency", "latency of files by packet radio", "time"),
    cells: |effort| cells(effort, |row, _| row, "s"),
    open,
    measure: |folder, task, row, course| {
        row.columns = compete(folder, task, course, |seconds| seconds)?;
        row.compare(BURSTS, FRAMES, (task.size == 10_000).then_some(Target::AtMost(0.5)));
        Ok(())
    },
};

/// The table of throughputs.
pub(super) const THROUGHPUT: &dyn AnyTable = &Table::<Task, Scratch> {
    about: about("radio-throughput", "throughput of files by packet radio", "bit/s"),
    cells: |effort| {
        let finish = |row: Row, task: &Task| {
            let rate = f64::from(RATES[task.rate]);
            let size = SIZES.iter().position(|size| *size == task.size).unwrap_or(0);
            let direwolf = (DIREWOLF.0, DIREWOLF.1[task.rate] * rate);
            let numbers = [("the document", DOCUMENT[task.rate][size]), direwolf];
            let shown = if task.size == 10_000 { &numbers[..] } else { &numbers[..1] };
            let document: Vec<Figure> = figures(shown.iter().copied(), "bit/s");
            row.more_is_better().limited(rate).beside(document)
        };
        cells(effort, finish, "bit/s")
    },
    open,
    measure: |folder, task, row, course| {
        let bits = 8.0 * task.size as f64;
        row.columns = compete(folder, task, course, |seconds| bits / seconds)?;
        if task.size == 10_000 {
            let wanted = WANTED[task.rate] * f64::from(RATES[task.rate]);
            row.columns.push(Column::exact("wanted", false, [wanted]));
            row.compare(BURSTS, "wanted", Some(Target::AtLeast(1.0)));
        }
        row.compare(BURSTS, FRAMES, None);
        Ok(())
    },
};

fn cells(effort: Effort, finish: impl Fn(Row, &Task) -> Row, unit: &str) -> Vec<Cell<Task>> {
    let mut cells = Vec::new();
    for (place, modems) in [("channel", false), ("modems", true)] {
        for (rate, bits) in RATES.iter().enumerate() {
            for size in SIZES {
                let is_short = bits * 8 > 9600 && size == 10_000;
                if effort == Effort::Quick && !is_short || effort == Effort::Usual && size < 1000 {
                    continue;
                }
                let task = Task { modems, rate, size };
                let group = format!("{place}, {bits} bit/s");
                let label = format!("{size} octets");
                let key = format!("{place}/{bits}/{size}");
                let row = Row::new(key, group, label, unit).at(size as f64);
                cells.push((finish(row, &task), task));
            }
        }
    }
    cells
}

fn open(_: &[Cell<Task>], notes: &mut Vec<String>) -> Result<Scratch, Problem> {
    if find("direwolf").is_none() {
        notes.push("direwolf is not on this machine: only the channel was measured.".into());
    }
    let folder = Scratch::new();
    super::ftp::program::copy(&folder)?;
    Ok(folder)
}

/// Both programs in turn, as often as there is time for: a sample takes minutes.
fn compete(
    folder: &Scratch,
    task: &Task,
    course: &mut Course,
    value: impl Fn(f64) -> f64,
) -> Result<Vec<Column>, Problem> {
    if task.modems && find("direwolf").is_none() {
        return Ok(Vec::new());
    }
    let rounds = if course.effort == Effort::Quick { 1 } else { 3 };
    let mut values = [Vec::new(), Vec::new()];
    for round in 1..=rounds {
        for (name, values) in [BURSTS, FRAMES].into_iter().zip(&mut values) {
            course.progress.set_message(format!("{name}, {round} of {rounds}"));
            if !course.stop.asked() {
                values.push(value(fetch(folder, task, name == FRAMES)?.as_secs_f64()));
            }
        }
    }
    let [bursts, frames] = values;
    Ok(vec![Column::exact(BURSTS, true, bursts), Column::exact(FRAMES, true, frames)])
}

/// Fetches the file once, between two TNCs of its own; returns the time of the client.
fn fetch(folder: &Scratch, task: &Task, is_document: bool) -> Result<Duration, Problem> {
    let rate = RATES[task.rate];
    if task.modems {
        let rig = Rig::new(rate);
        return fetch_between([rig.kiss(0), rig.kiss(1)], folder, task, is_document);
    }
    let text = format!(
        "rate = '{rate} b/s'\nkey-up = '200 ms'\ntail = '50 ms'\nslot = '10 ms'\npersistence = 1\n\
         [[station]]\nname = 'N0AAA'\nkiss = '127.0.0.1:0'\n\
         [[station]]\nname = 'N0BBB'\nkiss = '127.0.0.1:0'\n"
    );
    let wrong = |why: String| Problem::new(format!("no channel: {why}"));
    let channel = ChannelDescription::read(&text).map_err(|flaw| wrong(flaw.to_string()))?;
    let channel = RadioChannel::start(&channel).map_err(|why| wrong(why.to_string()))?;
    let tncs = [0, 1].map(|nth| channel.tnc(nth));
    let [Some(near), Some(far)] = tncs else { return Err(wrong("it has no TNC".into())) };
    fetch_between([near, far], folder, task, is_document)
}

fn fetch_between(
    [near, far]: [SocketAddr; 2],
    folder: &Scratch,
    task: &Task,
    is_document: bool,
) -> Result<Duration, Problem> {
    let rate = RATES[task.rate];
    let (served, copy) = (Scratch::new(), folder.join("copy"));
    let content = octets(task.size, task.size as usize);
    let written = |why| Problem::new(format!("cannot write a file: {why}"));
    fs::write(served.join("f"), &content).map_err(written)?;
    let [own, its] = ["client.toml", "server.toml"].map(|name| folder.join(name));
    let (mut serve, mut get) = (Command::new(stackwright()), Command::new(stackwright()));
    if is_document {
        let [mine, theirs] = [(THESIS.to_owned(), near), (exchanged(), far)].map(|(text, tnc)| {
            let text = text.replace(LINE, &format!("tcp://{tnc}"));
            let text = text.replace("rate = 1200", &format!("rate = {rate}"));
            text.replace(CALLS[0], "N0BBB").replace(CALLS[1], "N0AAA")
        });
        fs::write(&own, mine).and_then(|()| fs::write(&its, theirs)).map_err(written)?;
        serve
            .arg("serve")
            .arg(served.path())
            .args(["--listen", "44.0.0.1:21", "--stack"])
            .arg(&its);
        get.args(["get", "ftp://44.0.0.1/f", "--stack"]).arg(&own);
    } else {
        let text = format!(
            "call = \"N0BBB\"\n[tnc.vhf]\nline = \"tcp://{far}\"\nrate = {rate}\n\
             [serve]\nftp = {{ root = {:?} }}\n",
            served.path()
        );
        fs::write(&its, text).map_err(written)?;
        serve.arg("station").arg(&its);
        get.arg("get").arg(format!("ftp+xstp+ax25://N0BBB@{near}/f?rate={rate}"));
        get.args(["--call", "N0AAA"]);
    }
    let _serving =
        Running::start(serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()));
    std::thread::sleep(Duration::from_secs(1)); // it has connected to its TNC
    let _ = fs::remove_file(&copy);
    let begin = Instant::now();
    let ended = get.args(["-q", "--timeout", PATIENCE]).arg(&copy).stdin(Stdio::null()).status();
    let took = begin.elapsed();
    let is_whole = ended.is_ok_and(|status| status.success())
        && fs::read(&copy).is_ok_and(|copy| copy == content);
    if is_whole { Ok(took) } else { Err(Problem::new("the file did not arrive")) }
}

/// The document's stack as that of the server: the ends change places.
fn exchanged() -> String {
    let below = THESIS.split_once("[xstp]").map_or("", |(_, below)| below);
    let mut below = below.to_owned();
    for [one, other] in [["44.0.0.1", "44.0.0.2"], CALLS] {
        below = below.replace(one, "\0").replace(other, one).replace('\0', other);
    }
    let above = "top = \"ftp\"\n[ftp]\nprotocol = \"ftp server\"\nover = [\"xstp\", \"disk\"]\n";
    format!("{above}[xstp]{below}")
}
