//! `host`: has stacks in a server, for programs that share them or have not the rights for them.

mod file;

use std::convert::Infallible;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use stackwright::compose::graph::Graph;
use stackwright::compose::{Beside, Over};
use stackwright::contract::services::{Datagrams, Streams};
use stackwright::contract::words::Speaks;
use stackwright::contract::{Instant, Listener, Outlet, Protocol, RequestOf, Service};
use stackwright_drivers::ipc::{
    AdmissionPolicy, Crossing, DescriptorGrant, GrantAnswer, GrantHost, HOST, Quota, StackHost,
    UserId,
};
use stackwright_drivers::unix::UnixStreams;
use stackwright_drivers::{Driver, Lanes, Readiness};

use crate::described::Described;
use crate::interrupts::interrupts;
use crate::placement::GRANTS;
use crate::problem::Problem;
use crate::report::say;
use crate::stacks::{self, Message};
use crate::{graphs, images, registry};
use file::HostFile;

/// How often it is checked whether the program is to end.
const LOOK: Duration = Duration::from_millis(500);

/// A stack that provides `T`, and the sockets of those that use it.
type Hosting<T, S> = Over<StackHost<T>, Beside<S, UnixStreams<Message>>>;

#[derive(Args)]
#[command(after_help = "\
Only programs of the same user are admitted, unless a host file allows others something. Each stack
has a thread, and a socket of its name in the folder. A host file has the folder (`at`), the stacks,
an [[allow]] for each user or group that may use them, and a [[grant]] for those that have sockets
opened that need rights; docs/transports.md has an example.

Examples:
  stackwright host artp:// udp:// --at /run/user/1000/stackwright
  stackwright perf run artp://HOST --placement server=/run/user/1000/stackwright
  stackwright host host.toml --check
  stackwright serve FOLDER --listen 0.0.0.0:990 --placement granted=/run/stackwright")]
pub(crate) struct Host {
    /// Stacks that provide messages or streams: artp://, udp://, xtp://, xtp+ip://, tcp://,
    /// stream+xtp://, xstp://, or stack files; jis:// is the transport of `stackwright jis`.
    /// Without --at: a host file.
    #[arg(value_name = "STACK", required = true)]
    pub(crate) stacks: Vec<PathBuf>,
    /// The folder of its sockets, which is made where it is not there.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) at: Option<PathBuf>,
    /// Only read the host file and its stacks, and say what is wrong with them.
    #[arg(long, conflicts_with = "at")]
    pub(crate) check: bool,
    /// Report events as JSON lines on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(host: &Host) -> Result<(), Problem> {
    let HostFile { at, stacks, policy, grants } = match (&host.at, &host.stacks[..]) {
        (Some(at), stacks) => {
            let (policy, grants) = Default::default();
            HostFile { at: at.clone(), stacks: stacks.to_vec(), policy, grants }
        }
        (None, [file]) => file::load(file)?,
        (None, _) => {
            let why = "of several stacks, --at FOLDER has the sockets".into();
            return Err(Problem::HostFile { path: host.stacks[0].clone(), why });
        }
    };
    let names = stacks.iter().map(|name| name.to_string_lossy().trim_end_matches("://").into());
    let names: Vec<PathBuf> = names.collect();
    if names.iter().any(|name| socket_name(name) == GRANTS) {
        let why = format!("no stack has the name `{GRANTS}`");
        return Err(Problem::HostFile { path: host.stacks[0].clone(), why });
    }
    if host.check {
        for name in names.iter().filter(|name| *name != Path::new("jis")) {
            provides(&Described::load(name)?)?;
        }
        let counts = (names.len(), policy.allowed.len(), grants.len());
        say!("stacks: {}, allowances: {}, grants: {}", counts.0, counts.1, counts.2);
        return Ok(());
    }
    let interrupted = interrupts()?;
    let mode = if policy.own.is_some() || !grants.is_empty() { 0o755 } else { 0o700 };
    let made = fs::DirBuilder::new().recursive(true).mode(mode).create(&at);
    made.map_err(|why| Problem::Path { path: at.clone(), why })?;
    // Whichever thread ends first ends all.
    let (tell, told) = mpsc::channel();
    if !grants.is_empty() {
        let (stop, json, tell, at) =
            (interrupted.clone(), host.json, tell.clone(), at.join(GRANTS));
        thread::spawn(move || {
            let _ = tell.send(grant(at, grants, json, &stop));
        });
    }
    for name in names {
        let socket = at.join(socket_name(&name));
        let (stop, json, tell) = (interrupted.clone(), host.json, tell.clone());
        let policy = policy.clone();
        thread::spawn(move || {
            let _ = tell.send(serve(&name, &socket, policy, json, &stop));
        });
    }
    drop(tell);
    let first = told.recv().unwrap_or(Ok(()));
    interrupted.store(true, Relaxed);
    first.and(told.into_iter().collect())
}

fn socket_name(stack: &Path) -> &OsStr {
    stack.file_stem().unwrap_or_default()
}

