//! How a server takes over from the one that is there, and goes when another one does.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use serde_json::json;
use stackwright_drivers::ipc::{HandoverHost, Predecessor, Succession};
use stackwright_drivers::unix;

use super::LOOK;
use crate::problem::Problem;
use crate::report::say;

/// The name of the socket at which a successor asks, which is that of no stack.
pub(super) const REPLACE: &str = "replace";

/// How long programs have to hear that they are ended.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// A socket at which programs ask, and its path.
pub(super) struct Bound {
    pub(super) path: PathBuf,
    pub(super) socket: OwnedFd,
}

/// The sockets of a server.
pub(super) struct Sockets {
    pub(super) bound: Vec<Bound>,
    /// The one from which some of them are.
    pub(super) predecessor: Option<Predecessor>,
    /// What a successor asks.
    handover: Option<HandoverHost>,
    control: PathBuf,
}

impl Sockets {
    /// Binds sockets of these names and modes in a folder, or takes them over from the server that
    /// has them.
    ///
    /// # Errors
    /// Another server has one and does not hand it over, or has more of them.
    pub(super) fn of(
        at: &Path,
        wanted: Vec<(String, u32)>,
        replaces: bool,
    ) -> Result<Self, Problem> {
        let control = at.join(REPLACE);
        let kept = |why| Problem::Kept { path: at.into(), why };
        let asked = match replaces {
            true => Predecessor::ask(&control).map_err(|why| kept(why.to_string()))?,
            false => None,
        };
        let (predecessor, sockets) = asked.map_or((None, Vec::new()), |(it, all)| (Some(it), all));
        let mut theirs: BTreeMap<_, _> = sockets.into_iter().collect();
        let is_wanted = |name: &str| name == REPLACE || wanted.iter().any(|(it, _)| it == name);
        if let Some(name) = theirs.keys().find(|name| !is_wanted(name)) {
            return Err(kept(format!("it has {name}, too, which this one would have to have")));
        }
        let (mut bound, mut fresh) = (Vec::new(), Vec::new());
        for (name, mode) in wanted {
            let path = at.join(&name);
            let socket = match theirs.remove(&name) {
                Some(socket) => {
                    let mode = fs::Permissions::from_mode(mode);
                    fs::set_permissions(&path, mode).map(|()| socket)
                }
                None => unix::bind(&path, mode).inspect(|_| fresh.push(path.clone())),
            };
            let Ok(socket) = socket else {
                remove(&fresh);
                return Err(Problem::Occupied { path });
            };
            bound.push((name, Bound { path, socket }));
        }
        let listener = theirs.remove(REPLACE).or_else(|| unix::bind(&control, 0o600).ok());
        let handover = listener.map(|listener| -> io::Result<_> {
            let named = bound.iter().map(|(name, it)| Ok((name.clone(), it.socket.try_clone()?)));
            let mut all: Vec<_> = named.collect::<io::Result<_>>()?;
            all.push((REPLACE.into(), listener.try_clone()?));
            Ok(HandoverHost::new(listener, all))
        });
        let handover = handover.transpose()?;
        let bound = bound.into_iter().map(|(_, bound)| bound).collect();
        Ok(Sockets { bound, predecessor, handover, control })
    }

    /// Returns their paths, which the last server removes.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        let control = self.handover.iter().map(|_| self.control.clone());
        self.bound.iter().map(|bound| bound.path.clone()).chain(control).collect()
    }

    /// Has the server that is replaced, if there is one, accept no more programs.
    pub(super) fn take_over(&mut self, grace: Duration, json: bool) {
        let Some(predecessor) = &mut self.predecessor else { return };
        predecessor.retire(grace);
        match json {
            true => say!("{}", json!({ "event": "taken over" })),
            false => say!("Programs reach this server now, in place of the one that was here."),
        }
    }

    /// Lets another server take over from now on, if one may in this folder.
    pub(super) fn watch(&mut self, json: bool) -> Option<Watch> {
        let predecessor = self.predecessor.take();
        let watch = self.handover.take().map(|handover| Watch { handover, predecessor, json });
        if watch.is_none() {
            eprintln!("Another server of this folder is the one that --replace reaches.");
        }
        watch
    }
}

