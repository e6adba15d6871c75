//! One task for all contestants of a row: clients from one server, or servers to one client.

use std::path::Path;

use stackwright_programs::content::Sized;
use stackwright_programs::raw;
use stackwright_results::Problem;
use stackwright_results::outcome::Column;

use super::clients::{CLIENTS, Client, take_away, timed};
use super::ground::{Ground, OURS_TLS, REFERENCE_TLS, VSFTPD, VSFTPD_TLS, servers};
use super::program;
use crate::measure::{Contestant, Course};

/// What is done in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Clients fetch from vsftpd.
    Get,
    /// Clients store to vsftpd.
    Put,
    /// Clients fetch over TLS, each from its server: ours from ours, others from vsftpd.
    GetTls,
    /// Servers send to ncftpget.
    ServeNcftp,
    /// Servers send to the least client there can be.
    ServeRaw,
}

impl Task {
    /// Its name in a cell's.
    pub(super) fn name(self) -> &'static str {
        match self {
            Task::Get => "get",
            Task::Put => "put",
            Task::GetTls => "get-tls",
            Task::ServeNcftp => "serve-ncftp",
            Task::ServeRaw => "serve-raw",
        }
    }

    /// What its group of rows is called.
    pub(super) fn title(self) -> &'static str {
        match self {
            Task::Get => "clients get from vsftpd",
            Task::Put => "clients put to vsftpd",
            Task::GetTls => "client and server with TLS",
            Task::ServeNcftp => "servers to ncftpget",
            Task::ServeRaw => "servers to a raw client",
        }
    }

    /// The task of that name.
    pub(super) fn named(name: &str) -> Option<Self> {
        [Task::Get, Task::Put, Task::GetTls, Task::ServeNcftp, Task::ServeRaw]
            .into_iter()
            .find(|task| task.name() == name)
    }

    /// Lets everybody do it; `value` makes the row's number of the seconds.
    ///
    /// # Errors
    /// Where somebody fails.
    pub(super) fn compete(
        self,
        ground: &mut Ground,
        wire: &str,
        size: Sized,
        value: impl Fn(f64) -> f64,
        course: &mut Course,
    ) -> Result<Vec<Column>, Problem> {
        match self {
            Task::Get | Task::Put => self.clients(ground, wire, size, value, course),
            Task::GetTls => pairs(ground, wire, size, |_server, run| Ok(value(run()?)), course),
            Task::ServeNcftp | Task::ServeRaw => self.servers(ground, wire, size, value, course),
        }
    }

    fn clients(
        self,
        ground: &mut Ground,
        wire: &str,
        size: Sized,
        value: impl Fn(f64) -> f64,
        course: &mut Course,
    ) -> Result<Vec<Column>, Problem> {
        let server = ground.server(wire, VSFTPD)?;
        let (folder, into) = (ground.folder.path().to_owned(), ground.into.path().to_owned());
        let near = ground.wire(wire)?.near();
        let name = size.file();
        let value = &value;
        let transfer = |client: Client| {
            let (command, arrived) = match self {
                Task::Put => {
                    (client.put(near, server, &folder.join(&name)), folder.join("in").join(&name))
                }
                _ => (client.get(near, server, &name, &into), into.join(&name)),
            };
            let seconds = timed(command)?;
            take_away(&arrived, size.octets)?;
            Ok(value(seconds))
        };
        let transfer = &transfer;
        let there = CLIENTS.into_iter().filter(|client| client.is_there());
        let contestants = there.map(|client| match client {
            Client::Stackwright => Contestant::ours(client.name(), move || transfer(client)),
            _ => Contestant::peer(client.name(), move || transfer(client)),
        });
        course.compete(contestants.collect())
    }

    fn servers(
        self,
        ground: &mut Ground,
        wire: &str,
        size: Sized,
        value: impl Fn(f64) -> f64,
        course: &mut Course,
    ) -> Result<Vec<Column>, Problem> {
        let mut started = Vec::new();
        for name in servers() {
            started.push((name, ground.server(wire, name)?));
        }
        let into = ground.into.path().to_owned();
        let near = ground.wire(wire)?.near();
        let name = size.file();
        let fetch = |server| {
            if self == Task::ServeRaw {
                let fetched = raw::fetch(server, &name, size.octets);
                return fetched.map(&value).map_err(|why| Problem::new(format!("{server}: {why}")));
            }
            let seconds = timed(Client::Ncftp.get(near, server, &name, Path::new(&into)))?;
            take_away(&into.join(&name), size.octets)?;
            Ok(value(seconds))
        };
        let fetch = &fetch;
        let contestants = started.into_iter().map(|(name, server)| match name {
            super::ground::OURS => Contestant::ours(name, move || fetch(server)),
            _ => Contestant::peer(name, move || fetch(server)),
        });
        course.compete(contestants.collect())
    }
}

/// Lets each client fetch over TLS from its server; `measure` makes the row's number of the
/// server's process and of what is run, which tells its seconds.
///
/// # Errors
/// Where somebody fails.
pub(super) fn pairs(
    ground: &mut Ground,
    wire: &str,
    size: Sized,
    measure: impl Fn(u32, &dyn Fn() -> Result<f64, Problem>) -> Result<f64, Problem>,
    course: &mut Course,
) -> Result<Vec<Column>, Problem> {
    let mut started = Vec::new();
    for (client, server) in [
        (Client::Stackwright, OURS_TLS),
        (Client::Reference, REFERENCE_TLS),
        (Client::Lftp, VSFTPD_TLS),
        (Client::Curl, VSFTPD_TLS),
    ] {
        // An older build may not know TLS.
        let knows = client != Client::Reference || program::reference_encrypts();
        if client.is_there() && knows {
            let address = ground.server(wire, server)?;
            let process = ground.wire(wire)?.running(server).map(|it| it.running.number());
            started.push((client, address, process.unwrap_or_default()));
        }
    }
    let identity = ground.identity().clone();
    let into = ground.into.path().to_owned();
    let near = ground.wire(wire)?.near();
    let name = size.file();
    let fetch = |client: Client, server, process| {
        measure(process, &|| {
            let seconds = timed(client.get_with_tls(near, server, &identity, &name, &into))?;
            take_away(&into.join(&name), size.octets)?;
            Ok(seconds)
        })
    };
    let fetch = &fetch;
    let contestants = started.into_iter().map(|(client, server, process)| {
        let run = move || fetch(client, server, process);
        match client {
            Client::Stackwright => Contestant::ours(client.name(), run),
            _ => Contestant::peer(client.name(), run),
        }
    });
    course.compete(contestants.collect())
}