/// Opens what programs are granted, until `stop`.
fn grant(
    at: PathBuf,
    grants: Vec<DescriptorGrant>,
    json: bool,
    stop: &AtomicBool,
) -> Result<(), Problem> {
    let occupied = |_| Problem::Occupied { path: at.clone() };
    let mut grants = GrantHost::bind(at.clone(), grants).map_err(occupied)?;
    match json {
        true => say!("{}", json!({ "event": "granting", "at": at })),
        false => say!("Grants are at {}. Press Ctrl-C to stop.", at.display()),
    }
    let mut was_full = false;
    while !stop.load(Relaxed) {
        let is_full = grants.is_full();
        if is_full && !was_full {
            match json {
                true => say!("{}", json!({ "event": "full", "at": at })),
                false => eprintln!("No descriptor is free: programs that ask have to wait."),
            }
        }
        was_full = is_full;
        for GrantAnswer { who: UserId { user, .. }, asked, refused } in grants.turn(LOOK)? {
            match (json, refused) {
                (true, refused) => {
                    let event = if refused.is_some() { "refused" } else { "granted" };
                    say!(
                        "{}",
                        json!({ "event": event, "user": user, "asked": asked, "why": refused })
                    );
                }
                (false, None) => say!("User {user} was given {asked}."),
                (false, Some(why)) => eprintln!("User {user} was not given {asked}: {why}"),
            }
        }
    }
    Ok(())
}

/// Has one stack, until `stop`.
fn serve(
    name: &Path,
    socket: &Path,
    policy: AdmissionPolicy,
    json: bool,
    stop: &AtomicBool,
) -> Result<(), Problem> {
    let told = Told { name: name.display().to_string(), socket, policy, json, stop };
    if name == Path::new("jis") {
        let driver = Driver::new(fastrand::u64(..))?;
        let (images, _) = images::transport(&driver, images::HOSTED)?;
        return host(driver, images, &told);
    }
    let described = Described::load(name)?;
    if provides(&described)? == [<Streams<Message> as Service>::NAME] {
        host_described::<Streams<Message>>(&described, &told)
    } else {
        host_described::<Datagrams<Message>>(&described, &told)
    }
}

fn provides(described: &Described) -> Result<Vec<&'static str>, Problem> {
    let looked_at = described.description.look(&registry::registry(None));
    Ok(looked_at.map_err(|flaw| described.flawed(&flaw))?.provides())
}

fn host_described<T>(described: &Described, told: &Told<'_>) -> Result<(), Problem>
where
    T: Crossing<Message = Message> + Speaks<Message, Readiness>,
    Graph<Message, Readiness, T>: Protocol<Provides = T, Uses: Lanes>,
{
    let (driver, stack) = graphs::alone::<T>(described, true)?;
    host(driver, stack, told)
}

/// What is told of a stack, and until when it is there.
struct Told<'a> {
    name: String,
    socket: &'a Path,
    policy: AdmissionPolicy,
    json: bool,
    stop: &'a AtomicBool,
}

fn host<T, S>(mut driver: Driver, stack: S, told: &Told<'_>) -> Result<(), Problem>
where
    T: Crossing<Message = Message>,
    S: Protocol<Provides = T, Uses: Lanes>,
{
    let Told { name, socket, policy, json, stop } = told;
    let lane = S::Uses::LANES;
    let lines = UnixStreams::new((*socket).into(), driver.registry(), lane, stacks::pool());
    let lines = if policy.own.is_some() { lines.admitting_all() } else { lines };
    driver.context().listen(Box::new(Refusals { json: *json, last: None }));
    let host = StackHost::new(stack.facts().gives, Quota::default()).admitting(policy.clone());
    let mut hosting: Hosting<T, S> = Over::new(host, Beside::new(stack, lines));
    let mut is_told = false;
    while !stop.load(Relaxed) {
        driver.turn(&mut hosting, &mut Nobody, Some(LOOK))?;
        let listens = hosting.upper.listens();
        let unavailable = |_| Problem::Occupied { path: (*socket).into() };
        if listens.map_err(unavailable)? && !std::mem::replace(&mut is_told, true) {
            match json {
                true => say!("{}", json!({ "event": "hosting", "stack": name, "at": socket })),
                false => say!("{name} is at {}. Press Ctrl-C to stop.", socket.display()),
            }
        }
    }
    Ok(())
}

/// Says what a host refuses, once a second at most: a program may ask for much.
struct Refusals {
    json: bool,
    last: Option<Instant>,
}

impl Listener for Refusals {
    fn dropped(&mut self, _: Instant, _: &'static str, _: &'static str) {}

    fn event(&mut self, now: Instant, protocol: &'static str, what: fmt::Arguments<'_>) {
        let is_soon = self.last.is_some_and(|last| now.since(last) < Duration::from_secs(1));
        if protocol != HOST || is_soon {
            return;
        }
        self.last = Some(now);
        match self.json {
            true => say!("{}", json!({ "event": "refused", "why": what.to_string() })),
            false => eprintln!("Refused: {what}"),
        }
    }
}

/// Nobody is above a host.
struct Nobody;

impl<T, S> Outlet<Hosting<T, S>> for Nobody
where
    T: Crossing<Message = Message>,
    S: Protocol<Provides = T, Uses: Lanes>,
{
    fn indicate(&mut self, never: Infallible) {
        match never {}
    }

    fn request(&mut self, _: RequestOf<Hosting<T, S>>) {}
}
