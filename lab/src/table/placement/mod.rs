//! E19: the same programs, whose transport is in their process or in a server, beside the kernel's
//! TCP in both places.
//!
//! ```text
//!   processor 0: a program ── host A          processor 1: host B ── a program
//!                               └──── loopback interface ────┘
//! ```

mod crossing;
mod flight;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use stackwright_programs::picture::Picture;
use stackwright_programs::processes::{Running, run, stackwright};
use stackwright_programs::scratch::Scratch;
use stackwright_results::Problem;
use stackwright_results::outcome::{Row, figures};
use stackwright_results::verdict::Target;

use super::transports::{Contest, Ends, Programs, Rival, Work, seconds};
use super::{About, AnyTable, NO_AXES, Table};
use crate::measure::{Contestant, Course, Effort, Limit};
use crossing::Way;

const LIBRARY: &str = "library";
const SERVER: &str = "server";
const TCP: &str = "kernel TCP";
const TCP_SERVER: &str = "kernel TCP, server";
/// The receiving program has no rights: a server opens its port.
const GRANTED: &str = "granted";
/// That program, the port, and the user.
const UNPRIVILEGED: &[&str] = &[
    "setpriv",
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--inh-caps=-all",
    "--bounding-set=-all",
];
const LOW_PORT: u16 = 897;
/// The structure changes in place of the place: each packet has a buffer and a call of its own.
const PACKETS: &str = "library, a packet a buffer";

const ASSOCIATIONS: u64 = 1000;
/// Requests that are under way at once.
const FLIGHT: usize = 32;
/// Of a file and a picture.
const NAMES: [&str; 2] = ["file", "picture.jpg"];

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Task {
    Bulk,
    Requests,
    Flight,
    Associations,
    File,
    Picture,
    Crossing(usize),
}

/// The table.
pub(super) const TABLE: &dyn AnyTable = &Table::<Task, Ground> {
    about: About {
        name: "placement",
        title: "A transport in its program, and in a server",
        measures: "ARTP over the loopback interface between two programs, each with a processor; \
                   in the server's columns each has a server (`stackwright host`) beside it on \
                   the same one, and words cross by a Unix socket. The kernel's TCP is called by \
                   the programs themselves, or by such servers. Granted: the receiving program \
                   has no rights, and its port is opened by a server. Bulk: messages of 16 KiB. \
                   Requests: 64 octets and as many back, one in flight, the middle of a run, or \
                   32 on one association, a second. Associations: 1000 opened, an exchange on \
                   each, closed. File: FTP's `get` of \
                   100 MiB (--quick: 20 MiB), picture: `jis get` of 1.2 MB over the transport of \
                   its phase, both from the start of the program to its end. A crossing: octets \
                   from one process to another on one processor by a Unix socket; by a ring they \
                   would be copied twice.",
        source: "De Silva et al., table 3",
        axes: NO_AXES,
        limit: Limit::Loopback,
    },
    cells: |_| {
        let row = |key: &str, label: &str, unit: &str| Row::new(key, "two processors", label, unit);
        // Shares of TCP in the same place: by system calls, in a library, in a server.
        let theirs = [("system calls", 0.98), (LIBRARY, 0.71), (SERVER, 0.97)];
        vec![
            (
                row("bulk", "messages of 16 KiB", "Mb/s")
                    .more_is_better()
                    .beside(figures(theirs, "of TCP")),
                Task::Bulk,
            ),
            (row("requests", "requests of 64 octets", "s"), Task::Requests),
            (
                row("requests/32", "requests of 64 octets, 32 in flight", "1/s").more_is_better(),
                Task::Flight,
            ),
            (row("associations", "associations", "1/s").more_is_better(), Task::Associations),
            (row("file", "a file", "s"), Task::File),
            (row("picture", "a picture", "s"), Task::Picture),
            (row("crossing/64", "a crossing of 64 octets", "s"), Task::Crossing(64)),
            (row("crossing/65536", "a crossing of 64 KiB", "s"), Task::Crossing(65_536)),
        ]
    },
    open: |_, _| Ground::up(),
    measure,
};

