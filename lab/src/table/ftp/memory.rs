//! E7: how much memory clients and servers hold.

use std::io::Read;
use std::time::Duration;

use stackwright_programs::control::Control;
use stackwright_programs::processes::eventually;
use stackwright_results::Problem;
use stackwright_results::outcome::{Axes, Row};
use stackwright_results::verdict::Target;

use super::clients::{CLIENTS, Client, take_away};
use super::ground::{Ground, OURS, VSFTPD, servers};
use super::held::{Held, by_family, family, peak};
use super::latency::needs_vsftpd;
use super::wires::LOOPBACK;
use super::{documents, size, strangers};
use crate::measure::{Contestant, Course, Effort, Limit};
use crate::table::{About, Cells, Table};

/// Clients are looked at while they fetch files of these sizes: what they hold shall not grow.
const FETCHED: [&str; 4] = ["100kB", "1MB", "10MB", "100MB"];
/// What servers are doing when they are looked at, and how the table calls it.
const DOING: [(&str, &str); 3] = [
    ("idle", "no client"),
    ("session", "one client waits"),
    ("100MB", "one client downloads 100 MB"),
];

/// The table.
pub(crate) struct Memory;

impl Table for Memory {
    fn about(&self) -> About {
        About {
            name: "ftp-memory",
            title: "memory of FTP clients and servers",
            measures: "The maximum of a client while it downloads a file, and the total of all processes of a server: \
                       resident pages (RSS), and proportional set size (PSS), in which shared pages are divided among their users.",
            source: documents::MEMORY,
            axes: Axes { x: "octets fetched".into(), y: "kB".into(), log_x: true, log_y: false },
            limit: Limit::Loopback,
        }
    }

    fn keys(&self, _: Effort) -> Vec<String> {
        let mut keys = Vec::new();
        for unit in ["rss", "pss"] {
            keys.extend(DOING.map(|(doing, _)| format!("server-{unit}/{doing}")));
        }
        for unit in ["rss", "pss"] {
            keys.extend(FETCHED.map(|size| format!("client-{unit}/{size}")));
        }
        keys
    }

    fn open(&self, keys: &[String], notes: &mut Vec<String>) -> Result<Box<dyn Cells>, Problem> {
        let ground = Ground::new(keys, notes)?;
        needs_vsftpd()?;
        notes.extend(strangers::note(&["ncftpget", "lftp", "curl", "pure-ftpd"]));
        Ok(Box::new(Looks { ground }))
    }
}

struct Looks {
    ground: Ground,
}

impl Cells for Looks {
    fn measure(&mut self, key: &str, course: &mut Course) -> Result<Row, Problem> {
        let unknown = || Problem::usage(format!("this table has no cell {key}"));
        let (who, what) = key.split_once('/').ok_or_else(unknown)?;
        let (who, unit) = who.split_once('-').ok_or_else(unknown)?;
        let counted = |held: Held| if unit == "pss" { held.pss } else { held.rss };
        let mut row = match who {
            "client" => self.client(key, what, counted, course)?,
            "server" => self.server(key, what, counted, course)?,
            _ => return Err(unknown()),
        };
        row.group = format!("{}, {}", row.group, unit.to_uppercase());
        if unit == "pss" {
            row.document.clear();
        }
        row.compare_with_all(Some(Target::AtMost(1.0)));
        Ok(row)
    }
}

impl Looks {
    fn client(
        &mut self,
        key: &str,
        what: &str,
        counted: impl Fn(Held) -> f64,
        course: &mut Course,
    ) -> Result<Row, Problem> {
        let size =
            size(what).ok_or_else(|| Problem::usage(format!("this table has no cell {key}")))?;
        let mut row = Row::new(key, "the most that a client holds", size.name, "kB");
        row.x = Some(size.octets as f64);
        if what == "100MB" {
            row.document = documents::memory(documents::Held::BusyClient);
        }
        let server = self.ground.server(LOOPBACK, VSFTPD)?;
        let into = self.ground.into.path().to_owned();
        let near = self.ground.wire(LOOPBACK)?.near();
        let look = |client: Client| {
            let held = peak(client.get(near, server, &size.file(), &into))?;
            take_away(&into.join(size.file()), size.octets)?;
            Ok(counted(held))
        };
        let look = &look;
        let there = CLIENTS.into_iter().filter(|client| client.is_there());
        let contestants = there.map(|client| match client {
            Client::Stackwright => Contestant::ours(client.name(), move || look(client)),
            _ => Contestant::peer(client.name(), move || look(client)),
        });
        row.columns = course.compete(contestants.collect())?;
        Ok(row)
    }

    fn server(
        &mut self,
        key: &str,
        what: &str,
        counted: impl Fn(Held) -> f64,
        course: &mut Course,
    ) -> Result<Row, Problem> {
        let doing = DOING.iter().find(|(doing, _)| *doing == what);
        let (_, label) =
            doing.ok_or_else(|| Problem::usage(format!("this table has no cell {key}")))?;
        let mut row = Row::new(key, "what a server holds", *label, "kB");
        row.document = match what {
            "idle" => documents::memory(documents::Held::IdleServer),
            "100MB" => documents::memory(documents::Held::BusyServer),
            _ => Vec::new(),
        };
        let mut started = Vec::new();
        for name in servers() {
            let address = self.ground.server(LOOPBACK, name)?;
            started.push((name, address));
        }
        let wired = self.ground.wire(LOOPBACK)?;
        let mut contestants = Vec::new();
        for (name, address) in started {
            let Some(server) = wired.running(name) else { continue };
            let process = server.running.number();
            let counted = &counted;
            let look = move || {
                let held = match what {
                    "idle" => by_family(process),
                    _ => with_guest(process, address, what == "100MB")
                        .map_err(|why| Problem::new(format!("{name}: {why}")))?,
                };
                if held.pss == 0.0 {
                    return Err(Problem::new(format!(
                        "the system does not tell how much memory {name} uses"
                    ))
                    .advise("run it as root: the servers belong to other users"));
                }
                Ok(counted(held))
            };
            contestants.push(match name {
                OURS => Contestant::ours(name, look),
                _ => Contestant::peer(name, look),
            });
        }
        row.columns = course.compete(contestants)?;
        Ok(row)
    }
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
