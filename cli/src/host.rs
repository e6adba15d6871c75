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
use stackwright::compose::{Beside, Over};
use stackwright::contract::services::Datagrams;
use stackwright::contract::{Outlet, Protocol, RequestOf};
use stackwright_drivers::ipc::{Quota, StackHost};
use stackwright_drivers::unix::UnixStreams;
use stackwright_drivers::{Driver, Lanes};
use stackwright_parts::Stack;

use crate::graphs;
use crate::interrupts::interrupts;
use crate::problem::Problem;
use crate::report::say;
use crate::stacks::{self, Message};

/// How often it is checked whether the program is to end.
const LOOK: Duration = Duration::from_millis(500);

type Messages = Datagrams<Message>;
type Hosting = Over<StackHost<Messages>, Beside<Stack<Messages>, UnixStreams<Message>>>;

#[derive(Args)]
#[command(after_help = "\
Only programs of the same user are admitted. Each stack has a thread, and a socket of its name in
the folder.

Examples:
  stackwright host artp:// udp:// --at /run/user/1000/stackwright
  stackwright perf run artp://HOST --placement server=/run/user/1000/stackwright")]
pub(crate) struct Host {
    /// Stacks that provide datagrams: artp://, udp://, xtp://, or stack files.
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
    let described = graphs::load::<Messages>(name)?;
    let (mut driver, stack) = graphs::alone::<Messages>(&described)?;
    let mut hosting = hosting(&driver, stack, socket);
    let mut told = false;
    while !stop.load(Relaxed) {
        driver.turn(&mut hosting, &mut Nobody, Some(LOOK))?;
        let listens = hosting.upper.listens();
        let unavailable = |_| Problem::Occupied { path: socket.into() };
        if listens.map_err(unavailable)? && !std::mem::replace(&mut told, true) {
            let stack = &described.name;
            match json {
                true => say!("{}", json!({ "event": "hosting", "stack": stack, "at": socket })),
                false => say!("{stack} is at {}. Press Ctrl-C to stop.", socket.display()),
            }
        }
    }
    Ok(())
}

fn hosting(driver: &Driver, stack: Stack<Messages>, socket: &Path) -> Hosting {
    let lane = <Stack<Messages> as Protocol>::Uses::LANES;
    let lines = UnixStreams::new(socket.into(), driver.registry(), lane, stacks::pool());
    let host = StackHost::new(stack.facts().gives, Quota::default());
    Over::new(host, Beside::new(stack, lines))
}

/// Nobody is above a host.
struct Nobody;

impl Outlet<Hosting> for Nobody {
    fn indicate(&mut self, never: Infallible) {
        match never {}
    }

    fn request(&mut self, _: RequestOf<Hosting>) {}
}