fn measure(
    ground: &mut Ground,
    task: &Task,
    row: &mut Row,
    course: &mut Course,
) -> Result<(), Problem> {
    let seconds = seconds(course.effort);
    let (least, most) = (|bar| Some(Target::AtLeast(bar)), |bar: f64| Some(Target::AtMost(bar)));
    match *task {
        Task::Bulk => {
            let bulk = Work::Bulk { size: 16_384, seconds };
            let mut rivals = ground.rivals();
            rivals.push(Rival::ours(PACKETS, "artp", "--run 0"));
            row.columns = ground.contest().hold(rivals, bulk, |it| Some(it.goodput()), course)?;
            row.compare(SERVER, LIBRARY, least(0.75));
            row.compare(GRANTED, LIBRARY, least(0.98));
            row.compare(PACKETS, LIBRARY, None);
            row.compare(LIBRARY, TCP, least(0.98));
            row.compare(SERVER, TCP_SERVER, least(0.98));
            row.compare(TCP_SERVER, TCP, None);
        }
        Task::Requests => {
            let work = Work::Requests { seconds };
            let contest = ground.contest();
            row.columns = contest.hold(ground.rivals(), work, |it| it.median(), course)?;
            let crosses = crossing::once(64, Way::Socket, seconds.min(1.0))?;
            // A request and its answer cross at both ends.
            if let Some(library) = row.column(LIBRARY).and_then(|column| column.median()) {
                let bar = 1.0 + 1.2 * 4.0 * crosses / library;
                row.compare(SERVER, LIBRARY, most((100.0 * bar).round() / 100.0));
            }
            row.compare(GRANTED, LIBRARY, most(1.02));
            row.compare(LIBRARY, TCP, None);
            row.compare(SERVER, TCP_SERVER, None);
            row.compare(TCP_SERVER, TCP, None);
        }
        Task::Flight => {
            let shared = &*ground;
            let served = [LIBRARY, SERVER].map(|name| (name, shared.answers(name)));
            let served: Vec<_> =
                served.into_iter().map(|(name, it)| Ok((name, it?))).collect::<Result<_, _>>()?;
            row.columns = course.compete(served.iter().map(|(name, (_, to))| {
                Contestant::ours(*name, move || {
                    let socket = is_served(name).then(|| shared.folder.join("0").join("artp"));
                    flight::once(*to, socket, FLIGHT, seconds)
                })
            }))?;
            row.compare(SERVER, LIBRARY, None);
        }
        Task::Associations => {
            let work = Work::Associations { count: ASSOCIATIONS };
            let contest = ground.contest();
            row.columns = contest.hold(ground.rivals(), work, |it| Some(it.frequency()), course)?;
            row.compare(SERVER, LIBRARY, None);
            row.compare(GRANTED, LIBRARY, least(0.98));
            row.compare(LIBRARY, TCP, None);
            row.compare(SERVER, TCP_SERVER, None);
        }
        Task::File => {
            ground.write_file(course.effort)?;
            let shared = &*ground;
            let served = [LIBRARY, SERVER, TCP, TCP_SERVER].map(|name| (name, shared.files(name)));
            let served: Vec<_> =
                served.into_iter().map(|(name, it)| Ok((name, it?))).collect::<Result<_, _>>()?;
            row.columns = course.compete(served.iter().map(|(name, (_, url))| {
                let at = *name;
                Contestant::new(at, at == LIBRARY || at == SERVER, move || {
                    shared.timed(&["get", &format!("{url}{}", NAMES[0])], at)
                })
            }))?;
            row.compare(SERVER, LIBRARY, None);
            row.compare(LIBRARY, TCP, None);
            row.compare(SERVER, TCP_SERVER, None);
        }
        Task::Picture => {
            let shared = &*ground;
            let served = [LIBRARY, SERVER].map(|name| (name, shared.pictures(name)));
            let served: Vec<_> =
                served.into_iter().map(|(name, it)| Ok((name, it?))).collect::<Result<_, _>>()?;
            row.columns = course.compete(served.iter().map(|(name, (_, url))| {
                Contestant::ours(*name, move || {
                    shared.timed(&["jis", "get", &format!("{url}{}", NAMES[1]), "-o"], name)
                })
            }))?;
            row.compare(SERVER, LIBRARY, None);
        }
        Task::Crossing(length) => {
            let time = seconds.min(0.5);
            let one = |way| move || crossing::once(length, way, time);
            row.columns = course.compete([
                Contestant::ours("Unix socket", one(Way::Socket)),
                Contestant::peer("two copies", one(Way::Copies)),
            ])?;
            row.compare("Unix socket", "two copies", None);
        }
    }
    Ok(())
}

