//! Members of groups, ours and others', each in a namespace on one bridge.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{env, thread};

use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use stackwright_programs::processes::{Running, find, stackwright};
use stackwright_programs::scratch::Scratch;
use stackwright_results::{Problem, source};

use crate::link::Bridge;
use crate::table::ftp::family;

/// Members at most.
pub(super) const MEMBERS: u8 = 5;
const PORT: u16 = 4370;
/// How long anything may take beside what is measured.
const PATIENCE: Duration = Duration::from_secs(60);

/// The version that was looked at.
const JGROUPS: &str = "org.jgroups:jgroups:5.4.8.Final";
const JAR: &str = ".m2/repository/org/jgroups/jgroups/5.4.8.Final/jgroups-5.4.8.Final.jar";

/// A member of corosync has its own files; its daemon ends with it.
const COROSYNC: &str = r#"
for folder in /dev/shm /run /var/lib/corosync; do mount -t tmpfs tmpfs "$folder" || exit 1; done
corosync -f -c "$CONFIGURATION" >/dev/null 2>&1 &
export DAEMON=$!
"$@"
kill "$DAEMON"
"#;

/// Whose members they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entrant {
    Ours,
    /// Our XTP: the first sends to a multicast address, and all receive.
    Xtp,
    Corosync,
    JGroups,
}

/// What is cast.
#[derive(Clone, Copy, Debug)]
pub(super) struct Casts {
    pub(super) length: usize,
    /// In one order of all, of what a quorum has; else in each sender's.
    pub(super) total: bool,
    /// One in flight.
    pub(super) one: bool,
}

/// How long, in seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    pub(super) warm: f64,
    pub(super) measured: f64,
}

/// What a member says.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
pub(super) struct Said {
    /// Messages that it delivered.
    pub(super) delivered: f64,
    pub(super) octets: f64,
    pub(super) seconds: f64,
    /// Of its processes, in seconds.
    pub(super) processor: f64,
    /// From a cast to its own copy; 0 where it cast none.
    pub(super) p50: f64,
    pub(super) p99: f64,
    /// The longest time without a delivery.
    #[serde(default)]
    pub(super) longest: f64,
}

/// A network, and what is installed.
pub(super) struct Entrants {
    bridge: Bridge,
    folder: Scratch,
    jar: Option<PathBuf>,
    cpg: Option<PathBuf>,
}

/// A member that ends, with all that it started, when this is dropped.
pub(super) struct Process(pub(super) Running);

