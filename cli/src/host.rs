//! `host`: has stacks in a server, for programs that share them or have not the rights for them.

mod file;
mod succession;

use std::convert::Infallible;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
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
use succession::{Bound, Part, REPLACE, Sockets, Stage};

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

With --replace the sockets are taken over from the server that is there: from then on programs reach
this one, and none is refused in between. What is open on the other one stays there until it ends,
or until --grace is over.

Examples:
  stackwright host artp:// udp:// --at /run/user/1000/stackwright
  stackwright perf run artp://HOST --placement server=/run/user/1000/stackwright
  stackwright host host.toml --check
  stackwright host host.toml --replace --grace 60
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
    /// Take over from the server of this folder, if there is one.
    #[arg(long)]
    pub(crate) replace: bool,
    /// How long what is open on the server that is replaced may go on, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 30, requires = "replace")]
    pub(crate) grace: u32,
    /// Report events as JSON lines on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(host: &Host) -> Result<(), Problem> {
    let HostFile { at, stacks, mut policy, grants } = match (&host.at, &host.stacks[..]) {
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
    let reserved = [GRANTS, REPLACE].into_iter();
    let mut reserved = reserved.filter(|it| names.iter().any(|name| socket_name(name) == *it));
    if let Some(name) = reserved.next() {
        let why = format!("no stack has the name `{name}`");
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
    let mode = if policy.own.is_some() { 0o666 } else { 0o600 };
    let stacks = names.iter().map(|name| (socket_name(name).to_string_lossy().into(), mode));
    let granting = (!grants.is_empty()).then(|| (GRANTS.into(), 0o666));
    let mut sockets = Sockets::of(&at, stacks.chain(granting).collect(), host.replace)?;
    if sockets.predecessor.is_some() {
        // Others may have asked before the mode of a socket was changed.
        policy.own.get_or_insert(rustix::process::geteuid().as_raw());
    }
    let paths = sockets.paths();
    let stage = Arc::new(Stage::new(sockets.bound.len()));
    let (tell, told) = mpsc::channel();
    let teller = |number| Teller {
        part: Part::new(number, Arc::clone(&stage)),
        json: host.json,
        stop: Arc::clone(&interrupted),
        tell: tell.clone(),
    };
    let (mut awaited, mut bound) = (sockets.bound.len(), sockets.bound.drain(..).enumerate());
    for (name, (number, bound)) in names.into_iter().zip(bound.by_ref()) {
        let (policy, teller) = (policy.clone(), teller(number));
        teller.begin(move |teller| serve(&name, bound, policy, teller));
    }
    if let Some((number, bound)) = bound.next() {
        teller(number).begin(|teller| grant(bound, grants, teller));
    }
    drop(bound);
    let (mut result, mut tell) = (Ok(()), Some(tell));
    // Until then the sockets are the other one's.
    let mut serves = sockets.predecessor.is_none();
    for tidings in told {
        match tidings {
            Tidings::Hosts => awaited -= 1,
            // Whichever thread ends first ends all.
            Tidings::Ended(ended) => {
                interrupted.store(true, Relaxed);
                tell = None;
                result = result.and(ended);
            }
        }
        if awaited == 0
            && let Some(tell) = tell.take()
        {
            serves = true;
            sockets.take_over(Duration::from_secs(host.grace.into()), host.json);
            let (stage, json, stop) = (Arc::clone(&stage), host.json, Arc::clone(&interrupted));
            if let Some(watch) = sockets.watch(json) {
                thread::spawn(move || {
                    let _ = tell.send(Tidings::Ended(watch.run(&stage, &stop)));
                });
            }
        }
    }
    if serves && !stage.is_replaced() {
        succession::remove(&paths);
    }
    result
}

/// What the thread of a stack, or of the grants, says.
enum Tidings {
    /// It is there.
    Hosts,
    Ended(Result<(), Problem>),
}

/// What such a thread tells, and until when it is there.
struct Teller {
    part: Part,
    json: bool,
    stop: Arc<AtomicBool>,
    tell: mpsc::Sender<Tidings>,
}

impl Teller {
    /// Does this work in a thread.
    fn begin(mut self, work: impl FnOnce(&mut Self) -> Result<(), Problem> + Send + 'static) {
        thread::spawn(move || {
            let ended = work(&mut self);
            let _ = self.tell.send(Tidings::Ended(ended));
        });
    }

    fn hosts(&self) {
        let _ = self.tell.send(Tidings::Hosts);
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

fn socket_name(stack: &Path) -> &OsStr {
    stack.file_stem().unwrap_or_default()
}

/// Opens what programs are granted, until it is to stop.
fn grant(bound: Bound, grants: Vec<DescriptorGrant>, teller: &mut Teller) -> Result<(), Problem> {
    let (at, json) = (bound.path, teller.json);
    let mut grants = GrantHost::new(bound.socket, grants);
    match json {
        true => say!("{}", json!({ "event": "granting", "at": at })),
        false => say!("Grants are at {}. Press Ctrl-C to stop.", at.display()),
    }
    teller.hosts();
    let mut was_full = false;
    while !teller.is_stopped() {
        if let Some(accepts) = teller.part.accepting() {
            grants.set_accepting(accepts);
        }
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
        teller.part.note(grants.asking());
    }
    Ok(())
}

/// Has one stack, until it is to stop.
fn serve(
    name: &Path,
    bound: Bound,
    policy: AdmissionPolicy,
    teller: &mut Teller,
) -> Result<(), Problem> {
    let name_said = name.display().to_string();
    let Bound { path, socket } = bound;
    let mut told = Told { name: name_said, path, socket, policy, teller };
    if name == Path::new("jis") {
        let driver = Driver::new(fastrand::u64(..))?;
        let (images, _) = images::transport(&driver, images::HOSTED)?;
        return host(driver, images, &mut told);
    }
    let described = Described::load(name)?;
    if provides(&described)? == [<Streams<Message> as Service>::NAME] {
        host_described::<Streams<Message>>(&described, &mut told)
    } else {
        host_described::<Datagrams<Message>>(&described, &mut told)
    }
}

fn provides(described: &Described) -> Result<Vec<&'static str>, Problem> {
    let looked_at = described.description.look(&registry::registry(None));
    Ok(looked_at.map_err(|flaw| described.flawed(&flaw))?.provides())
}

fn host_described<T>(described: &Described, told: &mut Told<'_>) -> Result<(), Problem>
where
    T: Crossing<Message = Message> + Speaks<Message, Readiness>,
    Graph<Message, Readiness, T>: Protocol<Provides = T, Uses: Lanes>,
{
    let (driver, stack) = graphs::alone::<T>(described, true)?;
    host(driver, stack, told)
}

/// A stack, and the socket at which programs ask for it.
struct Told<'a> {
    name: String,
    path: PathBuf,
    socket: OwnedFd,
    policy: AdmissionPolicy,
    teller: &'a mut Teller,
}

fn host<T, S>(mut driver: Driver, stack: S, told: &mut Told<'_>) -> Result<(), Problem>
where
    T: Crossing<Message = Message>,
    S: Protocol<Provides = T, Uses: Lanes>,
{
    let Told { name, path, socket, policy, teller } = told;
    let json = teller.json;
    let lane = S::Uses::LANES;
    let lines = UnixStreams::new(path.clone(), driver.registry(), lane, stacks::pool());
    let lines = lines.listening_at(socket.try_clone()?);
    driver.context().listen(Box::new(Refusals { json, last: None }));
    let host = StackHost::new(stack.facts().gives, Quota::default()).admitting(policy.clone());
    let mut hosting: Hosting<T, S> = Over::new(host, Beside::new(stack, lines));
    let mut is_told = false;
    while !teller.is_stopped() {
        if let Some(accepts) = teller.part.accepting() {
            hosting.lower.right.set_accepting(accepts);
        }
        if teller.part.ends() {
            hosting.upper.end_applications();
        }
        driver.turn(&mut hosting, &mut Nobody, Some(LOOK))?;
        teller.part.note(hosting.upper.applications() + hosting.upper.names());
        let listens = hosting.upper.listens();
        let unavailable = |_| Problem::Occupied { path: path.clone() };
        if listens.map_err(unavailable)? && !std::mem::replace(&mut is_told, true) {
            match json {
                true => say!("{}", json!({ "event": "hosting", "stack": name, "at": path })),
                false => say!("{name} is at {}. Press Ctrl-C to stop.", path.display()),
            }
            teller.hosts();
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
