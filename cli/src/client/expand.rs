//! Patterns of names on a server, for commands that act on each name.

use stackwright::contract::pattern::Pattern;
use stackwright::copy::{Indication, Request};

use super::{Job, SERVER, Session, name, names};
use crate::problem::Problem;
use crate::remote::Remote;

/// Returns the addresses that match, sorted, in place of one whose last name is a pattern.
pub(crate) fn expand(
    session: &mut Session<'_>,
    remote: &Remote,
    is_pattern: bool,
) -> Result<Vec<Remote>, Problem> {
    let (folder, last) = names::split(&remote.path);
    let Some(pattern) = is_pattern.then(|| Pattern::parse(last).ok()).flatten() else {
        return Ok(vec![remote.clone()]);
    };
    let mut found = Vec::new();
    let mut hear = |indication: &Indication| {
        if let Indication::Entries { entries, .. } = indication {
            let matching = entries.iter().filter(|entry| pattern.matches(&entry.name));
            found.extend(matching.map(|entry| entry.name.clone()));
        }
    };
    let request = Request::List { job: name(0), side: SERVER, path: folder.into() };
    session.one(Job::on_server(request, names::url(remote, folder)), &mut hear)?;
    if found.is_empty() {
        let pattern = format!("{}{last}", names::url(remote, folder));
        return Err(Problem::NoMatch { pattern });
    }
    found.sort();
    let path = |name: &String| names::join(folder, name);
    Ok(found.iter().map(|name| Remote { path: path(name), ..remote.clone() }).collect())
}
