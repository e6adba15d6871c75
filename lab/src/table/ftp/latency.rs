//! E4: how long a file takes, from the start of the program to its end.

use stackwright_programs::processes::find;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};
use stackwright_results::verdict::Target;

use super::ground::Ground;
use super::task::Task;
use super::wires::{WIRES, has_time, limit};
use super::{documents, size, sizes, strangers};
use crate::measure::{Course, Effort, Limit};
use crate::table::{About, Cells, Table};

/// The table.
pub(crate) struct Latency;

impl Table for Latency {
    fn about(&self) -> About {
        About {
            name: "ftp-latency",
            title: "latency of file transfer",
            measures: "The time of a whole client process that downloads one file from the same vsftpd, login included; then of one client \
                       with each server. The raw client is no process: its time is from connecting to the server's last reply.",
            source: documents::LATENCY,
            axes: Axes { x: "octets".into(), y: "time".into(), log_x: true, log_y: true },
            limit: Limit::Loopback,
        }
    }

    fn keys(&self, effort: Effort) -> Vec<String> {
        let mut keys = Vec::new();
        for wire in WIRES {
            for task in [Task::Get, Task::GetTls, Task::ServeNcftp, Task::ServeRaw] {
                let sizes = sizes().iter().filter(|size| has_time(wire, task, size.octets, effort));
                keys.extend(sizes.map(|size| format!("{wire}/{}/{}", task.name(), size.name)));
            }
        }
        keys
    }

    fn open(&self, keys: &[String], notes: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        let ground = Ground::new(keys, notes)?;
        needs_vsftpd()?;
        notes.extend(strangers::note(&["ncftpget", "lftp", "curl", "pure-ftpd"]));
        notes.push(
            "vsftpd, lean: without isolate, isolate_network and seccomp_sandbox, which it has on by default."
                .into(),
        );
        Ok(Box::new(Transfers { ground }))
    }
}

/// # Errors
/// Without the server of all clients.
pub(super) fn needs_vsftpd() -> Result<(), Problem> {
    if find("vsftpd").is_some() {
        return Ok(());
    }
    Err(Problem::new("vsftpd is not installed, and all clients of this table use it")
        .advise("install the package vsftpd, or run this as root on Debian, which installs it"))
}

struct Transfers {
    ground: Ground,
}

impl Cells for Transfers {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let (wire, task, size) = parts(key)?;
        let mut row = Row::new(key, format!("{}, {wire}", task.title()), size.name, "s");
        row.x = Some(size.octets as f64);
        row.limit = limit(wire).map(|rate| size.octets as f64 / rate);
        if !self.ground.has(wire) {
            return Ok(row);
        }
        if task == Task::Get {
            row.document = documents::latency(size.octets);
        }
        row.columns = task.compete(&mut self.ground, wire, size, |seconds| seconds, course)?;
        row.compare_with_all(Some(Target::AtMost(1.0)));
        Ok(row)
    }
}

/// The wire, the task and the size of a cell's name.
///
/// # Errors
/// Where there is no such cell.
pub(super) fn parts(
    key: &str,
) -> Result<(&str, Task, stackwright_programs::content::Sized), Problem> {
    let words: Vec<&str> = key.split('/').collect();
    let found = match words[..] {
        [wire, task, octets] => {
            Task::named(task).zip(size(octets)).map(|(task, size)| (wire, task, size))
        }
        _ => None,
    };
    found.ok_or_else(|| Problem::usage(format!("this table has no cell {key}")))
}
