//! What the commands do.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::time::Duration;

use stackwright::contract::services::FileKind;
use stackwright::copy::{Indication, Request, TreeOptions};

use super::arguments::{Command, Get, Mirror, Put};
use super::input::Name;
use super::path::{enter, resolve};
use super::words::literal;
use super::{Next, Server, Shell};
use crate::client::arguments::{Connection, Selection};
use crate::client::copying::{Ends, copy_all, tree};
use crate::client::expand::expand;
use crate::client::get::{self, Source};
use crate::client::listing::Form;
use crate::client::place::STANDARD;
use crate::client::report::{Manner, Report};
use crate::client::{DISK, Job, SERVER, Session, ls, manage, mirror, name, names, put};
use crate::graphs::Local;
use crate::problem::Problem;
use crate::remote::Remote;
use crate::report::say;

/// How long a person waits for names.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The most names of a folder that are completed.
const NAMES_MOST: usize = 10_000;

impl Shell<'_> {
    pub(super) fn command(&mut self, command: &Command) -> Result<Next, Problem> {
        match command {
            Command::Quit => {
                self.close();
                return Ok(Next::End);
            }
            Command::Open { url } => self.open(&literal(url))?,
            Command::Close => self.close(),
            Command::Lcd { folder } => lcd(folder.as_deref())?,
            Command::Lpwd => say!("{}", env::current_dir()?.display()),
            Command::Lls { arguments } => {
                // What it does, it says itself.
                Program::new("ls").args(arguments.iter().map(|word| literal(word))).status()?;
            }
            command => {
                let connection = self.connection;
                let server = self.server.as_mut().ok_or(Problem::NotOpen)?;
                server.command(command, connection)?;
            }
        }
        Ok(Next::Line)
    }
}

fn lcd(folder: Option<&str>) -> Result<(), Problem> {
    let folder = match folder {
        Some(folder) => PathBuf::from(literal(folder)),
        None => env::home_dir().ok_or(Problem::NoHome)?,
    };
    env::set_current_dir(&folder).map_err(|why| Problem::Path { path: folder, why })
}

