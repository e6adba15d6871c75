//! How much memory a program holds, by what the kernel tells of its processes.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use stackwright_programs::processes::Running;
use stackwright_results::Problem;

/// Kilobytes: the pages in memory, and the same where a page that several processes share is
/// divided among them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Held {
    /// Resident.
    pub(super) rss: f64,
    /// The proportional share.
    pub(super) pss: f64,
}

impl Held {
    /// The larger of both, each for itself.
    pub(super) fn most(self, other: Held) -> Held {
        Held { rss: self.rss.max(other.rss), pss: self.pss.max(other.pss) }
    }
}

/// What a process and all that descend from it hold now.
pub(super) fn by_family(process: u32) -> Held {
    family(process).into_iter().fold(Held::default(), |sum, member| {
        let held = by(member);
        Held { rss: sum.rss + held.rss, pss: sum.pss + held.pss }
    })
}

/// A process and all that descend from it.
pub(in crate::table) fn family(process: u32) -> Vec<u32> {
    let mut family = vec![process];
    let mut next = 0;
    while next < family.len() {
        let tasks =
            fs::read_dir(format!("/proc/{}/task", family[next])).into_iter().flatten().flatten();
        let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        for list in lists {
            family.extend(list.split_whitespace().filter_map(|word| word.parse::<u32>().ok()));
        }
        next += 1;
    }
    family
}

fn by(process: u32) -> Held {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).unwrap_or_default();
    let field = |name: &str| {
        let line = rollup.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
    };
    Held { rss: field("Rss:"), pss: field("Pss:") }
}

/// Runs a program to its end; gives the most that it was seen with.
///
/// # Errors
/// When it fails, or was never seen.
pub(super) fn peak(mut command: Command) -> Result<Held, Problem> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut running = Running::try_start(&mut command).map_err(Problem::new)?;
    let process = running.number();
    let mut most = Held::default();
    let mut pause = Duration::from_micros(200);
    while running.alive() {
        // A process that has just been made is for a moment still a part of this one, with all that
        // this one holds.
        if running.is(command.get_program()) {
            // The kernel remembers the most pages (in kilobytes), not the largest share.
            let pages = running.status("VmHWM") as f64;
            most = most.most(Held { rss: pages, ..by(process) });
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(2));
    }
    match running.ended() {
        Some(status) if status.success() && most.rss > 0.0 => Ok(most),
        Some(status) if status.success() => {
            Err(Problem::new(format!("{command:?} ended before it could be measured")))
        }
        status => Err(Problem::new(format!("{command:?} ended with {status:?}"))),
    }
}
