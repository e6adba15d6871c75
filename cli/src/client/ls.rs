//! `ls`: the names in a folder on a server.

use std::path::PathBuf;

use stackwright::contract::pattern::Pattern;
use stackwright::contract::services::FolderEntry;
use stackwright::copy::{Indication, Request};

use super::arguments::Ls;
use super::listing::{Form, Listing};
use super::{Done, Job, Route, SERVER, Session, name, names};
use crate::graphs::Local;
use crate::problem::Problem;
use crate::remote::Remote;

pub(crate) fn run(ls: &Ls) -> Result<(), Problem> {
    let (remote, is_pattern) = names::parse(&ls.url)?;
    let form = Form::of(ls.connection.json, ls.long, ls.human);
    // The disk is not used, but it has to be somewhere.
    let local = Local::Folder(PathBuf::from("."));
    let mut session = Session::new(Route::find(&remote, &ls.connection)?, local);
    list(&mut session, &remote, is_pattern, form)?;
    session.close()
}

/// Shows what is in a folder, or a file, or what matches a pattern.
pub(crate) fn list(
    session: &mut Session<'_>,
    remote: &Remote,
    is_pattern: bool,
    form: Form,
) -> Result<(), Problem> {
    let listing = Listing::new(form);
    let (folder, last) = names::split(&remote.path);
    let pattern = is_pattern.then(|| Pattern::parse(last).ok()).flatten();
    let path = if pattern.is_some() { folder } else { &remote.path };
    let mut count = 0_u64;
    // They are shown as they come: a listing may have no end.
    let mut show = |indication: &Indication| {
        if let Indication::Entries { entries, .. } = indication {
            let Some(pattern) = &pattern else {
                count += entries.len() as u64;
                return listing.show(entries);
            };
            let mut matching = entries.clone();
            matching.retain(|entry| pattern.matches(&entry.name));
            count += matching.len() as u64;
            listing.show(&matching);
        }
    };
    let request = Request::List { job: name(0), side: SERVER, path: path.into() };
    let job = Job::on_server(request, names::url(remote, path));
    if let Err(problem) = session.one(job, &mut show) {
        return match file(session, remote, &problem) {
            Some(entry) => {
                listing.show(&[entry]);
                Ok(())
            }
            None => Err(problem),
        };
    }
    let unreadable = session.take_unreadable();
    if unreadable > 0 {
        let (lines, are) = if unreadable == 1 { ("line", "is") } else { ("lines", "are") };
        eprintln!(
            "stackwright: {unreadable} {lines} of the listing could not be understood and {are} \
             left out"
        );
    }
    if count == 0 && is_pattern {
        let pattern = format!("{}{last}", names::url(remote, folder));
        return Err(Problem::NoMatch { pattern });
    }
    if count == 0 && form != Form::Json {
        eprintln!("(nothing)");
    }
    Ok(())
}

/// Returns the entry of what could not be listed, if it is a file.
fn file(session: &mut Session<'_>, remote: &Remote, problem: &Problem) -> Option<FolderEntry> {
    let name_there = remote.file_name()?;
    if !problem.is_of_one_file() {
        return None;
    }
    let request = Request::Stat { job: name(0), side: SERVER, path: remote.path.clone() };
    let job = Job::on_server(request, names::url(remote, &remote.path));
    match session.one(job, &mut |_| ()).ok()? {
        Done::Stated(status) => Some(FolderEntry::new(name_there, status)),
        _ => None,
    }
}
