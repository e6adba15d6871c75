//! Network namespaces of our own: made by iproute2, removed when they are dropped.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;

use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use stackwright_drivers::tun::{CLONE, Device, TunOptions};
use stackwright_results::Problem;

/// Where iproute2 keeps the names.
const NAMES: &str = "/run/netns";
/// What ours begin with; the number of the process that made them follows.
const PREFIX: &str = "lab-";

/// A network namespace with a name. It and all devices in it are gone when this is dropped, and
/// whoever still runs in it is asked to end.
#[derive(Debug)]
pub(super) struct Namespace {
    name: String,
}

impl Namespace {
    /// Makes the one of a side, or whatever `what` names, named for this process.
    ///
    /// # Errors
    ///
    /// Where iproute2 cannot make it.
    pub(super) fn make(what: &str) -> Result<Namespace, Problem> {
        let name = format!("{PREFIX}{}-{what}", std::process::id());
        ip(&["netns", "add", &name], "").map_err(|problem| {
            problem.advise(
                "run it as root with CAP_SYS_ADMIN and CAP_NET_ADMIN; in a container, start that privileged",
            )
        })?;
        Ok(Namespace { name })
    }

    /// What `ip netns exec` calls it.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Makes a device in it.
    ///
    /// # Errors
    ///
    /// Where the kernel refuses.
    pub(super) fn device(&self, name: &str) -> Result<Device, Problem> {
        let path = Path::new(NAMES).join(&self.name);
        // Whoever moves into a namespace stays there: a thread that ends right afterwards.
        let made = thread::scope(|scope| {
            let there = scope.spawn(|| {
                let namespace =
                    rustix::fs::open(&path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
                move_into_link_name_space(
                    std::os::fd::AsFd::as_fd(&namespace),
                    Some(LinkNameSpaceType::Network),
                )?;
                Device::open(name, TunOptions::default())
            });
            there.join().expect("making a device does not panic")
        });
        made.map_err(|error| {
            Problem::new(format!("cannot create a TUN device in {}: {error}", self.name)).advise(format!(
                "Is {CLONE} there and allowed? `modprobe tun` loads the driver; a container needs the device and \
                 CAP_NET_ADMIN."
            ))
        })
    }

    /// Lets iproute2 do what `lines` say, in it.
    ///
    /// # Errors
    ///
    /// With what it complains of.
    pub(super) fn configure(&self, lines: &str) -> Result<(), Problem> {
        ip(&["-n", &self.name, "-batch", "-"], lines).map(drop)
    }

    /// What iproute2 tells, as JSON, of a device in it.
    ///
    /// # Errors
    ///
    /// With what it complains of.
    pub(super) fn device_statistics(&self, name: &str) -> Result<serde_json::Value, Problem> {
        let said = ip(&["-n", &self.name, "-s", "-j", "link", "show", "dev", name], "")?;
        serde_json::from_str(&said)
            .map_err(|error| Problem::new(format!("`ip -j link` did not print JSON: {error}")))
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // There is nobody left to tell: the next start removes it.
        let _ = remove(&self.name);
    }
}

/// Removes a namespace. Programs that still run in it, servers that wait for somebody above all,
/// would wait for ever: they are asked to end first.
fn remove(name: &str) -> Result<(), Problem> {
    let processes = ip(&["netns", "pids", name], "").unwrap_or_default();
    for process in processes.lines().filter_map(|line| Pid::from_raw(line.trim().parse().ok()?)) {
        // One that has ended meanwhile needs no asking.
        let _ = kill_process(process, Signal::TERM);
    }
    ip(&["netns", "del", name], "").map(drop)
}

/// Removes what runs left behind that were killed, and names it.
pub(super) fn remove_leftovers() -> Vec<String> {
    let names = fs::read_dir(NAMES).into_iter().flatten().flatten();
    let ours = names.filter_map(|entry| entry.file_name().into_string().ok());
    let dead = ours.filter(|name| maker(name).is_some_and(|process| !lives(process)));
    dead.filter(|name| remove(name).is_ok()).collect()
}

/// The process that made the namespace of that name, if it is one of ours.
fn maker(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

/// Whether there is still a process of that number, and one of ours: numbers are given again. One
/// that has ended and that nobody asked about yet has a number, but no program.
fn lives(process: u32) -> bool {
    let program = fs::read_link(format!("/proc/{process}/exe"));
    // A program that was built anew meanwhile is marked behind its name.
    program.is_ok_and(|path| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("lab"))
    })
}

/// Runs iproute2, and returns what it says.
fn ip(arguments: &[&str], input: &str) -> Result<String, Problem> {
    let cannot = |error| Problem::new(format!("cannot run `ip`: {error}"));
    let mut child = Command::new("ip")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(cannot)?;
    // One that does not read has an answer already.
    let _ = child.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
    let said = child.wait_with_output().map_err(cannot)?;
    if said.status.success() {
        return Ok(String::from_utf8_lossy(&said.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&said.stderr);
    Err(Problem::new(format!("`ip {}` failed: {}", arguments.join(" "), complaint.trim())))
}