/// The programs, a server for each processor, and what is fetched.
struct Ground {
    // Dropped first.
    _hosts: [Running; 2],
    /// The server of grants, where this program may be another user.
    granting: Option<Running>,
    programs: Programs,
    folder: Scratch,
}

/// Whether the transport of these programs is in a server.
fn is_served(name: &str) -> bool {
    name == SERVER || name == TCP_SERVER
}

impl Ground {
    fn up() -> Result<Self, Problem> {
        let programs = Programs::ours()?;
        let folder = Scratch::new();
        let hosts = [0, 1].map(|core| -> Result<Running, Problem> {
            let at = folder.join(&core.to_string());
            let mut command = pinned(core);
            command.args(["host", "artp", "tcp", "jis", "--json", "--at"]).arg(at);
            started(command, 3).map(|(host, _)| host)
        });
        let [one, other] = hosts;
        let granting = granting(&folder)?;
        let picture = Picture { columns: 160, rows: 100, coefficients: 50 };
        fs::write(folder.join(NAMES[1]), picture.file(1)).map_err(Problem::new)?;
        Ok(Ground { _hosts: [one?, other?], granting, programs, folder })
    }

    fn contest(&self) -> Contest<'_> {
        let (ends, cores) = (&Ends::Loopback, [Some(0), Some(1)]);
        Contest { ends, programs: &self.programs, cores, may_fail: false }
    }

    /// The option of a program on this processor.
    fn placement(&self, core: usize) -> String {
        format!("--placement=server={}", self.folder.join(&core.to_string()).display())
    }

    fn rivals(&self) -> Vec<Rival> {
        let served = |name, transport| {
            let rival = Rival::ours(name, transport, "");
            rival.sending(&self.placement(0)).receiving(&self.placement(1))
        };
        let mut rivals = vec![
            Rival::ours(LIBRARY, "artp", ""),
            served(SERVER, "artp"),
            Rival::ours(TCP, "tcp", ""),
            served(TCP_SERVER, "tcp"),
        ];
        if self.granting.is_some() {
            let granted = Rival::ours(GRANTED, "artp", "").listening(LOW_PORT, UNPRIVILEGED);
            let at = self.folder.join("granting");
            rivals.insert(1, granted.receiving(&format!("--placement=granted={}", at.display())));
        }
        rivals
    }

    /// Starts what answers requests.
    fn answers(&self, name: &str) -> Result<(Running, SocketAddr), Problem> {
        let mut command = pinned(1);
        command.args(["perf", "serve", "artp://127.0.0.1:0", "--json"]);
        command.args(is_served(name).then(|| self.placement(1)));
        let (serving, line) = started(command, 1)?;
        let said: serde_json::Value = serde_json::from_str(&line).map_err(Problem::new)?;
        let at = said["url"].as_str().and_then(|url| url.strip_prefix("artp://")?.parse().ok());
        let at = at.ok_or_else(|| Problem::new(format!("perf serve says {line:?}")))?;
        Ok((serving, at))
    }

    fn write_file(&self, effort: Effort) -> Result<(), Problem> {
        let octets = if effort == Effort::Quick { 20 << 20 } else { 100 << 20 };
        fs::write(self.folder.join(NAMES[0]), vec![7; octets]).map_err(Problem::new)
    }

    /// Starts a server of files.
    fn files(&self, name: &str) -> Result<(Running, String), Problem> {
        let mut command = pinned(1);
        command.arg("serve").arg(self.folder.path());
        command.arg(if name == TCP || name == TCP_SERVER {
            "--listen=127.0.0.1:0"
        } else {
            "--artp=127.0.0.1:0"
        });
        command.args(is_served(name).then(|| self.placement(1)));
        command.arg("--json");
        let (serving, line) = started(command, 1)?;
        let said: serde_json::Value = serde_json::from_str(&line).map_err(Problem::new)?;
        Ok((serving, said["url"].as_str().unwrap_or_default().to_owned()))
    }

    /// Starts a server of pictures.
    fn pictures(&self, name: &str) -> Result<(Running, String), Problem> {
        let mut command = pinned(1);
        command.args(["jis", "serve"]).arg(self.folder.path()).args(["--listen", "127.0.0.1:0"]);
        command.args(is_served(name).then(|| self.placement(1)));
        let (serving, line) = started(command, 1)?;
        Ok((serving, line.trim().rsplit(' ').next().unwrap_or_default().to_owned()))
    }

    /// Has a program fetch something, and returns how long that took.
    fn timed(&self, words: &[&str], name: &str) -> Result<f64, Problem> {
        let target = self.folder.join("fetched");
        let mut command = pinned(0);
        command.args(words).arg(&target);
        command.args(is_served(name).then(|| self.placement(0)));
        let begun = Instant::now();
        let outcome = run(&mut command);
        let took = begun.elapsed();
        if !outcome.status.success() {
            let why = String::from_utf8_lossy(&outcome.complaints).trim().to_owned();
            return Err(Problem::new(format!("{name}: {why}")));
        }
        fs::remove_file(target).map_err(Problem::new)?;
        Ok(Duration::as_secs_f64(&took))
    }
}

