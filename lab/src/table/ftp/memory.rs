//! E7: how much memory clients and servers hold.

use std::io::Read;
use std::time::Duration;

use stackwright_programs::content::Sized;
use stackwright_programs::control::Control;
use stackwright_programs::processes::eventually;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Column, Row};
use stackwright_results::verdict::Target;

use super::ground::{Ground, OURS, servers};
use super::held::{Held, by_family, family, peak};
use super::task::downloads;
use super::wires::LOOPBACK;
use super::{documents, sizes};
use crate::measure::{Contestant, Course, Limit};
use crate::table::{About, AnyTable, Cell, Table};

/// Who is looked at.
#[derive(Clone, Copy)]
enum Who {
    /// Servers that have nothing to do.
    Idle,
    /// Servers with a client, which fetches the largest file or waits.
    Busy { fetches: bool },
    /// Clients that fetch a file.
    Client(Sized),
}

/// What servers are doing when they are looked at, how the table calls it, and the document's
/// numbers.
const DOING: [(&str, &str, Who, Option<[f64; 3]>); 3] = [
    ("idle", "no client", Who::Idle, Some(documents::IDLE_SERVER)),
    ("session", "one client waits", Who::Busy { fetches: false }, None),
    (
        "100MB",
        "one client downloads 100 MB",
        Who::Busy { fetches: true },
        Some(documents::BUSY_SERVER),
    ),
];

/// What is counted of it.
type Count = fn(Held) -> f64;
const UNITS: [(&str, Count); 2] = [("rss", |held| held.rss), ("pss", |held| held.pss)];

/// The table. Its tasks are who is looked at, and what is counted.
pub(crate) const MEMORY: &dyn AnyTable = &Table::<(Who, Count), Ground> {
    about: About {
        name: "ftp-memory",
        title: "memory of FTP clients and servers",
        measures: "The maximum of a client while it downloads a file, and the total of all processes of a server: \
                   resident pages (RSS), and proportional set size (PSS), in which shared pages are divided among their users.",
        source: documents::MEMORY,
        axes: Axes { x: "octets fetched", y: "kB", log_x: true, log_y: false },
        limit: Limit::Loopback,
    },
    cells: |_| cells(),
    open: |_, notes| Ground::new(&[], &["ncftpget", "lftp", "curl", "pure-ftpd"], notes),
    measure: |ground, (who, counted), row, course| {
        row.columns = match who {
            Who::Client(size) => {
                let run = |command| peak(command).map(counted);
                downloads(ground, LOOPBACK, *size, 1.0, run, course)?
            }
            who => of_servers(ground, *who, counted, course)?,
        };
        row.compare_with_all(Some(Target::AtMost(1.0)));
        Ok(())
    },
};

fn cells() -> Vec<Cell<(Who, Count)>> {
    let row = |key: String, group: &str, label: &str, unit: &str, numbers: Option<[f64; 3]>| {
        let row = Row::new(key, format!("{group}, {}", unit.to_uppercase()), label, "kB");
        let numbers = numbers.filter(|_| unit == "rss");
        row.beside(numbers.map_or_else(Vec::new, |numbers| documents::told(numbers, "kB")))
    };
    let servers = UNITS.into_iter().flat_map(|(unit, counted)| {
        DOING.map(|(doing, label, who, numbers)| {
            let key = format!("server-{unit}/{doing}");
            (row(key, "what a server holds", label, unit, numbers), (who, counted))
        })
    });
    let clients = UNITS.into_iter().flat_map(|(unit, counted)| {
        // What they hold shall not grow with the file.
        sizes()[4..].iter().map(move |size| {
            let numbers = (size.name == "100MB").then_some(documents::BUSY_CLIENT);
            let (key, group) =
                (format!("client-{unit}/{}", size.name), "the most that a client holds");
            let row = row(key, group, size.name, unit, numbers).at(size.octets as f64);
            (row, (Who::Client(*size), counted))
        })
    });
    servers.chain(clients).collect()
}

fn of_servers(
    ground: &mut Ground,
    who: Who,
    counted: impl Fn(Held) -> f64,
    course: &mut Course,
) -> Result<Vec<Column>, Problem> {
    let mut started = Vec::new();
    for name in servers() {
        started.push((name, ground.server(LOOPBACK, name)?));
    }
    let wired = ground.wire(LOOPBACK)?;
    let counted = &counted;
    course.compete(started.into_iter().filter_map(|(name, address)| {
        let process = wired.running(name)?.running.number();
        let look = move || {
            let held = match who {
                Who::Busy { fetches } => with_guest(process, address, fetches)
                    .map_err(|why| Problem::new(format!("{name}: {why}")))?,
                _ => by_family(process),
            };
            if held.pss == 0.0 {
                return Err(Problem::new(format!(
                    "the system does not tell how much memory {name} uses"
                ))
                .advise("run it as root: the servers belong to other users"));
            }
            Ok(counted(held))
        };
        Some(Contestant::new(name, name == OURS, look))
    }))
}

/// What a server holds while a guest is there: the most of several looks where the guest fetches
/// 100 MB. Waits until the guest's process is gone again.
fn with_guest(process: u32, address: std::net::SocketAddr, fetches: bool) -> std::io::Result<Held> {
    let alone = family(process).len();
    let mut control = Control::guest(address)?;
    let mut most = by_family(process);
    if fetches {
        let mut data = control.begin("RETR 100MB.bin")?;
        let mut piece = vec![0; 1_000_000];
        for part in 1..=90 {
            data.read_exact(&mut piece)?;
            if part % 15 == 0 {
                most = most.most(by_family(process));
            }
        }
    }
    drop(control);
    eventually(Duration::from_secs(5), || family(process).len() <= alone);
    Ok(most)
}
