//! E5: how fast a file travels, to and fro.

use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};
use stackwright_results::verdict::Target;

use super::ground::Ground;
use super::latency::{needs_vsftpd, parts};
use super::task::Task;
use super::wires::{WIRES, has_time, limit};
use super::{documents, sizes, strangers};
use crate::measure::{Course, Effort, Limit};
use crate::table::{About, Cells, Table};

/// The table.
pub(crate) struct Throughput;

impl Table for Throughput {
    fn about(&self) -> About {
        About {
            name: "ftp-throughput",
            title: "throughput of file transfer",
            measures: "8 S / (1024² L) Mb/s, as the document defines it: S is the file's size, L the time of a whole process \
                       that downloads or uploads it, login included.",
            source: documents::THROUGHPUT,
            axes: Axes { x: "octets".into(), y: "Mb/s".into(), log_x: true, log_y: true },
            limit: Limit::Loopback,
        }
    }

    fn keys(&self, effort: Effort) -> Vec<String> {
        let mut keys = Vec::new();
        for wire in WIRES {
            for task in [Task::Get, Task::Put, Task::GetTls] {
                let sizes =
                    sizes()[2..].iter().filter(|size| has_time(wire, task, size.octets, effort));
                keys.extend(sizes.map(|size| format!("{wire}/{}/{}", task.name(), size.name)));
            }
        }
        keys
    }

    fn open(&self, keys: &[String], notes: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        let ground = Ground::new(keys, notes)?;
        needs_vsftpd()?;
        notes.extend(strangers::note(&["ncftpget", "ncftpput", "lftp", "curl"]));
        Ok(Box::new(Transfers { ground }))
    }
}

struct Transfers {
    ground: Ground,
}

impl Cells for Transfers {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let (wire, task, size) = parts(key)?;
        let mut row = Row::new(key, format!("{}, {wire}", task.title()), size.name, "Mb/s");
        row.x = Some(size.octets as f64);
        row.limit = limit(wire).map(|rate| 8.0 * rate / (1024.0 * 1024.0));
        if !self.ground.has(wire) {
            return Ok(row);
        }
        row.more_is_better = true;
        if task == Task::Get {
            row.document = documents::throughput(size.octets);
        }
        let megabits = |seconds| 8.0 * size.octets as f64 / (1024.0 * 1024.0 * seconds);
        row.columns = task.compete(&mut self.ground, wire, size, megabits, course)?;
        row.compare_with_all(Some(Target::AtLeast(1.0)));
        Ok(row)
    }
}