impl Process {
    pub(super) fn start(mut command: Command) -> Result<Self, Problem> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(Process(Running::try_start(&mut command).map_err(Problem::new)?))
    }

    /// Kills it, and all that it started.
    pub(super) fn kill(&mut self) {
        for process in family(self.0.number()) {
            if let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) {
                // One that has ended meanwhile is not there to be told.
                let _ = kill_process(process, Signal::KILL);
            }
        }
        self.0.kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Entrants {
    /// Puts up the network, and builds the members of others.
    pub(super) fn up(notes: &mut Vec<String>) -> Result<Self, Problem> {
        let (bridge, folder) = (Bridge::up(MEMBERS)?, Scratch::new());
        let mut entrants = Entrants { bridge, folder, jar: None, cpg: None };
        entrants.cpg = entrants.with_corosync(notes)?;
        entrants.jar = entrants.with_jgroups(notes)?;
        Ok(entrants)
    }

    pub(super) fn bridge(&self) -> &Bridge {
        &self.bridge
    }

    /// Returns whether its members can be started.
    pub(super) fn has(&self, entrant: Entrant) -> bool {
        match entrant {
            Entrant::Ours | Entrant::Xtp => true,
            Entrant::Corosync => self.cpg.is_some(),
            Entrant::JGroups => self.jar.is_some(),
        }
    }

    fn with_corosync(&self, notes: &mut Vec<String>) -> Result<Option<PathBuf>, Problem> {
        let cpg = self.folder.join("cpg");
        let mut compiler = Command::new("cc");
        compiler.args(["-O2", "-o"]).args([&cpg, &here("cpg.c")]).arg("-lcpg");
        if find("corosync").is_none() || !is_done(&mut compiler) {
            notes.push("corosync was left out (Debian: corosync, libcpg-dev; and cc).".into());
            return Ok(None);
        }
        for members in [3, MEMBERS] {
            self.configure(members)?;
        }
        Ok(Some(cpg))
    }

    /// Without real-time priority, which three daemons on one machine would fight for.
    fn configure(&self, members: u8) -> Result<(), Problem> {
        let mut text = "totem {\n  version: 2\n  cluster_name: lab\n  transport: udpu\n  \
                        crypto_cipher: none\n  crypto_hash: none\n  token: 500\n  \
                        token_coefficient: 0\n}\n\
                        system {\n  sched_rr: no\n  priority: 0\n}\n\
                        logging {\n  to_stderr: no\n  to_syslog: no\n}\nnodelist {\n"
            .to_owned();
        for place in 0..members {
            let (address, number) = (Bridge::address(place), place + 1);
            text += &format!("  node {{\n    ring0_addr: {address}\n    nodeid: {number}\n  }}\n");
        }
        fs::write(self.configuration(members), text + "}\n").map_err(Problem::new)
    }

    fn configuration(&self, members: u8) -> PathBuf {
        self.folder.join(&format!("corosync-{members}.conf"))
    }

    fn with_jgroups(&self, notes: &mut Vec<String>) -> Result<Option<PathBuf>, Problem> {
        let named = env::var_os("JGROUPS").map(PathBuf::from);
        let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(JAR));
        let jar = named.or(home).filter(|jar| jar.is_file());
        let built = jar.filter(|jar| {
            let mut compiler = Command::new("javac");
            compiler.arg("-cp").arg(jar).arg("-d").arg(self.folder.path());
            find("java").is_some() && is_done(compiler.arg(here("JGroupsMember.java")))
        });
        if built.is_none() {
            notes.push(format!(
                "JGroups was left out: it needs javac and its library (`mvn dependency:get \
                 -Dartifact={JGROUPS}`, or JGROUPS=FILE)."
            ));
        }
        Ok(built)
    }

    /// Has so many members cast to each other; returns what each says.
    ///
    /// # Errors
    /// Where one says nothing.
    pub(super) fn cast(
        &self,
        entrant: Entrant,
        members: u8,
        casts: Casts,
        time: Time,
    ) -> Result<Vec<Said>, Problem> {
        let mode = if casts.one { "one" } else { "bulk" };
        let mut running = Vec::new();
        for place in 0..members {
            let mut command = self.member(entrant, place, members, casts, time, mode);
            command.stdin(Stdio::null());
            running.push(Process::start(command)?);
        }
        let texts: Vec<_> = running
            .iter_mut()
            .map(|one| [gather(one.0.output()), gather(one.0.errors())])
            .collect();
        let until = Instant::now() + PATIENCE + Duration::from_secs_f64(time.warm + time.measured);
        // Receivers of XTP would wait for the next sender.
        let awaited = if entrant == Entrant::Xtp { 1 } else { running.len() };
        while running[..awaited].iter_mut().any(|one| one.0.alive()) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
        drop(running);
        let says = texts.into_iter().take(awaited).map(|texts| {
            let [text, why] = texts.map(|text| text.join().unwrap_or_default());
            let said = said(entrant, text.lines().last().unwrap_or_default());
            said.ok_or_else(|| {
                let why = why.lines().last().unwrap_or("it says nothing");
                Problem::new(format!("{entrant:?}: {why}"))
            })
        });
        says.collect()
    }

    /// Returns the command of a member of ours that does what `what` says.
    pub(super) fn ours(&self, what: &str, place: u8, members: u8) -> Command {
        let address = |place: u8| format!("{}:{PORT}", Bridge::address(place));
        let others: Vec<_> = (0..members).filter(|it| *it != place).map(address).collect();
        let mut command = self.bridge.command(place, stackwright());
        command.args(["group", what, "--json", "--at", &address(place)]);
        command.args(["--with", &others.join(",")]);
        command
    }

    /// Returns the command of a member that casts.
    pub(super) fn member(
        &self,
        entrant: Entrant,
        place: u8,
        members: u8,
        casts: Casts,
        time: Time,
        mode: &str,
    ) -> Command {
        let own = Bridge::address(place);
        let senders = if casts.one { 1 } else { members };
        let words = [members.into(), senders.into(), casts.length];
        let words = words.map(|word: usize| word.to_string());
        let times = [time.warm.to_string(), time.measured.to_string()];
        match entrant {
            Entrant::Ours => {
                let mut command = self.ours("perf", place, members);
                command.args(["--size", &words[2]]);
                command.args(["--order", if casts.total { "total" } else { "fifo" }]);
                command.args(["--time", &times[1]]).args(casts.one.then_some("--requests"));
                command
            }
            Entrant::Xtp if place == 0 => {
                let mut command = self.bridge.command(place, stackwright());
                command.args(["perf", "run", "xtp://239.77.1.1", "--json", "--size", &words[2]]);
                command.args(["--members", &(members - 1).to_string(), "--time", &times[1]]);
                command
            }
            Entrant::Xtp => {
                let mut command = self.bridge.command(place, stackwright());
                command.args(["perf", "serve", "xtp://239.77.1.1"]);
                command
            }
            Entrant::Corosync => {
                let mut command = self.bridge.command(place, "sh");
                command.args(["-c", COROSYNC, "sh"]).args(&self.cpg).args(words).args(times);
                command.arg(mode).env("CONFIGURATION", self.configuration(members));
                command
            }
            Entrant::JGroups => {
                let mut command = self.bridge.command(place, "java");
                let jar = self.jar.as_deref().unwrap_or(Path::new("")).display();
                command.arg(format!("-Djgroups.bind_addr={own}"));
                command.arg("-cp").arg(format!("{jar}:{}", self.folder.path().display()));
                command.args(["-Xmx1g", "JGroupsMember"]).args(words).args(times).arg(mode);
                command.arg(if casts.total { "total" } else { "fifo" });
                command
            }
        }
    }
}