/// Removes sockets from their folder.
pub(super) fn remove(paths: &[PathBuf]) {
    paths.iter().for_each(|path| drop(fs::remove_file(path))); // it may be gone
}

/// Whether another server has taken over, and what this one still has.
pub(super) struct Stage {
    is_replaced: AtomicBool,
    /// Those that use it are ended.
    is_over: AtomicBool,
    /// Of each part, the programs and their names, once it accepts no more.
    users: Vec<AtomicUsize>,
}

impl Stage {
    pub(super) fn new(parts: usize) -> Self {
        let users = (0..parts).map(|_| AtomicUsize::new(usize::MAX)).collect();
        Stage { is_replaced: false.into(), is_over: false.into(), users }
    }

    pub(super) fn is_replaced(&self) -> bool {
        self.is_replaced.load(Relaxed)
    }

    fn is_used(&self) -> bool {
        self.users.iter().any(|users| users.load(Relaxed) > 0)
    }
}

/// A stack, or the grants, in a thread.
pub(super) struct Part {
    number: usize,
    stage: Arc<Stage>,
    accepts: bool,
    is_over: bool,
}

impl Part {
    pub(super) fn new(number: usize, stage: Arc<Stage>) -> Self {
        Part { number, stage, accepts: true, is_over: false }
    }

    /// Returns whether it is to accept programs, where that has changed.
    pub(super) fn accepting(&mut self) -> Option<bool> {
        let accepts = !self.stage.is_replaced();
        (std::mem::replace(&mut self.accepts, accepts) != accepts).then_some(accepts)
    }

    /// Returns, once, that those that use it are to be ended.
    pub(super) fn ends(&mut self) -> bool {
        let is_over = self.stage.is_over.load(Relaxed);
        !std::mem::replace(&mut self.is_over, is_over) && is_over
    }

    /// Notes how much it has, after a turn.
    pub(super) fn note(&self, users: usize) {
        let users = if self.accepts { usize::MAX } else { users };
        self.stage.users[self.number].store(users, Relaxed);
    }
}

/// What waits for another server that takes over.
pub(super) struct Watch {
    handover: HandoverHost,
    predecessor: Option<Predecessor>,
    json: bool,
}

impl Watch {
    /// Waits for it, and then for the end of what this server has.
    pub(super) fn run(mut self, stage: &Stage, stop: &AtomicBool) -> Result<(), Problem> {
        let json = self.json;
        let mut until = None;
        while !stop.load(Relaxed) {
            match self.handover.turn(LOOK)? {
                Some(Succession::Ready(grace)) => {
                    drop(self.predecessor.take());
                    stage.is_replaced.store(true, Relaxed);
                    until = Some(Instant::now() + grace);
                    let seconds = grace.as_secs();
                    match json {
                        true => say!("{}", json!({ "event": "replaced", "grace": seconds })),
                        false => say!(
                            "Another server has taken over. What is open here may go on for {seconds} s."
                        ),
                    }
                }
                Some(Succession::Gone) => {
                    until = None;
                    stage.is_over.store(false, Relaxed);
                    stage.is_replaced.store(false, Relaxed);
                    match json {
                        true => say!("{}", json!({ "event": "resumed" })),
                        false => say!("The server that had taken over is gone. This one goes on."),
                    }
                }
                None => {}
            }
            let Some(until) = until else { continue };
            let now = Instant::now();
            if !stage.is_used() || now >= until + LAST_WORDS {
                stop.store(true, Relaxed);
            } else if now >= until && !stage.is_over.swap(true, Relaxed) {
                match json {
                    true => say!("{}", json!({ "event": "over" })),
                    false => say!("The time is over: what is still open is ended."),
                }
            }
        }
        Ok(())
    }
}
