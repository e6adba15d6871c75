//! `get` and `put`: a copy between a server and a disk.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use stackwright::contract::services::{Failure, FolderEntry};
use stackwright::contract::{Handle, Outlet, Protocol, RequestOf};
use stackwright::copy::{CopySide, Copying, Indication, Request};
use stackwright::ftp::client;
use stackwright::tls::ExpectedServer;
use stackwright_drivers::{Driver, Lanes};

use crate::arguments::{Connection, Get, Put};
use crate::described::Described;
use crate::place::Place;
use crate::problem::{Problem, is_of_tls};
use crate::registry::Wishes;
use crate::remote::{Below, Remote};
use crate::report::{Dialogue, Progress};
use crate::stacks::Between;
use crate::{graphs, proxy, secret, stacks, trust};

/// The server is the copy's left side, the disk its right.
pub(crate) const SERVER: CopySide = CopySide::Left;
pub(crate) const DISK: CopySide = CopySide::Right;

/// The name of the one job.
pub(crate) const JOB: Handle = Handle { index: 0, generation: 0 };

/// How long the program takes at most to close its associations once it has what was requested. It
/// takes two round trips: a geostationary path needs more than a second.
const FAREWELL: Duration = Duration::from_secs(2);

pub(crate) fn get(get: &Get) -> Result<(), Problem> {
    let remote = Remote::parse(&get.url)?;
    let name = remote
        .file_name()
        .ok_or(Problem::Url { url: get.url.clone(), why: "it names a folder, not a file" })?;
    let place = Place::target(get.dest.as_deref(), name)?;
    let (from, source, target) = (SERVER, remote.path.clone(), place.name().into());
    let request = if place.is_repeatable() {
        Request::Resume { job: JOB, from, source, target, checked_first: true }
    } else {
        Request::Copy { job: JOB, from, source, target, early: true }
    };
    let mut progress = Progress::new(&get.url, get.connection.json);
    if place.is_output() {
        if get.connection.json {
            let why = "the file and the events of --json would both go to standard output";
            return Err(Problem::Unfit { what: "-".into(), why });
        }
        progress = progress.beside_output();
    }
    let shown = place.shown();
    let watch = &mut Watch::Bar(&progress);
    let done = run(&remote, &get.connection, &place.into(), &request, watch)?;
    progress.done(&shown, &done);
    Ok(())
}

pub(crate) fn put(put: &Put) -> Result<(), Problem> {
    let mut remote = Remote::parse(&put.url)?;
    let place = Place::source(&put.file)?;
    let mut url = put.url.clone();
    if remote.file_name().is_none() {
        let name = put.file.file_name().and_then(|name| name.to_str());
        let name = name.filter(|_| !place.is_input()).ok_or(Problem::Url {
            url: put.url.clone(),
            why: "standard input has no name, so it must name the file",
        })?;
        remote.path.push_str(name);
        url.push_str(if url.ends_with('/') { "" } else { "/" });
        url.push_str(name);
    }
    let (from, source, target) = (DISK, place.name().into(), remote.path.clone());
    let request = if place.is_repeatable() {
        Request::Resume { job: JOB, from, source, target, checked_first: false }
    } else {
        Request::Copy { job: JOB, from, source, target, early: false }
    };
    let progress = Progress::new(&url, put.connection.json);
    let watch = &mut Watch::Bar(&progress);
    let done = run(&remote, &put.connection, &place.into(), &request, watch)?;
    progress.done(&url, &done);
    Ok(())
}

/// What is on this side of a copy.
pub(crate) enum Local {
    Folder(PathBuf),
    Open(File, String),
}

impl Local {
    fn shown(&self) -> String {
        match self {
            Local::Folder(folder) => folder.display().to_string(),
            Local::Open(_, shown) => shown.clone(),
        }
    }
}

impl From<Place> for Local {
    fn from(place: Place) -> Self {
        match place {
            Place::Folder { folder, .. } => Local::Folder(folder),
            Place::Open { file, shown } => Local::Open(file, shown),
        }
    }
}