/// Reads all of it, aside.
fn gather(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        // What is no text is not looked at.
        let _ = from.read_to_string(&mut text);
        text
    })
}

/// Reads what a member says last.
fn said(entrant: Entrant, line: &str) -> Option<Said> {
    if matches!(entrant, Entrant::Corosync | Entrant::JGroups) {
        return serde_json::from_str(line).ok();
    }
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    let number = |name: &str| line[name].as_f64();
    let processor = number("processor").or(number("processor_sender"))?;
    // The sender of XTP says what each of the others has received.
    let delivered = number("casts").or(number("messages"))?;
    let (octets, seconds) = (number("octets")?, number("seconds")?);
    let p = |name: &str| line["latencies_us"][name].as_f64().unwrap_or(0.0) / 1e6;
    let (p50, p99) = (p("p50"), p("p99"));
    Some(Said { delivered, octets, seconds, processor, p50, p99, longest: 0.0 })
}

/// A file beside this one.
fn here(name: &str) -> PathBuf {
    source().join("lab/src/table/group").join(name)
}

fn is_done(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_members_say_is_read() {
        let theirs = r#"{"delivered":30,"octets":3000,"seconds":0.5,"processor":0.25,
                         "p50":0.0001,"p99":0.0003,"longest":0.5}"#;
        let of_ours = r#"{"casts":30,"octets":3000,"seconds":0.5,"processor":0.25,"lost":0,
                          "latencies_us":{"p50":100.0,"p99":300.0,"max":400.0}}"#;
        let of_xtp = r#"{"messages":30,"octets":3000,"seconds":0.5,"processor_sender":0.25,
                         "latencies_us":null}"#;
        let theirs = said(Entrant::Corosync, theirs).expect("it is whole");
        assert_eq!(said(Entrant::Ours, of_ours), Some(Said { longest: 0.0, ..theirs }));
        let none = Said { p50: 0.0, p99: 0.0, longest: 0.0, ..theirs };
        assert_eq!(said(Entrant::Xtp, of_xtp), Some(none));
        assert_eq!(said(Entrant::Ours, "a member is gone"), None);
    }
}
