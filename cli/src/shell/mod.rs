//! `shell`: commands for one server, one after the other, over connections that stay open.
//!
//! | file | what |
//! | --- | --- |
//! | `arguments.rs` | the commands there are |
//! | `commands.rs` | what they do: the same code as the commands of the program |
//! | `words.rs` | the words of a line |
//! | `input.rs` | where lines come from |
//! | `editor.rs`, `complete.rs` | the line editor: history and completion |
//! | `path.rs` | where on the server a name leads |

mod arguments;
mod commands;
mod complete;
mod editor;
mod input;
mod path;
mod words;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::process::Command;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, TryRecvError};
use std::time::{Duration, Instant};

use clap::Parser;
use nix::sys::termios::{SetArg, tcgetattr, tcsetattr};

use crate::client::arguments::{Connection, Shell as Arguments};
use crate::client::put::ROOT;
use crate::client::{Route, Session};
use crate::graphs::Local;
use crate::interrupts::{ends, interrupts};
use crate::problem::Problem;
use crate::remote::Remote;
use input::{Event, Input, Name};

/// How long a connection without a command is kept: as long as the server keeps it.
const IDLE: Duration = Duration::from_secs(7 * 24 * 3600);

/// The most connections to the server.
const CONNECTIONS_MOST: u16 = 16;

/// How long the names of a folder are taken for those that it has.
const FRESH: Duration = Duration::from_secs(10);

pub(crate) fn run(arguments: &Arguments) -> Result<(), Problem> {
    let is_interactive = io::stdin().is_terminal() && io::stdout().is_terminal();
    let mut shell = Shell { connection: &arguments.connection, server: None };
    // A second signal ends the program at once; the first one only what it does.
    interrupts()?;
    if let Some(url) = &arguments.url {
        shell.open(url)?;
    }
    let terminal = is_interactive.then(|| tcgetattr(io::stdin()).ok()).flatten();
    let input = Input::start(is_interactive);
    let outcome = shell.obey(&input);
    // A signal may have come while a line was being edited.
    if let Some(terminal) = terminal {
        let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &terminal);
    }
    outcome
}

struct Shell<'a> {
    connection: &'a Connection,
    server: Option<Server<'a>>,
}

/// The server that is open.
struct Server<'a> {
    session: Session<'a>,
    /// With the folder where names begin; it ends in `/`.
    here: Remote,
    /// The names in folders that were completed, and when.
    names: BTreeMap<String, (Instant, Vec<Name>)>,
}

/// Whether more lines are read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Line,
    End,
}

impl<'a> Shell<'a> {
    /// Carries out line by line. A person is told what fails; a script ends there.
    fn obey(&mut self, input: &Input) -> Result<(), Problem> {
        let interrupted = interrupts()?;
        loop {
            input.ask(self.prompt());
            let Some(line) = self.line(input)? else { return Ok(()) };
            let outcome = self.carry_out(&line);
            interrupted.store(false, Ordering::Relaxed);
            match outcome {
                Ok(Next::Line) => {}
                Ok(Next::End) => return Ok(()),
                Err(Problem::Interrupted) if ends()?.load(Ordering::Relaxed) => {
                    return Err(Problem::Interrupted);
                }
                Err(problem) if input.is_interactive => problem.tell(self.connection.json),
                Err(problem) => return Err(problem),
            }
        }
    }

    /// Waits for a line, and keeps the server's connections alive meanwhile. `None` at the end.
    fn line(&mut self, input: &Input) -> Result<Option<String>, Problem> {
        let ended = ends()?;
        loop {
            let session = self.server.as_mut().map(|server| &mut server.session);
            let waker = session.and_then(|session| session.waker());
            let is_awake = waker.is_none();
            input.wake.set(waker);
            let event = match input.events.try_recv() {
                Err(TryRecvError::Empty) if is_awake => {
                    match input.events.recv_timeout(Duration::from_secs(1)) {
                        Err(RecvTimeoutError::Timeout) => None,
                        event => event.ok().or(Some(Event::End)),
                    }
                }
                Err(TryRecvError::Empty) => {
                    if let Some(server) = &mut self.server {
                        server.session.rest();
                    }
                    None
                }
                event => event.ok().or(Some(Event::End)),
            };
            match event {
                Some(Event::Line(line)) => return Ok(Some(line)),
                Some(Event::End) => return Ok(None),
                Some(Event::Names { folder, answer }) => {
                    // A signal while a line was edited is over; where nobody waits any more, names
                    // are found next time.
                    interrupts()?.store(false, Ordering::Relaxed);
                    let _ = answer.send(self.names(&folder));
                }
                None if ended.load(Ordering::Relaxed) => return Err(Problem::Interrupted),
                None => {}
            }
        }
    }

    fn prompt(&self) -> String {
        match &self.server {
            Some(Server { here, .. }) => {
                let user = here.user.as_deref().map(|user| format!("{user}@"));
                let path = if here.path == "/" { "/" } else { here.path.trim_end_matches('/') };
                format!("{}{}:{path}> ", user.unwrap_or_default(), here.host)
            }
            None => "stackwright> ".into(),
        }
    }

    fn carry_out(&mut self, line: &str) -> Result<Next, Problem> {
        if let Some(command) = line.trim_start().strip_prefix('!') {
            // What it does, it says itself.
            Command::new("sh").args(["-c", command]).status()?;
            return Ok(Next::Line);
        }
        let words = words::split(line);
        if words.open.is_some() {
            let why = "a quote is open at its end; write \\' for a quote in a name";
            return Err(Problem::Unfit { what: "the line".into(), why });
        }
        if words.words.is_empty() {
            return Ok(Next::Line);
        }
        let parsed = arguments::Line::try_parse_from(words.words.into_iter().map(|word| word.text));
        match parsed {
            Ok(line) => self.command(&line.command),
            Err(error) => {
                let _ = error.print();
                match error.exit_code() {
                    0 => Ok(Next::Line),
                    code => Err(Problem::Told { code: code as u8 }),
                }
            }
        }
    }

    fn open(&mut self, url: &str) -> Result<(), Problem> {
        let mut here = Remote::parse(url)?;
        let route = Route::find(&here, self.connection)?;
        self.close();
        let mut session = Session::new(route, Local::Folder(ROOT.into()));
        session.set_most(CONNECTIONS_MOST);
        session.set_idle(IDLE);
        path::enter(&mut session, &mut here)?;
        self.server = Some(Server { session, here, names: BTreeMap::new() });
        Ok(())
    }

    /// Leaves the server, if one is open. Its answer is not awaited.
    fn close(&mut self) {
        if let Some(server) = self.server.take() {
            let _ = server.session.close(); // it is left anyway
        }
    }

    /// Returns the names in a folder of the server, for completion.
    fn names(&mut self, folder: &str) -> Vec<Name> {
        let Some(server) = &mut self.server else { return Vec::new() };
        let folder = path::resolve(&server.here, folder);
        match server.names.get(&folder.path) {
            Some((since, names)) if since.elapsed() < FRESH => names.clone(),
            _ => {
                let names = commands::names(&mut server.session, &folder);
                server.names.insert(folder.path, (Instant::now(), names.clone()));
                names
            }
        }
    }
}