/// Who hears what the copy tells.
pub(crate) enum Watch<'a> {
    Bar(&'a Progress),
    Entries(&'a mut dyn FnMut(&[FolderEntry])),
    Nobody,
}

/// What a request that succeeded did.
pub(crate) struct Done {
    /// The length of the file.
    pub(crate) octets: u64,
    /// How many octets of it were moved: the others were there.
    pub(crate) moved: u64,
    pub(crate) took: Duration,
    /// How many lines of a listing were not understood.
    pub(crate) unreadable: u64,
}

/// How long a silent server is waited for where nobody says it.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Runs one request to its end, trying each address of the server, and again what may succeed a
/// little later.
pub(crate) fn run(
    remote: &Remote,
    connection: &Connection,
    local: &Local,
    request: &Request,
    watch: &mut Watch<'_>,
) -> Result<Done, Problem> {
    let described = connection.stack.as_deref().map(graphs::load::<Copying>).transpose()?;
    let login = secret::login(remote, connection.password_file.as_deref())?;
    let secured = trust::choose(remote, &connection.tls)?;
    // A proxy passes streams on, and stands on TCP.
    let proxy = match remote.below {
        Below::Tcp | Below::Tls if described.is_none() && !connection.active => {
            proxy::choose(connection.proxy.as_deref(), &remote.host)?
        }
        _ => None,
    };
    let addresses = remote.addresses()?;
    let retries = connection.retries.unwrap_or(RETRIES);
    let mut pause = PAUSE;
    let mut tries = 0;
    loop {
        let mut outcome = Err(Problem::Interrupted);
        for &address in &addresses {
            let mut config = client::Config::anonymous(address);
            if let Some((user, password)) = &login {
                (config.user, config.password) = (user.clone(), password.clone());
            }
            config.data = if connection.active {
                client::DataMode::Active
            } else {
                client::DataMode::Passive
            };
            config.timeout = connection.timeout.unwrap_or(TIMEOUT);
            config.idle = Duration::ZERO;
            config.tls = secured.mode;
            let stack = match (&described, remote.below) {
                (Some(described), _) => Stack::Described(described, secured.server.clone()),
                (None, Below::Tcp | Below::Tls) => {
                    Stack::Tcp(Between { proxy: proxy.clone(), server: secured.server.clone() })
                }
                (None, Below::Artp) => Stack::Artp,
            };
            outcome = run_at(address, config, connection, stack, local, request, watch);
            if !matches!(outcome, Err(Problem::Transfer { failure: Failure::Unreachable, .. })) {
                break;
            }
        }
        let Err(problem) = outcome else { return outcome };
        // A server that was never reached is not there; one that was may come back.
        let may_pass = match &problem {
            Problem::Transfer { failure: Failure::Lost, .. } => true,
            Problem::Transfer { failure: Failure::Unreachable | Failure::Expired, .. } => tries > 0,
            _ => false,
        };
        if !may_pass || tries == retries || !matches!(request, Request::Resume { .. }) {
            return Err(problem);
        }
        tries += 1;
        if !connection.json {
            let seconds = pause.as_secs();
            eprintln!("stackwright: {problem}; trying again in {seconds} s ({tries} of {retries})");
        }
        wait(pause)?;
        pause *= 2;
    }
}

/// How often a transfer whose connection is lost is tried again, where nobody says it.
const RETRIES: u32 = 3;
/// How long it is waited before the first of these tries; each waits twice as long as the one
/// before.
const PAUSE: Duration = Duration::from_secs(1);

/// Waits, unless a person wants the program to end.
fn wait(pause: Duration) -> Result<(), Problem> {
    let interrupted = interrupts()?;
    let since = std::time::Instant::now();
    while since.elapsed() < pause {
        if interrupted.load(Ordering::Relaxed) {
            return Err(Problem::Interrupted);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// The application above the stack.
struct Application<'a, 'w> {
    watch: &'a mut Watch<'w>,
    outcome: Option<Ended>,
}

impl<S: Protocol<Provides = Copying>> Outlet<S> for Application<'_, '_> {
    fn indicate(&mut self, indication: Indication) {
        match (indication, &mut *self.watch) {
            (Indication::Began { size, there, .. }, Watch::Bar(progress)) => {
                progress.began(size, there);
            }
            (Indication::Moved { octets, .. }, Watch::Bar(progress)) => progress.moved(octets),
            (Indication::Entries { entries, .. }, Watch::Entries(show)) => show(&entries),
            (Indication::Copied { octets, moved, took, .. }, _) => {
                self.outcome = Some(Ok(Done { octets, moved, took, unreadable: 0 }));
            }
            (Indication::Listed { .. }, _) => {
                let took = Duration::ZERO;
                self.outcome = Some(Ok(Done { octets: 0, moved: 0, took, unreadable: 0 }));
            }
            (Indication::Failed { side, failure, .. }, _) => {
                self.outcome = Some(Err((side, failure)))
            }
            _ => {}
        }
    }

    /// Adapters call the operating system: there is nothing that they could ask.
    fn request(&mut self, _: RequestOf<S>) {}
}

/// Which stack copies.
enum Stack<'a> {
    Tcp(Between),
    Artp,
    Described(&'a Described, Option<ExpectedServer>),
}

fn run_at(
    address: SocketAddr,
    config: client::Config,
    connection: &Connection,
    stack: Stack<'_>,
    local: &Local,
    request: &Request,
    watch: &mut Watch<'_>,
) -> Result<Done, Problem> {
    let (listener, said) = Dialogue::new(connection.verbose);
    let listener = Box::new(listener);
    let unopened = |why| Problem::Path { path: local.shown().into(), why };
    let packet = connection.packet.unwrap_or_else(|| stacks::packet(address.ip()));
    let ended = match (stack, local) {
        (Stack::Tcp(between), Local::Folder(folder)) => {
            let stack = stacks::copy(folder, config, between, listener);
            let (driver, stack) = stack.map_err(unopened)?;
            carry_out(driver, stack, request, watch)?
        }
        (Stack::Tcp(between), Local::Open(file, _)) => {
            let stack = stacks::pipe(file, config, between, listener);
            let (driver, stack) = stack.map_err(unopened)?;
            carry_out(driver, stack, request, watch)?
        }
        (Stack::Artp, Local::Folder(folder)) => {
            let stack = stacks::artp_copy(folder, config, listener, packet);
            let (driver, stack) = stack.map_err(unopened)?;
            carry_out(driver, stack, request, watch)?
        }
        (Stack::Artp, Local::Open(file, _)) => {
            let stack = stacks::artp_pipe(file, config, listener, packet);
            let (driver, stack) = stack.map_err(unopened)?;
            carry_out(driver, stack, request, watch)?
        }
        (Stack::Described(described, server), Local::Folder(folder)) => {
            let wishes = Wishes {
                patient: connection.timeout.is_some(),
                packet: connection.packet,
                server,
                ..Wishes::default()
            };
            let (driver, graph) = graphs::copy(described, folder, config, wishes, listener)?;
            carry_out(driver, graph, request, watch)?
        }
        (Stack::Described(..), Local::Open(_, shown)) => {
            let why = "a described stack copies to and from folders only";
            return Err(Problem::Unfit { what: shown.clone(), why });
        }
    };
    let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
    let unreadable = said.unreadable;
    match ended {
        Ok(done) => Ok(Done { unreadable, ..done }),
        Err((side, failure)) => Err(Problem::Transfer {
            place: if side == SERVER { address.to_string() } else { local.shown() },
            failure,
            // What a certificate lacks is not what the server said last.
            said: said.last.take().filter(|_| side == SERVER && !is_of_tls(failure)),
        }),
    }
}

/// How a request ended: what it did, or which side failed and why.
type Ended = Result<Done, (CopySide, Failure)>;

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
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // A second one ends the program at once.
        signal_hook::flag::register_conditional_shutdown(signal, 130, Arc::clone(&interrupted))?;
        signal_hook::flag::register(signal, Arc::clone(&interrupted))?;
    }
    Ok(interrupted)
}
