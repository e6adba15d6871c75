//! One task for all contestants of a row: clients from one server, or servers to one client.

use std::process::Command;

use stackwright_programs::content::Sized;
use stackwright_programs::raw;
use stackwright_results::Problem;
use stackwright_results::outcome::Column;

use super::clients::{CLIENTS, Client, take_away, timed};
use super::ground::{Ground, OURS, OURS_TLS, REFERENCE_TLS, VSFTPD, VSFTPD_TLS, servers};
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
    /// Its name in a cell's, and what its group of rows is called.
    pub(super) fn names(self) -> (&'static str, &'static str) {
        match self {
            Task::Get => ("get", "clients get from vsftpd"),
            Task::Put => ("put", "clients put to vsftpd"),
            Task::GetTls => ("get-tls", "client and server with TLS"),
            Task::ServeNcftp => ("serve-ncftp", "servers to ncftpget"),
            Task::ServeRaw => ("serve-raw", "servers to a raw client"),
        }
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
        if self == Task::Get {
            let run = |command: Command| timed(command).map(&value);
            return downloads(ground, wire, size, 1.0, run, course);
        }
        let server = ground.server(wire, VSFTPD)?;
        let folder = ground.folder.path().to_owned();
        let near = ground.wire(wire)?.near();
        let name = size.file();
        let transfer = |client: Client| {
            let seconds = timed(client.put(near, server, &folder.join(&name)))?;
            take_away(&folder.join("in").join(&name), size.octets)?;
            Ok(value(seconds))
        };
        course.compete(contestants(&transfer))
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
            let seconds = timed(Client::Ncftp.get(near, server, None, &name, &into))?;
            take_away(&into.join(&name), size.octets)?;
            Ok(value(seconds))
        };
        let fetch = &fetch;
        course.compete(
            started
                .into_iter()
                .map(|(name, server)| Contestant::new(name, name == OURS, move || fetch(server))),
        )
    }
}

/// The clients that can be started here.
fn contestants<'a>(
    run: &'a impl Fn(Client) -> Result<f64, Problem>,
) -> impl Iterator<Item = Contestant<'a>> {
    let there = CLIENTS.into_iter().filter(|client| client.is_there());
    there.map(move |client| {
        Contestant::new(client.name(), client == Client::Stackwright, move || run(client))
    })
}

/// Lets each client fetch from vsftpd; `run` makes the row's number of its command, for `patience`
/// times as long as usual.
///
/// # Errors
/// Where somebody fails.
pub(super) fn downloads(
    ground: &mut Ground,
    wire: &str,
    size: Sized,
    patience: f64,
    run: impl Fn(Command) -> Result<f64, Problem>,
    course: &mut Course,
) -> Result<Vec<Column>, Problem> {
    let server = ground.server(wire, VSFTPD)?;
    let into = ground.into.path().to_owned();
    let near = ground.wire(wire)?.near();
    let fetch = |client: Client| {
        let value = run(client.get(near, server, None, &size.file(), &into))?;
        take_away(&into.join(size.file()), size.octets)?;
        Ok(value)
    };
    course.compete_for(patience, contestants(&fetch))
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
            let seconds = timed(client.get(near, server, Some(&identity), &name, &into))?;
            take_away(&into.join(&name), size.octets)?;
            Ok(seconds)
        })
    };
    let fetch = &fetch;
    course.compete(started.into_iter().map(|(client, server, process)| {
        let is_ours = client == Client::Stackwright;
        Contestant::new(client.name(), is_ours, move || fetch(client, server, process))
    }))
}
