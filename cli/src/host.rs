//! `host`: has stacks in a server, for programs that share them or have not the rights for them.

use std::convert::Infallible;
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
use stackwright::contract::{Outlet, Protocol, RequestOf, Service};
use stackwright_drivers::ipc::{Crossing, Quota, StackHost};
use stackwright_drivers::unix::UnixStreams;
use stackwright_drivers::{Driver, Lanes, Readiness};

use crate::described::Described;
use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::report::say;
use crate::stacks::{self, Message};
use crate::{graphs, images, registry};

/// How often it is checked whether the program is to end.
const LOOK: Duration = Duration::from_millis(500);

/// A stack that provides `T`, and the sockets of those that use it.
type Hosting<T, S> = Over<StackHost<T>, Beside<S, UnixStreams<Message>>>;

#[derive(Args)]
#[command(after_help = "\
Only programs of the same user are admitted. Each stack has a thread, and a socket of its name in
the folder.

Examples:
  stackwright host artp:// udp:// --at /run/user/1000/stackwright
  stackwright perf run artp://HOST --placement server=/run/user/1000/stackwright")]
pub(crate) struct Host {
    /// Stacks that provide messages or streams: artp://, udp://, xtp://, xtp+ip://, tcp://,
    /// stream+xtp://, xstp://, or stack files; jis:// is the transport of `stackwright jis`.
    #[arg(value_name = "STACK", required = true)]
    pub(crate) stacks: Vec<PathBuf>,
    /// The folder of its sockets, which is made where it is not there.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) at: PathBuf,
    /// Report events as JSON lines on standard output.
    #[arg(long)]
    pub(crate) json: bool,
}

pub(crate) fn run(host: &Host) -> Result<(), Problem> {
    let interrupted = interrupts()?;
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(&host.at);
    made.map_err(|why| Problem::Path { path: host.at.clone(), why })?;
    // Whichever thread ends first ends all.
    let (tell, told) = mpsc::channel();
    for name in &host.stacks {
        let name = PathBuf::from(name.to_string_lossy().trim_end_matches("://"));
        let socket = host.at.join(name.file_stem().unwrap_or_default());
        let (stop, json, tell) = (interrupted.clone(), host.json, tell.clone());
        thread::spawn(move || {
            let _ = tell.send(serve(&name, &socket, json, &stop));
        });
    }
    drop(tell);
    let first = told.recv().unwrap_or(Ok(()));
    interrupted.store(true, Relaxed);
    first.and(told.into_iter().collect())
}

/// Has one stack, until `stop`.
fn serve(name: &Path, socket: &Path, json: bool, stop: &AtomicBool) -> Result<(), Problem> {
    let told = Told { name: name.display().to_string(), socket, json, stop };
    if name == Path::new("jis") {
        let driver = Driver::new(fastrand::u64(..))?;
        let (images, _) = images::transport(&driver, images::HOSTED)?;
        return host(driver, images, &told);
    }
    let described = Described::load(name)?;
    let looked_at = described.description.look(&registry::registry(None));
    let provides = looked_at.map_err(|flaw| described.flawed(&flaw))?.provides();
    if provides == [<Streams<Message> as Service>::NAME] {
        host_described::<Streams<Message>>(&described, &told)
    } else {
        host_described::<Datagrams<Message>>(&described, &told)
    }
}

fn host_described<T>(described: &Described, told: &Told<'_>) -> Result<(), Problem>
where
    T: Crossing<Message = Message> + Speaks<Message, Readiness>,
    Graph<Message, Readiness, T>: Protocol<Provides = T, Uses: Lanes>,
{
    let (driver, stack) = graphs::alone::<T>(described)?;
    host(driver, stack, told)
}

/// What is told of a stack, and until when it is there.
struct Told<'a> {
    name: String,
    socket: &'a Path,
    json: bool,
    stop: &'a AtomicBool,
}

fn host<T, S>(mut driver: Driver, stack: S, told: &Told<'_>) -> Result<(), Problem>
where
    T: Crossing<Message = Message>,
    S: Protocol<Provides = T, Uses: Lanes>,
{
    let Told { name, socket, json, stop } = told;
    let lane = S::Uses::LANES;
    let lines = UnixStreams::new((*socket).into(), driver.registry(), lane, stacks::pool());
    let host = StackHost::new(stack.facts().gives, Quota::default());
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