impl Server<'_> {
    fn command(&mut self, command: &Command, connection: &Connection) -> Result<(), Problem> {
        let json = connection.json;
        let Server { session, here, .. } = self;
        match command {
            Command::Pwd => say!("{}", here.path),
            Command::Cd { folder } => {
                let mut there = resolve(here, &literal(folder.as_deref().unwrap_or("/")));
                enter(session, &mut there)?;
                *here = there;
            }
            Command::Ls(list) => {
                let form = Form::of(json, list.long, list.human);
                let (path, is_pattern) = pattern(list.path.as_deref().unwrap_or(""));
                ls::list(session, &resolve(here, &path), is_pattern, form)?;
            }
            Command::Cat { files } => {
                let there = self.there(files)?;
                let sources = there.into_iter().map(Source::file).collect();
                self.get(sources, Some(STANDARD), &Selection::one_by_one(), connection)?;
            }
            Command::Get(Get { files, to, selection }) => {
                let source = |word: &String| {
                    let (path, is_pattern) = pattern(word);
                    Source { remote: resolve(here, &path), is_pattern }
                };
                let sources = files.iter().map(source).collect();
                let to = to.as_deref().map(literal);
                self.get(sources, to.as_deref(), selection, connection)?;
            }
            Command::Put(put) => self.put(put, connection)?,
            Command::Mirror(mirror) => self.mirror(mirror, connection)?,
            Command::Rm(rm) => {
                let there = self.there(&rm.files)?;
                manage::remove(&mut self.session, &there, rm.recursive, json)?;
            }
            Command::Rmdir { folders } => {
                let there = self.there(folders)?;
                for folder in &there {
                    manage::check_folder(&mut self.session, folder)?;
                }
                manage::remove(&mut self.session, &there, false, json)?;
            }
            Command::Mkdir(mkdir) => {
                for folder in &mkdir.folders {
                    let folder = resolve(here, &literal(folder));
                    manage::make_folder(session, &folder, mkdir.parents)?;
                }
            }
            Command::Mv { from, to } => {
                let from = resolve(here, &literal(from));
                let to = resolve(here, &literal(to)).path;
                manage::rename(session, &from, &to)?;
            }
            // They need no server.
            Command::Quit
            | Command::Open { .. }
            | Command::Close
            | Command::Lcd { .. }
            | Command::Lpwd
            | Command::Lls { .. } => {}
        }
        if !matches!(command, Command::Ls(_) | Command::Cd { .. } | Command::Pwd) {
            // The names may have changed.
            self.names.clear();
        }
        Ok(())
    }

    /// What words name on the server; patterns stand for what matches.
    fn there(&mut self, words: &[String]) -> Result<Vec<Remote>, Problem> {
        let mut there = Vec::new();
        for word in words {
            let (path, is_pattern) = pattern(word);
            there.extend(expand(&mut self.session, &resolve(&self.here, &path), is_pattern)?);
        }
        Ok(there)
    }

    fn get(
        &mut self,
        sources: Vec<Source>,
        to: Option<&str>,
        selection: &Selection,
        connection: &Connection,
    ) -> Result<(), Problem> {
        let mut plan = get::plan(&sources, to.map(Path::new), selection)?;
        let mut report = Report::new(connection, plan.manner);
        let Local::Folder(folder) = &plan.local else {
            let ends = Ends::new(self.here.clone(), &plan.local);
            let mut beside = self.session.beside(plan.local);
            copy_all(&mut beside, &ends, &plan.copies, selection, &mut report)?;
            beside.close()?;
            return report.end();
        };
        let folder = put::from_root(folder)?;
        for copy in &mut plan.copies {
            copy.target = names::join(&folder, &copy.target);
        }
        let ends = self.ends();
        copy_all(&mut self.session, &ends, &plan.copies, selection, &mut report)?;
        report.end()
    }

    fn put(&mut self, put: &Put, connection: &Connection) -> Result<(), Problem> {
        let Put { files, to, selection } = put;
        let target =
            to.as_deref().map_or(self.here.clone(), |to| resolve(&self.here, &literal(to)));
        let put::Plan { copies, streams, is_single } = put::plan(files, &target, selection)?;
        let mut report = Report::new(connection, Manner { is_single, ..Manner::default() });
        put::store(&mut self.session, &target, &copies, streams, selection, &mut report)?;
        report.end()
    }

    fn mirror(&mut self, mirror: &Mirror, connection: &Connection) -> Result<(), Problem> {
        let Mirror { source, target, reverse, delete, dry_run, selection } = mirror;
        let from = if *reverse { DISK } else { SERVER };
        let source = literal(source);
        let name = names::split(source.trim_end_matches('/')).1;
        let target = target.as_deref().map_or(name.to_owned(), literal);
        let (remote, folder) = if *reverse { (target, source) } else { (source, target) };
        let (folder, name) = mirror::prepare(Path::new(&folder), from, *dry_run)?;
        let local = names::join(&put::from_root(&folder)?, &name);
        let options = TreeOptions { delete: *delete, dry_run: *dry_run, ..tree(from, selection) };
        let remote = resolve(&self.here, &remote).path;
        let copy = mirror::copy(from, &remote, &local, options);
        let manner = Manner { dry_run: *dry_run, ..Manner::default() };
        let mut report = Report::new(connection, manner);
        let ends = self.ends();
        copy_all(&mut self.session, &ends, &[copy], selection, &mut report)?;
        report.end()
    }

    fn ends(&self) -> Ends {
        Ends::new(self.here.clone(), &Local::Folder(put::ROOT.into()))
    }
}

/// Returns the path that a word names, and whether it is a pattern.
fn pattern(word: &str) -> (String, bool) {
    let is_pattern = names::is_pattern(word);
    (if is_pattern { word.to_owned() } else { literal(word) }, is_pattern)
}

/// Returns the names in a folder; none if it cannot be listed.
pub(super) fn names(session: &mut Session<'_>, folder: &Remote) -> Vec<Name> {
    let mut found = Vec::new();
    let mut hear = |indication: &Indication| {
        if let Indication::Entries { entries, .. } = indication
            && found.len() < NAMES_MOST
        {
            found.extend(entries.iter().map(|entry| Name {
                name: entry.name.clone(),
                is_folder: entry.status.kind == FileKind::Folder,
            }));
        }
    };
    let request = Request::List { job: name(0), side: SERVER, path: folder.path.clone() };
    let job = Job::on_server(request, names::url(folder, &folder.path));
    session.set_deadline(Some(PATIENCE));
    // What cannot be listed has no names; a command tells why.
    let _ = session.one(job, &mut hear);
    session.set_deadline(None);
    found
}