/// Starts the server of grants; says so where this program may not be another user.
fn granting(folder: &Scratch) -> Result<Option<Running>, Problem> {
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).map_err(Problem::new)?;
    let mut tried = Command::new(UNPRIVILEGED[0]);
    tried.args(&UNPRIVILEGED[1..]).arg(stackwright()).arg("--version");
    if !tried.output().is_ok_and(|output| output.status.success()) {
        eprintln!("lab: skipping {GRANTED}: only root can be a user without rights");
        return Ok(None);
    }
    let (at, file) = (folder.join("granting"), folder.join("host.toml"));
    let grant = format!("user = \"65534\"\nopen = [\"udp {LOW_PORT}\"]");
    let text = format!("at = {at:?}\n[[grant]]\n{grant}\n");
    fs::write(&file, text).map_err(Problem::new)?;
    let mut command = pinned(1);
    command.args(["host", "--json"]).arg(file);
    started(command, 1).map(|(granting, _)| Some(granting))
}

/// Returns the program, on one processor.
fn pinned(core: usize) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &core.to_string()]).arg(stackwright());
    command
}

/// Starts a server, and returns the first of so many lines that it says once it is there.
fn started(mut command: Command, lines: usize) -> Result<(Running, String), Problem> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut running = Running::try_start(&mut command).map_err(Problem::new)?;
    let mut said = BufReader::new(running.output()).lines();
    let told: Vec<_> = said.by_ref().take(lines).map_while(Result::ok).collect();
    if told.len() < lines {
        return Err(Problem::new("a server did not start"));
    }
    // It must not stop at a full pipe.
    std::thread::spawn(move || said.all(|line| line.is_ok()));
    Ok((running, told.into_iter().next().unwrap_or_default()))
}
