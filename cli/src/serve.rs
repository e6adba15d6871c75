//! `serve`: a folder over FTP.

use std::convert::Infallible;
use std::fmt::Arguments;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use indicatif::HumanBytes;
use serde_json::json;
use stackwright::contract::services::Ended;
use stackwright::contract::{Either, Instant, Listener, Outlet, Participant};
use stackwright::ftp::server::{self, Accounts, Anonymous, Direction, Indication, Request, Rights};
use stackwright_drivers::files::Options;

use crate::arguments::Serve;
use crate::problem::Problem;
use crate::report::{note, rate, say, short};
use crate::secret::{self, OnlyUser};
use crate::{stacks, transfer};

pub(crate) fn run(serve: &Serve) -> Result<(), Problem> {
    for &address in &serve.listen {
        if serve.writable && serve.user.is_none() && !address.ip().is_loopback() {
            return Err(Problem::WritableByEverybody { address });
        }
    }
    let mut config = server::Config::new(accounts(serve)?);
    config.sessions_most = serve.sessions;
    let options = Options { writable: serve.writable, sync: !serve.no_sync, ..Options::default() };
    let folder =
        serve.folder.canonicalize().map_err(|why| Problem::Path { path: serve.folder.clone(), why })?;
    let stack = stacks::server(&folder, config, options);
    let (mut driver, mut stack) = stack.map_err(|why| Problem::Path { path: folder.clone(), why })?;
    if serve.verbose {
        driver.context().listen(Box::new(Dialogue));
    }

    let interrupted = transfer::interrupts()?;
    let mut told = Told { serve, folder: &folder, listening: 0, refused: None };
    for &address in &serve.listen {
        driver.request(&mut stack, Request::Serve { local: address.into() }, &mut told);
        if let Some(why) = told.refused {
            return Err(Problem::Listen { address, why });
        }
    }
    told.hints();
    while !interrupted.load(Ordering::Relaxed) {
        driver.turn(&mut stack, &mut told, Some(Duration::from_secs(1)))?;
    }
    driver.request(&mut stack, Request::Stop, &mut told);
    Ok(())
}

fn accounts(serve: &Serve) -> Result<Box<dyn Accounts>, Problem> {
    let rights = Rights { write: serve.writable };
    Ok(match &serve.user {
        Some(user) => {
            let password = secret::password(user, serve.password_file.as_deref())?;
            Box::new(OnlyUser::new(user, &password, rights))
        }
        None => Box::new(Anonymous(rights)),
    })
}

/// Tells a person, or a program, what the server does.
struct Told<'a> {
    serve: &'a Serve,
    folder: &'a Path,
    listening: usize,
    refused: Option<Ended>,
}

impl Told<'_> {
    fn serving(&mut self, local: SocketAddr) {
        self.listening += 1;
        let Serve { writable, user, json, .. } = self.serve;
        let url = format!("ftp://{local}/");
        if *json {
            let folder = self.folder.display().to_string();
            say!(
                "{}",
                json!({ "event": "serving", "url": url, "folder": folder, "writable": writable, "user": user })
            );
            return;
        }
        let who = user.as_deref().map_or_else(|| "everybody".into(), |user| format!("the user `{user}`"));
        let may = if *writable { "read and store" } else { "read" };
        say!("Serving {} at {url}: {who} may {may}.", self.folder.display());
        if !local.ip().is_loopback() {
            say!(
                "  This is open to other machines: whoever reaches {local} may try to come in, and FTP hides"
            );
            say!("  neither passwords nor files from those in between.");
        }
    }

    fn hints(&self) {
        if !self.serve.json {
            say!("Ctrl-C ends it. From another window:");
            say!("  stackwright ls ftp://ADDRESS:PORT/     stackwright get ftp://ADDRESS:PORT/FILE");
        }
    }

    fn transferred(&self, indication: &Indication) {
        let Indication::Transferred { peer, path, direction, octets, took, result } = indication else {
            return;
        };
        let verb = match direction {
            Direction::Sent => "sent",
            Direction::Received => "received",
            Direction::Listed => "listed",
        };
        if self.serve.json {
            let error = result.err().map(|trouble| trouble.to_string());
            say!(
                "{}",
                json!({
                    "event": "transfer", "direction": verb, "peer": peer.to_string(), "path": path, "octets": octets,
                    "seconds": took.as_secs_f64(), "error": error,
                })
            );
            return;
        }
        match result {
            Ok(()) => say!(
                "{peer} {verb} {path}: {} in {} ({}/s)",
                HumanBytes(*octets),
                short(*took),
                HumanBytes(rate(*octets, *took))
            ),
            Err(trouble) => {
                say!("{peer} {verb} {path}: not whole after {}: {trouble}", HumanBytes(*octets))
            }
        }
    }
}

impl Outlet<stacks::ServerStack> for Told<'_> {
    fn indicate(&mut self, indication: Indication) {
        match &indication {
            Indication::Serving { local: Participant::Internet(local) } => self.serving(*local),
            Indication::NotServing { why } if *why != Ended::Unlistened => self.refused = Some(*why),
            Indication::Transferred { .. } => self.transferred(&indication),
            Indication::Arrived { peer } if self.serve.json => {
                say!("{}", json!({ "event": "arrived", "peer": peer.to_string() }));
            }
            Indication::LoggedIn { peer, user } if self.serve.json => {
                say!("{}", json!({ "event": "logged in", "peer": peer.to_string(), "user": user }));
            }
            Indication::Left { peer } if self.serve.json => {
                say!("{}", json!({ "event": "left", "peer": peer.to_string() }));
            }
            _ => {}
        }
    }

    fn request(&mut self, request: Either<Infallible, Infallible>) {
        match request {
            Either::Left(never) | Either::Right(never) => match never {},
        }
    }
}

/// Says every command and reply.
struct Dialogue;

impl Listener for Dialogue {
    fn dropped(&mut self, now: Instant, protocol: &'static str, reason: &'static str) {
        note(now, protocol, &format_args!("dropped: {reason}"));
    }

    fn event(&mut self, now: Instant, protocol: &'static str, what: Arguments<'_>) {
        note(now, protocol, &what);
    }
}
