//! `get` and `put`: a copy between a server and a disk.

use std::env;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGINT, SIGTERM};
use stackwright::contract::services::{Failure, FolderEntry};
use stackwright::contract::{Outlet, Protocol, RequestOf};
use stackwright::copy::{CopySide, Copying, Indication, Request};
use stackwright::ftp::client;
use stackwright_drivers::{Driver, Lanes};

use crate::arguments::{Connection, Get, Put};
use crate::described::Described;
use crate::problem::Problem;
use crate::remote::{Below, Remote};
use crate::report::{Dialogue, Progress};
use crate::{graphs, secret, stacks};

/// The server is the copy's left side, the disk its right.
pub(crate) const SERVER: CopySide = CopySide::Left;
pub(crate) const DISK: CopySide = CopySide::Right;

/// How long the program takes at most to close its associations once it has what was requested. It
/// takes two round trips: a geostationary path needs more than a second.
const FAREWELL: Duration = Duration::from_secs(2);

pub(crate) fn get(get: &Get) -> Result<(), Problem> {
    let remote = Remote::parse(&get.url)?;
    let name = remote
        .file_name()
        .ok_or(Problem::Url { url: get.url.clone(), why: "it names a folder, not a file" })?;
    let (folder, name) = place(get.dest.as_deref(), name)?;
    let request = Request::Copy {
        from: SERVER,
        source: remote.path.clone(),
        target: name.clone(),
        early: true,
    };
    let progress = Progress::new(&get.url, get.connection.json);
    let shown = folder.join(&name);
    let (octets, took) =
        run(&remote, &get.connection, &folder, &request, &mut Watch::Bar(&progress))?;
    progress.done(&shown.display().to_string(), octets, took);
    Ok(())
}

pub(crate) fn put(put: &Put) -> Result<(), Problem> {
    let mut remote = Remote::parse(&put.url)?;
    let kind = put.file.metadata().map_err(|why| Problem::Path { path: put.file.clone(), why })?;
    let (Some(name), true) = (put.file.file_name().and_then(|name| name.to_str()), kind.is_file())
    else {
        return Err(Problem::NotAFile { path: put.file.clone() });
    };
    let mut url = put.url.clone();
    if remote.file_name().is_none() {
        remote.path.push_str(name);
        url.push_str(if url.ends_with('/') { "" } else { "/" });
        url.push_str(name);
    }
    let folder = parent(&put.file);
    let request = Request::Copy {
        from: DISK,
        source: name.into(),
        target: remote.path.clone(),
        early: false,
    };
    let progress = Progress::new(&url, put.connection.json);
    let (octets, took) =
        run(&remote, &put.connection, &folder, &request, &mut Watch::Bar(&progress))?;
    progress.done(&url, octets, took);
    Ok(())
}

/// The folder and the name under which a fetched file shall lie.
fn place(dest: Option<&Path>, name: &str) -> Result<(PathBuf, String), Problem> {
    match dest {
        None => Ok((env::current_dir()?, name.into())),
        Some(dest) if dest.is_dir() => Ok((dest.into(), name.into())),
        Some(dest) => match dest.file_name().and_then(|name| name.to_str()) {
            Some(name) => Ok((parent(dest), name.into())),
            None => Err(Problem::NotAFile { path: dest.into() }),
        },
    }
}

fn parent(path: &Path) -> PathBuf {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).into()
}

/// Who hears what the copy tells.
pub(crate) enum Watch<'a> {
    Bar(&'a Progress),
    Entries(&'a mut Vec<FolderEntry>),
    Nobody,
}

/// How long a silent server is waited for, in seconds, where nobody says it.
const TIMEOUT: u64 = 60;

/// Runs one request to its end, trying each address of the server.
pub(crate) fn run(
    remote: &Remote,
    connection: &Connection,
    folder: &Path,
    request: &Request,
    watch: &mut Watch<'_>,
) -> Result<(u64, Duration), Problem> {
    let described = connection.stack.as_deref().map(graphs::load::<Copying>).transpose()?;
    let password = match &remote.user {
        Some(user) => Some(secret::password(user, connection.password_file.as_deref())?),
        None => None,
    };
    let mut outcome = Err(Problem::Interrupted);
    for address in remote.addresses()? {
        let mut config = client::Config::anonymous(address);
        if let (Some(user), Some(password)) = (&remote.user, &password) {
            (config.user, config.password) = (user.clone(), password.clone());
        }
        config.data =
            if connection.active { client::DataMode::Active } else { client::DataMode::Passive };
        config.timeout = Duration::from_secs(connection.timeout.unwrap_or(TIMEOUT));
        config.idle = Duration::ZERO;
        let stack = match &described {
            Some(described) => Stack::Described(described),
            None => Stack::Known(remote.below),
        };
        outcome = run_at(address, config, connection, stack, folder, request, watch);
        if !matches!(outcome, Err(Problem::Transfer { failure: Failure::Unreachable, .. })) {
            break;
        }
    }
    outcome
}

/// The application above the stack.
struct Application<'a, 'w> {
    watch: &'a mut Watch<'w>,
    outcome: Option<Ended>,
}

impl<S: Protocol<Provides = Copying>> Outlet<S> for Application<'_, '_> {
    fn indicate(&mut self, indication: Indication) {
        match (indication, &mut *self.watch) {
            (Indication::Began { size }, Watch::Bar(progress)) => progress.began(size),
            (Indication::Moved { octets }, Watch::Bar(progress)) => progress.moved(octets),
            (Indication::Entries { entries }, Watch::Entries(all)) => all.extend(entries),
            (Indication::Copied { octets, took }, _) => self.outcome = Some(Ok((octets, took))),
            (Indication::Listed, _) => self.outcome = Some(Ok((0, Duration::ZERO))),
            (Indication::Failed { side, failure }, _) => self.outcome = Some(Err((side, failure))),
            _ => {}
        }
    }

    /// Adapters call the operating system: there is nothing that they could ask.
    fn request(&mut self, _: RequestOf<S>) {}
}

/// Which stack copies.
enum Stack<'a> {
    Known(Below),
    Described(&'a Described),
}

fn run_at(
    address: SocketAddr,
    config: client::Config,
    connection: &Connection,
    stack: Stack<'_>,
    folder: &Path,
    request: &Request,
    watch: &mut Watch<'_>,
) -> Result<(u64, Duration), Problem> {
    let (listener, last_said) = Dialogue::new(connection.verbose);
    let listener = Box::new(listener);
    let unopened = |why| Problem::Path { path: folder.into(), why };
    let ended = match stack {
        Stack::Known(Below::Tcp) => {
            let (driver, stack) = stacks::copy(folder, config, listener).map_err(unopened)?;
            carry_out(driver, stack, request, watch)?
        }
        Stack::Known(Below::Artp) => {
            let packet = connection.packet.unwrap_or_else(|| stacks::packet(address.ip()));
            let stack = stacks::artp_copy(folder, config, listener, packet);
            let (driver, stack) = stack.map_err(unopened)?;
            carry_out(driver, stack, request, watch)?
        }
        Stack::Described(described) => {
            let patient = connection.timeout.is_some();
            let (driver, graph) =
                graphs::copy(described, folder, config, patient, connection.packet, listener)?;
            carry_out(driver, graph, request, watch)?
        }
    };
    ended.map_err(|(side, failure)| Problem::Transfer {
        place: if side == SERVER { address.to_string() } else { folder.display().to_string() },
        failure,
        said: last_said.lock().ok().and_then(|mut said| said.take()).filter(|_| side == SERVER),
    })
}

/// How a request ended: so many octets in that time, or which side failed and why.
type Ended = Result<(u64, Duration), (CopySide, Failure)>;

/// Drives any stack that copies until the request has its last word, and the program may exit. The
/// kernel closes TCP connections for a program that has exited; a transport of the program's own
/// has to send its end before, or the server keeps the association until its idle timeout. The
/// answer to that end is not awaited: it takes a round trip, and changes nothing here.
fn carry_out<S>(
    mut driver: Driver,
    mut stack: S,
    request: &Request,
    watch: &mut Watch<'_>,
) -> Result<Ended, Problem>
where
    S: Protocol<Provides = Copying, Uses: Lanes>,
{
    let interrupted = interrupts()?;
    let mut application = Application { watch, outcome: None };
    driver.request(&mut stack, request.clone(), &mut application);
    while application.outcome.is_none() {
        if interrupted.load(Ordering::Relaxed) {
            driver.request(&mut stack, Request::GiveUp, &mut application);
            break;
        }
        driver.turn(&mut stack, &mut application, Some(Duration::from_millis(250)))?;
    }
    let since = std::time::Instant::now();
    while !stack.may_exit() && since.elapsed() < FAREWELL {
        driver.turn(&mut stack, &mut application, Some(FAREWELL))?;
    }
    match application.outcome {
        Some(ended) if !interrupted.load(Ordering::Relaxed) => Ok(ended),
        _ => Err(Problem::Interrupted),
    }
}

/// Becomes true when a person, or the system, wants the program to end.
pub(crate) fn interrupts() -> io::Result<Arc<AtomicBool>> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // A second one ends the program at once.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))?;
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}
